//! One request and its answer, which is read while it passes. At its end it has a line in the log and is part
//! of the sums.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::body::Error;
use super::folding::Removed;
use super::meter::{Meter, Usage};
use super::totals::Totals;
use super::watching::{Watcher, Watching, used};
use super::wire::Conversation;
use crate::output::duration;

/// The headers in which agents name the conversation of a request.
const SESSIONS: [&str; 4] = ["x-claude-code-session-id", "session-id", "session_id", "x-session-id"];
/// The longest name of a conversation, in bytes.
const LONGEST_SESSION: usize = 64;

/// A request on its way.
pub struct Exchange {
    totals: Arc<Totals>,
    begun: Instant,
    /// The method and the path, without a query, because a query can contain a key.
    request: String,
    conversation: Option<Conversation>,
    session: Option<String>,
    pub removed: Removed,
    /// The recorder, and what it records.
    pub watched: Option<(Arc<Watcher>, Watching)>,
    status: Option<StatusCode>,
    meter: Option<Meter>,
    is_finished: bool,
}

impl Exchange {
    pub fn new(
        totals: Arc<Totals>,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        conversation: Option<Conversation>,
    ) -> Self {
        let named = SESSIONS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
        let session = named.filter(|name| name.len() <= LONGEST_SESSION).map(str::to_owned);
        Self {
            totals,
            begun: Instant::now(),
            request: format!("{method} {path}"),
            conversation,
            session,
            removed: Removed::default(),
            watched: None,
            status: None,
            meter: None,
            is_finished: false,
        }
    }

    /// The head of the answer has arrived.
    pub fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = Some(status);
        self.meter = self.conversation.and_then(|conversation| Meter::new(conversation.wire, headers));
    }
}

/// The end, also of a request whose client has gone.
impl Drop for Exchange {
    fn drop(&mut self) {
        let usage = self.meter.take().map(Meter::finish).unwrap_or_default();
        let status = self.status.map_or(0, |status| status.as_u16());
        let milliseconds = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let took = duration(milliseconds);
        let request = &self.request;
        if !self.conversation.is_some_and(|conversation| conversation.is_asked) {
            self.totals.add_other();
            tracing::info!(status, took, "{request}");
            return;
        }
        // An agent may leave as soon as the answer is whole.
        self.is_finished |= usage.is_ended;
        let has_failed = !self.is_finished || usage.error.is_some() || status >= 400 || status == 0;
        self.totals.add(&usage, self.removed, has_failed);
        if let Some((watcher, watching)) = self.watched.take() {
            let (request, answer) = (used(&usage, milliseconds, has_failed), usage.parts.clone());
            let is_last = !has_failed && !usage.has_calls;
            watcher.watch(Watching { request, answer, is_last, ..watching });
        }
        let Usage { model, uncached, read, written, output, error, .. } = usage;
        let error = error.or_else(|| (!self.is_finished).then(|| "cut".to_owned()));
        let (session, model) = (self.session.as_deref(), model.as_deref());
        let (folds, removed) = (self.removed.folds, self.removed.tokens);
        let error = error.as_deref();
        tracing::info!(
            status,
            took,
            session,
            model,
            uncached,
            read,
            written,
            output,
            folds,
            removed,
            error,
            "{request}"
        );
    }
}

/// The body of an answer that is read while it passes.
pub struct Passing<B> {
    body: B,
    exchange: Exchange,
}

impl<B: Body> Passing<B> {
    pub fn new(body: B, mut exchange: Exchange) -> Self {
        exchange.is_finished = body.is_end_stream();
        Self { body, exchange }
    }
}

impl<B: Body<Data = Bytes, Error: Into<Error>> + Unpin> Body for Passing<B> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(data), Some(meter)) = (frame.data_ref(), &mut self.exchange.meter) {
                    meter.read(data);
                }
                self.exchange.is_finished = self.body.is_end_stream();
            }
            Poll::Ready(None) => self.exchange.is_finished = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        polled.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
