//! Requests as they cross. What a plugin does not ask for is not converted, and nothing is copied.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, ROption, RSlice, RStr, Tuple2};

use crate::body::Body;
use crate::caller::Caller;
use crate::chunk::Chunk;
use crate::names::fact;
use crate::panic::{Contained, attempt};
use crate::route::{Method, parameters};

use raw::{RawRequest, RawRequest_TO};

/// A request to one of the plugin's routes. The host has authenticated its caller; only a public route may
/// be asked without one.
pub struct Request {
    raw: RequestObject,
    /// The pattern of its route, if the plugin has named the parameters; otherwise empty.
    pattern: &'static str,
}

/// A request as it crosses.
pub(crate) type RequestObject = RawRequest_TO<'static, RBox<()>>;

impl Request {
    /// Begins a request to the route with this `handler` key.
    pub fn builder(handler: u32, method: Method) -> RequestBuilder {
        RequestBuilder(Box::new(Asked {
            handler,
            method,
            texts: Texts(String::with_capacity(TEXTS)),
            path: Span::default(),
            query: Span::default(),
            id: Span::default(),
            params: Vec::new(),
            headers: Contained::new(Box::new(())),
            caller: None,
            body: Chunk::empty(),
            stream: Mutex::default(),
            facts: Vec::new(),
        }))
    }

    /// The key under which the plugin registered the route.
    pub fn handler(&self) -> u32 {
        self.raw.handler()
    }

    /// The method of the route; `GET` for a `HEAD` request too.
    pub fn method(&self) -> Method {
        // The host only mounts the routes of the plugin, whose methods both sides know.
        Method::parse(self.raw.method().as_str()).unwrap_or(Method::Post)
    }

    /// The path as the client sent it, percent-encoded, without the query.
    pub fn path(&self) -> &str {
        self.raw.path().as_str()
    }

    /// The value of a parameter of the pattern, percent-encoded as the client sent it. Parameters have names
    /// on the routes of [`Plugin::routes`](crate::Plugin::routes); `None` on any other route, and for a name
    /// that the pattern does not have.
    pub fn param(&self, name: &str) -> Option<&str> {
        let nth = parameters(self.pattern).position(|known| known == name)?;
        self.params().get(nth)
    }

    /// The values of the pattern's parameters, in the order of the pattern, percent-encoded as the client
    /// sent them.
    pub fn params(&self) -> Params<'_> {
        Params(self)
    }

    /// What follows `?` in the address, as the client sent it; empty if there is none.
    pub fn query(&self) -> &str {
        self.raw.query().as_str()
    }

    /// The first value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.header_at(name, 0)
    }

    /// The `nth` value (counted from 0) of a header that may be sent several times.
    pub fn header_at(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.raw.header(RStr::from_str(name), nth).into_option().map(RSlice::into)
    }

    /// All headers in the order in which the host has them, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        (0..).map_while(|nth| {
            let Tuple2(name, value) = self.raw.header_at(nth).into_option()?;
            Some((name.as_str(), value.into()))
        })
    }

    /// The body; empty if there is none, or if it is [a stream](Self::take_stream). The host limits its
    /// size.
    pub fn body(&self) -> &[u8] {
        self.raw.body().into()
    }

    /// The body in pieces. A host passes a body this way on a route that [takes
    /// streams](crate::Route::streams) if it is larger than what the host keeps in memory, and on one that
    /// [takes files](crate::Route::bulk) also if it has not arrived as a whole. `None` for any other body,
    /// and from the second call on.
    pub fn take_stream(&mut self) -> Option<Body> {
        self.raw.take_stream().into_option()
    }

    /// Who makes the request. `None` only on a public route, for a client without credentials; the host
    /// refuses wrong credentials there, too.
    pub fn caller(&self) -> Option<&Caller> {
        self.raw.caller().into_option()
    }

    /// Something that the host knows about the request, by its name: see [`fact`](crate::fact).
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.raw.fact(RStr::from_str(name)).into_option().map(RStr::into)
    }

    /// For how long the plugin may hold the answer open, if there is nothing to answer yet. `None` where it
    /// answers at once: the client did not ask to wait (`Prefer: wait=30`), the route does not
    /// [wait](crate::Route::waits), or the host has no place for it or knows no waiting.
    ///
    /// The host's time limit for the request begins after the wait. A plugin that lets requests wait asks
    /// for [`Event::Stopping`](crate::Event::Stopping), and answers them then.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use host_interface::{Method, Request, fact};
    ///
    /// let request = Request::builder(0, Method::Get).fact(fact::WAIT, "30").build();
    /// assert_eq!(request.wait(), Some(Duration::from_secs(30)));
    /// assert_eq!(Request::builder(0, Method::Get).build().wait(), None);
    /// ```
    pub fn wait(&self) -> Option<Duration> {
        let seconds = self.fact(fact::WAIT)?.parse().ok()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// How many bytes the host wants an answer to this request to have at most, unless it is a stream.
    /// `None` where it names no limit. The host does not cut an answer: only the plugin can end a read in
    /// time, before it has everything in memory, and knows what the client may ask for instead.
    ///
    /// ```
    /// use host_interface::{Method, Request, fact};
    ///
    /// let request = Request::builder(0, Method::Get).fact(fact::ANSWER_LIMIT, "8388608").build();
    /// assert_eq!(request.answer_limit(), Some(8 * 1024 * 1024));
    /// assert_eq!(Request::builder(0, Method::Get).build().answer_limit(), None);
    /// ```
    pub fn answer_limit(&self) -> Option<usize> {
        self.fact(fact::ANSWER_LIMIT)?.parse().ok()
    }

    /// The id that the response and every log line about this request have.
    pub fn id(&self) -> &str {
        self.raw.id().as_str()
    }

    /// A request that has crossed, or is to cross.
    pub(crate) fn received(raw: RequestObject) -> Self {
        Self { raw, pattern: "" }
    }

    /// This request, to a route of this pattern.
    pub(crate) fn with_pattern(self, pattern: &'static str) -> Self {
        Self { pattern, ..self }
    }

    /// The request as it crosses.
    pub(crate) fn into_raw(self) -> RequestObject {
        self.raw
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("id", &self.id())
            .field("method", &self.method())
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

/// The values of a pattern's parameters.
#[derive(Clone, Copy)]
pub struct Params<'a>(&'a Request);

impl<'a> Params<'a> {
    /// The value of the `nth` parameter of the pattern, counted from 0.
    pub fn get(self, nth: usize) -> Option<&'a str> {
        self.0.raw.param(nth).into_option().map(RStr::into)
    }
}

