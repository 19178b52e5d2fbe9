//! Access control: assets and rules, the decision whether a user may do something, and the reason
//! for it. Decisions are made in memory, without the database.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::base::error::Error;
use crate::database::{Connection, Database, Engine, row, select, sql};

/// The asset at the top of the tree.
pub const ROOT: &str = "root";
/// Allows everything, on [`ROOT`].
pub const CORE_ADMIN: &str = "core.admin";
/// Gives a user access to the API with a token, on [`ROOT`].
pub const CORE_LOGIN_API: &str = "core.login.api";
/// Gives a user access to the administration, on [`ROOT`].
pub const CORE_MANAGE: &str = "core.manage";

/// The effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Allowed, unless another rule denies it.
    Allow,
    /// Denied, even if another rule allows it.
    Deny,
    /// No rule of its own: only the rules above apply.
    Inherit,
}

impl Setting {
    /// Whether the rule allows the action; `None` if there is to be no rule.
    pub(crate) fn allowed(self) -> Option<bool> {
        match self {
            Setting::Allow => Some(true),
            Setting::Deny => Some(false),
            Setting::Inherit => None,
        }
    }
}

row! {
    /// A rule, with names instead of keys.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RuleEntry {
        /// The title of the group.
        pub group: String = "g.title",
        /// The action.
        pub action: String = "r.action",
        /// The asset.
        pub asset: String = "a.name",
        /// Whether it allows the action; otherwise it denies it.
        pub allowed: bool = "r.allowed",
    }
}

/// Whether something is allowed, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The outcome.
    pub allowed: bool,
    /// The rule that decided, for example `allow store.view on com_shop for Manager`.
    pub reason: String,
}

/// Every rule of the site.
pub(crate) async fn rules(database: &Database) -> Result<Vec<RuleEntry>, Error> {
    let statement = select::<RuleEntry>(
        "FROM host_rules r JOIN host_groups g ON g.id = r.group_id \
         JOIN host_assets a ON a.id = r.asset_id ORDER BY g.id, a.name, r.action",
    );
    database.fetch_all(statement).await
}

/// Replaces or removes a rule within a transaction.
pub(crate) async fn put_rule(
    transaction: &mut Connection,
    asset: i64,
    group: i64,
    action: &str,
    allowed: Option<bool>,
) -> Result<(), Error> {
    let removal = sql("DELETE FROM host_rules WHERE asset_id = ? AND group_id = ? AND action = ?");
    transaction.execute(removal.bind(asset).bind(group).bind(action)).await?;
    match allowed {
        Some(allowed) => insert_rule(transaction, asset, group, action, allowed).await,
        None => Ok(()),
    }
}

/// Adds a rule; there must be none for the same group, action and asset.
pub(crate) async fn insert_rule(
    transaction: &mut Connection,
    asset: i64,
    group: i64,
    action: &str,
    allowed: bool,
) -> Result<(), Error> {
    let statement =
        sql("INSERT INTO host_rules (asset_id, group_id, action, allowed) VALUES (?, ?, ?, ?)");
    transaction.execute(statement.bind(asset).bind(group).bind(action).bind(allowed)).await?;
    Ok(())
}

/// The key of an asset.
pub(crate) async fn find_asset(connection: &mut Connection, name: &str) -> Result<i64, Error> {
    let statement = sql("SELECT id FROM host_assets WHERE name = ?");
    let found = connection.fetch_optional(statement.bind(name)).await?;
    found.map(|(id,)| id).ok_or_else(|| Error::not_found("asset", name))
}

