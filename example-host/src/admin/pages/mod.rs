//! The pages, one file for each subject: what a page shows, what its form changes, and its template
//! in `templates/admin`. Where a page is, who may see it and what is done for all of them is not
//! known here.

pub(super) mod account;
pub(super) mod api;
pub(super) mod audit;
mod chart;
pub(super) mod dashboard;
pub(super) mod extensions;
pub(super) mod groups;
pub(super) mod parameters;
pub(super) mod permissions;
mod sales;
pub(super) mod token;
pub(super) mod users;
pub(super) mod why;
