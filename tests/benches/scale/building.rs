//! Building what a benchmark measures, in release mode.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `cargo build --release` with these arguments.
pub fn build(arguments: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--quiet"]).args(arguments).current_dir(root());
    // The variables that cargo sets for this program would look like changes to build scripts,
    // which would rebuild everything each time.
    let kept = ["CARGO_TARGET_DIR", "CARGO_HOME"];
    for (name, _) in std::env::vars() {
        if name == "OUT_DIR" || name.starts_with("CARGO_") && !kept.contains(&name.as_str()) {
            cargo.env_remove(name);
        }
    }
    assert!(cargo.status().unwrap().success());
}

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
