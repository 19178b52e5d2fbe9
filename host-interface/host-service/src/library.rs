//! Opening the library of a plugin. Its headers are checked first, because with a truncated file
//! the system's loader would end the process by a signal. The check itself runs no code of the
//! plugin.

use std::fs::File;
use std::path::Path;

use host_interface::{Library, LoadError};
use object::read::{Object, ObjectSection, ObjectSegment, ReadCache};

/// Opens a library and checks that it is a plugin of this contract. See [`host_interface::open`].
///
/// # Errors
/// If the file cannot be used; the message is one line with the file and the reason.
pub fn open(path: &Path) -> Result<Library, LoadError> {
    check(path)?;
    // The system's loader looks up a bare name in the system's folders, not in the current one.
    let bare = path.components().count() == 1;
    let path = if bare { Path::new(".").join(path) } else { path.to_owned() };
    host_interface::open(&path).inspect_err(|error| {
        if !error.details().is_empty() {
            tracing::debug!(path = %path.display(), details = error.details(), "not a plugin");
        }
    })
}

/// Refuses a file that is not a complete library.
fn check(path: &Path) -> Result<(), LoadError> {
    let because = |reason: String| LoadError::because(path, reason);
    let unreadable = |error: std::io::Error| because(format!("cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(because("not a file".to_owned()));
    }
    let length = metadata.len();
    let cache = ReadCache::new(file);
    let library = object::File::parse(&cache).map_err(|error| {
        tracing::debug!(path = %path.display(), %error, "not a library");
        because("not a library, or a truncated one".to_owned())
    })?;
    let segments = library.segments().map(|segment| segment.file_range());
    let sections = library.sections().filter_map(|section| section.file_range());
    let cut_off = segments
        .chain(sections)
        .any(|(offset, size)| offset.checked_add(size).is_none_or(|end| end > length));
    if cut_off {
        return Err(because("a truncated library: the file is too short".to_owned()));
    }
    Ok(())
}
