//! The parts that pages have in common: layout, fields, notices and error pages.

use std::borrow::Cow;
use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use host_interface::with_separators;
use host_service::Streamed;
use time::PrimitiveDateTime;
use time::macros::format_description;

use crate::base::text::capitalised;

use super::assets;
use super::authenticator::Later;
use super::paths::{ADMIN, BASE, href};
use super::problem::{Problem, Trouble};

/// A rendered page.
pub(crate) struct View {
    body: Body,
    status: StatusCode,
    media_type: &'static str,
    /// The file name, if it is a download.
    file: Option<Cow<'static, str>>,
    /// The page that the browser is sent to instead.
    to: Option<String>,
    /// Whether it is made while it is sent.
    streamed: bool,
}

impl View {
    pub(crate) fn page(html: impl Into<Body>) -> Self {
        let (body, status, media_type) = (html.into(), StatusCode::OK, "text/html; charset=utf-8");
        Self { body, status, media_type, file: None, to: None, streamed: false }
    }

    /// A file to download.
    pub(crate) fn file(
        media_type: &'static str,
        name: impl Into<Cow<'static, str>>,
        body: impl Into<Body>,
    ) -> Self {
        Self { media_type, file: Some(name.into()), ..Self::page(body) }
    }

    /// The same, but made while it is sent.
    pub(crate) fn in_pieces(self) -> Self {
        Self { streamed: true, ..self }
    }

    /// No page: the browser is sent to another one.
    pub(crate) fn elsewhere(to: String) -> Self {
        Self { to: Some(to), ..Self::page(Body::empty()) }
    }

    /// The page of a request that has something wrong with it.
    pub(crate) fn of_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The page of a form that was not accepted.
    pub(crate) fn again(self) -> Self {
        let status = match self.status {
            StatusCode::OK => StatusCode::UNPROCESSABLE_ENTITY,
            status => status,
        };
        self.of_status(status)
    }

    pub(crate) fn response(self) -> Response<Body> {
        if let Some(to) = &self.to {
            return redirect(to);
        }
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        if self.streamed {
            response.extensions_mut().insert(Streamed);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        let kept = self.file.map(|name| format!("attachment; filename=\"{name}\""));
        if let Some(Ok(kept)) = kept.map(HeaderValue::try_from) {
            headers.insert(header::CONTENT_DISPOSITION, kept);
        }
        response
    }

    /// The page of a form with a password or a code that was not checked.
    pub(crate) fn later(self, later: Later) -> Response<Body> {
        let mut response = self.with_status(later.status());
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(later.seconds()));
        response
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Response<Body> {
        self.status = status;
        self.response()
    }
}

/// Redirects a browser to a page.
pub(crate) fn redirect(to: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    // An address that is not valid in a header is replaced by the first page.
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static(BASE));
    response.headers_mut().insert(header::LOCATION, to);
    response
}

/// The message of a page about the last action.
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

    /// Parses the text form of a [`Notice`].
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

/// The layout of a page: title, navigation and signed-in user.
pub(crate) struct Layout {
    pub(crate) title: String,
    /// `None` on pages without sign-in.
    pub(crate) signed_in: Option<SignedIn>,
    pub(crate) notice: Option<Notice>,
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) icon: String,
}

/// The signed-in user, with the navigation.
pub(crate) struct SignedIn {
    pub(crate) name: String,
    /// The token for the forms of the page.
    pub(crate) csrf_token: String,
    pub(crate) navigation: Vec<Link>,
    /// The types of records in the navigation.
    pub(crate) sections: Vec<Section>,
    /// Whether there is a search for records, and what was searched for.
    pub(crate) search: Option<String>,
    /// Whether the page is the user's own account.
    pub(crate) own: bool,
}

/// A group of types of records in the navigation.
pub(crate) struct Section {
    pub(crate) title: String,
    /// The titles and the addresses of their lists, and whether it is the current one.
    pub(crate) links: Vec<(String, String, bool)>,
}

impl Section {
    /// Whether it has the current page.
    pub(crate) fn is_open(&self) -> bool {
        self.links.iter().any(|(_, _, current)| *current)
    }
}

