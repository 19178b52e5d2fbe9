//! Requests and responses as they cross. Neither bodies nor header values are copied.

use std::fmt;

use abi_stable::StableAbi;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RArc, RBox, RCowStr, ROption, RSlice, RStr, RString, RVec};

use crate::panic::attempt;
use crate::route::Method;
use crate::user::User;

use raw::{RawHeaders, RawHeaders_TO};

/// The headers of a request, in whatever form the host's HTTP server keeps them.
pub trait Headers: Send + Sync + 'static {
    /// The `nth` value of a header (counted from 0), by its lower-case name.
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]>;
}

/// No headers at all.
impl Headers for () {
    fn get(&self, _name: &str, _nth: usize) -> Option<&[u8]> {
        None
    }
}

/// A request to one of the plugin's routes, by a user that the host has authenticated unless the
/// route is public.
#[repr(C)]
#[derive(StableAbi)]
pub struct Request {
    handler: u32,
    method: Method,
    path: RString,
    params: RVec<RString>,
    query: RString,
    headers: HeadersBox,
    body: RVec<u8>,
    user: ROption<RArc<User>>,
    id: RString,
}

impl Request {
    /// Begins a request to the route with this `handler` key.
    pub fn builder(handler: u32, method: Method) -> RequestBuilder {
        RequestBuilder(Request {
            handler,
            method,
            path: RString::new(),
            params: RVec::new(),
            query: RString::new(),
            headers: headers_box(()),
            body: RVec::new(),
            user: ROption::RNone,
            id: RString::new(),
        })
    }

    /// The key under which the plugin registered the route.
    pub fn handler(&self) -> u32 {
        self.handler
    }

    /// The method of the route; `GET` for a `HEAD` request too.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The path as the client sent it, percent-encoded, without the query.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// The values of the pattern's parameters, in order, percent-encoded as the client sent them.
    pub fn params(&self) -> Params<'_> {
        Params(&self.params)
    }

    /// What follows `?` in the address, as the client sent it; empty where there is none.
    pub fn query(&self) -> &str {
        self.query.as_str()
    }

    /// The first value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.header_at(name, 0)
    }

    /// The `nth` value (counted from 0) of a header that may be sent several times.
    pub fn header_at(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.headers.get(RStr::from_str(name), nth).into_option().map(RSlice::into)
    }

    /// The body; empty where there is none. The host has bounded its size.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Who asks; `None` only on a public route, of a client that does not say who it is. One that
    /// says it wrongly is refused there too.
    pub fn user(&self) -> Option<&User> {
        match &self.user {
            ROption::RSome(user) => Some(user),
            ROption::RNone => None,
        }
    }

    /// The id that stands on the response and on every log line about this request.
    pub fn id(&self) -> &str {
        self.id.as_str()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("id", &self.id())
            .field("method", &self.method)
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

/// The values of a pattern's parameters.
#[derive(Clone, Copy)]
pub struct Params<'a>(&'a [RString]);

impl<'a> Params<'a> {
    /// The value of the `nth` parameter of the pattern, counted from 0.
    pub fn get(self, nth: usize) -> Option<&'a str> {
        self.0.get(nth).map(RString::as_str)
    }
}

impl std::ops::Index<usize> for Params<'_> {
    type Output = str;

    fn index(&self, nth: usize) -> &str {
        self.0[nth].as_str()
    }
}

/// Puts a [`Request`] together, for hosts and tests.
pub struct RequestBuilder(Request);

impl RequestBuilder {
    /// The path as the client sent it.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.0.path = RString::from(path.into());
        self
    }

    /// Adds the value of the pattern's next parameter.
    pub fn param(mut self, value: impl Into<String>) -> Self {
        self.0.params.push(RString::from(value.into()));
        self
    }

    /// What follows `?`, as the client sent it.
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.0.query = RString::from(query.into());
        self
    }

    /// The headers; they are asked, not copied.
    pub fn headers(mut self, headers: impl Headers) -> Self {
        self.0.headers = headers_box(headers);
        self
    }

    /// The body, which is taken over, not copied.
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.0.body = RVec::from(body);
        self
    }

    /// Who asks.
    pub fn user(mut self, user: SharedUser) -> Self {
        self.0.user = ROption::RSome(user.0);
        self
    }

    /// The request's id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.id = RString::from(id.into());
        self
    }

    /// The finished request.
    pub fn build(self) -> Request {
        self.0
    }
}

/// A user that many requests share without copying it.
#[derive(Clone, Debug)]
pub struct SharedUser(RArc<User>);

impl SharedUser {
    /// Shares a user.
    pub fn new(user: User) -> Self {
        Self(RArc::new(user))
    }
}

impl std::ops::Deref for SharedUser {
    type Target = User;

    fn deref(&self) -> &User {
        &self.0
    }
}

/// The answer to a [`Request`].
#[repr(C)]
#[derive(StableAbi)]
pub struct Response {
    status: u16,
    headers: RVec<ResponseHeader>,
    body: RVec<u8>,
}

/// A header of a [`Response`].
#[repr(C)]
#[derive(Clone, Debug, StableAbi)]
pub struct ResponseHeader {
    name: RCowStr<'static>,
    value: RCowStr<'static>,
}

impl ResponseHeader {
    /// The name in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value; the host drops a header whose value HTTP does not permit.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl Response {
    /// A response without headers or body.
    pub fn new(status: u16) -> Self {
        Self { status, headers: RVec::new(), body: RVec::new() }
    }

    /// Adds a header. The name is in lower case.
    pub fn with_header(
        mut self,
        name: &'static str,
        value: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Self {
        self.headers
            .push(ResponseHeader { name: RCowStr::from(name), value: RCowStr::from(value.into()) });
        self
    }

    /// Sets the body, which is taken over, not copied.
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = RVec::from(body.into());
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers in the order they were added.
    pub fn headers(&self) -> &[ResponseHeader] {
        &self.headers
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body alone, to be sent from where it lies.
    pub fn into_body(self) -> Body {
        Body(self.body)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The body of a response, still in the plugin's memory and freed there when it is dropped.
pub struct Body(RVec<u8>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

type HeadersBox = RawHeaders_TO<'static, RBox<()>>;

struct Source<H>(H);

impl<H: Headers> RawHeaders for Source<H> {
    fn get<'a>(&'a self, name: RStr<'_>, nth: usize) -> ROption<RSlice<'a, u8>> {
        // A host whose headers panic is told nothing: the header counts as not sent.
        attempt(|| self.0.get(name.as_str(), nth)).unwrap_or_default().map(RSlice::from).into()
    }
}

fn headers_box(headers: impl Headers) -> HeadersBox {
    RawHeaders_TO::from_value(Source(headers), TD_Opaque)
}

mod raw {
    //! The headers of a request as they cross.
    #![allow(
        unsafe_code,
        missing_docs,
        unreachable_pub,
        non_local_definitions,
        clippy::used_underscore_items,
        reason = "generated by sabi_trait"
    )]

    use abi_stable::sabi_trait;
    use abi_stable::std_types::{ROption, RSlice, RStr};

    #[sabi_trait]
    pub trait RawHeaders: Send + Sync {
        #[sabi(last_prefix_field)]
        fn get<'a>(&'a self, name: RStr<'_>, nth: usize) -> ROption<RSlice<'a, u8>>;
    }
}
