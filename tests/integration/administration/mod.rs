//! The administration: its pages, in programs and in a browser, and whom it trusts.

mod api_explorer;
mod audit_trail;
mod browser;
mod extensions;
mod pages;
mod sessions;
mod trust;
mod users;
