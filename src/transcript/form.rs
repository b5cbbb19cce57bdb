//! The forms of transcripts: a host keeps its conversations in files of its own form.

use std::fmt;
use std::str::FromStr;

use serde_json::Value as Json;

use super::line::{Line, text};
use super::{atif, claude, codex, copilot, gemini, opencode, pi, qwen, swe_agent};
use crate::error::{Error, Result};
use crate::fold::Wire;
use crate::text::from_json;

/// The host whose form a transcript has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TranscriptForm {
    /// Claude Code: `projects/…/SESSION.jsonl`, and `subagents/agent-….jsonl`.
    Claude,
    /// Codex: `sessions/…/rollout-….jsonl`.
    Codex,
    /// Gemini CLI: `tmp/…/chats/session-….jsonl`.
    Gemini,
    /// Qwen Code: `projects/…/chats/SESSION.jsonl`.
    Qwen,
    /// Copilot CLI: `session-state/SESSION/events.jsonl`.
    Copilot,
    /// OpenCode: an export, or the records of its database.
    OpenCode,
    /// pi: `sessions/…/….jsonl`.
    Pi,
    /// SWE-agent and mini-swe-agent: `….traj`.
    SweAgent,
    /// The Agent Trajectory Interchange Format.
    Atif,
}

impl TranscriptForm {
    /// All forms.
    pub const ALL: &[Self] = &[
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Qwen,
        Self::Copilot,
        Self::OpenCode,
        Self::Pi,
        Self::SweAgent,
        Self::Atif,
    ];

    /// The forms that [`read_transcript`](super::read_transcript) reads: the forms of hosts whose hooks name
    /// a transcript.
    pub const OF_HOOKS: &[Self] = &[Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Copilot];

    /// The name of the host, such as `claude`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::SweAgent => "swe-agent",
            Self::Atif => "atif",
        }
    }

    /// The name of the host as people know it.
    pub const fn host(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
            Self::Copilot => "Copilot CLI",
            Self::OpenCode => "OpenCode",
            Self::Pi => "pi",
            Self::SweAgent => "SWE-agent",
            Self::Atif => "an agent",
        }
    }

    /// The form of a file that begins with this line. `None`: it is not a known kind of session, or it is a
    /// document of several lines.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        let value: Json = from_json(String::from_utf8_lossy(line).trim_start_matches('\u{feff}').trim()).ok()?;
        let has = |key: &str| value.get(key).is_some();
        let kind = value.get("type").and_then(Json::as_str).unwrap_or_default();
        if has("payload") && has("timestamp") || has("instructions") && has("id") && has("timestamp") {
            return Some(Self::Codex);
        }
        if kind == "session" && has("id") {
            return Some(Self::Pi);
        }
        if kind.starts_with("session.") && has("data") {
            return Some(Self::Copilot);
        }
        if value.pointer("/message/parts").is_some() || has("systemPayload") {
            return Some(Self::Qwen);
        }
        if has("sessionId") && has("projectHash") && !has("messages") {
            return Some(Self::Gemini);
        }
        let is_claude = has("sessionId") || has("leafUuid") || kind == "file-history-snapshot";
        match !kind.is_empty() && is_claude {
            true => Some(Self::Claude),
            false => Self::of_document(&value),
        }
    }

    /// The form of a document. `None`: the form is not known.
    pub(super) fn of_document(document: &Json) -> Option<Self> {
        let has = |key: &str| document.get(key).is_some();
        if text(document, "schema_version").starts_with("ATIF") || has("steps") && has("agent") {
            return Some(Self::Atif);
        }
        if has("trajectory") || text(document, "trajectory_format").starts_with("mini-swe-agent") || has("attempts") {
            return Some(Self::SweAgent);
        }
        if has("info") && has("messages") {
            let is_mini =
                document.pointer("/info/model_stats").is_some() || document.pointer("/info/mini_version").is_some();
            return Some(if is_mini { Self::SweAgent } else { Self::OpenCode });
        }
        (has("sessionId") && has("messages")).then_some(Self::Gemini)
    }

    /// The keys of a line's name, and of the name of the line before it in its branch.
    pub(super) const fn branch(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Claude | Self::Qwen => Some(("uuid", "parentUuid")),
            Self::Pi => Some(("id", "parentId")),
            // This host says itself to which line the person goes back.
            Self::Gemini => Some(("id", "")),
            _ => None,
        }
    }

    /// The wire in whose form the lines are read, and the key of its messages.
    pub(super) const fn wire(self) -> (Wire, &'static str) {
        match self {
            Self::Claude | Self::OpenCode | Self::Pi => (Wire::Anthropic, "messages"),
            Self::Codex => (Wire::Responses, "input"),
            Self::Gemini | Self::Qwen => (Wire::Gemini, "contents"),
            Self::Copilot | Self::SweAgent | Self::Atif => (Wire::Chat, "messages"),
        }
    }

    /// What a line says. `None`: it does not have the form of this host's lines.
    pub(super) fn line(self, value: &Json) -> Option<Line> {
        match self {
            Self::Claude => claude::line(value),
            Self::Codex => codex::line(value),
            Self::Gemini => gemini::line(value),
            Self::Qwen => qwen::line(value),
            Self::Copilot => copilot::line(value),
            Self::OpenCode => opencode::line(value),
            Self::Pi => pi::line(value),
            Self::SweAgent => swe_agent::line(value),
            Self::Atif => atif::line(value),
        }
    }
}

impl fmt::Display for TranscriptForm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for TranscriptForm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let expected = "claude, codex, gemini, qwen, copilot, opencode, pi, swe-agent or atif";
        let unknown = || Error::Setting { name: "agent".into(), value: name.to_owned(), expected };
        Self::ALL.iter().copied().find(|form| form.as_str() == name).ok_or_else(unknown)
    }
}