/// An entry of the navigation.
pub(crate) struct Link {
    pub(crate) title: &'static str,
    pub(crate) href: String,
    pub(crate) icon: &'static str,
    pub(crate) current: bool,
}

impl Layout {
    /// The layout of a page without sign-in.
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

    /// The token for the hidden field of each form.
    pub(crate) fn csrf_token(&self) -> &str {
        self.signed_in.as_ref().map_or("", |signed_in| signed_in.csrf_token.as_str())
    }

    /// Adds a notice if there is one, which the page shows above its content.
    pub(crate) fn with_notice(self, notice: impl Into<Option<Notice>>) -> Self {
        Self { notice: notice.into().or(self.notice), ..self }
    }

    /// Adds a warning if something was not done.
    pub(crate) fn warning_if(self, is_refused: bool, text: &str) -> Self {
        self.with_notice(is_refused.then(|| Notice::bad(text)))
    }
}

/// The tabs of pages with the same subject.
pub(crate) struct Tabs {
    /// The label for assistive technology.
    pub(crate) label: &'static str,
    pub(crate) tabs: Vec<Tab>,
}

/// A tab.
pub(crate) struct Tab {
    pub(crate) title: Words,
    pub(crate) href: String,
    pub(crate) current: bool,
}

impl Tabs {
    /// Tabs with their titles and the ends of their paths, which begin with `path`.
    pub(crate) fn new(
        label: &'static str,
        path: &str,
        tabs: &[(&'static str, &str)],
        current: &str,
    ) -> Self {
        let tab = |(title, below): &(&'static str, &str)| Tab {
            title: (*title).into(),
            href: href(&format!("{path}{below}")),
            current: *title == current,
        };
        Self { label, tabs: tabs.iter().map(tab).collect() }
    }
}

/// Text of the program, or from an extension.
type Words = Cow<'static, str>;

/// A field of a form, with its label and an error message.
#[derive(Clone, Default, Template)]
#[template(path = "admin/field.html")]
pub(crate) struct Field {
    pub(crate) name: Words,
    pub(crate) label: Words,
    /// The technical name, shown beside the label.
    pub(crate) code: Words,
    /// The type of an input element, or `area` for multi-line text, or `choice` for a selection.
    pub(crate) kind: &'static str,
    pub(crate) value: String,
    /// The values of a selection, with their labels.
    pub(crate) choices: Vec<(String, String)>,
    pub(crate) least: Option<String>,
    pub(crate) greatest: Option<String>,
    /// The maximum number of characters.
    pub(crate) longest: Option<usize>,
    /// The distance of valid values, where it is not the usual one.
    pub(crate) step: &'static str,
    pub(crate) hint: Words,
    /// The value of the `autocomplete` attribute.
    pub(crate) autocomplete: &'static str,
    pub(crate) required: bool,
    /// Whether the label of an optional field is marked as such.
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

    /// Multi-line text.
    pub(crate) fn area(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self { kind: "area", longest: None, ..Self::text(name, label) }
    }

    /// A number with optional limits.
    pub(crate) fn number(
        name: impl Into<Words>,
        label: impl Into<Words>,
        least: Option<String>,
        greatest: Option<String>,
    ) -> Self {
        Self { kind: "number", longest: None, least, greatest, ..Self::text(name, label) }
    }

    /// A file.
    pub(crate) fn file(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self { kind: "file", longest: None, ..Self::text(name, label) }
    }

    /// A day.
    pub(crate) fn date(name: impl Into<Words>, label: impl Into<Words>) -> Self {
        Self { kind: "date", longest: None, ..Self::text(name, label) }
    }

    /// A moment in UTC to the minute, not later than the last one.
    pub(crate) fn moment(
        name: impl Into<Words>,
        label: impl Into<Words>,
        last: Option<PrimitiveDateTime>,
    ) -> Self {
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]");
        let greatest = last.and_then(|last| last.format(format).ok());
        let kind = "datetime-local";
        Self { kind, longest: None, greatest, ..Self::text(name, label) }
    }

    /// A selection of one value, each with its label.
    pub(crate) fn choice<V: Into<String>, L: Into<String>>(
        name: impl Into<Words>,
        label: impl Into<Words>,
        choices: impl IntoIterator<Item = (V, L)>,
    ) -> Self {
        let choices = choices.into_iter().map(|(value, label)| (value.into(), label.into()));
        let choices = choices.collect();
        Self { kind: "choice", choices, ..Self::text(name, label) }
    }

    /// An optional field, marked as such.
    pub(crate) fn optional(self) -> Self {
        Self { required: false, ..self }
    }

    /// An optional field without a mark: empty is an ordinary value.
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

    /// The ids of the elements that describe it, for assistive technology.
    fn described_by(&self) -> Option<String> {
        let Self { name, fault, hint, .. } = self;
        match (fault.is_empty(), hint.is_empty()) {
            (false, false) => Some(format!("{name}-fault {name}-hint")),
            (false, true) => Some(format!("{name}-fault")),
            (true, false) => Some(format!("{name}-hint")),
            (true, true) => None,
        }
    }

    /// The number of rows of an area, which depends on its text.
    fn rows(&self) -> usize {
        (self.value.lines().count() + 1).clamp(2, 20)
    }
}

/// A field is rendered by its own template, which escapes the values.
impl HtmlSafe for Field {}

/// The values of a flag in a selection, with their labels.
pub(crate) const YES_OR_NO: [(&str, &str); 2] = [("1", "Yes"), ("0", "No")];

/// A moment to the minute, as a `time` element.
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

/// A moment to the second, as a `time` element.
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

/// A number of things: "1 record", "1,200 records".
pub(crate) fn counted(number: u64, one: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {one}{end}", with_separators(number))
}

/// Renders a page.
pub(crate) fn show(template: &impl Template) -> Result<View, Problem> {
    Ok(View::page(template.render()?))
}

/// A message as a sentence: with a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with(['.', '?', '!']) { "" } else { "." };
    capitalised(text) + end
}

