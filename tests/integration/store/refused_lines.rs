//! Lines of an import that are refused: each alone, whatever it has.

use serde_json::{Value, json};

use super::imports::import;
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
