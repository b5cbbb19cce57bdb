//! The hosts that have hooks: how each host names the events, and what each host is told. Their events have
//! the same keys.

use callstack_core::transcript::TranscriptForm;
use clap::ValueEnum;
#[cfg(any(feature = "proxy", test))]
use serde_json::Map;
use serde_json::{Value, json};

use super::HookEvent;
use crate::caller::Caller;

/// The seconds after which a host gives up a hook.
#[cfg(any(feature = "proxy", test))]
const TIMEOUT: u64 = 10;
/// The seconds that Codex gives a hook at the end of a session.
#[cfg(any(feature = "proxy", test))]
const CODEX_END_TIMEOUT: u64 = 3;
/// The tools of the stack, no matter how a host names them.
const OURS: &str = ".*callstack.*";

/// The file of a package of Claude Code with the kind of subagent that works on a frame that is handed over.
/// This subagent has few tools, and none of the tools of the stack. Therefore its prompt has a quarter of the
/// length of a prompt with all tools. Its last answer is the results.
#[cfg(any(feature = "proxy", test))]
pub const WORKER_AGENT: &str = include_str!("worker.md");
/// The name of that kind, after the name of the package.
const WORKER: &str = ":worker";

/// True if a call starts a subagent of that kind.
pub fn is_worker(input: &Value) -> bool {
    let kind = input["subagent_type"].as_str().unwrap_or_default();
    kind.starts_with("callstack") && kind.ends_with(WORKER)
}

/// A host that runs hooks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HookHost {
    Claude,
    Codex,
    Gemini,
    Qwen,
    Copilot,
}

impl HookHost {
    /// The form of its transcripts.
    pub fn transcript(self) -> TranscriptForm {
        match self {
            Self::Claude => TranscriptForm::Claude,
            Self::Codex => TranscriptForm::Codex,
            Self::Gemini => TranscriptForm::Gemini,
            Self::Qwen => TranscriptForm::Qwen,
            Self::Copilot => TranscriptForm::Copilot,
        }
    }

    /// A conversation of this host, or a subagent of it. `None`: there is no usable name, or the host does
    /// not tell enough about a subagent, which is not the session itself.
    pub fn caller(self, session: &str, agent: &str) -> Option<Caller> {
        match self {
            Self::Claude => Caller::of_claude(session, Some(agent)),
            other if agent.is_empty() => Caller::of(other.transcript().as_str(), session),
            _ => None,
        }
    }

    /// The name of an event, and the tools for which it is meant. `None`: this host has no such event, or the
    /// event has no use there.
    pub fn event(self, event: HookEvent) -> Option<(&'static str, Option<&'static str>)> {
        let is_claude = self == Self::Claude;
        Some(match (self, event) {
            (_, HookEvent::SessionStart) => ("SessionStart", None),
            (Self::Gemini, HookEvent::UserPromptSubmit) => ("BeforeAgent", None),
            (_, HookEvent::UserPromptSubmit) => ("UserPromptSubmit", None),
            (Self::Claude, HookEvent::PreToolUse) => ("PreToolUse", Some("mcp__.*callstack.*|Agent|Task")),
            (Self::Claude, HookEvent::PostToolUse) => {
                ("PostToolUse", Some("mcp__.*callstack.*|Write|Edit|MultiEdit|NotebookEdit|Bash|Agent|Task"))
            }
            // Codex names the conversation of a call itself; Qwen Code lets no hook change the arguments.
            (Self::Codex | Self::Qwen, HookEvent::PreToolUse) => return None,
            (Self::Gemini, HookEvent::PreToolUse) => ("BeforeTool", Some(OURS)),
            (Self::Copilot, HookEvent::PreToolUse) => ("PreToolUse", Some(OURS)),
            (Self::Gemini, HookEvent::PostToolUse) => ("AfterTool", Some(OURS)),
            (_, HookEvent::PostToolUse) => ("PostToolUse", Some(OURS)),
            (_, HookEvent::PostToolUseFailure) if is_claude => ("PostToolUseFailure", Some("Agent|Task")),
            (_, HookEvent::StopFailure) if is_claude => ("StopFailure", None),
            (_, HookEvent::PostToolUseFailure | HookEvent::StopFailure) => return None,
            (_, HookEvent::SubagentStart) if is_claude => ("SubagentStart", None),
            (_, HookEvent::SubagentStop) if is_claude => ("SubagentStop", None),
            (_, HookEvent::SubagentStart | HookEvent::SubagentStop) => return None,
            // Gemini CLI runs these hooks at each step, and shows the person what the hooks say.
            (Self::Gemini, HookEvent::PreCompact) => return None,
            (_, HookEvent::PreCompact) => ("PreCompact", None),
            (_, HookEvent::PostCompact) if is_claude => ("PostCompact", None),
            (_, HookEvent::PostCompact) => return None,
            (Self::Gemini, HookEvent::Stop) => ("AfterAgent", None),
            (_, HookEvent::Stop) => ("Stop", None),
            (_, HookEvent::SessionEnd) => ("SessionEnd", None),
        })
    }

