//! Drafts: the record that a body describes, checked against the resource. Checks that need the
//! database become queries.

use std::borrow::Cow;
use std::collections::HashSet;

use host_interface::Request;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::body::{self, Body};
use super::literal;
use super::names::unknown;
use crate::error::{Error, Fault, FaultKind, MAX_FAULTS};
use crate::model::field::{Access, Complaint, Field, Handle, Initial, Relationship, Typed};
use crate::model::question::Check;
use crate::model::record::Record;
use crate::model::registry::Registry;
use crate::model::resource::{Children, Resource, Unique};
use crate::model::value::{Kind, Value};

/// Whether a body creates a record or changes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Required fields must be given, and defaults fill the others.
    Create,
    /// Fields that are not given keep their values.
    Update,
}

/// How many children a body may have: more items than anyone buys at once.
pub const MAX_CHILDREN: usize = 1_000;

/// The record that a body describes, and its faults.
#[derive(Debug)]
pub struct Draft {
    resource: &'static Resource,
    /// One for each of the resource's fields; `None` if no valid value was given.
    values: Vec<Option<Value>>,
    intent: Intent,
    /// The JSON pointer of the object with the fields.
    at: Cow<'static, str>,
    /// The fields that a relationship sets, with its name.
    related: Vec<(&'static str, &'static str)>,
    /// The records that the body includes, in order; see [`Resource::children`].
    pub children: Vec<Draft>,
    /// All faults found so far.
    pub faults: Vec<Fault>,
}

impl Draft {
    /// Reads the body of a request that writes `resource`, with the id from the path if it has one.
    ///
    /// # Errors
    /// When a header declares anything but plain JSON, or when the body is not a JSON object with
    /// unique member names.
    pub fn sent(
        request: &Request,
        resource: &'static Resource,
        id: Option<i64>,
        intent: Intent,
    ) -> Result<Self, Error> {
        Ok(Draft::read(resource, &Body::read(request, resource, id)?, intent))
    }

    /// Reads a body against the resource. Faults are collected, not returned, so that all of them
    /// can be reported together.
    pub fn read(resource: &'static Resource, body: &Body<'_>, intent: Intent) -> Self {
        let values = vec![None; resource.fields().count()];
        let (at, faults) = (body.at.clone(), body.faults.clone());
        let (related, children) = (Vec::new(), Vec::new());
        let mut draft = Draft { resource, values, intent, at, related, children, faults };
        for (name, literal) in &body.members {
            let known = resource.position(name).filter(|_| !resource.is_internal(name));
            match known {
                Some(position) => draft.accept(position, literal),
                // A client may send back the key that it read.
                None if *name == resource.key && !resource.key.is_empty() => {}
                None if resource.children.is_some_and(|children| children.name == *name) => {
                    draft.read_children(name, literal);
                }
                None => draft.refuse_name(name),
            }
        }
        for (name, literal) in &body.relationships {
            draft.relate(name, literal, body);
        }
        if intent == Intent::Create {
            draft.complete(body);
            draft.refuse_empty_list(body);
        }
        draft
    }

