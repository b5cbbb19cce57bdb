//! What a host is asked to do.

use serde::Serialize;
use serde_json::Value;

use crate::tree::Command;

/// What follows from an event: something to change in the tree, or something that the host is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Carry out this command. If it is refused, log that and go on with the next action.
    Command(Command),
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
    /// Tell the messages of a session, as [`SessionMessages`](super::HostEvent::SessionMessages).
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
