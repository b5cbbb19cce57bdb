//! What a host asks before an agent calls the tools of the stack, and the settings that make the host not
//! ask.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Host;
use super::settings::SERVER;

/// A word in a list of settings.
pub struct Word {
    pub path: PathBuf,
    /// Where the list is.
    pub keys: &'static [&'static str],
    pub word: String,
}

impl Host {
    /// The key of the entry by which the tools are called without a question, and its value. `None`: the host
    /// has no such key.
    pub fn permission(self) -> Option<(&'static str, Value)> {
        match self {
            Self::Codex => Some(("default_tools_approval_mode", json!("approve"))),
            Self::Gemini | Self::Qwen => Some(("trust", json!(true))),
            _ => None,
        }
    }

    /// The same in a list of the host's settings. The list is in another file than the entry.
    pub fn allowed(self) -> Option<Word> {
        (self == Self::Claude).then(|| Word {
            path: ".claude/settings.local.json".into(),
            keys: &["permissions", "allow"],
            word: format!("mcp__{SERVER}"),
        })
    }

    /// The list in the file of the entry that has to name the server in any case. Without it, newer models of
    /// Codex would call these tools from programs that they write.
    pub fn listed(self) -> Option<(&'static [&'static str], String)> {
        let keys: &[&str] = &["features", "code_mode", "direct_only_tool_namespaces"];
        (self == Self::Codex).then(|| (keys, format!("mcp__{SERVER}")))
    }

    /// True if `init` can allow the tools.
    pub fn can_allow(self) -> bool {
        self.permission().is_some() || self.allowed().is_some()
    }
}

/// Asks the person in a terminal whether the tools may be called without a question. Without a terminal it
/// does not ask.
pub fn asks(host: Host) -> bool {
    if !host.can_allow() || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let whole = match host {
        Host::Gemini | Host::Qwen => {
            " The host has this only for the whole entry: it trusts whatever the command in it offers."
        }
        _ => "",
    };
    let question = format!(
        "May agents call these tools without asking each time? They change nothing but the stack.{whole} [y/N] "
    );
    let mut answer = String::new();
    let asked = io::stderr().write_all(question.as_bytes()).and_then(|()| io::stdin().lock().read_line(&mut answer));
    asked.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
