//! Settings that come from the environment alone, with their defaults. What has a flag too is in
//! `cli.rs`; what a site decides for its extensions is in `parameters.rs`.

use std::time::Duration;

/// How the program logs and serves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which lines are logged, in the form that `tracing` filters have.
    pub log: String,
    /// How lines are written.
    pub log_format: LogFormat,
    /// How requests are served.
    pub server: ServerSettings,
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
    /// The origins whose pages may call the interface, for example `https://shop.example.com`.
    pub cors_origins: Vec<String>,
    /// How long a request may take, its body included.
    pub request_timeout: Duration,
    /// How long a client may take to send a request's headers.
    pub header_timeout: Duration,
    /// How many connections may be open; more wait.
    pub connections: usize,
    /// How many bytes a request's body may have.
    pub body_limit: usize,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            cors_origins: Vec::new(),
            request_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(10),
            connections: 1024,
            body_limit: 1024 * 1024,
        }
    }
}

/// A variable of the environment that has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {expected}, not {value:?}")]
pub struct SettingsError {
    name: &'static str,
    expected: &'static str,
    value: String,
}

impl Settings {
    /// Reads the settings of this process.
    ///
    /// # Errors
    /// When a variable is set to something that has no meaning.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads the settings from any source; a variable that is empty counts as not set.
    ///
    /// # Errors
    /// When a variable is set to something that has no meaning.
    pub fn read(source: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let get = |name| source(name).filter(|value| !value.is_empty());
        let number = |name, expected, default: u64| match get(name) {
            None => Ok(default),
            Some(value) => match value.parse() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(SettingsError { name, expected, value }),
            },
        };
        let seconds = |name, default: Duration| {
            number(name, "a number of seconds greater than 0", default.as_secs())
                .map(Duration::from_secs)
        };
        let count = |name, expected, default: usize| {
            number(name, expected, default as u64)
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        let log_format = match get("HOST_LOG_FORMAT").as_deref() {
            None | Some("text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            Some(value) => {
                return Err(SettingsError {
                    name: "HOST_LOG_FORMAT",
                    expected: "text or json",
                    value: value.to_owned(),
                });
            }
        };
        let default = ServerSettings::default();
        // More permits than a semaphore can hold would be a panic.
        let connections =
            count("HOST_CONNECTIONS", "a number greater than 0", default.connections)?
                .min(tokio::sync::Semaphore::MAX_PERMITS);
        Ok(Self {
            log: get("HOST_LOG").unwrap_or_else(|| "info".to_owned()),
            log_format,
            server: ServerSettings {
                cors_origins: origins(get("HOST_CORS_ORIGINS"))?,
                request_timeout: seconds("HOST_REQUEST_TIMEOUT", default.request_timeout)?,
                header_timeout: seconds("HOST_HEADER_TIMEOUT", default.header_timeout)?,
                connections,
                body_limit: count(
                    "HOST_BODY_LIMIT",
                    "a number of bytes greater than 0",
                    default.body_limit,
                )?,
            },
        })
    }
}

/// The comma-separated origins. `*` is none: a site names whom it trusts.
fn origins(value: Option<String>) -> Result<Vec<String>, SettingsError> {
    let value = value.unwrap_or_default();
    let origins = value.split(',').map(str::trim).filter(|origin| !origin.is_empty());
    origins
        .map(|origin| {
            let well_formed = origin.parse::<axum::http::Uri>().is_ok_and(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https"))
                    && uri.host().is_some_and(|host| !host.is_empty())
                    // An origin ends with the host and port; a URI has a path at least of `/`.
                    && !origin.ends_with('/')
                    && uri.path() == "/"
                    && uri.query().is_none()
                    && !origin.contains(['#', '@', '*'])
            });
            if well_formed {
                Ok(origin.to_owned())
            } else {
                Err(SettingsError {
                    name: "HOST_CORS_ORIGINS",
                    expected: "a comma-separated list of origins like https://shop.example.com",
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
    fn nothing_set_means_the_defaults() {
        let settings = Settings::read(|_| None).map(|settings| settings.server);
        assert_eq!(settings, Ok(ServerSettings::default()));
        let empty = Settings::read(|_| Some(String::new())).map(|settings| settings.server);
        assert_eq!(empty, Ok(ServerSettings::default()));
    }

    #[test]
    fn origins_are_named_one_by_one() {
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
    fn numbers_are_greater_than_zero() {
        for name in ["HOST_REQUEST_TIMEOUT", "HOST_CONNECTIONS", "HOST_BODY_LIMIT"] {
            assert!(read(name, "12").is_ok(), "{name}");
            for wrong in ["0", "-1", "x", "1.5"] {
                assert!(read(name, wrong).is_err(), "{name}={wrong}");
            }
        }
    }
}
