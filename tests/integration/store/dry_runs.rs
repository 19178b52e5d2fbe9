//! Dry runs: their reports are those of the runs, also where a line needs what an earlier transaction has undone.

use serde_json::{Value, json};

use super::imports::import;
use crate::support::harness::{NDJSON, Shop};

const CSV: &str = "text/csv";

/// A store whose imports have two lines in a transaction.
async fn shop() -> Shop {
    let shop = Shop::stocked().await;
    shop.site.set_parameter("import_lines", &json!(2)).await.unwrap();
    shop
}

/// The lines of a dry run and of the run after it.
async fn both(shop: &Shop, query: &str, media_type: &str, file: &str) -> [Vec<Value>; 2] {
    let (dry, dry_last) = import(shop, &format!("{query}&dry_run=1"), media_type, file).await;
    let (run, run_last) = import(shop, query, media_type, file).await;
    let counts = |last: &Value| {
        let mut summary = last["summary"].clone();
        summary["seconds"] = json!(0);
        summary
    };
    assert_eq!(counts(&dry_last), counts(&run_last), "{dry:#?} {run:#?}");
    [dry, run]
}

/// Compares what a dry run and the run have reported, and returns the lines that needed what was undone.
fn compare([dry, run]: &[Vec<Value>; 2]) -> Vec<&Value> {
    assert_eq!(dry.len(), run.len());
    for (dry, run) in dry.iter().zip(run) {
        for member in ["line", "key", "result", "errors"] {
            assert_eq!(dry[member], run[member], "{member} of {dry} and {run}");
        }
        assert_eq!(run["undone"], Value::Null);
    }
    dry.iter().filter(|line| line["undone"] == json!(true)).map(|line| &line["line"]).collect()
}

/// What became of the lines of a dry run.
fn results([dry, _]: &[Vec<Value>; 2]) -> String {
    let results: Vec<&str> = dry.iter().map(|line| line["result"].as_str().unwrap()).collect();
    results.join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_comes_again_is_changed_left_or_refused_as_in_the_run() {
    let shop = shop().await;
    let file = "sku,product_name,price,category.path,manufacturer_id\n\
        D-1,Chair,1.50,,\n\
        L-1,Tall lamp,7.00,,\n\
        D-2,Table,1,,\n\
        D-1,Chair,1.50,,\n\
        D-1,Chair,\"1,5\",none,\n\
        D-1,Chair,2.00,,\n\
        D-1,Chair,2.00,,\n\
        D-1,Chair,2.00,,777\n\
        d-1,Chair,1.50,,\n\
        L-1,Tall lamp,7.00,,\n\
        L-1,Lamp,19.99,,\n\
        L-1,Lamp,19.99,,\n\
        D-2,Table,2,,\n\
        D-2,Table,2,,\n";
    let reports = both(&shop, "type=products", CSV, file).await;
    let undone = compare(&reports);
    let expected = "created updated created unchanged failed updated unchanged \
        failed updated unchanged updated unchanged updated unchanged";
    assert_eq!(results(&reports), expected);
    assert_eq!(reports[0][4]["errors"].as_array().unwrap().len(), 2);
    assert!(undone.contains(&&json!(7)) && undone.contains(&&json!(10)), "{undone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unique_is_so_among_all_lines() {
    let shop = shop().await;
    let file = "sku,product_name,price\nD-1,Chair,1\nD-2,Table,1\nD-3,Bed,1\nd-1,Chair,\"1,5\"\n\
        D-2,Table,1\nL-1,Lamp,1\n";
    let reports = both(&shop, "type=products&mode=create", CSV, file).await;
    assert!(compare(&reports).is_empty());
    assert_eq!(reports[0][3]["errors"].as_array().unwrap().len(), 2, "{}", reports[0][3]);
    // Also where records are not found by it.
    let file = "title,alias\nA,a\nB,b\nC,c\nAnother,a\nAnother,d\n";
    let reports = both(&shop, "type=categories&mode=create", CSV, file).await;
    assert!(compare(&reports).is_empty());
    assert_eq!(reports[0][3]["errors"][0]["code"], "duplicate");
    let file = "id,alias\n1,moved\n2,other\n1,moved\n";
    compare(&both(&shop, "type=categories&mode=update", CSV, file).await);
}

/// What names a record that was undone is tried as far as that is possible, and what names nothing is refused.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_name_that_the_file_makes_is_no_fault_and_a_wrong_one_is() {
    let shop = shop().await;
    let file = r#"{"title": "Garden", "alias": "garden"}
        {"title": "Tools", "alias": "tools", "parent.path": "garden"}
        {"title": "Rakes", "alias": "rakes", "parent.path": "garden/tools"}
        {"title": "Spades", "alias": "spades", "parent.path": "gardn"}
        {"title": "", "alias": "hoes", "parent.path": "garden", "language": 7}
        {"title": "Lanterns", "alias": "lanterns", "parent.path": "lamps"}
        {"title": "Small", "alias": "small", "parent.path": "lamps/lanterns"}
    "#;
    let reports = both(&shop, "type=categories&mode=create", NDJSON, file).await;
    assert_eq!(compare(&reports), [&json!(2), &json!(3), &json!(5), &json!(7)]);
    let expected = "created created created failed failed created created";
    assert_eq!(results(&reports), expected);
}
