//! Lines of an import that are refused: each alone, whatever it has.

use serde_json::{Value, json};

use super::imports::{CSV, counts, errors, import};
use crate::support::harness::{NDJSON, Shop};

/// PostgreSQL refuses a text with a NUL, also where records are only looked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_nul_in_a_key_or_a_name_is_the_fault_of_its_line() {
    let file = [
        json!({"sku": "A", "product_name": "First"}),
        json!({"sku": "a\0b", "product_name": "Second"}),
        json!({"sku": "B", "product_name": "Third", "category.path": "a\0"}),
        json!({"sku": "Z", "product_name": "Last"}),
    ];
    let file: String = file.iter().map(|record| format!("{record}\n")).collect();
    for (mode, written) in [("upsert", "created"), ("update", "updated"), ("create", "created")] {
        let shop = Shop::open().await;
        if mode == "update" {
            for sku in ["A", "B", "Z"] {
                shop.create("/products", json!({"sku": sku, "product_name": "Before"})).await;
            }
        }
        let query = format!("type=products&mode={mode}");
        let (lines, last) = import(&shop, &query, NDJSON, &file).await;
        assert_eq!(last.get("errors"), None, "{mode}: {last}");
        let results: Vec<&Value> = lines.iter().map(|line| &line["result"]).collect();
        assert_eq!(results, [written, "failed", "failed", written], "{mode}: {lines:?}");
        let faults = shop.get("/imports/1/faults").send().await.expect(200);
        assert_eq!(faults.column("record_key"), ["a\u{fffd}b", "B"], "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_key_that_is_no_key_is_a_wrong_value_and_not_a_missing_one() {
    let shop = Shop::stocked().await;
    for (query, line, error, detail) in [
        ("", json!({"sku": 4711}), "422 invalid_value pointer /sku", "sku must be a string."),
        ("", json!({"sku": null}), "400 missing_field pointer /sku", "is required: records are"),
        ("", json!({"sku": " "}), "400 missing_field pointer /sku", "is required: records are"),
        (
            "&key=id",
            json!({"id": "1.0"}),
            "422 invalid_value pointer /shop_product_id",
            "shop_product_id must be a whole number.",
        ),
        ("&key=id", json!({"id": 1, "shop_product_id": 2}), "400 invalid_table", "both are there"),
    ] {
        let query = format!("type=products{query}");
        let (lines, last) = import(&shop, &query, NDJSON, &format!("{line}\n")).await;
        assert_eq!(errors(&lines[0]), [error], "{line}");
        let said = lines[0]["errors"][0]["detail"].as_str().unwrap();
        assert!(said.contains(detail), "{line}: {said}");
        assert_eq!(counts(&last), [0, 0, 0, 1]);
    }
}

/// Text is kept as it was sent, and so a record may be called so.
#[tokio::test(flavor = "multi_thread")]
async fn white_space_at_the_ends_of_a_name_is_part_of_it_if_a_record_is_called_so() {
    let shop = Shop::open().await;
    for name in [" Birch", "Oak", "Elm", "Elm "] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let file = "sku,product_name,manufacturer.manufacturer_name\n\
                1,a, Birch\n2,b, Oak \n3,c,Elm\n4,d,Elm \n5,e,Birch\n6,f,\\N\n";
    let (lines, last) = import(&shop, "type=products", CSV, file).await;
    assert_eq!(counts(&last), [5, 0, 0, 1], "{lines:?}");
    assert_eq!(lines[4]["errors"][0]["code"], "missing_reference");
    let made = shop.get("/products?sort=shop_product_id").send().await.expect(200);
    let makers = [json!(1), json!(2), json!(3), json!(4), json!(null)];
    assert_eq!(made.column("manufacturer_id"), makers);
    // An export by names changes nothing when it is imported.
    let export = shop.get("/exports/products?columns=names").header("accept", CSV).send().await;
    let export = String::from_utf8(export.body).unwrap();
    let (lines, last) = import(&shop, "type=products", CSV, &export).await;
    assert_eq!(counts(&last), [0, 0, 5, 0], "{lines:?}");
    shop.patch("/products/5", json!({"manufacturer_id": 2})).send().await.expect(200);
    import(&shop, "type=products", CSV, &export).await;
    let none = shop.get("/products/5").send().await.attribute("manufacturer_id");
    assert_eq!(none, Value::Null, "what had no manufacturer has none again");
}
