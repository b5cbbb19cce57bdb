//! What a host tells.

use serde::Deserialize;

use super::calls::CallId;
use super::compaction::Message;

/// Something that has happened in a host. In JSON the key `kind` names the variant:
///
/// ```json
/// {"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "look around (@general subagent)"}
/// ```
///
/// Events may come twice, and in any order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
    /// A session has met an error: its model could not be reached, say.
    SessionError {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// What the host says of it.
        message: String,
    },
    /// A session is gone, or was not to be found when an effect asked for it.
    SessionDeleted {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A session's conversation is about to be replaced by a summary. The effect
    /// [`CompactionPrompt`](super::Effect::CompactionPrompt) says what to ask its model for.
    SessionCompacting {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A session's conversation was replaced by a summary, or, if there are no messages, could not be.
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
        /// Tokens in the session's context, if its model has counted them.
        #[serde(default)]
        tokens: Option<u64>,
        /// How many it can hold, if that is known.
        #[serde(default)]
        context_limit: Option<u64>,
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
        /// It has failed.
        #[serde(default)]
        failed: bool,
    },
    /// A session was made, as [`CreateSession`](super::Effect::CreateSession) asked.
    CallStarted {
        /// The call of that effect.
        call: CallId,
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A call is at its end: its session has answered, or could not be made or prompted.
    CallEnded {
        /// The call.
        call: CallId,
        /// What went wrong, if anything did.
        #[serde(default)]
        error: Option<String>,
    },
    /// Nobody waits for a call any more.
    CallAborted {
        /// The call.
        call: CallId,
    },
}
