//! The files with the rows of lists that the API does not export itself: reports, imports, webhooks, and what is below
//! a record.

use std::collections::BTreeSet;

use example_host::{Force, Setting};
use serde_json::{Value, json};

use crate::support::harness::Shop;
use crate::support::visitor::{Seen, Visitor};

const LIST: &str = "/records/webservices-shop";

/// The path of the file that a page links to.
fn file(seen: &Seen) -> Option<String> {
    let (before, _) = seen.html.split_once("\" download>Export as CSV</a>")?;
    let (_, link) = before.rsplit_once("href=\"/administrator")?;
    Some(link.replace("&#38;", "&")).filter(|link| link.starts_with("/export/list/"))
}

/// The file of the list at this page: the names of its columns, and its rows.
#[track_caller]
fn table(seen: &Seen) -> (Vec<String>, Vec<Vec<String>>) {
    assert_eq!(seen.status, 200, "{}", seen.html);
    assert_eq!(seen.headers["content-type"], "text/csv; charset=utf-8");
    let mut reader = csv::Reader::from_reader(seen.html.as_bytes());
    let words = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let names = words(reader.headers().unwrap());
    let rows = reader.records().map(|record| words(&record.unwrap()));
    (names, rows.collect())
}

/// All records of a list of the API.
async fn records(shop: &Shop, path: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let and = if path.contains('?') { '&' } else { '?' };
        let page = format!("{path}{and}page[limit]=7&page[offset]={}", all.len());
        let mut answer = shop.get(&page).send().await.expect(200).json();
        let Value::Array(page) = answer["data"].take() else { panic!("{answer}") };
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// A value as a cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Fails the test unless a file has the rows of a list of the API, in its order.
#[track_caller]
fn is_the_same(seen: &Seen, expected: &[Value]) {
    let (names, rows) = table(seen);
    assert_eq!(rows.len(), expected.len(), "{}", seen.html);
    for (row, record) in rows.iter().zip(expected) {
        assert_eq!(names[0], "id");
        assert_eq!(row[0], cell(&record["id"]));
        let attributes = record["attributes"].as_object().unwrap();
        for (name, value) in attributes {
            let at = names.iter().position(|of| of == name);
            let at = at.unwrap_or_else(|| panic!("no {name} in {names:?}"));
            assert_eq!(row[at], cell(value), "{name} of {record}");
        }
    }
}

#[tokio::test]
async fn the_file_of_a_report_has_the_rows_of_the_api_with_its_filters() {
    let shop = Shop::filled().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let year = "filter[date_from]=2025-01-01&filter[date_to]=2025-12-31";
    for (report, query) in [
        ("sales", ""),
        ("sales", "?filter[period]=month"),
        ("products", ""),
        ("customers", ""),
        ("inventory", ""),
    ] {
        let seen = ann.get(&format!("{LIST}/reports-{report}{query}")).await;
        let seen = ann.get(&file(&seen).unwrap()).await;
        let named = format!("attachment; filename=\"reports-{report}.csv\"");
        assert_eq!(seen.headers["content-disposition"], named);
        is_the_same(&seen, &records(&shop, &format!("/reports/{report}{query}")).await);
    }
    // The columns are in the order of the document.
    let document: Value = serde_json::from_str(&shop.site.openapi().unwrap()[0]).unwrap();
    let columns = table(&ann.get("/export/list/webservices-shop/reports-sales").await).0;
    let schemas = document["components"]["schemas"].as_object().unwrap().iter();
    let mut schemas = schemas.filter(|(name, _)| name.ends_with(".attributes"));
    let schema = schemas.find_map(|(_, schema)| {
        let own = schema["properties"].as_object()?;
        (own.contains_key("average_order_value") && own.contains_key("net_sales")).then_some(own)
    });
    let declared: Vec<&String> = schema.unwrap().keys().collect();
    assert_eq!(columns.iter().skip(1).collect::<Vec<_>>(), declared);
    // More rows than a page of the API has.
    let seen = ann.get(&format!("{LIST}/reports-sales?{year}&page[limit]=25")).await;
    let seen = ann.get(&file(&seen).unwrap()).await;
    let days = records(&shop, &format!("/reports/sales?{year}")).await;
    assert!(days.len() >= 365);
    is_the_same(&seen, &days);
    // What the API refuses is told on a page, and no link leads there.
    let seen = ann.get(&format!("{LIST}/reports-sales?filter[period]=hour")).await;
    assert_eq!((seen.status, file(&seen)), (422, None));
    let hours = "/export/list/webservices-shop/reports-sales?filter[period]=hour";
    let seen = ann.get(hours).await;
    assert_eq!(seen.status, 422, "{}", seen.html);
    seen.says("filter[period]");
}

#[tokio::test]
async fn every_list_that_the_api_does_not_export_has_a_file() {
    let shop = Shop::filled().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let first = ann.get("/").await;
    let links = first.html.split("href=\"/administrator/records/webservices-shop/").skip(1);
    let kinds = links.map(|link| link.split_once('"').unwrap().0.to_owned());
    let kinds: BTreeSet<String> = kinds.filter(|kind| !kind.contains(['/', '?'])).collect();
    let mut own = BTreeSet::new();
    for kind in kinds {
        let seen = ann.get(&format!("{LIST}/{kind}")).await;
        assert!(seen.html.contains("\" download>Export as CSV</a>"), "{kind} has no file");
        let Some(file) = file(&seen) else {
            // Its records are exported by the API alone.
            let file = format!("/export/list/webservices-shop/{kind}");
            assert_eq!(ann.get(&file).await.status, 404, "{file}");
            continue;
        };
        // A type that the API does not export has nothing to tick.
        assert!(!seen.html.contains("type=\"checkbox\""), "{kind}");
        let seen = ann.get(&file).await;
        if kind.starts_with("reports-") {
            table(&seen);
        } else {
            is_the_same(
                &seen,
                &records(&shop, &shop.list_of(&kind).replace("fulfilled", "")).await,
            );
        }
        own.insert(kind);
    }
    for kind in ["imports", "reports-sales", "reports-inventory", "webhooks"] {
        assert!(own.contains(kind), "{own:?}");
    }
    for (record, part) in [
        ("imports/1", "faults"),
        ("inventory/1", "ledger"),
        ("orders/1", "history"),
        ("orders/1", "items"),
        ("webhooks/1", "deliveries"),
    ] {
        let seen = ann.get(&format!("{LIST}/{record}?tab={part}")).await;
        let file = file(&seen).unwrap_or_else(|| panic!("{record} has no file of {part}"));
        let expected = records(&shop, &format!("/{record}/{part}")).await;
        assert!(!expected.is_empty(), "{record} has no {part}");
        is_the_same(&ann.get(&file).await, &expected);
    }
    for nothing in ["orders/1/nothing", "orders/999/items", "nothing/1/items", "nothing"] {
        let file = format!("/export/list/webservices-shop/{nothing}");
        assert_eq!(ann.get(&file).await.status, 404, "{file}");
    }
    assert_eq!(ann.get("/export/list/nothing/reports-sales").await.status, 404);
}

#[tokio::test]
async fn a_file_is_for_whom_the_list_is_for() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let (page, file) = ("reports-inventory", "/export/list/webservices-shop/reports-inventory");
    let ledger = "/export/list/webservices-shop/inventory/1/ledger";
    for path in [&format!("{LIST}/{page}"), file, ledger] {
        assert_eq!(ann.get(path).await.status, 200, "{path}");
    }
    for kind in ["reports", "inventory"] {
        let asset = format!("com_shop.{kind}");
        let rule = ("Administrator", "store.view", asset.as_str());
        shop.site.set_rule(rule.0, rule.1, rule.2, Setting::Deny, Force::No).await.unwrap();
    }
    // There is no sign of a list that a user may not view.
    for path in [&format!("{LIST}/{page}"), file, ledger] {
        assert_eq!(ann.get(path).await.status, 404, "{path}");
    }
    ann.cookies.clear();
    assert_eq!(ann.get(file).await.status, 303);
}