/// The pairs of user and group, sorted, without blocked users. There may be many users, and reading
/// a row for each would take most of the time, so each row contains the keys of thousands of them.
async fn members(transaction: &mut Connection) -> Result<Vec<(i64, i64)>, Error> {
    macro_rules! members {
        ($keys:literal, $thousands:literal) => {
            concat!(
                "SELECT m.group_id, ",
                $keys,
                " FROM host_user_groups m JOIN host_users u ON u.id = m.user_id \
                 WHERE NOT u.blocked GROUP BY m.group_id, ",
                $thousands
            )
        };
    }
    let statement = match transaction.engine() {
        Engine::Sqlite => members!("group_concat(m.user_id)", "m.user_id / 10000"),
        Engine::Postgres => members!("string_agg(m.user_id::text, ',')", "m.user_id / 10000"),
        Engine::MySql => members!("group_concat(m.user_id)", "m.user_id DIV 10000"),
    };
    let rows: Vec<(i64, String)> = transaction.fetch_all(sql(statement)).await?;
    let mut members = Vec::new();
    for (group, users) in &rows {
        for user in users.split(',') {
            let user = user.parse().map_err(|error| {
                Error::Database(sqlx::Error::Decode(Box::<std::num::ParseIntError>::new(error)))
            })?;
            members.push((user, *group));
        }
    }
    members.sort_unstable();
    Ok(members)
}

/// All data for decisions, at one revision of the site.
#[derive(Debug, Default)]
pub(crate) struct Access {
    groups: HashMap<i64, Node>,
    assets: Vec<Node>,
    asset_index: HashMap<String, usize>,
    action_index: HashMap<String, usize>,
    rules: Vec<Rule>,
    /// The groups whose users need a second factor.
    second_factor: HashSet<i64>,
    /// For each user the set of groups; blocked users are not included.
    members: HashMap<i64, usize>,
    sets: Vec<GroupSet>,
}

#[derive(Debug)]
struct Node {
    name: String,
    /// The key of a group, or the index of an asset.
    parent: Option<i64>,
}

#[derive(Debug)]
struct Rule {
    asset: usize,
    group: i64,
    action: usize,
    allowed: bool,
}

/// A set of groups that some users share, with all decisions about it.
#[derive(Debug)]
struct GroupSet {
    /// The groups and all groups above them, nearest first.
    closure: Vec<i64>,
    /// One flag for each asset and action, computed on first use.
    answers: OnceLock<Box<[bool]>>,
}

impl Access {
    /// Reads everything in the transaction that the caller began.
    pub(crate) async fn read(
        transaction: &mut Connection,
        actions: impl IntoIterator<Item = String>,
    ) -> Result<Self, Error> {
        let mut access = Self::read_rules(transaction, actions).await?;
        access.set_members(&members(transaction).await?);
        Ok(access)
    }

    /// Reads groups, assets and rules, without the members of the groups.
    pub(crate) async fn read_rules(
        transaction: &mut Connection,
        actions: impl IntoIterator<Item = String>,
    ) -> Result<Self, Error> {
        let mut access = Self::default();
        let groups: Vec<(i64, String, Option<i64>)> =
            transaction.fetch_all(sql("SELECT id, title, parent_id FROM host_groups")).await?;
        access.groups =
            groups.into_iter().map(|(id, name, parent)| (id, Node { name, parent })).collect();

        let marked = sql("SELECT group_id FROM host_second_factor_groups");
        let marked: Vec<(i64,)> = transaction.fetch_all(marked).await?;
        access.second_factor = marked.into_iter().map(|(group,)| group).collect();

        let assets: Vec<(i64, String, Option<i64>)> =
            transaction.fetch_all(sql("SELECT id, name, parent_id FROM host_assets")).await?;
        let places: HashMap<i64, usize> =
            assets.iter().enumerate().map(|(place, (id, ..))| (*id, place)).collect();
        for (place, (_, name, parent)) in assets.into_iter().enumerate() {
            access.asset_index.insert(name.clone(), place);
            let parent = parent.and_then(|id| places.get(&id)).map(|place| *place as i64);
            access.assets.push(Node { name, parent });
        }

        let built_in = [CORE_ADMIN, CORE_LOGIN_API, CORE_MANAGE].map(str::to_owned);
        for action in built_in.into_iter().chain(actions) {
            access.intern(action);
        }
        row! {
            struct Stored {
                asset: i64 = "asset_id",
                group_id: i64,
                action: String,
                allowed: bool,
            }
        }
        let rules = transaction.fetch_all(select::<Stored>("FROM host_rules")).await?;
        for Stored { asset, group_id: group, action, allowed } in rules {
            let action = access.intern(action);
            if let Some(asset) = places.get(&asset).copied() {
                access.rules.push(Rule { asset, group, action, allowed });
            }
        }
        Ok(access)
    }

