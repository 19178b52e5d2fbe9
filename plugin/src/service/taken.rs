//! Unique values that count as taken although no record has them: those of records that a dry run has made and undone.
//! Knows nothing of files.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use crate::model::question::Check;
use crate::model::resource::{Resource, Unique};
use crate::model::value::{Value, fold};

/// The values, as digests, each with the key of the record that has them; 0 for one that is not there any more.
#[derive(Clone, Debug, Default)]
pub struct Taken(HashMap<u64, i64>);

impl Taken {
    /// Adds the values of a unique group, by their digest, unless there are this many already.
    pub fn add(&mut self, digest: u64, owner: i64, at_most: usize) {
        if self.0.len() < at_most {
            self.0.insert(digest, owner);
        }
    }

    /// Whether a check passes as far as it is about these values.
    pub fn passes(&self, check: &Check) -> bool {
        let Check::Free { resource, unique, values, except } = check else { return true };
        let owner = self.0.get(&digest_of(resource, unique, values));
        owner.is_none_or(|owner| *owner != 0 && owner == except)
    }
}

/// The digest of the values of a unique group.
pub fn digest_of(resource: &Resource, unique: &Unique, values: &[Value]) -> u64 {
    let compared = values.iter().map(|value| match value {
        Value::Text(text) if unique.any_case => Value::Text(fold(text)),
        value => value.clone(),
    });
    digest(&(resource.kind, unique.fields, compared.collect::<Vec<_>>()))
}

/// A digest that holds while the program runs.
pub fn digest(of: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(of)
}
