//! Many records at once, without a request: the records of a new store, the demo store, the copy to
//! another database, and the comparison of kept numbers with all of them.

pub mod copy;
pub mod demo;
pub mod maintenance;
pub mod reference;
