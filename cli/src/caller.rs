//! Which conversation calls a tool: what the host says about the conversation, in the request or in the
//! environment. This finds the frame of a conversation that does not name its frame. It does not prove
//! anything: every caller may name every frame.

use std::env;
use std::fmt;
use std::io;

use callstack_core::text::from_json;
use callstack_core::{Actor, Hold, HolderKind, Stack};
use serde_json::{Map, Value};

use crate::token::Token;

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
/// The key under which Codex writes a JSON text that has the thread, among other things.
pub const CODEX_TURN: &str = "x-codex-turn-metadata";
/// The name that Codex gives to a subagent that the model has started. Reviews and compactions have threads
/// of their own, too.
const SPAWNED: &str = "thread_spawn";
/// The argument with which a hook names the conversation of a call: Claude Code itself names only the call.
pub const ARGUMENT: &str = "calledBy";

/// The variable in which `callstack run` names the conversation of an agent that does not name it itself. The
/// name includes the host, such as `gemini/4f0c…`.
pub const VARIABLE: &str = "CALLSTACK_CONVERSATION";
/// The variables in which hosts name the conversation of the processes that they start, and the hosts.
const VARIABLES: [(&str, &str); 3] =
    [("CLAUDE_CODE_SESSION_ID", "claude"), ("CODEX_THREAD_ID", "codex"), ("OPENCODE_SESSION_ID", "opencode")];

/// Clients that start a server for each conversation and name the conversation nowhere: the beginnings of
/// their names, and their agents.
const CLIENTS: [(&str, &str); 3] = [("copilot-cli", "copilot"), ("gemini-cli", "gemini"), ("qwen-cli", "qwen")];

/// A conversation of a host, such as `codex/0198…`. A subagent of Claude Code is `claude/SESSION/AGENT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    name: String,
    /// The conversation that has started this subagent. Empty if the conversation is not a subagent.
    parent: String,
}

impl Caller {
    /// The conversation of a host with this ID. `None` if the ID is empty or too long.
    pub fn of(host: &str, id: &str) -> Option<Self> {
        let id = id.trim();
        let is_usable = !id.is_empty() && id.len() <= LONGEST && !id.contains(char::is_control);
        is_usable.then(|| Self { name: format!("{host}/{id}"), parent: String::new() })
    }

    /// A subagent of a session of Claude Code, or without an agent the session itself.
    pub fn of_claude(session: &str, agent: Option<&str>) -> Option<Self> {
        match agent.filter(|agent| !agent.is_empty()) {
            Some(agent) => Self::of("claude", &format!("{session}/{agent}")).map(Self::with_parent_in_name),
            None => Self::of("claude", session),
        }
    }

    /// A subagent of this conversation that no host names.
    #[cfg(feature = "proxy")]
    pub fn subagent(&self, number: usize) -> Self {
        Self { name: format!("{}/{number}", self.name), parent: self.name.clone() }
    }

    /// The same conversation. If it is a subagent of Claude Code, its parent is taken from its name.
    fn with_parent_in_name(self) -> Self {
        let session =
            self.id().split_once('/').filter(|_| self.name.starts_with("claude/")).map(|(session, _)| session);
        Self { parent: session.map_or(String::new(), |session| format!("claude/{session}")), ..self }
    }

    /// A new conversation of an agent, for one run of it.
    ///
    /// # Errors
    /// As [`run_name`].
    #[cfg(feature = "proxy")]
    pub fn of_run(agent: &str) -> io::Result<Self> {
        Ok(Self { name: format!("{}/{}", agent.replace('/', "-"), run_name()?), parent: String::new() })
    }

    /// The agent of a client that starts a server for each conversation, and does not name the conversation
    /// in its calls. `None`: a server of this client can serve many conversations.
    pub fn agent_of_client(client: &str) -> Option<&'static str> {
        CLIENTS.iter().find(|(start, _)| client.starts_with(start)).map(|(_, agent)| *agent)
    }

    /// The conversation that has started this process, if its host or `callstack run` names it.
    pub fn of_environment() -> Option<Self> {
        Self::of_variables(|name| env::var(name).ok())
    }

    /// The conversation that a host names in the metadata of a call.
    pub fn of_meta(meta: &Map<String, Value>) -> Option<Self> {
        let turn = meta.get(CODEX_TURN).and_then(Self::of_codex_turn);
        let by_key = KEYS.iter().find_map(|(key, host)| Self::of(host, meta.get(*key)?.as_str()?));
        // Both name the same thread, and the turn also tells which thread has started it.
        let is_same = |named: &Self| turn.as_ref().is_some_and(|turn| turn.name == named.name);
        match by_key.filter(|named| !is_same(named)) {
            Some(named) => Some(named),
            None => turn,
        }
    }

    /// The conversation that a hook has named in the arguments of a call. It is taken out, so that only the
    /// arguments of the tool are left.
    pub fn taken_from(arguments: &mut Map<String, Value>) -> Option<Self> {
        let named = arguments.remove(ARGUMENT)?;
        let (host, id) = named.as_str()?.split_once('/')?;
        Self::of(host, id).map(Self::with_parent_in_name)
    }

    /// The thread of Codex in the description of a turn, which is a JSON text or object. The description of a
    /// subagent's turn names the thread that has started the subagent.
    pub fn of_codex_turn(turn: &Value) -> Option<Self> {
        let read;
        let turn = match turn {
            Value::String(text) => {
                read = from_json::<Value>(text).ok()?;
                &read
            }
            other => other,
        };
        let text = |key: &str| turn.get(key).and_then(Value::as_str);
        let caller = Self::of("codex", text("thread_id").or_else(|| text("session_id"))?)?;
        let parent = text("parent_thread_id").filter(|_| text("subagent_kind") == Some(SPAWNED));
        let parent = parent.and_then(|parent| Self::of("codex", parent)).map_or(String::new(), |parent| parent.name);
        Some(Self { parent, ..caller })
    }

    fn of_variables(look_up: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let named = VARIABLES.iter().find_map(|(name, host)| Self::of(host, &look_up(name)?));
        named.or_else(|| look_up(VARIABLE)?.split_once('/').and_then(|(host, id)| Self::of(host, id)))
    }

    /// The conversation of an agent that a worker has started. The agent's host does not name it.
    pub fn of_worker(hold: &Hold) -> Option<Self> {
        Self::of("work", &format!("{}.{}", hold.handle, hold.generation))
    }

    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// True if another conversation has started it.
    #[cfg(any(feature = "proxy", test))]
    pub fn is_subagent(&self) -> bool {
        !self.parent.is_empty()
    }

    /// The conversation as the actor of commands. A subagent works for the conversation that has started it.
    pub fn actor(&self) -> Actor {
        Actor::new(HolderKind::Conversation, self.as_str()).caller(&*self.parent)
    }

    /// The ID that the host gives the conversation. Frames of a host that keeps its own stack have such IDs.
    pub fn id(&self) -> &str {
        self.name.split_once('/').map_or(&*self.name, |(_, id)| id)
    }
}

