//! Imports: a form with a file, a dry run that shows how the file is understood and what is wrong with it, and then
//! the import itself. Each is a request to the API by the signed-in user. A file is sent once, and kept in between.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use askama::Template;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::admin::catalogue::Catalogue;
use crate::admin::offers::{IMPORTS, Offer};
use crate::admin::problem::Problem;
use crate::admin::tables::Format;
use crate::admin::uploads::{KEPT, SentFile, Upload};
use crate::admin::view::{Field, Layout, View, show};
use crate::admin::visit::{Outcome, Visit, refusal};
use crate::site::Site;

use super::import_report::{Report, Step};

/// The field with the type of the records.
const TYPE: &str = "type";
/// The field with the file.
const FILE: &str = "file";
/// What a compressed file begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// What a file of UTF-8 may begin with.
const BOM: &[u8] = b"\xef\xbb\xbf";

#[derive(Template)]
#[template(path = "admin/import.html")]
struct ImportPage<'a> {
    layout: Layout,
    extension: &'a str,
    /// The other extensions that records can be imported into.
    others: Vec<&'a str>,
    kind: Field,
    file: Field,
    settings: Vec<Field>,
    /// Why the file was refused as a whole.
    fault: &'a str,
}

/// Whether there is anything that a user may import.
pub(crate) fn is_offered(site: &Site, catalogue: &Catalogue, user: i64) -> bool {
    Offer::all(site, catalogue, user, IMPORTS).is_ok_and(|offers| !offers.is_empty())
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, visit.query.get("extension"), "")
}

/// Takes a file, and shows what its import would do.
pub(crate) async fn check(visit: Visit) -> Result<Outcome, Problem> {
    let again =
        |fault: &str| render(&visit, visit.form.get("extension"), fault).map(Outcome::Again);
    let Some(file) = visit.file.clone() else { return again("Choose a file.") };
    if file.content.size() == 0 {
        return again("The file is empty.");
    }
    let upload = visit.uploads.keep(visit.session_hash(), file, visit.form.clone())?;
    match begin(&visit, &upload, Step::DryRun).await? {
        Ok(view) => Ok(Outcome::Answered(view)),
        Err(fault) => again(&fault),
    }
}

/// Imports a file after its dry run.
pub(crate) async fn run(visit: Visit) -> Result<Outcome, Problem> {
    let upload = kept(&visit)?;
    if !upload.begins() {
        let why = "This file was imported already. Choose it again to import it once more.";
        return Err(Problem::Refused(why.to_owned()));
    }
    let begun = begin(&visit, &upload, Step::Run).await;
    if !matches!(begun, Ok(Ok(_))) {
        // The reason may pass.
        upload.may_begin_again();
    }
    match begun? {
        Ok(view) => Ok(Outcome::Answered(view)),
        Err(fault) => Err(Problem::Refused(fault)),
    }
}

/// Downloads what was wrong with the lines of a file.
pub(crate) async fn faults(visit: Visit) -> Result<View, Problem> {
    let faults = kept(&visit)?.faults();
    let pieces = faults.pieces(Arc::default());
    Ok(View::file("text/csv; charset=utf-8", "faults.csv", Body::from_stream(pieces)))
}

/// The file of the page, if it is still there.
fn kept(visit: &Visit) -> Result<Arc<Upload>, Problem> {
    let id = visit.params.first().map_or("", String::as_str);
    visit.uploads.find(id, visit.session_hash()).ok_or_else(|| {
        Problem::Refused(format!(
            "This file is no longer here. A host keeps the latest file of each session, for an hour, and {KEPT} files \
             in total. Choose it again."
        ))
    })
}

