//! The layers of each crate: imports lead downwards, without cycles.
//!
//! The source is read as text, so that a path within a macro is found as well as a `use`. Comments
//! and strings are ignored: documentation may refer to anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A crate, and its layers from top to bottom. A room is a folder or a file below `src`. It may use
/// the rooms on the lines below its own, and none on the same line.
struct House {
    source: &'static str,
    layers: &'static [&'static [&'static str]],
    /// `mod.rs` files that define items which other files of their folder import, instead of
    /// composing these files.
    foundations: &'static [&'static str],
}

const HOUSES: &[House] = &[
    House {
        source: "host-interface/src",
        layers: &[
            &["export"],
            &["root"],
            &["loaded"],
            &["plugin"],
            &["routes"],
            &["description", "host", "request", "response"],
            &["body", "caller", "future", "progress"],
            &["chunk"],
            &["panic"],
            &["outcome", "command"],
            &[
                "acl",
                "auth",
                "connections",
                "delivery",
                "environment",
                "error",
                "event",
                "job",
                "log",
                "mail",
                "metric",
                "names",
                "panel",
                "parameter",
                "person",
                "route",
                "trail",
                "user",
            ],
        ],
        foundations: &[],
    },
    House {
        source: "host-interface/host-service/src",
        layers: &[
            &["mount"],
            &["answer"],
            &["pieces"],
            &["admission"],
            &["access"],
            &["routing"],
            &["extension", "body"],
            &["refusal"],
            &["request_id", "waiters"],
            &[
                "accept",
                "changes",
                "client",
                "error",
                "handled",
                "head",
                "library",
                "limits",
                "prefer",
                "rate",
                "revalidation",
            ],
        ],
        foundations: &[],
    },
    House {
        source: "plugin/src",
        layers: &[
            &["boundary"],
            &["app"],
            &["resources"],
            &["imports", "exports", "privacy", "webhooks"],
            &["service"],
            &["reports", "changes", "bulk"],
            &["store"],
            &["wire", "sql"],
            &["model"],
            &["error"],
        ],
        foundations: &[],
    },
    House {
        source: "example-host/src",
        layers: &[
            &["cli"],
            &["server"],
            &["admin"],
            &["api"],
            &["site"],
            &["extensions"],
            &["deliver", "identity", "mail"],
            &["watch"],
            &["database", "secrets"],
            &["base"],
        ],
        foundations: &["site/mod.rs"],
    },
    House {
        source: "tests/integration",
        layers: &[
            &[
                "administration",
                "api",
                "command_line",
                "contract",
                "hosts",
                "model",
                "privacy",
                "project",
                "store",
            ],
            &["support"],
        ],
        // It refers to the file that the benchmarks share.
        foundations: &["support/mod.rs"],
    },
];

#[test]
fn imports_lead_down_the_layers_of_each_crate() {
    for house in HOUSES {
        let crate_ = Crate::read(house.source);
        let line_of = |room: &str| house.layers.iter().position(|line| line.contains(&room));
        let mut faults = Vec::new();
        for room in crate_.files.keys().map(|file| room_of(file)).collect::<BTreeSet<_>>() {
            let composes = matches!(room, "lib" | "main");
            assert!(composes || line_of(room).is_some(), "{room} has no layer in {}", house.source);
        }
        for (from, to) in &crate_.imports {
            let (above, below) = (room_of(from), room_of(to));
            if matches!(above, "lib" | "main") {
                continue;
            }
            let own_folder =
                to.strip_suffix("mod.rs").is_some_and(|folder| from.starts_with(folder));
            if above != below && (below == "lib" || line_of(above) >= line_of(below)) {
                faults.push(format!("{from} names {to}, which is not below it"));
            } else if own_folder && !house.foundations.contains(&to.as_str()) {
                faults.push(format!("{from} names what {to} defines"));
            }
        }
        for circle in crate_.circles() {
            faults.push(format!("a circle: {}", circle.join(", ")));
        }
        assert!(faults.is_empty(), "{}:\n{}", house.source, faults.join("\n"));
    }
}

#[test]
fn every_layer_names_rooms_that_exist() {
    for house in HOUSES {
        let crate_ = Crate::read(house.source);
        let rooms: BTreeSet<&str> = crate_.files.keys().map(|file| room_of(file)).collect();
        for room in house.layers.iter().copied().flatten() {
            assert!(rooms.contains(room), "{} has no {room}", house.source);
        }
    }
}

#[test]
fn paths_are_found_in_every_form() {
    let text = r##"
        use crate::{a::{b, c::D}, e}; // crate::comment
        fn f() { super::g(); let _ = "crate::string"; let c = '"'; crate::h::i!(); }
        const RAW: &str = r#"crate::raw"#; impl<'a> self::j::K<'a> {}
        mod tests { use super::*; use crate::l; } use super::m;
    "##;
    let mut found = String::new();
    for path in paths(&tokens(&code(text)), &BTreeSet::new()) {
        write!(found, "{} ", path.join("::")).unwrap();
    }
    assert_eq!(
        found,
        "crate::a::b crate::a::c::D crate::e super::g crate::h::i self::j::K crate::l super::m "
    );
}

