//! Says which engine the tests are about, so that those about another one are listed as left out.

fn main() {
    let engine = std::env::var("TEST_ENGINE").unwrap_or_default();
    let engine = if engine.is_empty() { "sqlite" } else { engine.as_str() };
    println!("cargo::rerun-if-env-changed=TEST_ENGINE");
    println!(r#"cargo::rustc-check-cfg=cfg(engine, values("sqlite", "postgres", "mariadb"))"#);
    println!("cargo::rustc-cfg=engine=\"{engine}\"");
}
