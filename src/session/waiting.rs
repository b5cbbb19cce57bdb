//! How a [`Turn`] handles tool calls that wait for several frames, or run all frames that are ready.

use super::calls::{self, CallId, CallOptions, Wait};
use super::effect::Effect;
use super::turn::Turn;
use crate::error::Result;
use crate::frame::{FrameStatus, Handle};

impl Turn<'_> {
    /// Waits for the ends of frames that run. `for_any`: the first end is enough. `time_limit` is in milliseconds; 0: none.
    pub fn wait(&mut self, caller: &str, frames: Vec<Handle>, for_any: bool, time_limit: u64) -> CallId {
        self.sessions.look_later(self.now);
        let wait = Wait { caller: caller.to_owned(), frames, for_any, runs_below: None };
        self.sessions.calls.wait(wait, time_limit, self.now)
    }

    /// The frames below the frames of the caller that run, or are queued, and for which nobody waits.
    pub fn background_frames(&self, caller: &str) -> Vec<Handle> {
        let is_below =
            |handle: &Handle| self.tree.ancestors(*handle).any(|above| self.tree.node(above).session_id() == caller);
        let calls = self.sessions.calls.all().filter(|(_, call)| call.is_background && call.wait.is_none());
        calls.map(|(_, call)| call.handle).filter(is_below).collect()
    }

    /// Runs the planned children of a frame whose dependencies are completed, and those that become ready, until none is.
    ///
    /// # Errors
    /// As [`Turn::check_depth`].
    pub fn call_ready(&mut self, caller: &str, parent: Handle) -> Result<CallId> {
        self.check_depth(Some(parent))?;
        self.sessions.look_later(self.now);
        let wait = Wait { caller: caller.to_owned(), frames: Vec::new(), for_any: false, runs_below: Some(parent) };
        let id = self.sessions.calls.wait(wait, 0, self.now);
        self.begin_ready(id, parent);
        self.begin_queued();
        Ok(id)
    }

    /// Calls the children of a frame that are ready and that this tool call has not begun yet.
    fn begin_ready(&mut self, id: CallId, parent: Handle) {
        let Some(wait) = self.sessions.calls.waits.get(&id) else { return };
        let caller = wait.caller.clone();
        let is_ready = |child: &Handle| {
            let is_planned = self.tree.node(*child).status() == FrameStatus::Planned;
            is_planned
                && self.tree.is_ready(*child)
                && !wait.frames.contains(child)
                && !self.sessions.calls.runs(*child)
        };
        let ready: Vec<Handle> = self.tree.children(parent).iter().copied().filter(is_ready).collect();
        for child in ready {
            self.queue(child, CallOptions::new(caller.clone()).background(true), Some(id));
            self.sessions.calls.waits.get_mut(&id).into_iter().for_each(|wait| wait.frames.push(child));
        }
    }

    /// Begins frames that have become ready, and answers the tool calls that have waited long enough.
    pub(super) fn settle_waits(&mut self) {
        let waits: Vec<(CallId, Option<Handle>)> =
            self.sessions.calls.waits.iter().map(|(id, wait)| (*id, wait.runs_below)).collect();
        for (id, runs_below) in waits {
            if let Some(parent) = runs_below.filter(|parent| self.tree.node(*parent).status().is_open()) {
                self.begin_ready(id, parent);
            }
            let Some(wait) = self.sessions.calls.waits.get(&id) else { continue };
            let mut ends = wait.frames.iter().map(|frame| self.has_ended(*frame));
            let is_over = if wait.for_any { ends.any(|has_ended| has_ended) } else { ends.all(|has_ended| has_ended) };
            if is_over {
                self.end_wait(id);
            }
        }
    }

    /// True if nobody runs a frame, and nobody will without another tool call.
    fn has_ended(&self, handle: Handle) -> bool {
        let record = self.tree.node(handle).record();
        let runs_elsewhere = record.status == FrameStatus::InProgress && record.call.is_some();
        let goes_on = record.pending_answer().is_some() && self.sessions.is_watched(handle);
        !self.sessions.calls.runs(handle) && !runs_elsewhere && !goes_on
    }

    /// Answers a tool call that waits, with what has ended.
    pub(super) fn end_wait(&mut self, id: CallId) {
        let Some(wait) = self.sessions.calls.remove_wait(id) else { return };
        let (ended, running): (Vec<Handle>, Vec<Handle>) =
            wait.frames.iter().partition(|frame| self.has_ended(**frame));
        for frame in &ended {
            self.deliver(&wait.caller, *frame, false);
            self.sessions.told(&wait.caller, *frame);
        }
        let text = calls::wait_answer(self.tree, &ended, &running, wait.runs_below, &self.sessions.tools);
        self.effect(Effect::Answer { call: id, text });
    }
}