/// Sends a file to the API, and returns the page that shows what becomes of it, or why it was refused.
async fn begin(
    visit: &Visit,
    upload: &Arc<Upload>,
    step: Step,
) -> Result<Result<View, String>, Problem> {
    let settings = &upload.settings;
    let offers = visit.offers(IMPORTS)?;
    let offer = Offer::chosen(&offers, settings.get("extension")).ok_or(Problem::NotFound)?;
    let of = offer.of_type(settings.get(TYPE)).ok_or(Problem::NotFound)?;
    let SentFile { name, content } = &*upload.file;
    let beginning = content.piece(0).map_err(|error| {
        tracing::error!(%error, "a file that was kept cannot be read");
        Problem::Failed
    })?;
    let taken = Arc::new(AtomicU64::new(0));
    let mut request =
        Request::post(offer.import_address(of, offer.given(settings), step == Step::DryRun))
            .header(header::ACCEPT, Format::NDJSON.media_type)
            .header(header::CONTENT_TYPE, format_of(name, &beginning).media_type)
            .header(header::CONTENT_LENGTH, content.size());
    if beginning.starts_with(GZIP) {
        request = request.header(header::CONTENT_ENCODING, "gzip");
    }
    let body = Body::from_stream(content.pieces(Arc::clone(&taken)));
    let request = request.body(body).map_err(|_| Problem::NotFound)?;
    let answer = visit.ask_in_pieces(request).await;
    if answer.status() != StatusCode::OK {
        return Ok(Err(refusal(answer).await?));
    }
    let title = match step {
        Step::DryRun => format!("Dry run of {name}"),
        Step::Run => format!("Import of {name}"),
    };
    let report = Report { step, upload: Arc::clone(upload), of: of.title.clone(), taken };
    Ok(Ok(report.view(visit.layout(title), answer)?))
}

/// The form of a file: as it is called, or else as it looks.
fn format_of(name: &str, beginning: &[u8]) -> Format {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (_, ending) = name.rsplit_once('.').unwrap_or_default();
    let text = beginning.strip_prefix(BOM).unwrap_or(beginning);
    match ending {
        "ndjson" | "jsonl" | "json" => Format::NDJSON,
        "csv" | "txt" | "tsv" => Format::CSV,
        _ if text.trim_ascii_start().starts_with(b"{") => Format::NDJSON,
        _ => Format::CSV,
    }
}

fn render(visit: &Visit, extension: &str, fault: &str) -> Result<View, Problem> {
    let offers = visit.offers(IMPORTS)?;
    let offer = Offer::chosen(&offers, extension).ok_or(Problem::NotFound)?;
    let kind = Field::choice(TYPE, "Records", offer.choices());
    let file = Field::file(FILE, "File").hint(
        "CSV in UTF-8 with the names of the fields on its first line, as spreadsheets save it, or NDJSON. Either may \
         be compressed with gzip.",
    );
    let sent = |name: &str| match visit.form.given(name) {
        Some(value) => value.to_owned(),
        None => visit.query.get(name).to_owned(),
    };
    let settings = offer.parameters().map(|parameter| {
        let field = parameter.field();
        let value = sent(&field.name);
        field.value(value)
    });
    show(&ImportPage {
        layout: visit
            .layout("Import")
            .warning_if(!fault.is_empty(), "Nothing was imported. See below."),
        extension: offer.extension,
        others: offer.others(&offers),
        kind: kind.value(sent(TYPE)),
        file: file.fault(Some(fault)),
        settings: settings.collect(),
        fault,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_form_of_its_name_or_of_its_beginning() {
        for (name, beginning, format) in [
            ("products.csv", &b"{"[..], Format::CSV),
            ("PRODUCTS.CSV.GZ", GZIP, Format::CSV),
            ("products.jsonl", b"sku", Format::NDJSON),
            ("products", b"\xef\xbb\xbf {\"sku\": 1}", Format::NDJSON),
            ("products.2026", b"sku;name", Format::CSV),
            ("", b"", Format::CSV),
        ] {
            assert_eq!(format_of(name, beginning), format, "{name}");
        }
    }
}
