//! The calls, compiled with version 1.0 of the contract.

use contract_1_0 as contract;

#[path = "calls.rs"]
mod calls;

pub use calls::Calls;
