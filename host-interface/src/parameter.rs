//! The parameters that a plugin declares and a site may set: what values they take, and whether a
//! value is one of them. What a value means is the plugin's.

use std::cmp::Ordering;
use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A parameter that a site may set for a plugin.
///
/// ```
/// use host_interface::{Parameter, ParameterKind};
/// use serde_json::json;
///
/// let percent = Parameter::new("percent", ParameterKind::Decimal, "19", "What is added.")
///     .at_least(0)
///     .at_most("99.5");
/// assert!(percent.admits(&json!("99.50")));
/// assert!(!percent.admits(&json!("99.51")));
/// assert_eq!(percent.expectation().to_string(), "a decimal number in a string, from 0 to 99.5");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Parameter {
    /// The name: lower-case letters, digits and underscores.
    pub name: String,
    /// What values it takes.
    pub kind: ParameterKind,
    /// Its value if the site has set none.
    pub default: Value,
    /// What it is for, a sentence for administrators.
    pub description: String,
    /// What limits its values beyond their kind.
    #[serde(default)]
    pub limits: Limits,
}

/// What limits the values of a [`Parameter`] beyond their kind; by default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// The least number, in decimal digits. Of a list, the least member.
    pub least: Option<String>,
    /// The greatest number, in decimal digits. Of a list, the greatest member.
    pub greatest: Option<String>,
    /// The greatest number of characters of a text, or of members of a list.
    pub length: Option<usize>,
    /// The only texts that are valid; empty if any is.
    pub choices: Vec<String>,
}

impl Parameter {
    /// A parameter with its default.
    pub fn new(
        name: impl Into<String>,
        kind: ParameterKind,
        default: impl Into<Value>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            default: default.into(),
            description: description.into(),
            limits: Limits::default(),
        }
    }

    /// A secret, which is unset by default.
    pub fn secret(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, ParameterKind::Secret, Value::Null, description)
    }

    /// Sets the least number: an integer, or a decimal as text.
    pub fn at_least(mut self, least: impl Display) -> Self {
        self.limits.least = Some(least.to_string());
        self
    }

    /// Sets the greatest number: an integer, or a decimal as text.
    pub fn at_most(mut self, greatest: impl Display) -> Self {
        self.limits.greatest = Some(greatest.to_string());
        self
    }

    /// Sets the greatest number of characters of a text, or of members of a list.
    pub fn max_length(mut self, length: usize) -> Self {
        self.limits.length = Some(length);
        self
    }

    /// Names the only texts that are valid.
    pub fn one_of(mut self, choices: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.limits.choices = choices.into_iter().map(Into::into).collect();
        self
    }

    /// Whether a value is of the kind and within the limits.
    pub fn admits(&self, value: &Value) -> bool {
        self.kind.admits(value)
            && match value {
                Value::String(text) if self.kind == ParameterKind::Decimal => self.in_range(text),
                Value::String(text) => {
                    let choices = &self.limits.choices;
                    self.fits(text.chars().count())
                        && (choices.is_empty() || choices.contains(text))
                }
                Value::Array(members) => {
                    self.fits(members.len())
                        && members.iter().all(|member| self.in_range(&member.to_string()))
                }
                // A secret that is not set.
                Value::Null => true,
                number => self.in_range(&number.to_string()),
            }
    }

    /// What values it takes, in words for people, for example `a whole number, from 1 to 5`.
    pub fn expectation(&self) -> impl Display {
        Expectation(self)
    }

    fn fits(&self, length: usize) -> bool {
        self.limits.length.is_none_or(|greatest| length <= greatest)
    }

    fn in_range(&self, number: &str) -> bool {
        let beyond = |limit: &Option<String>, wrong: Ordering| match limit {
            None => false,
            Some(limit) => compare(number, limit).is_none_or(|order| order == wrong),
        };
        !beyond(&self.limits.least, Ordering::Less)
            && !beyond(&self.limits.greatest, Ordering::Greater)
    }
}

/// What a parameter expects, for messages.
struct Expectation<'a>(&'a Parameter);

impl Display for Expectation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Parameter { kind, limits, .. } = self.0;
        if !limits.choices.is_empty() {
            let choices: Vec<String> =
                limits.choices.iter().map(|choice| format!("{choice:?}")).collect();
            return write!(f, "one of {}", choices.join(", "));
        }
        f.write_str(kind.as_str())?;
        match (&limits.least, &limits.greatest) {
            (Some(least), Some(greatest)) => write!(f, ", from {least} to {greatest}")?,
            (Some(least), None) => write!(f, ", at least {least}")?,
            (None, Some(greatest)) => write!(f, ", at most {greatest}")?,
            (None, None) => {}
        }
        match (limits.length, kind) {
            (Some(length), ParameterKind::IntegerList) => write!(f, ", at most {length} of them"),
            (Some(length), _) => write!(f, " of at most {length} characters"),
            (None, _) => Ok(()),
        }
    }
}

/// The values that a [`Parameter`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ParameterKind {
    /// A string.
    Text,
    /// A whole number of 64 bits.
    Integer,
    /// 0 or 1.
    Flag,
    /// An exact decimal as a string.
    Decimal,
    /// A list of whole numbers.
    IntegerList,
    /// A text that nobody is shown once it is set, for example the key of another service: `null` while
    /// it is not set, which is its default. Neither the host nor the plugin shows or logs it, also not in
    /// the reason why [`Plugin::check_parameter`](crate::Plugin::check_parameter) refuses it.
    Secret,
}

