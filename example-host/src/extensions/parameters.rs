//! The parameters that extensions declare and a site may set. A value is checked against the
//! declaration and then by the extension, which defines what it means. A secret leaves this file only
//! for its extension and for the database.

use host_interface::{Description, LoadedPlugin, Parameter, ParameterKind};
use serde_json::Value;

use crate::base::error::Error;
use crate::base::text::one_line;
use crate::database::{Connection, sql};

/// A parameter with its effective value.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterEntry {
    /// The extension that declares it.
    pub extension: String,
    /// Its name.
    pub name: String,
    /// Whether another extension has a parameter of the same name, so that the name is ambiguous.
    pub shared: bool,
    /// The effective value; `null` for a secret, whether or not it is set.
    pub value: Value,
    /// Whether it is a secret.
    pub secret: bool,
    /// Whether the site has set it; otherwise the value is the extension's default.
    pub set: bool,
    /// Its purpose.
    pub description: String,
}

impl ParameterEntry {
    /// The unambiguous name: the name of the parameter, with that of its extension and a slash
    /// before it if several extensions have a parameter of that name.
    pub fn full_name(&self) -> String {
        if self.shared { full_name(&self.extension, &self.name) } else { self.name.clone() }
    }
}

/// The parameters of all loaded extensions, in the order of declaration.
pub(crate) fn entries(descriptions: &[Description], values: &Parameters) -> Vec<ParameterEntry> {
    let has = |of: &Description, name: &str| of.parameters.iter().any(|one| one.name == name);
    let entry = |extension: &str, parameter: &Parameter| {
        let set = values.set(extension, &parameter.name);
        let secret = parameter.kind == ParameterKind::Secret;
        let shown = set.filter(|_| !secret).unwrap_or(&parameter.default);
        ParameterEntry {
            extension: extension.to_owned(),
            name: parameter.name.clone(),
            shared: descriptions.iter().filter(|of| has(of, &parameter.name)).count() > 1,
            value: shown.clone(),
            secret,
            set: set.is_some(),
            description: parameter.description.clone(),
        }
    };
    descriptions
        .iter()
        .flat_map(|of| of.parameters.iter().map(|parameter| entry(&of.name, parameter)))
        .collect()
}

/// The name of a parameter with that of its extension, which never contains a slash.
pub(crate) fn full_name(extension: &str, name: &str) -> String {
    format!("{extension}/{name}")
}

/// The value of text that a user entered. Text that is not of the kind stays text, which the check
/// of the value then refuses.
pub(crate) fn entered(kind: ParameterKind, text: &str) -> Value {
    let number = |text: &str| text.trim().parse::<i64>().ok().map(Value::from);
    let read = match kind {
        ParameterKind::Integer | ParameterKind::Flag => number(text),
        ParameterKind::Decimal => Some(Value::from(text.trim())),
        ParameterKind::IntegerList => {
            let members = text.split(|c: char| c == ',' || c.is_whitespace());
            members.filter(|member| !member.is_empty()).map(number).collect()
        }
        // Text, and kinds of later versions of the contract.
        _ => None,
    };
    read.unwrap_or_else(|| Value::from(text))
}

/// Why a parameter may not have a value.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// It is not of the declared form, which is given here.
    Kind(String),
    /// The extension refused it for this reason.
    Refused(String),
}

/// Why a parameter of a loaded extension may not have this value; no value means the default. What is
/// returned never contains a secret, whatever the extension returns.
pub(crate) async fn rejection(
    extension: &str,
    plugin: &LoadedPlugin,
    parameter: &Parameter,
    value: Option<&Value>,
) -> Result<Option<Rejection>, Error> {
    if value.is_some_and(|value| !parameter.admits(value)) {
        return Ok(Some(Rejection::Kind(parameter.expectation().to_string())));
    }
    // A default may have become invalid too, for example if it refers to a record that was deleted.
    let effective = value.unwrap_or(&parameter.default);
    let reveals = |text: &str| {
        let secret = effective.as_str().filter(|_| parameter.kind == ParameterKind::Secret);
        secret.is_some_and(|secret| contains(text, secret))
    };
    let hidden = || "the reason is not shown, because it contains the secret".to_owned();
    match plugin.check_parameter(&parameter.name, effective).await {
        Ok(()) => Ok(None),
        Err(host_interface::Error::Refused(why)) => {
            let why = if reveals(&why) { hidden() } else { one_line(why) };
            Ok(Some(Rejection::Refused(why)))
        }
        Err(source) => {
            let source = if reveals(&source.to_string()) {
                host_interface::Error::Failed(hidden())
            } else {
                source
            };
            Err(Error::Plugin { plugin: extension.to_owned(), step: "check", source })
        }
    }
}

