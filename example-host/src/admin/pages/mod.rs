//! The pages, one file for each subject: the content of a page, the change that its form makes, and
//! its template in `templates/admin`. Paths and required permissions are in `admin/mod.rs`.

pub(super) mod account;
pub(super) mod api;
pub(super) mod audit;
mod chart;
pub(super) mod dashboard;
pub(super) mod export;
pub(super) mod extensions;
pub(super) mod groups;
pub(super) mod import;
mod import_report;
pub(super) mod panels;
pub(super) mod parameters;
pub(super) mod permissions;
pub(super) mod privacy;
pub(super) mod records;
pub(super) mod second_factor;
pub(super) mod token;
pub(super) mod token_new;
pub(super) mod token_rotate;
pub(super) mod tokens;
pub(super) mod users;
pub(super) mod why;
