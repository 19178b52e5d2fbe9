//! The parameters that extensions declare and a site may set. Checks values against what the
//! extension declared; what they mean is the extension's.

use host_interface::{Description, Parameter};
use serde_json::Value;

use crate::error::Error;
use crate::site::Site;

/// A parameter with the value that is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterEntry {
    /// Its name.
    pub name: String,
    /// The value in force.
    pub value: Value,
    /// Whether the site has set it; else it is the extension's default.
    pub set: bool,
    /// What it is for.
    pub description: String,
}

impl Site {
    /// The parameters of all loaded extensions, in the order they declare them.
    pub fn parameters(&self) -> Vec<ParameterEntry> {
        let snapshot = self.state().snapshot();
        let entry = |extension: &str, parameter: &Parameter| {
            let set = snapshot.parameters.set(extension, &parameter.name);
            ParameterEntry {
                name: parameter.name.clone(),
                value: set.unwrap_or(&parameter.default).clone(),
                set: set.is_some(),
                description: parameter.description.clone(),
            }
        };
        self.state()
            .descriptions()
            .iter()
            .flat_map(|of| of.parameters.iter().map(|parameter| entry(&of.name, parameter)))
            .collect()
    }

    /// One parameter with the value that is in force.
    ///
    /// # Errors
    /// When no loaded extension declares it.
    pub fn parameter(&self, name: &str) -> Result<ParameterEntry, Error> {
        let found = self.parameters().into_iter().find(|parameter| parameter.name == name);
        found.ok_or_else(|| Error::not_found("parameter", name))
    }

    /// Sets a parameter; `null` gives it back its default.
    ///
    /// # Errors
    /// When no loaded extension declares it, the value is of another kind, or the database fails.
    pub async fn set_parameter(&self, name: &str, value: &Value) -> Result<(), Error> {
        let (extension, parameter) = self.declared(name)?;
        if !value.is_null() && !parameter.kind.admits(value) {
            return Err(Error::Invalid(format!(
                "{name} is {}, not {value}",
                parameter.kind.as_str()
            )));
        }
        let mut transaction = self.state().begin().await?;
        sqlx::query("DELETE FROM host_parameters WHERE extension = ? AND name = ?")
            .bind(extension)
            .bind(name)
            .execute(&mut *transaction)
            .await?;
        if !value.is_null() {
            sqlx::query("INSERT INTO host_parameters (extension, name, value) VALUES (?, ?, ?)")
                .bind(extension)
                .bind(name)
                .bind(value.to_string())
                .execute(&mut *transaction)
                .await?;
        }
        self.state().commit(transaction).await
    }

    fn declared(&self, name: &str) -> Result<(&str, &Parameter), Error> {
        self.state()
            .descriptions()
            .iter()
            .find_map(|of| {
                let parameter = of.parameters.iter().find(|parameter| parameter.name == name)?;
                Some((of.name.as_str(), parameter))
            })
            .ok_or_else(|| Error::not_found("parameter", name))
    }
}

/// What a site has set, and the whole of each extension's parameters as text.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    set: Vec<(String, String, Value)>,
    texts: Vec<Text>,
}

#[derive(Debug)]
struct Text {
    extension: String,
    /// A JSON object, defaults filled in.
    json: String,
    /// The revision of the site at which it last changed.
    revision: u64,
}

impl Parameters {
    /// Puts together what extensions ask for. An object that is as it was `before` keeps its
    /// revision.
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
                    .inspect_err(|_| tracing::error!(extension, name, "a parameter is no JSON"))
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

    /// What the site has set, if it has.
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

    /// A value that a newer version of the extension no longer admits counts as not set.
    fn object(&self, description: &Description) -> Value {
        let members = description.parameters.iter().map(|parameter| {
            let set = self.set(&description.name, &parameter.name);
            let value = set.filter(|value| parameter.kind.admits(value));
            (parameter.name.clone(), value.unwrap_or(&parameter.default).clone())
        });
        Value::Object(members.collect())
    }
}
