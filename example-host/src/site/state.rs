//! The state in memory: all data for the checks of a request, at one revision of the site. Changes
//! in the same process take effect before the call that makes them returns; those of other
//! processes are read within a second. While the database does not answer, the state is used for a
//! few more seconds, and then requests are refused.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Guard};
use host_interface::{Caller, Description, User};
use tokio::sync::{Mutex, Notify};

use crate::base::error::Error;
use crate::base::secret::SecretHash;
use crate::database::{Connection, Database, sql};
use crate::extensions::parameters::Parameters;
use crate::identity::acl::Access;
use crate::identity::scopes::Catalogue;
use crate::identity::tokens::{self, Token};
use crate::site::events::Events;
use crate::site::snapshot::{self, Identity, Snapshot};

/// How often a serving host checks for changes by other processes.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// How long the state in memory is used although the database does not confirm it: long enough for
/// a restart of the database, and short because a user who is blocked meanwhile keeps access for
/// that long.
const TRUSTED: Duration = Duration::from_secs(5);

/// Makes an administrative change in one transaction, and then applies it to the state in memory.
/// The work is run as by [`transact!`](crate::database::transact).
macro_rules! change {
    ($state:expr, |$transaction:ident| $work:expr) => {{
        let done = $crate::database::transact!($state.database(), |$transaction| {
            let done: Result<_, $crate::base::error::Error> = async { $work }.await;
            let done = done?;
            $crate::site::state::bump($transaction).await?;
            Ok(done)
        });
        if done.is_ok() {
            $state.changed().await;
        }
        done
    }};
}
pub(crate) use change;

/// The state in memory, with the database that it is read from.
#[derive(Debug)]
pub(crate) struct State {
    database: Database,
    descriptions: Vec<Description>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    /// When the snapshot was last confirmed to be current.
    confirmed: RwLock<Instant>,
    /// Held while a snapshot is read, so that an older one never replaces a newer one.
    loading: Mutex<()>,
    events: Events,
    /// Notified when a job may be due earlier than planned.
    woken: Notify,
}

impl State {
    /// A state with an empty snapshot; [`State::reload`] reads it.
    pub(crate) fn new(database: Database, descriptions: Vec<Description>) -> Self {
        let scopes = Arc::new(Catalogue::new(&descriptions));
        Self {
            database,
            descriptions,
            snapshot: Arc::new(ArcSwap::from_pointee(Snapshot { scopes, ..Snapshot::default() })),
            confirmed: RwLock::new(Instant::now()),
            loading: Mutex::new(()),
            events: Events::default(),
            woken: Notify::new(),
        }
    }

    /// The host's database.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The descriptions of the loaded extensions.
    pub(crate) fn descriptions(&self) -> &[Description] {
        &self.descriptions
    }

    /// The scopes that a token may have.
    pub(crate) fn scopes(&self) -> Arc<Catalogue> {
        Arc::clone(&self.snapshot.load().scopes)
    }

    /// The current snapshot. The guard must not be held across an await.
    pub(crate) fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// The revision of the site that the state has. It grows with each change.
    pub(crate) fn revision(&self) -> u64 {
        self.snapshot().revision
    }

    /// What reports events to the extensions.
    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// Notified when a job may be due earlier than planned.
    pub(crate) fn woken(&self) -> &Notify {
        &self.woken
    }

    /// Applies a change that was just written.
    pub(crate) async fn changed(&self) {
        // The change is stored. If it cannot be read now, the background task reads it later.
        if let Err(error) = self.reload().await {
            tracing::error!(%error, "a change is stored but has not taken effect yet");
        }
    }

    /// Reads the site into memory, unless another task has done so while this one waited.
    pub(crate) async fn reload(&self) -> Result<(), Error> {
        let _guard = self.loading.lock().await;
        let asked = Instant::now();
        if self.stored_revision().await? != self.snapshot().revision {
            let snapshot = Arc::new(self.read().await?);
            let before = self.snapshot.swap(Arc::clone(&snapshot));
            self.events.compare(&before, &snapshot);
        }
        self.confirm(asked);
        Ok(())
    }

