//! The address of a mail server: host, port, encryption and credentials. Opens no connection.

use std::str::FromStr;

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT};
use percent_encoding::percent_decode_str;
use url::Url;

/// The address of a mail server: `smtps://user:password@mail.example.com`.
///
/// | address | meaning | port |
/// |---|---|---|
/// | `smtps://…` | TLS from the start | 465 |
/// | `smtp://…?tls=required` | TLS by STARTTLS, and no mail without it | 587 |
/// | `smtp://…?tls=opportunistic` | TLS if the server offers it | 587 |
/// | `smtp://…` | no encryption, for a server on the same machine | 25 |
///
/// User, password and port are optional. A path is the name that is sent in the greeting.
#[derive(Clone, Debug)]
pub struct SmtpUrl {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) greeting: ClientId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    None,
    Opportunistic,
    Required,
    Wrapped,
}

/// Why the address of a mail server is not valid. Never shows the address, which may contain a
/// password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmtpUrlError {
    /// Not a URL.
    #[error("is not a URL")]
    Url,
    /// Another protocol.
    #[error("begins with neither smtp:// nor smtps://")]
    Scheme,
    /// The address has no host.
    #[error("names no host")]
    Host,
    /// An unknown option. It is refused, because a misspelt one would send mails unencrypted.
    #[error("has an option other than tls=required and tls=opportunistic for smtp://")]
    Option,
    /// A user without a password, or a password without a user.
    #[error("has a user without a password, or a password without a user")]
    Credentials,
}

impl FromStr for SmtpUrl {
    type Err = SmtpUrlError;

    fn from_str(text: &str) -> Result<Self, SmtpUrlError> {
        let url = Url::parse(text).map_err(|_| SmtpUrlError::Url)?;
        let options: Vec<_> = url.query_pairs().collect();
        let options: Vec<_> = options.iter().map(|(name, value)| (&**name, &**value)).collect();
        let (security, port) = match (url.scheme(), options.as_slice()) {
            ("smtps", []) => (Security::Wrapped, SUBMISSIONS_PORT),
            ("smtp", [("tls", "required")]) => (Security::Required, SUBMISSION_PORT),
            ("smtp", [("tls", "opportunistic")]) => (Security::Opportunistic, SUBMISSION_PORT),
            ("smtp", []) => (Security::None, SMTP_PORT),
            ("smtp" | "smtps", _) => return Err(SmtpUrlError::Option),
            _ => return Err(SmtpUrlError::Scheme),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(SmtpUrlError::Host)?;
        let decoded = |text: &str| {
            let text = percent_decode_str(text).decode_utf8();
            text.map(|text| text.into_owned()).map_err(|_| SmtpUrlError::Credentials)
        };
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            ("", Some(_)) | (_, None) => return Err(SmtpUrlError::Credentials),
            (user, Some(password)) => Some(Credentials::new(decoded(user)?, decoded(password)?)),
        };
        let greeting = match url.path().trim_matches('/') {
            "" => ClientId::default(),
            name => ClientId::Domain(name.to_owned()),
        };
        Ok(Self {
            // Only in a URL does an IPv6 address have brackets.
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(port),
            security,
            credentials,
            greeting,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_selects_host_port_and_encryption() {
        for (text, expected) in [
            ("smtp://localhost", ("localhost", 25, Security::None)),
            ("smtp://[::1]:2525", ("::1", 2525, Security::None)),
            ("smtp://mail.example.com?tls=required", ("mail.example.com", 587, Security::Required)),
            ("smtp://a.example?tls=opportunistic", ("a.example", 587, Security::Opportunistic)),
            ("smtps://mail.example.com/shop.example", ("mail.example.com", 465, Security::Wrapped)),
        ] {
            let url: Result<SmtpUrl, _> = text.parse();
            let read = url.as_ref().map(|url| (url.host.as_str(), url.port, url.security));
            assert_eq!(read, Ok(expected).as_ref().copied(), "{text}");
        }
    }

    #[test]
    fn an_invalid_address_is_refused_with_a_reason_and_without_its_password() {
        for (text, expected) in [
            ("", SmtpUrlError::Url),
            ("mail.example.com", SmtpUrlError::Url),
            ("mail.example.com:25", SmtpUrlError::Scheme),
            ("https://ann:s3cret@mail.example.com", SmtpUrlError::Scheme),
            ("smtp:///name", SmtpUrlError::Host),
            ("smtp://ann:s3cret@mail.example.com?tsl=required", SmtpUrlError::Option),
            ("smtp://ann:s3cret@mail.example.com?tls=yes", SmtpUrlError::Option),
            ("smtps://mail.example.com?tls=opportunistic", SmtpUrlError::Option),
            ("smtp://s3cret@mail.example.com", SmtpUrlError::Credentials),
        ] {
            let refused = text.parse::<SmtpUrl>().err();
            assert_eq!(refused, Some(expected), "{text}");
        }
        let url: Result<SmtpUrl, _> = "smtp://ann:s3cret@mail.example.com".parse();
        assert!(url.is_ok() && !format!("{url:?}").contains("s3cret"), "{url:?}");
    }
}
