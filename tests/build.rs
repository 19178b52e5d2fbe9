//! Says what the tests are about, so that those about something else are listed as left out.

fn main() {
    let engine = std::env::var("TEST_ENGINE").unwrap_or_default();
    let engine = if engine.is_empty() { "sqlite" } else { engine.as_str() };
    println!("cargo::rerun-if-env-changed=TEST_ENGINE");
    println!(r#"cargo::rustc-check-cfg=cfg(engine, values("sqlite", "postgres", "mariadb"))"#);
    println!("cargo::rustc-cfg=engine=\"{engine}\"");
    for (variable, cfg) in
        [("TEST_BROWSER", "browser"), ("TEST_GALERA", "galera"), ("TEST_REPLICA", "replica")]
    {
        println!("cargo::rerun-if-env-changed={variable}");
        println!("cargo::rustc-check-cfg=cfg({cfg})");
        if std::env::var(variable).is_ok_and(|value| !value.is_empty()) {
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}
