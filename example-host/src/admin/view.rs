//! Pages as they leave: what is around all of them, the pieces that several are made of, the pages
//! that say what went wrong, and the headers that keep a browser from doing anything else with
//! them. Knows no page of its own.

use std::borrow::Cow;
use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use time::PrimitiveDateTime;
use time::macros::format_description;

use super::arrival::{Arrival, text_of};
use super::assets;
use super::place::{ADMIN, BASE, href};
use super::problem::Problem;

/// What a page may load and do: its own stylesheet and script, and forms to this site. Nothing else
/// runs or is fetched, whatever somebody gets into a page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A page that is written.
pub(crate) struct View {
    text: String,
    status: StatusCode,
    media_type: &'static str,
    /// The name to keep it by, where it is to be kept and not shown.
    file: Option<&'static str>,
}

impl View {
    pub(crate) fn page(html: String) -> Self {
        let media_type = "text/html; charset=utf-8";
        Self { text: html, status: StatusCode::OK, media_type, file: None }
    }

    /// Something to download.
    pub(crate) fn file(media_type: &'static str, name: &'static str, text: String) -> Self {
        Self { text, status: StatusCode::OK, media_type, file: Some(name) }
    }

    pub(crate) fn response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        let kept = self.file.map(|name| format!("attachment; filename=\"{name}\""));
        if let Some(Ok(kept)) = kept.map(HeaderValue::try_from) {
            headers.insert(header::CONTENT_DISPOSITION, kept);
        }
        response
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Response<Body> {
        self.status = status;
        self.response()
    }
}

/// Sends a browser on to a page.
pub(crate) fn redirect(to: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    // What is no header's value was made up by somebody, and the first page is as good.
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static(BASE));
    response.headers_mut().insert(header::LOCATION, to);
    response
}

/// The headers of every page.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        // Within the site the page before is known, which is where a refused form goes back to.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// What addresses of the site begin with, as the browser knows it.
pub(crate) fn origin(arrival: &Arrival) -> String {
    let scheme = if arrival.encrypted { "https" } else { "http" };
    let host = text_of(&arrival.headers, &header::HOST).unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// The message of a page about what has just been done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) good: bool,
    pub(crate) text: String,
}

impl Notice {
    pub(crate) fn good(text: impl Into<String>) -> Self {
        Self { good: true, text: text.into() }
    }

    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self { good: false, text: text.into() }
    }

    /// What [`Notice`] is written as.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text.split_at_checked(1)? {
            ("+", text) => Some(Self::good(text)),
            ("-", text) => Some(Self::bad(text)),
            _ => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.good { '+' } else { '-' }, self.text)
    }
}

/// What is around a page: its title, the navigation, who has signed in.
pub(crate) struct Layout {
    pub(crate) title: String,
    /// Nobody has signed in on the page where that is done.
    pub(crate) signed_in: Option<SignedIn>,
    pub(crate) notice: Option<Notice>,
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) icon: String,
}

/// Whoever has signed in, and where they may go.
pub(crate) struct SignedIn {
    pub(crate) name: String,
    /// What each form has to carry.
    pub(crate) csrf_token: String,
    pub(crate) navigation: Vec<Link>,
    /// Whether this is their own page.
    pub(crate) own: bool,
}

/// An entry of the navigation.
pub(crate) struct Link {
    pub(crate) title: &'static str,
    pub(crate) href: String,
    pub(crate) icon: &'static str,
    pub(crate) current: bool,
}

impl Layout {
    /// Around a page that anybody may see.
    pub(crate) fn bare(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            signed_in: None,
            notice: None,
            style: assets::STYLE.href(),
            script: assets::SCRIPT.href(),
            icon: assets::ICON.href(),
        }
    }

    /// What each form has to carry, for its hidden field.
    pub(crate) fn csrf_token(&self) -> &str {
        self.signed_in.as_ref().map_or("", |signed_in| signed_in.csrf_token.as_str())
    }

    /// The same with something to say.
    pub(crate) fn saying(mut self, notice: Notice) -> Self {
        self.notice = Some(notice);
        self
    }
}

/// The pages about one thing, of which one is shown.
pub(crate) struct Tabs {
    /// What they are about.
    pub(crate) label: &'static str,
    pub(crate) tabs: Vec<Tab>,
}