    /// Whether a user may do something; `false` if the user, action or asset is unknown.
    pub(crate) fn allows(&self, user: i64, action: &str, asset: &str) -> bool {
        let (Some(set), Some((action, asset))) = (self.set_of(user), self.places(action, asset))
        else {
            return false;
        };
        let width = self.action_index.len();
        let answers = set.answers.get_or_init(|| {
            let all = (0..self.assets.len()).flat_map(|asset| {
                (0..width).map(move |action| self.decide(&set.closure, action, asset).0)
            });
            all.collect()
        });
        answers.get(asset * width + action).copied().unwrap_or(false)
    }

    /// Whether a group of a user, or one above it, requires a second factor.
    pub(crate) fn requires_second_factor(&self, user: i64) -> bool {
        self.set_of(user)
            .is_some_and(|set| set.closure.iter().any(|group| self.second_factor.contains(group)))
    }

    /// Whether there is such a user, who is not blocked.
    pub(crate) fn admits(&self, user: i64) -> bool {
        self.members.contains_key(&user)
    }

    /// Whether a user who is not blocked may do everything.
    pub(crate) fn has_administrator(&self) -> bool {
        let Some((admin, root)) = self.places(CORE_ADMIN, ROOT) else { return false };
        self.sets.iter().any(|set| self.decide(&set.closure, admin, root).0)
    }

    /// The set of groups of a user who is not blocked.
    fn set_of(&self, user: i64) -> Option<&GroupSet> {
        self.sets.get(*self.members.get(&user)?)
    }

    /// The indices of an action and an asset, if both are known.
    fn places(&self, action: &str, asset: &str) -> Option<(usize, usize)> {
        Some((*self.action_index.get(action)?, *self.asset_index.get(asset)?))
    }

    /// Whether the action occurs in a rule or an extension.
    pub(crate) fn has_action(&self, action: &str) -> bool {
        self.action_index.contains_key(action)
    }

    /// Whether the site has the asset.
    pub(crate) fn has_asset(&self, asset: &str) -> bool {
        self.asset_index.contains_key(asset)
    }

    /// Whether a user may do an action, with the reason.
    pub(crate) fn explain(&self, user: i64, action: &str, asset: &str) -> Decision {
        let found = (self.set_of(user), self.places(action, asset));
        let (Some(set), Some((action, asset))) = found else {
            return Decision { allowed: false, reason: "no rule".to_owned() };
        };
        let (allowed, rule) = self.decide(&set.closure, action, asset);
        Decision { allowed, reason: self.reason(rule) }
    }

    /// Whether a user in exactly these groups may do something, and the rule that decides.
    pub(crate) fn decide_for_groups(
        &self,
        groups: &[i64],
        action: &str,
        asset: &str,
    ) -> (bool, Option<RuleEntry>) {
        let Some((action, asset)) = self.places(action, asset) else { return (false, None) };
        let (allowed, rule) = self.decide(&self.groups_and_above(groups), action, asset);
        (allowed, rule.map(|rule| self.entry(rule)))
    }

