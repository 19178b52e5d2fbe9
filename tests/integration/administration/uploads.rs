//! The pages Import and Export: files go to the API as the signed-in user, who sees what becomes of them.

use std::io::Write;
use std::time::Duration;

use example_host::{Force, ServerSettings, Setting};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::support::harness::{Setup, Shop};
use crate::support::visitor::Visitor;
use crate::support::waiting::patiently;

const PRODUCTS: [(&str, &str); 1] = [("type", "products")];

/// A file of three products, of which one has a price with a comma.
pub(super) const FILE: &str = "sku;product_name;price;manufacturer.manufacturer_name\r\n\
    U-1;One;1.50;\r\n=U-2;Two;1,5;\r\nU-3;\"Three; and\r\nmore\";3;\r\n";

/// The path of the page to which the form of a dry run leads.
fn form_of(html: &str) -> String {
    let (_, rest) = html.split_once("action=\"/administrator/import/").expect("a form to import");
    format!("/import/{}", rest.split_once('"').unwrap().0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_looked_at_and_then_imported_without_the_lines_that_fail() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get("/import").await;
    seen.says("<option value=\"products\">Products</option>");
    let seen = ann.send_file("/import", &PRODUCTS, ("a <b>.csv", FILE.as_bytes())).await;
    assert_eq!(seen.status, 200);
    seen.says("Dry run of a &#60;b&#62;.csv");
    seen.says("<code>manufacturer.manufacturer_name</code>");
    seen.says("manufacturer_id: the manufacturer_name of a manufacturer");
    seen.says("a number with a point and at most");
    seen.says("value=\"100\" aria-label=\"Read\"");
    seen.says("2 records can be imported, 1 record cannot");
    seen.says("<tr><th scope=\"row\">Line 3</th><td data-label=\"Record\">=U-2</td>");
    assert!(seen.html.ends_with("</html>"), "{}", seen.html);
    let products = async || shop.get("/products?filter[sku]=U-").send().await.expect(200).total();
    assert_eq!(products().await, 0, "nothing is changed yet");

    let run = form_of(&seen.html);
    let faults = ann.get(&format!("{run}/faults")).await;
    assert_eq!(faults.headers["content-disposition"], "attachment; filename=\"faults.csv\"");
    let mut lines = faults.html.lines();
    assert_eq!(lines.next(), Some("line,key,fault"));
    assert!(lines.next().unwrap().starts_with("3,'=U-2,\"price must be"), "{}", faults.html);
    assert_eq!(lines.next(), None);
    // Nobody else has the file.
    let mut bob = Visitor::signed_in(&shop, "superuser").await;
    bob.get("/import").await;
    let seen = bob.post(&run, &[]).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/import"));
    assert_eq!(bob.get(&format!("{run}/faults")).await.status, 422);
    assert_eq!(products().await, 0);

    ann.get("/import").await;
    let seen = ann.post(&run, &[]).await;
    seen.says("Import of a");
    seen.says("2 records imported, 1 record left out");
    assert_eq!(products().await, 2);
    // Who imported is the user, and only once.
    ann.get("/import").await;
    let seen = ann.post(&run, &[]).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/import"));
    ann.get("/import").await.says("This file was imported already");
    let records = shop.get("/imports").send().await.expect(200);
    assert_eq!(records.column("dry_run"), [json!(0), json!(1)]);
    let user = shop.site.user("administrator").await.unwrap().id;
    assert_eq!(records.column("user_id"), [json!(user), json!(user)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_refused_as_a_whole_is_chosen_again() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/import").await;
    let wrong = "nmae\nBirch\n";
    let kind = [("type", "manufacturers")];
    let seen = ann.send_file("/import", &kind, ("birch.csv", wrong.as_bytes())).await;
    assert_eq!(seen.status, 422);
    seen.says("manufacturers has no column &#34;nmae&#34;");
    seen.says("<option value=\"manufacturers\" selected>");
    for (content, fault) in [(&b""[..], "The file is empty."), (b"PK\x03\x04", "is a zip file")] {
        let seen = ann.send_file("/import", &kind, ("birch.csv", content)).await;
        assert_eq!(seen.status, 422);
        seen.says(fault);
    }
    let seen = ann.send_file("/import", &kind, ("", b"")).await;
    seen.says("Choose a file.");
    // A compressed file, lines of JSON, and a parameter of the route.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"{\"manufacturer_name\": \"Birch\"}\n").unwrap();
    let packed = packed.finish().unwrap();
    let fields = [("type", "manufacturers"), ("query-mode", "create")];
    let seen = ann.send_file("/import", &fields, ("birch.jsonl.gz", &packed)).await;
    seen.says("1 record can be imported");
    seen.says(">Birch</td>");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_not_sent_from_the_page_is_not_kept() {
    let shop = Shop::open().await;
    let file = ("birch.csv", &b"manufacturer_name\nBirch\n"[..]);
    let fields = [("type", "manufacturers"), ("query-mode", "create")];
    let mut nobody = Visitor::of(&shop.url(""));
    let seen = nobody.send_file("/import", &fields, file).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/sign-in"));
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/import").await;
    let token = crate::support::visitor::field(&ann.html, "csrf_token").unwrap().to_owned();
    let forged = [("csrf_token", "0"), fields[0], fields[1]];
    let late = [fields[0], fields[1], ("csrf_token", &*token)];
    for fields in [&forged, &late] {
        let seen = ann.send_file("/import", fields, file).await;
        assert_eq!(seen.status, 403, "{fields:?}");
        seen.says("Form out of date");
    }
    let mut evil = Visitor::signed_in(&shop, "superuser").await;
    evil.get("/import").await;
    let mut evil = evil.with("sec-fetch-site", "cross-site");
    assert_eq!(evil.send_file("/import", &fields, file).await.status, 403);
    assert_eq!(shop.get("/imports").send().await.expect(200).total(), 0);
    // A form with a file has no other page.
    let seen = ann.send_file("/account", &fields, file).await;
    assert_eq!(seen.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_a_limit_and_is_not_read_beyond_it() {
    let server = ServerSettings { import_limit: 100_000, ..ServerSettings::default() };
    let shop = Shop::with(Setup { server, ..Setup::default() }).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/import").await;
    let seen = ann.send_file("/import", &PRODUCTS, ("a.csv", &vec![b'x'; 100_001])).await;
    assert_eq!(seen.status, 413, "{}", seen.html);
    let long = [("type", &*"x".repeat(20_000))];
    ann.get("/import").await;
    assert_eq!(ann.send_file("/import", &long, ("a.csv", b"x")).await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_without_the_right_see_no_sign_of_it() {
    let shop = Shop::open().await;
    let pages = ["/import", "/export", "/export/file?type=products", "/import/x/faults"];
    let link = |page: &str| format!("href=\"/administrator{page}\"");
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get("/").await;
    assert!(["/import", "/export"].iter().all(|page| seen.html.contains(&link(page))));
    // A type without its right is not in the lists, and the rest is there.
    let deny = async |action: &str, asset: &str| {
        shop.site.set_rule("Administrator", action, asset, Setting::Deny, Force::No).await.unwrap();
    };
    for action in ["store.create", "store.edit", "store.view"] {
        deny(action, "com_shop.products").await;
    }
    for page in ["/import", "/export"] {
        let seen = ann.get(page).await;
        seen.says("value=\"manufacturers\"");
        assert!(!seen.html.contains("value=\"products\""), "{page}");
    }
    assert_eq!(ann.get("/export/file?type=products").await.status, 404);
    ann.get("/import").await;
    assert_eq!(ann.send_file("/import", &PRODUCTS, ("a.csv", b"sku\nA\n")).await.status, 404);
    // Without any right there are no such pages.
    deny("core.login.api", "root").await;
    let seen = ann.get("/").await;
    for page in ["/import", "/export"] {
        assert!(!seen.html.contains(&link(page)), "{page}");
    }
    for page in pages {
        assert_eq!(ann.get(page).await.status, 404, "{page}");
    }
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    let mut boss = Visitor::signed_in(&shop, "superuser").await;
    for page in pages {
        assert_eq!(boss.get(page).await.status, 404, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_that_of_the_api() {
    let shop = Shop::open().await;
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get("/export?type=manufacturers").await;
    seen.says("<option value=\"manufacturers\" selected>");
    seen.says("name=\"query-columns\"");
    let seen = ann.get("/api/webservices-shop/manufacturers.list").await;
    seen.says("/administrator/export?extension=webservices-shop&#38;type=manufacturers");
    for (format, media_type) in [("csv", "text/csv"), ("ndjson", "application/x-ndjson")] {
        let path = format!("/export/file?type=manufacturers&format={format}&query-columns=names");
        let seen = ann.get(&path).await;
        assert_eq!(seen.status, 200);
        assert!(seen.headers["content-type"].to_str().unwrap().starts_with(media_type));
        let name = format!("attachment; filename=\"manufacturers.{format}\"");
        assert_eq!(seen.headers["content-disposition"], name);
        let expected = shop.get("/exports/manufacturers?columns=names");
        let expected = expected.header("accept", media_type).send().await.expect(200);
        let expected = String::from_utf8(expected.body).unwrap();
        // The first line of NDJSON has the moment.
        let rows = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert!(!rows(&expected).is_empty());
        assert_eq!(rows(&seen.html), rows(&expected), "{format}");
    }
    let seen = ann.get("/export/file?type=manufacturers&query-columns=none").await;
    assert_eq!(seen.status, 422);
    seen.says("columns must be one of keys, names.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_refused_can_be_started_again() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    ann.get("/import").await;
    let seen = ann.send_file("/import", &PRODUCTS, ("a.csv", FILE.as_bytes())).await;
    let run = form_of(&seen.html);
    let set = async |setting| {
        let of = ("store.edit", "com_shop.products");
        shop.site.set_rule("Administrator", of.0, of.1, setting, Force::No).await.unwrap();
    };
    set(Setting::Deny).await;
    for _ in 0..2 {
        let seen = ann.post(&run, &[]).await;
        assert_eq!((seen.status, seen.to()), (303, "/administrator/import"));
        let seen = ann.get("/import").await;
        assert!(!seen.html.contains("imported already"), "{}", seen.html);
        seen.says("store.edit");
    }
    set(Setting::Allow).await;
    ann.post(&run, &[]).await.says("2 records imported, 1 record left out");
    assert_eq!(shop.get("/products?filter[sku]=U-").send().await.expect(200).total(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_the_first_faults_and_the_download_has_all() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/import").await;
    let rows = (0..150).map(|number| format!("F-{number},Product {number},wrong\n"));
    let file = format!("sku,product_name,price\n{}", rows.collect::<String>());
    let seen = ann.send_file("/import", &PRODUCTS, ("f.csv", file.as_bytes())).await;
    seen.says("0 records can be imported, 150 records cannot");
    seen.says("The first 100 of 150 faults");
    seen.says("<tr><th scope=\"row\">Line 101</th>");
    assert!(!seen.html.contains("Line 102"), "{}", seen.html);
    let (_, rest) = seen.html.split_once("href=\"/administrator/import/").expect("a download");
    let faults = format!("/import/{}", rest.split_once('"').unwrap().0);
    let faults = ann.get(&faults).await.html;
    let lines = faults.lines().skip(1).map(|line| line.split_once(',').unwrap().0);
    assert!(lines.eq((2..=151).map(|line| line.to_string())), "{faults}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_leaves_during_an_import_finds_all_faults_later() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/import").await;
    // The wrong price is in each fourth line, the last one included.
    let plain = large_file(2_000);
    let rows = plain.lines().skip(1).enumerate().map(|(number, row)| {
        let price = if number % 4 == 3 { "wrong" } else { "1" };
        format!("{row},{price}\n")
    });
    let file = format!("sku,product_name,main_image,price\n{}", rows.collect::<String>());
    let seen = ann.send_file("/import", &PRODUCTS, ("p.csv", file.as_bytes())).await;
    seen.says("1,500 records can be imported, 500 records cannot");
    let run = form_of(&seen.html);
    ann.post_and_leave(&run, &[]).await;
    patiently("all faults", async {
        loop {
            let faults = ann.get(&format!("{run}/faults")).await.html;
            if faults.lines().count() == 501 {
                assert!(faults.lines().last().unwrap().starts_with("2001,P-1999,"), "{faults}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(shop.get("/products?filter[sku]=P-").send().await.expect(200).total(), 1_500);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_file_makes_room_and_its_sender_learns_why() {
    let shop = Shop::open().await;
    let mut sent = Vec::new();
    for number in 0..17 {
        let mut visitor = Visitor::signed_in(&shop, "superuser").await;
        visitor.get("/import").await;
        let file = format!("sku,product_name\nR-{number},Product {number}\n");
        let seen = visitor.send_file("/import", &PRODUCTS, ("r.csv", file.as_bytes())).await;
        sent.push((form_of(&seen.html), visitor));
    }
    let (run, first) = &mut sent[0];
    let seen = first.post(run, &[]).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/import"));
    let seen = first.get("/import").await;
    seen.says("A host keeps the latest file of each session, for an hour, and 16 files in total.");
    for at in [1, 16] {
        let (run, visitor) = &mut sent[at];
        visitor.post(run, &[]).await.says("1 record imported");
    }
}

/// A file with so many products.
fn large_file(products: usize) -> String {
    let image = "x".repeat(500);
    let rows = (0..products).map(|number| format!("P-{number},Product {number},{image}\n"));
    format!("sku,product_name,main_image\n{}", rows.collect::<String>())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bar_grows_with_what_has_been_read() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/import").await;
    // Enough for several signs, which come ten times a second, on a fast machine too.
    let file = large_file(8_000);
    let seen = ann.send_file("/import", &PRODUCTS, ("p.csv", file.as_bytes())).await;
    let bars = seen.html.split("<progress max=\"100\" value=\"").skip(1);
    let bars: Vec<u64> =
        bars.map(|rest| rest.split_once('"').unwrap().0.parse().unwrap()).collect();
    assert!(bars.is_sorted() && bars.last() == Some(&100), "{bars:?}");
    assert!(bars.len() > 2, "{bars:?}");
    seen.says("8,000 records can be imported");
}
