//! The records of extensions, as their OpenAPI documents describe them: the types of a document, requests for their
//! records, and the answers. It knows neither a page nor a template, and of a store only what a document has.

pub(crate) mod asking;
mod defaults;
pub(crate) mod listing;
mod lists;
pub(crate) mod model;
pub(crate) mod navigation;
pub(crate) mod reading;
pub(crate) mod record;
mod routes;
pub(crate) mod schema;
pub(crate) mod showing;
pub(crate) mod visible;
