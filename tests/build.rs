//! Sets the kind of engine of the run, so that tests for the other kind are listed as ignored. Which server it is, the
//! tests read while they run: both are tested with one build.

fn main() {
    let engine = std::env::var("TEST_ENGINE").unwrap_or_default();
    let engine = if engine.is_empty() || engine == "sqlite" { "sqlite" } else { "server" };
    println!("cargo::rerun-if-env-changed=TEST_ENGINE");
    println!(r#"cargo::rustc-check-cfg=cfg(engine, values("sqlite", "server"))"#);
    println!("cargo::rustc-cfg=engine=\"{engine}\"");
    // The `PATH` of the commands in the documents.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        |tool: &&str| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rustc-check-cfg=cfg(shell_tools)");
    if ["sh", "curl", "jq"].iter().all(found) {
        println!("cargo::rustc-cfg=shell_tools");
    }
    println!("cargo::rustc-check-cfg=cfg(python)");
    if found(&"python3") {
        println!("cargo::rustc-cfg=python");
    }
    println!("cargo::rustc-check-cfg=cfg(oathtool)");
    if found(&"oathtool") {
        println!("cargo::rustc-cfg=oathtool");
    }
    for (variable, cfg) in [
        ("TEST_BROWSER", "browser"),
        ("TEST_CLIENTS", "clients"),
        ("TEST_GALERA", "galera"),
        ("TEST_REPLICA", "replica"),
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
        println!("cargo::rustc-check-cfg=cfg({cfg})");
        if std::env::var(variable).is_ok_and(|value| !value.is_empty()) {
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}
