//! The times of a frame: when it began and ended, and when it was blocked.

use serde::Serialize;

use super::before::status_in;
use super::{Change, Event, FrameStatus};

/// The times of a frame, from its events. All times are in milliseconds since the Unix epoch.
///
/// In JSON: `{"begunAt": 1795293106903, "endedAt": 1795293206903, "blocked": [{"from": 1795293116903, "to":
/// 1795293126903}]}`. What has not happened yet is omitted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FrameSpans {
    /// The time at which the work began. `None` if it has not begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<u64>,
    /// The time at which the frame was completed, failed or invalidated. `None` if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// The times during which the frame was blocked, or had ended before it was resumed, oldest first.
    pub blocked: Vec<Span>,
}

/// A time with a beginning, and an end if it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// In milliseconds since the Unix epoch.
    pub from: u64,
    /// In milliseconds since the Unix epoch. `None` if it is not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

impl FrameSpans {
    /// Takes an event of the frame into account. Events are given in the order of their revisions.
    pub fn follow(&mut self, event: &Event) {
        match &event.change {
            // An imported frame comes with the times of its record.
            Change::Added { frame } => {
                self.become_status(FrameStatus::Planned, frame.status, frame.created_at);
                if !frame.status.is_unfinished() {
                    self.ended_at = Some(frame.invalidated_at.unwrap_or(frame.updated_at));
                }
            }
            Change::StatusChanged { status, .. } => self.become_status(self.status(), *status, event.time),
            Change::Invalidated { .. } => self.become_status(self.status(), FrameStatus::Invalidated, event.time),
            Change::Reopened { .. } => self.go_back_to(FrameStatus::InProgress, event.time),
            Change::Restored { values, .. } | Change::Reimported { values, .. } => {
                if let Some(status) = status_in(values) {
                    self.go_back_to(status, event.time);
                }
            }
            _ => {}
        }
    }

    /// The time during which the frame was worked on up to `now`, in milliseconds: since its beginning,
    /// without the times during which it was blocked. 0 if it has not begun.
    ///
    /// ```
    /// use callstack_core::frame::{FrameSpans, Span};
    ///
    /// let mut spans = FrameSpans::default();
    /// assert_eq!(spans.worked(500), 0);
    /// spans.begun_at = Some(100);
    /// spans.blocked = vec![Span { from: 200, to: Some(300) }, Span { from: 400, to: None }];
    /// assert_eq!(spans.worked(500), 200);
    /// ```
    pub fn worked(&self, now: u64) -> u64 {
        let Some(begun_at) = self.begun_at else { return 0 };
        let end = self.ended_at.unwrap_or(now);
        let length = |span: &Span| span.to.unwrap_or(end).saturating_sub(span.from);
        let blocked: u64 = self.blocked.iter().map(length).sum();
        end.saturating_sub(begun_at).saturating_sub(blocked)
    }

    /// The frame has the status again, because it was reopened or a command was taken back. No actor has
    /// worked on the frame while it was over.
    fn go_back_to(&mut self, status: FrameStatus, time: u64) {
        if status == FrameStatus::Planned {
            *self = Self::default();
            return;
        }
        if let Some(ended_at) = self.ended_at.take_if(|_| status.is_unfinished()) {
            self.blocked.push(Span { from: ended_at, to: Some(time) });
        }
        self.become_status(self.status(), status, time);
    }

    /// What the spans so far say about the status.
    fn status(&self) -> FrameStatus {
        match self.blocked.last() {
            Some(Span { to: None, .. }) => FrameStatus::Blocked,
            _ if self.begun_at.is_some() => FrameStatus::InProgress,
            _ => FrameStatus::Planned,
        }
    }

    fn become_status(&mut self, from: FrameStatus, to: FrameStatus, time: u64) {
        let is_invalidated_plan = from == FrameStatus::Planned && to == FrameStatus::Invalidated;
        if to != FrameStatus::Planned && !is_invalidated_plan {
            self.begun_at.get_or_insert(time);
        }
        if to == FrameStatus::Blocked {
            // A frame that is blocked again waits for something else from then on.
            if from != FrameStatus::Blocked {
                self.blocked.push(Span { from: time, to: None });
            }
        } else if let Some(span) = self.blocked.last_mut() {
            span.to.get_or_insert(time);
        }
        self.ended_at = (!to.is_unfinished()).then_some(self.ended_at.unwrap_or(time));
    }
}
