//! Conversion between the wire and typed values: requests in, JSON:API out. It is independent of
//! SQL.

pub mod answer;
pub mod body;
pub mod document;
pub mod draft;
pub mod exporting;
pub mod following;
pub mod idempotency;
pub mod ids;
pub mod importing;
pub mod included;
mod layout;
pub mod limited;
pub mod literal;
pub mod names;
pub mod object;
mod parameters;
pub mod precondition;
pub mod request;
pub mod resume;
pub mod table;
pub mod view;
