//! The lines for the host's log.

use serde_json::{Value, json};

use super::State;
use crate::error::Error;
use crate::frame::{Change, Event, FrameStatus, Release};
use crate::session::{Effect, LogLevel};
use crate::stack::Stack;

/// Maximum number of log lines that wait for the host. If there are more, the oldest are dropped.
const WAITING_LINES: usize = 1_000;

impl State {
    pub(super) fn log(&mut self, level: LogLevel, message: &str, data: Value) {
        if !self.is_attached {
            return;
        }
        if self.waiting.len() == WAITING_LINES {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Effect::Log { level, message: message.to_owned(), data });
    }
}

impl Stack {
    /// Adds a line for the host's log.
    #[cfg(feature = "tools")]
    pub(in crate::stack) fn log_for_host(&self, level: LogLevel, message: &str, data: Value) {
        self.inner.host.state.lock().log(level, message, data);
    }

    /// Ends the suggestions that are followed by events of frames, and adds log lines for the events
    /// (specification, "Logging").
    pub(in crate::stack) fn note(&self, events: &[Event]) {
        let tree = self.inner.tree.read();
        let mut state = self.inner.host.state.lock();
        if !state.is_attached {
            return;
        }
        let now = self.inner.span_clock.now();
        for event in events {
            state.sessions.changed(&tree, event, now);
            let record = tree.node(event.handle).record();
            let message = match &event.change {
                Change::Added { .. } if record.status == FrameStatus::Planned => "Frame planned",
                Change::Added { .. } => "Frame created",
                Change::StatusChanged { status, .. } => match status {
                    FrameStatus::InProgress => "Frame activated",
                    FrameStatus::Completed => "Frame completed",
                    FrameStatus::Failed => "Frame failed",
                    FrameStatus::Blocked => "Frame blocked",
                    FrameStatus::Planned | FrameStatus::Invalidated => continue,
                },
                Change::Invalidated { .. } => "Frame invalidated",
                Change::Edited { .. } => "Frame edited",
                Change::Summarized { .. } => "Frame summarized",
                Change::Answered { .. } => "Frame answered",
                Change::Reopened { .. } => "Frame reopened",
                Change::Undone { .. } => "Command taken back",
                Change::Released { release: Release::Interrupted {} } => "Frame interrupted",
                _ => continue,
            };
            let data = json!({ "handle": event.handle, "sessionID": record.session_id, "title": record.title });
            state.log(LogLevel::Info, message, data);
        }
    }
}

/// The line for the host's log about something that was refused.
pub(super) fn refused(error: &Error) -> Effect {
    let data = json!({ "error": error.to_string(), "code": error.code() });
    Effect::Log { level: LogLevel::Warn, message: "Refused".into(), data }
}
