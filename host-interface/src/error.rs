//! Failures of calls across the boundary. What a client reads of one is up to the side that answers.

/// Why a call to the other side of the boundary has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other side tried and failed; the text is for logs and operators.
    #[error("{0}")]
    Failed(String),
    /// The other side refuses for good: this input can never be accepted. The text is for the person
    /// who entered it.
    #[error("{0}")]
    Refused(String),
    /// The other side panicked, with this text. The panic has ended this call, and nothing else.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The other side does not follow the contract.
    #[error("broke the contract: {0}")]
    Contract(String),
    /// The other side does not know the call or its input, because it is older, or does not offer the
    /// call.
    #[error("not supported: {0}")]
    Unsupported(String),
}

impl Error {
    /// An [`Error::Failed`] with the text of any other error.
    pub fn failed(cause: impl std::fmt::Display) -> Self {
        Self::Failed(cause.to_string())
    }

    /// An [`Error::Contract`] with the text of any other error, for example that of a parser.
    pub fn contract(cause: impl std::fmt::Display) -> Self {
        Self::Contract(cause.to_string())
    }
}
