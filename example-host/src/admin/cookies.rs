//! The cookies of the administration: the secret of the session, what makes the device known after a
//! sign-in, what is kept between the password and the code, what makes the browser trusted, and the notice that the
//! next page shows. Scripts cannot read them, and pages of other sites
//! cannot send them.

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::identity::devices::{HALF_SIGNED_IN, KNOWN, TRUSTED};
use crate::identity::sessions;

use super::page_request::PageRequest;
use super::paths::BASE;
use super::view::Notice;

/// A private cookie: its name over HTTPS, and over plain HTTP. Browsers accept a name with this prefix only from
/// the host itself, so that a neighbouring subdomain cannot replace the cookie.
type Private = (&'static str, &'static str);

const SESSION: Private = ("__Host-administration", "administration");
const DEVICE: Private = ("__Host-administration-device", "administration-device");
const HALF: Private = ("__Host-administration-sign-in", "administration-sign-in");
const TRUST: Private = ("__Host-administration-trust", "administration-trust");
const NOTICE: &str = "administration-notice";

/// The cookies of a request, and those of its answer.
pub(crate) struct Cookies {
    encrypted: bool,
    /// The secret of the session.
    pub(super) session: Option<String>,
    /// What makes the device known.
    pub(super) device: Option<String>,
    /// What was signed after the right password, where a code is asked for.
    pub(super) half_signed_in: Option<String>,
    /// What makes the browser trusted.
    pub(super) trust: Option<String>,
    notice: Option<Notice>,
    written: Vec<String>,
}

impl Cookies {
    pub(crate) fn of(request: &PageRequest) -> Self {
        let encrypted = request.encrypted;
        let sent = |name| value(&request.headers, name);
        let notice = sent(NOTICE)
            .and_then(|notice| Notice::read(&percent_decode_str(&notice).decode_utf8_lossy()));
        let private = |cookie| sent(name(encrypted, cookie));
        let (session, device) = (private(SESSION), private(DEVICE));
        let (half_signed_in, trust) = (private(HALF), private(TRUST));
        Self { encrypted, session, device, half_signed_in, trust, notice, written: Vec::new() }
    }

    pub(crate) fn begin_session(&mut self, secret: &str) {
        self.keep_private(SESSION, secret, sessions::LONGEST.as_secs());
        if self.half_signed_in.is_some() {
            self.keep_private(HALF, "", 0);
        }
    }

    pub(crate) fn end_session(&mut self) {
        self.keep_private(SESSION, "", 0);
    }

    pub(crate) fn remember_device(&mut self, device: &str) {
        self.keep_private(DEVICE, device, KNOWN.lifetime.as_secs());
    }

    pub(crate) fn ask_for_a_code(&mut self, half: &str) {
        self.keep_private(HALF, half, HALF_SIGNED_IN.lifetime.as_secs());
    }

    pub(crate) fn trust_browser(&mut self, trust: &str) {
        self.keep_private(TRUST, trust, TRUSTED.lifetime.as_secs());
    }

    /// The notice for this page; it is shown only once.
    pub(crate) fn take_notice(&mut self) -> Option<Notice> {
        let notice = self.notice.take()?;
        self.write_notice("", 0);
        Some(notice)
    }

    /// Sets the notice for the next page.
    pub(crate) fn leave_notice(&mut self, notice: &Notice) {
        let text = notice.to_string();
        self.write_notice(&utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string(), 60);
    }

    /// Adds the cookies to the answer.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        for cookie in self.written {
            match HeaderValue::try_from(cookie) {
                Ok(cookie) => {
                    headers.append(header::SET_COOKIE, cookie);
                }
                Err(error) => tracing::error!(%error, "a cookie could not be written"),
            }
        }
    }

    /// The prefix of a name over HTTPS requires a path.
    fn keep_private(&mut self, cookie: Private, value: &str, seconds: u64) {
        let path = if self.encrypted { "/" } else { BASE };
        self.keep(name(self.encrypted, cookie), value, path, seconds);
    }

    fn write_notice(&mut self, text: &str, seconds: u64) {
        self.keep(NOTICE, text, BASE, seconds);
    }

    fn keep(&mut self, name: &'static str, value: &str, path: &'static str, seconds: u64) {
        let cookie = Cookie::build((name, value))
            .path(path)
            .max_age(Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX)))
            .http_only(true)
            .same_site(SameSite::Strict)
            .secure(self.encrypted);
        self.written.push(cookie.to_string());
    }
}

/// The name of a private cookie.
fn name(encrypted: bool, (secure, plain): Private) -> &'static str {
    if encrypted { secure } else { plain }
}

/// The value of a cookie.
fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = sent.flat_map(Cookie::split_parse).filter_map(Result::ok);
    let found = cookies.find(|cookie| cookie.name() == name)?;
    Some(found.value().to_owned()).filter(|value| !value.is_empty())
}
