//! Stand-ins for what the files of the project import, under the same names.

/// A user, as the contract has it.
pub struct Caller(pub i64);

impl Caller {
    /// The id of the user.
    pub fn user(&self) -> i64 {
        self.0
    }
}

/// A request of the contract: who sends it, and its key.
pub struct Request(pub Caller, pub String);

impl Request {
    /// Who sends it.
    pub fn caller(&self) -> Option<&Caller> {
        Some(&self.0)
    }
}

/// The state of a rate, as headers have it.
#[derive(Debug, PartialEq, Eq)]
pub struct RateLimit {
    pub quota: u64,
    pub window: u64,
    pub remaining: u64,
    pub reset: u64,
}

/// The errors of plugin and host.
pub mod error {
    use std::sync::Arc;

    /// An error of either.
    #[derive(Debug)]
    pub enum Error {
        /// A fault.
        Fault(FaultKind),
        /// An error of a computation, for each request that shares it.
        Shared(Arc<Error>),
        /// Something that should not be.
        Contract(&'static str),
        /// The database is busy.
        Unavailable,
    }

    impl std::fmt::Display for Error {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            std::fmt::Debug::fmt(self, f)
        }
    }

    /// The kinds of faults.
    #[derive(Debug, PartialEq, Eq)]
    pub enum FaultKind {
        /// Another request with the key is in progress.
        RequestInProgress,
    }

    /// A fault.
    pub struct Fault(FaultKind);

    impl Fault {
        /// A fault of a header.
        pub fn at_header(kind: FaultKind, _name: &str, _detail: impl Into<String>) -> Self {
            Self(kind)
        }
    }

    impl From<Fault> for Error {
        fn from(fault: Fault) -> Self {
            Self::Fault(fault.0)
        }
    }
}

/// Where the host has its errors and locks.
pub mod base {
    pub(crate) use crate::lock;

    pub use super::error;
}

/// The plugin's store.
pub mod store {
    /// The error of a store without a free connection.
    pub fn busy() -> super::error::Error {
        super::error::Error::Unavailable
    }
}

/// What the plugin reads of a request.
pub mod wire {
    /// Its key.
    pub mod idempotency {
        use crate::{Request, error::Fault};

        /// A key and the digest of its request.
        pub struct Key {
            pub text: String,
            pub fingerprint: String,
        }

        impl Key {
            /// The key of a request.
            ///
            /// # Errors
            /// None here.
            pub fn of(request: &Request) -> Result<Option<Self>, Fault> {
                Ok(Some(Self { text: request.1.clone(), fingerprint: String::new() }))
            }
        }
    }
}

/// The clients of a host.
pub mod client {
    /// The address of one.
    pub struct ClientAddress(std::net::IpAddr);

    impl ClientAddress {
        /// What it is counted by.
        pub fn block(&self) -> std::net::IpAddr {
            self.0
        }
    }
}

/// A database with nothing but the counts of tokens, for the four statements of the rates.
pub mod database {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Mutex;

    use super::error::Error;

    /// What a host has of the database. Its clock stands.
    #[derive(Default)]
    pub struct Database {
        transactions: Arc<Mutex<Connection>>,
        ended: AtomicUsize,
    }

    /// A transaction.
    #[derive(Default)]
    pub struct Connection(BTreeMap<(i64, i64), i64>);

    /// A statement with its values.
    pub struct Statement(&'static str, Vec<i64>);

    /// A statement.
    pub fn sql(text: &'static str) -> Statement {
        Statement(text, Vec::new())
    }

    impl Statement {
        /// One more value.
        pub fn bind(mut self, value: i64) -> Self {
            self.1.push(value);
            self
        }
    }

    impl Database {
        /// The same database, as another host has it.
        pub fn of_another_host(&self) -> Self {
            Self { transactions: Arc::clone(&self.transactions), ended: AtomicUsize::new(0) }
        }

        /// How many transactions of this host have ended.
        pub fn ended(&self) -> usize {
            self.ended.load(Ordering::SeqCst)
        }

        /// Does the work of a transaction, one at a time.
        pub async fn transact<T>(
            &self,
            work: impl AsyncFnOnce(&mut Connection) -> Result<T, Error>,
        ) -> Result<T, Error> {
            // The way to a server, on which a host may end.
            tokio::task::yield_now().await;
            let done = work(&mut *self.transactions.lock().await).await;
            self.ended.fetch_add(1, Ordering::SeqCst);
            done
        }
    }

    impl Connection {
        pub(crate) async fn now(&self) -> Result<i64, Error> {
            Ok(90_000)
        }

        /// Adds to the count of a token in a minute, or sets the first one.
        pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, Error> {
            match (statement.0.split(' ').next(), statement.1.as_slice()) {
                (Some("UPDATE"), [count, token, minute]) => {
                    let Some(used) = self.0.get_mut(&(*token, *minute)) else { return Ok(0) };
                    *used += count;
                }
                (Some("INSERT"), [minute, count, token]) => {
                    self.0.insert((*token, *minute), *count);
                }
                // All counts are of this minute.
                _ => return Ok(0),
            }
            Ok(1)
        }

        /// The counts of a token, each with its minute.
        pub(crate) async fn fetch_all(
            &self,
            statement: Statement,
        ) -> Result<Vec<(i64, i64)>, Error> {
            let of = |(token, _): &(i64, i64)| statement.1.first() == Some(token);
            Ok(self
                .0
                .iter()
                .filter(|(key, _)| of(key))
                .map(|((_, minute), used)| (*minute, *used))
                .collect())
        }
    }

    macro_rules! transact {
        ($database:expr, |$transaction:ident| $work:expr) => {
            $database.transact(async |$transaction| $work).await
        };
    }
    pub(crate) use transact;
}