#[tokio::test]
async fn a_cell_that_a_spreadsheet_would_compute_is_made_harmless() {
    let shop = Shop::open().await;
    let formula = "=HYPERLINK(\"http://evil.example\",\"a\"), b";
    for (name, sku) in [(formula, "@1"), ("-1+1", "+49"), ("Lamp", "a=1")] {
        shop.create("/products", json!({"product_name": name, "sku": sku})).await;
    }
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let (names, rows) = table(&ann.get("/export/list/webservices-shop/reports-inventory").await);
    let at = |name: &str| names.iter().position(|of| of == name).unwrap();
    let (name, sku) = (at("name"), at("sku"));
    let cells: BTreeSet<(&str, &str)> = rows.iter().map(|row| (&*row[name], &*row[sku])).collect();
    let formula = format!("'{formula}");
    let expected = [(formula.as_str(), "'@1"), ("'-1+1", "'+49"), ("Lamp", "a=1")];
    assert_eq!(cells, BTreeSet::from(expected));
}

#[tokio::test]
async fn an_empty_list_has_a_file_with_the_names_of_its_columns() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get(&format!("{LIST}/webhooks")).await;
    seen.says("There is nothing here yet.");
    let (names, rows) = table(&ann.get(&file(&seen).unwrap()).await);
    assert!(names.len() > 3 && rows.is_empty(), "{names:?} {rows:?}");
    let seen = ann.get(&format!("{LIST}/products?filter[search]=nothing")).await;
    seen.says("Nothing matches.");
    seen.says("download>Export as CSV</a>");
    let products = "/export/file?extension=webservices-shop&type=products&format=csv";
    let seen = ann.get(products).await;
    assert_eq!((seen.status, seen.html.lines().count()), (200, 1), "{}", seen.html);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_any_extension_have_files() {
    let (_place, served, mut ann) = Visitor::of_fixture("library", &[]).await;
    let seen = ann.get("/records/library/books").await;
    let seen = ann.get(&file(&seen).unwrap()).await;
    let expected = "isbn,title,pages,lent,about\r\n\
        3-16,<b>Faust</b>,1464,true,\"{\"\"shelf\"\":7}\"\r\na/b,Emma,12,false,\r\n";
    assert_eq!(seen.html, expected);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_finished_does_not_look_whole() {
    let (_place, served, mut ann) = Visitor::of_fixture("troubled", &[]).await;
    let address = "/export/list/troubled/breaking";
    let seen = ann.get("/records/troubled/breaking").await;
    assert_eq!(file(&seen).as_deref(), Some(address));
    let answer = ann.request(address).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.bytes().await.is_err(), "the second page fails");
    served.log.wait_for("a file with the rows of a list was interrupted").await;
    // Fewer rows at the same time, where so many are refused.
    let (_, rows) = table(&ann.get("/export/list/troubled/heavy").await);
    let keys: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(keys, (0..40).map(|nth| nth.to_string()).collect::<Vec<_>>());
    // Where the first page fails, there is no file.
    for (way, status) in [("denied", 403), ("failing", 502), ("busy", 503)] {
        assert_eq!(ann.get(&format!("/export/list/troubled/{way}")).await.status, status, "{way}");
    }
    served.is_alive().await;
    served.stop().await;
}
