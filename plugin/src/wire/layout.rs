//! Where the members of a resource object stand in a row: found out once for a document, and not for each of its
//! records. Independent of the records themselves.

use super::view::View;
use crate::error::Error;
use crate::model::field::Field;
use crate::model::meta::{Derive, DerivedMeta};
use crate::model::registry::Registry;
use crate::model::resource::Resource;

/// The members of the resource objects of a type in a document.
#[derive(Debug)]
pub(super) struct Layout<'v> {
    pub(super) resource: &'static Resource,
    pub(super) view: &'v View,
    pub(super) attributes: Vec<Place>,
    pub(super) relationships: Vec<ToOne>,
    /// What is shown beside the version, where it is set.
    pub(super) meta: Vec<Place>,
    /// The cells that further meta is derived from; `None` if there is none.
    pub(super) derived: Option<(Derive, Vec<usize>)>,
}

/// A field, and the place of its cell in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) cell: usize,
    pub(super) field: &'static Field,
}

/// A relationship to the record whose key is in a cell.
#[derive(Debug)]
pub(super) struct ToOne {
    pub(super) cell: usize,
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    /// Whether the key 0 is none.
    pub(super) zero_is_none: bool,
    /// The resource of the record, if it can be linked to.
    pub(super) target: Option<&'static Resource>,
}

impl<'v> Layout<'v> {
    /// The layout of records that are shown so.
    pub(super) fn of(resource: &'static Resource, view: &'v View, registry: Registry) -> Self {
        let shape = view.shape;
        let columns = shape.columns(resource);
        let count = columns.clone().count();
        let (mut attributes, mut all) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut relationships = Vec::new();
        for (column, (position, field)) in columns.enumerate() {
            // The key precedes all of them.
            let place = Place { cell: column + 1, field };
            all.push(place);
            if shape.shows(position, resource) {
                attributes.push(place);
            }
            let related = field.relationship().filter(|_| shape.relates(position));
            relationships.extend(related.map(|relationship| ToOne {
                cell: place.cell,
                name: relationship.name,
                kind: relationship.kind,
                zero_is_none: field.zero_is_none,
                target: registry.find(relationship.kind).filter(|target| target.has_own_route()),
            }));
        }
        let place_of = |name: &str| all.iter().find(|place| place.field.name == name).copied();
        let meta = resource.meta.iter().filter_map(|name| place_of(name));
        let derived = shape.derived_meta(resource).map(|DerivedMeta { from, derive, .. }| {
            let cells = from.iter().filter_map(|name| place_of(name).map(|place| place.cell));
            (*derive, cells.collect())
        });
        Self { resource, view, attributes, relationships, meta: meta.collect(), derived }
    }
}

/// The layouts of a document with records of several types.
#[derive(Debug)]
pub(super) struct Layouts<'v>(Vec<Layout<'v>>);

impl<'v> Layouts<'v> {
    /// The layouts of these records, whichever of them are shown in the same way.
    pub(super) fn of(
        shown: impl Iterator<Item = (&'static Resource, &'v View)>,
        registry: Registry,
    ) -> Self {
        let mut layouts = Self(Vec::new());
        for (resource, view) in shown {
            if layouts.find(resource, view).is_none() {
                layouts.0.push(Layout::of(resource, view, registry));
            }
        }
        layouts
    }

    /// The layout of records that are shown so.
    ///
    /// # Errors
    /// When it is none of those that were asked for.
    pub(super) fn of_shown(
        &self,
        resource: &'static Resource,
        view: &View,
    ) -> Result<&Layout<'v>, Error> {
        self.find(resource, view).ok_or(Error::Contract("a record is shown without a layout"))
    }

    fn find(&self, resource: &'static Resource, view: &View) -> Option<&Layout<'v>> {
        self.0
            .iter()
            .find(|known| std::ptr::eq(known.resource, resource) && std::ptr::eq(known.view, view))
    }
}
