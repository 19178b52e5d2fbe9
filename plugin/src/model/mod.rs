//! The store's data model as plain values: kinds of values, resources, and queries about them. It
//! is independent of requests, SQL and the database.

pub mod field;
pub mod kept;
pub mod meta;
pub mod moment;
pub mod options;
pub mod parameters;
pub mod personal;
pub mod presentation;
pub mod question;
pub mod record;
pub mod registry;
pub mod relation;
pub mod resource;
pub mod selection;
pub mod table;
pub mod value;
