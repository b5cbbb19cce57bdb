//! How a [`Turn`] makes results and logs from conversations that are compacted.

use serde_json::json;

use super::calls::Progress;
use super::compaction::{CompactionType, Message, Refusal, Summary, judge};
use super::effect::{Effect, LogLevel};
use super::logging::finished_only;
use super::turn::Turn;
use crate::frame::{Handle, PopStatus, Results};
use crate::text::one_line;
use crate::tree::Command;

/// Number of finished children that the prompt of a compaction names. The context has room for so many of usual results.
const NAMED_CHILDREN: usize = 8;

impl Turn<'_> {
    /// Compacts an idle session if that was requested. The session of a call is compacted when the call ends.
    pub(super) fn compact_if_requested(&mut self, session_id: &str) {
        let is_called = self.sessions.calls.of_session(session_id).is_some();
        if !is_called && self.open_frame(session_id).is_some() && self.sessions.compactions.begin_any(session_id) {
            self.effect(Effect::CompactSession { session_id: session_id.to_owned() });
        }
    }

    /// Handles the start of a compaction: returns the prompt for the summary.
    pub(super) fn compacting(&mut self, session_id: String) {
        let Some(frame) = self.tree.by_id(&session_id) else { return };
        let children = self.finished_children(frame);
        let text = self.sessions.compactions.prompt(&session_id, self.tree.node(frame).record(), &children);
        // A host can report the end of the compaction later than it asks for the next context. If the compaction fails,
        // the context repeats what the conversation still holds.
        self.sessions.autonomy.suggestions.end(frame);
        self.command(Command::Forget { frame: frame.into() });
        self.sessions.replaced(&session_id);
        self.log(LogLevel::Info, "Compaction started", json!({ "sessionID": session_id }));
        self.effect(Effect::CompactionPrompt { session_id: session_id.clone(), text });
        self.effect(Effect::ReadMessages { session_id });
    }

    /// The newest finished children, whose results the context shows after a compaction: their handles and titles.
    fn finished_children(&self, frame: Handle) -> Vec<String> {
        if self.sessions.hides_finished_children {
            return Vec::new();
        }
        let name = |child: Handle| format!("{child} {}", one_line(self.tree.node(child).title()));
        let mut names: Vec<String> =
            self.tree.node(frame).finished_children().rev().take(NAMED_CHILDREN).map(name).collect();
        names.reverse();
        names
    }

    /// Handles the end of a compaction. An accepted summary becomes the results of the session's frame.
    pub(super) fn compacted(&mut self, session_id: &str, messages: Vec<Message>) {
        let Some(frame) = self.open_frame(session_id) else { return self.sessions.compactions.forget(session_id) };
        let judged = judge(&messages, self.tree.node(frame).record());
        let refusal = judged.as_ref().err().copied();
        let compaction_type = self.sessions.compactions.finished(session_id, refusal.is_none());
        match judged {
            Ok(summary) => self.take_summary(session_id, frame, compaction_type, summary),
            Err(refusal) => {
                let data = json!({ "sessionID": session_id, "type": compaction_type, "reason": refusal.to_string() });
                self.log(LogLevel::Warn, "Summary refused", data);
            }
        }
        self.summed_up(session_id, refusal);
        if !messages.is_empty() {
            self.forget_figures(session_id, frame);
            // Also what was delivered since the compaction began: the summary may not mention it.
            self.command(Command::Forget { frame: frame.into() });
            self.sessions.replaced(session_id);
        }
        self.keep_messages(session_id, finished_only(messages));
    }

    /// Records a summary as the results of a frame, and pops the frame if the compaction was requested for that.
    fn take_summary(&mut self, session_id: &str, frame: Handle, compaction_type: CompactionType, summary: Summary) {
        let data = json!({ "sessionID": session_id, "type": compaction_type });
        self.log(LogLevel::Info, "Summary extracted", data);
        let (frame, results) = (frame.into(), Results { full: summary.text, compacted: summary.compacted });
        self.command(match compaction_type {
            CompactionType::FrameCompletion => Command::Pop { frame, status: PopStatus::Completed, results },
            CompactionType::Overflow | CompactionType::ManualSummary => Command::Summarize { frame, results },
        });
    }

    /// Ends the call that waited for the summary of its session, if there is one.
    fn summed_up(&mut self, session_id: &str, refusal: Option<Refusal>) {
        let is_summing_up = |progress: &Progress| matches!(progress, Progress::SummingUp { .. });
        let waiting = self.sessions.calls.of_session(session_id).filter(|(_, call)| is_summing_up(&call.progress));
        let Some((call, _)) = waiting else { return };
        match refusal {
            None => self.answer(call, None),
            Some(refusal) => self.salvage(call, session_id.to_owned(), refusal.to_string()),
        }
    }
}
