//! The administration: its pages, read by programs and in a browser, and its security.

#[cfg(engine = "sqlite")] // It sends requests, which other tests make on each engine.
mod api_explorer;
mod audit_trail;
#[cfg(engine = "sqlite")] // Templates and styles are the same on each.
mod browser;
mod extensions;
mod pages;
mod sessions;
mod trust;
mod users;
