//! The list of persons who were erased, in a file beside the key of the site: a line of JSON for each, which is on the
//! disk before the erasure begins. It contains no name and no address, and no backup contains it.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use time::PrimitiveDateTime;

use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::{moment, private, text};

/// An erasure that began so long before a backup may not be complete in it.
const LONGEST_ERASURE: time::Duration = time::Duration::DAY;

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct ErasedList {
    path: Arc<PathBuf>,
    /// The moment of the backup that the site was restored from.
    backup: Option<PrimitiveDateTime>,
}

/// A person who was erased.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ErasedPerson {
    /// What stands for the address, if it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<String>,
    /// The key of the user, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<i64>,
    /// When the host created that user: a database that was restored may give the key to somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_created_on: Option<String>,
    /// The day until which extensions keep names and addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keep_until: Option<String>,
}

/// A line of the file.
#[derive(Deserialize, Serialize)]
struct Line {
    erased_on: String,
    #[serde(flatten)]
    person: ErasedPerson,
}

impl ErasedPerson {
    /// Whether they are this user, whose address has this hash.
    pub(crate) fn is(&self, user: i64, created_on: PrimitiveDateTime, hash: &str) -> bool {
        let is_created = self.user_created_on.as_deref() == Some(&moment::show(created_on));
        self.user == Some(user) && is_created || self.hash.as_deref() == Some(hash)
    }
}

impl ErasedList {
    /// The list of the site with these databases.
    pub(crate) fn of(databases: &Databases) -> Self {
        Self { path: Arc::new(databases.host().beside("erased.ndjson")), backup: None }
    }

    /// The list for a site that was restored from a backup of this moment, if that is known.
    pub(crate) fn restored_from(self, backup: Option<PrimitiveDateTime>) -> Self {
        Self { backup, ..self }
    }

    /// Those whom the backup may have brought back, with the moment of their erasure. Whoever was erased before it has
    /// nothing in it but what came afterwards.
    pub(crate) async fn brought_back(
        &self,
    ) -> Result<Vec<(PrimitiveDateTime, ErasedPerson)>, Error> {
        // An erasure may have taken its time.
        let since = self.backup.and_then(|backup| backup.checked_sub(LONGEST_ERASURE));
        let mut listed = self.read().await?;
        listed.retain(|(erased_on, _)| since.is_none_or(|since| *erased_on >= since));
        Ok(listed)
    }

