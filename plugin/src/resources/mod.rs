//! The list of all resources, alphabetical: the one place where a resource is registered.

mod countries;
mod currencies;
mod manufacturers;
mod zones;

use crate::resource::{Field, Resource};
use crate::value::Kind;

/// Every resource of the store.
pub static ALL: &[Resource] =
    &[countries::COUNTRIES, currencies::CURRENCIES, manufacturers::MANUFACTURERS, zones::ZONES];

/// The resource of this kind.
pub fn find(kind: &str) -> Option<&'static Resource> {
    ALL.iter().find(|resource| resource.kind == kind)
}

/// The fields of all resources that refer to records of this kind.
pub fn referring_to(kind: &str) -> impl Iterator<Item = (&'static Resource, &'static Field)> {
    ALL.iter().flat_map(move |resource| {
        let refers =
            move |field: &&Field| matches!(field.kind, Kind::Key(target) if target == kind);
        resource.fields().filter(refers).map(move |field| (resource, field))
    })
}
