//! What is done with a record, whichever resource it is of: the five operations, and the mails that a write
//! leaves. It knows no routes.

pub mod crud;
pub mod notification;
pub mod outbox;
