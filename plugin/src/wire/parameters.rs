//! Parameters of a query that a route has for itself, beside those of the families of JSON:API. Independent of
//! what they mean.

use std::borrow::Cow;

use super::request::{decode, invalid};
use crate::error::{Fault, FaultKind};

/// The parameters that a route has for itself. One that cannot be read is a fault, and has its default.
pub(super) struct OwnParameters<'a, const N: usize> {
    names: [&'static str; N],
    values: [Option<Cow<'a, str>>; N],
    /// The faults so far.
    pub(super) faults: Vec<Fault>,
}

impl<'a, const N: usize> OwnParameters<'a, N> {
    /// Finds the parameters with these names, and adds their faults to the others of the request.
    pub(super) fn read(query: &'a str, names: [&'static str; N], faults: Vec<Fault>) -> Self {
        let mut own = Self { names, values: [const { None }; N], faults };
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let position = decode(name).and_then(|name| names.iter().position(|of| *of == name));
            let Some(position) = position else { continue };
            let name = names[position];
            match (decode(value), &own.values[position]) {
                (Some(value), None) => own.values[position] = Some(value),
                (None, _) => own.refuse(name, format!("{name} must be UTF-8 text.")),
                (_, Some(_)) => {
                    let kind = FaultKind::RepeatedParameter;
                    let detail = format!("{name} is given more than once.");
                    own.faults.push(Fault::at_parameter(kind, name, detail));
                }
            }
        }
        own
    }

    /// The text of a parameter; `None` if it is not sent.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let position = self.names.iter().position(|of| *of == name)?;
        self.values[position].as_deref()
    }

    /// A switch: 1 for on, 0 or nothing for off.
    pub(super) fn switch(&mut self, name: &str) -> bool {
        match self.text(name) {
            None | Some("0") => false,
            Some("1") => true,
            Some(_) => {
                self.refuse(name, format!("{name} must be 0 or 1."));
                false
            }
        }
    }

    /// One of several words; nothing is the first.
    pub(super) fn word<'w>(&mut self, name: &str, words: &[&'w str]) -> &'w str {
        let sent = self.text(name);
        let known = words.iter().find(|word| sent.is_none_or(|sent| sent == **word)).copied();
        if known.is_none() {
            self.refuse(name, format!("{name} must be one of {}.", words.join(", ")));
        }
        known.or(words.first().copied()).unwrap_or_default()
    }

    /// Adds the fault that a parameter is not acceptable.
    pub(super) fn refuse(&mut self, name: &str, detail: String) {
        self.faults.push(invalid(name, detail));
    }
}
