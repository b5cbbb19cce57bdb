//! What a host is asked to do.

use serde::Serialize;
use serde_json::Value;

use super::calls::CallId;
use super::compaction::Message;
use crate::frame::Handle;
use crate::tree::Command;

/// What follows from an event: something to change in the tree, or something that the host is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Carry out this command. If it is refused, log that and go on with the next action.
    Command(Command),
    /// Put messages into the log of a frame, those that are not in it.
    KeepMessages {
        /// The frame.
        handle: Handle,
        /// All messages of its session.
        messages: Vec<Message>,
    },
    /// Answer a call by what the tree says when the actions before this one are carried out:
    /// [`calls::answer`](super::calls::answer).
    Answer {
        /// The call.
        call: CallId,
        /// The frame that was called.
        handle: Handle,
        /// Why it could not be.
        problem: Option<String>,
    },
    /// Let the host do this.
    Effect(Effect),
}

/// Something that the host is to do. In JSON the key `kind` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Write a line to the host's log.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// What has happened, in a few words.
        message: String,
        /// What it has happened to.
        data: Value,
    },
    /// Tell of a session that was not told of: as
    /// [`SessionCreated`](super::HostEvent::SessionCreated), or as
    /// [`SessionDeleted`](super::HostEvent::SessionDeleted) if it is not there.
    DescribeSession {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Make a session for a call. Tell of it as [`CallStarted`](super::HostEvent::CallStarted), or as
    /// [`CallEnded`](super::HostEvent::CallEnded) with what went wrong.
    CreateSession {
        /// The call.
        call: CallId,
        /// The session that calls.
        #[serde(rename = "parentID")]
        parent_id: String,
        /// What it is to be called.
        title: String,
    },
    /// Prompt a session and wait until it has answered. Tell of that as
    /// [`CallEnded`](super::HostEvent::CallEnded).
    Prompt {
        /// The call.
        call: CallId,
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The session that calls: its model and agent are those to use.
        #[serde(rename = "callerID")]
        caller_id: String,
        /// What to say.
        text: String,
    },
    /// Stop what a session does.
    AbortSession {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Compact a session. Tell of that as [`SessionCompacted`](super::HostEvent::SessionCompacted), without
    /// messages if it is not possible.
    CompactSession {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Add this to what a session's model is asked for, now that it is compacted.
    CompactionPrompt {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// What to add.
        text: String,
    },
    /// Give the caller of a tool its answer.
    Answer {
        /// The call, as the answer of the tool has named it.
        call: CallId,
        /// What to tell.
        text: String,
    },
    /// Tell the messages of a session, as [`SessionMessages`](super::HostEvent::SessionMessages); none, if it is
    /// not there.
    ReadMessages {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
}

/// How much a line of a log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For those who look for a fault.
    Debug,
    /// What happens in the course of things.
    Info,
    /// Something was not as it should be, and the work goes on.
    Warn,
}
