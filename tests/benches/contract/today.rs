//! The calls, compiled with today's contract.

use host_interface as contract;

#[path = "calls.rs"]
mod calls;

pub use calls::Calls;