    /// Everybody in the list, each once, as the last entry has them.
    pub(crate) async fn read(&self) -> Result<Vec<(PrimitiveDateTime, ErasedPerson)>, Error> {
        self.blocking(|path| {
            let mut text = String::new();
            match File::open(path) {
                Ok(mut file) => file.read_to_string(&mut text).map(drop)?,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            Ok(persons(&text))
        })
        .await
    }

    /// Warns if the list has fewer persons than it had once.
    pub(crate) async fn compare(&self, once: usize) -> Result<(), Error> {
        let here = self.read().await?.len();
        if here < once {
            let file = self.path.display();
            tracing::warn!(
                here,
                once,
                "the list of erased persons is incomplete: copy the complete one to {file} and run the command \
                 `restored`; otherwise the site has these persons again"
            );
        }
        Ok(())
    }

    /// Adds a person. Afterwards the entry is on the disk.
    pub(crate) async fn add(&self, person: ErasedPerson) -> Result<(), Error> {
        self.blocking(move |path| add(path, text::now(), person)).await
    }

    /// Adds those of another list whom this one does not have.
    pub(crate) async fn add_all_of(&self, other: &Self) -> Result<(), Error> {
        let known = self.read().await?;
        for listed in other.read().await? {
            if !known.contains(&listed) {
                let (erased_on, person) = listed;
                self.blocking(move |path| add(path, erased_on, person)).await?;
            }
        }
        Ok(())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let path = Arc::clone(&self.path);
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        let done = done.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        done.map_err(|error| Error::file(&*self.path, error))
    }
}

fn add(path: &Path, erased_on: PrimitiveDateTime, person: ErasedPerson) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    private::create_dir_all(folder)?;
    let mut file = private::open_list(path)?;
    // Other processes add to it, too.
    file.lock()?;
    let length = file.seek(SeekFrom::End(0))?;
    let mut last = *b"\n";
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    let line = Line { erased_on: moment::show(erased_on), person };
    let line = serde_json::to_string(&line)?;
    // What an interrupted process has left is no whole line, and was of no effect.
    let end = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{end}{line}\n").as_bytes())?;
    file.sync_all()?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The persons of all whole lines. A later entry about the same one replaces an earlier one.
fn persons(text: &str) -> Vec<(PrimitiveDateTime, ErasedPerson)> {
    let mut found: Vec<(PrimitiveDateTime, ErasedPerson)> = Vec::new();
    for line in text.lines() {
        let line: Option<Line> = serde_json::from_str(line).ok();
        let line = line.and_then(|line| Some((moment::parse(&line.erased_on)?, line.person)));
        let Some((erased_on, person)) = line else {
            tracing::warn!("a line of the list of erased persons cannot be read");
            continue;
        };
        let is_same = |(_, known): &&mut (PrimitiveDateTime, ErasedPerson)| {
            (&known.hash, known.user, &known.user_created_on)
                == (&person.hash, person.user, &person.user_created_on)
        };
        match found.iter_mut().find(is_same) {
            Some(known) => *known = (erased_on, person),
            None => found.push((erased_on, person)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(hash: &str, keep_until: Option<&str>) -> ErasedPerson {
        ErasedPerson {
            hash: Some(hash.to_owned()),
            user: Some(5),
            user_created_on: Some("2027-01-31T18:00:00Z".to_owned()),
            keep_until: keep_until.map(str::to_owned),
        }
    }

    #[tokio::test]
    async fn a_list_only_grows_and_survives_half_a_line() -> Result<(), Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::file("", error))?;
        let path = folder.path().join("data").join("erased.ndjson");
        let list = ErasedList { path: Arc::new(path.clone()), backup: None };
        let read = async || {
            let listed = list.read().await?.into_iter();
            Ok::<_, Error>(listed.map(|(_, person)| person).collect::<Vec<_>>())
        };
        assert_eq!(read().await?, []);
        list.add(person("a", None)).await?;
        let failed = |error| Error::file(&path, error);
        let mut file = File::options().append(true).open(&path).map_err(failed)?;
        file.write_all(b"{\"erased_on\":\"20").map_err(failed)?;
        list.add(person("b", None)).await?;
        assert_eq!(read().await?, [person("a", None), person("b", None)]);
        list.add(person("a", Some("2030-01-01"))).await?;
        let lines = std::fs::read_to_string(&path).map_err(failed)?.lines().count();
        assert_eq!(lines, 4);
        assert_eq!(read().await?, [person("a", Some("2030-01-01")), person("b", None)]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).map(|file| file.permissions().mode() & 0o777);
            assert_eq!(mode.ok(), Some(0o600));
        }
        Ok(())
    }

    #[tokio::test]
    async fn only_those_who_were_erased_after_a_backup_can_be_in_it() -> Result<(), Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::file("", error))?;
        let list = ErasedList { path: Arc::new(folder.path().join("list")), backup: None };
        list.add(person("a", None)).await?;
        let now = text::now();
        for (backup, is_brought_back) in [
            (None, true),
            (Some(now - time::Duration::WEEK), true),
            (Some(now), true),
            (Some(now + time::Duration::WEEK), false),
        ] {
            let listed = list.clone().restored_from(backup).brought_back().await?;
            assert_eq!(!listed.is_empty(), is_brought_back, "{backup:?}");
        }
        Ok(())
    }

    #[test]
    fn a_user_is_recognised_by_key_and_time_or_by_the_address() {
        let erased = person("a", None);
        let (then, later) = ("2027-01-31T18:00:00Z", "2027-02-01T00:00:00Z");
        for (user, created_on, hash, is_it) in [
            (5, then, "other", true),
            (5, later, "a", true),
            (6, then, "a", true),
            (5, later, "other", false),
            (6, then, "other", false),
        ] {
            let found = moment::parse(created_on).map(|at| erased.is(user, at, hash));
            assert_eq!(found, Some(is_it), "{user} {created_on} {hash}");
        }
    }
}
