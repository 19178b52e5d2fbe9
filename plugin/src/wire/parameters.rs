//! Parameters of a query that a route has for itself, beside those of the families of JSON:API. Independent of
//! what they mean.

use std::borrow::Cow;

use super::request::decode;
use crate::error::{Fault, FaultKind};

/// The values of these parameters that a route has for itself, each `None` if it is not sent.
pub(super) fn own_parameters<'a, const N: usize>(
    query: &'a str,
    names: [&str; N],
    faults: &mut Vec<Fault>,
) -> [Option<Cow<'a, str>>; N] {
    let mut values = [const { None }; N];
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let position = decode(name).and_then(|name| names.iter().position(|own| *own == name));
        let Some(position) = position else { continue };
        let name = names[position];
        match (decode(value), &values[position]) {
            (Some(value), None) => values[position] = Some(value),
            (None, _) => {
                let detail = format!("{name} must be UTF-8 text.");
                faults.push(Fault::at_parameter(FaultKind::InvalidParameter, name, detail));
            }
            (_, Some(_)) => {
                let detail = format!("{name} is given more than once.");
                faults.push(Fault::at_parameter(FaultKind::RepeatedParameter, name, detail));
            }
        }
    }
    values
}

/// Reads a switch: 1 for on, 0 or nothing for off.
pub(super) fn switch(name: &str, value: Option<&str>) -> Result<bool, Fault> {
    match value {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => {
            let detail = format!("{name} must be 0 or 1.");
            Err(Fault::at_parameter(FaultKind::InvalidParameter, name, detail))
        }
    }
}

/// Reads one of several words; nothing is the first.
pub(super) fn word<'w>(
    name: &str,
    value: Option<&str>,
    words: &[&'w str],
) -> Result<&'w str, Fault> {
    let known = words.iter().find(|word| value.is_none_or(|value| value == **word));
    known.copied().ok_or_else(|| {
        let detail = format!("{name} must be one of {}.", words.join(", "));
        Fault::at_parameter(FaultKind::InvalidParameter, name, detail)
    })
}
