//! Relations between resources, by which a document can include related records. They follow from
//! the fields and nested lists of the resources. Independent of how records are read.

use super::field::Field;
use super::registry::Registry;
use super::resource::{Nested, Resource};
use super::value::Kind;

/// A relation of a resource to records that can be included.
#[derive(Clone, Copy, Debug)]
pub enum Relation {
    /// To the record whose key is in a field.
    One(One),
    /// To the records that belong to this one.
    Many(Many),
}

/// A field with the key of a record.
#[derive(Clone, Copy, Debug)]
pub struct One {
    /// The name of the relationship.
    pub name: &'static str,
    /// The field.
    pub field: &'static Field,
    /// Its position in [`Resource::fields`].
    pub position: usize,
    /// The resource of the record.
    pub target: &'static Resource,
}

/// The records that belong to a record: they are listed below it, and are deleted with it.
#[derive(Clone, Copy, Debug)]
pub struct Many {
    /// The list below the record, whose last segment is the name of the relationship.
    pub nested: &'static Nested,
    /// The resource of the records.
    pub target: &'static Resource,
    /// The position in their [`Resource::fields`] of the field with the key of their owner.
    pub position: usize,
}

impl Relation {
    /// The relations of a resource.
    pub fn of(resource: &'static Resource, registry: Registry) -> impl Iterator<Item = Relation> {
        let one = resource.fields().enumerate().filter_map(move |(position, field)| {
            let relationship = field.relationship()?;
            let target = registry.find(relationship.kind)?;
            let one = One { name: relationship.name, field, position, target };
            target.has_own_route().then_some(Relation::One(one))
        });
        let many = Many::of(resource, registry).map(Relation::Many);
        one.chain(many)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Relation::One(one) => one.name,
            Relation::Many(many) => many.nested.segment,
        }
    }

    /// The resource that it leads to.
    pub fn target(&self) -> &'static Resource {
        match self {
            Relation::One(one) => one.target,
            Relation::Many(many) => many.target,
        }
    }
}

impl Many {
    /// The relations of a resource to records that belong to its own.
    pub fn of(resource: &'static Resource, registry: Registry) -> impl Iterator<Item = Many> {
        let whole = if resource.parts.is_empty() { resource.kind } else { resource.asset() };
        let of_all = registry.iter().filter(|_| resource.parts.is_empty());
        let targets = of_all.chain(resource.parts.iter().copied());
        let lists =
            targets.flat_map(|target| target.nested.iter().map(move |nested| (nested, target)));
        lists.filter_map(move |(nested, target)| {
            let mut fields = target.fields().enumerate();
            let (position, by) = fields.find(|(_, field)| field.name == nested.by)?;
            let owns = by.owned && by.kind == Kind::Key(whole);
            (owns && nested.parent == whole).then_some(Many { nested, target, position })
        })
    }
}
