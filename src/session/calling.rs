//! How [`Sessions`] drives calls: from the making of a session to the answer, whatever comes between.

use serde_json::json;

use super::calls::{self, CallId, CallOptions, Progress};
use super::compaction::{CompactionType, Message, closing_results};
use super::effect::{Action, Effect, LogLevel};
use super::sessions::{Sessions, log, open_frame};
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, PLANNED_PREFIX, PopStatus};
use crate::tree::{Command, Tree};

impl Sessions {
    /// Checks that a frame below this parent may be called.
    ///
    /// # Errors
    /// [`Error::TooDeep`].
    pub fn check_depth(&self, tree: &Tree, parent: Option<Handle>) -> Result<()> {
        let limit = self.calls.settings.max_depth;
        match parent {
            Some(handle) if 1 + tree.ancestors(handle).count() > limit => Err(Error::TooDeep { handle, limit }),
            _ => Ok(()),
        }
    }

    /// Begins to run a frame in a session of its own: a planned one, or an open one whose session has ended.
    ///
    /// # Errors
    /// [`Error::TooDeep`]; [`Error::Running`] if it runs already, or is the caller's own or above that;
    /// [`Error::Transition`] if it is finished.
    pub fn call(
        &mut self,
        tree: &Tree,
        handle: Handle,
        options: CallOptions,
        now: u64,
    ) -> Result<(CallId, Vec<Action>)> {
        let node = tree.node(handle);
        self.check_depth(tree, node.parent())?;
        if !node.status().is_open() && node.status() != FrameStatus::Planned {
            return Err(Error::Transition { handle, from: node.status(), to: FrameStatus::InProgress });
        }
        let own = tree.by_id(&options.caller);
        let is_own = own.is_some_and(|own| own == handle || tree.is_ancestor(handle, own));
        if is_own || self.calls.frames().any(|running| running == handle) {
            return Err(Error::Running { handle });
        }
        let has_session = node.status().is_open() && !node.session_id().starts_with(PLANNED_PREFIX);
        let caller = options.caller.clone();
        if !has_session {
            let call = self.calls.begin(handle, options, Progress::Creating, now);
            let title = node.title().to_owned();
            return Ok((call, vec![Action::Effect(Effect::CreateSession { call, parent_id: caller, title })]));
        }
        let session_id = node.session_id().to_owned();
        let call = self.calls.begin(handle, options, Progress::Running, now);
        let mut actions = Vec::new();
        if node.status() == FrameStatus::Blocked {
            let status = FrameStatus::InProgress;
            let (frame, results, results_compacted) = (handle.into(), None, None);
            actions.push(Action::Command(Command::SetStatus { frame, status, results, results_compacted }));
        }
        actions.push(Action::Command(Command::SetActive { frame: handle.into() }));
        self.run(call, &session_id, calls::resumption(tree, handle, &self.tools), &mut actions);
        Ok((call, actions))
    }

    /// The host has made a session for a call.
    pub(super) fn call_started(
        &mut self,
        tree: &Tree,
        id: CallId,
        session_id: &str,
        now: u64,
        actions: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(id).filter(|call| call.progress == Progress::Creating) else {
            // It was given up meanwhile.
            return actions.push(Action::Effect(Effect::AbortSession { session_id: session_id.to_owned() }));
        };
        let handle = call.handle;
        actions.push(Action::Command(Command::ReplaceId { frame: handle.into(), session_id: session_id.to_owned() }));
        if tree.node(handle).status() == FrameStatus::Planned {
            actions.push(Action::Command(Command::Activate { frame: handle.into() }));
        }
        let caller = call.caller.clone();
        self.run(id, session_id, calls::prompt(tree, handle, &self.tools), actions);
        self.told_of_call(&caller, session_id, tree.node(handle).title());
        self.release(tree, &caller, now, actions);
    }

    fn run(&mut self, id: CallId, session_id: &str, text: String, actions: &mut Vec<Action>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.progress = Progress::Running;
        call.session_id = Some(session_id.to_owned());
        let (session_id, caller_id) = (session_id.to_owned(), call.caller.clone());
        actions.push(Action::Effect(Effect::Prompt { call: id, session_id, caller_id, text }));
    }

