//! What a running host keeps in memory: everything that a request needs to be checked, as it stood
//! at one revision of the site. Changes in the same process are in force before the call that made
//! them returns; those of other processes are noticed within a second. Makes no decisions itself.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use host_interface::{Description, SharedUser};
use sqlx::{Sqlite, Transaction};
use tokio::sync::Mutex;

use crate::acl::Access;
use crate::database::Database;
use crate::error::Error;
use crate::extensions::TOKEN_AUTH;
use crate::parameters::Parameters;
use crate::tokens::{self, TokenHash};

/// How often a serving host looks whether another process changed something.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How many users are remembered by their tokens; more than are at work at the same time.
const REMEMBERED: usize = 10_000;

/// The site as it stood at one revision.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    revision: u64,
    pub(crate) access: Access,
    pub(crate) parameters: Parameters,
    enabled: HashMap<String, bool>,
    /// Users by what is kept of their token. It belongs to the snapshot, so that nothing that was
    /// looked up before a change is remembered after it.
    identities: RwLock<HashMap<TokenHash, SharedUser>>,
}

impl Snapshot {
    /// Whether an extension is in use.
    pub(crate) fn enabled(&self, extension: &str) -> bool {
        self.enabled.get(extension).copied().unwrap_or(false)
    }

    /// Whether users are told by their tokens.
    pub(crate) fn token_auth(&self) -> bool {
        self.enabled(TOKEN_AUTH)
    }
}

/// The site in memory, and the way to change it.
#[derive(Debug)]
pub(crate) struct State {
    database: Database,
    descriptions: Vec<Description>,
    snapshot: ArcSwap<Snapshot>,
    /// Held while a snapshot is read, so that an older one never replaces a newer one.
    loading: Mutex<()>,
}

impl State {
    /// The site without anything in memory yet; [`State::reload`] reads it.
    pub(crate) fn new(database: Database, descriptions: Vec<Description>) -> Self {
        Self {
            database,
            descriptions,
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            loading: Mutex::new(()),
        }
    }

    /// The host's database.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// What the loaded extensions say of themselves.
    pub(crate) fn descriptions(&self) -> &[Description] {
        &self.descriptions
    }

    /// The site as it stands. For a few instructions; not to be held across an await.
    pub(crate) fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// Begins an administrative change.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, Error> {
        self.database.begin().await
    }

    /// Ends an administrative change: it is in force when this returns.
    pub(crate) async fn commit(
        &self,
        mut transaction: Transaction<'static, Sqlite>,
    ) -> Result<(), Error> {
        bump(&mut transaction).await?;
        transaction.commit().await?;
        // The change stands. If it cannot be read now, the background task reads it.
        if let Err(error) = self.reload().await {
            tracing::error!(%error, "a change is stored and not in force yet");
        }
        Ok(())
    }

    /// Reads the site into memory.
    pub(crate) async fn reload(&self) -> Result<(), Error> {
        let _turn = self.loading.lock().await;
        let snapshot = self.read().await?;
        self.snapshot.store(Arc::new(snapshot));
        Ok(())
    }

    /// Reads the site into memory if it has changed, and gives whether it had.
    pub(crate) async fn catch_up(&self) -> Result<bool, Error> {
        if self.stored_revision().await? == self.snapshot().revision {
            return Ok(false);
        }
        self.reload().await?;
        Ok(true)
    }

    /// Follows the changes of other processes until it is dropped.
    pub(crate) async fn follow(&self) {
        let mut failing = false;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let looked = self.catch_up().await;
            // Once, not four times a second.
            if let Err(error) = &looked
                && !failing
            {
                tracing::error!(%error, "changes to the site cannot be read; the last known stay");
            }
            failing = looked.is_err();
        }
    }

    /// The user with a token, unless blocked.
    pub(crate) async fn identify(&self, token: &str) -> Result<Option<SharedUser>, Error> {
        let hash = tokens::hash(token);
        let snapshot = self.snapshot.load_full();
        let remembered = {
            let known = snapshot.identities.read().unwrap_or_else(PoisonError::into_inner);
            known.get(&hash).cloned()
        };
        if remembered.is_some() {
            return Ok(remembered);
        }
        let user = tokens::identify(&self.database, &hash).await?;
        if let Some(user) = &user {
            let mut known = snapshot.identities.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(hash, user.clone());
        }
        Ok(user)
    }

    async fn stored_revision(&self) -> Result<u64, Error> {
        let revision: i64 = sqlx::query_scalar("SELECT revision FROM host_state")
            .fetch_one(self.database.readers())
            .await?;
        Ok(revision.unsigned_abs())
    }

    async fn read(&self) -> Result<Snapshot, Error> {
        let mut transaction = self.database.readers().begin().await?;
        let revision: i64 = sqlx::query_scalar("SELECT revision FROM host_state")
            .fetch_one(&mut *transaction)
            .await?;
        let revision = revision.unsigned_abs();
        let actions = self.descriptions.iter().flat_map(|of| &of.actions);
        let access =
            Access::read(&mut transaction, actions.map(|action| action.name.clone())).await?;
        let enabled: Vec<(String, bool)> =
            sqlx::query_as("SELECT name, enabled FROM host_extensions")
                .fetch_all(&mut *transaction)
                .await?;
        let parameters: Vec<(String, String, String)> =
            sqlx::query_as("SELECT extension, name, value FROM host_parameters")
                .fetch_all(&mut *transaction)
                .await?;
        let before = self.snapshot.load();
        Ok(Snapshot {
            revision,
            access,
            parameters: Parameters::new(
                parameters,
                &self.descriptions,
                revision,
                &before.parameters,
            ),
            enabled: enabled.into_iter().collect(),
            identities: RwLock::default(),
        })
    }
}

/// Marks the site as changed, within the transaction that changes it.
pub(crate) async fn bump(transaction: &mut Transaction<'static, Sqlite>) -> Result<(), Error> {
    sqlx::query("UPDATE host_state SET revision = revision + 1")
        .execute(&mut **transaction)
        .await?;
    Ok(())
}