/// A new name for a run of an agent, or of a server that serves one conversation.
///
/// # Errors
/// If the system has no random number.
pub fn run_name() -> io::Result<String> {
    let mut name = Token::random()?.to_string();
    name.truncate(12);
    Ok(name)
}

/// The stack with a conversation as the actor of its commands. The conversation can have no name. Within the
/// command of a worker, the worker must have the frame.
pub fn as_conversation(stack: &Stack, caller: Option<&Caller>) -> Stack {
    let actor = caller.map_or_else(|| Actor::new(HolderKind::Conversation, ""), Caller::actor);
    stack.as_actor(match stack.actor().and_then(|actor| actor.hold.as_ref()) {
        Some(hold) => actor.hold(hold),
        None => actor,
    })
}

impl fmt::Display for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_meta(meta: Value) -> Option<String> {
        Caller::of_meta(meta.as_object().unwrap()).map(|caller| caller.to_string())
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
        ] {
            assert_eq!(of_meta(meta.clone()).as_deref(), Some(expected), "{meta}");
        }
    }

    #[test]
    fn a_subagent_of_codex_works_for_the_thread_that_has_started_it() {
        let turn = |kind: &str| json!({ "thread_id": "t2", "parent_thread_id": "t1", "subagent_kind": kind });
        for meta in
            [json!({ "threadId": "t2", CODEX_TURN: turn("thread_spawn") }), json!({ CODEX_TURN: turn("thread_spawn") })]
        {
            let caller = Caller::of_meta(meta.as_object().unwrap()).unwrap();
            let actor = caller.actor();
            assert_eq!((actor.name.as_str(), actor.caller.as_str()), ("codex/t2", "codex/t1"));
            assert!(caller.is_subagent());
        }
        let review = Caller::of_codex_turn(&turn("review")).unwrap();
        assert!(!review.is_subagent() && review.as_str() == "codex/t2");
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
        ] {
            assert_eq!(of_meta(meta.clone()), None, "{meta}");
        }
    }

    #[test]
    fn a_hook_names_the_conversation_in_the_arguments() {
        let mut arguments = json!({ "title": "Cart", "calledBy": "claude/ses/agent" });
        let caller = Caller::taken_from(arguments.as_object_mut().unwrap()).unwrap();
        assert_eq!((caller.as_str(), arguments), ("claude/ses/agent", json!({ "title": "Cart" })));
        let actor = caller.actor();
        assert_eq!((actor.name.as_str(), actor.caller.as_str()), ("claude/ses/agent", "claude/ses"));
        assert_eq!(Caller::of_claude("ses", None).unwrap().actor().caller, "");
        for wrong in [json!(5), json!("claude"), json!("claude/"), json!("claude/a\nb")] {
            let mut arguments = json!({ "calledBy": wrong });
            assert_eq!(Caller::taken_from(arguments.as_object_mut().unwrap()), None);
            assert_eq!(arguments, json!({}));
        }
    }

    #[test]
    fn a_client_that_starts_a_server_for_each_conversation_is_known() {
        for (client, agent) in [
            ("copilot-cli", Some("copilot")),
            ("gemini-cli-mcp-client", Some("gemini")),
            ("qwen-cli-mcp-client-callstack", Some("qwen")),
            ("claude-ai", None),
            ("cursor-vscode", None),
        ] {
            assert_eq!(Caller::agent_of_client(client), agent, "{client}");
        }
        assert_ne!(run_name().unwrap(), run_name().unwrap());
    }

    #[test]
    fn the_environment_of_the_server_comes_last() {
        let variables = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| "ses".to_owned());
        assert_eq!(Caller::of_variables(variables), Caller::of_claude("ses", None));
        assert_eq!(Caller::of_variables(|_| None), None);
        assert_eq!(Caller::of("opencode", "ses_1").unwrap().id(), "ses_1");
    }
}