impl std::ops::Index<usize> for Params<'_> {
    type Output = str;

    #[allow(clippy::panic, reason = "as every index that is out of bounds")]
    fn index(&self, nth: usize) -> &str {
        self.get(nth).unwrap_or_else(|| panic!("the route has no parameter {nth}"))
    }
}

/// The headers of a request, in whatever form the host's HTTP server keeps them. The plugin asks for them
/// from any thread.
pub trait Headers: Send + Sync + 'static {
    /// The `nth` value of a header (counted from 0), by its lower-case name.
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]>;

    /// The `nth` of all headers (counted from 0), with its name in lower case.
    fn at(&self, nth: usize) -> Option<(&str, &[u8])>;
}

/// No headers at all.
impl Headers for () {
    fn get(&self, _name: &str, _nth: usize) -> Option<&[u8]> {
        None
    }

    fn at(&self, _nth: usize) -> Option<(&str, &[u8])> {
        None
    }
}

/// Puts a [`Request`] together, for hosts and tests.
///
/// The request is where it will stay from the beginning, because it is large: each step moves a pointer.
pub struct RequestBuilder(Box<Asked>);

impl RequestBuilder {
    /// The path as the client sent it.
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.0.path = self.0.texts.add(path.as_ref());
        self
    }

    /// Adds the value of the pattern's next parameter.
    pub fn param(mut self, value: impl AsRef<str>) -> Self {
        let value = self.0.texts.add(value.as_ref());
        self.0.params.push(value);
        self
    }

    /// What follows `?`, as the client sent it.
    pub fn query(mut self, query: impl AsRef<str>) -> Self {
        self.0.query = self.0.texts.add(query.as_ref());
        self
    }

    /// The headers. They stay where they are, and are read when the plugin asks for one.
    pub fn headers(mut self, headers: impl Headers) -> Self {
        self.0.headers = Contained::new(Box::new(headers));
        self
    }

    /// The whole body, which is taken over, not copied.
    pub fn body(mut self, body: impl Into<Chunk>) -> Self {
        self.0.body = body.into();
        self
    }

    /// The body in pieces, instead of a whole one.
    pub fn stream(mut self, body: Body) -> Self {
        self.0.stream = Mutex::new(Some(body));
        self
    }

    /// Who makes the request.
    pub fn caller(mut self, caller: Caller) -> Self {
        self.0.caller = Some(caller);
        self
    }

    /// Something that is known about the request, see [`fact`](crate::fact).
    pub fn fact(mut self, name: &'static str, value: impl AsRef<str>) -> Self {
        let value = self.0.texts.add(value.as_ref());
        self.0.facts.push((name, value));
        self
    }

    /// The request's id.
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.0.id = self.0.texts.add(id.as_ref());
        self
    }

    /// The finished request.
    pub fn build(self) -> Request {
        Request::received(RawRequest_TO::from_ptr(RBox::from_box(self.0), TD_Opaque))
    }
}

