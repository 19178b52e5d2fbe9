//! Answers to reads: a page of records, and the related records that the client wants beside it, from
//! one snapshot and with one statement for each relation. Independent of the routes that read.

use host_interface::Response;

use super::answers::Share;
use super::call::Call;
use crate::changes::ChangedSince;
use crate::error::{Error, Fault, FaultKind};
use crate::model::question::{Condition, Page};
use crate::model::relation::Relation;
use crate::model::resource::Resource;
use crate::model::value::Cell;
use crate::store::{Cells, Transaction};
use crate::wire::answer;
use crate::wire::document::{self, Records, Since};
use crate::wire::included::{Included, MAX_INCLUDED};
use crate::wire::request::Listing;
use crate::wire::view::{Branch, View};

/// The answer with a page of a list, which these further conditions limit.
pub(super) async fn list(
    call: &Call<'_>,
    resource: &'static Resource,
    (mut listing, view): (Listing, View),
    further: Vec<Condition>,
) -> Result<Response, Error> {
    let conditions = std::mem::take(&mut listing.conditions).into_iter().chain(further).collect();
    let shape = view.shape;
    let mut page = Page { shape, most_bytes: call.limit, ..listing.page(resource, conditions) };
    let mut changed = None;
    if let Some(moment) = listing.modified_since {
        call.shop.feed.catch_up().await?;
        let mut snapshot = call.shop.store.begin_read().await?;
        let since = ChangedSince::of(&listing, moment, &mut page, &mut snapshot).await?;
        changed = Some((since, snapshot));
    }
    let write = |records: Records<'_>, total, since: Option<&Since>| {
        document::list(records, total, &listing, since, call.link_base())
    };
    let body = read(call, changed, &page, &view, write).await?;
    Ok(answer::document(200, call.send(body)?))
}

/// The answer with a list that is known to be empty.
pub(super) fn empty(
    call: &Call<'_>,
    resource: &'static Resource,
    (listing, view): &(Listing, View),
) -> Result<Response, Error> {
    let none = Included::beside(resource, &[])?;
    let included = view.include.is_some().then_some(&none);
    let records = Records { resource, view, rows: &[], included };
    let body = document::list(records, 0, listing, None, call.link_base())?;
    Ok(answer::document(200, body))
}

/// The answer with the record of a page, if it exists. The parameters that were sent are part of its
/// link.
pub(super) async fn one(
    call: &Call<'_>,
    page: Page,
    view: &View,
    sent: &[(String, String)],
) -> Result<Option<Response>, Error> {
    let page = Page { shape: view.shape, most_bytes: call.limit, ..page };
    let write = |records: Records<'_>, _, _: Option<&Since>| {
        let body = document::single(records, sent, call.link_base(), None)?;
        Ok((records.version()?, body))
    };
    let (version, body) = read(call, None, &page, view, write).await?;
    let body = body.map(|body| call.send(body)).transpose()?;
    Ok(body.map(|body| answer::record(200, version, body)))
}