impl ParameterKind {
    /// Whether a value is of this kind.
    ///
    /// ```
    /// use host_interface::ParameterKind;
    /// use serde_json::json;
    ///
    /// assert!(ParameterKind::IntegerList.admits(&json!([1, 2])));
    /// assert!(ParameterKind::Decimal.admits(&json!("0.25")));
    /// assert!(!ParameterKind::Flag.admits(&json!(2)));
    /// assert!(ParameterKind::Secret.admits(&json!(null)) && !ParameterKind::Secret.admits(&json!("")));
    /// ```
    pub fn admits(self, value: &Value) -> bool {
        match self {
            ParameterKind::Text => value.is_string(),
            ParameterKind::Integer => value.is_i64(),
            ParameterKind::Flag => matches!(value.as_i64(), Some(0 | 1)),
            ParameterKind::Decimal => value.as_str().and_then(decimal).is_some(),
            ParameterKind::IntegerList => {
                value.as_array().is_some_and(|members| members.iter().all(Value::is_i64))
            }
            ParameterKind::Secret => {
                value.is_null() || value.as_str().is_some_and(|text| !text.is_empty())
            }
        }
    }

    /// What the kind is called to people, for example `a whole number`.
    pub fn as_str(self) -> &'static str {
        match self {
            ParameterKind::Text => "a string",
            ParameterKind::Integer => "a whole number",
            ParameterKind::Flag => "0 or 1",
            ParameterKind::Decimal => "a decimal number in a string",
            ParameterKind::IntegerList => "a list of whole numbers",
            ParameterKind::Secret => "a non-empty secret text",
        }
    }
}

/// Compares two decimals exactly; `None` if one of the texts is not a decimal.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (decimal(one)?, decimal(other)?);
    let magnitudes = || {
        let whole = one.whole.len().cmp(&other.whole.len()).then(one.whole.cmp(other.whole));
        whole.then(one.fraction.cmp(other.fraction))
    };
    Some(match (one.negative, other.negative) {
        (false, false) => magnitudes(),
        (true, true) => magnitudes().reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    })
}

/// A decimal without the zeros that mean nothing, so that text compares as numbers do.
struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

fn decimal(text: &str) -> Option<Decimal<'_>> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let zero = whole.is_empty() && fraction.is_empty();
    Some(Decimal { negative: text.starts_with('-') && !zero, whole, fraction })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameter(kind: ParameterKind) -> Parameter {
        Parameter::new("name", kind, Value::Null, "")
    }

    #[test]
    fn decimals_are_compared_as_numbers_and_exactly() {
        let ascending =
            ["-10", "-9.5", "-0.1", "0", "0.09", "0.1", "0.5", "1", "9", "10.01", "10.1"];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                assert_eq!(compare(one, other), Some(at.cmp(&other_at)), "{one} and {other}");
            }
        }
        for (one, other) in [("0", "-0.00"), ("007", "7.0"), ("-1.50", "-1.5")] {
            assert_eq!(compare(one, other), Some(Ordering::Equal), "{one} and {other}");
        }
        let digits = "123456789012345678901234567890.000000000000000000000000000001";
        assert_eq!(compare(digits, &format!("{digits}1")), Some(Ordering::Less));
        for wrong in ["", "-", ".5", "5.", "+1", "1e3", "--1", "1.2.3", "٣"] {
            assert_eq!(compare(wrong, "1"), None, "{wrong}");
        }
    }

    #[test]
    fn limits_hold_at_their_edges() {
        let admits = |parameter: &Parameter, value: Value| parameter.admits(&value);
        let stars = parameter(ParameterKind::Integer).at_least(1).at_most(5);
        assert!(admits(&stars, json!(1)) && admits(&stars, json!(5)));
        assert!(!admits(&stars, json!(0)) && !admits(&stars, json!(6)));
        assert!(!admits(&stars, json!(i64::MIN)) && !admits(&stars, json!(i64::MAX)));

        let name = parameter(ParameterKind::Text).max_length(4);
        assert!(admits(&name, json!("")) && admits(&name, json!("öäüß")));
        assert!(!admits(&name, json!("abcde")));

        let days = parameter(ParameterKind::IntegerList).at_least(1).at_most(7).max_length(2);
        assert!(admits(&days, json!([])) && admits(&days, json!([7, 1])));
        assert!(!admits(&days, json!([0])) && !admits(&days, json!([1, 8])));
        assert!(!admits(&days, json!([1, 2, 3])));

        let place = parameter(ParameterKind::Text).one_of(["pre", "post"]);
        assert!(admits(&place, json!("post")));
        assert!(!admits(&place, json!("")) && !admits(&place, json!("Post")));
    }

    #[test]
    fn a_secret_is_a_text_within_its_limits_or_unset() {
        let key = Parameter::secret("key", "").max_length(4);
        assert!(key.admits(&key.default) && key.admits(&json!("öäüß")));
        for wrong in [json!(""), json!("abcde"), json!(1), json!(["a"])] {
            assert!(!key.admits(&wrong), "{wrong}");
        }
        let expected = "a non-empty secret text of at most 4 characters";
        assert_eq!(key.expectation().to_string(), expected);
        assert!(!parameter(ParameterKind::Text).admits(&Value::Null));
    }

    #[test]
    fn a_limit_that_is_no_number_admits_nothing() {
        assert!(!parameter(ParameterKind::Integer).at_least("few").admits(&json!(1)));
    }

    #[test]
    fn a_parameter_of_a_library_that_knows_no_limits_has_none() {
        let text = r#"{"name": "n", "kind": "text", "default": "", "description": ""}"#;
        let read = serde_json::from_str(text).map(|parameter: Parameter| parameter.limits);
        assert_eq!(read.ok(), Some(Limits::default()));
    }
}
