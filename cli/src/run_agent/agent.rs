//! The agents that can be run, and what each of them needs.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use callstack_core::fold::Wire;

use super::launch::{Launch, Scene};
use super::{claude, codex, copilot, gemini, qwen};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::mcp::WATCHED;
use crate::proxy::Proxy;

/// An agent of another maker.
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    Qwen,
    Copilot,
    /// One that learns the beginning of its model's URLs by a variable.
    Other {
        variable: String,
        wire: Wire,
    },
}

impl Agent {
    /// The agent of a name, or of the path of its program.
    ///
    /// # Errors
    /// If it is unknown, or needs no proxy.
    pub fn named(program: &OsStr) -> Result<Self, Failure> {
        let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
        Ok(match &*name {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "qwen" => Self::Qwen,
            "copilot" => Self::Copilot,
            "opencode" | "pi" => {
                let message = format!(
                    "{name} needs no `callstack run`: its plugin {name}-callstack gives it the stack and folds its requests"
                );
                return Err(Failure::new(Exit::Refused, "has_plugin", message)
                    .next("install the plugin; to watch its requests alone, run `callstack proxy --no-fold --upstream URL`, and set its URL in the settings of the provider"));
            }
            _ => {
                let message =
                    format!("`{name}` is no agent that callstack knows: claude, codex, gemini, qwen, copilot");
                return Err(Failure::new(Exit::Usage, "unknown_agent", message)
                    .next("for any other: callstack run --wire anthropic --base-url-variable NAME -- COMMAND"));
            }
        })
    }

    /// The upstream that the agent would use without this run. `None`: its requests cannot be led elsewhere.
    ///
    /// # Errors
    /// If its settings cannot be read.
    pub fn upstream(&self, scene: &Scene<'_>) -> Result<Option<String>, Failure> {
        match self {
            Self::Claude => claude::upstream(scene),
            Self::Codex => codex::upstream(scene),
            Self::Gemini => Ok(Some(own(gemini::BASE_URL).unwrap_or_else(|| vendor(Wire::Gemini).to_owned()))),
            Self::Qwen => Ok(Some(qwen::upstream())),
            Self::Copilot => Ok(own(copilot::BASE_URL)),
            Self::Other { variable, wire } => Ok(Some(own(variable).unwrap_or_else(|| vendor(*wire).to_owned()))),
        }
    }

    /// What the agent gets for this run.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn launch(&self, scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
        let launch = match self {
            Self::Claude => claude::launch(scene, proxy),
            Self::Codex => codex::launch(scene, proxy),
            Self::Gemini => gemini::launch(scene, proxy),
            Self::Qwen => qwen::launch(scene, proxy),
            Self::Copilot => copilot::launch(scene, proxy),
            Self::Other { variable, .. } => Ok(Launch::default().proxied_by(variable, proxy)),
        }?;
        // What the proxy records, hooks leave out.
        let launch = if proxy.is_some() { launch.variable(WATCHED, "1") } else { launch };
        Ok(launch.on(scene))
    }
}

/// A variable of the person's.
pub fn own(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Where the vendor of a wire serves.
pub fn vendor(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "https://api.anthropic.com",
        Wire::Gemini => "https://generativelanguage.googleapis.com",
        _ => "https://api.openai.com/v1",
    }
}
