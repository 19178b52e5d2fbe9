//! The rules for one asset: the rule and the resulting permission of each group. Assets and actions
//! are declared by the extensions.

use askama::Template;

use crate::base::error::Error;
use crate::database::{row, select};
use crate::identity::acl::{
    Access, CORE_ADMIN, CORE_LOGIN_API, CORE_MANAGE, ROOT, RuleEntry, Setting,
};
use crate::identity::administrators::Force;
use crate::identity::groups::{GroupEntry, as_tree};
use crate::site::Site;
use crate::site::operations::permissions::{self as operations, RuleChange};

use crate::admin::problem::Problem;
use crate::admin::view::{Layout, View, show};
use crate::admin::visit::{Outcome, Visit};
use crate::admin::{authority, form};

/// The host's own actions, on the whole site.
const BUILT_IN: [(&str, &str); 3] =
    [(CORE_ADMIN, "Everything"), (CORE_MANAGE, "Administration"), (CORE_LOGIN_API, "API access")];

#[derive(Template)]
#[template(path = "admin/permissions.html")]
struct PermissionsPage {
    layout: Layout,
    assets: Vec<AssetLine>,
    asset: AssetLine,
    tables: Vec<Table>,
    /// A hash of the rules when the form was opened.
    seen: String,
    may_change: bool,
}

/// An asset in the tree.
#[derive(Clone)]
pub(crate) struct AssetLine {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) depth: usize,
    /// The number of its rules.
    rules: i64,
}

/// An action on an asset.
#[derive(Clone)]
pub(crate) struct ActionEntry {
    pub(crate) name: String,
    pub(crate) title: String,
}

impl ActionEntry {
    /// Whether it is one of the host's own actions.
    pub(crate) fn is_built_in(&self) -> bool {
        BUILT_IN.iter().any(|(name, _)| *name == self.name)
    }
}

/// The permissions of all groups for related actions.
struct Table {
    title: &'static str,
    actions: Vec<ActionEntry>,
    rows: Vec<Row>,
}

/// The permissions of a group.
struct Row {
    group: GroupEntry,
    depth: usize,
    cells: Vec<Cell>,
}

struct Cell {
    field: String,
    title: String,
    label: String,
    setting: &'static str,
    allowed: bool,
    why: String,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let assets = assets(&visit).await?;
    let name = visit.query.given("asset").unwrap_or_else(|| first(&assets));
    let asset = assets.iter().find(|asset| asset.name == name).ok_or(Problem::NotFound)?.clone();
    let access = authority::access(&visit).await?;
    let rules = rules(visit.site.rules().await?, &asset.name);
    let groups = as_tree(visit.site.groups().await?);
    let (of_host, of_extensions): (Vec<ActionEntry>, Vec<ActionEntry>) =
        actions(&visit.site, &asset.name).into_iter().partition(ActionEntry::is_built_in);
    let tables = [("The site itself", of_host), ("Data of extensions", of_extensions)];
    let tables = tables.into_iter().filter(|(_, actions)| !actions.is_empty());
    let tables = tables.map(|(title, actions)| {
        let row = |(group, depth): &(GroupEntry, usize)| {
            let cells = actions.iter().map(|action| cell(&access, &rules, group, action, &asset));
            Row { cells: cells.collect(), group: group.clone(), depth: *depth }
        };
        Table { title, rows: groups.iter().map(row).collect(), actions }
    });
    let tables = tables.collect();
    show(&PermissionsPage {
        layout: visit.layout("Permissions"),
        seen: fingerprint(&rules),
        assets,
        asset,
        tables,
        may_change: visit.is_admin(),
    })
}

pub(crate) async fn save(visit: Visit) -> Result<Outcome, Problem> {
    let name = visit.form.get("asset").to_owned();
    let actions = actions(&visit.site, &name);
    let groups = visit.site.groups().await?;
    let before = rules(visit.site.rules().await?, &name);
    if visit.form.get("seen") != fingerprint(&before) {
        return Err(Problem::Refused(
            "Another user has changed these rules in the meantime. Check them and make your \
             change again."
                .to_owned(),
        ));
    }
    let mut changes = Vec::new();
    for group in &groups {
        for action in &actions {
            let setting = match visit.form.get(&field(group, action)) {
                "allow" => Setting::Allow,
                "deny" => Setting::Deny,
                "inherit" => Setting::Inherit,
                // A group that was added in the meantime is not in the form.
                _ => continue,
            };
            if setting.allowed() != set(&before, group, action) {
                changes.push(RuleChange { group: &group.title, action: &action.name, setting });
            }
        }
    }
    let to = format!("/permissions?asset={name}");
    if changes.is_empty() {
        return Ok(Outcome::unchanged(&to));
    }
    let recorded = operations::change(&visit.site, &name, &changes, Force::No).await?;
    let message = match changes.len() {
        1 => format!("One rule for {name} was changed and is now in effect."),
        some => format!("{some} rules for {name} were changed and are now in effect."),
    };
    Ok(Outcome::done(recorded, &to, message))
}

