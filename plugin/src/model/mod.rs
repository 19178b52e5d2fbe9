//! What the store's data is, as plain values: kinds of values, resources, and the questions that are asked
//! about them. It knows no request, no SQL and no database.

pub mod field;
pub mod kept;
pub mod moment;
pub mod parameters;
pub mod question;
pub mod record;
pub mod registry;
pub mod resource;
pub mod value;
