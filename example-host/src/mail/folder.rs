//! Mails as one `.eml` file each, for a site without a mail server. Only the user who runs the host
//! can read them.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::Error;
use crate::base::private;
use crate::base::secret;

use super::kept::{self, KeptMail};

/// Whether an address is one of a person.
pub(crate) type IsTheirs = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The folder that mails are written to.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes a mail, unless a mail with its id was written before.
    pub(crate) async fn write(&self, id: &str, text: Vec<u8>) -> Result<(), Error> {
        let folder = self.path.clone();
        let path = folder.join(format!("{id}.eml"));
        let unfinished = folder.join(format!(".{id}.{}.part", secret::random_text()?));
        let writing = tokio::task::spawn_blocking({
            let path = path.clone();
            move || write(&folder, &path, &unfinished, &text)
        });
        let written = writing.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        written.map_err(|error| Error::file(path, error))
    }

    /// The mails of a person, whose addresses are recognised by `is_theirs`.
    pub(crate) async fn find(&self, is_theirs: IsTheirs) -> Result<Vec<KeptMail>, Error> {
        let folder = self.path.clone();
        self.blocking(move || kept::find(&folder, &*is_theirs)).await
    }

    /// Removes the mails of a person, and returns how many there were.
    pub(crate) async fn remove(&self, is_theirs: IsTheirs) -> Result<u64, Error> {
        let folder = self.path.clone();
        let removed = self.blocking(move || {
            let mails = kept::find(&folder, &*is_theirs)?;
            kept::remove(&folder, &mails)?;
            Ok(mails.len() as u64)
        });
        removed.await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(Error::file(&self.path, std::io::Error::other(error))))
    }
}

/// A program that collects mails must never see half of one, so the file is renamed when it is
/// complete.
fn write(folder: &Path, path: &Path, unfinished: &Path, text: &[u8]) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    private::create_dir_all(folder)?;
    let written = private::create_new(unfinished)
        .and_then(|mut file| file.write_all(text).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(unfinished, path));
    if written.is_err()
        && let Err(error) = std::fs::remove_file(unfinished)
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(path = %unfinished.display(), %error,
            "an incomplete mail could not be removed");
    }
    written
}
