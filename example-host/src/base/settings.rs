//! Settings from the environment, with their defaults. Options of the command line are in
//! `cli/arguments.rs`, parameters of extensions in `extensions/parameters.rs`.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use lettre::Address;
use lettre::message::Mailbox;

use crate::base::smtp_url::{SmtpUrl, SmtpUrlError};
use crate::base::text;
use crate::base::tls_files::{HalfTls, TlsFiles};

/// How the program logs and serves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which lines are logged, as a filter of `tracing`.
    pub log: String,
    /// A file with that filter, which takes precedence. It is read anew on SIGHUP.
    pub log_filter_file: Option<PathBuf>,
    /// How lines are written.
    pub log_format: LogFormat,
    /// How requests are served.
    pub server: ServerSettings,
    /// How mails are sent.
    pub mail: MailSettings,
    /// The longest life of a token; by default it is not limited.
    pub token_lifetime: Option<Duration>,
    /// Where the metrics are served, as `address:port`; by default they are not served.
    pub metrics: Option<String>,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// How requests are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The origins whose pages may call the API, for example `https://www.example.com`.
    pub cors_origins: Vec<String>,
    /// How long a request may take, its body included, and without the time for which it waits.
    pub request_timeout: Duration,
    /// How long a client may take to send a request's headers.
    pub header_timeout: Duration,
    /// How long a client may pause while it sends a body or reads an answer.
    pub stall_timeout: Duration,
    /// How many connections may be open, and how many changes may run at the same time. At the
    /// limit, idle connections are closed for new ones; if there are none, new connections get a
    /// 503.
    pub connections: usize,
    /// How many connections one client may have, by its address; an IPv6 network counts as one
    /// client.
    pub connections_per_address: usize,
    /// How many requests may wait for something to answer; their connections count towards neither
    /// limit for so long. With 0 none waits.
    pub waiters: usize,
    /// The maximum size of a request's body in bytes.
    pub body_limit: usize,
    /// The maximum size of an answer of an extension in bytes, which the extension keeps to.
    pub answer_limit: usize,
    /// The size in bytes above which an extension gets a body in pieces, where it takes it so.
    pub stream_above: usize,
    /// The certificate to serve HTTPS with; without one, plain HTTP is served.
    pub tls: Option<TlsFiles>,
    /// For how many seconds browsers use only HTTPS for the site after they have visited it by
    /// HTTPS; with 0 no such header is sent.
    pub hsts_max_age: u64,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// How long requests are still answered after the signal to stop, while clients and balancers
    /// are sent to another host. By default not at all.
    pub drain_time: Duration,
    /// The time limit for stopping, after that.
    pub stop_timeout: Duration,
    /// How many entries the audit trail keeps, besides those that are kept for a number of days; the oldest
    /// are removed first.
    pub audit_entries: u64,
    /// For how many days the audit trail keeps entries about users, groups, rules, tokens, extensions and
    /// parameters.
    pub audit_days: u64,
}

impl ServerSettings {
    /// The scheme of the site's addresses.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            cors_origins: Vec::new(),
            request_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(10),
            connections: 1024,
            connections_per_address: 256,
            waiters: 1000,
            body_limit: 1024 * 1024,
            answer_limit: 8 * 1024 * 1024,
            stream_above: 64 * 1024,
            tls: None,
            hsts_max_age: 365 * 24 * 60 * 60,
            trusted_proxies: Vec::new(),
            drain_time: Duration::ZERO,
            stop_timeout: Duration::from_secs(25),
            audit_entries: 100_000,
            audit_days: 365,
        }
    }
}

/// How mails are sent.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// The sender of the mails.
    pub from: Mailbox,
    /// The mail server. Without one, mails are written into a folder beside the database.
    pub server: Option<SmtpUrl>,
    /// The time limit for sending a mail to the server.
    pub timeout: Duration,
}

impl Default for MailSettings {
    fn default() -> Self {
        let from = Mailbox::new(None, Address::new_dangerous("no-reply", "localhost"));
        Self { from, server: None, timeout: Duration::from_secs(30) }
    }
}