/// Whether a text contains a secret. Only letters and digits are compared, because a message may have
/// escaped or shortened the rest.
fn contains(text: &str, secret: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    letters(text).contains(&letters(secret))
}

/// Sets a parameter to a value that was checked before, or restores its default.
pub(crate) async fn put(
    transaction: &mut Connection,
    extension: &str,
    name: &str,
    value: Option<&Value>,
) -> Result<(), Error> {
    let removal = sql("DELETE FROM host_parameters WHERE extension = ? AND name = ?");
    transaction.execute(removal.bind(extension).bind(name)).await?;
    if let Some(value) = value {
        let statement =
            sql("INSERT INTO host_parameters (extension, name, value) VALUES (?, ?, ?)");
        let statement = statement.bind(extension).bind(name).bind(value.to_string());
        transaction.execute(statement).await?;
    }
    Ok(())
}

/// The parameters that the site has set, and all parameters of each extension as text.
#[derive(Default)]
pub(crate) struct Parameters {
    set: Vec<(String, String, Value)>,
    texts: Vec<Text>,
}

struct Text {
    extension: String,
    /// A JSON object that includes the defaults.
    json: String,
    /// The revision of the site at which it last changed.
    revision: u64,
}

// Without the values, of which some are secret.
crate::base::opaque::opaque!(Parameters);

impl Parameters {
    /// Builds the text for each extension. If it is the same as `before`, it keeps its revision.
    pub(crate) fn new(
        rows: Vec<(String, String, String)>,
        descriptions: &[Description],
        revision: u64,
        before: &Parameters,
    ) -> Self {
        let set = rows
            .into_iter()
            .filter_map(|(extension, name, value)| {
                let value = serde_json::from_str(&value)
                    .inspect_err(|_| {
                        tracing::error!(extension, name, "a parameter is not valid JSON")
                    })
                    .ok()?;
                Some((extension, name, value))
            })
            .collect();
        let mut parameters = Self { set, texts: Vec::new() };
        for description in descriptions {
            let json = parameters.object(description).to_string();
            let same = before.text(&description.name).filter(|text| text.json == json);
            let revision = same.map_or(revision, |text| text.revision);
            parameters.texts.push(Text { extension: description.name.clone(), json, revision });
        }
        parameters
    }

    /// The value that the site has set, if any.
    pub(crate) fn set(&self, extension: &str, name: &str) -> Option<&Value> {
        let found = self.set.iter().find(|(of, called, _)| of == extension && called == name);
        found.map(|(_, _, value)| value)
    }

    /// All parameters of an extension as the text of a JSON object.
    pub(crate) fn json(&self, extension: &str) -> &str {
        self.text(extension).map_or("{}", |text| text.json.as_str())
    }

    /// A number that changes with [`Parameters::json`].
    pub(crate) fn revision(&self, extension: &str) -> u64 {
        self.text(extension).map_or(0, |text| text.revision)
    }

    fn text(&self, extension: &str) -> Option<&Text> {
        self.texts.iter().find(|text| text.extension == extension)
    }

    /// All parameters of an extension. A value that a newer version of the extension no longer
    /// allows
    /// counts as not set.
    fn object(&self, description: &Description) -> Value {
        let members = description.parameters.iter().map(|parameter| {
            let set = self.set(&description.name, &parameter.name);
            let value = set.filter(|value| parameter.admits(value));
            (parameter.name.clone(), value.unwrap_or(&parameter.default).clone())
        });
        Value::Object(members.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_only_in_what_its_extension_gets() {
        let mut description = Description::new("1.0.0").parameters([Parameter::secret("key", "")]);
        description.name = "bakery".to_owned();
        let descriptions = [description];
        let rows = vec![("bakery".to_owned(), "key".to_owned(), "\"s3cret\"".to_owned())];
        let parameters = Parameters::new(rows, &descriptions, 1, &Parameters::default());
        assert_eq!(parameters.json("bakery"), r#"{"key":"s3cret"}"#);
        let entries = entries(&descriptions, &parameters);
        let seen: Vec<_> = entries.iter().map(|of| (&of.value, of.secret, of.set)).collect();
        assert_eq!(seen, [(&json!(null), true, true)]);
        assert!(!format!("{parameters:?} {entries:?}").contains("s3cret"));
    }

    #[test]
    fn a_secret_is_found_in_a_message_in_any_form() {
        for text in ["no key \"a-\\\"b\" c\"", "a- \"b\"   c", "(a-\"b\" c)"] {
            assert!(contains(text, "a-\"b\" c"), "{text}");
        }
        assert!(!contains("the key must begin with a-", "a-\"b\" c"));
    }
}
