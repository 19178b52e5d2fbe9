//! Exports: a form with the type of the records and the form of the file, and the file, which is the answer of the
//! API to the signed-in user.

use askama::Template;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::admin::catalogue::Catalogue;
use crate::admin::offers::{EXPORTS, Offer};
use crate::admin::problem::{Problem, Trouble};
use crate::admin::records::listing;
use crate::admin::records::model::Query;
use crate::admin::tables::Format;
use crate::admin::view::{Field, Layout, View, show};
use crate::admin::visit::{Visit, refusal};
use crate::site::Site;

/// The field of a form in which records are ticked.
pub(crate) const TICKED: &str = "ticked";

#[derive(Template)]
#[template(path = "admin/export.html")]
struct ExportPage<'a> {
    layout: Layout,
    extension: &'a str,
    /// The other extensions that records can be exported from.
    others: Vec<&'a str>,
    fields: Vec<Field>,
}

/// Whether there is anything that a user may export.
pub(crate) fn is_offered(site: &Site, catalogue: &Catalogue, user: i64) -> bool {
    Offer::all(site, catalogue, user, EXPORTS).is_ok_and(|offers| !offers.is_empty())
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let offers = visit.offers(EXPORTS)?;
    let offer = Offer::chosen(&offers, visit.query.get("extension")).ok_or(Problem::NotFound)?;
    let kind = Field::choice("type", "Records", offer.choices()).value(visit.query.get("type"));
    let formats = Format::ALL.map(|format| (format.name, format.title));
    let format = Field::choice("format", "Format", formats);
    let chosen = offer.parameters().map(|parameter| parameter.field());
    show(&ExportPage {
        layout: visit.layout("Export"),
        extension: offer.extension,
        others: offer.others(&offers),
        fields: [kind, format].into_iter().chain(chosen).collect(),
    })
}

/// The filters and the order of a list that an address has, if the export takes them.
fn filters(visit: &Visit, offer: &Offer<'_>, list: &str) -> Result<Vec<(String, String)>, Problem> {
    let types = visit.types(offer.extension)?;
    let kinds = types.filter(|_| offer.tables.filters).into_iter().flat_map(|of| &of.kinds);
    let mut kinds = kinds.filter(|kind| kind.list.as_ref().is_some_and(|of| of.id == list));
    let Some(kind) = kinds.next() else { return Ok(Vec::new()) };
    let Query { offset, limit, .. } = &kind.query;
    let state = listing::state(kind, &kind.query, &visit.query);
    Ok(listing::without(&state, &[offset, limit]))
}

/// Downloads the file.
pub(crate) async fn file(visit: Visit) -> Result<View, Problem> {
    let offers = visit.offers(EXPORTS)?;
    let offer = Offer::chosen(&offers, visit.query.get("extension")).ok_or(Problem::NotFound)?;
    let of = offer.of_type(visit.query.get("type")).ok_or(Problem::NotFound)?;
    let format = Format::named(visit.query.get("format"));
    let mut given = offer.given(&visit.query);
    let filters = filters(&visit, offer, &of.list)?;
    let types = visit.types(offer.extension)?;
    let keys = types.and_then(|types| types.kind(&of.name)?.query.keys.as_ref());
    if visit.query.given(TICKED).is_some()
        && keys.is_none_or(|keys| listing::value(&filters, keys).is_none())
    {
        let why = "Tick the records that the file is to have.";
        return Err(Problem::Refused(why.to_owned()));
    }
    given.extend(filters);
    let request = Request::builder()
        .uri(offer.address(of, given))
        .header(header::ACCEPT, format.media_type)
        .body(Body::empty());
    let request = request.map_err(|_| Problem::NotFound)?;
    let answer = visit.ask_in_pieces(request).await;
    if answer.status() != StatusCode::OK {
        return Err(match Trouble::of_extension(answer.status()) {
            Some(trouble) => Problem::Trouble(trouble),
            None => Problem::Refused(refusal(answer).await?),
        });
    }
    let name = format!("{}.{}", of.name, format.name);
    Ok(View::file(format.media_type, name, answer.into_body()))
}
