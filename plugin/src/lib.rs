//! An online store's web services as an extension of a content-management host.
//!
//! The library exports one plugin; see `host_interface` for how a host loads it. The modules are
//! public so that the tests can reach them, and are no interface for anyone else.

pub mod app;
pub mod approach;
pub mod boundary;
pub mod copy;
pub mod crud;
pub mod demo;
pub mod dialect;
pub mod document;
pub mod error;
pub mod logging;
pub mod notification;
pub mod openapi;
pub mod outbox;
pub mod parameters;
pub mod plan;
pub mod reference;
pub mod request;
pub mod resource;
pub mod resources;
pub mod schema;
pub mod sql;
pub mod store;
pub mod texts;
pub mod value;

host_interface::export_plugin!(boundary::ShopPlugin);
