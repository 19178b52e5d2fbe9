//! Operations on records of any resource: the five standard ones, and the mails that a write sends.
//! It is independent of routes and of particular resources.

pub mod call;
mod compound;
pub mod crud;
pub mod hooks;
pub mod notification;
pub mod outbox;
pub mod settings;
