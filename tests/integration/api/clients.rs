//! Typed clients that are generated from the OpenAPI document of a running host do a round through
//! its store: a list with chosen fields, a write that is repeated, one with an outdated version, an
//! order, its history, an adjustment and a report.
//!
//! `TEST_CLIENTS` is the folder that `tests/clients/prepare.sh` prepares.

use crate::support::document::Document;
use crate::support::harness::Shop;
use crate::support::workshop::Workshop;

/// The compiler checks the round against the types.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(clients), ignore = "needs generators of clients: TEST_CLIENTS")]
async fn a_round_with_a_client_in_typescript() {
    let shop = Shop::open().await;
    shop.fill().await;
    let workshop = Workshop::of(&shop, "typescript").await;
    let types = ["openapi.json", "--output", "api.d.ts"];
    workshop.run("node_modules/.bin/openapi-typescript", &types).await;
    workshop.run("node_modules/.bin/tsc", &["--project", "."]).await;
    let output = workshop.run("node", &["compiled/round.js"]).await;
    assert_eq!(output, "The round is done.\n");
}

/// The generator warns about every operation that it leaves out.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(clients), ignore = "needs generators of clients: TEST_CLIENTS")]
async fn a_round_with_a_client_in_python() {
    let shop = Shop::open().await;
    shop.fill().await;
    let workshop = Workshop::of(&shop, "python").await;
    let valid = workshop.run("bin/openapi-spec-validator", &["openapi.json"]).await;
    assert_eq!(valid, "openapi.json: OK\n");
    let package = "online_store_client";
    let generate = ["generate", "--path", "openapi.json", "--meta", "none", "--fail-on-warning"];
    let generate = [&generate[..], &["--config", "config.yaml", "--output-path", package]].concat();
    let output = workshop.run("bin/openapi-python-client", &generate).await;
    assert_eq!(output.trim(), format!("Generating {package}"));
    for (_, _, operation) in Document::of_the_store().operations() {
        let (group, _) = operation["operationId"].as_str().unwrap().split_once('.').unwrap();
        let name = operation["operationId"].as_str().unwrap().replace('.', "_");
        let module = workshop.path().join(format!("{package}/api/{group}/{name}.py"));
        assert!(module.is_file(), "{name} is generated");
    }
    let output = workshop.run("bin/python", &["round.py"]).await;
    assert_eq!(output, "The round is done.\n");
}
