//! Requests and answers: who may ask for what, how it is written, and what every resource has in common.

mod access;
mod generated;
mod openapi;
mod requests;
pub mod specification;
mod values;
