//! Who calls a tool: what the host says of the conversation, from the request or from the environment. It finds the frame of
//! a conversation that does not name it. It is no proof of anything: every caller may name every frame.

use std::env;
use std::fmt;

use callstack_core::text::from_json;
use serde_json::{Map, Value};

use super::callers::Callers;

/// Longest ID of a conversation, in bytes. Longer ones are ignored.
const LONGEST: usize = 256;

/// The keys of `_meta` under which hosts name the conversation of a call, and the hosts.
const KEYS: [(&str, &str); 5] = [
    ("threadId", "codex"),
    ("ai.opencode/sessionID", "opencode"),
    ("vscode.conversationId", "vscode"),
    ("antigravity.google/conversation_id", "antigravity"),
    ("sessionID", "session"),
];
/// The key under which Codex writes a JSON text with the thread, among others.
const CODEX_TURN: &str = "x-codex-turn-metadata";
/// The key under which Claude Code names the call. A hook has noted whose call it is.
const CLAUDE_CALL: &str = "claudecode/toolUseId";

/// The variables in which hosts name the conversation of the processes that they start, and the hosts.
const VARIABLES: [(&str, &str); 3] =
    [("CLAUDE_CODE_SESSION_ID", "claude"), ("CODEX_THREAD_ID", "codex"), ("OPENCODE_SESSION_ID", "opencode")];

/// A conversation of a host, such as `codex/0198…`. A subagent of Claude Code is `claude/SESSION/AGENT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller(String);

impl Caller {
    /// The conversation of a host with this ID. `None` if the ID is empty or too long.
    pub fn of(host: &str, id: &str) -> Option<Self> {
        let id = id.trim();
        let is_usable = !id.is_empty() && id.len() <= LONGEST && !id.contains(char::is_control);
        is_usable.then(|| Self(format!("{host}/{id}")))
    }

    /// A subagent of a session of Claude Code, or without an agent the session itself.
    pub fn of_claude(session: &str, agent: Option<&str>) -> Option<Self> {
        match agent.filter(|agent| !agent.is_empty()) {
            Some(agent) => Self::of("claude", &format!("{session}/{agent}")),
            None => Self::of("claude", session),
        }
    }

    /// The conversation that has started this process, if its host names it.
    pub fn of_environment() -> Option<Self> {
        Self::of_variables(|name| env::var(name).ok())
    }

    /// The conversation that a host names in the metadata of a call.
    pub fn of_meta(meta: &Map<String, Value>, callers: &Callers) -> Option<Self> {
        let text = |key: &str| meta.get(key).and_then(Value::as_str);
        let by_call = || callers.of_call(text(CLAUDE_CALL)?);
        let by_key = || KEYS.iter().find_map(|(key, host)| Self::of(host, text(key)?));
        by_call().or_else(by_key).or_else(|| Self::of_codex_turn(meta.get(CODEX_TURN)?))
    }

    fn of_codex_turn(turn: &Value) -> Option<Self> {
        let read;
        let turn = match turn {
            Value::String(text) => {
                read = from_json::<Value>(text).ok()?;
                &read
            }
            other => other,
        };
        let id = ["thread_id", "session_id"].into_iter().find_map(|key| turn.get(key)?.as_str())?;
        Self::of("codex", id)
    }

    fn of_variables(look_up: impl Fn(&str) -> Option<String>) -> Option<Self> {
        VARIABLES.iter().find_map(|(name, host)| Self::of(host, &look_up(name)?))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ID that the host gives the conversation. Frames of a host that keeps its own stack have such IDs.
    pub fn id(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, id)| id)
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::tempdir;

    use super::*;

    fn of_meta(meta: Value) -> Option<String> {
        let folder = tempdir().unwrap();
        let callers = Callers::new(folder.path());
        callers.note_call("toolu_1", &Caller::of_claude("ses", Some("agent")).unwrap()).unwrap();
        Caller::of_meta(meta.as_object().unwrap(), &callers).map(|caller| caller.to_string())
    }

    #[test]
    fn each_host_names_the_conversation_in_its_own_way() {
        for (meta, expected) in [
            (json!({ "threadId": "t1" }), "codex/t1"),
            (json!({ "x-codex-turn-metadata": r#"{"turn_id": "5", "thread_id": "t2"}"# }), "codex/t2"),
            (json!({ "x-codex-turn-metadata": { "session_id": "s2" } }), "codex/s2"),
            (json!({ "ai.opencode/sessionID": "ses_1" }), "opencode/ses_1"),
            (json!({ "sessionID": "ses_1" }), "session/ses_1"),
            (json!({ "vscode.conversationId": "c", "progressToken": 3 }), "vscode/c"),
            (json!({ "claudecode/toolUseId": "toolu_1" }), "claude/ses/agent"),
        ] {
            assert_eq!(of_meta(meta.clone()).as_deref(), Some(expected), "{meta}");
        }
    }

    #[test]
    fn what_names_no_conversation_is_ignored() {
        for meta in [
            json!({}),
            json!({ "threadId": "" }),
            json!({ "threadId": 5 }),
            json!({ "threadId": "x".repeat(LONGEST + 1) }),
            json!({ "threadId": "a\nb" }),
            json!({ "x-codex-turn-metadata": "{" }),
            json!({ "claudecode/toolUseId": "toolu_2" }),
            json!({ "claudecode/toolUseId": "../../toolu_1" }),
        ] {
            assert_eq!(of_meta(meta.clone()), None, "{meta}");
        }
    }

    #[test]
    fn the_environment_of_the_server_comes_last() {
        let variables = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| "ses".to_owned());
        assert_eq!(Caller::of_variables(variables), Caller::of_claude("ses", None));
        assert_eq!(Caller::of_variables(|_| None), None);
        assert_eq!(Caller::of("opencode", "ses_1").unwrap().id(), "ses_1");
    }
}
