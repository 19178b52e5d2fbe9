//! A person's data: where it is, its copy, and its removal.

mod erasing;
mod keeping;
mod map;
mod marked;
mod routes;
