//! Sends the requests of extensions to other sites, and to nothing else: resolution, the check of addresses, TLS and
//! limits of time are here, so that no extension opens a connection. Does not know what is sent, nor when it is
//! sent again.

mod addresses;
mod connection;
mod message;
mod names;
mod pool;
mod retry_after;
mod sender;
mod target;
mod tls;
mod undelivered;

pub(crate) use self::sender::Sender;
