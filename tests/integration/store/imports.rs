//! Imports: each line of a file is written as by a request of its own and accounted for, a dry run is the run, and
//! sending again is safe.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use example_host::ServerSettings;
use flate2::Compression;
use flate2::write::GzEncoder;
use plugin::model::resource::Resource;
use plugin::resources::REGISTRY;
use serde_json::{Value, json};

use crate::support::harness::{Answer, NDJSON, Setup, Shop};

pub(super) const CSV: &str = "text/csv";

/// Sends a file, and returns the lines of the report and the summary.
pub(super) async fn import(
    shop: &Shop,
    query: &str,
    media_type: &str,
    file: &str,
) -> (Vec<Value>, Value) {
    report(&send(shop, query, media_type, file).await.expect(200))
}

pub(super) async fn send(shop: &Shop, query: &str, media_type: &str, file: &str) -> Answer {
    shop.request("POST", &format!("/imports?{query}")).file(media_type, file).send().await
}

/// The lines of a report and its summary, whose counts add up.
pub(super) fn report(answer: &Answer) -> (Vec<Value>, Value) {
    assert_eq!(answer.header("content-type"), NDJSON);
    let mut lines = answer.lines();
    let last = lines.pop().unwrap();
    let summary = &last["summary"];
    let counts = ["created", "updated", "unchanged", "failed"].map(|name| number(summary, name));
    assert_eq!(number(summary, "read"), counts.iter().sum::<i64>(), "{last}");
    (lines, last)
}

pub(super) fn number(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or_else(|| panic!("{name} of {value}"))
}

/// The counts of a summary: created, updated, unchanged, failed.
pub(super) fn counts(last: &Value) -> [i64; 4] {
    ["created", "updated", "unchanged", "failed"].map(|name| number(&last["summary"], name))
}

