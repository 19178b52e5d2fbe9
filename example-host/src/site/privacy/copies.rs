//! A copy of everything that the site keeps about a person, as one JSON document. The parts of extensions are passed on
//! as they are, piece by piece.

use std::collections::BTreeMap;

use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use host_interface::{Chunk, LoadedPlugin, Person};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::base::error::Error;
use crate::base::moment;
use crate::base::text::now;
use crate::identity::{persons, tokens};
use crate::site::Site;
use crate::site::operations::Recorded;
use crate::site::operations::persons as operations;
use crate::watch::audit;

use super::found::Found;
use super::places::HOST;

/// The copy of a person on its way, in pieces.
pub(crate) type PersonCopy = BoxStream<'static, Result<Chunk, Error>>;

impl Site {
    /// Everything that the site keeps about a person, as the text of a JSON object in pieces: the host's own part, and
    /// that of each extension with a map of personal data.
    ///
    /// # Errors
    /// When nobody is named, the address and the user do not belong together, or an extension or the database fails.
    pub async fn export_person(
        &self,
        person: &Person,
    ) -> Result<impl Stream<Item = Result<Chunk, Error>> + Send + use<>, Error> {
        self.copy_person(person).await.map(|(copy, _)| copy)
    }

    /// Copies what is kept of a person, and returns the proof that it was recorded. Extensions have begun by then, and
    /// read the rest while the copy is taken; an error is its end.
    pub(crate) async fn copy_person(
        &self,
        person: &Person,
    ) -> Result<(PersonCopy, Recorded), Error> {
        let found = self.find_person(person).await?;
        let mut parts = BTreeMap::new();
        for (of, _, plugin) in self.mapped() {
            parts.insert(of.name.clone(), begin(&of.name, plugin, &found.person).await?);
        }
        let own = serde_json::to_vec(&self.own_part(&found).await?).map_err(unwritable)?;
        parts.insert(HOST.to_owned(), piece(own));
        let unknown = text(&self.unmapped().await?)?;
        let recorded = operations::exported(self, &found.whom).await?;
        let (person, exported_at) = (text(&found.person)?, text(&moment::show(now()))?);
        let head = format!("{{\"person\":{person},\"exported_at\":{exported_at},\"parts\":{{");
        let mut pieces = vec![piece(head)];
        for (position, (name, part)) in parts.into_iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            pieces.push(piece(format!("{comma}{}:", text(&name)?)));
            pieces.push(part);
        }
        pieces.push(piece(format!("}},\"unknown\":{unknown}}}")));
        Ok((stream::iter(pieces).flatten().boxed(), recorded))
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

/// Has an extension begin its part, whose first piece is awaited, so that most failures come before the copy is sent.
async fn begin(
    extension: &str,
    plugin: &LoadedPlugin,
    person: &Person,
) -> Result<PersonCopy, Error> {
    let failed = |source| failed(extension, "export_person", source);
    let mut part = plugin.export_person(person).await.map_err(failed)?;
    let first = part.next().await.unwrap_or_else(|| Ok(Chunk::empty())).map_err(failed)?;
    if !first.starts_with(b"{") {
        return Err(failed(host_interface::Error::contract("a person's data is no JSON object")));
    }
    let extension = extension.to_owned();
    let rest = part.map_err(move |source| self::failed(&extension, "export_person", source));
    Ok(stream::iter([Ok(first)]).chain(rest).boxed())
}

fn piece(text: impl Into<Chunk>) -> PersonCopy {
    stream::iter([Ok(text.into())]).boxed()
}

fn text(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(unwritable)
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
