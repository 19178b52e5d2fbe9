//! The tab of a user's API token: its state, generating and revoking it. A new token is shown only
//! once, because only its hash is stored.

use askama::Template;

use crate::base::error::Error;
use crate::identity::directory::{self, UserDetails};
use crate::identity::tokens::{self, DEFAULT, Prepared, TokenEntry};
use crate::site::BASE_PATH;
use crate::site::state::change;

use super::api;
use super::users::{changed, tabs};
use crate::admin::authority::{self, Authority};
use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Layout, Moment, Notice, Tabs, View};
use crate::admin::visit::{Outcome, Visit};

#[derive(Template)]
#[template(path = "admin/user_token.html")]
struct Page {
    layout: Layout,
    tabs: Option<Tabs>,
    user: UserDetails,
    token: Option<TokenEntry>,
    /// The new token, with a command to try it.
    made: Option<Made>,
    /// Whether the user has access to the API.
    admitted: bool,
}

struct Made {
    token: String,
    command: String,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, None).await
}

/// Generates a token, which replaces the previous one.
pub(crate) async fn generate(visit: Visit) -> Result<Outcome, Problem> {
    let (id, state) = (visit.id()?, visit.site.state());
    directory::user(state.database(), id).await?;
    let prepared = Prepared::unlimited(DEFAULT, visit.site.token_lifetime())?;
    let (token, recorded) = change!(state, |transaction| {
        let authority = Authority::of(&visit, transaction).await?;
        authority.may_touch(transaction, id).await?;
        let token = prepared.replace(transaction, id).await?;
        let change = changed("generate a token", id);
        Ok((token, visit.record_shown(transaction, change).await?))
    })?;
    let command = command(&visit, &token);
    Ok(Outcome::Shown { recorded, view: render(&visit, Some(Made { token, command })).await? })
}

pub(crate) async fn revoke(visit: Visit) -> Result<Outcome, Problem> {
    let (id, state) = (visit.id()?, visit.site.state());
    let recorded = change!(state, |transaction| {
        let authority = Authority::of(&visit, transaction).await?;
        authority.may_touch(transaction, id).await?;
        if let Some(token) = tokens::find(transaction, id, DEFAULT).await? {
            tokens::remove(transaction, token).await?;
        }
        visit.record(transaction, changed("revoke a token", id)).await
    })?;
    Ok(Outcome::Done {
        recorded,
        to: href(&format!("/users/{id}/token")),
        message: "The token was revoked.".to_owned(),
    })
}

/// A command that tries a token: it reads the first list of the first extension that has one.
fn command(visit: &Visit, token: &str) -> String {
    let extensions = visit.site.state().descriptions();
    let found = extensions.iter().find_map(|extension| {
        let route = extension.routes.iter().find(|route| {
            route.method == host_interface::Method::Get && !route.pattern.contains('{')
        })?;
        Some((route.pattern.as_str(), extension.media_type.as_str()))
    });
    let (pattern, media_type) = found.unwrap_or_default();
    let address = format!("{}{BASE_PATH}/{pattern}", visit.origin);
    api::command(host_interface::Method::Get, &address, token, media_type, &[], None)
}

async fn render(visit: &Visit, made: Option<Made>) -> Result<View, Problem> {
    let (id, state) = (visit.id()?, visit.site.state());
    let user = directory::user(state.database(), id).await?;
    let admitted = admitted(visit, &user).await?;
    let mut layout = visit.layout(format!("API token of {}", user.username));
    if made.is_some() {
        layout = layout.with_notice(Notice::good(
            "The token was created. Copy it now: it is shown only once.",
        ));
    }
    show(&Page {
        layout,
        tabs: Some(tabs(id, "API token")),
        token: tokens::of_user(state.database(), &state.scopes(), id).await?.into_iter().next(),
        user,
        made,
        admitted,
    })
}

async fn admitted(visit: &Visit, user: &UserDetails) -> Result<bool, Error> {
    let access = authority::access(visit).await?;
    Ok(access
        .decide_for_groups(
            &user.groups,
            crate::identity::acl::CORE_LOGIN_API,
            crate::identity::acl::ROOT,
        )
        .0)
}
