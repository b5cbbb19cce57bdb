//! How a host resumes frames that were interrupted, stopped or answered: leaf first, so that each frame finds
//! the results of the frames below it.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::frame::{FrameStatus, Handle};
use crate::tree::Tree;

/// What a host does now to resume frames, and what it waits for: see
/// [`Work::resumption`](crate::stack::Work::resumption).
///
/// In JSON: `{"now": ["f3"], "later": ["f1"], "running": ["f4"], "asking": ["f5"], "missed": [{"frame": "f1",
/// "child": "f2"}]}`. All lists are there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Resumption {
    /// The given frames that can be resumed now: they were interrupted, stopped or answered, and nothing
    /// below them is running or among `now` and `later`. In creation order.
    pub now: Vec<Handle>,
    /// The given frames that can be resumed when the frames below them have ended. In creation order.
    pub later: Vec<Handle>,
    /// The frames, at or below one of the given ones, that a host runs. When one of them ends or is
    /// interrupted, the answer to this question changes. In creation order.
    pub running: Vec<Handle>,
    /// The frames, at or below one of the given ones, that wait for a person. In creation order.
    pub asking: Vec<Handle>,
    /// Results that the conversations of frames in `now` and `later` do not have.
    pub missed: Vec<Missed>,
}

/// A result that the conversation of a frame does not have: its child has ended after the work on the frame
/// was interrupted.
///
/// In JSON: `{"frame": "f1", "child": "f2"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Missed {
    /// The frame.
    pub frame: Handle,
    /// Its child, which is completed or failed.
    pub child: Handle,
}

impl Tree {
    /// How a host resumes these frames. Frames that workers hold are left to workers.
    pub fn resumption(&self, frames: impl IntoIterator<Item = Handle>) -> Resumption {
        let wanted: BTreeSet<Handle> = frames.into_iter().collect();
        let can_go_on: BTreeSet<Handle> =
            wanted.iter().copied().filter(|handle| self.can_be_resumed(*handle)).collect();
        let is_meant = |handle: &Handle| self.lineage(*handle).any(|above| wanted.contains(&above));
        let running: Vec<Handle> = self.called().filter(is_meant).collect();
        // A frame waits for what is below it.
        let waiting: BTreeSet<Handle> =
            can_go_on.iter().chain(&running).flat_map(|handle| self.ancestors(*handle)).collect();
        let (later, now): (Vec<Handle>, Vec<Handle>) = can_go_on.iter().partition(|handle| waiting.contains(handle));
        let asks = |handle: &Handle| {
            let record = self.node(*handle).record();
            !record.is_salvaged() && record.pending_answer().is_none()
        };
        let missed = can_go_on.iter().flat_map(|frame| {
            let has_missed = |child: &&Handle| self.has_undelivered_results(**child);
            self.children(*frame).iter().filter(has_missed).map(|child| Missed { frame: *frame, child: *child })
        });
        Resumption {
            now,
            later,
            asking: self.with_status(FrameStatus::Blocked).filter(asks).filter(is_meant).collect(),
            missed: missed.collect(),
            running,
        }
    }

    /// True if a host can resume a frame: no other host runs it, and no person has to do anything before.
    fn can_be_resumed(&self, handle: Handle) -> bool {
        let record = self.node(handle).record();
        let is_interrupted = record.is_interrupted() && record.worker().is_none();
        let is_open = is_interrupted || record.is_salvaged() || record.pending_answer().is_some();
        is_open && record.host().is_none()
    }

    fn has_undelivered_results(&self, handle: Handle) -> bool {
        let record = self.node(handle).record();
        matches!(record.status, FrameStatus::Completed | FrameStatus::Failed) && record.delivered_at.is_none()
    }
}