    /// The resource of the record.
    pub fn resource(&self) -> &'static Resource {
        self.resource
    }

    /// The fields to write, with their values.
    pub fn changes(&self) -> impl Iterator<Item = (&Field, &Value)> + Clone {
        let own = |(field, _): &(&Field, _)| field.joined.is_none() && field.computed.is_none();
        let pairs = self.resource.fields().zip(&self.values).filter(own);
        pairs.filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// Keeps only the values that differ from those of the record to change, and sets the moment of
    /// the change if any do.
    pub fn retain_changes(&mut self, before: &Record) {
        for (given, before) in self.values.iter_mut().zip(before.values()) {
            given.take_if(|given| given == before);
        }
        self.touch();
    }

    /// Whether it leaves a record as it is: nothing is wrong with it, and all values that it gives are those of
    /// the record.
    pub fn leaves(&self, before: &Record) -> bool {
        let mut pairs = self.values.iter().zip(before.values());
        self.faults.is_empty()
            && self.children.is_empty()
            && pairs.all(|(given, before)| given.as_ref().is_none_or(|given| given == before))
    }

    /// Sets the moment of a change, if anything changes.
    pub fn touch(&mut self) {
        if self.values.iter().all(Option::is_none) {
            return;
        }
        for (position, field) in self.resource.fields().enumerate() {
            if field.access == Access::Touched {
                self.values[position] = Some(Value::now());
            }
        }
    }

    /// The record after the write: `before` with the changes applied.
    pub fn applied_to(&self, before: &Record) -> Record {
        let pairs = self.values.iter().zip(before.values());
        let values = pairs.map(|(given, before)| given.as_ref().unwrap_or(before).clone());
        Record::new(self.resource, before.key(), values.collect())
    }

    /// On a change, fills in the present values of the fields that do not change.
    pub fn fill_in(&mut self, after: &Record) {
        if self.changes().next().is_none() {
            return;
        }
        for (slot, value) in self.values.iter_mut().zip(after.values()) {
            slot.get_or_insert_with(|| value.clone());
        }
    }

    /// A new record with these values; fields without a valid value are unset.
    pub fn as_record(&self) -> Record {
        self.as_record_of(0)
    }

    /// The record with this key and these values; fields without a valid value are unset.
    pub fn as_record_of(&self, key: i64) -> Record {
        let values = self.values.iter().map(|value| value.clone().unwrap_or(Value::Null));
        Record::new(self.resource, key, values.collect())
    }

    /// The key that a body must contain if the store does not generate it; `None` if it is invalid.
    ///
    /// # Errors
    /// When the key is no number.
    pub fn required_key(&mut self, body: &Body<'_>) -> Result<Option<i64>, Error> {
        let name = self.resource.key;
        let given = body.members.iter().find(|(member, _)| member == name);
        match given.map(|(_, literal)| literal::read(Kind::Key(""), false, literal)) {
            Some(Ok(key)) => return key.int(name).map(Some),
            Some(Err(complaint)) => {
                self.fault_at(FaultKind::InvalidValue, name, format!("{name} {complaint}."));
            }
            None => {
                let detail = format!("{name} is required.");
                self.fault_at(FaultKind::MissingField, name, detail);
            }
        }
        Ok(None)
    }

    /// The checks of the resulting record that need the database.
    ///
    /// # Errors
    /// When a field depends on one that the record does not have.
    pub fn checks(&self, after: &Record, registry: Registry) -> Result<Vec<Check>, Error> {
        let given = |name: &str| {
            self.resource.position(name).is_some_and(|position| self.values[position].is_some())
        };
        let mut checks = Vec::new();
        for (field, value) in self.resource.fields().zip(after.values()) {
            let (kind, column) = match (field.kind, value) {
                (Kind::Key(_), Value::Int(0)) if field.zero_is_none => continue,
                (Kind::Key(kind), Value::Int(_)) => (kind, None),
                (Kind::Code { of, field: column, .. }, Value::Text(code)) if !code.is_empty() => {
                    (of, Some(column))
                }
                _ => continue,
            };
            let changed = given(field.name) || field.within.is_some_and(|[own, _]| given(own));
            let Some(target) = registry.find(kind).filter(|_| changed) else { continue };
            let within = match field.within {
                Some([own, theirs]) => Some((theirs, after.value(own)?.clone())),
                None => None,
            };
            let column = column.unwrap_or(target.key);
            checks.push(Check::Exists { field, target, column, value: value.clone(), within });
        }
        for unique in self.resource.unique {
            let changed = unique.fields.iter().any(|name| given(name));
            if changed && let Some(values) = after.unique(unique)? {
                let (resource, except) = (self.resource, after.key());
                checks.push(Check::Free { resource, unique, values, except });
            }
        }
        Ok(checks)
    }

    /// The host's users that the body refers to, each with its field.
    pub fn users(&self) -> impl Iterator<Item = (&'static Field, i64)> {
        let fields = self.resource.fields().zip(&self.values);
        fields.filter_map(|(field, value)| match (field.kind, value) {
            (Kind::User, Some(Value::Int(id))) if *id != 0 => Some((field, *id)),
            _ => None,
        })
    }

    /// Refuses users that the host does not have. A record keeps one that it had `before`, because the host may have
    /// removed the user since.
    pub fn refuse_strangers(&mut self, strangers: &HashSet<i64>, before: Option<&Record>) {
        let kept = |field: &Field, id| {
            let had = before.and_then(|before| before.value(field.name).ok());
            had.is_some_and(|had| *had == Value::Int(id))
        };
        let named = self.users().filter(|(field, id)| strangers.contains(id) && !kept(field, *id));
        for (field, id) in named.collect::<Vec<_>>() {
            let detail = format!("{}: there is no user with the id {id}.", field.name);
            self.fault_at(FaultKind::MissingReference, field.name, detail);
        }
    }

    /// The value that the body gives a field; `None` without a valid one.
    ///
    /// # Errors
    /// When the resource has no such field.
    pub fn given(&self, field: &Field) -> Result<Option<&Value>, Error> {
        Ok(self.values[self.position(field)?].as_ref())
    }

    /// The typed value that the body gives a field; also `None` where it is unset.
    ///
    /// # Errors
    /// When the resource has no such field, or one of another type.
    pub fn get<T: Typed>(&self, field: &Handle<T>) -> Result<Option<T::Read<'_>>, Error> {
        match self.given(field)? {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::read(value).map(Some).ok_or_else(|| self.resource.lacks(field.name)),
        }
    }

    /// The value of a field that must have one.
    ///
    /// # Errors
    /// When the resource has no such field, or one of another type, or it has no value.
    pub fn need<T: Typed>(&self, field: &Handle<T>) -> Result<T::Read<'_>, Error> {
        self.get(field)?.ok_or_else(|| self.resource.lacks(field.name))
    }

    /// Sets a field to a value that the store has derived.
    ///
    /// # Errors
    /// When the resource has no such field.
    pub fn set<T: Typed>(&mut self, field: &Handle<T>, value: T) -> Result<(), Error> {
        self.set_value(field, value.into_value())
    }

    /// Sets a field to a value that was read elsewhere.
    ///
    /// # Errors
    /// When the resource has no such field.
    pub fn set_value(&mut self, field: &Field, value: Value) -> Result<(), Error> {
        let position = self.position(field)?;
        self.values[position] = Some(field.kind.typed(value));
        Ok(())
    }

    fn position(&self, field: &Field) -> Result<usize, Error> {
        self.resource.position(field.name).ok_or_else(|| self.resource.lacks(field.name))
    }

    /// Adds the fault that the value of a field is not acceptable.
    pub fn refuse(&mut self, field: &Field, detail: impl Into<String>) {
        self.fault_at(FaultKind::InvalidValue, field.name, detail);
    }

    /// Adds a fault in a member of the body.
    pub fn fault_at(&mut self, kind: FaultKind, name: &str, detail: impl Into<String>) {
        let fault = self.fault(kind, name, detail.into());
        self.report(fault);
    }

    /// Adds a fault in a member of the body, with a number for programs, a list of them, or an object.
    pub fn fault_with(
        &mut self,
        kind: FaultKind,
        name: &str,
        detail: impl Into<String>,
        meta: (&'static str, impl Into<Json>),
    ) {
        let fault = self.fault(kind, name, detail.into()).with_meta(meta.0, meta.1);
        self.report(fault);
    }

    /// Adds the complaints of the resource's own rules about the resulting record, except about
    /// fields that already have a fault.
    pub fn complain(&mut self, complaints: Vec<Complaint>) {
        for (name, detail) in complaints {
            let fault = self.fault(FaultKind::InvalidValue, name, detail);
            if self.faults.iter().all(|known| known.source != fault.source) {
                self.report(fault);
            }
        }
    }

    /// Removes and returns all faults, including those of the children.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        let mut faults = std::mem::take(&mut self.faults);
        for child in &mut self.children {
            faults.extend(child.take_faults());
        }
        faults
    }

    /// Adds the faults that the database has found; `passed` has one answer for each check.
    pub fn apply_results(&mut self, checks: &[Check], passed: &[bool]) {
        for (check, _) in checks.iter().zip(passed).filter(|(_, passed)| !**passed) {
            let fault = match check {
                Check::Exists { field, target, column, value, within } => {
                    let place = within.as_ref().map_or_else(String::new, |(column, value)| {
                        format!(" and the {column} {value}")
                    });
                    let known_by = if *column == target.key { "id" } else { *column };
                    let detail = format!(
                        "{}: there is no {} with the {known_by} {value}{place}.",
                        field.name, target.singular
                    );
                    self.fault(FaultKind::MissingReference, field.name, detail)
                }
                Check::Free { unique, .. } => self.duplicate(unique),
            };
            self.report(fault);
        }
    }

    /// The fault of a record whose unique values another record already has.
    pub fn duplicate(&self, unique: &Unique) -> Fault {
        let names = unique.fields.join(" and ");
        let first = unique.fields.first().copied().unwrap_or_default();
        let detail = format!("Another {} already has this {names}.", self.resource.singular);
        self.fault(FaultKind::Duplicate, first, detail)
    }

    fn accept(&mut self, position: usize, literal: &RawValue) {
        let Some(field) = self.resource.fields().nth(position) else { return };
        if !self.may_set(field) {
            return;
        }
        match literal::read(field.kind, field.nullable, literal) {
            Ok(value) if field.required && value.is_blank() => {
                self.refuse(field, format!("{} must not be empty.", field.name));
            }
            Ok(value) => self.values[position] = Some(value),
            Err(complaint) => self.refuse(field, format!("{} {complaint}.", field.name)),
        }
    }

    /// Reads the records that a body includes.
    fn read_children(&mut self, name: &str, literal: &RawValue) {
        let Some(Children { of, .. }) = self.resource.children else { return };
        if self.intent == Intent::Update {
            let singular = self.resource.singular;
            let detail = format!("{name} can be given only when the {singular} is created.");
            return self.fault_at(FaultKind::Refused, name, detail);
        }
        let Ok(members) = serde_json::from_str::<Vec<&RawValue>>(literal.get()) else {
            let detail = format!("{name} must be a list of objects.");
            return self.fault_at(FaultKind::InvalidValue, name, detail);
        };
        if members.len() > MAX_CHILDREN {
            let detail = format!("{name} must have at most {MAX_CHILDREN} items.");
            return self.fault_at(FaultKind::InvalidValue, name, detail);
        }
        let mut found = self.faults.len();
        for (position, member) in members.into_iter().enumerate() {
            // Faults beyond the limit would not be reported, so the rest is skipped.
            if found > MAX_FAULTS {
                break;
            }
            let at = format!("{}/{name}/{position}", self.at);
            if !member.get().starts_with('{') {
                let detail = format!("{name} must be a list of objects.");
                self.report(Fault::at_pointer(FaultKind::InvalidValue, at, detail));
                found += 1;
                continue;
            }
            match Body::within(member, at) {
                Ok(body) => {
                    let draft = Draft::read(of, &body, Intent::Create);
                    found += draft.faults.len();
                    self.children.push(draft);
                }
                Err(fault) => {
                    self.report(fault);
                    found += 1;
                }
            }
        }
    }

    /// Sets a key from the record that a relationship identifies. If the body contains the key as
    /// well, both must agree.
    fn relate(&mut self, name: &str, literal: &RawValue, body: &Body<'_>) {
        let pointer = || format!("/data/relationships/{}", escaped(name));
        let relationships = || {
            let fields = self.resource.fields().enumerate();
            fields.filter_map(|(position, field)| Some((position, field, field.relationship()?)))
        };
        let named = relationships().find(|(.., relationship)| relationship.name == name);
        let Some((position, field, relationship)) = named else {
            let known = relationships().map(|(.., relationship)| relationship.name);
            let detail = unknown("relationship", name, self.resource.kind, known);
            return self.report(Fault::at_pointer(FaultKind::UnknownField, pointer(), detail));
        };
        let value = match related(field, relationship, literal) {
            Ok(value) => value,
            Err(complaint) => {
                let detail = format!("{name} {complaint}.");
                return self.report(Fault::at_pointer(FaultKind::InvalidValue, pointer(), detail));
            }
        };
        if !self.may_set(field) {
            return;
        }
        match &self.values[position] {
            None if !body.has(field.name) => {
                self.values[position] = Some(value);
                self.related.push((field.name, relationship.name));
            }
            Some(given) if *given != value => {
                let detail = format!("{name} and {} refer to different records.", field.name);
                self.report(Fault::at_pointer(FaultKind::InvalidValue, pointer(), detail));
            }
            _ => {}
        }
    }

    fn refuse_name(&mut self, name: &str) {
        // A suggestion is not needed for a fault that will not be reported.
        if self.faults.len() > MAX_FAULTS {
            return;
        }
        let children = self.resource.children.map(|children| children.name);
        let open = self.resource.fields().map(|field| field.name);
        let known = open.filter(|name| !self.resource.is_internal(name)).chain(children);
        let detail = unknown("field", name, self.resource.kind, known);
        self.fault_at(FaultKind::UnknownField, name, detail);
    }

    /// Reports the required fields that a new record lacks, and fills in defaults.
    fn complete(&mut self, body: &Body<'_>) {
        for (position, field) in self.resource.fields().enumerate() {
            // A value that was given but invalid has been reported already.
            let given = || {
                let relationship = field.relationship();
                body.has(field.name) || relationship.is_some_and(|named| body.relates(named.name))
            };
            if self.values[position].is_some() || (self.may_set(field) && given()) {
                continue;
            }
            if field.required {
                let detail = format!("{} is required.", field.name);
                self.fault_at(FaultKind::MissingField, field.name, detail);
                continue;
            }
            let value = match field.initial {
                Initial::Derived => continue,
                Initial::Unset => Value::Null,
                Initial::Int(number) => Value::Int(number),
                Initial::Text(text) => Value::Text(text.to_owned()),
                Initial::Now => Value::now(),
            };
            self.values[position] = Some(field.kind.typed(value));
        }
    }

    /// Reports a list of children that must not be empty. One that is none, or has none that can be read, has been
    /// reported already.
    fn refuse_empty_list(&mut self, body: &Body<'_>) {
        let Some(Children { name, if_empty: Some(detail), .. }) = self.resource.children else {
            return;
        };
        if body.has(name) && self.children.is_empty() && self.faults.is_empty() {
            self.fault_at(FaultKind::InvalidValue, name, detail);
        }
    }

    fn may_set(&self, field: &Field) -> bool {
        match field.access {
            Access::Open => true,
            Access::Once => self.intent == Intent::Create,
            Access::ReadOnly | Access::Touched => false,
        }
    }

    fn fault(&self, kind: FaultKind, name: &str, detail: String) -> Fault {
        let pointer = match self.related.iter().find(|(field, _)| *field == name) {
            Some((_, relationship)) => format!("/data/relationships/{relationship}"),
            None => format!("{}/{}", self.at, escaped(name)),
        };
        Fault::at_pointer(kind, pointer, detail)
    }

    /// Adds a fault. At most one more is kept than is reported, in addition to those that determine
    /// the status.
    fn report(&mut self, fault: Fault) {
        if self.faults.len() <= MAX_FAULTS || fault.kind == FaultKind::MissingField {
            self.faults.push(fault);
        }
    }
}

/// A name escaped for a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The value for the field of a relationship. An error completes a sentence that begins with the
/// relationship's name.
fn related(
    field: &Field,
    relationship: Relationship,
    literal: &RawValue,
) -> Result<Value, Cow<'static, str>> {
    let Some(named) = body::linkage(literal)? else {
        return match (field.zero_is_none, field.nullable) {
            (true, _) => Ok(Value::Int(0)),
            (false, true) => Ok(Value::Null),
            (false, false) => Err("cannot be unset".into()),
        };
    };
    if named.kind != relationship.kind {
        return Err(format!("must have the type {:?}", relationship.kind).into());
    }
    match literal::read(field.kind, false, named.id) {
        Ok(Value::Int(0)) if field.zero_is_none => Err("must have the id of a record".into()),
        Ok(value) => Ok(value),
        Err(complaint) => Err(format!("has an invalid id: it {complaint}").into()),
    }
}
