//! What a client selects of a document: the fields of each type (`fields`), and the related records
//! beside its own (`include`). Independent of how these are read.

use std::borrow::Cow;

use super::names::{hinted, unknown};
use crate::error::{Fault, FaultKind, MAX_FAULTS};
use crate::model::question::Shape;
use crate::model::registry::Registry;
use crate::model::relation::{Many, Relation};
use crate::model::resource::Resource;
use crate::model::selection::{Positions, Selection};
use crate::model::value::short;

/// How many relations a path of `include` follows at most.
pub const DEEPEST: usize = 2;

/// The name and the value of a parameter of the query.
pub(super) type Member<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What a document shows of the records of a type.
#[derive(Clone, Debug)]
pub struct View {
    /// The fields to read and to show.
    pub shape: Shape,
    /// The relationships to the records that belong to each.
    pub lists: Vec<Many>,
    /// The related records to include; `None` if the client asked for none.
    pub include: Option<Vec<Branch>>,
}

/// Related records that a document includes.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The relation that leads to them.
    pub relation: Relation,
    /// What is shown of them.
    pub view: View,
}

impl View {
    /// A document without included records.
    pub const fn of(shape: Shape) -> Self {
        View { shape, lists: Vec::new(), include: None }
    }

    /// The branches of the records themselves.
    pub fn branches(&self) -> &[Branch] {
        self.include.as_deref().unwrap_or_default()
    }

    /// The resources of all included records.
    pub fn resources(&self) -> Vec<&'static Resource> {
        let resources = self.branches().iter().flat_map(|branch| {
            let own = branch.relation.target();
            std::iter::once(own).chain(branch.view.resources())
        });
        resources.collect()
    }

    /// Reads the parameters that select. Everything else in the query is ignored.
    pub(super) fn read(
        resource: &'static Resource,
        plain: Shape,
        registry: Registry,
        query: &[Member<'_>],
        faults: &mut Vec<Fault>,
    ) -> Self {
        let mut asked = Asked { resource, registry, include: None, fields: Vec::new() };
        for (_, value) in query.iter().filter(|(name, _)| name == "include") {
            asked.include = Some(asked.tree(resource, value, faults));
        }
        // Which fields a type has depends on the resource that is included.
        for (name, value) in query {
            if let Some(kind) = kind_of(name) {
                asked.choose(kind, name, value, faults);
            }
        }
        asked.view(resource, plain, None, asked.include.as_deref())
    }
}

/// Whether a parameter selects what a document shows.
pub(super) fn selects(name: &str) -> bool {
    name == "include" || kind_of(name).is_some()
}

/// The attributes that a client has named of a document without related records: the members of
/// `known` that `fields[<kind>]` names, or `None` for all.
pub(super) fn attributes<'a>(
    kind: &str,
    known: &[&'a str],
    query: &[Member<'_>],
    faults: &mut Vec<Fault>,
) -> Option<Vec<&'a str>> {
    let mut chosen = None;
    for (name, value) in query.iter().filter(|(name, _)| selects(name)) {
        if kind_of(name) != Some(kind) {
            let detail = match name.as_ref() {
                "include" => format!("{kind} has no related records to include."),
                _ => format!("This route has no parameter {}; it has fields[{kind}].", short(name)),
            };
            faults.push(Fault::at_parameter(FaultKind::UnknownParameter, name, detail));
            continue;
        }
        let attributes: &mut Vec<&str> = chosen.get_or_insert_default();
        for asked in value.split(',').filter(|_| !value.is_empty()) {
            if faults.len() > MAX_FAULTS {
                break;
            }
            match known.iter().find(|known| **known == asked) {
                Some(known) => attributes.push(known),
                None => {
                    let detail = unknown("field", asked, kind, known.iter().copied());
                    faults.push(Fault::at_parameter(FaultKind::InvalidParameter, name, detail));
                }
            }
        }
    }
    chosen
}

/// The type in `fields[<type>]`.
fn kind_of(name: &str) -> Option<&str> {
    name.strip_prefix("fields[")?.strip_suffix(']')
}

/// The parameters as they were read.
struct Asked {
    resource: &'static Resource,
    registry: Registry,
    include: Option<Vec<Node>>,
    fields: Vec<Chosen>,
}

/// A relation in a path of `include`, and those that follow it.
struct Node {
    relation: Relation,
    below: Vec<Node>,
}

/// The fields of a type that are shown.
struct Chosen {
    of: &'static Resource,
    selection: Selection,
    lists: Vec<Many>,
}

impl Asked {
    /// Reads paths of relations, separated by commas. Paths that begin alike share their beginning,
    /// so each relation is followed once.
    fn tree(&self, resource: &'static Resource, value: &str, faults: &mut Vec<Fault>) -> Vec<Node> {
        let mut roots = Vec::new();
        for path in value.split(',').filter(|_| !value.is_empty()) {
            if faults.len() > MAX_FAULTS {
                break;
            }
            if let Err(detail) = self.grow(&mut roots, resource, path) {
                faults.push(Fault::at_parameter(FaultKind::InvalidParameter, "include", detail));
            }
        }
        roots
    }

    fn grow(
        &self,
        roots: &mut Vec<Node>,
        mut resource: &'static Resource,
        path: &str,
    ) -> Result<(), String> {
        let mut level = roots;
        for (depth, name) in path.split('.').enumerate() {
            if depth == DEEPEST {
                return Err(format!("include follows at most {DEEPEST} relations in a row."));
            }
            let known = || Relation::of(resource, self.registry);
            let Some(relation) = known().find(|relation| relation.name() == name) else {
                let known = known().map(|relation| relation.name());
                return Err(unknown("relation to include", name, resource.kind, known));
            };
            let position = level.iter().position(|node| node.relation.name() == name);
            let position = position.unwrap_or_else(|| {
                level.push(Node { relation, below: Vec::new() });
                level.len() - 1
            });
            resource = relation.target();
            level = &mut level[position].below;
        }
        Ok(())
    }

