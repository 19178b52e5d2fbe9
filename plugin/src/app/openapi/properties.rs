//! What the properties of records mean: the table in `properties.txt`, with one sentence for each
//! property of each kind, and examples of texts. Independent of the values that a property may have.

/// A heading names the kinds, or the views, whose properties follow it, one on each line.
const TABLE: &str = include_str!("properties.txt");

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The kinds of records, or the views, separated by commas.
    pub kinds: &'static str,
    /// The name.
    pub name: &'static str,
    /// What it means, as a sentence.
    pub meaning: &'static str,
    /// An example of its text.
    pub example: Option<&'static str>,
}

impl Property {
    /// Whether records of this kind, or this view, have it.
    pub fn is_of(&self, kind: &str) -> bool {
        self.kinds.split(", ").any(|known| known == kind)
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
            Some(Property { kinds, name, meaning, example })
        }
    })
}

/// The sentence about a property: that of the view, or else that of the kind. It is empty for a
/// property that the table lacks.
pub(super) fn meaning(view: &str, kind: &str, name: &str) -> &'static str {
    found(view, kind, name).map_or("", |property| property.meaning)
}

/// The example of a text.
pub(super) fn example(view: &str, kind: &str, name: &str) -> Option<&'static str> {
    found(view, kind, name)?.example
}

fn found(view: &str, kind: &str, name: &str) -> Option<Property> {
    let of = |kind: &str| all().find(|property| property.name == name && property.is_of(kind));
    of(view).or_else(|| of(kind))
}
