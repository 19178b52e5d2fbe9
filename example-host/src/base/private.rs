//! Files and folders for nobody but whoever runs the host. They are private from the moment on that
//! they are there: what is closed afterwards may have been opened before.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Makes a folder, with those above it, where it is missing.
pub(crate) fn create_dir_all(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a file that is not there yet, to write to.
pub(crate) fn create_new(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes the file of a database where it is missing. One that is there is not opened: closing it
/// again would take away every lock that this process has on it. What SQLite puts beside it gets the
/// same permissions.
pub(crate) fn create_database(path: &Path) -> Result<()> {
    match create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => may_write(path),
        created => created.map(drop),
    }
}

/// Opens a file that nothing but its lock is of use of, and makes it where it is missing. One that
/// an earlier version has left open to everybody is closed to them.
pub(crate) fn open_lock(path: &Path) -> Result<File> {
    let file = match create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            File::options().append(true).open(path)?
        }
        created => return created,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = file.metadata()?.permissions();
        if permissions.mode() & 0o077 != 0 {
            permissions.set_mode(0o600);
            file.set_permissions(permissions)?;
        }
    }
    Ok(file)
}

#[cfg(unix)]
fn may_write(path: &Path) -> Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let access = Access::READ_OK | Access::WRITE_OK;
    accessat(CWD, path, access, AtFlags::EACCESS).map_err(Error::from)
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> Result<()> {
    match std::fs::metadata(path)?.permissions().readonly() {
        true => Err(Error::from(ErrorKind::PermissionDenied)),
        false => Ok(()),
    }
}