    /// Reads the names of the fields of a type. None at all is a choice, too.
    fn choose(&mut self, kind: &str, parameter: &str, value: &str, faults: &mut Vec<Fault>) {
        let shown = self.shown();
        let others = self.registry.iter().filter(|resource| !resource.table.is_empty());
        let mut resources = shown.into_iter().chain(others.clone());
        let Some(resource) = resources.find(|resource| resource.kind == kind) else {
            let known = others.map(|resource| resource.kind);
            let detail = hinted(format!("There is no type {:?}", short(kind)), kind, known);
            faults.push(Fault::at_parameter(FaultKind::UnknownParameter, parameter, detail));
            return;
        };
        let selection = Selection::default();
        let mut chosen = Chosen { of: resource, selection, lists: Vec::new() };
        for name in value.split(',').filter(|_| !value.is_empty()) {
            if faults.len() > MAX_FAULTS {
                break;
            }
            if !chosen.add(name, resource, self.registry) {
                let shown = resource.list.iter().chain(resource.detail).map(|field| field.name);
                let related = resource.fields().filter_map(|field| field.relationship());
                let related = related.map(|relationship| relationship.name);
                let lists = Many::of(resource, self.registry).map(|many| many.nested.segment);
                let key = resource.shows_key.then_some(resource.key);
                let known = shown.chain(key).chain(related).chain(lists);
                let detail = unknown("field", name, resource.kind, known);
                faults.push(Fault::at_parameter(FaultKind::InvalidParameter, parameter, detail));
            }
        }
        self.fields.push(chosen);
    }

    /// The resources whose records the document has.
    fn shown(&self) -> Vec<&'static Resource> {
        fn below(nodes: &[Node], shown: &mut Vec<&'static Resource>) {
            for node in nodes {
                shown.push(node.relation.target());
                below(&node.below, shown);
            }
        }
        let mut shown = vec![self.resource];
        below(self.include.as_deref().unwrap_or_default(), &mut shown);
        shown
    }

    /// What is shown of the records of a resource. `by` is the position of the field with the key of
    /// their owner, which is read in any case.
    fn view(
        &self,
        resource: &'static Resource,
        plain: Shape,
        by: Option<usize>,
        nodes: Option<&[Node]>,
    ) -> View {
        let (mut followed, mut included) = (Positions::default(), Vec::new());
        for node in nodes.unwrap_or_default() {
            match node.relation {
                Relation::One(one) => followed.insert(one.position),
                Relation::Many(many) => included.push(many),
            }
        }
        let chosen = self.fields.iter().find(|chosen| std::ptr::eq(chosen.of, resource));
        let (shape, lists) = match chosen {
            Some(chosen) => {
                let Selection { attributes, relationships, .. } = chosen.selection;
                let read = attributes.with(relationships).with(followed);
                let read = read.with(by.into_iter().collect());
                let selection = Selection { read, ..chosen.selection };
                (Shape::Selected(selection), chosen.lists.clone())
            }
            None => {
                // Parts are relationships of every record; otherwise those that are included are.
                let lists = match resource.parts {
                    [] => included,
                    _ => Many::of(resource, self.registry).collect(),
                };
                (with(plain, followed, resource), lists)
            }
        };
        let include = nodes.map(|nodes| {
            let branch = |node: &Node| {
                let below = Some(&*node.below).filter(|below| !below.is_empty());
                let (target, by) = match node.relation {
                    Relation::One(one) => (one.target, None),
                    Relation::Many(many) => (many.target, Some(many.position)),
                };
                let view = self.view(target, Shape::Detail, by, below);
                Branch { relation: node.relation, view }
            };
            nodes.iter().map(branch).collect()
        });
        View { shape, lists, include }
    }
}

impl Chosen {
    /// Adds the field of this name, and returns whether there is one.
    fn add(&mut self, name: &str, resource: &'static Resource, registry: Registry) -> bool {
        let hidden = resource.list.len() + resource.detail.len();
        let named = |of: Option<&str>| of == Some(name);
        let mut fields = resource.fields().enumerate();
        if name == resource.key && resource.shows_key {
            self.selection.key = true;
        } else if let Some(position) = resource.position(name).filter(|found| *found < hidden) {
            self.selection.attributes.insert(position);
        } else if let Some((position, _)) =
            fields.find(|(_, field)| named(field.relationship().map(|related| related.name)))
        {
            self.selection.relationships.insert(position);
        } else if let Some(many) =
            Many::of(resource, registry).find(|many| many.nested.segment == name)
        {
            if self.lists.iter().all(|known| known.nested.segment != name) {
                self.lists.push(many);
            }
        } else {
            return false;
        }
        true
    }
}

/// A shape with the relationships of further columns.
fn with(plain: Shape, followed: Positions, resource: &Resource) -> Shape {
    let read: Positions = plain.columns(resource).map(|(position, _)| position).collect();
    if read.with(followed) == read {
        return plain;
    }
    let shown = |position: &usize| plain.shows(*position, resource);
    let attributes = plain.columns(resource).map(|(position, _)| position).filter(shown).collect();
    let relationships = read.with(followed);
    let key = resource.shows_key;
    Shape::Selected(Selection { key, attributes, relationships, read: relationships })
}
