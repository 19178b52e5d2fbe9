//! Options, by which the variants of a product differ, in the form in which they are compared: in any case and
//! order. Independent of the rules for them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::value::fold;
use crate::error::Error;

/// The digest of options, which are names with values: equal for options that count as equal.
pub fn digest<T: AsRef<str>>(options: &[(T, T)]) -> String {
    let sorted: BTreeMap<String, String> =
        options.iter().map(|(name, value)| (folded(name), folded(value))).collect();
    let sum = sorted.iter().fold(Sha256::new(), |sum, (name, value)| {
        // No text has this character.
        sum.chain_update(name).chain_update("\0").chain_update(value).chain_update("\0")
    });
    hex::encode(sum.finalize())
}

/// The name of a variant as people write it: that of the product, and the values of the options, which are the text
/// of a JSON object.
///
/// # Errors
/// When the options cannot be read.
pub fn named(product: &str, options: &str) -> Result<String, Error> {
    let options: Map<String, Json> = serde_json::from_str(options)?;
    let values = options.values().filter_map(Json::as_str);
    Ok([product].into_iter().chain(values).collect::<Vec<_>>().join(", "))
}

/// A name or a value as it is compared.
pub fn folded(text: impl AsRef<str>) -> String {
    fold(text.as_ref().trim())
}
