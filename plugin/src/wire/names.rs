//! Names that a client has misspelt. Independent of what they name.

use crate::model::value::short;

/// The fault that a kind of record has no member of a name, with a hint if one of `known` is similar.
pub fn unknown<'a>(
    what: &str,
    name: &str,
    kind: &str,
    known: impl Iterator<Item = &'a str>,
) -> String {
    hinted(format!("{kind} has no {what} {:?}", short(name)), name, known)
}

/// A sentence about a name, with a hint if one of `known` is similar.
pub(super) fn hinted<'a>(
    sentence: String,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> String {
    match nearest(name, known) {
        Some(hint) => format!("{sentence}; did you mean {hint}?"),
        None => format!("{sentence}."),
    }
}

/// The entry of `known` that `name` was most likely meant to be: one that contains it, or else the
/// one with the smallest edit distance, unless most letters differ. There is none for a name that is
/// much longer than all entries, because computing the distance would cost more than it is worth.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// By how much longer a name may be.
    const LONGER: usize = 16;
    let known = known.filter(|known| name.len() <= known.len() + LONGER);
    let distance = |known: &str| {
        (!known.contains(name) || name.is_empty(), strsim::damerau_levenshtein(name, known))
    };
    let nearest = known.map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance);
    nearest
        .filter(|((differs, edits), known)| !differs || 2 * edits <= known.len().max(name.len()))
        .map(|(_, known)| known)
}
