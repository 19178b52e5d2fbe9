//! Requests as they cross. What a plugin does not ask for is not converted, and nothing is copied.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use abi_stable::StableAbi;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, ROption, RSlice, RStr, Tuple2};

use crate::body::Body;
use crate::caller::Caller;
use crate::chunk::Chunk;
use crate::panic::attempt;
use crate::route::Method;

use raw::{RawRequest, RawRequest_TO};

/// A request to one of the plugin's routes, by a caller whom the host has authenticated unless the
/// route is public.
#[repr(transparent)]
#[derive(StableAbi)]
pub struct Request(RequestObject);

type RequestObject = RawRequest_TO<'static, RBox<()>>;

impl Request {
    /// Begins a request to the route with this `handler` key.
    pub fn builder(handler: u32, method: Method) -> RequestBuilder {
        RequestBuilder(Parts {
            handler,
            method,
            path: String::new(),
            query: String::new(),
            id: String::new(),
            params: Vec::new(),
            headers: (),
            caller: None,
            body: Chunk::empty(),
            stream: Mutex::default(),
            facts: Vec::new(),
        })
    }

    /// The key under which the plugin registered the route.
    pub fn handler(&self) -> u32 {
        self.0.handler()
    }

    /// The method of the route; `GET` for a `HEAD` request too.
    pub fn method(&self) -> Method {
        // The host only mounts the routes of the plugin, whose methods both sides know.
        Method::parse(self.0.method().as_str()).unwrap_or(Method::Post)
    }

    /// The path as the client sent it, percent-encoded, without the query.
    pub fn path(&self) -> &str {
        self.0.path().as_str()
    }

    /// The values of the pattern's parameters, in order, percent-encoded as the client sent them.
    pub fn params(&self) -> Params<'_> {
        Params(self)
    }

    /// What follows `?` in the address, as the client sent it; empty where there is none.
    pub fn query(&self) -> &str {
        self.0.query().as_str()
    }

    /// The first value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.header_at(name, 0)
    }

    /// The `nth` value (counted from 0) of a header that may be sent several times.
    pub fn header_at(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.header(RStr::from_str(name), nth).into_option().map(RSlice::into)
    }

    /// All headers in the order in which the host has them, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        (0..).map_while(|nth| {
            let Tuple2(name, value) = self.0.header_at(nth).into_option()?;
            Some((name.as_str(), value.into()))
        })
    }

    /// The body; empty where there is none, or where it is [a stream](Self::take_stream). The host
    /// has bounded its size.
    pub fn body(&self) -> &[u8] {
        self.0.body().into()
    }

    /// The body in pieces. A host passes it so on routes that [take streams](crate::Route::streams),
    /// where it is larger than what the host holds in memory; each other body is whole. `None` from
    /// the second call on.
    pub fn take_stream(&mut self) -> Option<Body> {
        self.0.take_stream().into_option()
    }

    /// Who makes the request; `None` only on a public route, for a client without credentials.
    /// Wrong credentials are refused there too.
    pub fn caller(&self) -> Option<&Caller> {
        self.0.caller().into_option()
    }

    /// Something that the host knows about the request, by its name: see [`fact`](crate::fact).
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.0.fact(RStr::from_str(name)).into_option().map(RStr::into)
    }

    /// The id that is on the response and on every log line about this request.
    pub fn id(&self) -> &str {
        self.0.id().as_str()
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
        self.0.0.param(nth).into_option().map(RStr::into)
    }
}

impl std::ops::Index<usize> for Params<'_> {
    type Output = str;

    #[allow(clippy::panic, reason = "as every index that is out of bounds")]
    fn index(&self, nth: usize) -> &str {
        self.get(nth).unwrap_or_else(|| panic!("the route has no parameter {nth}"))
    }
}

/// The headers of a request, in whatever form the host's HTTP server keeps them.
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
pub struct RequestBuilder<H = ()>(Parts<H>);

impl<H: Headers> RequestBuilder<H> {
    /// The path as the client sent it.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.0.path = path.into();
        self
    }

    /// Adds the value of the pattern's next parameter.
    pub fn param(mut self, value: impl Into<String>) -> Self {
        self.0.params.push(value.into());
        self
    }

    /// What follows `?`, as the client sent it.
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.0.query = query.into();
        self
    }

    /// The headers; they are asked, not copied.
    pub fn headers<N: Headers>(self, headers: N) -> RequestBuilder<N> {
        let Parts {
            handler,
            method,
            path,
            query,
            id,
            params,
            headers: _,
            caller,
            body,
            stream,
            facts,
        } = self.0;
        RequestBuilder(Parts {
            handler,
            method,
            path,
            query,
            id,
            params,
            headers,
            caller,
            body,
            stream,
            facts,
        })
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
    pub fn fact(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.facts.push((name, value.into()));
        self
    }

    /// The request's id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.id = id.into();
        self
    }

    /// The finished request.
    pub fn build(self) -> Request {
        Request(RawRequest_TO::from_value(self.0, TD_Opaque))
    }
}

struct Parts<H> {
    handler: u32,
    method: Method,
    path: String,
    query: String,
    id: String,
    params: Vec<String>,
    headers: H,
    caller: Option<Caller>,
    body: Chunk,
    /// In a mutex because a stream may be sent, and not shared.
    stream: Mutex<Option<Body>>,
    facts: Vec<(&'static str, String)>,
}

// Only the headers are foreign code, which may panic: they count as not sent then.
impl<H: Headers> RawRequest for Parts<H> {
    fn handler(&self) -> u32 {
        self.handler
    }

    fn method(&self) -> RStr<'_> {
        RStr::from_str(self.method.as_str())
    }

    fn path(&self) -> RStr<'_> {
        RStr::from_str(&self.path)
    }

    fn query(&self) -> RStr<'_> {
        RStr::from_str(&self.query)
    }

    fn id(&self) -> RStr<'_> {
        RStr::from_str(&self.id)
    }

    fn param(&self, nth: usize) -> ROption<RStr<'_>> {
        self.params.get(nth).map(|value| RStr::from_str(value)).into()
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
        fact.map(|(_, value)| RStr::from_str(value)).into()
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
