//! Failures: what may go wrong with a call across the boundary. What a client reads of one is up to
//! the side that answers.

/// Why a call to the other side of the boundary gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The other side tried and could not; the text is for logs and operators.
    #[error("{0}")]
    Failed(String),
    /// The other side will not, however often it is asked: what was given can never be accepted.
    /// The text is for whoever gave it.
    #[error("{0}")]
    Refused(String),
    /// The other side panicked. Its state is as it was: a panic ends one call, not the plugin.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The other side answered with something that is not of the contract.
    #[error("broke the contract: {0}")]
    Contract(String),
}

impl Error {
    /// An [`Error::Failed`] with the text of any other error.
    pub fn failed(cause: impl std::fmt::Display) -> Self {
        Self::Failed(cause.to_string())
    }
}
