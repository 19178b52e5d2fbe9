//! Opening the library of a plugin. Its headers are checked first, because with a truncated file
//! the system's loader would end the process by a signal. The check itself runs no code of the
//! plugin.

use std::fs::File;
use std::path::Path;

use host_interface::{Library, LoadError};
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::read::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};
use object::{Endianness, FileKind};

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
    let parts = parts(&ReadCache::new(file)).map_err(|error| {
        tracing::debug!(path = %path.display(), %error, "not a library");
        because("not a library, or a truncated one".to_owned())
    })?;
    let is_there =
        |(offset, size): &(u64, u64)| offset.checked_add(*size).is_some_and(|end| end <= length);
    if !parts.iter().all(is_there) {
        return Err(because("a truncated library: the file is too short".to_owned()));
    }
    Ok(())
}

/// Where the parts of a library are in its file, by its headers: offsets and sizes in bytes.
fn parts<'data>(file: impl ReadRef<'data>) -> object::Result<Vec<(u64, u64)>> {
    // A file of this kind that is parsed as a whole also has its symbols read: megabytes of a library that is not
    // stripped, at each start.
    if let FileKind::Elf64 = FileKind::parse(file)? {
        let headers = FileHeader64::<Endianness>::parse(file)?;
        let endian = headers.endian()?;
        let segments = headers.program_headers(endian, file)?.iter();
        let segments = segments.map(|segment| segment.file_range(endian));
        let sections = headers.section_headers(endian, file)?.iter();
        let sections = sections.filter_map(|section| section.file_range(endian));
        return Ok(segments.chain(sections).collect());
    }
    let library = object::File::parse(file)?;
    let segments = library.segments().map(|segment| segment.file_range());
    let sections = library.sections().filter_map(|section| section.file_range());
    Ok(segments.chain(sections).collect())
}
