//! Many records at once, without a request: the records of a new store, the demo store, and the copy to
//! another database.

pub mod copy;
pub mod demo;
pub mod reference;
