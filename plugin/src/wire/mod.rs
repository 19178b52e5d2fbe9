//! What crosses the wire: requests to typed form, and records to JSON:API. It knows no SQL.

pub mod answer;
pub mod body;
pub mod document;
pub mod draft;
pub mod literal;
pub mod request;
