//! Routes: what a plugin registers, and how their patterns read.

use serde::{Deserialize, Serialize};

/// The request methods that a route may be registered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Method {
    /// Reads. The host answers `HEAD` from it too.
    Get,
    /// Creates, or anything that no other method expresses.
    Post,
    /// Replaces.
    Put,
    /// Changes in part.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// The method with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
        all.into_iter().find(|method| method.as_str() == name)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// One route of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Route {
    /// The method it answers.
    pub method: Method,
    /// The path below the host's entry point, without a slash at either end; see [`Pattern`].
    pub pattern: String,
    /// A name for logs, metrics and documentation, for example `products.list`.
    pub name: String,
    /// Whether it is answered without a user. The host authenticates every other request, and one
    /// to a public route that carries credentials: they are not passed over where they are wrong.
    #[serde(default)]
    pub public: bool,
    /// Whether the plugin takes the body in pieces where it is large, see
    /// [`Request::take_stream`](crate::Request::take_stream).
    #[serde(default)]
    pub streams: bool,
    /// How the plugin recognises the route: the host passes it back in
    /// [`Request::handler`](crate::Request::handler).
    pub handler: u32,
}

impl Route {
    /// A route that needs an authenticated user.
    pub fn new(
        method: Method,
        pattern: impl Into<String>,
        name: impl Into<String>,
        handler: u32,
    ) -> Self {
        Self {
            method,
            pattern: pattern.into(),
            name: name.into(),
            public: false,
            streams: false,
            handler,
        }
    }

    /// Answers without a user as well.
    pub fn public(mut self) -> Self {
        self.public = true;
        self
    }

    /// Takes the body in pieces where it is large.
    pub fn streams(mut self) -> Self {
        self.streams = true;
        self
    }
}

/// The parts of a route's pattern, for hosts.
///
/// A pattern is segments joined by `/`. A segment is either literal text, `{name}` for any one
/// segment that is not empty, or `{name:digits}` for one of ASCII digits only. Where a literal and
/// a parameter both fit, the literal wins, and of two parameters the one of digits:
/// `vouchers/mine` beside `vouchers/{id:digits}`.
///
/// ```
/// use host_interface::{Pattern, Segment};
///
/// let pattern = Pattern::parse("v1/shop/countries/{id:digits}/zones");
/// assert_eq!(pattern.segments()[3], Segment::Digits("id"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    segments: Vec<Segment<'a>>,
}

/// One segment of a [`Pattern`]. Exhaustive on purpose, and complete for the major version: a host must
/// not mount a route of which it understands only a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Exactly this text.
    Literal(&'a str),
    /// Any text that is not empty; the name of the parameter.
    Any(&'a str),
    /// ASCII digits, one at least; the name of the parameter.
    Digits(&'a str),
}

impl<'a> Pattern<'a> {
    /// Reads a pattern. Every text is one: what is no parameter is literal.
    pub fn parse(pattern: &'a str) -> Self {
        let segments = pattern
            .split('/')
            .map(|text| match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                None => Segment::Literal(text),
                Some(name) => match name.strip_suffix(":digits") {
                    Some(name) => Segment::Digits(name),
                    None => Segment::Any(name),
                },
            })
            .collect();
        Self { segments }
    }

    /// The segments in order.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }
}
