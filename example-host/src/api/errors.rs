//! The errors in an answer of the API, in the form of JSON:API.

use serde::Deserialize;

/// An error. What an answer leaves out is empty.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ApiError {
    /// Its kind, for programs.
    pub(crate) code: String,
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) source: Source,
}

/// The part of a request that an error is about.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Source {
    pub(crate) pointer: String,
}

/// The errors in the body of an answer; none if it has another form.
pub(crate) fn read(body: &[u8]) -> Vec<ApiError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Document {
        errors: Vec<ApiError>,
    }
    serde_json::from_slice::<Document>(body).unwrap_or_default().errors
}
