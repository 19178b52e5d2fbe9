//! Which libraries a site is opened with, and whether the default one may be added to it. How a library is
//! loaded is in `mod.rs`.

use std::path::PathBuf;

use crate::base::error::Error;
use crate::database::Database;
use crate::extensions::registry;

/// The libraries that a site is opened with.
#[derive(Clone, Debug)]
pub enum Libraries {
    /// Those that somebody named. They are added to any site.
    Named(Vec<PathBuf>),
    /// The one that is taken because nobody named any. It is added only to a site without extensions.
    Default(PathBuf),
}

impl Libraries {
    /// Their paths.
    pub(super) fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Named(paths) => paths,
            Self::Default(path) => std::slice::from_ref(path),
        }
    }

    /// Whether nobody has named them.
    pub(super) fn are_default(&self) -> bool {
        matches!(self, Self::Default(_))
    }
}

/// Refuses extensions that nobody has named on a site that has others: a forgotten option would add
/// them, with their tables and permissions.
pub(super) async fn refuse_to_add(
    database: &Database,
    mut extensions: impl Iterator<Item = &str>,
) -> Result<(), Error> {
    let known = registry::all(database).await?;
    let known = known.into_iter().filter(|entry| !entry.built_in).map(|entry| entry.name);
    let known: Vec<String> = known.collect();
    match extensions.find(|name| known.iter().all(|of| of != name)) {
        Some(new) if !known.is_empty() => Err(Error::Invalid(format!(
            "the site has {}, but not {new}, which is the default; name the libraries of the site \
             with --plugin or HOST_PLUGIN",
            known.join(", ")
        ))),
        _ => Ok(()),
    }
}
