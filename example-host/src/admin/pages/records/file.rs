//! The files with the rows of lists: of types that their extension does not export itself, and of what is below a record.

use axum::body::Body;
use futures_util::{StreamExt, stream};

use super::at::At;
use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::records::asking::{Asked, segment};
use crate::admin::records::listing::{self, with_query};
use crate::admin::records::rows::{Place, Rows};
use crate::admin::tables::Format;
use crate::admin::view::View;
use crate::admin::visit::Visit;

/// Where these files are. They are not below the lists, where each name may be the key of a record.
const FILES: &str = "/export/list";

/// The address of the file of a list with this state.
pub(super) fn of_list(at: &At<'_>, state: &Asked) -> String {
    with_query(href(&format!("{FILES}/{}/{}", at.types.extension, at.kind.name)), state)
}

/// The address of the file of a list below a record.
pub(super) fn of_part(at: &At<'_>, id: &str, part: &str, state: &Asked) -> String {
    let (extension, kind, id) = (&at.types.extension, &at.kind.name, segment(id));
    with_query(href(&format!("{FILES}/{extension}/{kind}/{id}/{part}")), state)
}

/// Downloads the file. Who may do so is who may view the list.
pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let below = match visit.params.get(3) {
        Some(part) => {
            // A list below a record may be empty, and not a fault, where the record is not there for the user.
            let id = at.id()?;
            at.record().await?;
            Some((id, part.clone()))
        }
        None => None,
    };
    let place = Place { extension: at.types.extension.clone(), kind: at.kind.name.clone(), below };
    let source = place.source(&visit)?;
    let state = listing::state(source.kind, source.query, &visit.query);
    let name = format!("{}.{}", source.kind.name, Format::CSV.name);
    let mut rows = Rows::of(&visit, place, &state)?;
    // What the API refuses is told on a page, which is no longer possible when the file has begun.
    let first = rows.next().await?;
    let others = stream::try_unfold(rows, async |mut rows| match rows.next().await {
        Ok(piece) => Ok(piece.map(|piece| (piece, rows))),
        Err(problem) => {
            tracing::error!(?problem, "a file with the rows of a list was interrupted");
            // The connection ends before the file does, so that a browser reports it.
            Err("a page of the list is missing")
        }
    });
    let pieces = stream::iter(first.map(Ok)).chain(others);
    Ok(View::file("text/csv; charset=utf-8", name, Body::from_stream(pieces)).in_pieces())
}
