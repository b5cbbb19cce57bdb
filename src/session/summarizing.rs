//! How a [`Turn`] makes results and logs from conversations that are compacted.

use serde_json::json;

use super::calls::{self, CallId, Progress};
use super::compaction::{Message, Refusal, Summary, judge};
use super::effect::{Effect, LogLevel};
use super::logging::finished_only;
use super::turn::Turn;
use crate::frame::{CompactionType, FrameStatus, Handle, PopStatus, Results, SummaryRequest};
use crate::text::one_line;
use crate::tree::{Command, Records};

/// Number of finished children that the prompt of a compaction names. The context has room for this number of
/// children with results of usual length.
const NAMED_CHILDREN: usize = 8;

impl Turn<'_> {
    /// Requests a summary of a session, which its frame remembers.
    pub fn request_summary(&mut self, session_id: &str, frame: Handle, request: SummaryRequest) {
        self.command(Command::RequestSummary { frame: frame.into(), request: Some(request.clone()) });
        self.sessions.compactions.request(session_id, request);
    }

    /// Forgets the request for a summary of a frame's session.
    pub(super) fn forget_request(&mut self, session_id: &str) {
        self.sessions.compactions.forget(session_id);
        let frame = self.open_frame(session_id);
        if let Some(frame) = frame.filter(|frame| self.tree.node(*frame).record().summary_request.is_some()) {
            self.command(Command::RequestSummary { frame: frame.into(), request: None });
        }
    }

    /// Compacts an idle session if that was requested. The session of a call is compacted when the call ends.
    pub(super) fn compact_if_requested(&mut self, session_id: &str) {
        let is_called = self.sessions.calls.of_session(session_id).is_some();
        if !is_called && self.open_frame(session_id).is_some() && self.sessions.compactions.begin_any(session_id) {
            self.effect(Effect::CompactSession { session_id: session_id.to_owned() });
        }
    }

    /// Handles the start of a compaction: returns the prompt for the summary.
    pub(super) fn compacting(&mut self, session_id: String) {
        let Some(frame) = self.sessions.place(&session_id, self.tree) else { return };
        let children = self.finished_children(frame);
        let text = self.sessions.compactions.prompt(&session_id, self.tree.node(frame).record(), &children);
        // A host can report the end of the compaction later than it asks for the next context. If the
        // compaction fails, the context repeats what the conversation still holds.
        self.sessions.autonomy.suggestions.end(frame);
        self.forget(&session_id);
        self.log(LogLevel::Info, "Compaction started", json!({ "sessionID": session_id }));
        self.effect(Effect::CompactionPrompt { session_id: session_id.clone(), text });
        self.effect(Effect::ReadMessages { session_id });
    }

    /// Notes that the conversation of a session is replaced: it has forgotten the results that were delivered
    /// to the frames that it is in.
    fn forget(&mut self, session_id: &str) {
        for frame in self.sessions.frames_of(session_id, self.tree) {
            self.command(Command::Forget { frame: frame.into() });
        }
        self.sessions.replaced(session_id, self.tree);
    }

    /// The newest finished children, whose results the context shows after a compaction: their handles and
    /// titles.
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
        let Some(frame) = self.summed_up_frame(session_id) else {
            return self.sessions.compactions.forget(session_id);
        };
        let judged = judge(&messages, self.tree.node(frame).record());
        let refusal = judged.as_ref().err().copied();
        let request = self.sessions.compactions.finished(session_id, refusal.is_none());
        if request.compaction_type != CompactionType::Overflow {
            self.forget_request(session_id);
        }
        match judged {
            Ok(summary) => self.take_summary(session_id, frame, request, summary),
            Err(refusal) => {
                let compaction_type = request.compaction_type;
                let data = json!({ "sessionID": session_id, "type": compaction_type, "reason": refusal.to_string() });
                self.log(LogLevel::Warn, "Summary refused", data);
            }
        }
        self.summed_up(session_id, refusal);
        if !messages.is_empty() {
            self.forget_figures(session_id, frame);
            // Also forgets what was delivered since the compaction began: the summary may not mention it.
            self.forget(session_id);
        }
        self.keep_messages(session_id, finished_only(messages));
    }

    /// The frame whose work a summary of a session covers: the frame of a call that ends with the summary, or
    /// else the frame in which the conversation is.
    fn summed_up_frame(&self, session_id: &str) -> Option<Handle> {
        let call = self.sessions.calls.of_session(session_id).map(|(_, call)| call);
        let ending = call.filter(|call| matches!(call.progress, Progress::SummingUp { .. })).map(|call| call.handle);
        match ending {
            Some(frame) => Some(frame).filter(|frame| self.tree.node(*frame).status().is_open()),
            None => self.open_frame(session_id),
        }
    }

    /// Records a summary as the results of a frame, and ends the frame if the compaction was requested for
    /// that.
    fn take_summary(&mut self, session_id: &str, frame: Handle, request: SummaryRequest, summary: Summary) {
        let data = json!({ "sessionID": session_id, "type": request.compaction_type });
        self.log(LogLevel::Info, "Summary extracted", data);
        let results = Results { full: summary.text, compacted: summary.compacted };
        let is_working = self.tree.node(frame).status() == FrameStatus::InProgress;
        if request.compaction_type != CompactionType::FrameCompletion || !is_working {
            return self.command(Command::Record { frame: frame.into(), records: Records::of_results(results) });
        }
        match request.blocked_because {
            None => self.command(Command::Pop { frame: frame.into(), status: PopStatus::Completed, results }),
            Some(reason) => self.block_salvaged(frame, session_id, &reason, &[], results),
        }
    }

    /// Continues a call whose session was to be compacted.
    pub(super) fn after_checkpoint(&mut self, id: CallId, session_id: &str) {
        let Some(handle) = self.sessions.calls.get(id).map(|call| call.handle) else { return };
        self.sessions.calls.advance(id, Progress::Running { session_id: session_id.to_owned() });
        self.sessions.calls.unlimit(id);
        let text = calls::after_checkpoint(self.tree, handle, &self.sessions.tools);
        self.continue_with(id, handle, text);
    }

    /// Continues the call that waited for the summary of its session, if there is one.
    fn summed_up(&mut self, session_id: &str, refusal: Option<Refusal>) {
        let Some((id, call)) = self.sessions.calls.of_session(session_id) else { return };
        match (&call.progress, refusal) {
            (Progress::SummingUp { .. }, None) => self.answer(id, None),
            (Progress::SummingUp { reason, .. }, Some(_)) => {
                let reason = reason.clone();
                self.salvage(id, session_id.to_owned(), reason);
            }
            (Progress::Compacting { .. }, _) => {
                self.after_checkpoint(id, session_id);
            }
            _ => {}
        }
    }
}
