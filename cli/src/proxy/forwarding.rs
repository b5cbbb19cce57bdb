//! A request on its way to the upstream, folded if it has a conversation, and its answer on the way back.

use std::sync::Arc;

use bytes::Bytes;
use callstack_core::fold::{FoldSettings, Wire};
use callstack_core::frame::ModelRequest;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use super::body::{self, Body, Read, full};
use super::encoding::Encoding;
use super::exchange::{Exchange, Passing};
use super::folding::{self, FoldedBody, Removed};
use super::headers::{end_connection, is_signed, upgrade_to};
use super::totals::Totals;
use super::upstream::{Unanswered, Upstream};
use super::watching::{Sent, Watcher, Watching, caller_of};
use super::wire;
use crate::caller::Caller;

/// Passes requests on.
pub struct Forwarding {
    pub upstream: Upstream,
    /// `None`: requests are only watched.
    pub fold: Option<FoldSettings>,
    /// The wire of requests whose paths do not tell the wire.
    pub wire: Option<Wire>,
    pub totals: Arc<Totals>,
    /// The conversation of requests that name no conversation.
    pub conversation: Option<Caller>,
    /// Records what conversations say and use.
    pub watcher: Arc<Watcher>,
}

impl Forwarding {
    /// Passes a request on, and returns the answer. `path`: the path below the URL of the upstream, with the
    /// query.
    ///
    /// # Errors
    /// If the client has ended its body too early.
    pub async fn forward(&self, path: &str, mut request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
        let upgraded = hyper::upgrade::on(&mut request);
        let (mut head, incoming) = request.into_parts();
        let protocol = end_connection(&mut head.headers);
        let bare_path = path.split('?').next().unwrap_or_default();
        let conversation = wire::conversation(&head.method, bare_path, self.wire);
        let mut exchange = Exchange::new(self.totals.clone(), &head.method, bare_path, &head.headers, conversation);
        let body = match conversation {
            Some(conversation) => match self.whole(conversation.wire, &head.headers, incoming).await? {
                Ok((encoding, whole)) => {
                    if conversation.is_asked {
                        let (wire, body) = (conversation.wire, whole.clone());
                        let caller = caller_of(&head.headers).or_else(|| self.conversation.clone());
                        let sent = Sent { caller, wire, encoding, body };
                        if sent.caller.is_some() && sent.caller == self.conversation {
                            self.watcher.look(&sent);
                        }
                        let request = ModelRequest::default();
                        let watching = Watching { sent, request, answer: Vec::new(), is_last: false };
                        exchange.watched = Some((self.watcher.clone(), watching));
                    }
                    let (body, removed) = self.folded(conversation.wire, encoding, &mut head, whole).await;
                    exchange.removed = removed;
                    body
                }
                Err(body) => body,
            },
            None => body::passed_on(incoming),
        };
        if let Some(protocol) = &protocol {
            upgrade_to(&mut head.headers, protocol.clone());
        }
        let wire = conversation.map(|conversation| conversation.wire);
        let mut response = match self.upstream.send(path, Request::from_parts(head, body)).await {
            Ok(response) => response,
            Err(error) => return Ok(self.unanswered(&mut exchange, wire, &error)),
        };
        exchange.answered(response.status(), response.headers());
        let agreed = (response.status() == StatusCode::SWITCHING_PROTOCOLS).then(|| hyper::upgrade::on(&mut response));
        let protocol = end_connection(response.headers_mut());
        if let Some(other) = agreed {
            if let Some(protocol) = protocol {
                upgrade_to(response.headers_mut(), protocol);
            }
            tokio::spawn(connect(upgraded, other));
        }
        let (head, incoming) = response.into_parts();
        Ok(Response::from_parts(head, Body::new(Passing::new(incoming, exchange))))
    }

    /// The whole body of a request with a conversation, and how it is encoded. The inner error is the body as
    /// it arrives, if it cannot be read.
    async fn whole(
        &self,
        wire: Wire,
        headers: &HeaderMap,
        incoming: Incoming,
    ) -> Result<Result<(Encoding, Bytes), Body>, hyper::Error> {
        let Some(encoding) = foldable(wire, headers) else { return Ok(Err(body::passed_on(incoming))) };
        Ok(match body::read(incoming, folding::LONGEST).await? {
            Read::Whole(whole) => Ok((encoding, whole)),
            Read::TooLong(rest) => {
                let longest = folding::LONGEST;
                tracing::warn!("a request of the wire {wire} is sent as it came: it has more than {longest} bytes");
                Err(rest)
            }
        })
    }

    /// The body to send, and what is no longer in it. After this, the headers fit that body.
    async fn folded(&self, wire: Wire, encoding: Encoding, head: &mut Parts, whole: Bytes) -> (Body, Removed) {
        let Some(settings) = self.fold.clone() else { return (full(whole), Removed::default()) };
        let Some(FoldedBody { bytes, removed }) = folding::folded(wire, encoding, whole.clone(), settings).await else {
            return (full(whole), Removed::default());
        };
        head.headers.remove(CONTENT_ENCODING);
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        (full(bytes), removed)
    }

    /// The answer in place of an answer that has not come.
    fn unanswered(&self, exchange: &mut Exchange, wire: Option<Wire>, error: &Unanswered) -> Response<Body> {
        let (status, what) = match error.is_silent {
            true => (StatusCode::GATEWAY_TIMEOUT, "has not answered"),
            false => (StatusCode::BAD_GATEWAY, "cannot be reached"),
        };
        let message = format!("callstack proxy: {} {what}: {error}", self.upstream);
        tracing::warn!("{message}");
        let mut response = Response::new(full(wire::error(wire, status, &message).to_string()));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        exchange.answered(status, &HeaderMap::new());
        response
    }
}

/// The encoding of a body that may be folded. `None`, with a line in the log: the body is passed on as it
/// came.
fn foldable(wire: Wire, headers: &HeaderMap) -> Option<Encoding> {
    let why = match Encoding::of(headers) {
        _ if is_signed(headers) => "its sender has signed its body",
        None => "its encoding is not known here",
        encoding => return encoding,
    };
    tracing::warn!("a request of the wire {wire} is sent as it came: {why}");
    None
}

/// Passes bytes on in both directions, until one side ends.
async fn connect(client: OnUpgrade, upstream: OnUpgrade) {
    if let (Ok(client), Ok(upstream)) = tokio::join!(client, upstream) {
        // A connection that breaks off concerns only its client.
        let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(upstream)).await;
    }
}
