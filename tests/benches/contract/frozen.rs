//! The calls, compiled with version 1.0 of the contract.

use contract_1_0 as contract;

#[allow(dead_code, reason = "pieces are measured with today's contract")]
#[path = "calls.rs"]
mod calls;

pub use calls::Calls;
