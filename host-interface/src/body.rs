//! Bodies that come in pieces, in either direction. The side that reads asks for the next piece when it
//! has room for it, so nothing piles up; a reader that drops the body drops what produces it.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use abi_stable::StableAbi;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, ROption};
use async_ffi::{ContextExt, FfiContext, FfiPoll};
use futures_core::Stream;

use crate::chunk::Chunk;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::panic::{Contained, attempt};

pub(crate) use raw::RawBody;
use raw::RawBody_TO;

/// A body in pieces: a [`Stream`] of [`Chunk`]s. An error is the end of the body, and a panic of the side
/// that produces it is such an error.
///
/// It may be polled after the request was answered, from any thread, by one at a time. A stream that needs
/// an async runtime has to enter it in each poll, because the other side's threads do not.
#[repr(transparent)]
#[derive(StableAbi)]
pub struct Body(BodyObject);

pub(crate) type BodyObject = RawBody_TO<'static, RBox<()>>;

impl Body {
    /// A body of the pieces that this stream gives. Its length is not known.
    pub fn new<C: Into<Chunk>>(
        stream: impl Stream<Item = Result<C, Error>> + Send + 'static,
    ) -> Self {
        Self::make(stream, None)
    }

    /// A body of the pieces that this stream gives, which are `length` bytes in total.
    pub fn with_length<C: Into<Chunk>>(
        stream: impl Stream<Item = Result<C, Error>> + Send + 'static,
        length: u64,
    ) -> Self {
        Self::make(stream, Some(length))
    }

    /// A body that is there already, as one piece.
    pub fn whole(bytes: impl Into<Chunk>) -> Self {
        let bytes = bytes.into();
        let length = bytes.len() as u64;
        Self::with_length(Whole(Some(bytes)), length)
    }

    /// The body as a text, once all of its pieces have come.
    ///
    /// # Errors
    /// That of the side that produces it, and [`Error::Contract`] if it is no UTF-8.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut bytes = Vec::new();
        while let Some(piece) = poll_fn(|context| Pin::new(&mut self).poll_next(context)).await {
            bytes.extend_from_slice(&piece?);
        }
        String::from_utf8(bytes).map_err(Error::contract)
    }

    /// The length in bytes, if the side that produces the body knows it.
    pub fn length(&self) -> Option<u64> {
        self.0.length().into_option()
    }

    fn make<C: Into<Chunk>>(
        stream: impl Stream<Item = Result<C, Error>> + Send + 'static,
        length: Option<u64>,
    ) -> Self {
        let producer = Producer { stream: Some(Contained::new(Box::pin(stream))), length };
        Self(RawBody_TO::from_value(producer, TD_Opaque))
    }
}

/// A body is only a pointer. What produces it is pinned behind the pointer.
impl Unpin for Body {}

impl Stream for Body {
    type Item = Result<Chunk, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match context.with_ffi_context(|context| self.0.poll_chunk(context)) {
            FfiPoll::Pending => Poll::Pending,
            FfiPoll::Ready(Outcome::Done(ROption::RSome(chunk))) => Poll::Ready(Some(Ok(chunk))),
            FfiPoll::Ready(Outcome::Done(ROption::RNone)) => Poll::Ready(None),
            FfiPoll::Ready(Outcome::Failed(failure)) => Poll::Ready(Some(Err(failure.into()))),
            FfiPoll::Panicked => {
                Poll::Ready(Some(Err(Error::Panicked("while a body was produced".to_owned()))))
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("length", &self.length()).finish_non_exhaustive()
    }
}

/// A stream of one piece.
struct Whole(Option<Chunk>);

impl Stream for Whole {
    type Item = Result<Chunk, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}

/// A stream whose panics are caught. It is gone as soon as it has ended, failed or panicked.
struct Producer<S> {
    stream: Option<Contained<Pin<Box<S>>>>,
    length: Option<u64>,
}

impl<C: Into<Chunk>, S: Stream<Item = Result<C, Error>> + Send> RawBody for Producer<S> {
    fn length(&self) -> ROption<u64> {
        self.length.into()
    }

    fn poll_chunk(&mut self, context: &mut FfiContext<'_>) -> FfiPoll<Outcome<ROption<Chunk>>> {
        let Some(stream) = &mut self.stream else {
            return FfiPoll::Ready(Outcome::Done(ROption::RNone));
        };
        let polled = context.with_context(|context| {
            attempt(|| stream.as_mut().poll_next(context).map_ok(Into::into))
        });
        let end = match polled {
            Ok(Poll::Pending) => return FfiPoll::Pending,
            Ok(Poll::Ready(Some(Ok(chunk)))) => {
                return FfiPoll::Ready(Outcome::Done(ROption::RSome(chunk)));
            }
            Ok(Poll::Ready(Some(Err(error)))) | Err(error) => Outcome::Failed(error.into()),
            Ok(Poll::Ready(None)) => Outcome::Done(ROption::RNone),
        };
        self.stream = None;
        FfiPoll::Ready(end)
    }
}

mod raw {
    //! A body as it crosses. New methods go to the end and have a default body.
    #![allow(
        unsafe_code,
        missing_docs,
        unreachable_pub,
        non_local_definitions,
        clippy::used_underscore_items,
        reason = "generated by sabi_trait"
    )]

    use abi_stable::sabi_trait;
    use abi_stable::std_types::ROption;
    use async_ffi::{FfiContext, FfiPoll};

    use crate::chunk::Chunk;
    use crate::outcome::Outcome;

    #[sabi_trait]
    pub trait RawBody: Send {
        fn length(&self) -> ROption<u64>;
        #[sabi(last_prefix_field)]
        fn poll_chunk(&mut self, context: &mut FfiContext<'_>) -> FfiPoll<Outcome<ROption<Chunk>>>;
    }
}
