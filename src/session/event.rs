//! The events that a host reports about its sessions.

use std::mem;

use serde::Deserialize;
use serde_json::Value;

use super::calls::CallId;
use super::compaction::Message;
use crate::frame::ModelRequest;

/// The kinds of events: the values of the JSON key `kind`.
const KINDS: [&str; 16] = [
    "sessionCreated",
    "sessionUpdated",
    "sessionIdle",
    "sessionError",
    "sessionDeleted",
    "sessionCompacting",
    "sessionCompacted",
    "sessionMessages",
    "sessionSetBack",
    "message",
    "messageFinished",
    "modelRequested",
    "toolExecuted",
    "callStarted",
    "callEnded",
    "callAborted",
];

/// An event in a host. In JSON the key `kind` names the variant; unknown keys are rejected:
///
/// ```json
/// {"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "look around (@general subagent)"}
/// ```
///
/// Events may arrive more than once and in any order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(!try_from, tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase"))]
#[serde(try_from = "FlatEvent")]
#[non_exhaustive]
pub enum HostEvent {
    /// A session was created, or the host describes it because
    /// [`DescribeSession`](super::Effect::DescribeSession) asked for it.
    SessionCreated {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// ID of the session that started it; absent for a root session.
        #[cfg_attr(feature = "schema", schemars(rename = "parentID"))]
        parent_id: Option<String>,
        /// The title. Default titles of the host, such as `New session - 2026-…`, count as no title.
        #[cfg_attr(feature = "schema", schemars(default))]
        title: String,
    },
    /// The title of a session changed.
    SessionUpdated {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// The new title.
        title: String,
    },
    /// A session became idle: it waits for its next message.
    SessionIdle {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
    },
    /// An error occurred in a session, for example because its model is not reachable.
    SessionError {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// The host's error message.
        message: String,
    },
    /// A session was deleted, or was not found when [`DescribeSession`](super::Effect::DescribeSession) asked
    /// for it.
    SessionDeleted {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
    },
    /// The host is about to replace a session's conversation by a summary. The effect
    /// [`CompactionPrompt`](super::Effect::CompactionPrompt) returns the prompt for it.
    SessionCompacting {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
    },
    /// A session's conversation was replaced by a summary. An empty list of messages means that this failed.
    SessionCompacted {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// The messages after the compaction, oldest first.
        messages: Vec<Message>,
    },
    /// The messages of a session, because [`ReadMessages`](super::Effect::ReadMessages) asked for them.
    SessionMessages {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// The messages, oldest first.
        messages: Vec<Message>,
    },
    /// A person may have set a session's conversation back to an earlier point, or opened it again. The
    /// contents of the conversation show where it is: in the frame in which it was at that point, if that
    /// frame is still open, and otherwise in the nearest open frame above it. Open frames that it has begun
    /// since then are blocked, and continue when they are activated. Contexts show the results that it has
    /// lost. Frames are not set back: finished work stays finished.
    SessionSetBack {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// The answers of the library's tools in the conversation, also those from before a compaction,
        /// oldest first.
        answers: Vec<String>,
        /// What the person has written in it, also before a compaction, oldest first. Messages that are gone
        /// are not a part of the task any more. `None`: the host does not know.
        asked: Option<Vec<String>>,
    },
    /// A message was added to a session.
    Message {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// ID of the message. A repeated ID is ignored.
        #[cfg_attr(feature = "schema", schemars(rename = "messageID"))]
        message_id: String,
        /// The author: `user` or `assistant`.
        role: String,
        /// All text parts of the message, joined.
        text: String,
        /// The time at which the message was begun, in milliseconds since the Unix epoch. If a conversation
        /// goes through several frames, the time shows to which frame the message belongs. Default: to the
        /// frame in which the conversation is.
        time: Option<u64>,
        /// Size of the session's context in tokens, if the model reported it.
        tokens: Option<u64>,
        /// Maximum size of the session's context in tokens, if it is known.
        context_limit: Option<u64>,
        /// The request to the model that the message answers, if the host reports requests. It is recorded in
        /// the session's frame, even if the frame is made later.
        request: Option<Box<ModelRequest>>,
    },
    /// A request to a model ended that no message of the conversation answers: a request that failed and is
    /// repeated, or the request for the summary of a compaction. It is recorded in the session's frame, even
    /// if the frame is made later.
    ModelRequested {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// ID of the request. No message has this ID. A repeated ID is ignored.
        #[cfg_attr(feature = "schema", schemars(rename = "requestID"))]
        request_id: String,
        /// The time at which the request was begun, in milliseconds since the Unix epoch, like the time of a
        /// message.
        time: Option<u64>,
        /// The request.
        request: Box<ModelRequest>,
    },
    /// A message of a session is finished: it will not change any more. It is appended to the log of the
    /// session's frame. A host that does not report this has logs that grow only when frames end and
    /// conversations are compacted.
    MessageFinished {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// The message.
        message: Message,
    },
    /// A tool call finished in a session.
    ToolExecuted {
        /// ID of the session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
        /// ID of the tool call, if the host has one. An event with a repeated ID is ignored.
        #[cfg_attr(feature = "schema", schemars(rename = "toolCallID"))]
        tool_call_id: Option<String>,
        /// The tool's name.
        tool: String,
        /// Path of the file that the tool was called with, if there is one. The file counts as written if the
        /// tool is known to write files: `write`, `edit`, `multiedit`, `patch`, `apply_patch`, `Write`,
        /// `Edit`, `MultiEdit`, `NotebookEdit`.
        path: Option<String>,
        /// The command line that the tool has run in a shell, if there is one. The files that it names as
        /// changed count as changed: see [`changes_of_command`](super::changes_of_command).
        command: Option<String>,
        /// The changes of files by the tool call. They are recorded for a tool of any name. Default empty.
        #[cfg_attr(feature = "schema", schemars(default))]
        changes: Vec<FileChange>,
        /// True if the tool call failed. Default false.
        #[cfg_attr(feature = "schema", schemars(default))]
        failed: bool,
        /// ID of the child session in which the tool has worked, if the tool has waited for the end of the
        /// session. The frame of that session is then finished, with
        /// [`answer`](HostEvent::ToolExecuted::answer) as results. If the tool call failed, the frame is
        /// salvaged: it is blocked with the session's last message as results. If the child session may work
        /// again already, so that this event is an old one, its frame stays open until
        /// [`SessionIdle`](HostEvent::SessionIdle).
        #[cfg_attr(feature = "schema", schemars(rename = "childID"))]
        child_id: Option<String>,
        /// The answer of the child session; if the tool call failed, the error message. Default empty.
        #[cfg_attr(feature = "schema", schemars(default))]
        answer: String,
    },
    /// The session that [`CreateSession`](super::Effect::CreateSession) asked for was created.
    CallStarted {
        /// The call in that effect.
        call: CallId,
        /// ID of the new session.
        #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
        session_id: String,
    },
    /// A call ended: its session answered the prompt, or could not be created or prompted.
    CallEnded {
        /// The call.
        call: CallId,
        /// The error message, if the call failed.
        error: Option<String>,
    },
    /// The caller of a call was aborted and no longer waits for the answer.
    CallAborted {
        /// The call.
        call: CallId,
    },
}

