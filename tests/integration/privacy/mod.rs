//! A person's data: where it is, its copy, and its removal.

mod copying;
mod erasing;
mod keeping;
mod killing;
mod map;
mod marked;
mod restoring;
mod retaining;
#[cfg(engine = "sqlite")] // Other tests send the same statements.
mod routes;
