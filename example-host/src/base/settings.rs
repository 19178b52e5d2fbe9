//! Settings from the environment. The variables and their defaults are in `variables.rs`, options of the command
//! line in `cli/arguments.rs`, parameters of extensions in `extensions/parameters.rs`.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use lettre::message::Mailbox;

use crate::base::secret_key::{SecretKey, SecretKeyError};
use crate::base::smtp_url::{SmtpUrl, SmtpUrlError};
use crate::base::text;
use crate::base::tls_files::{HalfTls, TlsFiles};
use crate::base::variables::{self, Variable};

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
    /// The networks that extensions may send requests to, although they are not public.
    pub deliver_to: Vec<IpNet>,
    /// The key that secrets are encrypted with. Without one, it is in a file beside the database.
    pub secret_key: Option<SecretKey>,
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

/// Whether users of the administration have second factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecondFactors {
    /// They are neither set up nor asked for.
    Off,
    /// Users may set one up, and those of some groups have to.
    #[default]
    Allowed,
    /// Every user has to set one up.
    Required,
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
    /// The maximum size in bytes of a file of records that an extension imports, once it is expanded.
    pub import_limit: usize,
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
    /// Whether users of the administration have second factors.
    pub second_factors: SecondFactors,
    /// Whether users may choose a new password by a link in a mail.
    pub password_reset: bool,
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
        Settings::default().server
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
    /// The address of the site in links, such as `https://www.example.com`. Without it, no links are sent.
    pub site_url: Option<String>,
}

