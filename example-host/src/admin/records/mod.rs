//! The records of extensions, as their OpenAPI documents describe them: the types of a document, requests for their
//! records, and the answers. It knows no page, and of a store only what a document has.

pub(crate) mod asking;
pub(crate) mod body;
mod defaults;
pub(crate) mod entered;
pub(crate) mod faults;
pub(crate) mod fields;
pub(crate) mod listing;
mod lists;
pub(crate) mod model;
pub(crate) mod navigation;
pub(crate) mod reading;
pub(crate) mod record;
pub(crate) mod references;
mod routes;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod sending;
pub(crate) mod showing;
pub(crate) mod visible;
#[cfg(test)]
mod weight;