#[derive(Template)]
#[template(path = "admin/problem.html")]
struct ProblemPage<'a> {
    layout: Layout,
    text: &'a str,
    id: &'a str,
}

/// The error page for a problem.
pub(crate) fn problem(problem: &Problem, id: &str) -> Response<Body> {
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
        Problem::Later(later) => {
            (later.status().as_u16(), "Nothing was changed", &*later.to_string())
        }
        Problem::Trouble(trouble) => {
            let (title, text) = of_trouble(trouble);
            (trouble.status().as_u16(), title, text)
        }
        Problem::Late => (
            504,
            "Not answered in time",
            "The page has taken too long. If you have sent a form, it may have been done: find out before you send \
             it again.",
        ),
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
    let page = ProblemPage { layout: Layout::bare(title), text, id };
    // Rendering this template cannot fail except by a bug that every test would show.
    let html = page.render().unwrap_or_else(|_| title.to_owned());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = View::page(html).with_status(status);
    let wait = match problem {
        Problem::Unavailable | Problem::Trouble(Trouble::Busy) => Some(5),
        Problem::Later(later) => Some(later.seconds()),
        _ => None,
    };
    if let Some(seconds) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The title and the text of the page for what the API does not answer.
fn of_trouble(trouble: &Trouble) -> (&'static str, &str) {
    match trouble {
        Trouble::Gone => (
            "Record not found",
            "There is no such record, or it has been deleted. Go back to its list, or search for it.",
        ),
        Trouble::Denied(reasons) if reasons.is_empty() => (
            "Not permitted",
            "You lack a permission for this. An administrator can find out which one, on the page Permissions.",
        ),
        Trouble::Denied(reasons) => ("Not permitted", reasons),
        Trouble::Busy => (
            "Temporarily unavailable",
            "The extension has too much to do at the moment. Try again in a few seconds.",
        ),
        Trouble::Slow => (
            "Not answered in time",
            "The extension has taken too long to answer. Try again, with a filter if the list is long.",
        ),
        Trouble::Failing => (
            "The extension has failed",
            "The extension has not answered as its document promises. The operator can find the cause by the request id.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_survives_its_text_form() {
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
