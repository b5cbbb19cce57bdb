//! How a [`Turn`] drives calls, from the creation of a session to the answer.

use serde_json::json;

use super::calls::{self, CallId, CallOptions, Progress};
use super::compaction::{CompactionType, Message, closing_results};
use super::effect::{Action, Effect, LogLevel};
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, PLANNED_PREFIX, PopStatus, Results};
use crate::tree::Command;

impl Turn<'_> {
    /// Checks that a frame below this parent may be called.
    ///
    /// # Errors
    /// [`Error::TooDeep`].
    pub fn check_depth(&self, parent: Option<Handle>) -> Result<()> {
        let limit = self.sessions.calls.settings.max_depth;
        match parent {
            Some(handle) if 1 + self.tree.ancestors(handle).count() > limit => Err(Error::TooDeep { handle, limit }),
            _ => Ok(()),
        }
    }

    /// Begins to run a frame in a session of its own: a planned frame, or an open one whose session has ended.
    ///
    /// # Errors
    /// [`Error::TooDeep`]; [`Error::Running`] if it runs already, or is the caller's frame or an ancestor of that;
    /// [`Error::Transition`] if it is finished. After an error the turn has no new actions.
    pub fn call(&mut self, handle: Handle, options: CallOptions) -> Result<CallId> {
        self.check_callable(handle, &options.caller)?;
        let node = self.tree.node(handle);
        let has_session = node.status().is_open() && !node.session_id().starts_with(PLANNED_PREFIX);
        Ok(if has_session { self.resume(handle, options) } else { self.create_session(handle, options) })
    }

    fn check_callable(&self, handle: Handle, caller: &str) -> Result<()> {
        let node = self.tree.node(handle);
        self.check_depth(node.parent())?;
        if !node.status().is_open() && node.status() != FrameStatus::Planned {
            return Err(Error::Transition { handle, from: node.status(), to: FrameStatus::InProgress });
        }
        let own = self.tree.by_id(caller);
        let is_own = own.is_some_and(|own| own == handle || self.tree.is_ancestor(handle, own));
        if is_own || self.sessions.calls.frames().any(|running| running == handle) {
            return Err(Error::Running { handle });
        }
        Ok(())
    }

    /// Begins the call of a frame that has no session yet.
    fn create_session(&mut self, handle: Handle, options: CallOptions) -> CallId {
        let (parent_id, title) = (options.caller.clone(), self.tree.node(handle).title().to_owned());
        let call = self.sessions.calls.begin(handle, options, Progress::Creating, self.now);
        self.effect(Effect::CreateSession { call, parent_id, title });
        call
    }

    /// Begins the call of a frame that was interrupted: it goes on in its session.
    fn resume(&mut self, handle: Handle, options: CallOptions) -> CallId {
        let node = self.tree.node(handle);
        let (session_id, caller_id) = (node.session_id().to_owned(), options.caller.clone());
        let running = Progress::Running { session_id: session_id.clone() };
        let call = self.sessions.calls.begin(handle, options, running, self.now);
        if node.status() == FrameStatus::Blocked {
            let status = FrameStatus::InProgress;
            let (frame, results, results_compacted) = (handle.into(), None, None);
            self.command(Command::SetStatus { frame, status, results, results_compacted });
        }
        self.command(Command::SetActive { frame: handle.into() });
        self.effect(Effect::Prompt {
            call,
            session_id,
            caller_id,
            text: calls::resumption(self.tree, handle, &self.sessions.tools),
        });
        call
    }

    /// The host has created a session for a call.
    pub(super) fn call_started(&mut self, id: CallId, session_id: String) {
        let Some(call) = self.sessions.calls.get_mut(id).filter(|call| call.progress == Progress::Creating) else {
            // The call was answered before its session was created.
            return self.effect(Effect::AbortSession { session_id });
        };
        call.progress = Progress::Running { session_id: session_id.clone() };
        let (handle, caller) = (call.handle, call.caller.clone());
        let node = self.tree.node(handle);
        self.command(Command::ReplaceId { frame: handle.into(), session_id: session_id.clone() });
        if node.status() == FrameStatus::Planned {
            self.command(Command::Activate { frame: handle.into() });
        }
        self.sessions.describe_called(&session_id, &caller, node.title());
        let (caller_id, text) = (caller.clone(), calls::prompt(self.tree, handle, &self.sessions.tools));
        self.effect(Effect::Prompt { call: id, session_id, caller_id, text });
        self.release(&caller);
    }

    /// The session of a call has ended, or could not be created or prompted.
    pub(super) fn call_ended(&mut self, id: CallId, error: Option<String>) {
        let Some(call) = self.sessions.calls.get_mut(id) else { return };
        match call.progress.clone() {
            Progress::Creating => self.not_created(id, error.unwrap_or_else(|| "the host made no session".into())),
            Progress::Running { session_id } => self.run_ended(id, session_id, error),
            Progress::SummingUp { .. } | Progress::Salvaging { .. } => {}
        }
    }

    /// The session of a running call has ended: answers if its frame was finished, else asks for a summary if one was
    /// requested, else salvages the last words.
    fn run_ended(&mut self, id: CallId, session_id: String, error: Option<String>) {
        if self.open_frame(&session_id).is_none() {
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
        if let Some(call) = self.sessions.calls.get_mut(id) {
            call.progress = Progress::SummingUp { session_id: session_id.clone() };
            self.effect(Effect::CompactSession { session_id });
        }
    }

    /// Gives a call up: its session is stopped, and its last words are salvaged.
    pub(super) fn call_stopped(&mut self, id: CallId, reason: String) {
        let Some(call) = self.sessions.calls.get_mut(id) else { return };
        match call.progress.clone() {
            Progress::Creating => self.not_created(id, reason),
            Progress::Running { session_id } | Progress::SummingUp { session_id } => {
                self.effect(Effect::AbortSession { session_id: session_id.clone() });
                match self.open_frame(&session_id) {
                    Some(_) => self.salvage(id, session_id, reason),
                    None => self.answer(id, None),
                }
            }
            Progress::Salvaging { .. } => {}
        }
    }

    /// Answers a call that has no session and will have none.
    fn not_created(&mut self, id: CallId, problem: String) {
        let Some(caller) = self.sessions.calls.get_mut(id).map(|call| call.caller.clone()) else { return };
        self.answer(id, Some(problem));
        self.release(&caller);
    }

    /// Gives up the calls that have reached their time limit.
    pub(super) fn stop_overdue_calls(&mut self) {
        for (id, limit) in self.sessions.calls.overdue(self.now) {
            self.call_stopped(id, format!("its time limit of {limit} ms was exceeded"));
        }
    }

    /// Asks for the last words of a call's session.
    pub(super) fn salvage(&mut self, id: CallId, session_id: String, reason: String) {
        let Some(call) = self.sessions.calls.get_mut(id) else { return };
        let data = json!({ "sessionID": session_id, "handle": call.handle, "reason": reason });
        call.progress = Progress::Salvaging { session_id: session_id.clone(), reason };
        self.log(LogLevel::Warn, "Frame salvaged", data);
        self.effect(Effect::ReadMessages { session_id });
    }

    /// Blocks the frame of a call that is being salvaged, with the last words of its session, and answers the call.
    pub(super) fn salvaged(&mut self, session_id: &str, messages: &[Message]) {
        let Some((id, call)) = self.sessions.calls.of_session(session_id) else { return };
        let Progress::Salvaging { reason, .. } = &call.progress else { return };
        if let Some(frame) = self.open_frame(session_id) {
            let Results { full, compacted } = closing_results(messages, self.tree.node(frame).record());
            let results = Results {
                full: calls::salvaged_results(reason, &full),
                compacted: calls::salvaged_results(reason, &compacted),
            };
            self.command(Command::Pop { frame: frame.into(), status: PopStatus::Blocked, results });
        }
        self.answer(id, None);
    }

    /// Ends a call, with an answer unless it runs in the background.
    pub(super) fn answer(&mut self, id: CallId, problem: Option<String>) {
        let Some(call) = self.sessions.calls.remove(id) else { return };
        if !call.is_background {
            self.act(Action::Answer { call: id, handle: call.handle, problem });
        }
    }

    /// Ends the call that a session works for, if there is one.
    pub(super) fn answer_for(&mut self, session_id: &str) {
        if let Some((id, _)) = self.sessions.calls.of_session(session_id) {
            self.answer(id, None);
        }
    }

    /// A tool or another caller has finished or invalidated the frame of a session: its messages are read for the
    /// log. If it was invalidated while a call ran it, its session is stopped and the call answered.
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
