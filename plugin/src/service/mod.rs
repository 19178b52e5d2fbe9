//! Operations on records of any resource: the five standard ones, the mails that a write sends,
//! and writes that happen once.
//! It is independent of routes and of particular resources.

pub mod answers;
pub mod call;
mod compound;
pub mod crud;
pub mod hooks;
pub mod key_queue;
pub mod notification;
pub mod once;
pub mod outbox;
pub mod pieces;
mod references;
pub mod settings;
pub mod taken;
mod template;
pub mod write;
