//! How a [`Turn`] goes on with blocked frames: by an answer in the frame's own session, or by one from elsewhere.

use super::calls::{self, CallId, CallOptions};
use super::effect::{Action, Effect};
use super::topic::CRITERIA_CHARACTERS;
use super::turn::Turn;
use crate::frame::{FrameStatus, Handle};
use crate::text::beginning;
use crate::tree::Command;

impl Turn<'_> {
    /// Handles a message of the user in the session of a blocked frame: it is the answer, and the session works already.
    /// Returns true if the message is a prompt of this library, which is no answer.
    pub(super) fn take_answer(&mut self, session_id: &str, text: &str) -> bool {
        let is_prompt = self.sessions.take_prompt(session_id, text);
        let Some(frame) = self.open_frame(session_id) else { return is_prompt };
        let is_blocked = self.tree.node(frame).status() == FrameStatus::Blocked;
        let is_ended = self.sessions.subagents.get(session_id).is_some_and(|subagent| subagent.completed_at.is_some());
        let has_text = !text.trim().is_empty();
        if is_ended {
            self.sessions.subagents.revived(session_id);
        }
        if is_blocked && !is_prompt {
            if has_text {
                let answer = beginning(text.trim(), CRITERIA_CHARACTERS).to_owned();
                self.command(Command::Answer { frame: frame.into(), answer });
            }
            if has_text || is_ended {
                self.command(resumed(frame));
            }
        }
        is_prompt
    }

    /// Continues the answered frames whose sessions this host runs, unless a call runs them. Nobody waits for them: the
    /// contexts of their parents show how they end.
    pub(super) fn resume_answered(&mut self) {
        for handle in self.sessions.answered(self.tree, self.now) {
            let session_id = self.tree.node(handle).session_id();
            let known = self.sessions.known.get(session_id).and_then(|session| session.parent.as_deref());
            let caller = known.unwrap_or(session_id).to_owned();
            self.resume(handle, CallOptions::new(caller).background(true));
        }
    }

    /// Continues the work of a call in the session of its frame: at once, or if the frame is blocked, when the command that
    /// resumes it is accepted.
    pub(super) fn go_on(&mut self, call: CallId, handle: Handle) {
        let node = self.tree.node(handle);
        let Some(caller_id) = self.sessions.calls.get(call).map(|call| call.caller.clone()) else { return };
        let session_id = node.session_id().to_owned();
        let text = calls::resumption(self.tree, handle, &self.sessions.tools);
        self.sessions.prompted(&session_id, &text);
        let prompt = Effect::Prompt { call, session_id, caller_id, text };
        if node.status() == FrameStatus::Blocked {
            self.act(Action::Resume { call, handle, prompt });
        } else {
            self.command(Command::SetActive { frame: handle.into() });
            self.effect(prompt);
        }
    }

    /// Answers a call whose frame could not be resumed: somebody else has done that, or has ended the frame.
    pub(crate) fn not_resumed(&mut self, call: CallId, problem: String) {
        self.answer(call, Some(problem));
    }
}

/// The command that resumes a blocked frame. Of several processes that try, one succeeds.
pub(crate) fn resumed(handle: Handle) -> Command {
    let (frame, status) = (handle.into(), FrameStatus::InProgress);
    Command::SetStatus { frame, status, results: None, results_compacted: None }
}