/// An environment variable with a value that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The value is not of the expected form.
    #[error("{name} must be {expected}, not {value:?}")]
    Value {
        /// The variable.
        name: &'static str,
        /// The expected form.
        expected: &'static str,
        /// The value.
        value: String,
    },
    /// The address of the mail server is not valid. It is not shown, because it may contain a
    /// password.
    #[error("HOST_SMTP_URL {0}; expected, for example, smtps://user:password@mail.example.com")]
    SmtpUrl(#[from] SmtpUrlError),
    /// A certificate without a key, or a key without a certificate.
    #[error(transparent)]
    HalfTls(#[from] HalfTls),
}

impl Settings {
    /// Reads the settings of this process.
    ///
    /// # Errors
    /// When a variable has a value that is not valid.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads the settings from any source; an empty variable counts as not set.
    ///
    /// # Errors
    /// When a variable has a value that is not valid.
    pub fn read(source: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let get = |name| source(name).filter(|value| !value.is_empty());
        let number = |name, expected, default: u64| match get(name) {
            None => Ok(default),
            Some(value) => match value.parse() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(SettingsError::Value { name, expected, value }),
            },
        };
        let seconds = |name, default: Duration| {
            number(name, "a number of seconds greater than 0", default.as_secs())
                .map(Duration::from_secs)
        };
        let number_or_none = |name, expected, default| match get(name).as_deref() {
            Some("0") => Ok(0),
            _ => number(name, expected, default),
        };
        let seconds_or_none =
            |name, default| number_or_none(name, "a number of seconds, or 0 for none", default);
        let count = |name, expected, default: usize| {
            number(name, expected, default as u64)
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        let log_format = match get("HOST_LOG_FORMAT").as_deref() {
            None | Some("text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            Some(value) => {
                return Err(SettingsError::Value {
                    name: "HOST_LOG_FORMAT",
                    expected: "text or json",
                    value: value.to_owned(),
                });
            }
        };
        let default_mail = MailSettings::default();
        let mail = MailSettings {
            from: match get("HOST_MAIL_FROM") {
                None => default_mail.from,
                Some(value) => value.parse().map_err(|_| SettingsError::Value {
                    name: "HOST_MAIL_FROM",
                    expected: "an address like site@example.com or My site <site@example.com>",
                    value,
                })?,
            },
            server: get("HOST_SMTP_URL").map(|value| value.parse()).transpose()?,
            timeout: seconds("HOST_SMTP_TIMEOUT", default_mail.timeout)?,
        };
        let default = ServerSettings::default();
        // A semaphore panics if it is given more permits than this.
        let connections =
            count("HOST_CONNECTIONS", "a number greater than 0", default.connections)?
                .min(tokio::sync::Semaphore::MAX_PERMITS);
        Ok(Self {
            log: get("HOST_LOG").unwrap_or_else(|| "info".to_owned()),
            log_filter_file: get("HOST_LOG_FILTER_FILE").map(PathBuf::from),
            log_format,
            server: ServerSettings {
                cors_origins: origins(get("HOST_CORS_ORIGINS"))?,
                request_timeout: seconds("HOST_REQUEST_TIMEOUT", default.request_timeout)?,
                header_timeout: seconds("HOST_HEADER_TIMEOUT", default.header_timeout)?,
                stall_timeout: seconds("HOST_STALL_TIMEOUT", default.stall_timeout)?,
                connections,
                connections_per_address: count(
                    "HOST_CONNECTIONS_PER_ADDRESS",
                    "a number greater than 0",
                    default.connections_per_address,
                )?,
                waiters: number_or_none(
                    "HOST_WAITERS",
                    "a number, or 0 for none",
                    default.waiters as u64,
                )
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX))?,
                body_limit: count(
                    "HOST_BODY_LIMIT",
                    "a number of bytes greater than 0",
                    default.body_limit,
                )?,
                answer_limit: count(
                    "HOST_ANSWER_LIMIT",
                    "a number of bytes greater than 0",
                    default.answer_limit,
                )?,
                stream_above: count(
                    "HOST_STREAM_ABOVE",
                    "a number of bytes greater than 0",
                    default.stream_above,
                )?,
                tls: TlsFiles::both(
                    get("HOST_TLS_CERT").map(PathBuf::from),
                    get("HOST_TLS_KEY").map(PathBuf::from),
                )?,
                hsts_max_age: seconds_or_none("HOST_HSTS_MAX_AGE", default.hsts_max_age)?,
                trusted_proxies: networks(get("HOST_TRUSTED_PROXIES"))?,
                drain_time: seconds_or_none("HOST_DRAIN_TIME", default.drain_time.as_secs())
                    .map(Duration::from_secs)?,
                stop_timeout: seconds("HOST_STOP_TIMEOUT", default.stop_timeout)?,
                audit_entries: number(
                    "HOST_AUDIT_ENTRIES",
                    "a number greater than 0",
                    default.audit_entries,
                )?,
                audit_days: number(
                    "HOST_AUDIT_DAYS",
                    "a number of days greater than 0",
                    default.audit_days,
                )?,
            },
            mail,
            token_lifetime: match number_or_none(
                "HOST_TOKEN_LIFETIME",
                "a number of days, or 0 for no limit",
                0,
            )? {
                0 => None,
                days => Some(Duration::from_secs(days.saturating_mul(24 * 60 * 60))),
            },
            metrics: get("HOST_METRICS"),
        })
    }
}

