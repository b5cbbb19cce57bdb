//! The messages of sessions, which are kept in the logs of their frames.

use serde_json::{Value, json};

use crate::frame::FrameRef;
use crate::session::compaction::Message;
use crate::stack::Stack;

impl Stack {
    /// The lines for messages of a session in the log of its frame, each with a time. If the messages may
    /// repeat lines of the log, the repeated messages and the ones before them are left out, because messages
    /// before the first line of a log belong to other frames. If the log cannot be read, it may get a message
    /// twice, but lacks none. `is_new`: the commit makes the frame, which has no log yet. `None`: there is
    /// nothing to keep, or no log.
    pub(super) fn lines_to_keep(
        &self,
        frame: &FrameRef,
        mut messages: Vec<Message>,
        may_repeat: bool,
        is_new: bool,
    ) -> Option<Vec<Value>> {
        if !self.keeps_logs() || (!is_new && self.resolve(frame.clone()).is_err()) {
            return None;
        }
        if may_repeat && !is_new {
            let logged = self.logged_ids(frame).unwrap_or_default();
            let is_logged = |message: &Message| logged.contains(&*message.id);
            let first = messages.iter().position(is_logged).unwrap_or(0);
            messages = messages.into_iter().skip(first).filter(|message| !is_logged(message)).collect();
        }
        let now = (self.inner.clock)();
        let timed = |message: Message| json!(Message { time: message.time.or(Some(now)), ..message });
        let entries: Vec<Value> = messages.into_iter().map(timed).collect();
        Some(entries).filter(|entries| !entries.is_empty())
    }
}
