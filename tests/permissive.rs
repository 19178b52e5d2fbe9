//! A host that permits everything, for using the store without a real host. The tests and the
//! benchmarks share it.

use host_interface::{BoxFuture, Error, Host, LogRecord, Mail, User, UserQuery};

/// Permits everything, has no users, and has set no parameter.
#[derive(Debug)]
pub struct PermissiveHost;

impl Host for PermissiveHost {
    fn authorise(&self, _user: i64, _action: &str, _asset: &str) -> bool {
        true
    }

    fn find_user(&self, _query: UserQuery) -> BoxFuture<Result<Option<User>, Error>> {
        BoxFuture::ready(Ok(None))
    }

    fn parameters(&self) -> String {
        let declared = plugin::model::parameters::declared();
        let defaults = declared.into_iter().map(|parameter| (parameter.name, parameter.default));
        serde_json::Value::Object(defaults.collect()).to_string()
    }

    fn parameters_revision(&self) -> u64 {
        1
    }

    fn send_mail(&self, _mail: Mail) -> BoxFuture<Result<(), Error>> {
        BoxFuture::ready(Ok(()))
    }

    fn log(&self, record: &LogRecord<'_>) {
        eprintln!("{}: {} {}", record.target(), record.message(), record.fields());
    }
}
