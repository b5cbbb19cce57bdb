//! What a host tells.

use serde::Deserialize;

use super::compaction::Message;

/// Something that has happened in a host. In JSON the key `kind` names the variant:
///
/// ```json
/// {"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "look around (@general subagent)"}
/// ```
///
/// Events may come twice, and in any order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum HostEvent {
    /// A session was made, or is described because an effect asked for it.
    SessionCreated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The session that started it, if one did.
        #[serde(rename = "parentID", default)]
        parent_id: Option<String>,
        /// Its title; the host's stand-ins such as `New session - 2026-…` count as none.
        #[serde(default)]
        title: String,
    },
    /// A session has another title.
    SessionUpdated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// Its title from now on.
        title: String,
    },
    /// A session waits for its next message.
    SessionIdle {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A session is gone, or was not to be found when an effect asked for it.
    SessionDeleted {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A session's conversation was replaced by a summary.
    SessionCompacted {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// Its messages now.
        messages: Vec<Message>,
    },
    /// The messages of a session, because an effect asked for them.
    SessionMessages {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// Its messages, oldest first.
        messages: Vec<Message>,
    },
    /// A session has a new message.
    Message {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The message's own ID.
        #[serde(rename = "messageID")]
        message_id: String,
        /// Who said it: `user` or `assistant`.
        role: String,
        /// Its text parts together.
        text: String,
    },
    /// A tool has done its work in a session.
    ToolExecuted {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The tool's name.
        tool: String,
        /// The file that it has written, if it has.
        #[serde(default)]
        path: Option<String>,
    },
}
