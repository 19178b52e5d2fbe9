//! The file that keeps the key of a site, which only the user who runs the host can read. It is created once, and
//! never replaced.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::base::error::Error;
use crate::base::private;
use crate::base::secret_key::SecretKey;

/// The key in a file; `None` if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<SecretKey>, Error> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file(path, error)),
    };
    let damaged = |error| Error::Invalid(format!("the key in {} {error}", path.display()));
    text.parse().map(Some).map_err(damaged)
}

/// The key in a file, which gets a new one if it is missing. Of several processes that do so at the same time, all
/// get the key of the first: the file appears with its content, and only if there is none.
pub(super) fn read_or_create(path: &Path) -> Result<SecretKey, Error> {
    if let Some(key) = read(path)? {
        return Ok(key);
    }
    match create(path, &SecretKey::random()?) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::file(path, error));
        }
        _ => {}
    }
    // Also the key of this process, so that none is used that could not be read again.
    read(path)?.ok_or_else(|| Error::file(path, ErrorKind::NotFound.into()))
}

/// Writes a key to a file, which must not exist.
pub(super) fn create(path: &Path, key: &SecretKey) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    private::create_dir_all(folder)?;
    // Temporary files are as private as `base/private.rs` makes others.
    let mut file = tempfile::Builder::new().prefix(".secret.key.").tempfile_in(folder)?;
    writeln!(file, "{}", key.text())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_create_a_key_at_the_same_time_have_the_same_one() -> Result<(), Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::file("", error))?;
        let path = folder.path().join("new").join("secret.key");
        assert!(read(&path)?.is_none());
        let keys: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..16).map(|_| scope.spawn(|| read_or_create(&path).ok())).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
        });
        assert_eq!(keys.len(), 16);
        let kept = read(&path)?;
        assert!(keys.into_iter().all(|key| Some(key) == kept));
        let left = fs::read_dir(folder.path().join("new")).map(Iterator::count);
        assert_eq!(left.ok(), Some(1), "nothing else is left in the folder");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).map(|file| file.permissions().mode() & 0o777);
            assert_eq!(mode.ok(), Some(0o600));
        }
        Ok(())
    }

    #[test]
    fn a_damaged_key_is_neither_used_nor_replaced() -> Result<(), Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::file("", error))?;
        let path = folder.path().join("secret.key");
        fs::write(&path, "half of a k").map_err(|error| Error::file(&path, error))?;
        for found in [read(&path).map(drop), read_or_create(&path).map(drop)] {
            let message = found.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains("must be 32 random bytes"), "{message}");
            assert!(!message.contains("half"), "{message}");
        }
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("half of a k"));
        Ok(())
    }
}
