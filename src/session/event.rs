//! The events that a host reports about its sessions.

use serde::Deserialize;

use super::calls::CallId;
use super::compaction::Message;
use crate::frame::ModelRequest;

/// An event in a host. In JSON the key `kind` names the variant; unknown keys are rejected:
///
/// ```json
/// {"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "look around (@general subagent)"}
/// ```
///
/// Events may arrive more than once and in any order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum HostEvent {
    /// A session was created, or the host describes it because
    /// [`DescribeSession`](super::Effect::DescribeSession) asked for it.
    SessionCreated {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// ID of the session that started it; absent for a root session.
        #[serde(rename = "parentID", default)]
        parent_id: Option<String>,
        /// The title. Default titles of the host, such as `New session - 2026-…`, count as no title.
        #[serde(default)]
        title: String,
    },
    /// The title of a session changed.
    SessionUpdated {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The new title.
        title: String,
    },
    /// A session became idle: it waits for its next message.
    SessionIdle {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// An error occurred in a session, for example because its model is not reachable.
    SessionError {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The host's error message.
        message: String,
    },
    /// A session was deleted, or was not found when [`DescribeSession`](super::Effect::DescribeSession) asked for it.
    SessionDeleted {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// The host is about to replace a session's conversation by a summary. The effect
    /// [`CompactionPrompt`](super::Effect::CompactionPrompt) returns the prompt for it.
    SessionCompacting {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A session's conversation was replaced by a summary. An empty list of messages means that this failed.
    SessionCompacted {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The messages after the compaction, oldest first.
        messages: Vec<Message>,
    },
    /// The messages of a session, because [`ReadMessages`](super::Effect::ReadMessages) asked for them.
    SessionMessages {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The messages, oldest first.
        messages: Vec<Message>,
    },
    /// A message was added to a session.
    Message {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// ID of the message. A repeated ID is ignored.
        #[serde(rename = "messageID")]
        message_id: String,
        /// The author: `user` or `assistant`.
        role: String,
        /// All text parts of the message, joined.
        text: String,
        /// Size of the session's context in tokens, if the model reported it.
        #[serde(default)]
        tokens: Option<u64>,
        /// Maximum size of the session's context in tokens, if it is known.
        #[serde(default)]
        context_limit: Option<u64>,
        /// The request to the model that the message answers, if the host reports requests. It is recorded in the
        /// session's frame, also if that is made later.
        #[serde(default)]
        request: Option<Box<ModelRequest>>,
        /// True for the summary of a compaction: only its [`request`](HostEvent::Message::request) counts. Default false.
        #[serde(default)]
        summary: bool,
    },
    /// A message of a session is finished: it will not change any more. It is appended to the log of the session's frame.
    /// A host that does not report this has logs that grow only when frames end and conversations are compacted.
    MessageFinished {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The message.
        message: Message,
    },
    /// A tool call finished in a session.
    ToolExecuted {
        /// ID of the session.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// ID of the tool call, if the host has one. An event with a repeated ID is ignored.
        #[serde(rename = "toolCallID", default)]
        tool_call_id: Option<String>,
        /// The tool's name.
        tool: String,
        /// Path of the file that the tool was called with, if there is one. The file counts as written if the tool is known
        /// to write files: `write`, `edit`, `multiedit`, `patch`, `apply_patch`, `Write`, `Edit`, `MultiEdit`,
        /// `NotebookEdit`.
        #[serde(default)]
        path: Option<String>,
        /// The changes of files by the tool call. They are recorded for a tool of any name. Default empty.
        #[serde(default)]
        changes: Vec<FileChange>,
        /// True if the tool call failed. Default false.
        #[serde(default)]
        failed: bool,
        /// ID of the child session in which the tool has worked, if it has waited for its end. The frame of that session
        /// is then finished, with [`answer`](HostEvent::ToolExecuted::answer) as results. If the tool call failed, the
        /// frame is salvaged: it is blocked with the session's last message as results. If the child session may work again
        /// already, so that this event is an old one, its frame stays open until
        /// [`SessionIdle`](HostEvent::SessionIdle).
        #[serde(rename = "childID", default)]
        child_id: Option<String>,
        /// The answer of the child session; if the tool call failed, the error message. Default empty.
        #[serde(default)]
        answer: String,
    },
    /// The session that [`CreateSession`](super::Effect::CreateSession) asked for was created.
    CallStarted {
        /// The call in that effect.
        call: CallId,
        /// ID of the new session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// A call ended: its session answered the prompt, or could not be created or prompted.
    CallEnded {
        /// The call.
        call: CallId,
        /// The error message, if the call failed.
        #[serde(default)]
        error: Option<String>,
    },
    /// The caller of a call was aborted and no longer waits for the answer.
    CallAborted {
        /// The call.
        call: CallId,
    },
}

/// A change of a file by a tool. In JSON the key `kind` names the variant: `{"kind": "written", "path": "src/a.ts"}`,
/// `{"kind": "deleted", "path": "src/a.ts"}`, `{"kind": "renamed", "from": "src/a.ts", "to": "src/b.ts"}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum FileChange {
    /// The file was created or changed.
    Written {
        /// Path of the file.
        path: String,
    },
    /// The file was deleted.
    Deleted {
        /// Path of the file.
        path: String,
    },
    /// The file has another path, and perhaps another content.
    Renamed {
        /// The path before.
        from: String,
        /// The path now.
        to: String,
    },
}

impl FileChange {
    /// The path that the change is about: for a renamed file, its path now.
    pub fn path(&self) -> &str {
        match self {
            FileChange::Written { path } | FileChange::Deleted { path } | FileChange::Renamed { to: path, .. } => path,
        }
    }

    /// The artifact that names the change: `src/a.ts`, `src/a.ts (deleted)`, `src/b.ts (renamed from src/a.ts)`.
    pub fn artifact(&self) -> String {
        match self {
            FileChange::Written { path } => path.clone(),
            FileChange::Deleted { path } => format!("{path} (deleted)"),
            FileChange::Renamed { from, to } => format!("{to} (renamed from {from})"),
        }
    }
}
