//! How a [`Turn`] drives calls, from the creation of a session to the answer.

use serde_json::json;

use super::answering::resumed;
use super::calls::{self, CallId, CallOptions, Progress};
use super::compaction::{CompactionType, Message, closing_results};
use super::effect::{Action, Effect, LogLevel};
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::frame::{FrameRef, FrameStatus, Handle, PLANNED_PREFIX, PopStatus};
use crate::text::one_line;
use crate::tree::Command;

impl Turn<'_> {
    /// Checks that a frame below this parent may be called. `None`: the frame is a root.
    ///
    /// # Errors
    /// [`Error::TooDeep`] if the frame would have more than [`CallSettings::max_depth`](calls::CallSettings::max_depth)
    /// ancestors.
    pub fn check_depth(&self, parent: Option<Handle>) -> Result<()> {
        let limit = self.sessions.calls.settings.max_depth;
        match parent {
            Some(handle) if 1 + self.tree.node(handle).depth() > limit => Err(Error::TooDeep { handle, limit }),
            _ => Ok(()),
        }
    }

    /// Starts a call: runs a frame in its own session. The frame must be planned, or open while no call runs it; then
    /// it continues in the session that it has.
    ///
    /// # Errors
    /// - [`Error::TooDeep`]: see [`Turn::check_depth`].
    /// - [`Error::Running`] if a call already runs the frame, or if it is the caller's frame or an ancestor of that.
    /// - [`Error::Transition`] if the frame is completed, failed or invalidated.
    ///
    /// After an error the turn has no new actions.
    pub fn call(&mut self, handle: Handle, options: CallOptions) -> Result<CallId> {
        self.check_callable(handle, &options.caller)?;
        let node = self.tree.node(handle);
        let has_session = node.status().is_open() && !node.session_id().starts_with(PLANNED_PREFIX);
        Ok(if has_session { self.resume(handle, options) } else { self.create_session(handle, options) })
    }

    /// Checks that a session may call a frame: that [`Turn::call`] accepts it.
    ///
    /// # Errors
    /// As [`Turn::call`].
    pub fn check_callable(&self, handle: Handle, caller: &str) -> Result<()> {
        let node = self.tree.node(handle);
        self.check_depth(node.parent())?;
        if !node.status().is_open() && node.status() != FrameStatus::Planned {
            return Err(Error::Transition { handle, from: node.status(), to: FrameStatus::InProgress });
        }
        self.check_idle(handle, caller)
    }

    /// Checks that a session may begin a frame anew and call the new attempt.
    ///
    /// # Errors
    /// As [`Turn::call`], except for the status of the frame, which the command checks.
    pub fn check_retriable(&self, handle: Handle, caller: &str) -> Result<()> {
        self.check_depth(self.tree.node(handle).parent())?;
        self.check_idle(handle, caller)
    }

    /// Checks that no call runs a frame, and that the caller does not work in it or below it.
    fn check_idle(&self, handle: Handle, caller: &str) -> Result<()> {
        let own = self.tree.by_id(caller);
        let is_own = own.is_some_and(|own| own == handle || self.tree.is_ancestor(handle, own));
        if is_own || self.sessions.calls.runs(handle) {
            return Err(Error::Running { handle });
        }
        Ok(())
    }

    /// Starts the call of a frame that has no session yet.
    fn create_session(&mut self, handle: Handle, options: CallOptions) -> CallId {
        let (parent_id, title) = (options.caller.clone(), one_line(self.tree.node(handle).title()));
        let call = self.sessions.calls.begin(handle, options, Progress::Creating, self.now);
        self.effect(Effect::CreateSession { call, parent_id, title });
        call
    }

    /// Starts the call of a frame that was interrupted or blocked. It continues in its session.
    pub(super) fn resume(&mut self, handle: Handle, options: CallOptions) -> CallId {
        let running = Progress::Running { session_id: self.tree.node(handle).session_id().to_owned() };
        let call = self.sessions.calls.begin(handle, options, running, self.now);
        self.go_on(call, handle);
        call
    }

    /// Handles the creation of a session for a call by the host.
    pub(super) fn call_started(&mut self, id: CallId, session_id: String) {
        let Some(call) = self.sessions.calls.get(id).filter(|call| call.progress == Progress::Creating) else {
            // The call was answered before its session was created.
            return self.effect(Effect::AbortSession { session_id });
        };
        let (handle, caller) = (call.handle, call.caller.clone());
        self.sessions.calls.advance(id, Progress::Running { session_id: session_id.clone() });
        let node = self.tree.node(handle);
        self.command(Command::ReplaceId { frame: handle.into(), session_id: session_id.clone() });
        match node.status() {
            FrameStatus::Planned => self.command(Command::Activate { frame: handle.into() }),
            FrameStatus::Blocked => self.command(resumed(handle)),
            _ => {}
        }
        self.sessions.describe_called(&session_id, &caller, node.record());
        let (caller_id, text) = (caller.clone(), calls::prompt(self.tree, handle, &self.sessions.tools));
        self.sessions.prompted(&session_id, &text);
        self.effect(Effect::Prompt { call: id, session_id, caller_id, text });
        self.release(&caller);
    }

    /// Handles the end of a call's session, or a failure to create or prompt it.
    pub(super) fn call_ended(&mut self, id: CallId, error: Option<String>) {
        let Some(call) = self.sessions.calls.get(id) else { return };
        match call.progress.clone() {
            Progress::Creating => self.not_created(id, error.unwrap_or_else(|| "the host made no session".into())),
            Progress::Running { session_id } => self.run_ended(id, session_id, error),
            Progress::SummingUp { .. } | Progress::Salvaging { .. } => {}
        }
    }

    /// Handles the end of a running call's session. Answers the call if the frame was finished or blocked, but continues
    /// if it was answered meanwhile; else asks for a summary if one was requested; else salvages the last message.
    fn run_ended(&mut self, id: CallId, session_id: String, error: Option<String>) {
        if self.unfinished_frame(&session_id).is_none() {
            let answered = self.open_frame(&session_id).filter(|frame| self.is_answered(*frame));
            if let Some(frame) = answered.filter(|_| error.is_none()) {
                return self.go_on(id, frame);
            }
            self.effect(Effect::ReadMessages { session_id });
            return self.answer(id, None);
        }
        if error.is_none() && self.sessions.compactions.begin(&session_id, CompactionType::FrameCompletion) {
            return self.sum_up(id, session_id);
        }
        let reason = match error {
            Some(error) => format!("its session ended with an error: {error}"),
            None => calls::ended_without_pop(&self.sessions.tools),
        };
        self.salvage(id, session_id, reason);
    }

    /// Asks for a summary of a call's session.
    fn sum_up(&mut self, id: CallId, session_id: String) {
        self.sessions.calls.advance(id, Progress::SummingUp { session_id: session_id.clone() });
        self.effect(Effect::CompactSession { session_id });
    }

    /// Handles the abort of a caller, which does not see the answer.
    pub(super) fn call_aborted(&mut self, id: CallId) {
        self.sessions.calls.unheard(id);
        self.call_stopped(id, "its caller was aborted".into());
    }

    /// Stops a call: aborts its session and salvages the last message.
    fn call_stopped(&mut self, id: CallId, reason: String) {
        let Some(call) = self.sessions.calls.get(id) else { return };
        match call.progress.clone() {
            Progress::Creating => self.not_created(id, reason),
            Progress::Running { session_id } | Progress::SummingUp { session_id } => {
                self.effect(Effect::AbortSession { session_id: session_id.clone() });
                match self.unfinished_frame(&session_id) {
                    Some(_) => self.salvage(id, session_id, reason),
                    None => self.answer(id, None),
                }
            }
            Progress::Salvaging { .. } => {}
        }
    }

    /// Answers a call whose session was not created.
    fn not_created(&mut self, id: CallId, problem: String) {
        let Some(caller) = self.sessions.calls.get(id).map(|call| call.caller.clone()) else { return };
        self.answer(id, Some(problem));
        self.release(&caller);
    }

    /// Stops the calls that have reached their time limit.
    pub(super) fn stop_overdue_calls(&mut self) {
        for (id, limit) in self.sessions.calls.overdue(self.now) {
            self.call_stopped(id, format!("its time limit of {limit} ms was exceeded"));
        }
    }

    /// Starts to salvage a call: asks the host for the messages of its session.
    pub(super) fn salvage(&mut self, id: CallId, session_id: String, reason: String) {
        let Some(call) = self.sessions.calls.get(id) else { return };
        let data = json!({ "sessionID": session_id, "handle": call.handle, "reason": reason });
        self.sessions.calls.advance(id, Progress::Salvaging { session_id: session_id.clone(), reason });
        self.log(LogLevel::Warn, "Frame salvaged", data);
        self.effect(Effect::ReadMessages { session_id });
    }

    /// Ends the salvaging of a call: pops its frame as blocked, with the last message of its session as results, and
    /// answers the call.
    pub(super) fn salvaged(&mut self, session_id: &str, messages: &[Message]) {
        let Some((id, call)) = self.sessions.calls.of_session(session_id) else { return };
        let Progress::Salvaging { reason, .. } = &call.progress else { return };
        if let Some(frame) = self.unfinished_frame(session_id) {
            let results = closing_results(messages, self.tree.node(frame).record());
            let results = calls::salvaged_results(reason, results);
            self.command(Command::Pop { frame: frame.into(), status: PopStatus::Blocked, results });
        }
        self.answer(id, None);
    }

    /// Ends a call, and answers it unless it runs in the background.
    pub(super) fn answer(&mut self, id: CallId, problem: Option<String>) {
        let Some(call) = self.sessions.calls.remove(id) else { return };
        if !call.is_background {
            let parent = self.tree.node(call.handle).parent();
            let is_parent = parent.is_some() && parent == self.tree.by_id(&call.caller);
            if is_parent && !call.is_unheard && self.is_finished(call.handle) {
                self.command(Command::Deliver { frame: call.handle.into() });
            }
            self.act(Action::Answer { call: id, handle: call.handle, problem });
        }
    }

    fn is_answered(&self, handle: Handle) -> bool {
        self.tree.node(handle).record().pending_answer().is_some()
    }

    /// True if a frame is finished, or a command of this turn finishes it.
    fn is_finished(&self, handle: Handle) -> bool {
        let finishes = |action: &Action| match action {
            Action::Command(Command::Pop { frame, status, .. }) => {
                *frame == FrameRef::Handle(handle) && *status != PopStatus::Blocked
            }
            _ => false,
        };
        self.tree.node(handle).status().is_finished() || self.actions.iter().any(finishes)
    }

    /// Ends the call that runs in a session, if there is one.
    pub(super) fn answer_for(&mut self, session_id: &str) {
        if let Some((id, _)) = self.sessions.calls.of_session(session_id) {
            self.answer(id, None);
        }
    }

    /// Handles the end of a session's frame by a tool or another caller. The messages of the session are read for the
    /// frame's log. If the frame was invalidated while a call ran it, its session is aborted and the call is answered.
    pub fn finished(&mut self, session_id: &str, is_invalidated: bool) {
        self.sessions.compactions.forget(session_id);
        if is_invalidated && self.sessions.calls.of_session(session_id).is_some() {
            self.effect(Effect::AbortSession { session_id: session_id.to_owned() });
            self.answer_for(session_id);
        }
        if self.sessions.is_known(session_id) {
            self.effect(Effect::ReadMessages { session_id: session_id.to_owned() });
        }
    }
}
