//! The times and the model requests of all frames.

use std::collections::BTreeMap;

use super::{Change, Event, FrameSpans, Handle, ModelRequest};

/// The times and the model requests of all frames of a stack, from its events: a chart of a run is drawn from
/// them. [`History::update_timeline`](crate::stack::History::update_timeline) fills it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    revision: u64,
    /// The time of the first event.
    earliest_time: Option<u64>,
    latest_time: Option<u64>,
    spans: BTreeMap<Handle, FrameSpans>,
    requests: Vec<TimedRequest>,
}

/// A request to a model, with its frame and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedRequest {
    /// The frame that the request belongs to.
    pub handle: Handle,
    /// The time at which the request was sent, in milliseconds since the Unix epoch: `ended_at` less the
    /// duration that the host has reported, and not before the first event.
    pub begun_at: u64,
    /// The time at which the host reported the request, which is the end of its answer, in milliseconds since
    /// the Unix epoch.
    pub ended_at: u64,
    /// The request, as the host reported it.
    pub request: ModelRequest,
}

impl Timeline {
    /// Takes an event into account. Events are given in the order of their revisions.
    pub fn follow(&mut self, event: &Event) {
        self.revision = event.revision;
        let earliest_time = *self.earliest_time.get_or_insert(event.time);
        self.latest_time = self.latest_time.max(Some(event.time));
        if let Change::UsageRecorded { model_request } = &event.change {
            let (handle, ended_at) = (event.handle, event.time);
            let begun_at = ended_at.saturating_sub(model_request.duration).max(earliest_time.min(ended_at));
            self.requests.push(TimedRequest {
                handle,
                begun_at,
                ended_at,
                request: ModelRequest::clone(model_request),
            });
        } else {
            self.spans.entry(event.handle).or_default().follow(event);
        }
    }

    /// The revision of the newest event in the timeline. 0 if it contains no event.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The latest time of an event, in milliseconds since the Unix epoch. Work that has not ended is known to
    /// have lasted until then. `None` if the timeline contains no event.
    pub fn latest_time(&self) -> Option<u64> {
        self.latest_time
    }

    /// When a frame began, was blocked and ended. `None` if no event of the frame was given.
    pub fn spans(&self, handle: Handle) -> Option<&FrameSpans> {
        self.spans.get(&handle)
    }

    /// The requests of all frames, in the order of their ends.
    pub fn requests(&self) -> &[TimedRequest] {
        &self.requests
    }
}
