//! The filter of a list by the keys of its records. It does not know which records there are.

use std::collections::BTreeSet;

use crate::error::{Fault, FaultKind};
use crate::model::value::Value;

/// The filter, with keys that are separated by commas.
pub const IDS: &str = "filter[id]";
/// How many keys it has at most.
pub const MAX_IDS: usize = 100;
/// How many digits a key has at most: each number of so many fits into 64 bits.
pub const DIGITS: usize = 18;

/// The keys in the value of the filter, each once; `None` if it is empty.
pub(super) fn read(value: &str) -> Result<Option<Vec<Value>>, Fault> {
    if value.is_empty() {
        return Ok(None);
    }
    let key = |text: &str| {
        let digits = text.len() <= DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().ok()).flatten()
    };
    let keys = value.split(',').map(key).collect::<Option<Vec<i64>>>();
    let keys = keys.filter(|keys| keys.len() <= MAX_IDS).ok_or_else(|| {
        let detail = format!("{IDS} must be up to {MAX_IDS} keys, separated by commas.");
        Fault::at_parameter(FaultKind::InvalidFilter, IDS, detail)
    })?;
    let keys: BTreeSet<i64> = keys.into_iter().collect();
    Ok(Some(keys.into_iter().map(Value::Int).collect()))
}
