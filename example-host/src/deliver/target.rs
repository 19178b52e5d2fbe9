//! The address of a receiver, checked as far as that is possible without looking its name up.

use std::net::IpAddr;

use url::{Host, Position, Url};

use super::addresses::Networks;

/// The maximum length of an address.
const LONGEST: usize = 2048;

/// The port of mail servers, which would take some requests for a conversation.
const MAIL: u16 = 25;

/// The receiver of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_encrypted: bool,
    pub(super) place: Place,
    pub(super) port: u16,
    /// The value of the header `host`.
    pub(super) authority: String,
    /// The path and the query.
    pub(super) path: String,
}

/// Where a receiver is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Name(String),
    Address(IpAddr),
}

/// Why nothing can be sent to an address, for the person who entered it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TargetError {
    #[error("The address is longer than {LONGEST} characters.")]
    TooLong,
    #[error("The address is not a URL such as https://www.example.com/hook.")]
    NotUrl,
    #[error("The address must begin with https://.")]
    Scheme,
    #[error("The address must not contain a user or a password.")]
    Credentials,
    #[error("The port {0} is not allowed.")]
    Port(u16),
    #[error("The address {0} is not public, and this site does not allow it.")]
    NotPublic(IpAddr),
}

impl Target {
    /// Reads an address. Other forms of addresses of IPv4, such as `https://2130706433/`, are read as what they are.
    pub(super) fn read(text: &str) -> Result<Self, TargetError> {
        if text.len() > LONGEST {
            return Err(TargetError::TooLong);
        }
        let url = Url::parse(text).map_err(|_| TargetError::NotUrl)?;
        let is_encrypted = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(TargetError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Credentials);
        }
        let place = match url.host().ok_or(TargetError::NotUrl)? {
            Host::Domain(name) => Place::Name(name.to_owned()),
            Host::Ipv4(address) => Place::Address(address.into()),
            Host::Ipv6(address) => Place::Address(address.into()),
        };
        let port = url.port_or_known_default().ok_or(TargetError::NotUrl)?;
        if matches!(port, 0 | MAIL) {
            return Err(TargetError::Port(port));
        }
        let authority = url[Position::BeforeHost..Position::AfterPort].to_owned();
        let path = url[Position::BeforePath..Position::AfterQuery].to_owned();
        Ok(Self { is_encrypted, place, port, authority, path })
    }

    /// Refuses what no look-up would make right.
    pub(super) fn check(&self, networks: &Networks) -> Result<(), TargetError> {
        if !self.is_encrypted && networks.is_empty() {
            return Err(TargetError::Scheme);
        }
        match self.place {
            Place::Address(address) if !networks.allow(address, true) => {
                Err(TargetError::NotPublic(address))
            }
            Place::Address(address) if !networks.allow(address, self.is_encrypted) => {
                Err(TargetError::Scheme)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(networks: &[&str], text: &str) -> Result<(), TargetError> {
        let networks = networks.iter().filter_map(|network| network.parse().ok());
        Target::read(text)?.check(&Networks::new(networks.collect()))
    }

    #[test]
    fn an_address_is_read_as_it_is_sent() {
        let read = |text| {
            let target = Target::read(text).ok();
            target.map(|of| (of.is_encrypted, of.place, of.port, of.authority, of.path))
        };
        let name = |name: &str| Place::Name(name.to_owned());
        for (text, expected) in [
            (
                "https://Example.COM/a b?c=d#e",
                (true, name("example.com"), 443, "example.com", "/a%20b?c=d"),
            ),
            ("http://erp:8080", (false, name("erp"), 8080, "erp:8080", "/")),
            (
                "https://münchen.example/",
                (true, name("xn--mnchen-3ya.example"), 443, "xn--mnchen-3ya.example", "/"),
            ),
        ] {
            let (is_encrypted, place, port, authority, path) = expected;
            let expected = (is_encrypted, place, port, authority.to_owned(), path.to_owned());
            assert_eq!(read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn every_spelling_of_an_address_that_is_not_public_is_refused() {
        for text in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://127.1/",
            "https://0x7f.1/",
            "https://①②⑦.0.0.1/",
            "https://127.0.0.1:8443/",
            "https:127.0.0.1",
            "https:\\\\127.0.0.1\\",
            "https://127%2e0.0.1/",
            "https://0/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:8.8.8.8]/",
            "https://[::127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[fe80::1]/",
            "https://10.1.2.3/",
            "https://169.254.169.254/latest/meta-data/",
        ] {
            assert!(matches!(checked(&[], text), Err(TargetError::NotPublic(_))), "{text}");
        }
        assert_eq!(checked(&[], "https://8.8.8.8/"), Ok(()));
        assert_eq!(checked(&["127.0.0.0/8"], "https://2130706433/"), Ok(()));
    }

    #[test]
    fn what_can_never_be_sent_is_refused_with_a_reason() {
        let long = format!("https://example.com/{}", "x".repeat(LONGEST));
        for (text, expected) in [
            ("", TargetError::NotUrl),
            ("example.com", TargetError::NotUrl),
            ("https://", TargetError::NotUrl),
            ("https://[::1%25lo]/", TargetError::NotUrl),
            ("https://1.2.3.4.5/", TargetError::NotUrl),
            ("https://example.com:99999/", TargetError::NotUrl),
            ("ftp://example.com/", TargetError::Scheme),
            ("file:///etc/passwd", TargetError::Scheme),
            ("http://example.com/", TargetError::Scheme),
            ("http://8.8.8.8/", TargetError::Scheme),
            ("https://ann@example.com/", TargetError::Credentials),
            ("https://ann:s3cret@example.com/", TargetError::Credentials),
            ("https://:s3cret@example.com/", TargetError::Credentials),
            ("https://example.com:25/", TargetError::Port(25)),
            ("https://example.com:0/", TargetError::Port(0)),
            (long.as_str(), TargetError::TooLong),
        ] {
            let refused = checked(&[], text).err();
            assert!(!format!("{refused:?}").contains("s3cret"));
            assert_eq!(refused, Some(expected), "{text}");
        }
    }

    #[test]
    fn without_encryption_an_address_must_be_in_the_networks_of_the_site() {
        let networks = ["10.0.0.0/8"];
        assert_eq!(checked(&networks, "http://10.1.2.3:8069/"), Ok(()));
        assert_eq!(checked(&networks, "http://8.8.8.8/"), Err(TargetError::Scheme));
        let other = Err(TargetError::NotPublic(IpAddr::from([127, 0, 0, 1])));
        assert_eq!(checked(&networks, "http://127.0.0.1/"), other);
        // Only a look-up shows where it leads.
        assert_eq!(checked(&networks, "http://erp.example/"), Ok(()));
    }
}
