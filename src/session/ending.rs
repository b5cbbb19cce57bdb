//! How a [`Turn`] ends the frames of subagents, which do not pop themselves.

use serde_json::json;

use super::compaction::{Message, closing_results, results_of};
use super::effect::{Effect, LogLevel};
use super::subagents::Ending;
use super::turn::Turn;
use crate::frame::{FrameStatus, Handle, PopStatus};
use crate::tree::Command;

impl Turn<'_> {
    /// Handles the return of a tool of the session `caller` that has worked in the session `child`.
    pub(super) fn child_returned(&mut self, caller: &str, child: &str, ending: Ending, is_unique: bool) {
        let frame = self.tree.by_id(child).filter(|frame| self.is_started_by(caller, child, *frame));
        if let Some(frame) = frame {
            // Its agent popped it, or it was popped because it was idle.
            if self.tree.node(frame).status().is_finished() && matches!(ending, Ending::Answered(_)) {
                self.command(Command::Deliver { frame: frame.into() });
            }
            let step = self.sessions.subagents.returned(child, ending, is_unique);
            self.take(step);
        }
    }

    /// The frame of a session, unless its agent has popped it already: as completed, failed or blocked.
    pub(super) fn unfinished_frame(&self, session_id: &str) -> Option<Handle> {
        self.own_open_frame(session_id).filter(|frame| self.tree.node(*frame).status() == FrameStatus::InProgress)
    }

    /// True if a tool of the session `caller` may have started the session `child`, whose frame this is. The
    /// sessions of calls end in their own way.
    fn is_started_by(&self, caller: &str, child: &str, frame: Handle) -> bool {
        let known = self.sessions.parent_of(child);
        let above = self.tree.node(frame).parent().map(|parent| self.tree.node(parent).session_id());
        known.or(above) == Some(caller) && caller != child && !self.sessions.is_called(child)
    }

    /// Ends the frame of an idle subagent: at once if its answer is known, otherwise when its messages are
    /// read.
    pub(super) fn end(&mut self, session_id: String, ending: Ending) {
        if self.unfinished_frame(&session_id).is_none() {
            // Its agent has popped it.
            self.sessions.subagents.completed(&session_id, false, self.now);
            return;
        }
        match ending {
            Ending::Answered(_) => self.complete(&session_id, ending, &[]),
            Ending::Idle | Ending::Failed(_) => drop(self.sessions.ending.insert(session_id.clone(), ending)),
        }
        // The frame's log keeps the messages.
        self.effect(Effect::ReadMessages { session_id });
    }

    /// Pops the frame of an idle subagent. Its results are the answer, or the last message of the session.
    pub(super) fn complete(&mut self, session_id: &str, ending: Ending, messages: &[Message]) {
        let Some(frame) = self.unfinished_frame(session_id) else {
            self.sessions.subagents.completed(session_id, false, self.now);
            return;
        };
        // The host gives the answer to the parent. The setting decides whether the frame's results repeat it.
        let is_repeated = self.sessions.subagents.settings().propagate_summaries;
        let words = if is_repeated { messages } else { &[] };
        let results = closing_results(words, self.tree.node(frame).record());
        // The answer of the tool is in the conversation of the session above.
        let is_delivered = matches!(ending, Ending::Answered(_));
        let (results, failure) = match ending {
            Ending::Answered(answer) if is_repeated => (results_of(&answer), None),
            Ending::Idle | Ending::Answered(_) => (results, None),
            Ending::Failed(message) => (results, Some(message)),
        };
        self.sessions.subagents.completed(session_id, true, self.now);
        self.interrupt_entered(session_id, "its session has ended");
        self.forget_request(session_id);
        let data = json!({ "sessionID": session_id, "automatically": true });
        if let Some(message) = failure {
            self.log(LogLevel::Warn, "Frame salvaged", data);
            let reason = format!("the tool that started it has failed: {message}");
            return self.block_salvaged(frame, session_id, &reason, messages, results);
        }
        self.log(LogLevel::Info, "Subagent completed", data);
        self.command(Command::Pop { frame: frame.into(), status: PopStatus::Completed, results });
        if is_delivered && self.tree.node(frame).parent().is_some() {
            self.command(Command::Deliver { frame: frame.into() });
        }
    }
}
