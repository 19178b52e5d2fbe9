//! The API tokens of all users that need attention: those that expire soon, and those that nobody uses.

use std::time::Duration;

use askama::Template;

use crate::base::error::Error;
use crate::base::text::now;
use crate::identity::tokens::{self, TokenEntry};

use super::token::SOON;
use crate::admin::problem::Problem;
use crate::admin::view::{Layout, Moment, View, show};
use crate::admin::visit::Visit;

/// How many tokens each list has at most.
const LISTED: usize = 100;

/// After how many days without use a token is listed.
const UNUSED_DAYS: u64 = 90;

const UNUSED: Duration = Duration::from_secs(UNUSED_DAYS * 24 * 60 * 60);

#[derive(Template)]
#[template(path = "admin/tokens.html")]
struct TokensPage {
    layout: Layout,
    expiring: Listed,
    unused: Listed,
}

/// The first tokens of a list.
pub(super) struct Listed {
    tokens: Vec<TokenEntry>,
    /// Whether there are more.
    more: bool,
}

impl Listed {
    fn new(mut tokens: Vec<TokenEntry>) -> Self {
        let more = tokens.len() > LISTED;
        tokens.truncate(LISTED);
        Self { tokens, more }
    }

    /// The number of tokens in words; empty for none.
    pub(super) fn count(&self) -> String {
        match (self.tokens.len(), self.more) {
            (0, _) => String::new(),
            (1, _) => "One API token".to_owned(),
            (count, false) => format!("{count} API tokens"),
            (count, true) => format!("Over {count} API tokens"),
        }
    }
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let state = visit.site.state();
    let since = now() - UNUSED;
    let unused =
        tokens::unused(state.database(), &state.scopes(), since, LISTED as i64 + 1).await?;
    show(&TokensPage {
        layout: visit.layout("API tokens"),
        expiring: expiring(&visit).await?,
        unused: Listed::new(unused),
    })
}

/// The tokens that expire soon.
pub(super) async fn expiring(visit: &Visit) -> Result<Listed, Error> {
    let state = visit.site.state();
    let until = now() + SOON;
    let found = tokens::ending(state.database(), &state.scopes(), until, LISTED as i64 + 1).await?;
    Ok(Listed::new(found))
}
