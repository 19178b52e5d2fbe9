//! What the tests share: databases, a shop in this process, the program as a process of its own, and
//! the parties around it. Nothing here tests anything.

pub mod bare;
pub mod browser;
pub mod certificate;
pub mod databases;
pub mod fixture;
pub mod harness;
pub mod ledger;
#[path = "../../permissive.rs"]
pub mod permissive;
pub mod process;
pub mod project;
pub mod proxy;
pub mod smtp;
pub mod tables;
pub mod visitor;
pub mod waiting;
