//! Plugins and hosts of several versions of the contract in one process each: every pair loads, and
//! answers as if both were of one version.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use host_interface::CONTRACT_VERSION;
use serde_json::{Value, json};

use crate::support::harness::{example, fixture};
use crate::support::project::root;

/// The plugin of 1.0, compiled with each version.
const PLUGINS: [&str; 3] = ["plugin_1_0", "plugin_today", "plugin_tomorrow"];

/// What a program prints of each library.
fn visit(host: &str, libraries: &[PathBuf]) -> Vec<Value> {
    let program = example(&format!("{host}{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(program).args(libraries).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{host} with {libraries:?}: {errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A library that was compiled long ago, in a folder of its own.
fn kept(packed: &str) -> (tempfile::TempDir, PathBuf) {
    let packed = std::fs::read(root().join("tests/fixtures").join(packed)).unwrap();
    let mut library = Vec::new();
    flate2::read::GzDecoder::new(&*packed).read_to_end(&mut library).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.so");
    std::fs::write(&path, library).unwrap();
    (folder, path)
}

/// What every host of 1.0 sees of the plugin of 1.0, whatever either was compiled with.
fn expected() -> Value {
    let text = std::fs::read(root().join("tests/fixtures/contract-1.0/expected.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn each_pair_of_versions_loads_and_answers_in_whatever_order_libraries_are_opened() {
    let [first, today, tomorrow] = PLUGINS.map(fixture);
    let orders = [
        [first.clone(), today.clone(), tomorrow.clone()],
        [tomorrow.clone(), today.clone(), first.clone()],
        [today, tomorrow, first],
    ];
    for host in ["host_1_0", "host_today", "host_tomorrow"] {
        for order in &orders {
            let seen = visit(host, order);
            assert_eq!(seen.len(), order.len());
            for (seen, library) in seen.iter().zip(order) {
                assert_eq!(*seen, expected(), "{host} with {}", library.display());
            }
        }
    }
}

/// Only this shows that the output of an older compiler still loads.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_library_that_was_compiled_when_1_0_was_frozen_loads() {
    let (_folder, kept) = kept("contract-1.0/kept.so.gz");
    assert!(std::fs::metadata(&kept).unwrap().len() < 2 * 1024 * 1024);
    for host in ["host_today", "host_tomorrow"] {
        assert_eq!(visit(host, &[kept.clone(), fixture("plugin_today")]), [expected(), expected()]);
    }
    assert_eq!(host_interface::open(&kept).unwrap().contract_version(), "1.0.0+frozen");
}

/// A plugin that was compiled with the contract as it was frozen before its last changes, which would be
/// asked for calls that it does not have.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_library_of_a_draft_of_1_0_is_refused_in_words() {
    let (_folder, draft) = kept("draft-of-1.0.so.gz");
    let refused = host_interface::open(&draft).unwrap_err();
    let expected = format!(
        "{}: was built with a draft of the contract, from before it was released; build it anew \
         with version {CONTRACT_VERSION}",
        draft.display()
    );
    assert_eq!((refused.to_string(), refused.details()), (expected, ""));
}

#[test]
fn a_later_host_finds_that_an_older_plugin_lacks_what_was_added() {
    for (library, version) in [("plugin_1_0", "1.0.0+frozen"), ("plugin_today", CONTRACT_VERSION)] {
        let seen = &visit("later_host", &[fixture(library)])[0];
        assert_eq!(seen["version"], version);
        // The caller runs the default body of a method that the other side lacks.
        assert_eq!((&seen["plugin"], &seen["body"]), (&json!(41), &json!(41)), "{seen}");
        assert_eq!((&seen["root"], &seen["answer"]), (&Value::Null, &Value::Null), "{seen}");
        let unsupported = json!({"Err": "not supported: the plugin has no call \"tomorrow\""});
        assert_eq!(seen["call"], unsupported);
        // Nor does it know an event that it did not ask for.
        let event = seen["event"]["Err"].as_str().unwrap();
        assert!(event.starts_with("not supported: the input of this call"), "{event}");
        assert_eq!((&seen["declared"], &seen["routes"]), (&json!(""), &json!(4)), "{seen}");
    }
}

#[test]
fn a_later_host_and_a_later_plugin_have_what_was_added_beside_older_ones() {
    let [first, today] = ["plugin_1_0", "plugin_today"].map(fixture);
    let seen = visit("later_host", &[first, fixture("later_plugin"), today]);
    let expected = json!({
        "name": "later",
        "version": "1.1.0",
        "root": 42,
        "plugin": 42,
        "call": {"Ok": "asked"},
        "event": {"Err": "came: tomorrow"},
        "declared": "declared",
        "routes": 2,
        "ignored": [],
        "answer": 42,
        "body": null,
        "seen": {"host": 42, "environment": "new", "request": 42, "caller": 42, "body": 42},
    });
    assert_eq!(seen[1], expected);
    assert_eq!((&seen[0]["plugin"], &seen[2]["plugin"]), (&json!(41), &json!(41)));
}

/// A host that does not know the kind would show the value.
#[test]
fn every_host_of_the_version_knows_a_secret_parameter() {
    for host in ["host_1_0", "host_today", "host_tomorrow"] {
        let description = &visit(host, &[fixture("keeps_a_secret")])[0]["description"];
        let parameters = description["parameters"].as_array().unwrap().iter();
        let names: Vec<&str> = parameters.map(|of| of[0].as_str().unwrap()).collect();
        assert_eq!((names, &description["ignored"]), (vec!["api_key", "pause"], &json!([])));
    }
}

#[test]
fn a_later_plugin_finds_that_an_older_host_lacks_what_was_added() {
    for host in ["host_1_0", "host_today"] {
        let seen = &visit(host, &[fixture("later_plugin"), fixture("plugin_today")])[0];
        // What this host does not understand is left out and named, the rest is there.
        let description = &seen["description"];
        assert_eq!(description["routes"][0][2], "later.show", "{description}");
        assert_eq!(description["parameters"][0][0], "patience", "{description}");
        let ignored = description["ignored"].as_array().unwrap();
        let begin =
            |nth: usize| ignored[nth].as_str().unwrap().split(": ").take(2).collect::<Vec<_>>();
        assert_eq!(
            (begin(0), begin(1)),
            (vec!["routes", "later.query"], vec!["parameters", "paint"])
        );
        // The plugin runs the default bodies of the methods that this host lacks.
        let added =
            json!({"host": 41, "environment": "", "request": 41, "caller": 41, "body": null});
        assert_eq!(seen["asked"][2], added);
        assert_eq!(seen["stopped"], Value::Null);
    }
}
