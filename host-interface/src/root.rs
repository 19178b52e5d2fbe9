//! The module that a plugin's library exports, and how a host opens it.

use std::path::{Path, PathBuf};

use abi_stable::StableAbi;
use abi_stable::library::{LibraryError, RootModule, lib_header_from_path};
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::RStr;

use crate::environment::Environment;
use crate::error::Error;
use crate::host::HostHandle;
use crate::outcome::Outcome;
use crate::plugin::{LoadedPlugin, PluginObject, environment_text, loaded};

/// The version of this contract. A host opens libraries of the same major version, and while that
/// is 0, of the same or a later minor one.
pub const CONTRACT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Opens a library and checks that it is a plugin of this contract, version and memory layout of
/// everything that crosses included. Nothing of the plugin has run when it returns.
///
/// The library stays loaded until the process ends, and opening a path again gives the code that
/// was there first.
///
/// The file must be a whole library of the system: a truncated one makes the system's loader end
/// the process with a signal, so a host that cannot trust the file checks its headers first.
///
/// # Errors
/// When the file cannot be opened as a library, is no plugin, or speaks another contract.
pub fn open(path: &Path) -> Result<Library, LoadError> {
    let fail = |error| LoadError::new(path, error);
    let header = lib_header_from_path(path).map_err(fail)?;
    let version = header.version_strings().version.as_str().to_owned();
    let root = header.init_root_module::<PluginRootRef>().map_err(fail)?;
    Ok(Library { root, version })
}

/// A library that has been opened and is known to hold a plugin.
pub struct Library {
    root: PluginRootRef,
    version: String,
}

impl Library {
    /// The version of the contract that the library was built with.
    pub fn contract_version(&self) -> &str {
        &self.version
    }

    /// The extension's name, see [`Plugin::NAME`](crate::Plugin::NAME).
    pub fn name(&self) -> &'static str {
        self.root.name().as_str()
    }

    /// Makes the plugin. May be called again for a second, independent one.
    ///
    /// # Errors
    /// When the plugin refuses the environment, or panics.
    pub fn create(
        &self,
        host: HostHandle,
        environment: &Environment,
    ) -> Result<LoadedPlugin, Error> {
        let environment = environment_text(environment)?;
        let create = self.root.create();
        create(host, RStr::from_str(&environment)).into_result().map(loaded)
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("contract_version", &self.version).finish_non_exhaustive()
    }
}

/// Why a file is no plugin for this host. Shown as one line that names the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct LoadError {
    path: PathBuf,
    reason: String,
    details: String,
}

impl LoadError {
    /// A reason that the caller has found by itself, before the library was opened.
    pub fn because(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into(), details: String::new() }
    }

    /// Everything that is known, which for a difference in layout runs over pages; for the log.
    /// Empty where the one line says it all.
    pub fn details(&self) -> &str {
        &self.details
    }

    fn new(path: &Path, error: LibraryError) -> Self {
        let reason = match &error {
            LibraryError::OpenError { err, .. } => {
                format!("not a library that can be loaded: {}", one_line(&err.to_string()))
            }
            LibraryError::GetSymbolError { .. } => "a library, but not a plugin".to_owned(),
            LibraryError::InvalidAbiHeader(_) | LibraryError::InvalidCAbi { .. } => {
                "built with a boundary unknown to this host".to_owned()
            }
            LibraryError::IncompatibleVersionNumber { actual_version, .. } => format!(
                "uses version {actual_version} of the contract; this host uses {CONTRACT_VERSION}"
            ),
            LibraryError::AbiInstability(_) => format!(
                "uses version {CONTRACT_VERSION} of the contract, but its data has another layout \
                 in memory"
            ),
            _ => "cannot be initialised".to_owned(),
        };
        Self { path: path.to_owned(), reason, details: error.to_string() }
    }
}

/// The first line of a text of several.
fn one_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// What every plugin's library exports: one constructor.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
#[sabi(missing_field(panic))]
#[allow(unreachable_pub, missing_docs, reason = "abi_stable names it in what it generates")]
pub struct PluginRoot {
    pub(crate) name: RStr<'static>,
    #[sabi(last_prefix_field)]
    pub(crate) create: extern "C" fn(HostHandle, RStr<'_>) -> Outcome<PluginObject>,
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}

    const BASE_NAME: &'static str = "plugin";
    const NAME: &'static str = "plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}
