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
#[derive(Default)]
pub(super) struct PresentParts(HashMap<i64, Vec<Record>>);

impl PresentParts {
    /// Reads the parts of these records in the order of their keys.
    pub(super) async fn read(
        &mut self,
        resource: &'static Resource,
        wholes: Vec<i64>,
        write: &mut Write<'_>,
    ) -> Result<(), Error> {
        let Some(Parts { children, by, .. }) = Parts::of(resource) else { return Ok(()) };
        if wholes.is_empty() {
            return Ok(());
        }
        self.0.extend(wholes.iter().map(|whole| (*whole, Vec::new())));
        let page = Page::of_the(children.of, Condition::Among(by, wholes));
        let cells = write.transaction.page(&Page { limit: i64::MAX, ..page }).await?;
        for part in cells.records(children.of)? {
            if let Value::Int(whole) = part.value(by)? {
                self.0.entry(*whole).or_default().push(part);
            }
        }
        Ok(())
    }

    /// Whether the parts of a record were read.
    pub(super) fn knows(&self, whole: i64) -> bool {
        self.0.contains_key(&whole)
    }

    /// Takes the parts out of a line about a record that exists. Returns what is wrong if they are not those that it
    /// has.
    pub(super) fn take(
        &self,
        resource: &Resource,
        whole: i64,
        members: &mut Vec<LineMember>,
    ) -> Option<Fault> {
        let children = resource.children?;
        let position = members.iter().position(|(name, _)| name == children.name)?;
        let (name, literal) = members.swap_remove(position);
        let present = self.0.get(&whole).map(Vec::as_slice).unwrap_or_default();
        if are(&literal, children.of, present) {
            return None;
        }
        let singular = resource.singular;
        let detail = format!(
            "{name} can be given only when the {singular} is created, and these are not the ones that it has."
        );
        Some(Fault::at_pointer(FaultKind::Refused, format!("/{name}"), detail))
    }
}

/// Whether a line names its parts.
pub(super) fn has_parts(resource: &Resource, members: &[LineMember]) -> bool {
    let name = resource.children.map(|children| children.name);
    name.is_some_and(|name| members.iter().any(|(member, _)| member == name))
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