/// The first part of a file's path below `src`, without the extension.
fn room_of(file: &str) -> &str {
    file.split('/').next().map_or(file, |room| room.trim_end_matches(".rs"))
}

/// The source files of a crate, by their paths below `src`, and the imports between them.
struct Crate {
    files: BTreeMap<String, String>,
    imports: BTreeSet<(String, String)>,
}

impl Crate {
    fn read(source: &str) -> Crate {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(source);
        let mut files = BTreeMap::new();
        let mut folders: Vec<PathBuf> = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, code(&fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let modules: BTreeMap<Vec<String>, String> =
            files.keys().map(|file| (module(file), file.clone())).collect();
        let mut imports = BTreeSet::new();
        for (file, text) in &files {
            let own = module(file);
            let children: BTreeSet<&str> = modules
                .keys()
                .filter(|path| path.len() == own.len() + 1 && path.starts_with(&own))
                .filter_map(|path| path.last().map(String::as_str))
                .collect();
            for path in paths(&tokens(text), &children) {
                let to = resolve(&own, &path, &modules);
                if to != file {
                    imports.insert((file.clone(), to.to_owned()));
                }
            }
        }
        Crate { files, imports }
    }

    /// Sets of files each of which reaches all others.
    fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.files.keys().map(|file| (file.as_str(), self.reached(file))).collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut circles = Vec::new();
        for (file, others) in &reached {
            if seen.contains(file) || !others.contains(file) {
                continue;
            }
            let circle: Vec<&str> =
                others.iter().copied().filter(|other| reached[other].contains(file)).collect();
            seen.extend(&circle);
            circles.push(circle);
        }
        circles
    }

    fn reached<'c>(&'c self, from: &'c str) -> BTreeSet<&'c str> {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            let named = self.imports.iter().filter(|(importer, _)| importer == file);
            open.extend(named.map(|(_, to)| to.as_str()).filter(|to| found.insert(*to)));
        }
        found
    }
}

/// The module path of a file.
fn module(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs");
    let parts = path.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main"));
    parts.map(str::to_owned).collect()
}

/// The file that a path leads to: the longest prefix of it that is a module.
fn resolve<'m>(
    own: &[String],
    path: &[String],
    modules: &'m BTreeMap<Vec<String>, String>,
) -> &'m str {
    let mut at = own.to_vec();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            name => {
                let mut child = at.clone();
                child.push(name.to_owned());
                if !modules.contains_key(&child) {
                    break;
                }
                at = child;
            }
        }
        rest = others;
    }
    &modules[&at]
}

/// The text without comments and literals.
fn code(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let raw = rest.strip_prefix('r').and_then(|tail| {
            let marks = tail.len() - tail.trim_start_matches('#').len();
            let begins = !kept.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            (begins && tail[marks..].starts_with('"')).then_some(marks)
        });
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(marks) = raw {
            let end = format!("\"{}", "#".repeat(marks));
            let body = &rest[marks + 2..];
            marks + 2 + body.find(&end).map_or(body.len(), |at| at + end.len())
        } else if first == '"' {
            literal(rest, '"')
        } else if rest.starts_with("'\\") || (first == '\'' && rest.chars().nth(2) == Some('\'')) {
            literal(rest, '\'')
        } else {
            kept.push(first);
            first.len_utf8()
        };
        rest = &rest[skipped..];
    }
    kept
}

/// The length of a literal in these quotes, which may contain escapes.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == quote && !escaped {
            return at + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    text.len()
}

/// Names, `::`, and other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while !rest.is_empty() {
        let name =
            rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let length = if name > 0 {
            name
        } else if rest.starts_with("::") {
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

/// Every path within the crate: from its root, from the module, and from a child of it.
fn paths(tokens: &[&str], children: &BTreeSet<&str>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // The open braces, and whether each is that of a module within the file, whose `super` is the
    // file itself.
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => open.push(at >= 2 && tokens[at - 2] == "mod"),
            "}" => drop(open.pop()),
            _ => {}
        }
        let begins = at == 0 || tokens[at - 1] != "::";
        let anchored = matches!(*token, "crate" | "super" | "self") || children.contains(token);
        let within = *token == "super" && open.contains(&true);
        if begins && anchored && !within && tokens.get(at + 1) == Some(&"::") {
            tree(tokens, at, &[], &mut found);
        }
    }
    found
}

/// Parses one path, or all paths of a tree in braces, and returns the position after it.
fn tree(tokens: &[&str], mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    at = tree(tokens, at, &path, found);
                    while tokens.get(at).is_some_and(|token| !matches!(*token, "," | "}")) {
                        at += 1;
                    }
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            Some(name) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                path.push((*name).to_owned());
                at += 1;
            }
            _ => at += 1,
        }
        if tokens.get(at) != Some(&"::") {
            found.push(path);
            return at;
        }
        at += 1;
    }
}