/// A change of a file by a tool. In JSON the key `kind` names the variant: `{"kind": "written", "path":
/// "src/a.ts"}`, `{"kind": "deleted", "path": "src/a.ts"}`, `{"kind": "renamed", "from": "src/a.ts", "to":
/// "src/b.ts"}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// The same change with other paths.
    #[must_use]
    pub fn with_paths(self, change: impl Fn(String) -> String) -> Self {
        match self {
            FileChange::Written { path } => FileChange::Written { path: change(path) },
            FileChange::Deleted { path } => FileChange::Deleted { path: change(path) },
            FileChange::Renamed { from, to } => FileChange::Renamed { from: change(from), to: change(to) },
        }
    }

    /// The artifact that names the change: `src/a.ts`, `src/a.ts (deleted)`, `src/b.ts (renamed from
    /// src/a.ts)`.
    pub fn artifact(&self) -> String {
        match self {
            FileChange::Written { path } => path.clone(),
            FileChange::Deleted { path } => format!("{path} (deleted)"),
            FileChange::Renamed { from, to } => format!("{to} (renamed from {from})"),
        }
    }
}

/// An event with the keys of all kinds together. Serde's code for an enum whose key names the variant would
/// be three times as large.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FlatEvent {
    kind: String,
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    #[serde(rename = "parentID")]
    parent_id: Option<String>,
    title: Option<String>,
    /// A text or a message.
    message: Option<Value>,
    messages: Option<Vec<Message>>,
    answers: Option<Vec<String>>,
    asked: Option<Vec<String>>,
    #[serde(rename = "messageID")]
    message_id: Option<String>,
    role: Option<String>,
    text: Option<String>,
    time: Option<u64>,
    tokens: Option<u64>,
    context_limit: Option<u64>,
    request: Option<Box<ModelRequest>>,
    #[serde(rename = "requestID")]
    request_id: Option<String>,
    #[serde(rename = "toolCallID")]
    tool_call_id: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    command: Option<String>,
    changes: Option<Vec<FileChange>>,
    failed: Option<bool>,
    #[serde(rename = "childID")]
    child_id: Option<String>,
    answer: Option<String>,
    call: Option<CallId>,
    error: Option<String>,
}

