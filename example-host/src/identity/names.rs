//! The rule for names of users and groups.

use crate::base::error::Error;

/// The trimmed name, if it is acceptable. It must fit into a tab-separated line.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_into_a_line() {
        assert_eq!(name_of("A name", " Ann ").ok(), Some("Ann"));
        assert!(name_of("A name", &"ö".repeat(150)).is_ok());
        for unacceptable in ["", "  ", "a\tb", "a\u{85}b", &"ö".repeat(151)] {
            assert!(name_of("A name", unacceptable).is_err(), "{unacceptable:?}");
        }
    }
}