/// The assets of the site in the order of the tree.
pub(crate) async fn assets(visit: &Visit) -> Result<Vec<AssetLine>, Error> {
    row! {
        struct Found {
            id: i64 = "a.id",
            name: String = "a.name",
            title: String = "a.title",
            parent_id: Option<i64> = "a.parent_id",
            rules: i64 = "count(r.asset_id)",
        }
    }
    let statement = select::<Found>(
        "FROM host_assets a LEFT JOIN host_rules r ON r.asset_id = a.id \
         GROUP BY a.id, a.name, a.title, a.parent_id ORDER BY a.name",
    );
    let found: Vec<Found> = visit.site.state().database().fetch_all(statement).await?;
    let mut lines = Vec::with_capacity(found.len());
    put_below(None, 0, &found, &mut lines);
    return Ok(lines);

    fn put_below(above: Option<i64>, depth: usize, found: &[Found], lines: &mut Vec<AssetLine>) {
        for asset in found.iter().filter(|asset| asset.parent_id == above) {
            let (name, title) = (asset.name.clone(), asset.title.clone());
            lines.push(AssetLine { id: asset.id, name, title, depth, rules: asset.rules });
            put_below(Some(asset.id), depth + 1, found, lines);
        }
    }
}

/// The actions on an asset. The host's own actions apply to the whole site; those of an extension
/// apply to its assets and to the whole site.
pub(crate) fn actions(site: &Site, asset: &str) -> Vec<ActionEntry> {
    let built_in = BUILT_IN.into_iter().filter(|_| asset == ROOT);
    let extensions = site.state().descriptions().iter().filter(|extension| {
        asset == ROOT || extension.assets.iter().any(|known| known.name == asset)
    });
    let theirs = extensions
        .flat_map(|extension| &extension.actions)
        .map(|action| (action.name.as_str(), action.title.as_str()));
    let all = built_in.chain(theirs);
    all.map(|(name, title)| ActionEntry { name: name.to_owned(), title: title.to_owned() })
        .collect()
}

/// The default asset: the first one of an extension.
pub(crate) fn first(assets: &[AssetLine]) -> &str {
    assets.iter().find(|asset| asset.depth == 1).map_or(ROOT, |asset| asset.name.as_str())
}

/// The rules for an asset.
fn rules(all: Vec<RuleEntry>, asset: &str) -> Vec<RuleEntry> {
    all.into_iter().filter(|rule| rule.asset == asset).collect()
}

/// The setting of a rule, if there is one.
fn set(rules: &[RuleEntry], group: &GroupEntry, action: &ActionEntry) -> Option<bool> {
    let rule = rules.iter().find(|rule| rule.group == group.title && rule.action == action.name);
    rule.map(|rule| rule.allowed)
}

fn field(group: &GroupEntry, action: &ActionEntry) -> String {
    format!("{}-{}", action.name, group.id)
}

fn cell(
    access: &Access,
    rules: &[RuleEntry],
    group: &GroupEntry,
    action: &ActionEntry,
    asset: &AssetLine,
) -> Cell {
    let (allowed, rule) = access.decide_for_groups(&[group.id], &action.name, &asset.name);
    Cell {
        field: field(group, action),
        title: action.title.clone(),
        label: format!("{} for {}", action.title, group.title),
        setting: match set(rules, group, action) {
            Some(true) => "allow",
            Some(false) => "deny",
            None => "inherit",
        },
        allowed,
        why: source(rule.as_ref(), group, action, asset),
    }
}

/// The source of a decision, in a few words.
fn source(
    rule: Option<&RuleEntry>,
    group: &GroupEntry,
    action: &ActionEntry,
    asset: &AssetLine,
) -> String {
    let Some(rule) = rule else { return "no rule".to_owned() };
    let mut from = Vec::new();
    if rule.action != action.name {
        from.push(rule.action.as_str());
    } else if rule.asset != asset.name {
        from.push(rule.asset.as_str());
    }
    if rule.group != group.title {
        from.push(rule.group.as_str());
    }
    if from.is_empty() { "this rule".to_owned() } else { format!("from {}", from.join(", ")) }
}

/// A hash that shows whether the rules have changed.
fn fingerprint(rules: &[RuleEntry]) -> String {
    let rule = |RuleEntry { group, action, allowed, .. }: &RuleEntry| {
        format!("{group}\n{action}\n{allowed}")
    };
    form::fingerprint(rules.iter().map(rule))
}
