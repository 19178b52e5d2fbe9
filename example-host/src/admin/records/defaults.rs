//! How types are shown where their document leaves it open.

use super::model::{Attribute, Shape};

/// The maximum number of attributes of a list whose document names none.
const COLUMNS: usize = 6;

/// The attribute that a record is likely to be known by.
pub(super) fn label(attributes: &[Attribute]) -> Vec<String> {
    let texts = || attributes.iter().filter(|of| of.shape == Shape::Text && of.reference.is_none());
    let is_name = |of: &&Attribute| {
        ["name", "title", "label"].iter().any(|word| {
            of.name == *word || of.name.strip_suffix(word).is_some_and(|of| of.ends_with('_'))
        })
    };
    let found = texts().find(is_name).or_else(|| texts().next());
    found.map(|of| of.name.clone()).into_iter().collect()
}

/// The attributes that a list is likely to need.
pub(super) fn columns(attributes: &[Attribute]) -> Vec<String> {
    let short = attributes.iter().filter(|of| {
        !matches!(
            of.shape,
            Shape::LongText | Shape::List(_) | Shape::Parts(_) | Shape::Object(_) | Shape::Raw
        )
    });
    short.take(COLUMNS).map(|of| of.name.clone()).collect()
}

/// What one of several things is called: "Categories" are a "category".
pub(super) fn singular(title: &str) -> String {
    let lower = title.to_lowercase();
    let one = [
        ("ies", "y"),
        ("sses", "ss"),
        ("tuses", "tus"),
        ("xes", "x"),
        ("ss", "ss"),
        ("us", "us"),
        ("s", ""),
    ]
    .into_iter()
    .find_map(|(many, one)| Some(format!("{}{one}", lower.strip_suffix(many)?)));
    one.unwrap_or(lower)
}