impl Default for MailSettings {
    fn default() -> Self {
        Settings::default().mail
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
    /// The key for secrets is not valid. It is not shown.
    #[error("HOST_SECRET_KEY {0}")]
    SecretKey(#[from] SecretKeyError),
    /// A certificate without a key, or a key without a certificate.
    #[error(transparent)]
    HalfTls(#[from] HalfTls),
}

impl Default for Settings {
    #[allow(clippy::expect_used, reason = "the defaults are constants, and a test reads them")]
    fn default() -> Self {
        Self::read(|_| None).expect("the defaults are valid")
    }
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
        let from = Source(source);
        Ok(Self {
            log: from.text(&variables::HOST_LOG),
            log_filter_file: from.given(&variables::HOST_LOG_FILTER_FILE).map(PathBuf::from),
            log_format: from.word(
                &variables::HOST_LOG_FORMAT,
                "text or json",
                &[("text", LogFormat::Text), ("json", LogFormat::Json)],
            )?,
            server: ServerSettings {
                cors_origins: from.list(
                    &variables::HOST_CORS_ORIGINS,
                    "a comma-separated list of origins like https://www.example.com",
                    origin,
                )?,
                request_timeout: from.seconds(&variables::HOST_REQUEST_TIMEOUT)?,
                header_timeout: from.seconds(&variables::HOST_HEADER_TIMEOUT)?,
                stall_timeout: from.seconds(&variables::HOST_STALL_TIMEOUT)?,
                // A semaphore panics if it is given more permits than this.
                connections: from
                    .count(&variables::HOST_CONNECTIONS)?
                    .min(tokio::sync::Semaphore::MAX_PERMITS),
                connections_per_address: from.count(&variables::HOST_CONNECTIONS_PER_ADDRESS)?,
                waiters: from.count_or_none(&variables::HOST_WAITERS)?,
                body_limit: from.bytes(&variables::HOST_BODY_LIMIT)?,
                import_limit: from.bytes(&variables::HOST_IMPORT_LIMIT)?,
                answer_limit: from.bytes(&variables::HOST_ANSWER_LIMIT)?,
                stream_above: from.bytes(&variables::HOST_STREAM_ABOVE)?,
                tls: TlsFiles::both(
                    from.given(&variables::HOST_TLS_CERT).map(PathBuf::from),
                    from.given(&variables::HOST_TLS_KEY).map(PathBuf::from),
                )?,
                hsts_max_age: from.seconds_or_none(&variables::HOST_HSTS_MAX_AGE)?.as_secs(),
                trusted_proxies: from.list(
                    &variables::HOST_TRUSTED_PROXIES,
                    NETWORKS,
                    text::network,
                )?,
                drain_time: from.seconds_or_none(&variables::HOST_DRAIN_TIME)?,
                stop_timeout: from.seconds(&variables::HOST_STOP_TIMEOUT)?,
                second_factors: from.word(
                    &variables::HOST_SECOND_FACTOR,
                    "off, allowed or required",
                    &[
                        ("off", SecondFactors::Off),
                        ("allowed", SecondFactors::Allowed),
                        ("required", SecondFactors::Required),
                    ],
                )?,
                password_reset: from.word(
                    &variables::HOST_PASSWORD_RESET,
                    "on or off",
                    &[("on", true), ("off", false)],
                )?,
                audit_entries: from.number(
                    &variables::HOST_AUDIT_ENTRIES,
                    "a number greater than 0",
                    1,
                )?,
                audit_days: from.number(
                    &variables::HOST_AUDIT_DAYS,
                    "a number of days greater than 0",
                    1,
                )?,
            },
            mail: MailSettings {
                from: from.parsed(
                    &variables::HOST_MAIL_FROM,
                    "an address like site@example.com or My site <site@example.com>",
                    |value| value.parse().ok(),
                )?,
                server: from
                    .given(&variables::HOST_SMTP_URL)
                    .map(|value| value.parse())
                    .transpose()?,
                timeout: from.seconds(&variables::HOST_SMTP_TIMEOUT)?,
                site_url: match from.given(&variables::HOST_URL) {
                    Some(_) => Some(from.parsed(
                        &variables::HOST_URL,
                        "an address like https://www.example.com, without a path",
                        |value| origin(value.trim_end_matches('/')),
                    )?),
                    None => None,
                },
            },
            token_lifetime: match from.number(
                &variables::HOST_TOKEN_LIFETIME,
                "a number of days, or 0 for no limit",
                0,
            )? {
                0 => None,
                days => Some(Duration::from_secs(days.saturating_mul(24 * 60 * 60))),
            },
            deliver_to: from.list(&variables::HOST_DELIVER_TO, NETWORKS, text::network)?,
            secret_key: from
                .given(&variables::HOST_SECRET_KEY)
                .map(|value| value.parse())
                .transpose()?,
            metrics: from.given(&variables::HOST_METRICS),
        })
    }
}

/// What a list of networks is.
const NETWORKS: &str = "a comma-separated list of addresses and networks like 10.0.0.0/8";

/// Where the values of variables come from.
struct Source<F>(F);

impl<F: Fn(&str) -> Option<String>> Source<F> {
    /// The value of a variable, if it is set and not empty.
    fn given(&self, variable: &Variable) -> Option<String> {
        self.0(variable.name).filter(|value| !value.is_empty())
    }

    /// The value of a variable, or its default.
    fn text(&self, variable: &Variable) -> String {
        self.given(variable).unwrap_or_else(|| variable.default.to_owned())
    }

    fn parsed<T>(
        &self,
        variable: &Variable,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, SettingsError> {
        let value = self.text(variable);
        parse(&value).ok_or(SettingsError::Value { name: variable.name, expected, value })
    }

    /// The meaning of one of some words.
    fn word<T: Copy>(
        &self,
        variable: &Variable,
        expected: &'static str,
        words: &[(&str, T)],
    ) -> Result<T, SettingsError> {
        let meaning = |value: &str| words.iter().find(|(word, _)| *word == value);
        self.parsed(variable, expected, |value| meaning(value).map(|(_, meaning)| *meaning))
    }

    /// The items of a comma-separated list.
    fn list<T>(
        &self,
        variable: &Variable,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, SettingsError> {
        let value = self.text(variable);
        let items = value.split(',').map(str::trim).filter(|item| !item.is_empty());
        let wrong = |item: &str| SettingsError::Value {
            name: variable.name,
            expected,
            value: item.to_owned(),
        };
        items.map(|item| parse(item).ok_or_else(|| wrong(item))).collect()
    }

    fn number(
        &self,
        variable: &Variable,
        expected: &'static str,
        least: u64,
    ) -> Result<u64, SettingsError> {
        self.parsed(variable, expected, |value| value.parse().ok().filter(|all| *all >= least))
    }

    fn seconds(&self, variable: &Variable) -> Result<Duration, SettingsError> {
        self.number(variable, "a number of seconds greater than 0", 1).map(Duration::from_secs)
    }

    fn seconds_or_none(&self, variable: &Variable) -> Result<Duration, SettingsError> {
        self.number(variable, "a number of seconds, or 0 for none", 0).map(Duration::from_secs)
    }

    fn bytes(&self, variable: &Variable) -> Result<usize, SettingsError> {
        self.number(variable, "a number of bytes greater than 0", 1).map(at_most)
    }

    fn count(&self, variable: &Variable) -> Result<usize, SettingsError> {
        self.number(variable, "a number greater than 0", 1).map(at_most)
    }

    fn count_or_none(&self, variable: &Variable) -> Result<usize, SettingsError> {
        self.number(variable, "a number, or 0 for none", 0).map(at_most)
    }
}

/// A number, or the greatest one that fits.
fn at_most(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// An origin. `*` is none: a site has to name the origins that it trusts.
fn origin(value: &str) -> Option<String> {
    let well_formed = value.parse::<axum::http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            // An origin has no path; a parsed URI always has at least `/`.
            && !value.ends_with('/')
            && uri.path() == "/"
            && uri.query().is_none()
            && !value.contains(['#', '@', '*'])
    });
    well_formed.then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings, SettingsError> {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn without_variables_the_defaults_apply() {
        let settings = Settings::default();
        assert_eq!(settings.server.request_timeout, Duration::from_secs(30));
        assert_eq!((settings.log.as_str(), settings.token_lifetime), ("info", None));
        assert_eq!(settings.mail.from.to_string(), "no-reply@localhost");
        let empty = Settings::read(|_| Some(String::new())).map(|settings| settings.server);
        assert_eq!(empty, Ok(ServerSettings::default()));
    }

    #[test]
    fn the_address_of_the_site_has_a_scheme_and_no_path() {
        let url = |value| read("HOST_URL", value).map(|settings| settings.mail.site_url);
        for value in ["https://www.example.com", "https://www.example.com/"] {
            assert_eq!(url(value), Ok(Some("https://www.example.com".to_owned())));
        }
        assert_eq!(url(""), Ok(None));
        for wrong in ["www.example.com", "https://www.example.com/x", "ftp://a", "https://a?b"] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn second_factors_and_links_are_words() {
        let read = |name, value| read(name, value).map(|settings| settings.server);
        let second_factors = |value| read("HOST_SECOND_FACTOR", value).map(|of| of.second_factors);
        assert_eq!(second_factors("required"), Ok(SecondFactors::Required));
        assert_eq!(second_factors(""), Ok(SecondFactors::Allowed));
        assert_eq!(second_factors("off"), Ok(SecondFactors::Off));
        assert!(second_factors("Required").is_err());
        let links = |value| read("HOST_PASSWORD_RESET", value).map(|of| of.password_reset);
        assert_eq!([links("on"), links("off"), links("")], [Ok(true), Ok(false), Ok(true)]);
        assert!(links("yes").is_err());
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
    fn networks_and_keys_are_read_and_a_wrong_key_is_not_shown() {
        let networks = |value| read("HOST_DELIVER_TO", value).map(|settings| settings.deliver_to);
        assert_eq!(networks("10.0.0.0/8, fd00::/8,127.0.0.1").map(|list| list.len()), Ok(3));
        for wrong in ["10.0.0.0/33", "localhost", "10.0.0.0-10.0.0.9", "*"] {
            assert!(networks(wrong).is_err(), "{wrong}");
        }
        let key = |value| read("HOST_SECRET_KEY", value).map(|settings| settings.secret_key);
        assert!(key("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").is_ok_and(|key| key.is_some()));
        let wrong = key("s3cret").map_err(|error| (error.to_string(), format!("{error:?}")));
        assert!(wrong.is_err_and(|(text, debug)| {
            text.starts_with("HOST_SECRET_KEY must be") && !(text + &debug).contains("s3cret")
        }));
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
            "HOST_IMPORT_LIMIT",
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
