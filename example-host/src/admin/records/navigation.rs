//! The types of records in the navigation: in the groups of their documents, as far as a user may list them.

use super::model::Kind;
use super::visible::Visible;

/// The title of types whose document has no group for them is that of the extension.
pub(crate) struct Group<'c> {
    pub(crate) title: &'c str,
    /// The types, each with its extension.
    pub(crate) kinds: Vec<(&'c str, &'c Kind)>,
}

/// The groups with what a user may list.
pub(crate) fn groups<'c>(found: &[Visible<'c>]) -> Vec<Group<'c>> {
    let mut groups: Vec<Group<'c>> = Vec::new();
    for Visible { types, .. } in found {
        let first = types.groups.iter().filter(|title| groups.iter().all(|of| of.title != **title));
        let first: Vec<Group<'c>> = first.map(|title| Group { title, kinds: Vec::new() }).collect();
        groups.extend(first);
    }
    for Visible { types, kinds } in found {
        for &kind in kinds {
            let title = kind.group.as_deref().unwrap_or(&types.extension);
            let entry = (types.extension.as_str(), kind);
            match groups.iter_mut().find(|group| group.title == title) {
                Some(group) => group.kinds.push(entry),
                None => groups.push(Group { title, kinds: vec![entry] }),
            }
        }
    }
    groups.retain(|group| !group.kinds.is_empty());
    groups
}

/// Whether there is anything that a user may search for, of what the user may list.
pub(crate) fn is_searched(found: &[Visible<'_>]) -> bool {
    found.iter().flat_map(|of| &of.kinds).any(|kind| kind.query.search.is_some())
}