/// The comma-separated addresses and networks.
fn networks(value: Option<String>) -> Result<Vec<IpNet>, SettingsError> {
    let value = value.unwrap_or_default();
    let networks = value.split(',').map(str::trim).filter(|network| !network.is_empty());
    networks
        .map(|network| {
            text::network(network).ok_or_else(|| SettingsError::Value {
                name: "HOST_TRUSTED_PROXIES",
                expected: "a comma-separated list of addresses and networks like 10.0.0.0/8",
                value: network.to_owned(),
            })
        })
        .collect()
}

/// The comma-separated origins. `*` is refused: a site has to name the origins that it trusts.
fn origins(value: Option<String>) -> Result<Vec<String>, SettingsError> {
    let value = value.unwrap_or_default();
    let origins = value.split(',').map(str::trim).filter(|origin| !origin.is_empty());
    origins
        .map(|origin| {
            let well_formed = origin.parse::<axum::http::Uri>().is_ok_and(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https"))
                    && uri.host().is_some_and(|host| !host.is_empty())
                    // An origin has no path; a parsed URI always has at least `/`.
                    && !origin.ends_with('/')
                    && uri.path() == "/"
                    && uri.query().is_none()
                    && !origin.contains(['#', '@', '*'])
            });
            if well_formed {
                Ok(origin.to_owned())
            } else {
                Err(SettingsError::Value {
                    name: "HOST_CORS_ORIGINS",
                    expected: "a comma-separated list of origins like https://www.example.com",
                    value: origin.to_owned(),
                })
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings, SettingsError> {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn without_variables_the_defaults_apply() {
        let settings = Settings::read(|_| None).map(|settings| settings.server);
        assert_eq!(settings, Ok(ServerSettings::default()));
        let empty = Settings::read(|_| Some(String::new())).map(|settings| settings.server);
        assert_eq!(empty, Ok(ServerSettings::default()));
    }

    #[test]
    fn origins_must_be_listed_one_by_one() {
        let origins =
            |value| read("HOST_CORS_ORIGINS", value).map(|settings| settings.server.cors_origins);
        assert_eq!(
            origins("https://a.example, http://localhost:3000"),
            Ok(vec!["https://a.example".to_owned(), "http://localhost:3000".to_owned()])
        );
        for wrong in ["*", "a.example", "https://a.example/", "https://a.example/x", "ftp://a"] {
            assert!(origins(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_must_be_greater_than_zero() {
        for name in [
            "HOST_REQUEST_TIMEOUT",
            "HOST_STALL_TIMEOUT",
            "HOST_STOP_TIMEOUT",
            "HOST_CONNECTIONS",
            "HOST_CONNECTIONS_PER_ADDRESS",
            "HOST_BODY_LIMIT",
            "HOST_ANSWER_LIMIT",
            "HOST_STREAM_ABOVE",
            "HOST_AUDIT_ENTRIES",
            "HOST_AUDIT_DAYS",
        ] {
            assert!(read(name, "12").is_ok(), "{name}");
            for wrong in ["0", "-1", "x", "1.5"] {
                assert!(read(name, wrong).is_err(), "{name}={wrong}");
            }
        }
        let age = |value| read("HOST_HSTS_MAX_AGE", value).map(|all| all.server.hsts_max_age);
        assert_eq!((age("0"), age("60")), (Ok(0), Ok(60)));
        assert!(age("-1").is_err() && age("x").is_err());
        let drain = |value| read("HOST_DRAIN_TIME", value).map(|all| all.server.drain_time);
        assert_eq!((drain("0"), drain("10")), (Ok(Duration::ZERO), Ok(Duration::from_secs(10))));
        assert!(drain("-1").is_err() && drain("x").is_err());
        let waiters = |value| read("HOST_WAITERS", value).map(|all| all.server.waiters);
        assert_eq!((waiters("0"), waiters("7"), waiters("")), (Ok(0), Ok(7), Ok(1000)));
        assert!(waiters("-1").is_err() && waiters("x").is_err());
    }
}
