//! What the record of a line is known by: the unique text or the primary key on the line. Knows nothing of the records
//! that exist.

use super::names::text_of;
use super::undone::Compared;
use crate::error::{Fault, FaultKind};
use crate::model::value::{Kind, Value};
use crate::wire::body::LineMember;
use crate::wire::importing::{Import, Key, Mode};
use crate::wire::literal;

/// What a record is known by.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// As the client has sent it.
    pub(super) shown: String,
    /// In the form in which it is compared.
    pub(super) compared: Compared,
}

impl Known {
    /// What the record of a line is known by: where its unique text is not given, its primary key, as products without
    /// an SKU come from an export.
    pub(super) fn of(members: &[LineMember], import: &Import) -> Option<Self> {
        if let Key::Unique { field, .. } = import.key {
            let text = given(members, field.name).and_then(|literal| {
                match literal::read(field.kind, false, literal) {
                    Ok(Value::Text(text)) => Some(text),
                    // The draft reports what is wrong with it. No text of PostgreSQL has a NUL.
                    _ => text_of(literal).map(|text| text.replace('\0', "\u{fffd}")),
                }
            });
            if let Some(shown) = text.filter(|text| !text.trim().is_empty()) {
                let compared = Compared::Text(import.key.folded(&shown));
                return Some(Self { shown, compared });
            }
            if import.mode == Mode::Create {
                return None;
            }
        }
        match literal::read(Kind::Key(""), false, given(members, import.resource.key)?) {
            Ok(Value::Int(key)) => {
                Some(Self { shown: key.to_string(), compared: Compared::Id(key) })
            }
            _ => None,
        }
    }
}

/// Why nothing is known of the record of a line: what would identify it is missing, or no value of its kind.
pub(super) fn unknown(members: &[LineMember], import: &Import) -> Fault {
    let (name, kind) = match import.key {
        Key::Unique { field, .. } => (field.name, field.kind),
        Key::Id => (import.resource.key, Kind::Key("")),
    };
    let sent = given(members, name).filter(|literal| literal.get() != "null");
    let complaint = sent.and_then(|literal| literal::read(kind, false, literal).err());
    let (kind, detail) = match complaint {
        Some(complaint) => (FaultKind::InvalidValue, format!("{name} {complaint}.")),
        None => (FaultKind::MissingField, format!("{name} is required: records are found by it.")),
    };
    Fault::at_pointer(kind, format!("/{name}"), detail)
}

fn given<'m>(members: &'m [LineMember], name: &str) -> Option<&'m serde_json::value::RawValue> {
    members.iter().find(|(member, _)| member == name).map(|(_, literal)| &**literal)
}