/// The last place in the feed of changes of a type.
async fn place(shop: &Shop, kind: &str) -> String {
    let export = shop.get(&format!("/exports/{kind}")).send().await.expect(200);
    export.header("export-cursor").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_is_created_changed_or_left_as_it_is() {
    let shop = Shop::stocked().await;
    let file = "sku;product_name;price;quantity;category.path;manufacturer.manufacturer_name;enabled\r\n\
        L-1;Lamp;24.99;5;lamps/desk-lamps;birch;TRUE\r\n\
        N-1;\"New; with a break\r\nand a \"\"quote\"\"\";5;7;lamps;;0\r\n\
        n-1;New again;6;7;;\\N;\r\n";
    let (lines, last) = import(&shop, "type=products", CSV, &format!("\u{feff}{file}")).await;
    assert_eq!(counts(&last), [1, 2, 0, 0], "{lines:?}");
    let seen: Vec<_> =
        lines.iter().map(|of| (number(of, "line"), &of["key"], &of["result"])).collect();
    let expected = [
        (2, json!("L-1"), json!("updated")),
        (3, json!("N-1"), json!("created")),
        (5, json!("n-1"), json!("updated")),
    ];
    assert_eq!(seen, expected.each_ref().map(|(line, key, result)| (*line, key, result)));
    assert_eq!(last["summary"]["committed_lines"], 5);
    let id = number(&lines[1], "id");
    let new = shop.get(&format!("/products/{id}")).send().await.expect(200);
    assert_eq!(new.attribute("product_name"), "New again");
    assert_eq!(new.attribute("sku"), "n-1");
    assert_eq!(new.attribute("price"), "6.00");
    assert_eq!(new.attribute("enabled"), 0);
    assert_eq!(new.json()["data"]["meta"]["version"], lines[2]["version"]);
    // What a request would have done beside it was done, too.
    let ledger = shop.get(&format!("/inventory/{id}/ledger")).send().await.expect(200);
    assert_eq!(ledger.column("quantity_delta"), [json!(7)]);
    let lamp = shop.get("/products/1").send().await.expect(200);
    assert_eq!(lamp.attribute("price"), "24.99");
    assert_eq!(lamp.attribute("manufacturer_id"), 1);

    // The same once more changes nothing: no version, and nothing in the feed.
    let file = "sku,product_name,price\nL-1,Lamp,24.99\nn-1,New again,6.0\n";
    let before = place(&shop, "products").await;
    let (lines, last) = import(&shop, "type=products", CSV, file).await;
    assert_eq!(counts(&last), [0, 0, 2, 0], "{lines:?}");
    assert_eq!(lines[0]["version"], lamp.json()["data"]["meta"]["version"]);
    let feed = format!("/changes?filter[types]=products&page[after]={before}");
    assert_eq!(shop.get(&feed).send().await.expect(200).json()["data"], json!([]));
}

/// The fixtures are sheets that LibreOffice has saved, the second with all texts in quotes; it does not begin files
/// with a mark of their encoding, as other programs do.
#[tokio::test(flavor = "multi_thread")]
async fn a_sheet_as_libreoffice_saves_it_is_imported() {
    let shop = Shop::stocked().await;
    let saved = include_str!("../../fixtures/libreoffice/products.csv");
    let quoted = include_str!("../../fixtures/libreoffice/products-quoted-with-bom.csv");
    assert!(quoted.starts_with('\u{feff}') && saved.starts_with("sku;product_name;"));
    for (file, expected) in [(saved, [4, 0, 0, 0]), (quoted, [0, 0, 4, 0])] {
        let (lines, last) = import(&shop, "type=products", CSV, file).await;
        assert_eq!(counts(&last), expected, "{lines:?}");
    }
    let list = shop.get("/products?sort=sku&page[limit]=3").send().await.expect(200);
    let columns = ["sku", "product_name", "price", "quantity", "enabled"];
    let seen = columns.map(|name| list.column(name)[0].clone());
    let expected =
        [json!("00042"), json!("Nummer mit Nullen, als Text"), json!("3.00"), json!(1), json!(1)];
    assert_eq!(seen, expected);
    let names = shop.get("/products?sort=-sku&page[limit]=3").send().await.expect(200);
    let names = names.column("product_name");
    assert_eq!(
        names,
        [json!("Zwei\nZeilen"), json!("Brett 2\" × 4\""), json!("Tisch „Birke“; groß")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_json_have_the_parts_of_records() {
    let shop = Shop::stocked().await;
    let order = json!({
        "order_id": "IMPORTED-1", "user_email": "bo@example.com", "created_on": "2024-02-03T04:05:06",
        "items": [{"product_id": 1, "orderitem_quantity": 2, "take_stock": 1}],
    });
    let file =
        format!("{order}\n\n{}\n", json!({"order_id": "IMPORTED-1", "customer_note": "Gift"}));
    let (lines, last) = import(&shop, "type=orders", NDJSON, &file).await;
    assert_eq!(counts(&last), [1, 1, 0, 0], "{lines:?}");
    assert_eq!(number(&lines[1], "line"), 3);
    let id = number(&lines[0], "id");
    let made = shop.get(&format!("/orders/{id}")).send().await.expect(200);
    assert_eq!(made.attribute("order_total"), "39.98");
    assert_eq!(made.attribute("created_on"), "2024-02-03T04:05:06");
    assert_eq!(made.attribute("customer_note"), "Gift");
    assert_eq!(shop.get(&format!("/orders/{id}/items")).send().await.expect(200).total(), 1);
    assert_eq!(shop.get("/inventory/1").send().await.attribute("quantity"), 3);
    // Variants come below their product, which a name may say.
    let file = format!(
        "{}\n{}\n",
        json!({"product.sku": "B-1", "sku": "B-1-W", "options": {"Colour": "white"}, "quantity": 4}),
        json!({"product.sku": "none", "sku": "B-1-R", "options": {"Colour": "red"}}),
    );
    let (lines, last) = import(&shop, "type=variants", NDJSON, &file).await;
    assert_eq!(counts(&last), [1, 0, 0, 1], "{lines:?}");
    assert_eq!(shop.get("/products/2").send().await.attribute("quantity"), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_that_of_its_line_and_nothing_else_is_lost() {
    let shop = Shop::stocked().await;
    shop.create("/manufacturers", json!({"manufacturer_name": "birch"})).await;
    let head = "sku,product_name,price,quantity,category.path,manufacturer.manufacturer_name,taxprofile_id";
    let rows = [
        ("G-1,Good,1,1,lamps,Birch,1", ""),
        ("F-1,Comma,\"19,99\",1,,,", "422 invalid_value pointer /price"),
        ("F-2,,1,1,,,", "400 missing_field pointer /product_name"),
        ("F-3,Whole,1,1.5,,,", "422 invalid_value pointer /quantity"),
        ("F-4,Nowhere,1,1,chairs,,", "422 missing_reference pointer /category.path"),
        ("F-5,Both,1,1,,BIRCH,", "422 missing_reference pointer /manufacturer.manufacturer_name"),
        ("F-6,No such,1,1,,,77", "422 missing_reference pointer /taxprofile_id"),
        (",Without,1,1,,,", "400 missing_field pointer /sku"),
        ("F-7,Short,1", "400 invalid_table"),
        ("F-8,\"Open,1,1,,,\nG-9,\"\"Not\"\",1,1,,,\n\"x\"\"", ""),
        ("G-2,Good,2,2,lamps/desk-lamps,birch,1", ""),
    ];
    // A quote that is closed on another line is part of a cell of two lines.
    let rows: Vec<_> = rows.into_iter().filter(|(row, _)| !row.starts_with("F-8")).collect();
    let file =
        format!("{head}\n{}\n", rows.iter().map(|(row, _)| *row).collect::<Vec<_>>().join("\n"));
    let (lines, last) = import(&shop, "type=products", CSV, &file).await;
    assert_eq!(counts(&last), [2, 0, 0, 8], "{lines:?}");
    for ((row, expected), (line, position)) in rows.iter().zip(lines.iter().zip(2..)) {
        assert_eq!(number(line, "line"), position, "{row}");
        match *expected {
            "" => assert_eq!(line["result"], "created", "{row}: {line}"),
            expected => assert_eq!(errors(line), [expected], "{row}: {line}"),
        }
    }
    assert_eq!(shop.get("/products?filter[sku]=F-").send().await.expect(200).total(), 0);
    assert_eq!(shop.get("/products?filter[sku]=G-").send().await.expect(200).total(), 2);
}

/// The errors of a line, each as `status code source`.
pub(super) fn errors(line: &Value) -> Vec<String> {
    let errors = line["errors"].as_array().into_iter().flatten();
    let errors = errors.map(|error| {
        let source = error["source"].as_object().into_iter().flatten().next();
        let source = source.map(|(kind, at)| format!(" {kind} {}", at.as_str().unwrap()));
        let code = error["code"].as_str().unwrap();
        format!("{} {code}{}", error["status"], source.unwrap_or_default())
    });
    errors.collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn lines_that_cannot_be_read_are_faults_of_their_own() {
    let shop = Shop::open().await;
    let long = format!("{{\"manufacturer_name\": \"{}\"}}", "x".repeat(1_100_000));
    let file = [
        br#"{"manufacturer_name": "Good 1"}"#.to_vec(),
        br#"{"manufacturer_name": "Open"#.to_vec(),
        b"{\"manufacturer_name\": \"\xff\"}".to_vec(),
        b"{\"manufacturer_name\": \"a\0b\"}".to_vec(),
        br#"{"manufacturer_name": "a\u0000b"}"#.to_vec(),
        br#"{"manufacturer_name": "a", "manufacturer_name": "b"}"#.to_vec(),
        br#"["manufacturer_name"]"#.to_vec(),
        long.into_bytes(),
        br#"{"manufacturer_nam": "a"}"#.to_vec(),
        br#"{"manufacturer_name": "Good 2"}"#.to_vec(),
    ];
    let ask = shop.request("POST", "/imports?type=manufacturers&mode=create");
    let answer = ask.file(NDJSON, file.join(&b'\n')).send().await.expect(200);
    let (lines, last) = report(&answer);
    assert_eq!(counts(&last), [2, 0, 0, 8], "{lines:?}");
    let details: Vec<&str> =
        lines[1..9].iter().map(|line| line["errors"][0]["detail"].as_str().unwrap()).collect();
    assert_eq!(
        details[..4],
        [
            "Line 2 is not valid JSON at column 27.",
            "Line 3 is not UTF-8 at byte 24.",
            "Line 4 is not valid JSON at column 24.",
            "manufacturer_name must not contain a NUL character.",
        ]
    );
    assert!(details[4].starts_with("Line 6 contains the member \"manufacturer_name\" more than"));
    assert_eq!(details[6], "Line 8 is longer than 1048576 bytes.");
    assert!(details[7].ends_with("did you mean manufacturer_name?"), "{}", details[7]);

    let file = b"manufacturer_name,ordering\nGood 3,1\n\xff,2\n\"open,3\nGood 4,4\n";
    let ask = shop.request("POST", "/imports?type=manufacturers&mode=create");
    let (lines, last) = report(&ask.file(CSV, file.to_vec()).send().await.expect(200));
    assert_eq!(counts(&last), [1, 0, 0, 2], "{lines:?}");
    let details = lines[1..].iter().map(|line| line["errors"][0]["detail"].as_str().unwrap());
    let details: Vec<&str> = details.collect();
    let expected = [
        "Line 3: the column manufacturer_name is not UTF-8.",
        "Line 4: a quote is not closed, or not doubled.",
    ];
    assert_eq!(details, expected);
    assert_eq!(last["summary"]["committed_lines"], 5);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_file_that_is_no_table_of_the_type_is_refused_before_its_first_line() {
    let shop = Shop::open().await;
    let many: String = (0..200).map(|number| format!("column_{number},")).collect();
    let endless = "sku".repeat(400_000);
    for (query, media_type, file, expected) in [
        ("type=products", CSV, "", "The file is empty."),
        ("type=products", NDJSON, "", "The file is empty."),
        ("type=products", NDJSON, " \n \n", "The file has no records."),
        ("type=products", CSV, "sku,price\r\n", "The file has no records."),
        ("type=products", NDJSON, "sku,price\nA,1\n", "Is the file CSV?"),
        ("type=products", CSV, "PK\x03\x04\x14", "This is a zip file"),
        ("type=products", CSV, "sku,pric\nA,1\n", "column 2: products has no column \"pric\""),
        ("type=products", CSV, "\n\r\nsku;colour\nA;1\n", "Line 3, column 2: products has no"),
        ("type=products", CSV, &format!("sku,{many}\n"), "has no column \"column_0\""),
        ("type=products", CSV, &endless, "Line 1: the header is longer than 1048576 bytes."),
        ("type=products", CSV, "sku,price,sku\nA,1,A\n", "column 3: sku is there more than once."),
        ("type=products", CSV, "price\n1\n", "no column sku, by which records are found"),
        ("type=products&key=id", CSV, "sku\nA\n", "no column shop_product_id"),
        ("type=products", CSV, "'sku,price\nA,1\n", "exported for reading only"),
        ("type=products", CSV, "\u{fffd}sku\n", "has no column"),
    ] {
        let answer = send(&shop, query, media_type, file).await.expect(400);
        assert_eq!(answer.errors(), ["400 invalid_table"], "{file:?}");
        let detail = answer.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(expected), "{file:?}: {detail}");
    }
    for (query, media_type, errors) in [
        ("", CSV, vec!["400 invalid_parameter parameter type"]),
        ("type=nothing", CSV, vec!["400 invalid_parameter parameter type"]),
        ("type=orderitems", CSV, vec!["400 invalid_parameter parameter type"]),
        ("type=zones&mode=replace", CSV, vec!["400 invalid_parameter parameter mode"]),
        (
            "type=zones&dry_run=2&key=zone_code&from_line=0&on_error=wait&report=none",
            "application/json",
            vec![
                "400 invalid_parameter parameter dry_run",
                "400 invalid_parameter parameter key",
                "400 invalid_parameter parameter from_line",
                "400 invalid_parameter parameter on_error",
                "400 invalid_parameter parameter report",
                "400 invalid_header header Content-Type",
            ],
        ),
    ] {
        assert_eq!(send(&shop, query, media_type, "a").await.errors(), errors, "{query}");
    }
    assert_eq!(shop.get("/imports").send().await.expect(200).total(), 0);
}

/// The host ends an answer that has nothing for as long as a client may pause.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_faults_alone_shows_that_the_import_goes_on() {
    let stall_timeout = std::time::Duration::from_secs(3);
    let server = ServerSettings { stall_timeout, ..ServerSettings::default() };
    let shop = Shop::with(Setup { server, ..Setup::default() }).await;
    let mut file = "sku,product_name\n".to_owned();
    for number in 0..6_000 {
        file += &format!("S-{number},Product {number}\n");
    }
    let (lines, last) = import(&shop, "type=products&report=faults", CSV, &file).await;
    assert!(lines.is_empty(), "{lines:?}");
    assert_eq!(last["summary"]["created"], 6_000, "{last}");
}

/// What a dry run reports is what the run reports, line by line, and it leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_reports_what_the_run_reports_and_changes_nothing() {
    let shop = Shop::stocked().await;
    let mut file = "sku,product_name,price,category.path\n".to_owned();
    for number in 0..1_200 {
        file += &match number % 10 {
            0 => format!("D-{number},Bad price,\"1,5\",\n"),
            1 => format!("D-{number},Nowhere,1,none\n"),
            2 => "L-1,Lamp,19.99,lamps/desk-lamps\n".to_owned(),
            // A key of an earlier transaction.
            3 if number > 10 => format!("D-{},Again {number},3,\n", number - 1_000 % number),
            _ => format!("D-{number},Product {number},{number}.5,lamps\n"),
        };
    }
    let before = place(&shop, "products").await;
    let products = shop.get("/products?page[limit]=1").send().await.expect(200).total();
    let (dry, dry_last) = import(&shop, "type=products&dry_run=1", CSV, &file).await;
    assert_eq!(shop.get("/products?page[limit]=1").send().await.expect(200).total(), products);
    let feed = format!("/changes?filter[types]=products&page[after]={before}");
    assert_eq!(shop.get(&feed).send().await.expect(200).json()["data"], json!([]));
    let (run, run_last) = import(&shop, "type=products", CSV, &file).await;
    assert_eq!(counts(&dry_last), counts(&run_last));
    assert_eq!(dry_last["summary"]["committed_lines"], run_last["summary"]["committed_lines"]);
    assert_eq!(dry.len(), run.len());
    for (dry, run) in dry.iter().zip(&run) {
        for member in ["line", "key", "result", "errors"] {
            assert_eq!(dry[member], run[member], "{member} of {dry} and {run}");
        }
    }
    let created: BTreeSet<Option<&str>> = dry
        .iter()
        .filter(|line| line["result"] == "created")
        .map(|line| line["key"].as_str())
        .collect();
    let undone = dry.iter().filter(|line| created.contains(&line["key"].as_str()));
    assert!(undone.clone().all(|line| line["id"] == Value::Null), "none has a key that is undone");
    let [created, _, unchanged, failed] = counts(&run_last);
    assert_eq!((unchanged, failed), (120, 240), "{run_last}");
    let now = shop.get("/products?page[limit]=1").send().await.expect(200).total();
    assert_eq!(now, products + created);
    let records = shop.get("/imports").send().await.expect(200);
    assert_eq!(records.column("dry_run"), [json!(0), json!(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_creates_or_changes_only_and_a_key_may_be_another_one() {
    let shop = Shop::stocked().await;
    let file = "sku,product_name\nL-1,Lamp 2\nX-1,New\n";
    let (lines, last) = import(&shop, "type=products&mode=update", CSV, file).await;
    assert_eq!(counts(&last), [0, 1, 0, 1]);
    assert_eq!(errors(&lines[1]), ["404 record_not_found pointer /sku"]);
    let (lines, last) = import(&shop, "type=products&mode=create", CSV, file).await;
    assert_eq!(counts(&last), [1, 0, 0, 1]);
    assert_eq!(errors(&lines[0]), ["422 duplicate pointer /sku"]);
    let file = "id,ordering\n1,5\n77,6\nx,7\n,8\n";
    let (lines, last) = import(&shop, "type=manufacturers", CSV, file).await;
    assert_eq!(counts(&last), [0, 1, 0, 3]);
    assert_eq!(errors(&lines[1]), ["404 record_not_found pointer /shop_manufacturer_id"]);
    assert_eq!(errors(&lines[2]), ["422 invalid_value pointer /shop_manufacturer_id"]);
    let (_, last) = import(&shop, "type=inventory", CSV, "sku,quantity\nL-1,9\nnone,1\n").await;
    assert_eq!(counts(&last), [0, 1, 0, 1]);
    assert_eq!(shop.get("/products/1").send().await.attribute("quantity"), 9);
    // A category names its parent; a zone its country.
    let file = "title,parent.path\nTall lamps,lamps\nOdd,nowhere\n";
    let (_, last) = import(&shop, "type=categories&mode=create", CSV, file).await;
    assert_eq!(counts(&last), [1, 0, 0, 1]);
    let file = "first_name,last_name,email,country.country_isocode_2,zone.zone_code\n\
        Bo,Li,bo@example.com,CH,ZG\nAl,Li,al@example.com,,ZG\n";
    let (lines, last) = import(&shop, "type=customers&mode=create", CSV, file).await;
    assert_eq!(counts(&last), [1, 0, 0, 1], "{lines:?}");
    assert_eq!(errors(&lines[1]), ["400 missing_field pointer /zone.zone_code"]);
}

/// The types that can be imported.
fn imported() -> impl Iterator<Item = &'static Resource> {
    let changed = |of: &&Resource| of.crud || of.editable;
    REGISTRY.iter().filter(|of| of.lists_changes() && !of.table.is_empty()).filter(changed)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_exported_is_imported_unchanged() {
    let shop = Shop::filled().await;
    shop.create("/coupons", json!({"coupon_name": "x", "coupon_code": "x", "value": "5"})).await;
    shop.create("/vouchers", json!({"voucher_value": "50"})).await;
    for resource in imported() {
        let kind = resource.kind;
        let before = place(&shop, kind).await;
        for columns in ["keys", "names"] {
            for media_type in [NDJSON, CSV] {
                let path = format!("/exports/{kind}?columns={columns}");
                let export = shop.get(&path).header("accept", media_type).send().await.expect(200);
                let file = String::from_utf8(export.body).unwrap();
                let query = format!("type={kind}&key=id&mode=update&report=faults");
                let answer = send(&shop, &query, media_type, &file).await;
                if answer.errors_if_any().contains(&"400 invalid_table".to_owned()) {
                    let empty = shop.get(&format!("/{kind}")).send().await.expect(200).total() == 0;
                    assert!(empty, "{kind}: {}", String::from_utf8_lossy(&answer.body));
                    continue;
                }
                let (lines, last) = report(&answer.expect(200));
                // Two demo records may have one name.
                let named = |line: &&Value| {
                    let detail = line["errors"][0]["detail"].as_str().unwrap_or_default();
                    !(columns == "names" && detail.contains("records are called"))
                };
                assert_eq!(lines.iter().find(named), None, "{kind} {columns} {media_type}");
                let [created, updated, ..] = counts(&last);
                assert_eq!([created, updated], [0, 0], "{kind} {columns} {media_type} {last}");
            }
        }
        let feed = format!("/changes?filter[types]={kind}&page[after]={before}");
        assert_eq!(shop.get(&feed).send().await.expect(200).json()["data"], json!([]), "{kind}");
    }
}

/// As one sends it back without a thought: by the key that is the default, which products may not have.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_export_is_sent_back_by_the_default_key() {
    let shop = Shop::stocked().await;
    for (name, sku) in [("No SKU", ""), ("\\N", "N-1"), ("\\\\N", "\\N")] {
        shop.create("/products", json!({"product_name": name, "sku": sku, "price": "1"})).await;
    }
    for media_type in [NDJSON, CSV] {
        let export = shop.get("/exports/products").header("accept", media_type).send().await;
        let file = String::from_utf8(export.expect(200).body).unwrap();
        let (lines, last) = import(&shop, "type=products&report=faults", media_type, &file).await;
        let [created, updated, unchanged, failed] = counts(&last);
        assert_eq!([created, updated, failed], [0; 3], "{lines:?}");
        assert!(unchanged > 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_record_without_its_key_or_beyond_a_limit_is_its_own_fault() {
    let shop = Shop::open().await;
    let file = "{\"product_name\": \"A\"}\n{\"sku\": \"B\", \"product_name\": \"B\"}\n";
    let (lines, last) = import(&shop, "type=products", NDJSON, file).await;
    assert_eq!(counts(&last), [1, 0, 0, 1]);
    assert_eq!(errors(&lines[0]), ["400 missing_field pointer /sku"]);
    let file = "shop_product_id,price\n1,2\n";
    let (_, last) = import(&shop, "type=products&key=shop_product_id", CSV, file).await;
    assert_eq!(counts(&last), [0, 1, 0, 0]);
    let file = format!("sku,product_name\r{}", "S,Lines that end with CR alone\r".repeat(40_000));
    let (_, last) = import(&shop, "type=products&report=faults", CSV, &file).await;
    assert_eq!(counts(&last), [1, 0, 39_999, 0]);
    let cells = ",".repeat(1_001);
    let long = "x".repeat(1_100_000);
    let file = format!("sku,product_name\nC,C\nD{cells}\nE,{long}\nF,F\n");
    let (lines, last) = import(&shop, "type=products", CSV, &file).await;
    assert_eq!(counts(&last), [2, 0, 0, 2]);
    let details = [&lines[1], &lines[2]].map(|line| line["errors"][0]["detail"].clone());
    assert_eq!(details[0], "Line 3 has more than 1000 cells.");
    assert_eq!(details[1], "Line 4: the record is longer than 1048576 bytes.");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_client_gets_the_report_that_it_accepts() {
    let shop = Shop::open().await;
    let send = async |accept: &str| {
        let ask = shop.request("POST", "/imports?type=manufacturers&mode=create");
        let file = format!("manufacturer_name\n{accept}\n").replace([',', ';'], " ");
        let answer = ask.file(CSV, file).header("accept", accept).send().await.expect(200);
        answer.header("content-type").to_owned()
    };
    let document = "application/vnd.api+json";
    assert_eq!(send(&format!("{document}, {NDJSON}")).await, NDJSON);
    assert_eq!(send(&format!("{document}, {NDJSON};q=0.0")).await, document);
    assert_eq!(send(document).await, document);
}

/// A catalogue moves to another store by its names.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_by_names_fills_an_empty_store() {
    let (old, new) = (Shop::filled().await, Shop::open().await);
    // So that no number is the same by chance.
    new.create("/manufacturers", json!({"manufacturer_name": "Only here"})).await;
    for (kind, order) in [
        ("manufacturers", ""),
        ("taxprofiles", ""),
        ("categories", "&sort=level"),
        ("products", ""),
        ("coupons", ""),
    ] {
        let path = format!("/exports/{kind}?columns=names{order}");
        let export = old.get(&path).header("accept", CSV).send().await.expect(200);
        let file = String::from_utf8(export.body).unwrap();
        if file.lines().count() < 2 {
            continue;
        }
        let query = format!("type={kind}&mode=create&report=faults");
        let (lines, last) = import(&new, &query, CSV, &file).await;
        assert_eq!(counts(&last)[1..], [0, 0, 0], "{kind}: {lines:?}");
    }
    let products = async |shop: &Shop| {
        let path = "/exports/products?columns=names";
        let lines = shop.get(path).send().await.expect(200).lines();
        let own = ["shop_product_id", "modified_on", "has_options", "taxprofile_id"];
        let records = lines.into_iter().skip(1).map(|mut record| {
            let sku = record["sku"].as_str().unwrap().to_owned();
            for name in own {
                record.as_object_mut().unwrap().remove(name);
            }
            (sku, record)
        });
        records.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(products(&old).await, products(&new).await);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_compressed_file_is_expanded_up_to_the_limit() {
    let server = ServerSettings { import_limit: 1_000_000, ..ServerSettings::default() };
    let shop = Shop::with(Setup { server, ..Setup::default() }).await;
    let packed = |text: &str| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let send = async |body: Vec<u8>, encoding: &str| {
        let ask = shop.request("POST", "/imports?type=manufacturers&mode=create");
        ask.file(CSV, body).header("content-encoding", encoding).send().await
    };
    let file = format!("manufacturer_name\n{}", "Birch\n".repeat(100));
    // Names of codings are the same in any case.
    let (_, last) = report(&send(packed(&file), "GZip").await.expect(200));
    assert_eq!(counts(&last), [100, 0, 0, 0]);
    let refused = send(packed(&file), "br").await.expect(415);
    assert_eq!(refused.errors(), ["415 unsupported_encoding header Content-Encoding"]);
    assert_eq!(send(file.clone().into_bytes(), "gzip").await.errors(), ["400 invalid_table"]);
    let mut cut = packed(&file);
    cut.truncate(cut.len() - 12);
    let answer = send(cut, "gzip").await;
    assert!(String::from_utf8_lossy(&answer.body).contains(": the file is not valid gzip."));
    // Ten kilobytes that become ten million: the lines before the limit are kept, and the end is told.
    let bomb = packed(&format!("manufacturer_name\nOak\n{}", "\n".repeat(10_000_000)));
    let answer = send(bomb, "gzip").await.expect(200);
    let (_, last) = report(&answer);
    assert_eq!(counts(&last), [1, 0, 0, 0]);
    assert_eq!(errors(&last), ["413 body_too_large"]);
    let plain = send(vec![b'x'; 1_000_001], "identity").await.expect(413);
    assert_eq!(plain.errors(), ["413 body_too_large"]);
}

/// Imports of the same new records at once end with each record once, and single writes go on beside them.
#[tokio::test(flavor = "multi_thread")]
async fn imports_of_the_same_records_at_once_make_each_once() {
    let shop = Shop::stocked().await;
    let file: String =
        (0..300).map(|number| format!("T-{number},Twin {number},{number}\n")).collect();
    let file = format!("sku,product_name,price\n{file}");
    let reversed: Vec<&str> = file.lines().skip(1).collect::<Vec<_>>().into_iter().rev().collect();
    let reversed = format!("sku,product_name,price\n{}\n", reversed.join("\n"));
    let sells = async {
        for number in 0..20 {
            let body = json!({"sku": "L-1", "quantity_delta": if number % 2 == 0 { -1 } else { 1 }, "reason": "sold"});
            shop.post("/inventory/adjust", json!({"adjustments": [body]})).send().await.expect(200);
        }
    };
    let (one, other, ()) = tokio::join!(
        import(&shop, "type=products", CSV, &file),
        import(&shop, "type=products", CSV, &reversed),
        sells,
    );
    let [one, other] = [counts(&one.1), counts(&other.1)];
    assert_eq!(one[0] + other[0], 300, "{one:?} {other:?}");
    assert_eq!((one[3], other[3]), (0, 0), "{one:?} {other:?}");
    assert_eq!(shop.get("/products?filter[sku]=T-").send().await.expect(200).total(), 300);
    assert_eq!(shop.get("/inventory/1").send().await.attribute("quantity"), 5);
}

impl Answer {
    /// The errors, if it has any.
    fn errors_if_any(&self) -> Vec<String> {
        if self.status < 400 { Vec::new() } else { self.errors() }
    }
}