/// Reads a page and what is included beside it, in the snapshot of a list of changed records if it is one,
/// and writes the document of both.
async fn read<T>(
    call: &Call<'_>,
    changed: Option<(ChangedSince<'_>, Transaction)>,
    page: &Page,
    view: &View,
    write: impl FnOnce(Records<'_>, i64, Option<&Since>) -> Result<T, Error>,
) -> Result<T, Error> {
    let resource = page.resource;
    let mut share = call.shop.answers.begin(call.limit);
    let (changed, mut transaction) = match changed {
        Some((changed, snapshot)) => (Some(changed), snapshot),
        None if view.include.is_some() => (None, call.shop.store.begin_read().await?),
        None => {
            let cells = call.shop.store.page(page).await?;
            share.read(cells.bytes())?;
            let records = Records { resource, view, rows: &cells.rows()?, included: None };
            return write(records, cells.total(), None);
        }
    };
    let cells = transaction.page(page).await?;
    share.read(cells.bytes())?;
    let (mut rows, total) = (cells.rows()?, cells.total());
    let since = match changed {
        Some(changed) => Some(changed.beside(page, (&mut rows, total), &mut transaction).await?),
        None => None,
    };
    if view.include.is_none() {
        transaction.end().await;
        let records = Records { resource, view, rows: &rows, included: None };
        return write(records, total, since.as_ref());
    }
    let mut included = Included::beside(resource, &rows)?;
    let mut following = Following { transaction: &mut transaction, share, most_bytes: call.limit };
    let related = following.follow(resource, view, &rows).await?;
    let related_rows = rows_of(&related)?;
    let mut further = Vec::new();
    for (related, rows) in related.iter().zip(&related_rows) {
        add(&mut included, related, rows)?;
        let (target, view) = (related.branch.relation.target(), &related.branch.view);
        further.extend(following.follow(target, view, rows).await?);
    }
    let further_rows = rows_of(&further)?;
    for (related, rows) in further.iter().zip(&further_rows) {
        add(&mut included, related, rows)?;
    }
    // What was read counts until the document is written.
    let Following { share: _share, .. } = following;
    transaction.end().await;
    let records = Records { resource, view, rows: &rows, included: Some(&included) };
    write(records, total, since.as_ref())
}

/// The records to which a relation leads.
struct Related<'v> {
    branch: &'v Branch,
    /// The keys of the records from which it was followed.
    from: Vec<i64>,
    cells: Cells,
}

/// The reading of related records.
struct Following<'t> {
    transaction: &'t mut Transaction,
    share: Share,
    most_bytes: usize,
}

impl Following<'_> {
    /// Follows the relations of records, each with one statement.
    async fn follow<'v>(
        &mut self,
        resource: &'static Resource,
        view: &'v View,
        rows: &[Vec<Cell<'_>>],
    ) -> Result<Vec<Related<'v>>, Error> {
        let mut all = Vec::new();
        if rows.is_empty() {
            return Ok(all);
        }
        let keys =
            rows.iter().map(|row| resource.key_of(row)).collect::<Result<Vec<i64>, Error>>()?;
        // One more than a document may have shows that there are too many.
        let limit = i64::try_from(MAX_INCLUDED + 1).unwrap_or(i64::MAX);
        for branch in view.branches() {
            let leads = match branch.relation {
                Relation::One(one) => {
                    let cell = view.shape.cell_of(one.position, resource);
                    let cells = rows.iter().filter_map(|row| row.get(cell?));
                    let named = cells.map(|cell| cell.optional_int(one.field.name));
                    let named = named.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten();
                    let mut named: Vec<i64> = named.filter(|key| *key != 0).collect();
                    named.sort_unstable();
                    named.dedup();
                    named
                }
                Relation::Many(_) => keys.clone(),
            };
            if leads.is_empty() {
                continue;
            }
            let related = Page::of_related(&branch.relation, branch.view.shape, leads, limit);
            let page = Page { most_bytes: self.most_bytes, ..related };
            let cells = self.transaction.page(&page).await?;
            self.share.read(cells.bytes())?;
            all.push(Related { branch, from: keys.clone(), cells });
        }
        Ok(all)
    }
}

fn rows_of<'c>(related: &'c [Related<'_>]) -> Result<Vec<Vec<Vec<Cell<'c>>>>, Error> {
    related.iter().map(|related| related.cells.rows()).collect()
}

/// Adds the records of a relation, if the document does not have too many then.
fn add<'a>(
    included: &mut Included<'a>,
    related: &Related<'a>,
    rows: &'a [Vec<Cell<'a>>],
) -> Result<(), Error> {
    included.add(related.branch, &related.from, rows)?;
    // No more rows than that were read, so they are too many even if the document has some of them already.
    if rows.len().max(included.records.len()) > MAX_INCLUDED {
        let detail = format!(
            "There are more than {MAX_INCLUDED} records to include; ask for fewer with page[limit]."
        );
        return Err(Fault::at_parameter(FaultKind::InvalidParameter, "include", detail).into());
    }
    Ok(())
}
