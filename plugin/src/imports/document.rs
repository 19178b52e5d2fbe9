//! The record of an import as a document, for clients that do not want its lines.

use serde_json::Value as Json;

use super::progress;
use crate::error::Error;
use crate::model::question::{Page, Shape};
use crate::service::call::Call;
use crate::wire::document::{self, Records};
use crate::wire::object::record_path;
use crate::wire::view::View;

/// The document of the record of an import, with a link to what was wrong.
pub(super) async fn document(call: &Call<'_>, id: i64) -> Result<Vec<u8>, Error> {
    let resource = progress::resource(call)?;
    let cells = call.shop.store.page(&Page::of_one(resource, id).shown()).await?;
    let (rows, view) = (cells.rows()?, View::of(Shape::Detail));
    let records = Records { resource, view: &view, rows: &rows, included: None };
    let document = document::single(records, &[], call.link_base(), None)?;
    let document = document.ok_or(Error::Contract("the record of an import is gone"))?;
    let mut document: Json = serde_json::from_slice(&document)?;
    let faults = format!("{}/faults", record_path(resource, id, &call.shop.root));
    document["links"]["faults"] = faults.into();
    Ok(serde_json::to_vec(&document)?)
}
