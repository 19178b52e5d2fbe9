//! The checks of this host before a plugin is called: who is asking, and whether they have access to the
//! API. Their order, and everything else between a request and a plugin, is that of `host-service`.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response, header};
use host_interface::Credentials;
use host_service::{Access, Asked, Asking, Mount, Refusal, RequestId};

use crate::base::error::Error;
use crate::base::secret;
use crate::identity::acl::{CORE_LOGIN_API, ROOT};
use crate::identity::tokens::{self, Usage};
use crate::site::Site;
use crate::site::snapshot::Identity;
use crate::watch::audit::Means;

use super::asking::{Admitted, SignedIn};
use super::notes::Notes;

/// The extensions of the site, behind its checks.
pub(crate) type Api = Mount<Gate>;

/// The data for these checks: the site's state in memory. It also records the use of tokens, and what
/// was asked.
pub(crate) struct Gate {
    pub(crate) site: Site,
    pub(crate) usage: Arc<Usage>,
    pub(crate) notes: Notes,
}

/// Answers a request that a page of the administration sends on behalf of its user. It passes the same
/// checks as any other request, except that it needs no token. The address begins with the entry
/// point; `id` is the id of the request to the page.
pub(crate) async fn ask(
    api: &Api,
    user: SignedIn,
    id: &str,
    request: Request<Vec<u8>>,
) -> Response<Body> {
    let mut request = request.map(Body::from);
    request.extensions_mut().insert(user);
    api.answer(&RequestId::known(id), request).await
}

impl Access for Gate {
    type User = Admitted;

    async fn authenticate(&self, asking: Asking<'_>) -> Result<Option<Admitted>, Refusal> {
        match asking.extensions().get() {
            Some(signed_in) => self.signed_in(*signed_in).await,
            None => self.by_credentials(asking).await,
        }
    }

    fn is_identified(&self, asking: &Asking<'_>) -> bool {
        asking.headers().contains_key(header::AUTHORIZATION)
            || asking.extensions().get::<SignedIn>().is_some()
    }

    fn is_available(&self) -> bool {
        self.site.state().is_trusted()
    }

    fn is_enabled(&self, extension: &str) -> bool {
        self.site.state().snapshot().enabled(extension)
    }

    async fn answered(&self, asked: Asked<Admitted>, response: Response<Body>) -> Response<Body> {
        self.notes.answered(asked, response).await
    }

    fn interrupted(&self, asked: &Asked<Admitted>) {
        self.notes.interrupted(asked);
    }
}

impl Gate {
    /// The user with the credentials in the headers.
    async fn by_credentials(&self, asking: Asking<'_>) -> Result<Option<Admitted>, Refusal> {
        let state = self.site.state();
        if !state.snapshot().token_auth() {
            return Ok(None);
        }
        let Some(credentials) = asking.credentials() else { return Ok(None) };
        if let Some(admitted) = self.admitted(asking, &credentials).await? {
            return Ok(Some(admitted));
        }
        // Another process may have given the user access a moment ago.
        match state.catch_up().await {
            Ok(true) => self.admitted(asking, &credentials).await,
            Ok(false) => Ok(None),
            Err(error) => {
                tracing::error!(%error, "changes to the site cannot be read");
                Err(Refusal::Unavailable)
            }
        }
    }

    /// The user who has signed in to the administration and needs no token. The permission to use the
    /// API is required all the same.
    async fn signed_in(&self, of: SignedIn) -> Result<Option<Admitted>, Refusal> {
        let found = self.by_id(of.user).await?.filter(|found| self.has_access(found));
        Ok(found.map(|identity| Admitted { identity, means: Means::Session(of.session) }))
    }

    /// The user with these credentials, if the user has access.
    async fn admitted(
        &self,
        asking: Asking<'_>,
        credentials: &Credentials,
    ) -> Result<Option<Admitted>, Refusal> {
        let found = self.identify(asking, credentials).await?;
        let admitted = found.filter(|found| self.has_access(&found.identity));
        if let Some(Admitted { means: Means::Token(token), .. }) = &admitted {
            self.usage.note(*token);
        }
        Ok(admitted)
    }

    fn has_access(&self, identity: &Identity) -> bool {
        self.site.state().snapshot().access.allows(identity.user.id, CORE_LOGIN_API, ROOT)
    }

    async fn by_id(&self, user: i64) -> Result<Option<Arc<Identity>>, Refusal> {
        let state = self.site.state();
        let user = tokens::by_id(state.database(), user).await.map_err(failed)?;
        Ok(user.map(|user| state.identity(user)))
    }

    async fn identify(
        &self,
        asking: Asking<'_>,
        credentials: &Credentials,
    ) -> Result<Option<Admitted>, Refusal> {
        if credentials.scheme() == "bearer" {
            let hash = secret::hash(credentials.secret());
            let found = self.site.state().identify(&hash).await.map_err(failed)?;
            return Ok(found.map(|identity| Admitted { identity, means: Means::Token(hash) }));
        }
        let Some(id) = asking.ask_extensions(credentials).await? else { return Ok(None) };
        let means = Means::Scheme(credentials.scheme().to_owned());
        Ok(self.by_id(id).await?.map(|identity| Admitted { identity, means }))
    }
}

fn failed(error: Error) -> Refusal {
    tracing::error!(%error, "a user could not be looked up");
    Refusal::Unavailable
}
