//! The rules that give permissions to groups.

use crate::base::error::Error;
use crate::identity::acl::{self, CORE_ADMIN, Setting};
use crate::identity::administrators::Force;
use crate::identity::groups;
use crate::site::Site;
use crate::site::state::change;

use super::author::{Author, Recorded};
use super::operation::Operation;

pub(crate) static CHANGE: Operation = Operation::new("change permissions", CORE_ADMIN)
    .takes_access()
    .page("administration.permissions")
    .command("permission set");

/// What a rule about an asset becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleChange<'a> {
    /// The title of the group.
    pub(crate) group: &'a str,
    pub(crate) action: &'a str,
    pub(crate) setting: Setting,
}

/// Sets or removes rules about an asset.
pub(crate) async fn change(
    site: &Site,
    asset: &str,
    rules: &[RuleChange<'_>],
    force: Force,
) -> Result<Recorded, Error> {
    let details: Vec<String> = rules.iter().map(RuleChange::text).collect();
    let details = details.join(", ");
    change!(site.state(), |transaction| {
        let author = Author::of(site, &CHANGE, force, transaction).await?;
        for RuleChange { group, action, setting } in rules {
            let group = groups::find(transaction, group).await?;
            let asset = acl::find_asset(transaction, asset).await?;
            acl::put_rule(transaction, asset, group, action, setting.allowed()).await?;
        }
        author.record(transaction, ("asset", asset), &details).await
    })
}

impl RuleChange<'_> {
    fn text(&self) -> String {
        let verb = match self.setting {
            Setting::Allow => "allow",
            Setting::Deny => "deny",
            Setting::Inherit => "inherit",
        };
        format!("{verb} {} for {}", self.action, self.group)
    }
}
