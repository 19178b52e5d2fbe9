//! Requests and answers: who may ask for what, how it is written, and what every resource has in common.

mod access;
mod bodies;
mod generated;
mod openapi;
mod paging;
mod queries;
mod responses;
mod search;
pub mod specification;
mod values;
