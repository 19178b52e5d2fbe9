//! Persons: a copy of what the host keeps about one, and its removal. What extensions keep is removed before, in
//! `site/privacy/`.

use std::collections::BTreeMap;

use host_interface::Erased;

use crate::base::error::Error;
use crate::database::{Connection, transact};
use crate::identity::acl::{CORE_ADMIN, CORE_MANAGE, ROOT};
use crate::identity::administrators::{Administrators, Force};
use crate::identity::persons::{self, Counts, Known};
use crate::identity::users;
use crate::mail::{Folder, IsTheirs};
use crate::site::Site;
use crate::site::state::change;

use super::author::{Author, Recorded, may, read, refused};
use super::operation::Operation;

pub(crate) static EXPORT: Operation = Operation::new("copy a person's data", CORE_MANAGE)
    .page("administration.privacy.export")
    .command("privacy export");
pub(crate) static ERASE: Operation = Operation::new("erase a person", CORE_MANAGE)
    .takes_access()
    .page("administration.privacy.erase")
    .command("privacy erase");

/// The place of mails among the counts.
const MAILS: &str = "mails";

/// A person, as the host knows one.
#[derive(Clone)]
pub(crate) struct Whom {
    pub(crate) user: Option<Known>,
    /// Whether an address is one of theirs.
    pub(crate) is_theirs: IsTheirs,
    /// What the trail calls them: the kind and the key of a record.
    pub(crate) record: (&'static str, String),
}

/// Records that a person's data was copied.
pub(crate) async fn exported(site: &Site, whom: &Whom) -> Result<Recorded, Error> {
    let (kind, id) = &whom.record;
    transact!(site.state().database(), |transaction| {
        let author = Author::of(site, &EXPORT, Force::No, transaction).await?;
        if let Some(user) = &whom.user {
            may_handle(transaction, site, user.id).await?;
        }
        author.record(transaction, (kind, id), "").await
    })
}

/// Counts what the host would erase, and checks whether it may. Nothing is changed.
pub(crate) async fn count(
    site: &Site,
    folder: &Folder,
    whom: &Whom,
    force: Force,
) -> Result<Erased, Error> {
    // The same work as for an erasure, in a transaction that is never committed.
    let mut transaction = site.state().database().begin_write().await?;
    let found = erase_within(&mut transaction, site, whom, force).await;
    transaction.roll_back().await?;
    let mails = folder.find(whom.is_theirs.clone()).await?.len() as u64;
    let mut erased = Erased::default();
    erased.counts = with_mails(found?, mails);
    Ok(erased)
}

/// Erases what the host keeps, and records what was done on the whole site: `done` has the counts of the
/// extensions. The last administrator is erased only if that is forced.
pub(crate) async fn erase(
    site: &Site,
    folder: &Folder,
    whom: &Whom,
    (reason, force): (&str, Force),
    done: &BTreeMap<String, Erased>,
) -> Result<(Erased, Recorded), Error> {
    // A mail that is removed although the transaction fails is removed by every repetition, too.
    let mails = folder.remove(whom.is_theirs.clone()).await?;
    let (counts, mut remaining, recorded) = change!(site.state(), |transaction| {
        let author = Author::of(site, &ERASE, force, transaction).await?;
        let counts = with_mails(erase_within(transaction, site, whom, force).await?, mails);
        let remaining = match &whom.user {
            Some(user) => persons::search(transaction, user).await?,
            None => Counts::new(),
        };
        let details = details(reason, done, &counts);
        let (kind, id) = &whom.record;
        let recorded = author.record(transaction, (kind, id), &details).await?;
        Ok((counts, remaining, recorded))
    })?;
    remaining = with_mails(remaining, folder.find(whom.is_theirs.clone()).await?.len() as u64);
    let mut erased = Erased::default();
    (erased.counts, erased.remaining) = (counts, remaining);
    Ok((erased, recorded))
}

async fn erase_within(
    transaction: &mut Connection,
    site: &Site,
    whom: &Whom,
    force: Force,
) -> Result<Counts, Error> {
    let Some(user) = &whom.user else { return Ok(Counts::new()) };
    may_handle(transaction, site, user.id).await?;
    if site.actor().and_then(|actor| actor.session()).is_some_and(|(own, _)| own == user.id) {
        return Err(refused("you cannot erase yourself; ask another administrator to do it"));
    }
    let administrators = Administrators::before(transaction).await?;
    let counts = persons::erase(transaction, user).await?;
    if force == Force::No {
        administrators.must_remain(transaction).await?;
    }
    Ok(counts)
}

/// Refuses what is about a user who may do more on the whole site than whoever asks for it: an extension decides who
/// may copy and erase its customers, but not that they may do so with an administrator.
async fn may_handle(transaction: &mut Connection, site: &Site, user: i64) -> Result<(), Error> {
    let Some(by) = site.actor().map(|actor| actor.user()).filter(|by| *by != 0) else {
        return Ok(());
    };
    let access = read(site.state(), transaction).await?;
    let groups = users::groups_of(transaction, user).await?;
    for action in [CORE_ADMIN, CORE_MANAGE] {
        let has = access.decide_for_groups(&groups, action, ROOT).0;
        if has && !may(&access, transaction, by, action).await? {
            return Err(refused(&format!(
                "only users with {action} may copy or erase the data of others who have it"
            )));
        }
    }
    Ok(())
}

fn with_mails(mut counts: Counts, mails: u64) -> Counts {
    if mails > 0 {
        counts.insert(MAILS.to_owned(), mails);
    }
    counts
}

/// The reason, and how many records of each place were changed or removed.
fn details(reason: &str, done: &BTreeMap<String, Erased>, own: &Counts) -> String {
    let of_extensions = done.iter().map(|(name, erased)| (name.as_str(), &erased.counts));
    let all = [("host", own)].into_iter().chain(of_extensions);
    let counts = all.flat_map(|(part, counts)| {
        counts.iter().map(move |(place, count)| format!("{part}.{place} {count}"))
    });
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() {
        format!("{reason}; nothing was found")
    } else {
        format!("{reason}; {}", counts.join(", "))
    }
}
