//! A copy of everything that the site keeps about a person, as one JSON document. The parts of extensions are passed on
//! as they are.

use std::collections::BTreeMap;

use host_interface::Person;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::base::error::Error;
use crate::base::{moment, text};
use crate::identity::{persons, tokens};
use crate::site::Site;
use crate::site::operations::Recorded;
use crate::site::operations::persons as operations;
use crate::watch::audit;

use super::found::Found;
use super::places::HOST;

#[derive(Serialize)]
struct Document {
    person: Person,
    exported_at: String,
    /// By extension, that of the host under its own name.
    parts: BTreeMap<String, Box<RawValue>>,
    /// The extensions that may keep something else.
    unknown: Vec<String>,
}

impl Site {
    /// Everything that the site keeps about a person, as the text of a JSON object: the host's own part, and that of each
    /// extension with a map of personal data.
    ///
    /// # Errors
    /// When nobody is named, the address and the user do not belong together, or an extension or the database fails.
    pub async fn export_person(&self, person: &Person) -> Result<String, Error> {
        self.copy_person(person).await.map(|(document, _)| document)
    }

    /// Copies what is kept of a person, and returns the proof that it was recorded.
    pub(crate) async fn copy_person(&self, person: &Person) -> Result<(String, Recorded), Error> {
        let found = self.find_person(person).await?;
        let mut parts = BTreeMap::new();
        for (of, _, plugin) in self.mapped() {
            let text = plugin.export_person(&found.person).await;
            let part = text.and_then(|text| {
                let part = RawValue::from_string(text).map_err(host_interface::Error::contract)?;
                let is_object = part.get().starts_with('{');
                let other = || host_interface::Error::contract("a person's data is no JSON object");
                if is_object { Ok(part) } else { Err(other()) }
            });
            let part = part.map_err(|source| failed(&of.name, "export_person", source))?;
            parts.insert(of.name.clone(), part);
        }
        let own = to_raw_value(&self.own_part(&found).await?).map_err(unwritable)?;
        parts.insert(HOST.to_owned(), own);
        let document = Document {
            person: found.person.clone(),
            exported_at: moment::show(text::now()),
            parts,
            unknown: self.unmapped().await?,
        };
        let document = serde_json::to_string(&document).map_err(unwritable)?;
        let recorded = operations::exported(self, &found.whom).await?;
        Ok((document, recorded))
    }

    /// What the host itself keeps: a member for each place that has something.
    async fn own_part(&self, found: &Found) -> Result<Map<String, Value>, Error> {
        let database = self.state().database();
        let mut part = Map::new();
        let mut put = |place: &str, records: Vec<Value>| {
            if !records.is_empty() {
                part.insert(place.to_owned(), records.into());
            }
        };
        if let Some(user) = &found.whom.user {
            for (place, records) in persons::export(database, user).await? {
                put(place, records);
            }
            let known = tokens::of_user(database, &self.state().scopes(), user.id).await?;
            let token = |token: tokens::TokenEntry| {
                json!({
                    "name": token.name,
                    "created_on": moment::show(token.created_on),
                    "expires_on": token.expires_on.map(moment::show),
                    "addresses": token.addresses,
                    "used_on": token.used_on.map(moment::show),
                    "used_from": token.used_from,
                })
            };
            put("tokens", known.into_iter().map(token).collect());
        }
        let mails = self.mailer().folder().find(found.whom.is_theirs.clone()).await?;
        put("mails", mails.into_iter().map(|mail| json!(mail)).collect());
        if let Some(user) = found.person.user {
            let entries = audit::of_user(database, user).await?;
            put("trail", entries.into_iter().map(Value::Object).collect());
        }
        Ok(part)
    }
}

/// The error of an extension that could not do its part. What it refuses is for the person who asks.
pub(super) fn failed(extension: &str, step: &'static str, source: host_interface::Error) -> Error {
    match source {
        host_interface::Error::Refused(why) => Error::Invalid(why),
        source => Error::Plugin { plugin: extension.to_owned(), step, source },
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::Invalid(format!("the copy cannot be written: {error}"))
}
