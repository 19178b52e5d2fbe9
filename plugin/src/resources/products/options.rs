//! Options: what the variants of one product differ by, such as size and colour. Each variant beside the master
//! names the same ones, and no two have the same values.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::catalogue::{OPTIONS, OPTIONS_KEY};
use crate::error::{Error, FaultKind};
use crate::model::options::{digest, folded};
use crate::model::record::Record;
use crate::wire::draft::Draft;

/// How many options a variant has at most.
const MOST: usize = 5;
/// The greatest length of a name and of a value, in characters.
const LONGEST: usize = 64;

/// Checks the options that a draft gives a variant, beside these others of its product.
pub(super) fn check(draft: &mut Draft, others: &[Record]) -> Result<(), Error> {
    let Some(given) = draft.given(&OPTIONS)? else { return Ok(()) };
    let given = match read(given.text(OPTIONS.name)?)? {
        Ok(given) => given,
        Err(complaint) => {
            draft.refuse(&OPTIONS, complaint);
            return Ok(());
        }
    };
    let key = digest(&given);
    let mut first = None;
    for other in others {
        // One that is older than its options has none, and one that is refused has no valid ones.
        let Some(known) = other.get(&OPTIONS_KEY)?.filter(|known| !known.is_empty()) else {
            continue;
        };
        if known == key {
            let detail = format!("The variant {} already has these options.", other.key());
            draft.fault_at(FaultKind::Duplicate, OPTIONS.name, detail);
            return Ok(());
        }
        first = first.or(Some(other));
    }
    // All others name the same options, so one of them is enough.
    let Some(first) = first else { return draft.set(&OPTIONS_KEY, key) };
    let known = of(first)?;
    let named = |options: &[(String, String)]| {
        options.iter().map(|(name, _)| folded(name)).collect::<BTreeSet<String>>()
    };
    if named(&known) != named(&given) {
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        let detail = format!(
            "The variants of a product name the same options, here {}.",
            names.join(" and ")
        );
        draft.refuse(&OPTIONS, detail);
        return Ok(());
    }
    draft.set(&OPTIONS_KEY, key)
}

/// Checks that the new variants of one body do not have the same options, and name the same ones.
pub(super) fn check_all(drafts: &mut [Draft]) -> Result<(), Error> {
    let mut earlier: Vec<Record> = Vec::new();
    for draft in drafts {
        check(draft, &earlier)?;
        earlier.push(draft.as_record());
    }
    Ok(())
}

fn of(variant: &Record) -> Result<Vec<(String, String)>, Error> {
    let text = variant.value(OPTIONS.name)?.text(OPTIONS.name)?;
    Ok(read(text)?.unwrap_or_default())
}

/// The options in the text of an object, in its order. A complaint is a sentence.
fn read(text: &str) -> Result<Result<Vec<(String, String)>, String>, Error> {
    let members: Map<String, Json> = serde_json::from_str(text)?;
    if !(1..=MOST).contains(&members.len()) {
        return Ok(Err(format!("A variant has 1 to {MOST} options.")));
    }
    let names: BTreeSet<String> = members.keys().map(folded).collect();
    if names.len() < members.len() {
        return Ok(Err("Two options have the same name.".to_owned()));
    }
    let mut options = Vec::new();
    for (name, value) in members {
        let Json::String(value) = value else {
            return Ok(Err(format!("The value of {name:?} must be a string.")));
        };
        for text in [&name, &value] {
            if text.trim().is_empty() || text.chars().count() > LONGEST {
                let detail = format!("A name and a value have 1 to {LONGEST} characters.");
                return Ok(Err(detail));
            }
        }
        options.push((name, value));
    }
    Ok(Ok(options))
}