    /// All rules that affect whether a user in these groups may do something.
    pub(crate) fn applicable_rules(
        &self,
        groups: &[i64],
        action: &str,
        asset: &str,
    ) -> Vec<RuleEntry> {
        let Some((action, asset)) = self.places(action, asset) else { return Vec::new() };
        let groups = self.groups_and_above(groups);
        let assets = self.asset_and_above(asset);
        let admin = self.places(CORE_ADMIN, ROOT);
        let matters = |rule: &&Rule| {
            let asked = rule.action == action && assets.contains(&rule.asset);
            (asked || admin == Some((rule.action, rule.asset))) && groups.contains(&rule.group)
        };
        self.rules.iter().filter(matters).map(|rule| self.entry(rule)).collect()
    }

    /// The only place where a decision is made: administrators may do everything; otherwise any
    /// denial wins, then any allowance; without a rule the answer is no.
    fn decide(&self, groups: &[i64], action: usize, asset: usize) -> (bool, Option<&Rule>) {
        if let Some((admin, root)) = self.places(CORE_ADMIN, ROOT) {
            let decided = self.deciding_rule(groups, admin, root);
            if decided.is_some_and(|rule| rule.allowed) {
                return (true, decided);
            }
        }
        let decided = self.deciding_rule(groups, action, asset);
        (decided.is_some_and(|rule| rule.allowed), decided)
    }

    /// The nearest denial; if there is none, the nearest allowance.
    fn deciding_rule(&self, groups: &[i64], action: usize, asset: usize) -> Option<&Rule> {
        let assets = self.asset_and_above(asset);
        self.rules
            .iter()
            .filter(|rule| rule.action == action)
            .filter_map(|rule| {
                let depth = assets.iter().position(|place| *place == rule.asset)?;
                let distance = groups.iter().position(|group| *group == rule.group)?;
                Some(((rule.allowed, depth, distance), rule))
            })
            .min_by_key(|(order, _)| *order)
            .map(|(_, rule)| rule)
    }

    fn reason(&self, rule: Option<&Rule>) -> String {
        let Some(rule) = rule else { return "no rule".to_owned() };
        let RuleEntry { group, action, asset, allowed } = self.entry(rule);
        let verb = if allowed { "allow" } else { "deny" };
        format!("{verb} {action} on {asset} for {group}")
    }

    /// A rule, with names instead of keys.
    fn entry(&self, rule: &Rule) -> RuleEntry {
        let action = self.action_index.iter().find(|(_, place)| **place == rule.action);
        let action = action.map(|(name, _)| name.clone());
        let asset = self.assets.get(rule.asset).map(|asset| asset.name.clone());
        let group = self.groups.get(&rule.group).map(|group| group.name.clone());
        RuleEntry {
            group: group.unwrap_or_default(),
            action: action.unwrap_or_default(),
            asset: asset.unwrap_or_default(),
            allowed: rule.allowed,
        }
    }

