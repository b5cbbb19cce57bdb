//! The bodies of requests and answers: read as a whole up to a limit, or passed on as they arrive.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;

/// The error of a body, no matter what has cut it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// A body to send.
pub type Body = UnsyncBoxBody<Bytes, Error>;

/// A body after it was read up to a limit.
pub enum Read {
    /// All of it.
    Whole(Bytes),
    /// It is longer than the limit.
    TooLong(Body),
}

/// Reads a body whole, if it has at most this length.
///
/// # Errors
/// If its sender ends it too early.
pub async fn read(mut body: Incoming, longest: usize) -> Result<Read, hyper::Error> {
    let named = body.size_hint().exact().and_then(|length| usize::try_from(length).ok());
    if named.is_some_and(|length| length > longest) {
        return Ok(Read::TooLong(passed_on(body)));
    }
    let mut begun = BytesMut::with_capacity(named.unwrap_or_default());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            begun.extend_from_slice(&data);
        }
        if begun.len() > longest {
            return Ok(Read::TooLong(Body::new(Continued { begun: Some(begun.freeze()), rest: body })));
        }
    }
    Ok(Read::Whole(begun.freeze()))
}

/// A body as it arrives.
pub fn passed_on(body: Incoming) -> Body {
    Body::new(body.map_err(Error::from))
}

pub fn full(bytes: impl Into<Bytes>) -> Body {
    Body::new(Full::new(bytes.into()).map_err(|never| match never {}))
}

pub fn empty() -> Body {
    Body::new(Empty::new().map_err(|never| match never {}))
}

/// A body whose beginning was read.
struct Continued {
    begun: Option<Bytes>,
    rest: Incoming,
}

impl http_body::Body for Continued {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match self.begun.take() {
            Some(begun) => Poll::Ready(Some(Ok(Frame::data(begun)))),
            None => Pin::new(&mut self.rest).poll_frame(context).map_err(Error::from),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.begun.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let begun = self.begun.as_ref().map_or(0, |begun| begun.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(begun + self.rest.size_hint().lower());
        hint
    }
}
