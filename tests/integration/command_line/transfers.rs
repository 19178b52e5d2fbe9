//! The commands that import and export files: what they print, and that they write as requests do.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::process::{ENTRIES, Place};

const FILE: &str = "sku,product_name,price\nA-1,Lamp,19.99\nA-2,Bulb,\"1,5\"\nA-1,Lamp,18\n";

#[tokio::test]
async fn a_file_is_imported_with_its_faults_and_exported_again() {
    let place = Place::of_the_store();
    std::fs::write(place.path("products.csv"), FILE).unwrap();
    let import = "import products.csv --type products";
    for words in [&format!("{import} --dry-run"), import] {
        let finished = place.call(words).finish().await;
        finished.exits(1);
        let fault = "3\tA-2\tprice must be a decimal number such as \"19.99\".";
        let counts = "3 read: 1 created, 1 updated, 0 unchanged, 1 failed";
        assert_eq!(finished.out(), format!("{fault}\n{counts}\n"), "{}", finished.err());
        assert!(finished.err().contains("a line has failed"), "{}", finished.err());
    }
    let json = place.call(&format!("{import} --json")).finish().await;
    json.exits(1);
    assert!(json.out().contains("{\"line\":3,\"key\":\"A-2\",\"detail\":"), "{}", json.out());

    let all = place.run("export products --format csv").await;
    let mut lines = all.lines();
    assert!(lines.next().unwrap().starts_with("shop_product_id,"), "{all}");
    assert!(lines.next().unwrap().contains(",Lamp,") && lines.next().is_none(), "{all}");
    // Both commands go by the name of the file.
    for file in ["all.ndjson", "all.csv"] {
        assert_eq!(place.run(&format!("export products --file {file}")).await, "");
        let again = place.run(&format!("import {file} --type products")).await;
        assert_eq!(again, "1 read: 0 created, 0 updated, 1 unchanged, 0 failed\n");
    }
    let finished =
        place.call("import --type products").input("{\"sku\": \"A-3\", \"product_name\": \"x\"}\n");
    let finished = finished.finish().await;
    assert_eq!(finished.succeeds(), "1 read: 1 created, 0 updated, 0 unchanged, 0 failed\n");

    let orders = place.run("export orders --parts").await;
    assert!(orders.starts_with("{\"export\":"), "{orders}");

    for (words, why) in [
        ("export products --parts", "Products have no parts"),
        ("import products.csv --type nothing", "type must be one of"),
        ("import none.csv --type products", "none.csv: No such file"),
        ("import products.csv --type coupons", "coupons has no column"),
        ("export nothing", "There is no such type to export; the types are categories, "),
        ("export products --format xml", "format must be one of csv, ndjson."),
        ("import products.csv --type products --format CSV", "format must be one of csv, ndjson."),
    ] {
        let refused = place.refusal(words).await;
        assert!(refused.contains(why), "{words}: {refused}");
    }
    let trail = place.database.texts_at(&place.site_url(), ENTRIES).await.join("\n");
    assert!(trail.contains("import records"), "{trail}");
    assert!(!trail.contains("export"), "{trail}");
}

#[tokio::test]
async fn a_file_may_be_compressed_have_another_key_and_be_above_the_limit_of_requests() {
    let place = Place::of_the_store();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    for number in 0..2_000 {
        writeln!(packed, "{{\"sku\": \"G-{number}\", \"product_name\": \"Lamp\"}}").unwrap();
    }
    std::fs::write(place.path("lamps.ndjson.gz"), packed.finish().unwrap()).unwrap();
    let import = place.call("import lamps.ndjson.gz --type products --mode create");
    let finished = import.env("HOST_IMPORT_LIMIT", "100").finish().await;
    let counts = "2000 read: 2000 created, 0 updated, 0 unchanged, 0 failed\n";
    assert_eq!(finished.succeeds(), counts);
    let names = place.run("export products --format csv --columns names").await;
    assert!(names.lines().next().unwrap().ends_with(",category.path"));
    std::fs::write(place.path("prices.csv"), "id,price\n1,5\n").unwrap();
    let changed = place.run("import prices.csv --type products --key id --mode update").await;
    assert_eq!(changed, "1 read: 0 created, 1 updated, 0 unchanged, 0 failed\n");
}
