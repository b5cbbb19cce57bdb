//! The data that is kept about a session that a host has reported.

use std::collections::VecDeque;

use super::compaction::Message;
use super::topic::Topic;
use super::way::Way;
use crate::frame::ModelRequest;

/// Number of IDs of messages, and of tool calls, kept for each session, so that a message that is reported
/// twice is counted once.
const REMEMBERED_IDS: usize = 256;
/// Maximum number of requests to models that are kept for a session without a frame.
const WAITING_REQUESTS: usize = 256;

/// A session that was reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) parent: Option<String>,
    pub(super) topic: Topic,
    /// The message with which its current frame began, if it had another frame before.
    pub(super) begun_with: Option<String>,
    /// The messages of its conversation that the log of its frame has.
    pub(super) log: SessionLog,
    /// The frames through which its conversation has passed.
    pub(super) way: Way,
    pub(super) messages: RecentIds,
    pub(super) tool_calls: RecentIds,
    /// True if it was created for a call; then it is not a subagent.
    pub(super) is_called: bool,
    /// The newest prompt of this library. The host reports it as a message of the user.
    pub(super) prompt: Option<String>,
    /// The criteria that its conversation has word for word: those in the prompt of a call, or the messages
    /// of the person. `None` after a compaction or a restart.
    pub(super) criteria: Option<String>,
    /// The requests to models that were made before the session had a frame, oldest first.
    pub(super) requests: Vec<ModelRequest>,
}

impl Session {
    /// Keeps a request to a model until it can be recorded in the session's frame.
    pub(super) fn requested(&mut self, request: ModelRequest) {
        if self.requests.len() < WAITING_REQUESTS {
            self.requests.push(request);
        }
    }
}

/// The messages of one session that this process has logged.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionLog {
    pub(super) progress: LogProgress,
    pub(super) logged: RecentIds,
}

/// Whether a log has the messages that its session had before this process knew it.
#[derive(Debug, Clone, Default)]
pub(super) enum LogProgress {
    /// Not known: the frame, or this process, is younger than the session may be.
    #[default]
    Unknown,
    /// The host was asked for the messages of the session. The messages in the list were finished meanwhile.
    Asked(Vec<Message>),
    /// The log has them. Further messages are appended.
    Complete,
}

impl SessionLog {
    /// The log of a frame that begins now: earlier messages belong to other frames.
    pub(super) fn begun_anew(&mut self) {
        self.progress = LogProgress::Complete;
    }
}

/// The newest IDs of one kind, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentIds(VecDeque<String>);

impl RecentIds {
    /// Remembers an ID. True if it was not there before.
    pub(super) fn is_new(&mut self, id: &str) -> bool {
        if self.0.iter().any(|known| known == id) {
            return false;
        }
        if self.0.len() == REMEMBERED_IDS {
            self.0.pop_front();
        }
        self.0.push_back(id.to_owned());
        true
    }
}