impl FlatEvent {
    /// The first key that is left when the keys of the event's kind are taken.
    fn rest(&self) -> Option<&'static str> {
        let left = [
            ("sessionID", self.session_id.is_some()),
            ("parentID", self.parent_id.is_some()),
            ("title", self.title.is_some()),
            ("message", self.message.is_some()),
            ("messages", self.messages.is_some()),
            ("answers", self.answers.is_some()),
            ("asked", self.asked.is_some()),
            ("messageID", self.message_id.is_some()),
            ("role", self.role.is_some()),
            ("text", self.text.is_some()),
            ("time", self.time.is_some()),
            ("tokens", self.tokens.is_some()),
            ("contextLimit", self.context_limit.is_some()),
            ("request", self.request.is_some()),
            ("requestID", self.request_id.is_some()),
            ("toolCallID", self.tool_call_id.is_some()),
            ("tool", self.tool.is_some()),
            ("path", self.path.is_some()),
            ("command", self.command.is_some()),
            ("changes", self.changes.is_some()),
            ("failed", self.failed.is_some()),
            ("childID", self.child_id.is_some()),
            ("answer", self.answer.is_some()),
            ("call", self.call.is_some()),
            ("error", self.error.is_some()),
        ];
        left.into_iter().find(|(_, is_left)| *is_left).map(|(key, _)| key)
    }
}

impl TryFrom<FlatEvent> for HostEvent {
    type Error = String;

    fn try_from(mut event: FlatEvent) -> Result<Self, String> {
        let kind = mem::take(&mut event.kind);
        let lacks = |key: &str| format!("missing field `{key}` of the event `{kind}`");
        let session = |event: &mut FlatEvent| event.session_id.take().ok_or_else(|| lacks("sessionID"));
        let call = |event: &mut FlatEvent| event.call.take().ok_or_else(|| lacks("call"));
        let messages = |event: &mut FlatEvent| event.messages.take().ok_or_else(|| lacks("messages"));
        let wrong = |error: serde_json::Error| format!("`message` of the event `{kind}`: {error}");
        let message = |event: &mut FlatEvent| event.message.take().ok_or_else(|| lacks("message"));
        let host_event = match kind.as_str() {
            "sessionCreated" => HostEvent::SessionCreated {
                session_id: session(&mut event)?,
                parent_id: event.parent_id.take(),
                title: event.title.take().unwrap_or_default(),
            },
            "sessionUpdated" => HostEvent::SessionUpdated {
                session_id: session(&mut event)?,
                title: event.title.take().ok_or_else(|| lacks("title"))?,
            },
            "sessionIdle" => HostEvent::SessionIdle { session_id: session(&mut event)? },
            "sessionError" => HostEvent::SessionError {
                session_id: session(&mut event)?,
                message: String::deserialize(message(&mut event)?).map_err(wrong)?,
            },
            "sessionDeleted" => HostEvent::SessionDeleted { session_id: session(&mut event)? },
            "sessionCompacting" => HostEvent::SessionCompacting { session_id: session(&mut event)? },
            "sessionCompacted" => {
                HostEvent::SessionCompacted { session_id: session(&mut event)?, messages: messages(&mut event)? }
            }
            "sessionMessages" => {
                HostEvent::SessionMessages { session_id: session(&mut event)?, messages: messages(&mut event)? }
            }
            "sessionSetBack" => HostEvent::SessionSetBack {
                session_id: session(&mut event)?,
                answers: event.answers.take().ok_or_else(|| lacks("answers"))?,
                asked: event.asked.take(),
            },
            "message" => HostEvent::Message {
                session_id: session(&mut event)?,
                message_id: event.message_id.take().ok_or_else(|| lacks("messageID"))?,
                role: event.role.take().ok_or_else(|| lacks("role"))?,
                text: event.text.take().ok_or_else(|| lacks("text"))?,
                time: event.time.take(),
                tokens: event.tokens.take(),
                context_limit: event.context_limit.take(),
                request: event.request.take(),
            },
            "modelRequested" => HostEvent::ModelRequested {
                session_id: session(&mut event)?,
                request_id: event.request_id.take().ok_or_else(|| lacks("requestID"))?,
                time: event.time.take(),
                request: event.request.take().ok_or_else(|| lacks("request"))?,
            },
            "messageFinished" => HostEvent::MessageFinished {
                session_id: session(&mut event)?,
                message: Message::deserialize(message(&mut event)?).map_err(wrong)?,
            },
            "toolExecuted" => HostEvent::ToolExecuted {
                session_id: session(&mut event)?,
                tool_call_id: event.tool_call_id.take(),
                tool: event.tool.take().ok_or_else(|| lacks("tool"))?,
                path: event.path.take(),
                command: event.command.take(),
                changes: event.changes.take().unwrap_or_default(),
                failed: event.failed.take().unwrap_or_default(),
                child_id: event.child_id.take(),
                answer: event.answer.take().unwrap_or_default(),
            },
            "callStarted" => HostEvent::CallStarted { call: call(&mut event)?, session_id: session(&mut event)? },
            "callEnded" => HostEvent::CallEnded { call: call(&mut event)?, error: event.error.take() },
            "callAborted" => HostEvent::CallAborted { call: call(&mut event)? },
            _ => return Err(format!("unknown kind of event `{kind}`, expected one of {}", KINDS.join(", "))),
        };
        match event.rest() {
            None => Ok(host_event),
            Some(key) => Err(format!("unknown field `{key}` of the event `{kind}`")),
        }
    }
}