    /// The session of a call has ended, or could not be made or prompted.
    pub(super) fn call_ended(
        &mut self,
        tree: &Tree,
        id: CallId,
        error: Option<String>,
        now: u64,
        actions: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(id) else { return };
        match call.progress {
            Progress::Creating => {
                let problem = error.unwrap_or_else(|| "the host made no session".into());
                self.not_created(tree, id, problem, now, actions);
            }
            Progress::Running => {
                let Some(session_id) = call.session_id.clone() else { return };
                if open_frame(tree, &session_id).is_none() {
                    actions.push(Action::Effect(Effect::ReadMessages { session_id }));
                    return self.answer(id, None, actions);
                }
                if error.is_none() && self.compactions.begin(&session_id, CompactionType::FrameCompletion) {
                    call.progress = Progress::SummingUp;
                    return actions.push(Action::Effect(Effect::CompactSession { session_id }));
                }
                let reason = match error {
                    Some(error) => format!("its session ended with an error: {error}"),
                    None => calls::ended_without_pop(&self.tools),
                };
                self.salvage(id, reason, actions);
            }
            Progress::SummingUp | Progress::Salvaging(_) => {}
        }
    }

    /// Gives a call up: its session is stopped, and what it has said is kept.
    pub(super) fn call_stopped(
        &mut self,
        tree: &Tree,
        id: CallId,
        reason: String,
        now: u64,
        actions: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(id) else { return };
        match (&call.progress, call.session_id.clone()) {
            (Progress::Salvaging(_), _) => {}
            (Progress::Running | Progress::SummingUp, Some(session_id)) => {
                actions.push(Action::Effect(Effect::AbortSession { session_id: session_id.clone() }));
                match open_frame(tree, &session_id) {
                    Some(_) => self.salvage(id, reason, actions),
                    None => self.answer(id, None, actions),
                }
            }
            _ => self.not_created(tree, id, reason, now, actions),
        }
    }

    /// A call has no session, and will have none.
    fn not_created(&mut self, tree: &Tree, id: CallId, problem: String, now: u64, actions: &mut Vec<Action>) {
        let Some(caller) = self.calls.get_mut(id).map(|call| call.caller.clone()) else { return };
        self.answer(id, Some(problem), actions);
        self.release(tree, &caller, now, actions);
    }

    pub(super) fn stop_overdue_calls(&mut self, tree: &Tree, now: u64, actions: &mut Vec<Action>) {
        for id in self.calls.overdue(now) {
            let limit = self.calls.get_mut(id).map_or(0, |call| call.time_limit);
            self.call_stopped(tree, id, format!("its time limit of {limit} ms was exceeded"), now, actions);
        }
    }

    /// Asks for the last words of a call's session.
    pub(super) fn salvage(&mut self, id: CallId, reason: String, actions: &mut Vec<Action>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let Some(session_id) = call.session_id.clone() else { return };
        let data = json!({ "sessionID": session_id, "handle": call.handle, "reason": reason });
        log(actions, LogLevel::Warn, "Frame salvaged", data);
        call.progress = Progress::Salvaging(reason);
        actions.push(Action::Effect(Effect::ReadMessages { session_id }));
    }

    /// The last words of a call's session are there.
    pub(super) fn salvaged(&mut self, tree: &Tree, session_id: &str, messages: &[Message], actions: &mut Vec<Action>) {
        let Some((id, call)) = self.calls.of_session(session_id) else { return };
        let Progress::Salvaging(reason) = &call.progress else { return };
        if let Some(frame) = open_frame(tree, session_id) {
            let (text, compacted) = closing_results(messages, tree.node(frame).record());
            actions.push(Action::Command(Command::Pop {
                frame: frame.into(),
                status: PopStatus::Blocked,
                results: calls::salvaged_results(reason, &text),
                results_compacted: calls::salvaged_results(reason, &compacted),
            }));
        }
        self.answer(id, None, actions);
    }

    /// A call is over.
    pub(super) fn answer(&mut self, id: CallId, problem: Option<String>, actions: &mut Vec<Action>) {
        let Some(call) = self.calls.remove(id) else { return };
        if !call.is_background {
            actions.push(Action::Answer { call: id, handle: call.handle, problem });
        }
    }

    /// The call that a session works for is over, if it works for one.
    pub(super) fn answer_for(&mut self, session_id: &str, actions: &mut Vec<Action>) {
        if let Some((id, _)) = self.calls.of_session(session_id) {
            self.answer(id, None, actions);
        }
    }

    /// A frame was finished, or taken out of the plan, by a tool or another caller: its conversation goes into
    /// its log, and if it is taken out while it runs, its session is stopped and its caller answered.
    pub fn finished(&mut self, session_id: &str, is_invalidated: bool) -> Vec<Action> {
        let mut actions = Vec::new();
        self.compactions.forget(session_id);
        if is_invalidated && self.calls.of_session(session_id).is_some() {
            actions.push(Action::Effect(Effect::AbortSession { session_id: session_id.to_owned() }));
            self.answer_for(session_id, &mut actions);
        }
        if self.is_known(session_id) {
            actions.push(Action::Effect(Effect::ReadMessages { session_id: session_id.to_owned() }));
        }
        actions
    }
}
