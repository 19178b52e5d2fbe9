//! Files and folders that only the user who runs the host can access. They are created with these
//! permissions: if the permissions were restricted later, another process could have opened the
//! file before.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Creates a folder with its parents, unless it exists.
pub(crate) fn create_dir_all(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file for writing; fails if it exists.
pub(crate) fn create_new(path: &Path) -> Result<File> {
    private().write(true).create_new(true).open(path)
}

/// Creates the file of a database unless it exists. An existing file is not opened, because closing
/// it would release every lock that this process holds on it. SQLite gives the files that it
/// creates beside the database the same permissions.
pub(crate) fn create_database(path: &Path) -> Result<()> {
    match create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => may_write(path),
        created => created.map(drop),
    }
}

/// Opens a file that is only used for its lock, and creates it if it is missing. A file that an
/// earlier version created with wider permissions is restricted.
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

/// Opens a file to which lines are added, and creates it if it is missing.
pub(crate) fn open_list(path: &Path) -> Result<File> {
    private().read(true).append(true).create(true).open(path)
}

/// Options that create a file with these permissions.
fn private() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn may_write(path: &Path) -> Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let access = Access::READ_OK | Access::WRITE_OK;
    accessat(CWD, path, access, AtFlags::EACCESS).map_err(Error::from)
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> Result<()> {
    if std::fs::metadata(path)?.permissions().readonly() {
        return Err(Error::from(ErrorKind::PermissionDenied));
    }
    Ok(())
}
