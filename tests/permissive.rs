//! A host and a caller that permit everything, for using the store without a real host. The tests and
//! the benchmarks share them.

use std::sync::Arc;

use host_interface::{
    Caller, Denial, Error, Host, LogRecord, Mail, Principal, User, UserQuery, fact,
};

/// Has set no parameter, and has no users.
#[derive(Debug)]
pub struct PermissiveHost;

impl Host for PermissiveHost {
    async fn find_user(self: Arc<Self>, _query: UserQuery) -> Result<Option<User>, Error> {
        Ok(None)
    }

    async fn send_mail(self: Arc<Self>, _mail: Mail) -> Result<(), Error> {
        Ok(())
    }

    fn log(&self, record: &LogRecord<'_>) {
        eprintln!("{}: {} {}", record.target(), record.message(), record.fields());
    }
}

/// A user who may do everything.
pub fn permitted(user: User) -> Caller {
    Caller::new(Permitted(user))
}

struct Permitted(User);

impl Principal for Permitted {
    fn user(&self) -> i64 {
        self.0.id
    }

    fn fact(&self, name: &str) -> Option<&str> {
        match name {
            fact::USER_EMAIL => Some(&self.0.email),
            _ => None,
        }
    }

    fn may(&self, _action: &str, _asset: &str) -> Result<(), Denial> {
        Ok(())
    }
}
