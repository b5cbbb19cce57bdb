//! Actions and effects: the results of a host event, for the tree and for the host.

use serde::Serialize;
use serde_json::Value;

use super::calls::CallId;
use super::compaction::Message;
use crate::frame::{FrameRef, Handle};
use crate::tree::Command;

/// An action that follows from an event: a change of the tree, or an effect for the host.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "actions have to be carried out"]
#[non_exhaustive]
pub enum Action {
    /// Execute this command. If it is refused, log the error and continue with the next action.
    Command(Box<Command>),
    /// Execute [`Command::BeginCall`]. Pass the prompt to the host only if that command is accepted, because
    /// another process can have begun the frame. Otherwise end the call: [`Turn`](super::Turn) answers it
    /// with the reason.
    Begin {
        /// The call that runs the frame.
        call: CallId,
        /// The frame.
        handle: Handle,
        /// ID of the calling session.
        caller: String,
        /// The session that was created for the frame, if it had none.
        session_id: Option<String>,
        /// The prompt for the session of the frame. `None`: the session works already.
        prompt: Option<Effect>,
    },
    /// Execute [`Command::EndCall`]: the call of a frame has ended.
    End {
        /// The frame.
        handle: Handle,
    },
    /// Append messages to the log of a frame, if the frame exists.
    KeepMessages {
        /// The frame.
        frame: FrameRef,
        /// Messages of the frame's session, oldest first.
        messages: Vec<Message>,
        /// True if these are all messages of the session. Messages that the log already contains, and all
        /// messages before them, are left out.
        may_repeat: bool,
    },
    /// Answer a call from the state of the tree after the previous actions:
    /// [`calls::answer`](super::calls::answer).
    Answer {
        /// The call.
        call: CallId,
        /// The frame that was run by the call.
        handle: Handle,
        /// ID of the calling session. If conversations are folded, the answer ends with the frame in which
        /// the conversation of that session is.
        caller: String,
        /// The reason, if the frame could not be run.
        problem: Option<String>,
    },
    /// Pass this effect to the host.
    Effect(Effect),
}

/// An operation for the host to perform. In JSON the key `kind` names the variant:
///
/// ```json
/// {"kind": "readMessages", "sessionID": "ses_2"}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[must_use = "the host has to carry out effects"]
#[non_exhaustive]
pub enum Effect {
    /// Write a line to the host's log.
    Log {
        /// The severity.
        level: LogLevel,
        /// A short description of the event, such as `Subagent completed`.
        message: String,
        /// Details: a JSON object with the session, the frame and other data of the event.
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
        data: Value,
    },
    /// Describe an unknown session: report [`SessionCreated`](super::HostEvent::SessionCreated), or
    /// [`SessionDeleted`](super::HostEvent::SessionDeleted) if the session does not exist.
    DescribeSession {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Create a session for a call. Report [`CallStarted`](super::HostEvent::CallStarted), or
    /// [`CallEnded`](super::HostEvent::CallEnded) with an error if this fails.
    CreateSession {
        /// The call.
        call: CallId,
        /// ID of the calling session, which is the parent of the new one.
        #[serde(rename = "parentID")]
        parent_id: String,
        /// Title of the new session.
        title: String,
    },
    /// Send a prompt to a session and wait for its answer. Then report
    /// [`CallEnded`](super::HostEvent::CallEnded).
    Prompt {
        /// The call.
        call: CallId,
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// ID of the calling session. Use its model and agent.
        #[serde(rename = "callerID")]
        caller_id: String,
        /// The prompt.
        text: String,
    },
    /// Abort the current work of a session.
    AbortSession {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Compact a session. Then report [`SessionCompacted`](super::HostEvent::SessionCompacted), without
    /// messages if the compaction failed.
    CompactSession {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Add this text to the prompt for the summary of a session that is being compacted.
    CompactionPrompt {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The text to add.
        text: String,
    },
    /// Return the answer of a tool call that was waiting for a call.
    Answer {
        /// The call, as the tool returned it.
        call: CallId,
        /// The answer.
        text: String,
        /// One line for people that says what the call was about and how it ended.
        title: String,
        /// The frames that the call has popped, or for whose ends it has waited. The answer says how they
        /// have ended, or what they wait for.
        ended: Vec<Handle>,
    },
    /// Read the messages of a session and report [`SessionMessages`](super::HostEvent::SessionMessages), with
    /// an empty list if the session does not exist.
    ReadMessages {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
}

/// The severity of a line in the host's log. In JSON `"debug"`, `"info"` or `"warn"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// A normal event.
    Info,
    /// A problem after which the work continues.
    Warn,
}