/// One of them.
pub(crate) struct Tab {
    pub(crate) title: &'static str,
    pub(crate) href: String,
    pub(crate) current: bool,
}

impl Tabs {
    /// Pages by their titles and what follows the path that they have in common.
    pub(crate) fn new(
        label: &'static str,
        path: &str,
        tabs: &[(&'static str, &str)],
        current: &str,
    ) -> Self {
        let tab = |(title, below): &(&'static str, &str)| Tab {
            title,
            href: href(&format!("{path}{below}")),
            current: *title == current,
        };
        Self { label, tabs: tabs.iter().map(tab).collect() }
    }
}

/// Words that are those of the program, or come from an extension.
type Words = Cow<'static, str>;

/// A field of a form, with its label and what is wrong with its value.
#[derive(Clone, Default, Template)]
#[template(path = "admin/field.html")]
pub(crate) struct Field {
    pub(crate) name: Words,
    pub(crate) label: Words,
    /// What programs call it, beside its label.
    pub(crate) code: Words,
    /// That of an input, or `area` for text of several lines, `choice` for one of several.
    pub(crate) kind: &'static str,
    pub(crate) value: String,
    /// The values that may be chosen, with what they are called.
    pub(crate) choices: Vec<(String, String)>,
    pub(crate) least: Option<String>,
    pub(crate) greatest: Option<String>,
    /// How many characters may be entered.
    pub(crate) longest: Option<usize>,
    pub(crate) hint: Words,
    /// What a browser or a password manager may fill in.
    pub(crate) autocomplete: &'static str,
    pub(crate) required: bool,
    /// Whether the label says so where it is not required.
    pub(crate) marked: bool,
    pub(crate) fault: String,
}

impl Field {
    pub(crate) fn text(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self {
            name: name.into(),
            label: label.into(),
            kind: "text",
            longest: Some(254),
            autocomplete: "off",
            required: true,
            marked: true,
            ..Self::default()
        }
    }

    pub(crate) fn email(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self { kind: "email", ..Self::text(name, label) }
    }

    pub(crate) fn password(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self {
            kind: "password",
            longest: None,
            autocomplete: "new-password",
            ..Self::text(name, label)
        }
    }

    /// Text of several lines.
    pub(crate) fn area(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self { kind: "area", longest: None, ..Self::text(name, label) }
    }

    /// A number within limits, each of which may be missing.
    pub(crate) fn number(
        name: impl Into<Words>,
        label: impl Into<Words>,
        least: Option<String>,
        greatest: Option<String>,
    ) -> Self {
        Self { kind: "number", longest: None, least, greatest, ..Self::text(name, label) }
    }

    /// A day.
    pub(crate) fn date(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self { kind: "date", longest: None, ..Self::text(name, label) }
    }

    /// One of several values.
    pub(crate) fn choice(
        name: impl Into<Words>,
        label: impl Into<Words>,
        choices: Vec<(String, String)>,
    ) -> Self {
        Self { kind: "choice", choices, ..Self::text(name, label) }
    }

    /// May be left empty, which its label says.
    pub(crate) fn optional(self) -> Self {
        Self { required: false, ..self }
    }

    /// May be left empty, which is a value as good as any.
    pub(crate) fn maybe_empty(self) -> Self {
        Self { required: false, marked: false, ..self }
    }

    pub(crate) fn code(self, code: impl Into<Words>) -> Self {
        Self { code: code.into(), ..self }
    }

    pub(crate) fn longest(self, longest: Option<usize>) -> Self {
        Self { longest, ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<Words>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(crate) fn value(self, value: impl Into<String>) -> Self {
        Self { value: value.into(), ..self }
    }

    pub(crate) fn fault(self, fault: Option<&str>) -> Self {
        Self { fault: sentence(fault.unwrap_or_default()), ..self }
    }

    pub(crate) fn autocomplete(self, autocomplete: &'static str) -> Self {
        Self { autocomplete, ..self }
    }

    /// The elements that describe it, for people who do not see that they stand beside it.
    fn described_by(&self) -> Option<String> {
        let Self { name, fault, hint, .. } = self;
        match (fault.is_empty(), hint.is_empty()) {
            (false, false) => Some(format!("{name}-fault {name}-hint")),
            (false, true) => Some(format!("{name}-fault")),
            (true, false) => Some(format!("{name}-hint")),
            (true, true) => None,
        }
    }

    /// How many lines an area has: those of its text, and neither none nor a whole page.
    fn rows(&self) -> usize {
        (self.value.lines().count() + 1).clamp(2, 20)
    }
}

/// A field is written by a template of its own, which escapes what is in it.
impl HtmlSafe for Field {}

/// A moment, for people and for programs.
#[derive(Clone, Copy, Template)]
#[template(
    source = r#"<time datetime="{{ self.machine() }}">{{ self.text() }}</time>"#,
    ext = "html"
)]
pub(crate) struct Moment(pub(crate) PrimitiveDateTime);

impl HtmlSafe for Moment {}

impl Moment {
    fn text(self) -> String {
        let format = format_description!(
            "[day padding:none] [month repr:short] [year], [hour]:[minute] UTC"
        );
        self.0.format(format).unwrap_or_default()
    }

    fn machine(self) -> String {
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
        self.0.format(format).unwrap_or_default()
    }
}

/// A moment to the second.
#[derive(Clone, Copy, Template)]
#[template(
    source = r#"<time datetime="{{ self.machine() }}">{{ self.text() }}</time>"#,
    ext = "html"
)]
pub(crate) struct Exactly(pub(crate) PrimitiveDateTime);

