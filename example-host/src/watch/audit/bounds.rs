//! The length of the audit trail: which entries are kept, and the removal of the others.

use crate::base::error::Error;
use crate::base::text::now;
use crate::database::{Connection, sql};

use super::ends::{Chain, Ends, Link, of_chain, whole};

/// The maximum number of old entries of a chain that are removed in each transaction: more than are
/// added, so that a lowered limit is soon reached, and few enough to be fast.
const REMOVED_AT_ONCE: i64 = 1000;

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// For how many days lasting entries are kept.
    days: i64,
    /// How many others are kept.
    entries: i64,
}

impl Bounds {
    /// Lasting entries are kept for so many days, and so many of the others.
    pub(crate) fn new(days: u64, entries: u64) -> Self {
        let at_most = |number| i64::try_from(number).unwrap_or(i64::MAX);
        Self { days: at_most(days), entries: at_most(entries) }
    }

    /// Removes the oldest entries of a chain that are not kept. They are selected by their keys, which
    /// takes the same time however many entries there are.
    pub(super) async fn apply(
        self,
        transaction: &mut Connection,
        chain: Chain,
        ends: &mut Ends,
    ) -> Result<(), Error> {
        let Some(oldest) = oldest(transaction, chain, ends).await? else { return Ok(()) };
        // With the others goes what hosts of a version without chains have written between them.
        let (first, last) = match chain {
            Chain::Lasting => (oldest, self.last_expired(transaction, ends).await?),
            Chain::Other => {
                let first = oldest.min(ends.anchor.id.saturating_add(1));
                (first, ends.last.id.saturating_sub(self.entries))
            }
        };
        let last = last.min(oldest.saturating_add(REMOVED_AT_ONCE));
        if last < oldest {
            return Ok(());
        }
        let statement = of_chain!(
            chain,
            "SELECT id, hash FROM",
            "chain WHERE id <= ? ORDER BY id DESC LIMIT 1"
        );
        let removed: Option<(i64, Vec<u8>)> =
            transaction.fetch_optional(statement.bind(last)).await?;
        // Entries from before there was a chain have none of it.
        if let Some((id, hash)) = removed {
            ends.anchor = Link { id, hash: whole(&hash) };
        }
        if last >= ends.unchained {
            ends.unchained = 0;
        }
        let rows = sql(match chain {
            Chain::Lasting => {
                "DELETE FROM host_audit WHERE id >= ? AND id <= ? AND EXISTS (SELECT 1 \
                 FROM host_audit_lasting_chain lasting WHERE lasting.id = host_audit.id)"
            }
            Chain::Other => {
                "DELETE FROM host_audit WHERE id >= ? AND id <= ? AND NOT EXISTS (SELECT 1 \
                 FROM host_audit_lasting_chain lasting WHERE lasting.id = host_audit.id)"
            }
        });
        transaction.execute(rows.bind(first).bind(last)).await?;
        let links = of_chain!(chain, "DELETE FROM", "chain WHERE id <= ?");
        transaction.execute(links.bind(last)).await?;
        Ok(())
    }

    /// The key up to which lasting entries are older than so many days. An entry that is missing, or
    /// one with a later time, ends the search: what comes after it is kept with it.
    async fn last_expired(self, transaction: &mut Connection, ends: &Ends) -> Result<i64, Error> {
        let days = time::Duration::seconds(self.days.saturating_mul(24 * 60 * 60));
        let Some(since) = now().checked_sub(days) else { return Ok(0) };
        let statement = sql("SELECT lasting.id FROM host_audit_lasting_chain lasting \
             LEFT JOIN host_audit entry ON entry.id = lasting.id \
             WHERE entry.id IS NULL OR entry.done_on >= ? ORDER BY lasting.id LIMIT 1");
        let kept: Option<(i64,)> = transaction.fetch_optional(statement.bind(since)).await?;
        Ok(kept.map_or(ends.last.id, |(id,)| id - 1))
    }
}

/// The oldest entry of a chain; those from before there was a chain belong to it, too.
async fn oldest(
    transaction: &mut Connection,
    chain: Chain,
    ends: &Ends,
) -> Result<Option<i64>, Error> {
    if ends.unchained > 0 {
        let statement = sql("SELECT min(id) FROM host_audit WHERE id > 0 AND id <= ?");
        let (oldest,): (Option<i64>,) =
            transaction.fetch_one(statement.bind(ends.unchained)).await?;
        if oldest.is_some() {
            return Ok(oldest);
        }
    }
    let (oldest,) = transaction.fetch_one(of_chain!(chain, "SELECT min(id) FROM", "chain")).await?;
    Ok(oldest)
}
