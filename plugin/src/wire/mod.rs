//! Conversion between the wire and typed values: requests in, JSON:API out. It is independent of
//! SQL.

pub mod answer;
pub mod body;
pub mod document;
pub mod draft;
pub mod following;
pub mod idempotency;
pub mod included;
pub mod limited;
pub mod literal;
pub mod names;
pub mod object;
pub mod precondition;
pub mod request;
pub mod resume;
pub mod view;