impl HtmlSafe for Exactly {}

impl Exactly {
    fn text(self) -> String {
        let format = format_description!(
            "[day padding:none] [month repr:short] [year], [hour]:[minute]:[second] UTC"
        );
        self.0.format(format).unwrap_or_default()
    }

    fn machine(self) -> String {
        Moment(self.0).machine()
    }
}

/// A page from its template.
pub(crate) fn show(template: &impl Template) -> Result<View, Problem> {
    Ok(View::page(template.render()?))
}

/// A message as a sentence: the first letter large, a full stop at the end.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return String::new() };
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), characters.as_str())
}

#[derive(Template)]
#[template(path = "admin/problem.html")]
struct ProblemPage<'a> {
    layout: Layout,
    text: &'a str,
    id: &'a str,
}

/// The page with the reason why there is none, and its status.
pub(crate) fn problem(problem: &Problem, arrival: &Arrival) -> Response<Body> {
    let (status, title, text) = match problem {
        Problem::NotFound => {
            (404, "Not found", "This page does not exist, or its subject has been deleted.")
        }
        Problem::NoSuchMethod => {
            (405, "Method not allowed", "This address does not support requests of this kind.")
        }
        Problem::ForeignForm => (
            403,
            "Form out of date",
            "The form was not sent from a page of this site, or you have signed in or out since \
             it was opened. Nothing was changed. Open the page again and resend the form.",
        ),
        Problem::Forbidden(needed) if *needed == ADMIN => {
            (403, "Not permitted", "You lack the permission core.admin on the whole site.")
        }
        Problem::Forbidden(_) => {
            (403, "Not permitted", "You lack the permission core.manage on the whole site.")
        }
        Problem::Refused(why) => (422, "Not possible", why.as_str()),
        Problem::Unavailable => (
            503,
            "Temporarily unavailable",
            "The site's database does not answer. Try again in a moment.",
        ),
        Problem::Failed => (
            500,
            "Internal error",
            "The site failed to answer. The operator can find the cause by the request id.",
        ),
    };
    let page = ProblemPage { layout: Layout::bare(title), text, id: &arrival.id };
    // A template of constants and text that fails would do so always, and tests see it.
    let html = page.render().unwrap_or_else(|_| title.to_owned());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = View::page(html).with_status(status);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_reads_as_it_was_written() {
        for notice in [Notice::good("Saved: ü, ; and \n"), Notice::bad("")] {
            assert_eq!(Notice::read(&notice.to_string()), Some(notice));
        }
        assert_eq!(Notice::read(""), None);
        assert_eq!(Notice::read("ü"), None);
    }

    #[test]
    fn messages_become_sentences() {
        assert_eq!(sentence("the password is empty"), "The password is empty.");
        assert_eq!(sentence("Done!"), "Done!");
        assert_eq!(sentence(""), "");
    }
}
