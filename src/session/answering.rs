//! How a [`Turn`] continues blocked frames: after an answer in the frame's own session, or after one from
//! elsewhere.

use super::calls::{self, CallId, CallOptions};
use super::effect::{Action, Effect};
use super::topic::CRITERIA_CHARACTERS;
use super::turn::Turn;
use crate::frame::{FrameStatus, Handle};
use crate::text::beginning;
use crate::tree::Command;

impl Turn<'_> {
    /// Handles a message of the person in the session of a blocked frame: the message is the answer, and the
    /// session works already. Returns true if the message is a prompt of this library. Such a prompt is not
    /// an answer.
    pub(super) fn take_answer(&mut self, session_id: &str, text: &str) -> bool {
        let is_prompt = self.sessions.take_prompt(session_id, text);
        let Some(frame) = self.own_open_frame(session_id) else { return is_prompt };
        let is_blocked = self.tree.node(frame).status() == FrameStatus::Blocked;
        let is_ended = self.sessions.subagents.get(session_id).is_some_and(|subagent| subagent.completed_at.is_some());
        let has_text = !text.trim().is_empty();
        if is_ended {
            self.sessions.subagents.revived(session_id);
        }
        let is_interrupted = self.tree.node(frame).record().is_interrupted();
        if is_interrupted && !is_prompt && has_text {
            self.adopt(session_id, frame);
        }
        if is_blocked && !is_prompt {
            if has_text {
                let answer = beginning(text.trim(), CRITERIA_CHARACTERS).to_owned();
                self.command(Command::Answer { frame: frame.into(), answer });
            }
            if has_text || is_ended {
                self.command(resumed(frame));
                self.adopt(session_id, frame);
            }
        }
        is_prompt
    }

    /// Follows the work of a called session that a person has continued. The work is then ended like a call,
    /// and the caller of the session learns how it ended.
    fn adopt(&mut self, session_id: &str, frame: Handle) {
        let parent = self.sessions.parent_of(session_id).map(str::to_owned);
        let is_subagent = self.sessions.subagents.get(session_id).is_some();
        let Some(caller) = parent.filter(|_| !is_subagent && !self.sessions.calls.runs(frame)) else { return };
        let call = self.queue(frame, CallOptions::new(caller.clone()).background(true), None);
        self.sessions.calls.adopt(call, session_id, self.now);
        self.act(Action::Begin { call, handle: frame, caller, session_id: None, prompt: None });
    }

    /// Ends the work of a session that a person has continued.
    pub(super) fn adopted_idle(&mut self, session_id: &str) {
        let adopted = self.sessions.calls.of_session(session_id).filter(|(_, call)| call.is_adopted);
        if let Some((call, _)) = adopted {
            self.call_ended(call, None);
        }
    }

    /// Continues the answered frames whose sessions this host runs, unless a call runs them. No caller waits
    /// for them: the contexts of their parents show how they end.
    pub(super) fn resume_answered(&mut self) {
        for handle in self.sessions.answered(self.tree, self.now) {
            let session_id = self.tree.node(handle).session_id();
            let caller = self.sessions.parent_of(session_id).unwrap_or(session_id).to_owned();
            self.queue(handle, CallOptions::new(caller).background(true), None);
        }
        self.begin_queued();
    }

    /// Continues the work of a call in the session of its frame.
    pub(super) fn go_on(&mut self, call: CallId, handle: Handle) {
        let text = calls::resumption(self.tree, handle, &self.sessions.tools);
        self.continue_with(call, handle, text);
    }

    /// Continues the work of a call in the session of its frame, with this prompt.
    pub(super) fn continue_with(&mut self, call: CallId, handle: Handle, text: String) {
        let Some(caller) = self.sessions.calls.get(call).map(|call| call.caller.clone()) else { return };
        let session_id = self.tree.node(handle).session_id().to_owned();
        self.sessions.prompted(&session_id, &text);
        self.sessions.calls.ending(call, false);
        let prompt = Some(Effect::Prompt { call, session_id, caller_id: caller.clone(), text });
        self.act(Action::Begin { call, handle, caller, session_id: None, prompt });
    }

    /// Answers a call that could not begin: another actor runs the frame, or has ended it.
    pub(crate) fn not_begun(&mut self, call: CallId, problem: String) {
        self.answer(call, Some(problem));
    }
}

/// The command that resumes a blocked frame.
fn resumed(handle: Handle) -> Command {
    let (frame, status) = (handle.into(), FrameStatus::InProgress);
    Command::SetStatus { frame, status, results: None, results_compacted: None }
}
