//! What users and groups may be called. Knows neither of them.

use crate::base::error::Error;

/// A name that fits into a tab-separated line, trimmed.
pub(crate) fn name_of<'a>(what: &str, name: &'a str) -> Result<&'a str, Error> {
    let name = name.trim();
    let acceptable = (1..=150).contains(&name.chars().count());
    if !acceptable || name.chars().any(char::is_control) {
        return Err(Error::Invalid(format!(
            "{what} must be 1 to 150 characters without control characters, not {name:?}"
        )));
    }
    Ok(name)
}
