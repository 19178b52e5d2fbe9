//! Requests and responses: permissions, syntax, and the common behaviour of all resources.

#[cfg(engine = "sqlite")] // Permissions are decided in memory.
mod access;
#[cfg(engine = "sqlite")] // A body is parsed before any SQL.
mod bodies;
#[cfg(engine = "sqlite")] // `engines` checks that engines answer alike.
mod clients;
mod examples;
#[cfg(engine = "sqlite")] // Parsers use no database.
mod generated;
#[cfg(engine = "sqlite")] // Other tests send the same statements.
mod links;
#[cfg(engine = "sqlite")] // `engines` checks that engines answer alike.
mod openapi;
mod paging;
#[cfg(engine = "sqlite")] // `versions` compares them on each engine.
mod preconditions;
#[cfg(engine = "sqlite")] // The document is made from descriptions.
mod published;
mod queries;
#[cfg(engine = "sqlite")] // Responses are built from finished answers.
mod responses;
#[cfg(engine = "sqlite")] // What a token may do is decided in memory.
mod scopes;
mod search;
mod selection;
mod specification;
#[cfg(engine = "sqlite")] // Parsers use no database.
mod values;
