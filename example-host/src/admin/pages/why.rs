//! Explains why a user, or a token of one, may or may not do something: the decision, the rule that
//! decides, and all other rules that apply. Also shows all decisions about one user.

use askama::Template;

use crate::base::error::Error;
use crate::identity::acl::{ROOT, RuleEntry};
use crate::identity::directory::{self, UserDetails};
use crate::identity::tokens::{self, TokenEntry};
use crate::identity::users;

use super::permissions::{ActionEntry, AssetLine, actions, assets, first};
use super::users::tabs;
use crate::admin::authority::access;
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, Tabs, View, sentence, show};
use crate::admin::visit::Visit;

#[derive(Template)]
#[template(path = "admin/why.html")]
struct ExplanationPage {
    layout: Layout,
    user: Field,
    token: Field,
    actions: Vec<ActionEntry>,
    action: String,
    assets: Vec<AssetLine>,
    asset: String,
    answer: Option<Answer>,
}

struct Answer {
    user: UserDetails,
    allowed: bool,
    /// The reason, as a sentence.
    because: String,
    /// The name of the token that was asked about, and why it allows this or not.
    token: Option<(String, String)>,
    rules: Vec<(RuleEntry, bool)>,
}

#[derive(Template)]
#[template(path = "admin/user_permissions.html")]
struct UserPage {
    layout: Layout,
    tabs: Option<Tabs>,
    user: UserDetails,
    /// The decisions for the whole site.
    whole: Vec<(ActionEntry, bool)>,
    actions: Vec<ActionEntry>,
    rows: Vec<(AssetLine, Vec<Decided>)>,
}

struct Decided {
    action: ActionEntry,
    allowed: bool,
}

/// A form for a user, a token, an action and an asset, with the explanation of the decision.
pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let query = &visit.query;
    let (name, action) = (query.get("user").trim(), query.get("action"));
    let token_name = query.get("token").trim();
    let assets = assets(&visit).await?;
    let asset = query.given("asset").unwrap_or_else(|| first(&assets)).to_owned();
    let mut user = Field::text("user", "Username").value(name);
    let mut token = Field::text("token", "Token").optional().value(token_name);
    let mut answer = None;
    if !name.is_empty() {
        match find(&visit, name, token_name).await {
            Ok(found) => answer = Some(explain(&visit, found, action, &asset).await?),
            Err(error @ Error::NotFound { kind: "token", .. }) => {
                token = token.fault(Some(&error.to_string()));
            }
            Err(error @ Error::NotFound { .. }) => user = user.fault(Some(&error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    show(&ExplanationPage {
        layout: visit.layout("Why?"),
        user,
        token,
        actions: actions(&visit.site, ROOT),
        action: action.to_owned(),
        assets,
        asset,
        answer,
    })
}

/// Every decision about a user.
pub(crate) async fn of_user(visit: Visit) -> Result<View, Problem> {
    let user = directory::user(visit.site.state().database(), visit.id()?).await?;
    let access = access(&visit).await?;
    let allowed = |action: &ActionEntry, asset: &str| {
        !user.blocked && access.decide_for_groups(&user.groups, &action.name, asset).0
    };
    let everything = actions(&visit.site, ROOT);
    let (whole, theirs): (Vec<ActionEntry>, Vec<ActionEntry>) =
        everything.into_iter().partition(ActionEntry::is_built_in);
    let whole = whole.into_iter().map(|action| {
        let allowed = allowed(&action, ROOT);
        (action, allowed)
    });
    let rows = assets(&visit).await?.into_iter().filter(|asset| asset.name != ROOT).map(|asset| {
        let decided = theirs.iter().map(|action| Decided {
            allowed: allowed(action, &asset.name),
            action: action.clone(),
        });
        let decided = decided.collect();
        (asset, decided)
    });
    let (whole, rows) = (whole.collect(), rows.collect());
    show(&UserPage {
        layout: visit.layout(format!("Permissions of {}", user.username)),
        tabs: Some(tabs(user.id, "Permissions")),
        user,
        whole,
        actions: theirs,
        rows,
    })
}

/// The user of this name, and the token of that name unless it is empty.
async fn find(
    visit: &Visit,
    name: &str,
    token: &str,
) -> Result<(UserDetails, Option<TokenEntry>), Error> {
    let state = visit.site.state();
    let mut transaction = state.database().begin_read().await?;
    let id = users::find(&mut transaction, name).await?;
    transaction.commit().await?;
    let user = directory::user(state.database(), id).await?;
    let token = match token {
        "" => None,
        token => Some(tokens::named(state.database(), &state.scopes(), id, token).await?),
    };
    Ok((user, token))
}

async fn explain(
    visit: &Visit,
    (user, token): (UserDetails, Option<TokenEntry>),
    action: &str,
    asset: &str,
) -> Result<Answer, Problem> {
    let access = access(visit).await?;
    if !access.has_action(action) || !access.has_asset(asset) {
        return Err(Problem::NotFound);
    }
    let (allowed, decisive) = access.decide_for_groups(&user.groups, action, asset);
    let because = match &decisive {
        _ if user.blocked => "the user is blocked, and a blocked user may do nothing".to_owned(),
        None => "no rule allows it, and what no rule allows is denied".to_owned(),
        Some(rule) if rule.action != action => {
            format!("{} has {} on {}, which allows everything", rule.group, rule.action, rule.asset)
        }
        Some(RuleEntry { group, action, asset, allowed: true }) => {
            format!("the rule for {group} allows {action} on {asset}, and no rule denies it")
        }
        Some(RuleEntry { group, action, asset, .. }) => {
            format!("the rule for {group} denies {action} on {asset}, and a denial always wins")
        }
    };
    let rules = access.applicable_rules(&user.groups, action, asset).into_iter();
    let rules = rules.map(|rule| {
        let decides = !user.blocked && decisive.as_ref() == Some(&rule);
        (rule, decides)
    });
    let scopes = visit.site.state().scopes();
    let of_token = token.map(|token| (token.explain(&scopes, action, asset), token.name));
    let token_allows = of_token.as_ref().is_none_or(|(decision, _)| decision.allowed);
    Ok(Answer {
        allowed: allowed && !user.blocked && token_allows,
        because: sentence(&because),
        token: of_token.map(|(decision, name)| (name, sentence(&decision.reason))),
        rules: rules.collect(),
        user,
    })
}
