//! The tab of a user's API tokens: the list, generating the one called default, and revoking one. A new
//! secret is shown only once, because only its hash is stored.

use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use host_interface::with_separators;

use crate::base::error::Error;
use crate::base::text::now;
use crate::identity::acl::{CORE_LOGIN_API, ROOT};
use crate::identity::directory::{self, UserDetails};
use crate::identity::tokens::{self, DEFAULT, TokenEntry};
use crate::site::operations::Recorded;
use crate::site::operations::tokens::{self as operations, Which};
use crate::site::operations::users::Who;

use super::api;
use super::users::tabs;
use crate::admin::authority;
use crate::admin::catalogue::Operation;
use crate::admin::problem::Problem;
use crate::admin::view::{Layout, Moment, Notice, Tabs, View, show};
use crate::admin::visit::{Outcome, Visit};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time before the end of a token in which it is marked as expiring soon.
pub(super) const SOON: Duration = Duration::from_secs(14 * DAY.as_secs());

#[derive(Template)]
#[template(path = "admin/user_token.html")]
struct UserTokensPage {
    layout: Layout,
    tabs: Option<Tabs>,
    user: UserDetails,
    tokens: Vec<Facts>,
    /// The new secret, with a command to try it.
    made: Option<Made>,
    /// Whether the user has access to the API.
    admitted: bool,
    /// The longest life of a token in days, if the site limits it.
    longest: Option<u64>,
}

impl UserTokensPage {
    /// Whether there is a token that a generated one replaces.
    fn has_default(&self) -> bool {
        self.tokens.iter().any(|facts| facts.token.name.eq_ignore_ascii_case(DEFAULT))
    }
}

struct Made {
    name: String,
    secret: String,
    /// Absent if the token allows none of the lists that extensions describe.
    command: Option<String>,
}

/// What the pages show of a token.
#[derive(Template)]
#[template(path = "admin/token_facts.html")]
pub(super) struct Facts {
    pub(super) token: TokenEntry,
}

/// They are rendered by their own template, which escapes the values.
impl HtmlSafe for Facts {}

impl Facts {
    /// The colour and the text of the state.
    fn state(&self) -> (&'static str, &'static str) {
        match self.token.expires_on {
            Some(_) if self.token.is_expired() => ("bad", "Expired"),
            Some(end) if end <= now() + SOON => ("warn", "Expires soon"),
            _ => ("good", "Active"),
        }
    }
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, None).await
}

/// Generates the token called default, which replaces the previous one of this name.
pub(crate) async fn generate(visit: Visit) -> Result<Outcome, Problem> {
    let id = visit.id()?;
    directory::user(visit.site.state().database(), id).await?;
    let made = operations::generate(&visit.site.shown(), Who::Key(id)).await?;
    with_secret(&visit, DEFAULT, made).await
}

/// Revokes a token with all of its secrets.
pub(crate) async fn revoke(visit: Visit) -> Result<Outcome, Problem> {
    let token = in_path(&visit).await?;
    let recorded = operations::revoke(&visit.site, which(&token)).await?;
    let recorded = recorded.ok_or_else(|| Error::not_found("token", &token.name))?;
    let TokenEntry { user, name, .. } = token;
    let to = format!("/users/{user}/token");
    Ok(Outcome::done(recorded, &to, format!("Token {name} was revoked.")))
}

/// The tab with the new secret of a token.
pub(super) async fn with_secret(
    visit: &Visit,
    name: &str,
    (secret, recorded): (String, Recorded),
) -> Result<Outcome, Problem> {
    Ok(Outcome::shown(recorded, render(visit, Some((name, secret))).await?))
}

/// The token in the path. That of another user is not found.
pub(super) async fn in_path(visit: &Visit) -> Result<TokenEntry, Problem> {
    let (user, state) = (visit.id()?, visit.site.state());
    let token = visit.params.get(1).and_then(|token| token.parse().ok());
    let token = token.ok_or(Problem::NotFound)?;
    let found = tokens::one(state.database(), &state.scopes(), user, token).await?;
    found.ok_or(Problem::NotFound)
}

/// A token that a page has shown.
pub(super) fn which(token: &TokenEntry) -> Which<'_> {
    Which { user: Who::Key(token.user), name: &token.name, key: Some(token.id) }
}

/// The longest life of a token in days, if the site limits it.
pub(super) fn longest_in_days(visit: &Visit) -> Option<u64> {
    visit.site.token_lifetime().map(|longest| longest.as_secs() / DAY.as_secs())
}

/// A command that tries a token: it reads the first list that the token allows, and rather one that
/// needs one certain permission than one for which one of several is enough.
fn command(visit: &Visit, token: &TokenEntry, secret: &str) -> Option<String> {
    let scopes = visit.site.state().scopes();
    // Without a document there is no command, but the secret has to be shown all the same.
    let documents = visit.catalogue.documents(&visit.site).unwrap_or_default();
    let groups = documents.iter().flat_map(|document| &document.groups);
    let lists = groups.flat_map(|group| &group.operations).filter(|operation| {
        let allowed = operation.permission.as_ref().is_some_and(|needed| {
            let allows = |action: &String| token.explain(&scopes, action, &needed.asset).allowed;
            needed.actions.iter().any(allows)
        });
        operation.only_reads() && !operation.path.contains('{') && allowed
    });
    let alternatives = |operation: &&Operation| {
        operation.permission.as_ref().map_or(0, |needed| needed.actions.len())
    };
    let list = lists.min_by_key(alternatives)?;
    let address = format!("{}{}{}", visit.origin, list.root, list.path);
    Some(api::command(list.method, &address, secret, &list.media_type, &[], None))
}

async fn render(visit: &Visit, made: Option<(&str, String)>) -> Result<View, Problem> {
    let (id, state) = (visit.id()?, visit.site.state());
    let user = directory::user(state.database(), id).await?;
    let access = authority::access(visit).await?;
    let tokens = tokens::of_user(state.database(), &state.scopes(), id).await?;
    let once = || Notice::good("Copy the token now: it is shown only once.");
    let layout = visit
        .layout(format!("API tokens of {}", user.username))
        .with_notice(made.is_some().then(once));
    let made = made.map(|(name, secret)| Made {
        command: tokens
            .iter()
            .find(|token| token.name == name)
            .and_then(|token| command(visit, token, &secret)),
        name: name.to_owned(),
        secret,
    });
    show(&UserTokensPage {
        layout,
        tabs: Some(tabs(id, "API tokens")),
        admitted: access.decide_for_groups(&user.groups, CORE_LOGIN_API, ROOT).0,
        user,
        tokens: tokens.into_iter().map(|token| Facts { token }).collect(),
        made,
        longest: longest_in_days(visit),
    })
}
