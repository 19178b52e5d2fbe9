//! What the properties of records mean: the table in `properties.txt`, with one sentence for each
//! property of each kind, and examples of texts and keys. Independent of the values that a property may have.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A heading names the kinds, or the views, whose properties follow it, one on each line. Where the
/// example of a new record has to be another one, it follows after a bar.
const TABLE: &str = include_str!("properties.txt");

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The kinds of records, or the views, separated by commas.
    kinds: &'static str,
    /// The name.
    pub name: &'static str,
    /// What it means, as a sentence.
    pub meaning: &'static str,
    /// An example of it.
    pub example: Option<&'static str>,
    /// An example of that of a new record, if it is another one.
    pub new: Option<&'static str>,
}

impl Property {
    /// The kinds of records, or the views, that have it.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.kinds.split(", ")
    }
}

/// The whole table.
pub fn all() -> impl Iterator<Item = Property> {
    let mut kinds = "";
    TABLE.lines().filter_map(move |line| match line.strip_prefix("# ") {
        Some(heading) => {
            kinds = heading;
            None
        }
        None => {
            let (named, meaning) = line.split_once(": ")?;
            let (name, example) = match named.split_once(" (") {
                Some((name, example)) => (name, example.strip_suffix(')')),
                None => (named, None),
            };
            let (example, new) = match example.and_then(|example| example.split_once(" | ")) {
                Some((example, new)) => (Some(example), Some(new)),
                None => (example, None),
            };
            Some(Property { kinds, name, meaning, example, new })
        }
    })
}

/// The sentence about a property: that of the view, or else that of the kind. It is empty for a
/// property that the table lacks.
pub(super) fn meaning(view: &str, kind: &str, name: &str) -> &'static str {
    find(view, kind, name).map_or("", |property| property.meaning)
}

/// The line about a property: that of the view, or else that of the kind.
pub(super) fn find(view: &str, kind: &str, name: &str) -> Option<Property> {
    /// By kind and name. A document asks for thousands, so the table is parsed once.
    static PROPERTIES: LazyLock<HashMap<(&str, &str), Property>> = LazyLock::new(|| {
        let mut properties = HashMap::new();
        for property in all() {
            for kind in property.kinds() {
                properties.entry((kind, property.name)).or_insert(property);
            }
        }
        properties
    });
    let properties: &HashMap<(&str, &str), Property> = &PROPERTIES;
    properties.get(&(view, name)).or_else(|| properties.get(&(kind, name))).copied()
}
