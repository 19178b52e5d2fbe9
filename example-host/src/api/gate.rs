//! The checks of this host before a plugin is called: who is asking, and whether they have access to the
//! API. Their order, and everything else between a request and a plugin, is that of `host-service`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response, header};
use host_interface::Credentials;
use host_service::{Access, Asked, Asking, ClientAddress, Mount, Refusal, RequestId};

use crate::base::error::Error;
use crate::base::{secret, token_text};
use crate::identity::acl::{CORE_LOGIN_API, ROOT};
use crate::identity::rates::Rates;
use crate::identity::tokens::{self, Token};
use crate::identity::uses::Uses;
use crate::site::Site;
use crate::site::snapshot::Identity;
use crate::watch::audit::Means;

use super::asking::{Admitted, SignedIn};
use super::notes::Notes;

/// The extensions of the site, behind its checks.
pub(crate) type Api = Mount<Gate>;

/// The data for these checks: the site's state in memory, and the rates of tokens. It also records the use
/// of tokens, and what was asked.
pub(crate) struct Gate {
    pub(crate) site: Site,
    pub(crate) uses: Arc<Uses>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) notes: Notes,
}

/// Answers a request that a page of the administration sends on behalf of its user. It passes the same
/// checks as any other request, except that it needs no token. The address begins with the entry
/// point; `id` is the id of the request to the page.
pub(crate) async fn ask(
    api: &Api,
    user: SignedIn,
    id: &str,
    mut request: Request<Body>,
) -> Response<Body> {
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

    async fn answered(
        &self,
        asked: Asked<Admitted>,
        mut response: Response<Body>,
    ) -> Response<Body> {
        if let Some(limit) = asked.user.as_ref().and_then(|user| user.limit) {
            limit.apply(response.headers_mut());
        }
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
        let known = state.revision();
        if let Some(admitted) = self.admitted(asking, &credentials).await? {
            return Ok(Some(admitted));
        }
        // Another process may have given the user access a moment ago, and another task may have read that since.
        match state.catch_up().await {
            Ok(()) if state.revision() != known => self.admitted(asking, &credentials).await,
            Ok(()) => Ok(None),
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
        let means = Means::Session(of.session);
        Ok(found.map(|identity| Admitted { identity, means, limit: None }))
    }

    /// The user with these credentials, if the user has access.
    async fn admitted(
        &self,
        asking: Asking<'_>,
        credentials: &Credentials,
    ) -> Result<Option<Admitted>, Refusal> {
        let found = self.identify(asking, credentials).await?;
        let Some(found) = found.filter(|found| self.has_access(&found.identity)) else {
            return Ok(None);
        };
        match found.identity.token.clone() {
            Some(token) => self.within_limits(asking, &token, found).map(Some),
            None => Ok(Some(found)),
        }
    }

    /// Checks what limits a token, and counts its use.
    fn within_limits(
        &self,
        asking: Asking<'_>,
        token: &Token,
        mut user: Admitted,
    ) -> Result<Admitted, Refusal> {
        let client: Option<IpAddr> = asking.extensions().get().map(|ClientAddress(client)| *client);
        if token.has_ended() {
            return Err(self.notes.refused_token(&user, client, Refusal::Expired));
        }
        // Without an address, nothing shows that it is one of them.
        if !token.addresses.is_empty() && !client.is_some_and(|client| token.admits(client)) {
            return Err(self.notes.refused_token(&user, client, Refusal::AddressNotAllowed));
        }
        if !asking.is_repeated() {
            self.uses.note(token.id, client);
            if let Some(rate) = token.rate {
                let limit = self.rates.count(token.id, rate).map_err(Refusal::TooManyRequests)?;
                user.limit = Some(limit);
            }
        }
        Ok(user)
    }

    fn has_access(&self, identity: &Identity) -> bool {
        self.site.state().snapshot().access.allows(identity.user.id, CORE_LOGIN_API, ROOT)
    }

    async fn by_id(&self, user: i64) -> Result<Option<Arc<Identity>>, Refusal> {
        let state = self.site.state();
        let user = tokens::by_id(state.database(), user).await.map_err(failed)?;
        Ok(user.map(|user| state.identity(user, None)))
    }

    async fn identify(
        &self,
        asking: Asking<'_>,
        credentials: &Credentials,
    ) -> Result<Option<Admitted>, Refusal> {
        if credentials.scheme() == "bearer" {
            if !token_text::may_be_one(credentials.secret()) {
                return Ok(None);
            }
            let hash = secret::hash(credentials.secret());
            let found = self.site.state().identify(&hash).await.map_err(failed)?;
            return Ok(found.map(|identity| {
                let name = identity.token.as_ref().map(|token| Arc::clone(&token.name));
                let means = Means::Token { hash, name: name.unwrap_or_default() };
                Admitted { identity, means, limit: None }
            }));
        }
        let Some(id) = asking.ask_extensions(credentials).await? else { return Ok(None) };
        let means = Means::Scheme(credentials.scheme().to_owned());
        Ok(self.by_id(id).await?.map(|identity| Admitted { identity, means, limit: None }))
    }
}

fn failed(error: Error) -> Refusal {
    tracing::error!(%error, "a user could not be looked up");
    Refusal::Unavailable
}
