//! How a [`Turn`] handles tool calls that wait for several frames, or run all frames that are ready.

use std::collections::HashSet;

use super::call_title;
use super::calls::{self, CallId, CallOptions, Wait};
use super::effect::Effect;
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle};

impl Turn<'_> {
    /// Waits for the ends of frames that run. `for_any`: the first end is enough. `time_limit` is in
    /// milliseconds; 0: no limit.
    ///
    /// # Errors
    /// [`Error::WaitCircle`] if one of the frames is the frame of the caller or an ancestor of it, or waits
    /// for such a frame.
    pub fn wait(&mut self, caller: &str, frames: Vec<Handle>, for_any: bool, time_limit: u64) -> Result<CallId> {
        self.check_wait(caller, &frames)?;
        let mut seen = HashSet::new();
        let frames: Vec<Handle> = frames.into_iter().filter(|frame| seen.insert(*frame)).collect();
        self.sessions.look_later(self.now);
        let wait =
            Wait { caller: caller.to_owned(), frames, for_any, added_at: self.tree.revision(), ..Wait::default() };
        Ok(self.sessions.calls.wait(wait, time_limit, self.now))
    }

    /// Checks that none of the frames waits, directly or through others, for the frame of the caller or for
    /// an ancestor of it.
    ///
    /// # Errors
    /// [`Error::WaitCircle`] if one does.
    pub fn check_wait(&self, caller: &str, frames: &[Handle]) -> Result<()> {
        match frames.iter().find(|frame| self.waits_for(**frame, caller)) {
            Some(handle) => Err(Error::WaitCircle { handle: *handle }),
            None => Ok(()),
        }
    }

    /// True if a frame is the frame of a session or an ancestor of it, or waits for such a frame.
    fn waits_for(&self, frame: Handle, session_id: &str) -> bool {
        let mut seen: HashSet<Handle> = HashSet::new();
        let mut pending = vec![frame];
        while let Some(handle) = pending.pop() {
            if !seen.insert(handle) {
                continue;
            }
            if self.is_own(handle, session_id) {
                return true;
            }
            let works_for_it = |session: &str| self.sessions.served(session, self.tree) == Some(handle);
            let calls = &self.sessions.calls;
            pending.extend(self.awaited_dependencies(handle));
            let called = calls.all().filter(|(_, call)| !call.is_background && works_for_it(&call.caller));
            pending.extend(called.map(|(_, call)| call.handle));
            let waits = calls.waits.values().filter(|wait| works_for_it(&wait.caller));
            pending.extend(waits.flat_map(|wait| wait.frames.iter().copied()));
        }
        false
    }

    /// The dependencies for which a queued frame waits.
    fn awaited_dependencies(&self, handle: Handle) -> Vec<Handle> {
        let awaits = self.sessions.calls.of_frame(handle).is_some_and(|call| call.awaits_dependencies);
        if awaits { self.running_dependencies(handle).collect() } else { Vec::new() }
    }

    /// The frames below the frames of the caller that run or are queued, and that no caller waits for.
    pub fn background_frames(&self, caller: &str) -> Vec<Handle> {
        let own = self.sessions.frames_of(caller, self.tree);
        let is_below = |handle: &Handle| self.tree.ancestors(*handle).any(|above| own.contains(&above));
        let calls = self.sessions.calls.all().filter(|(_, call)| call.is_background && call.wait.is_none());
        let elsewhere = self.tree.called().filter(|handle| self.runs_elsewhere(*handle));
        calls.map(|(_, call)| call.handle).chain(elsewhere).filter(is_below).collect()
    }

    /// Runs the planned children of a frame whose dependencies are completed, and the children that become
    /// ready, until no child is ready.
    ///
    /// # Errors
    /// As [`Turn::check_depth`].
    pub fn call_ready(&mut self, caller: &str, parent: Handle) -> Result<CallId> {
        self.check_depth(Some(parent))?;
        self.sessions.look_later(self.now);
        let (caller, added_at) = (caller.to_owned(), self.tree.revision());
        let wait = Wait { caller, runs_below: Some(parent), added_at, ..Wait::default() };
        let id = self.sessions.calls.wait(wait, 0, self.now);
        self.begin_ready(id, parent);
        Ok(id)
    }

    /// Calls the children of a frame that are ready and that this tool call has not begun yet. The tool call
    /// also waits for children that run already.
    fn begin_ready(&mut self, id: CallId, parent: Handle) {
        let Some(wait) = self.sessions.calls.waits.get(&id) else { return };
        let (caller, known) = (wait.caller.clone(), wait.frames.iter().copied().collect::<HashSet<Handle>>());
        let is_new = |child: &Handle| !known.contains(child) && !self.is_own(*child, &caller);
        let new = self.tree.children(parent).iter().copied().filter(is_new);
        let (running, idle): (HashSet<Handle>, HashSet<Handle>) = new.partition(|child| !self.has_ended(*child));
        let ready = self.tree.ready_children(parent, None).filter(|child| idle.contains(child)).collect::<Vec<_>>();
        for child in &ready {
            self.queue(*child, CallOptions::new(caller.clone()).background(true), Some(id));
        }
        if let Some(wait) = self.sessions.calls.waits.get_mut(&id) {
            wait.frames.extend(running.into_iter().chain(ready));
        }
    }

    /// Begins frames that have become ready, and answers the tool calls that have waited long enough.
    pub(super) fn settle_waits(&mut self) {
        let waits = self.sessions.calls.waits.iter();
        let waits: Vec<_> = waits.map(|(id, wait)| (*id, wait.runs_below, wait.added_at)).collect();
        for (id, runs_below, added_at) in waits {
            let goes_on = |parent: &Handle| self.tree.node(*parent).status() == FrameStatus::InProgress;
            let is_stopped = |parent: &Handle| self.tree.stop_since(*parent, added_at).is_some();
            if let Some(parent) = runs_below.filter(goes_on).filter(|parent| !is_stopped(parent)) {
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

    /// True if no host runs a frame, and no host will run it without another tool call.
    pub(super) fn has_ended(&self, handle: Handle) -> bool {
        let record = self.tree.node(handle).record();
        let runs_elsewhere = self.runs_elsewhere(handle);
        let goes_on = record.pending_answer().is_some() && self.sessions.is_watched(handle);
        !self.sessions.calls.runs(handle) && !runs_elsewhere && !goes_on
    }

    /// Answers a tool call that waits, with the frames that have ended.
    pub(super) fn end_wait(&mut self, id: CallId) {
        let Some(wait) = self.sessions.calls.remove_wait(id) else { return };
        let (ended, running): (Vec<Handle>, Vec<Handle>) =
            wait.frames.iter().partition(|frame| self.has_ended(**frame));
        for frame in &ended {
            self.deliver(&wait.caller, *frame, false);
            self.sessions.told(&wait.caller, *frame);
        }
        let text = calls::wait_answer(self.tree, &wait, &ended, &running, &self.sessions.tools);
        let title = call_title::line(text.lines().next().unwrap_or_default());
        let ended = call_title::ended(self.tree, &ended);
        self.effect(Effect::Answer { call: id, text, title, ended });
    }
}
