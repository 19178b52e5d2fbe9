//! What the tests and the benchmarks share: a host that permits everything, for looking at the store
//! without one, and how programs are measured.

use host_interface::{BoxFuture, Error, Host, LogRecord, Mail, User, UserQuery};

/// Permits everything, knows nobody, and has set no parameter.
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
        let declared = plugin::parameters::declared();
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

/// The value in the middle; 0 where there is none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The processor time that a process has used so far, in seconds; 0 where the system does not tell.
#[allow(clippy::float_arithmetic, reason = "time is no money")]
pub fn processor_time(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may have spaces; the 12th and 13th field after it count ticks.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