/// A request on the side that has made it.
struct Asked {
    handler: u32,
    method: Method,
    texts: Texts,
    path: Span,
    query: Span,
    id: Span,
    params: Vec<Span>,
    headers: Contained<Box<dyn Headers>>,
    caller: Option<Caller>,
    body: Chunk,
    /// In a mutex because a stream may be sent, and not shared.
    stream: Mutex<Option<Body>>,
    facts: Vec<(&'static str, Span)>,
}

/// The texts of a request, one after the other: to allocate each would cost more than to copy them.
struct Texts(String);

/// Where one of the texts is.
#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
}

/// Room for the texts of nearly every request.
const TEXTS: usize = 256;

impl Texts {
    fn add(&mut self, text: &str) -> Span {
        let start = self.0.len();
        self.0.push_str(text);
        Span { start, end: self.0.len() }
    }

    fn get(&self, of: Span) -> RStr<'_> {
        RStr::from_str(self.0.get(of.start..of.end).unwrap_or_default())
    }
}

// Only the headers are an author's code, which may panic: they count as not sent then.
impl RawRequest for Asked {
    fn handler(&self) -> u32 {
        self.handler
    }

    fn method(&self) -> RStr<'_> {
        RStr::from_str(self.method.as_str())
    }

    fn path(&self) -> RStr<'_> {
        self.texts.get(self.path)
    }

    fn query(&self) -> RStr<'_> {
        self.texts.get(self.query)
    }

    fn id(&self) -> RStr<'_> {
        self.texts.get(self.id)
    }

    fn param(&self, nth: usize) -> ROption<RStr<'_>> {
        self.params.get(nth).map(|value| self.texts.get(*value)).into()
    }

    fn header<'a>(&'a self, name: RStr<'_>, nth: usize) -> ROption<RSlice<'a, u8>> {
        let value = attempt(|| self.headers.get(name.as_str(), nth));
        value.unwrap_or_default().map(RSlice::from).into()
    }

    fn header_at(&self, nth: usize) -> ROption<Tuple2<RStr<'_>, RSlice<'_, u8>>> {
        let header = attempt(|| self.headers.at(nth)).unwrap_or_default();
        header.map(|(name, value)| Tuple2(RStr::from_str(name), RSlice::from(value))).into()
    }

    fn caller(&self) -> ROption<&Caller> {
        self.caller.as_ref().into()
    }

    fn body(&self) -> RSlice<'_, u8> {
        RSlice::from(&*self.body)
    }

    fn take_stream(&mut self) -> ROption<Body> {
        self.stream.get_mut().unwrap_or_else(PoisonError::into_inner).take().into()
    }

    fn fact<'a>(&'a self, name: RStr<'_>) -> ROption<RStr<'a>> {
        let fact = self.facts.iter().find(|(known, _)| *known == name.as_str());
        fact.map(|(_, value)| self.texts.get(*value)).into()
    }
}

mod raw {
    //! A request as it crosses. New methods go to the end and have a default body.
    #![allow(
        unsafe_code,
        missing_docs,
        unreachable_pub,
        non_local_definitions,
        clippy::used_underscore_items,
        reason = "generated by sabi_trait"
    )]

    use abi_stable::sabi_trait;
    use abi_stable::std_types::{ROption, RSlice, RStr, Tuple2};

    use crate::body::Body;
    use crate::caller::Caller;

    #[sabi_trait]
    pub trait RawRequest: Send + Sync {
        fn handler(&self) -> u32;
        fn method(&self) -> RStr<'_>;
        fn path(&self) -> RStr<'_>;
        fn query(&self) -> RStr<'_>;
        fn id(&self) -> RStr<'_>;
        fn param(&self, nth: usize) -> ROption<RStr<'_>>;
        fn header<'a>(&'a self, name: RStr<'_>, nth: usize) -> ROption<RSlice<'a, u8>>;
        fn header_at(&self, nth: usize) -> ROption<Tuple2<RStr<'_>, RSlice<'_, u8>>>;
        fn caller(&self) -> ROption<&Caller>;
        fn body(&self) -> RSlice<'_, u8>;
        fn take_stream(&mut self) -> ROption<Body>;
        #[sabi(last_prefix_field)]
        fn fact<'a>(&'a self, name: RStr<'_>) -> ROption<RStr<'a>>;
    }
}
