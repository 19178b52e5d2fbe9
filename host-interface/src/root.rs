//! The module that a plugin's library exports, and how a host opens it.

use std::path::{Path, PathBuf};

use abi_stable::StableAbi;
use abi_stable::abi_stability::abi_checking::{
    AbiInstabilityErrors, CheckingGlobals, check_layout_compatibility_with_globals,
};
use abi_stable::library::{
    AbiHeaderRef, LibHeader, LibraryError, RawLibrary, RootModule, lib_header_from_raw_library,
};
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::RStr;
use abi_stable::type_layout::{TLFieldOrFunction, TypeLayout};

use crate::environment::Environment;
use crate::error::Error;
use crate::host::{Host, HostHandle};
use crate::loaded::LoadedPlugin;
use crate::outcome::Outcome;
use crate::plugin::PluginObject;
use crate::progress::Listeners;

/// The version of this contract. Hosts and libraries of the same major version open each other,
/// whichever is newer.
pub const CONTRACT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a library of this major version exports, the same as in [`export_plugin!`](crate::export_plugin).
const SYMBOL: &[u8] = b"host_interface_1\0";

/// What libraries export that were built with this major version before it was released.
const DRAFT: &[u8] = b"host_interface_contract_1\0";

/// How many differences in layout are described in detail.
const DESCRIBED: usize = 8;

/// Opens a library and checks that it is a plugin of this contract, major version and memory layout
/// of everything that crosses included. Nothing of the plugin has run when it returns.
///
/// The library stays loaded until the process ends, and opening a path again gives the code that
/// was there first.
///
/// The file must be a whole library of the system: a truncated one makes the system's loader end
/// the process with a signal, so a host that cannot trust the file checks its headers first.
///
/// # Errors
/// When the file cannot be opened as a library, is not a plugin, or was built with another contract.
pub fn open(path: &Path) -> Result<Library, LoadError> {
    let fail = |error| LoadError::new(path, error);
    let library: &'static RawLibrary =
        Box::leak(Box::new(RawLibrary::load_at(path).map_err(fail)?));
    let header = header(library).map_err(|error| older(path, library).unwrap_or(fail(error)))?;
    let version = header.version_strings().version.as_str().to_owned();
    let Some(layout) = header.layout() else {
        return Err(LoadError::because(path, "a plugin without a description of its layout"));
    };
    compare(PluginRootRef::LAYOUT, layout).map_err(|details| LoadError {
        path: path.to_owned(),
        reason: format!(
            "uses version {version} of the contract, but its data has another layout in memory \
             than in version {CONTRACT_VERSION}"
        ),
        details,
    })?;
    #[allow(unsafe_code, reason = "the layout has just been checked")]
    // SAFETY: the layout of the library's root module and of all that it mentions is compatible
    // with this side's, in one of the directions: see `compare`.
    let root = unsafe { header.unchecked_layout::<PluginRootRef>() };
    let root =
        root.map_err(|error| LoadError::new(path, error.into_library_error::<PluginRootRef>()))?;
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
        host: impl Host,
        environment: &Environment,
    ) -> Result<LoadedPlugin, Error> {
        let listeners = Listeners::default();
        let text = serde_json::to_string(environment).map_err(Error::contract)?;
        let create = self.root.create();
        let host = HostHandle::listening(host, listeners.clone());
        let plugin = create(host, RStr::from_str(&text)).into_result()?;
        Ok(LoadedPlugin::new(plugin, listeners, environment))
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("contract_version", &self.version).finish_non_exhaustive()
    }
}

/// Why a file is not a plugin for this host. Shown as one line that names the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct LoadError {
    path: PathBuf,
    reason: String,
    details: String,
}

impl LoadError {
    /// A reason that the caller has found before the library was opened.
    pub fn because(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into(), details: String::new() }
    }

    /// More about the reason, for the log: at most a screenful. Empty if the one line is complete.
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
            _ => "cannot be initialised".to_owned(),
        };
        let details: Vec<String> = error.to_string().lines().take(20).map(str::to_owned).collect();
        Self { path: path.to_owned(), reason, details: details.join("\n") }
    }
}

/// The header that a library of this major version exports.
fn header(library: &RawLibrary) -> Result<&'static LibHeader, LibraryError> {
    #[allow(unsafe_code, reason = "reads the symbol that carries the contract's name")]
    // SAFETY: the symbol's name is reserved to a header of this contract, which begins with what
    // `upgrade` checks before it reads anything else. The library is never unloaded.
    let header = unsafe { *library.get::<AbiHeaderRef>(SYMBOL)? };
    header.upgrade()
}

/// The refusal of a library that was built with a version of the contract before 1.0, or with 1.0 before that
/// was released.
fn older(path: &Path, library: &RawLibrary) -> Option<LoadError> {
    #[allow(unsafe_code, reason = "looks for a symbol")]
    // SAFETY: what the symbol stands for is not read.
    let is_draft = unsafe { library.get::<AbiHeaderRef>(DRAFT) }.is_ok();
    if is_draft {
        return Some(LoadError::because(
            path,
            format!(
                "was built with a draft of the contract, from before it was released; build it anew \
                 with version {CONTRACT_VERSION}"
            ),
        ));
    }
    #[allow(unsafe_code, reason = "reads the symbol that carries the boundary's name")]
    // SAFETY: the symbol is the one that `abi_stable` reserves to its header.
    let header = unsafe { lib_header_from_raw_library(library) }.ok()?;
    let version = header.version_strings();
    let version = version.version.as_str();
    Some(LoadError::because(
        path,
        format!("uses version {version} of the contract; this host uses {CONTRACT_VERSION}"),
    ))
}

/// Compares the layouts of both sides, which fit if one of them is the other with additions.
///
/// The check accepts what the implementing side has beyond the other one. Each side implements
/// objects for the other, so the older of the two may be either, and each direction is tried. A
/// method that one side lacks is never called across: the caller runs its default body instead. The
/// state of the checker is fresh each time, since it would otherwise depend on the libraries that
/// were opened before.
///
/// # Errors
/// The first differences, as text of less than a screenful.
pub fn compare(ours: &'static TypeLayout, theirs: &'static TypeLayout) -> Result<(), String> {
    let compatible = |interface, implementation| {
        check_layout_compatibility_with_globals(interface, implementation, &CheckingGlobals::new())
    };
    let checked = compatible(ours, theirs);
    checked.or_else(|errors| compatible(theirs, ours).map_err(|_| details(&errors)))
}

/// Where the layouts differ: for each of the first differences, the fields and functions that lead
/// to it.
fn details(errors: &AbiInstabilityErrors) -> String {
    let mut lines: Vec<String> = Vec::new();
    for error in errors.errors.iter().take(DESCRIBED) {
        let way: Vec<&str> = error.stack_trace.iter().map(|step| name(&step.found)).collect();
        let place = if way.is_empty() { "the root".to_owned() } else { way.join(" > ") };
        let found = error.errs.iter().take(DESCRIBED).map(|found| shortened(&format!("{found:?}")));
        lines.push(format!("{place}: {}", found.collect::<Vec<_>>().join("; ")));
    }
    if let Some(more) = errors.errors.len().checked_sub(DESCRIBED).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

fn name(step: &TLFieldOrFunction) -> &'static str {
    match step {
        TLFieldOrFunction::Field(field) => field.name(),
        TLFieldOrFunction::Function(function) => function.name.as_str(),
    }
}

/// As much of a text as fits on a line beside others.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(160) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The first line of a text of several.
fn one_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// What every plugin's library exports: its name and one constructor. New fields go to the end and
/// are read as options.
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