    /// The answer that adds a text to the conversation.
    pub fn added(self, event: HookEvent, text: &str) -> Value {
        let name = self.event(event).map_or("", |(name, _)| name);
        json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
    }

    /// The answer that gives a call other arguments.
    pub fn updated(self, input: Value) -> Value {
        match self {
            Self::Gemini => json!({ "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": input } }),
            _ => json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": input } }),
        }
    }

    /// The hooks as the settings of this host and its packages name them. `command`: the command of a hook,
    /// before the event.
    #[cfg(any(feature = "proxy", test))]
    pub fn hooks(self, command: &str) -> Value {
        let mut hooks = Map::new();
        for event in HookEvent::value_variants() {
            let Some((name, matcher)) = self.event(*event) else { continue };
            let word = event.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            let host = match self {
                Self::Claude => String::new(),
                other => format!(" --host {}", other.transcript()),
            };
            let command = format!("{command} {word}{host}");
            let mut entry = Map::new();
            entry.extend(matcher.map(|matcher| ("matcher".to_owned(), matcher.into())));
            let hook = match self {
                Self::Codex if *event == HookEvent::SessionEnd => {
                    json!({ "type": "command", "command": command, "timeout": CODEX_END_TIMEOUT })
                }
                Self::Claude | Self::Codex => json!({ "type": "command", "command": command, "timeout": TIMEOUT }),
                Self::Gemini | Self::Qwen => {
                    json!({ "type": "command", "command": command, "timeout": TIMEOUT * 1_000 })
                }
                // The host would run them in the folder of the package.
                Self::Copilot => json!({
                    "type": "command", "bash": command, "powershell": command, "cwd": ".", "timeoutSec": TIMEOUT
                }),
            };
            match (self, hook) {
                (Self::Copilot, Value::Object(hook)) => entry.extend(hook),
                (_, hook) => drop(entry.insert("hooks".to_owned(), json!([hook]))),
            }
            hooks.insert(name.to_owned(), json!([entry]));
        }
        match self {
            Self::Copilot => json!({ "version": 1, "hooks": hooks }),
            _ => json!({ "hooks": hooks }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    /// `UPDATE_GOLDEN=1` writes the file.
    #[test]
    fn the_package_of_claude_code_has_the_worker_of_this_program() {
        let path = format!("{}/../bindings/claude-code/agents/worker.md", env!("CARGO_MANIFEST_DIR"));
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, WORKER_AGENT).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), WORKER_AGENT);
    }

    /// `UPDATE_GOLDEN=1` writes the files.
    #[test]
    fn the_packages_have_the_hooks_of_this_program() {
        for (host, package) in [
            (HookHost::Claude, "claude-code"),
            (HookHost::Codex, "codex"),
            (HookHost::Gemini, "gemini-cli"),
            (HookHost::Qwen, "qwen-code"),
            (HookHost::Copilot, "copilot"),
        ] {
            let path = format!("{}/../bindings/{package}/hooks/hooks.json", env!("CARGO_MANIFEST_DIR"));
            let hooks = format!("{:#}\n", host.hooks("callstack hook"));
            if env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &hooks).unwrap();
            }
            let packed = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{package}: {error}"));
            assert_eq!(packed, hooks, "{package}");
        }
    }
}