    /// Reads the site into memory if it has changed.
    pub(crate) async fn catch_up(&self) -> Result<(), Error> {
        let asked = Instant::now();
        if self.stored_revision().await? == self.snapshot().revision {
            self.confirm(asked);
            return Ok(());
        }
        self.reload().await
    }

    /// Reads the site into memory before it is served. If that fails, the known state is used for
    /// as long as at any other time.
    pub(crate) async fn look_again(&self) {
        if let Err(error) = self.catch_up().await {
            tracing::error!(%error, "changes to the site cannot be read");
        }
    }

    /// Whether the state in memory was confirmed recently enough to be used.
    pub(crate) fn is_trusted(&self) -> bool {
        self.confirmed.read().unwrap_or_else(PoisonError::into_inner).elapsed() < TRUSTED
    }

    /// Records that the snapshot was current at this moment.
    fn confirm(&self, at: Instant) {
        let mut confirmed = self.confirmed.write().unwrap_or_else(PoisonError::into_inner);
        *confirmed = at.max(*confirmed);
    }

    /// Reads the changes of other processes periodically, until the future is dropped.
    pub(crate) async fn follow(&self) {
        let mut failing = false;
        loop {
            tokio::time::sleep(POLL_EVERY).await;
            // The error is logged once and not four times a second.
            match self.catch_up().await {
                Ok(()) if failing => {
                    tracing::info!("the database answers again");
                    failing = false;
                }
                Ok(()) => {}
                Err(error) if !failing => {
                    let seconds = TRUSTED.as_secs();
                    tracing::error!(
                        %error,
                        "changes to the site cannot be read; the known state is used for \
                         {seconds} seconds, then requests are answered with 503"
                    );
                    failing = true;
                }
                Err(error) => tracing::debug!(%error, "changes to the site cannot be read"),
            }
        }
    }

    /// The user whose token has this hash, unless blocked.
    pub(crate) async fn identify(&self, hash: &SecretHash) -> Result<Option<Arc<Identity>>, Error> {
        let snapshot = self.snapshot.load_full();
        if let Some(identity) = snapshot.remembered(hash) {
            return Ok(Some(identity));
        }
        let found = tokens::identify(&self.database, hash).await?;
        Ok(found.map(|(user, token)| {
            let identity = self.identity(user, Some(token));
            snapshot.remember(*hash, &identity);
            identity
        }))
    }

    /// A user as a caller, with the token that was sent, if one was.
    pub(crate) fn identity(&self, user: User, token: Option<Token>) -> Arc<Identity> {
        Arc::new(Identity::new(user, token, &self.snapshot))
    }

    /// The user with this key as a caller, unless there is none or they are blocked.
    pub(crate) fn caller(&self, user: i64) -> Option<Caller> {
        snapshot::caller(&self.snapshot, user)
    }

    /// Whether the database answers.
    pub(crate) async fn answers(&self) -> Result<(), Error> {
        self.stored_revision().await.map(drop)
    }

    async fn stored_revision(&self) -> Result<u64, Error> {
        let (revision,): (i64,) =
            self.database.fetch_one(sql("SELECT revision FROM host_state")).await?;
        Ok(revision.unsigned_abs())
    }

    async fn read(&self) -> Result<Snapshot, Error> {
        let mut transaction = self.database.begin_read().await?;
        let (revision,): (i64,) =
            transaction.fetch_one(sql("SELECT revision FROM host_state")).await?;
        let revision = revision.unsigned_abs();
        let actions = self.descriptions.iter().flat_map(|of| &of.actions);
        let access =
            Access::read(&mut transaction, actions.map(|action| action.name.clone())).await?;
        let enabled: Vec<(String, bool)> =
            transaction.fetch_all(sql("SELECT name, enabled FROM host_extensions")).await?;
        let parameters: Vec<(String, String, String)> = transaction
            .fetch_all(sql("SELECT extension, name, value FROM host_parameters"))
            .await?;
        transaction.commit().await?;
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
            scopes: Arc::clone(&before.scopes),
            identities: RwLock::default(),
        })
    }
}

/// Marks the site as changed, within the transaction that changes it.
pub(crate) async fn bump(transaction: &mut Connection) -> Result<(), Error> {
    transaction.execute(sql("UPDATE host_state SET revision = revision + 1")).await?;
    Ok(())
}