    fn asset_and_above(&self, asset: usize) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut next = Some(asset);
        while let Some(place) = next.filter(|place| !chain.contains(place)) {
            chain.push(place);
            next = self
                .assets
                .get(place)
                .and_then(|asset| asset.parent)
                .and_then(|parent| usize::try_from(parent).ok());
        }
        chain
    }

    /// Users with the same groups share one set, so there are only a few sets.
    fn set_members(&mut self, members: &[(i64, i64)]) {
        let mut known: HashMap<Vec<i64>, usize> = HashMap::new();
        for user in members.chunk_by(|left, right| left.0 == right.0) {
            let Some((id, _)) = user.first() else { continue };
            let groups: Vec<i64> = user.iter().map(|(_, group)| *group).collect();
            let set = match known.get(&groups) {
                Some(set) => *set,
                None => {
                    let closure = self.groups_and_above(&groups);
                    self.sets.push(GroupSet { closure, answers: OnceLock::new() });
                    let set = self.sets.len() - 1;
                    known.insert(groups, set);
                    set
                }
            };
            self.members.insert(*id, set);
        }
    }

    fn groups_and_above(&self, groups: &[i64]) -> Vec<i64> {
        let mut closure = groups.to_vec();
        let mut place = 0;
        while let Some(group) = closure.get(place) {
            let parent = self.groups.get(group).and_then(|group| group.parent);
            if let Some(parent) = parent.filter(|parent| !closure.contains(parent)) {
                closure.push(parent);
            }
            place += 1;
        }
        closure
    }

    fn intern(&mut self, action: String) -> usize {
        let next = self.action_index.len();
        *self.action_index.entry(action).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: i64 = 1;
    const MANAGER: i64 = 2;
    const SUPER: i64 = 3;

    /// `root > shop > products`, `Public > Manager`, `Public > Super`; user 10 is a manager, 11 is
    /// a super user.
    fn access(rules: &[(&str, i64, &str, bool)]) -> Access {
        let node = |name: &str, parent| Node { name: name.to_owned(), parent };
        let mut access = Access {
            groups: HashMap::from([
                (PUBLIC, node("Public", None)),
                (MANAGER, node("Manager", Some(PUBLIC))),
                (SUPER, node("Super", Some(PUBLIC))),
            ]),
            assets: vec![node(ROOT, None), node("shop", Some(0)), node("products", Some(1))],
            ..Access::default()
        };
        for (place, asset) in access.assets.iter().enumerate() {
            access.asset_index.insert(asset.name.clone(), place);
        }
        for action in [CORE_ADMIN, "view", "edit"] {
            access.intern(action.to_owned());
        }
        for (asset, group, action, allowed) in rules {
            let asset = access.asset_index.get(*asset).copied().unwrap_or_default();
            let action = access.intern((*action).to_owned());
            access.rules.push(Rule { asset, group: *group, action, allowed: *allowed });
        }
        access.set_members(&[(10, MANAGER), (11, SUPER)]);
        access
    }

    fn explained(access: &Access, user: i64, action: &str, asset: &str) -> String {
        let decision = access.explain(user, action, asset);
        assert_eq!(decision.allowed, access.allows(user, action, asset));
        let outcome = if decision.allowed { "allowed" } else { "denied" };
        format!("{outcome}\t{}", decision.reason)
    }

    #[test]
    fn without_a_rule_everything_is_denied() {
        let access = access(&[]);
        assert_eq!(explained(&access, 10, "view", "products"), "denied\tno rule");
        assert_eq!(explained(&access, 99, "view", "products"), "denied\tno rule");
        assert_eq!(explained(&access, 10, "unknown", "products"), "denied\tno rule");
        assert_eq!(explained(&access, 10, "view", "unknown"), "denied\tno rule");
    }

    #[test]
    fn rules_are_inherited_down_both_trees() {
        let access = access(&[("shop", PUBLIC, "view", true)]);
        assert_eq!(
            explained(&access, 10, "view", "products"),
            "allowed\tallow view on shop for Public"
        );
        assert_eq!(explained(&access, 10, "view", "root"), "denied\tno rule");
        assert_eq!(explained(&access, 10, "edit", "products"), "denied\tno rule");
    }

    #[test]
    fn a_denial_above_wins_over_an_allowance_below() {
        let access =
            access(&[("root", PUBLIC, "view", false), ("products", MANAGER, "view", true)]);
        assert_eq!(
            explained(&access, 10, "view", "products"),
            "denied\tdeny view on root for Public"
        );
    }

    #[test]
    fn administrators_may_do_everything_unless_core_admin_is_denied() {
        let allow = ("root", SUPER, CORE_ADMIN, true);
        let deny_view = ("root", PUBLIC, "view", false);
        let access_of = access(&[allow, deny_view]);
        assert_eq!(
            explained(&access_of, 11, "view", "products"),
            "allowed\tallow core.admin on root for Super"
        );
        let access_of = access(&[allow, ("root", PUBLIC, CORE_ADMIN, false)]);
        assert_eq!(explained(&access_of, 11, "view", "products"), "denied\tno rule");
    }
}
