//! The text of the traits that cross: what the comparison of layouts does not see, because a method
//! without a default body, a supertrait or `unsafe` is in no layout.

use std::collections::BTreeMap;
use std::fs;

use crate::support::project::root;

const FROZEN: &str = "tests/fixtures/contract-1.0/src";
const TODAY: &str = "host-interface/src";

/// Why a set of traits cannot follow that of 1.0.
type Fault = String;

/// A trait as its text declares it, without comments.
#[derive(Debug, PartialEq)]
struct Trait {
    /// From its visibility to the brace.
    header: String,
    /// The attributes, signature and body of each method in the order of the slots.
    methods: Vec<String>,
}

#[test]
fn the_traits_that_cross_only_grow_at_their_ends() {
    let first = traits(files(FROZEN));
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(names, ["RawBody", "RawCaller", "RawExtra", "RawHost", "RawPlugin", "RawRequest"]);
    for (name, count) in [("RawPlugin", 3), ("RawHost", 6), ("RawRequest", 12)] {
        assert_eq!(first[name].methods.len(), count, "{name}: {:?}", first[name]);
    }
    assert_eq!(grown(&first, &first), Ok(()));
    assert_eq!(grown(&first, &traits(files(TODAY))), Ok(()));
}

#[test]
fn a_method_with_a_default_body_may_follow_the_others() {
    let first = traits(files(FROZEN));
    let edit = [(
        "host.rs",
        END,
        "        fn later(&self) -> u64 {\n            7\n        }\n    }\n}\n",
    )];
    assert_eq!(grown(&first, &traits(edited(&edit))), Ok(()));
}

#[test]
fn each_breaking_change_of_a_trait_is_refused() {
    let first = traits(files(FROZEN));
    for (name, edits, why) in MUTANTS {
        let fault = grown(&first, &traits(edited(edits))).expect_err(name);
        assert!(fault.contains(why), "{name}: {fault}");
    }
}

/// The end of a file whose last item is a trait that crosses.
const END: &str = "    }\n}\n";

/// A file, a text that is there once or at its end, and the text in its place.
type Edit = (&'static str, &'static str, &'static str);

/// Changes that no version of major version 1 may make, and what the refusal is about.
const MUTANTS: [(&str, &[Edit], &str); 9] = [
    (
        "default missing",
        &[("host.rs", END, "        fn later(&self) -> u64;\n    }\n}\n")],
        "RawHost: no default body: fn later",
    ),
    (
        "supertrait added",
        &[("body.rs", "trait RawBody: Send {", "trait RawBody: Send + Debug {")],
        "RawBody: another header",
    ),
    (
        "supertrait removed",
        &[("plugin.rs", "RawPlugin: Send + Sync {", "RawPlugin: Send {")],
        "RawPlugin: another header",
    ),
    (
        "trait renamed",
        &[("caller.rs", "pub trait RawCaller: Send", "pub trait RawUser: Send")],
        "RawCaller is gone",
    ),
    ("trait no longer crosses", &[("response.rs", "    #[sabi_trait]\n", "")], "RawExtra is gone"),
    (
        "unsafe added",
        &[("host.rs", "        fn caller(&self", "        unsafe fn caller(&self")],
        "RawHost: another slot: unsafe fn caller",
    ),
    (
        "method removed",
        &[("body.rs", "        fn length(&self) -> ROption<u64>;\n", "")],
        "RawBody: another slot: #[sabi(last_prefix_field)] fn poll_chunk",
    ),
    (
        "slots in another order",
        &[
            ("caller.rs", "        fn user(&self) -> i64;\n", ""),
            ("caller.rs", END, "        fn user(&self) -> i64;\n    }\n}\n"),
        ],
        "RawCaller: another slot: fn fact",
    ),
    (
        "first version extended",
        &[
            ("plugin.rs", "        #[sabi(last_prefix_field)]\n", ""),
            (
                "plugin.rs",
                END,
                "        #[sabi(last_prefix_field)]\n        fn later(&self) {}\n    }\n}\n",
            ),
        ],
        "RawPlugin: another slot: fn handle",
    ),
];

/// Whether each of the first traits is there, with the same header and slots and only default bodies
/// behind them.
fn grown(first: &BTreeMap<String, Trait>, now: &BTreeMap<String, Trait>) -> Result<(), Fault> {
    for (name, first) in first {
        let now = now.get(name).ok_or_else(|| format!("{name} is gone"))?;
        if now.header != first.header {
            return Err(format!("{name}: another header: {}", now.header));
        }
        for (nth, slot) in first.methods.iter().enumerate() {
            match now.methods.get(nth) {
                Some(same) if same == slot => {}
                Some(other) => return Err(format!("{name}: another slot: {other}")),
                None => return Err(format!("{name}: no slot for {slot}")),
            }
        }
        let later = &now.methods[first.methods.len()..];
        if let Some(bare) = later.iter().find(|method| !method.ends_with('}')) {
            return Err(format!("{name}: no default body: {bare}"));
        }
    }
    Ok(())
}

/// The traits of these files that cross, by their names.
fn traits(files: BTreeMap<String, String>) -> BTreeMap<String, Trait> {
    let mut found = BTreeMap::new();
    for text in files.into_values() {
        for part in text.split("#[sabi_trait]\n").skip(1) {
            let (header, rest) = part.split_once('{').expect("a trait");
            let name = header.split_once("trait ").expect("a trait").1;
            let name = name.split([':', ' ']).next().unwrap_or_default().to_owned();
            let methods = methods(rest);
            found.insert(name, Trait { header: header.trim().to_owned(), methods });
        }
    }
    found
}

/// The methods of a trait, of whose text this begins after the brace.
fn methods(text: &str) -> Vec<String> {
    let (mut methods, mut method, mut depth) = (Vec::new(), String::new(), 0);
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    for line in lines {
        if depth == 0 && line == "}" {
            break;
        }
        depth += line.matches('{').count();
        depth -= line.matches('}').count();
        method = format!("{method} {line}").trim().to_owned();
        if depth == 0 && line.ends_with([';', '}']) {
            methods.push(std::mem::take(&mut method));
        }
    }
    methods
}

/// The files of a version of the contract by their names.
fn files(folder: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let read = entries.map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(&path).unwrap())
    });
    read.collect()
}

/// The files of 1.0 after these edits.
fn edited(edits: &[Edit]) -> BTreeMap<String, String> {
    let mut files = files(FROZEN);
    for (name, from, to) in edits {
        let text = files.get_mut(*name).unwrap();
        *text = match text.strip_suffix(from) {
            Some(before) => format!("{before}{to}"),
            None => {
                assert_eq!(text.matches(from).count(), 1, "{name} has {from:?} not once");
                text.replace(from, to)
            }
        };
    }
    files
}
