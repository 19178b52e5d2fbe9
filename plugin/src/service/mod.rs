//! What is done with a record, whichever resource it is of: the five operations, and the mails that a write
//! leaves. It knows no routes, and no resource in particular.

pub mod call;
pub mod crud;
pub mod hooks;
pub mod notification;
pub mod outbox;
pub mod settings;
