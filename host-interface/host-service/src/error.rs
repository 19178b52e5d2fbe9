//! Why an extension cannot be served: errors of a start, for operators. What clients of a running host
//! get is in `refusal`.

/// Why an extension cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call to the plugin failed before it could answer requests.
    #[error("{extension}: {step} failed: {source}")]
    Plugin {
        /// The extension's name.
        extension: String,
        /// The call that failed.
        step: &'static str,
        /// The plugin's error.
        source: host_interface::Error,
    },
    /// The description of a plugin is not valid, or does not fit those of the others.
    #[error("{extension}: {reason}")]
    Description {
        /// The extension's name.
        extension: String,
        /// What is wrong with its description.
        reason: String,
    },
    /// The system provided no random bytes, which request ids begin with.
    #[error("the system's random source failed: {0}")]
    Random(#[from] getrandom::Error),
}

impl Error {
    pub(crate) fn description(extension: &str, reason: impl Into<String>) -> Self {
        Self::Description { extension: extension.to_owned(), reason: reason.into() }
    }
}
