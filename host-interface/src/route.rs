//! Routes: what a plugin registers, and how their patterns read.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

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
    #[serde(deserialize_with = "known_pattern")]
    pub pattern: String,
    /// A name for logs, metrics and documentation, for example `products.list`.
    pub name: String,
    /// Whether it is answered without a user. The host authenticates the requests to all other routes. To
    /// a public route, it authenticates a request with credentials, and refuses wrong ones.
    #[serde(default)]
    pub public: bool,
    /// Whether the plugin takes a large body in pieces, see
    /// [`Request::take_stream`](crate::Request::take_stream).
    #[serde(default)]
    pub streams: bool,
    /// Whether its bodies are files of any size, taken in pieces. A host has other limits for them than for
    /// all bodies: that of their size is in [`fact::BODY_LIMIT`](crate::fact::BODY_LIMIT), and in place of the
    /// time limit of a request there is that of a pause. The client may send, and the plugin may begin to answer, for
    /// as long as the client does not stall; only after a day or more may a host end such a request. The plugin is
    /// called as soon as anything of the file is there. A host that does not know this member has the limits of
    /// all bodies.
    #[serde(default)]
    pub bulk: bool,
    /// Whether a request to it may hold its answer open, see [`Request::wait`](crate::Request::wait). Only
    /// a `GET` may: on a route of another method a host leaves it out, and names the route in
    /// [`Description::ignored`](crate::Description::ignored).
    #[serde(default)]
    pub waits: bool,
    /// The media types of its answers, where they are not that of
    /// [`Description::media_type`](crate::Description::media_type). A host answers 406 to a client that
    /// accepts none of them. One that does not know this member asks for that of the description.
    #[serde(default)]
    pub media_types: Vec<String>,
    /// The plugin's key for the route, which the host passes back in
    /// [`Request::handler`](crate::Request::handler). Those that a plugin chooses are below 2^31: above are
    /// those of [`Plugin::routes`](crate::Plugin::routes).
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
            bulk: false,
            waits: false,
            media_types: Vec::new(),
            handler,
        }
    }

    /// Makes the route public: it is answered without a user, too.
    pub fn public(mut self) -> Self {
        self.public = true;
        self
    }

    /// Takes a large body in pieces.
    pub fn streams(mut self) -> Self {
        self.streams = true;
        self
    }

    /// Takes files of any size, in pieces, for as long as their clients do not pause.
    pub fn bulk(mut self) -> Self {
        self.bulk = true;
        self.streams()
    }

    /// Lets requests hold their answers open.
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Answers with these media types instead of that of the description.
    pub fn answers_with<M: Into<String>>(
        mut self,
        media_types: impl IntoIterator<Item = M>,
    ) -> Self {
        self.media_types.extend(media_types.into_iter().map(Into::into));
        self
    }
}

/// The parts of a route's pattern, for hosts.
///
/// A pattern is segments joined by `/`. A segment is either literal text without braces, `{name}` for any
/// segment that is not empty, or `{name:digits}` for one of ASCII digits only. A name consists of ASCII
/// letters, digits and underscores. If both a literal and a parameter match, the literal wins, and of two
/// parameters the one of digits: `vouchers/mine` beside `vouchers/{id:digits}`.
///
/// A route whose pattern has anything else in braces is of a later version, or misspelt. A host leaves it
/// out and names it in [`Description::ignored`](crate::Description::ignored).
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
    /// Reads the pattern of a [`Route`]. A segment that is not in braces is literal.
    pub fn parse(pattern: &'a str) -> Self {
        Self { segments: segments(pattern).collect() }
    }

    /// The segments in order.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }
}

/// The names of the parameters of a pattern, in their order.
pub(crate) fn parameters(pattern: &str) -> impl Iterator<Item = &str> {
    segments(pattern).filter_map(|segment| match segment {
        Segment::Literal(_) => None,
        Segment::Any(name) | Segment::Digits(name) => Some(name),
    })
}

fn segments(pattern: &str) -> impl Iterator<Item = Segment<'_>> {
    let segment = |text| match braced(text) {
        None => Segment::Literal(text),
        Some(name) => match name.strip_suffix(":digits") {
            Some(name) => Segment::Digits(name),
            None => Segment::Any(name),
        },
    };
    pattern.split('/').map(segment)
}

fn braced(segment: &str) -> Option<&str> {
    segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
}

/// Reads a pattern, unless only a later version can.
fn known_pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let pattern = String::deserialize(deserializer)?;
    let unknown = pattern.split('/').find(|segment| !is_known(segment));
    let fault = unknown.map(|segment| D::Error::custom(format!("unknown segment {segment:?}")));
    fault.map_or(Ok(pattern), Err)
}

fn is_known(segment: &str) -> bool {
    match braced(segment) {
        None => !segment.contains(['{', '}']),
        Some(parameter) => {
            let name = parameter.strip_suffix(":digits").unwrap_or(parameter);
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            !name.is_empty() && name.bytes().all(fits)
        }
    }
}
