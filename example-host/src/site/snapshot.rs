//! The site in memory as it was at one revision: who may do what, what is set, what is enabled, and
//! the callers that were identified since. Reads no database.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use arc_swap::ArcSwap;
use host_interface::{Caller, Denial, Principal, User, fact};

use crate::base::secret::SecretHash;
use crate::extensions::parameters::Parameters;
use crate::extensions::registry::TOKEN_AUTH;
use crate::identity::acl::Access;
use crate::identity::scopes::{Catalogue, Granted, Uncovered};
use crate::identity::tokens::Token;

/// The maximum number of cached tokens; more than are in use at the same time.
const REMEMBERED: usize = 10_000;

/// The site at one revision.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(super) revision: u64,
    pub(crate) access: Access,
    pub(crate) parameters: Parameters,
    pub(super) enabled: HashMap<String, bool>,
    /// The scopes that a token may have. They are those of the libraries, and never change.
    pub(super) scopes: Arc<Catalogue>,
    /// Users by the hash of their token. This cache belongs to the snapshot, so that a change also
    /// empties it.
    pub(super) identities: RwLock<HashMap<SecretHash, Arc<Identity>>>,
}

impl Snapshot {
    /// Whether an extension is enabled.
    pub(crate) fn enabled(&self, extension: &str) -> bool {
        self.enabled.get(extension).copied().unwrap_or(false)
    }

    /// Whether users are identified by their tokens.
    pub(crate) fn token_auth(&self) -> bool {
        self.enabled(TOKEN_AUTH)
    }

    /// The user with this token, if they were identified since the revision.
    pub(super) fn remembered(&self, hash: &SecretHash) -> Option<Arc<Identity>> {
        let known = self.identities.read().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).cloned()
    }

    pub(super) fn remember(&self, hash: SecretHash, identity: &Arc<Identity>) {
        let mut known = self.identities.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(hash, Arc::clone(identity));
    }
}

/// A user who has been identified, by a token or otherwise.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) user: Arc<User>,
    /// The token that was sent, if one was.
    pub(crate) token: Option<Arc<Token>>,
    /// The user as plugins see them, with the limits of the token.
    pub(crate) caller: Caller,
}

impl Identity {
    /// A user of the site that this is the memory of.
    pub(super) fn new(user: User, token: Option<Token>, site: &Arc<ArcSwap<Snapshot>>) -> Self {
        let (user, token) = (Arc::new(user), token.map(Arc::new));
        let caller = Caller::new(Asking {
            id: user.id,
            user: Some(Arc::clone(&user)),
            token: token.as_ref().map(|token| Sent::new(token, &site.load().scopes)),
            site: Arc::downgrade(site),
        });
        Self { user, token, caller }
    }
}

/// The user with this key as plugins see one, unless there is none or they are blocked.
pub(super) fn caller(site: &Arc<ArcSwap<Snapshot>>, id: i64) -> Option<Caller> {
    let asking = Asking { id, user: None, token: None, site: Arc::downgrade(site) };
    site.load().access.admits(id).then(|| Caller::new(asking))
}

/// A user who asks plugins for something. What they may do is read from the site as it is at that
/// moment, not as it was when they were identified.
struct Asking {
    id: i64,
    /// Absent where only the key was needed.
    user: Option<Arc<User>>,
    /// The token that was sent.
    token: Option<Sent>,
    /// Weak, because the site remembers its callers.
    site: Weak<ArcSwap<Snapshot>>,
}

/// A token that was sent, as plugins see one.
struct Sent {
    /// The key as text.
    id: String,
    token: Arc<Token>,
    /// What it is limited to; without it, to nothing.
    granted: Option<Granted>,
}

impl Sent {
    fn new(token: &Arc<Token>, scopes: &Catalogue) -> Self {
        let granted = token.scopes.as_deref().map(|stored| scopes.granted(stored));
        Self { id: token.id.to_string(), token: Arc::clone(token), granted }
    }
}

impl Principal for Asking {
    fn user(&self) -> i64 {
        self.id
    }

    fn fact(&self, name: &str) -> Option<&str> {
        let user = self.user.as_ref()?;
        let token = self.token.as_ref();
        match name {
            fact::USER_USERNAME => Some(&user.username),
            fact::USER_NAME => Some(&user.name),
            fact::USER_EMAIL => Some(&user.email),
            fact::TOKEN_ID => token.map(|sent| sent.id.as_str()),
            fact::TOKEN_NAME => token.map(|sent| &*sent.token.name),
            fact::TOKEN_SCOPES => token.and_then(|sent| sent.token.scopes.as_deref()),
            _ => None,
        }
    }

    fn may(&self, action: &str, asset: &str) -> Result<(), Denial> {
        let site = self.site.upgrade().ok_or(Denial::Forbidden)?;
        let site = site.load();
        if let Some(granted) = self.token.as_ref().and_then(|sent| sent.granted.as_ref()) {
            site.scopes.check(granted, action, asset).map_err(|uncovered| match uncovered {
                Uncovered::Lacks(scope) => Denial::InsufficientScope(scope),
                Uncovered::ByAny => Denial::Forbidden,
            })?;
        }
        let allowed = site.access.allows(self.id, action, asset);
        if allowed { Ok(()) } else { Err(Denial::Forbidden) }
    }
}
