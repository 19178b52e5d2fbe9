//! The parts that lines name, such as the items of orders. A record is created with its parts; a line about one that
//! exists may repeat them, as exports have them, but not change them. Knows nothing of how records are written.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::error::{Error, Fault, FaultKind};
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::Resource;
use crate::model::table::Parts;
use crate::model::value::Value;
use crate::service::write::Write;
use crate::wire::body::{Body, LineMember};
use crate::wire::draft::{Draft, Intent};

/// The parts of records that exist.
pub(super) struct PresentParts {
    resource: &'static Resource,
    /// The parts that files have; `None` if the records have no such.
    parts: Option<Parts>,
    present: HashMap<i64, Vec<Record>>,
}

impl PresentParts {
    /// None yet, of the records of a resource.
    pub(super) fn of(resource: &'static Resource) -> Self {
        Self { resource, parts: Parts::of(resource), present: HashMap::new() }
    }

    /// Reads the parts of these records in the order of their keys.
    pub(super) async fn read(
        &mut self,
        wholes: Vec<i64>,
        write: &mut Write<'_>,
    ) -> Result<(), Error> {
        let Some(Parts { children, by, .. }) = &self.parts else { return Ok(()) };
        if wholes.is_empty() {
            return Ok(());
        }
        self.present.extend(wholes.iter().map(|whole| (*whole, Vec::new())));
        let page = Page::of_all(children.of, Condition::among(by, &wholes));
        let cells = write.transaction.page(&page).await?;
        for part in cells.records(children.of)? {
            if let Value::Int(whole) = part.value(by)? {
                self.present.entry(*whole).or_default().push(part);
            }
        }
        Ok(())
    }

    /// Whether the parts of a record were read.
    pub(super) fn knows(&self, whole: i64) -> bool {
        self.present.contains_key(&whole)
    }

    /// Whether a line names its parts.
    pub(super) fn are_in(&self, members: &[LineMember]) -> bool {
        let name = self.parts.as_ref().map(|parts| parts.children.name);
        name.is_some_and(|name| members.iter().any(|(member, _)| member == name))
    }

    /// Takes the parts out of a line about a record that exists. Returns what is wrong if they are not those that it
    /// has.
    pub(super) fn take(&self, whole: i64, members: &mut Vec<LineMember>) -> Option<Fault> {
        let children = self.parts.as_ref()?.children;
        let position = members.iter().position(|(name, _)| name == children.name)?;
        let (name, literal) = members.swap_remove(position);
        let present = self.present.get(&whole).map(Vec::as_slice).unwrap_or_default();
        if are(&literal, children.of, present) {
            return None;
        }
        let singular = self.resource.singular;
        let detail = format!(
            "{name} can be given only when the {singular} is created, and these are not the ones that it has."
        );
        Some(Fault::at_pointer(FaultKind::Refused, format!("/{name}"), detail))
    }
}

/// Whether a list of objects has the values of these records, in their order.
fn are(literal: &RawValue, resource: &'static Resource, present: &[Record]) -> bool {
    let Ok(sent) = serde_json::from_str::<Vec<&RawValue>>(literal.get()) else { return false };
    let mut pairs = sent.iter().zip(present);
    sent.len() == present.len()
        && pairs.all(|(sent, present)| {
            Body::within(sent, String::new())
                .is_ok_and(|body| Draft::read(resource, &body, Intent::Update).leaves(present))
        })
}
