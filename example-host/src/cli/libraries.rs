//! Which libraries the program loads: those that somebody has named, or the one beside it.

use std::path::PathBuf;

use crate::site::Libraries;

use super::terminal::Failure;

/// The libraries in the arguments, else those in the environment, else the one beside the program.
pub(super) fn named(named: Vec<PathBuf>) -> Result<Libraries, Failure> {
    if !named.is_empty() {
        return Ok(Libraries::Named(named));
    }
    let from_env = std::env::var_os("HOST_PLUGIN").filter(|value| !value.is_empty());
    match from_env {
        Some(value) => {
            let paths = std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty());
            Ok(Libraries::Named(paths.collect()))
        }
        None => Ok(Libraries::Default(default_library()?)),
    }
}

/// The default library: the one beside the running executable.
fn default_library() -> Result<PathBuf, std::io::Error> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let executable = std::env::current_exe()?;
    Ok(executable.with_file_name(format!("{DLL_PREFIX}plugin{DLL_SUFFIX}")))
}
