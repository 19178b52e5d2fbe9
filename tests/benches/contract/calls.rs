//! The calls that are measured, from the side of a host. Written for one version of the contract, which
//! its parent names: the same file is compiled with each of them.

use std::path::Path;

use futures_util::{Stream, StreamExt, stream};

use super::contract::{
    self, Body, Caller, Denial, Environment, Error, Headers, Host, LoadedPlugin, LogRecord, Method,
    Principal, Request,
};
use crate::{PIECE, finish};

/// A plugin of `fixtures/measured.rs`, with its host.
pub struct Calls {
    plugin: LoadedPlugin,
    caller: Caller,
}

impl Calls {
    pub fn open(library: &Path) -> Self {
        let library = contract::open(library).unwrap();
        let plugin = library.create(Silent, &Environment::new("sqlite://none.db")).unwrap();
        Self { plugin, caller: Caller::new(Anyone) }
    }

    /// A request without a body: three headers, a permission and a parameter are asked for.
    pub fn get(&self) -> usize {
        let request = Request::builder(0, Method::Get)
            .path("/api/v1/measured/7")
            .query("page[offset]=20")
            .param("7")
            .headers(SENT)
            .caller(self.caller.clone())
            .id("5f1c7a2be0d94c83-1f2e")
            .build();
        self.answer(request).len()
    }

    /// A request with a body of 1 kB, which comes back.
    pub fn post(&self) -> usize {
        let request = Request::builder(1, Method::Post)
            .path("/api/v1/measured")
            .headers(SENT)
            .body(vec![b'x'; 1024])
            .caller(self.caller.clone())
            .id("5f1c7a2be0d94c83-1f2e")
            .build();
        self.answer(request).len()
    }

    /// So many pieces from the plugin to the host. The sum of their bytes, as of each stream.
    pub fn download(&self, pieces: usize) -> u64 {
        let request = Request::builder(2, Method::Get).param(pieces.to_string()).build();
        let response = finish(self.plugin.handle(request)).unwrap();
        sum(response.into_body().unwrap_err())
    }

    /// So many pieces from the host to the plugin.
    pub fn upload(&self, pieces: usize) -> u64 {
        let body = Body::new(self::pieces(pieces));
        self.number(Request::builder(3, Method::Post).stream(body).build())
    }

    /// So many pieces that do not cross.
    pub fn linked(&self, pieces: usize) -> u64 {
        sum(self::pieces(pieces))
    }

    /// How often the library has asked for memory so far.
    pub fn allocations(&self) -> u64 {
        self.number(Request::builder(4, Method::Get).build())
    }

    fn number(&self, request: Request) -> u64 {
        std::str::from_utf8(&self.answer(request)).unwrap().parse().unwrap()
    }

    fn answer(&self, request: Request) -> contract::Chunk {
        let response = finish(self.plugin.handle(request)).unwrap();
        assert!(response.status() == 200 && response.headers().len() == 2);
        response.into_body().unwrap()
    }
}

fn pieces(count: usize) -> impl Stream<Item = Result<Vec<u8>, Error>> + Send {
    stream::repeat_with(|| Ok(vec![7; PIECE])).take(count)
}

fn sum<P: AsRef<[u8]>>(stream: impl Stream<Item = Result<P, Error>>) -> u64 {
    finish(stream.fold(0, async |sum, piece| {
        let piece = piece.unwrap();
        sum + piece.as_ref().iter().map(|byte| u64::from(*byte)).sum::<u64>()
    }))
}

struct Silent;

impl Host for Silent {
    fn log(&self, _record: &LogRecord<'_>) {}
}

struct Anyone;

impl Principal for Anyone {
    fn user(&self) -> i64 {
        7
    }

    fn may(&self, _action: &str, asset: &str) -> Result<(), Denial> {
        if asset == "com_measured" { Ok(()) } else { Err(Denial::Forbidden) }
    }
}

struct Sent([(&'static str, &'static [u8]); 5]);

const SENT: Sent = Sent([
    ("host", b"shop.example.com"),
    ("user-agent", b"measured/1.0"),
    ("accept", b"application/json"),
    ("accept-language", b"en"),
    ("if-none-match", b"\"5f1c7a2be0d94c83\""),
]);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.iter().filter(|(known, _)| *known == name).nth(nth).map(|(_, value)| *value)
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.0.get(nth).copied()
    }
}
