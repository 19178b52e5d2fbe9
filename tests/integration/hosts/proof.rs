//! What imports and exports promise, proven by a client in another language: `tests/imports/proof.py`, which makes
//! the files, asks, kills hosts and compares. `TEST_RECORDS`, `TEST_KILLS` and `TEST_MEGABYTES` make it
//! take longer.

use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::support::harness::library;
use crate::support::process::{Place, program};
use crate::support::project;

/// The records of its files.
const RECORDS: &str = "2000";
/// How often a host is killed while it imports a file.
const KILLS: &str = "2";
/// The size of a line without an end.
const MEGABYTES: &str = "64";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(python), ignore = "needs python3")]
async fn what_imports_and_exports_promise_holds_for_a_client_in_python() {
    let places = [Place::of_the_store(), Place::of_the_store(), Place::of_the_store()];
    let given = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let mut script = Command::new("python3");
    script.arg(project::root().join("tests/imports/proof.py"));
    script.arg("--program").arg(program()).arg("--plugin").arg(library());
    script.args(["--records", &given("TEST_RECORDS", RECORDS)]);
    script.args(["--kills", &given("TEST_KILLS", KILLS)]);
    script.args(["--megabytes", &given("TEST_MEGABYTES", MEGABYTES)]);
    script.args(places.each_ref().map(Place::site_url)).kill_on_drop(true);
    let done = timeout(Duration::from_secs(3_600), script.output()).await.unwrap().unwrap();
    let [output, faults] = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap());
    println!("{output}");
    assert!(done.status.success() && output.ends_with("Everything holds.\n"), "{output}{faults}");
}
