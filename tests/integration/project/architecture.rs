//! The invariants of the architecture, each with a test.

use std::collections::BTreeSet;
use std::fs;

use crate::support::project::{root, sources};

#[test]
fn the_contract_depends_on_no_server_database_or_runtime() {
    let manifest = fs::read_to_string(root().join("host-interface/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    let named: Vec<&str> = dependencies
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ']).next().filter(|name| !name.is_empty()))
        .collect();
    let known = ["abi_stable", "async-ffi", "futures-core", "serde", "serde_json", "thiserror"];
    assert!(named.iter().all(|name| known.contains(name)), "{named:?}");
}

#[test]
fn only_the_contract_names_the_crates_of_the_boundary() {
    for of in ["plugin", "example-host", "host-interface/host-service"] {
        for (path, text) in sources(of) {
            let names = text.contains("abi_stable") || text.contains("async_ffi");
            assert!(!names, "{} names a crate of the boundary", path.display());
        }
    }
}

/// Words that only the store may use. Comments, which contain examples, and unit tests are
/// excluded.
#[test]
fn the_contract_and_the_host_are_independent_of_the_store() {
    const WORDS: [&str; 20] = [
        "shop",
        "shops",
        "webservices",
        "product",
        "products",
        "orders",
        "sales",
        "customer",
        "customers",
        "manufacturer",
        "manufacturers",
        "currency",
        "currencies",
        "coupon",
        "coupons",
        "voucher",
        "vouchers",
        "inventory",
        // Two of its commands.
        "demo",
        "recount",
    ];
    // The folder or file, the word, and the reason.
    const ALLOWED: [(&str, &str, &str); 5] = [
        ("example-host/src/cli/", "shop", "an asset among the examples of the help"),
        ("example-host/src/cli/", "demo", "what the help says of a first start"),
        ("example-host/src/site/", "demo", "a column: whether a first start is as far as that"),
        ("example-host/src/cli/", "products", "an asset among the examples of the help"),
        ("example-host/src/site/", "webservices", "a kind of extension, not a part of file names"),
    ];
    let mut used = BTreeSet::new();
    for (path, text) in ["host-interface", "example-host/src"].into_iter().flat_map(sources) {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
        for word in words.map(str::to_lowercase).filter(|word| WORDS.contains(&word.as_str())) {
            let allowed =
                ALLOWED.iter().find(|(of, named, _)| file.starts_with(of) && *named == word);
            let allowed = allowed.unwrap_or_else(|| panic!("{file} knows a store: {word}"));
            used.insert(*allowed);
        }
    }
    assert_eq!(used.len(), ALLOWED.len(), "a reason that nothing needs any more: {used:?}");
}

#[test]
fn unsafe_code_is_only_in_the_contract() {
    for of in ["plugin", "example-host", "host-interface/host-service"] {
        for (path, text) in sources(of) {
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let found = words.filter(|word| *word == "unsafe").count();
            assert!(found == 0, "{} has unsafe code", path.display());
        }
    }
}

#[test]
fn only_the_sql_module_makes_dynamic_sql_text() {
    for (path, text) in sources("plugin/src") {
        let name = path.strip_prefix(root().join("plugin/src")).unwrap().to_str().unwrap();
        let runs = text.matches("AssertSqlSafe(").count();
        assert_eq!(
            runs,
            usize::from(name == "store/driver.rs"),
            "only one place runs the SQL text that `sql` generates"
        );
        if name.starts_with("sql/") {
            continue;
        }
        let made =
            text.split("format!(").skip(1).map(|rest| rest.trim_start_matches(['"', '\n', ' ']));
        for text in made {
            for verb in ["SELECT ", "INSERT ", "UPDATE ", "DELETE "] {
                assert!(!text.starts_with(verb), "{name} makes SQL text");
            }
        }
    }
}

/// Differences between engines are in the files of their drivers and in the table of dialects.
#[test]
fn engines_are_named_only_in_their_own_files_and_in_lists() {
    const ENGINES: [&str; 6] = ["Sqlite", "SQLITE", "Postgres", "POSTGRES", "MySql", "MYSQL"];
    let known = ["sqlite", "postgres", "mysql", "upkeep", "database", "migrations"];
    let mut known: Vec<String> = known.map(|name| format!("store/{name}.rs")).to_vec();
    known.push("sql/dialect.rs".to_owned());
    for (path, text) in sources("plugin/src") {
        let name = path.strip_prefix(root().join("plugin/src")).unwrap().to_str().unwrap();
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let named = words.any(|word| ENGINES.contains(&word));
        assert_eq!(named, known.iter().any(|known| known == name), "{name} and engines");
    }
}

#[test]
fn the_list_of_resources_is_alphabetical() {
    let kinds: Vec<&str> =
        plugin::resources::REGISTRY.iter().map(|resource| resource.kind).collect();
    assert!(kinds.is_sorted(), "{kinds:?}");
}

/// Two copies of SQLite in one process that open the same file corrupt it.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_and_the_store_never_share_a_file() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("shop.db");
    let url: Result<example_host::DatabaseUrl, _> = format!("sqlite://{}", path.display()).parse();
    let refused = match url {
        Err(_) => true,
        Ok(url) => {
            example_host::Site::open(&url, &[crate::support::harness::library()]).await.is_err()
        }
    };
    assert!(refused, "the host's own file must not be the store's");
}

#[test]
fn only_the_database_module_of_the_host_runs_sql() {
    for (path, text) in sources("example-host/src") {
        let spells = text.contains("AssertSqlSafe") || text.contains("sqlx::query");
        let allowed = path.components().any(|part| part.as_os_str() == "database");
        assert!(!spells || allowed, "{} runs SQL past the one place for it", path.display());
    }
}

/// Two neighbours of one type in a tuple can be exchanged unnoticed; `row!` reads columns by their names.
#[test]
fn no_row_is_a_tuple_of_more_than_three_columns() {
    let tuple = r"(Vec<|Option<|: |= )\((\s*[A-Za-z_][\w:]*(<[\w<>, ]*>)?,){3,}";
    let tuple = regex_lite::Regex::new(tuple).unwrap();
    assert!(tuple.is_match("let rows: Vec<(i64, Option<String>, String, bool)> = database"));
    assert!(tuple.is_match("type Row = (\n    i64,\n    String,\n    String,\n    bool,\n);"));
    for of in ["example-host/src", "plugin/src"] {
        for (path, text) in sources(of) {
            let found = tuple.find(&text).map(|found| found.as_str());
            assert_eq!(found, None, "{}", path.display());
        }
    }
}

#[test]
fn every_source_file_begins_with_its_purpose() {
    for of in ["host-interface", "plugin", "example-host", "tests"] {
        for (path, text) in sources(of) {
            assert!(text.starts_with("//! "), "{} does not begin with `//!`", path.display());
        }
    }
}

/// A file has one purpose. A longer one gives the reason on a line of its `//!` that begins with
/// this text.
#[test]
fn no_source_file_is_longer_than_600_lines_without_a_reason() {
    const REASON: &str = "//! Above 600 lines: ";
    let mut long = Vec::new();
    for of in ["host-interface", "plugin", "example-host", "tests"] {
        for (path, text) in sources(of) {
            let lines = text.lines().count();
            if lines > 600 && !text.lines().any(|line| line.starts_with(REASON)) {
                long.push(format!("{}: {lines}", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "these are too long:\n{}", long.join("\n"));
}

#[test]
fn the_document_lists_the_modules_that_run_on_sqlite_only() {
    let document = fs::read_to_string(root().join("tests/README.md")).unwrap();
    let row = |folder: &str| {
        let begin = format!("| `{folder}` | ");
        let mut rows = document.lines().skip_while(|line| *line != "| folder | modules |");
        rows.find_map(|line| Some(line.strip_prefix(&begin)?.to_owned())).unwrap_or_default()
    };
    for (path, text) in sources("tests/integration") {
        let Some(folder) =
            ["mod.rs", "main.rs"].iter().find_map(|name| path.to_str()?.strip_suffix(name))
        else {
            continue;
        };
        let folder = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let marked: Vec<&str> = text
            .lines()
            .zip(text.lines().skip(1))
            .filter(|(mark, _)| mark.starts_with("#[cfg(engine = \"sqlite\")]"))
            .filter_map(|(_, line)| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        if folder == "integration" {
            for module in marked {
                assert_eq!(row(module), "all |", "{module}");
            }
        } else if !marked.is_empty() {
            assert_eq!(row(folder), format!("`{}` |", marked.join("`, `")), "{folder}");
        }
    }
}

/// A search in the administration finds what a search of the store finds.
#[test]
fn the_host_and_the_store_fold_case_alike() {
    let characters = ('\0'..='\u{1ffff}').map(String::from);
    let words = ["Straße", "ὈΔΥΣΣΕΎΣ", "İstanbul", "ada@EXAMPLE.com"].map(str::to_owned);
    for text in characters.chain(words) {
        assert_eq!(example_host::fold(&text), plugin::model::value::fold(&text), "{text:?}");
    }
}

#[test]
fn every_module_is_in_the_table_of_its_crate() {
    for of in ["host-interface", "host-interface/host-service", "plugin", "example-host"] {
        let text = fs::read_to_string(root().join(of).join("src/lib.rs")).unwrap();
        let (table, code): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("//! |"));
        let modules = code.iter().filter_map(|line| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("mod ")?.strip_suffix(';')
        });
        for module in modules {
            let named = table.iter().any(|row| row.contains(&format!("`{module}`")));
            assert!(named, "{of}: the table in lib.rs does not have the module {module}");
        }
    }
}

/// The lists are written by hand, and a file that is missing from one would never run.
#[test]
fn every_migration_is_compiled_in() {
    for (code, folder) in [
        ("plugin/src/store/migrations.rs", "plugin/migrations"),
        ("example-host/src/database/migrations.rs", "example-host/migrations"),
    ] {
        let code = fs::read_to_string(root().join(code)).unwrap();
        for engine in ["sqlite", "postgres", "mysql"] {
            let list = code.split_once(&format!("\"{engine}\":")).unwrap().1;
            let list = list.split_once(']').unwrap().0;
            let listed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
            let entries = fs::read_dir(root().join(folder).join(engine)).unwrap();
            let mut files: Vec<String> = entries
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().into())
                .collect();
            files.sort();
            assert_eq!(listed, files, "{folder}/{engine}");
        }
    }
}
