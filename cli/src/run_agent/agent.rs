//! The agents that can be run, and what each of them needs.

use std::ffi::OsStr;
use std::path::Path;

use callstack_core::fold::Wire;

use super::launch::{Launch, Scene};
use super::upstreams::{own, vendor};
use super::{claude, codex, copilot, gemini, opencode, pi, qwen};
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
    OpenCode,
    Pi,
    /// An agent that gets the beginning of its model's URLs from a variable.
    Other {
        variable: String,
        wire: Wire,
    },
}

impl Agent {
    /// The agent with a name, or with the path of its program.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn named(program: &OsStr) -> Result<Self, Failure> {
        let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
        Ok(match &*name {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "qwen" => Self::Qwen,
            "copilot" => Self::Copilot,
            "opencode" => Self::OpenCode,
            "pi" => Self::Pi,
            _ => {
                let message = format!(
                    "`{name}` is not an agent that callstack knows: claude, codex, gemini, qwen, copilot, opencode, pi"
                );
                return Err(Failure::new(Exit::Usage, "unknown_agent", message)
                    .next("for any other: callstack run --wire anthropic --base-url-variable NAME -- COMMAND"));
            }
        })
    }

    /// True if a plugin of this project folds its requests, and records them. A proxy that also folds would
    /// do both a second time.
    pub fn has_plugin(&self) -> bool {
        matches!(self, Self::OpenCode | Self::Pi)
    }

    /// The upstream that the agent would use without this run. `None`: its requests cannot be sent to another
    /// address.
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
            Self::OpenCode | Self::Pi => Ok(None),
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
            Self::OpenCode => opencode::launch(scene),
            Self::Pi => pi::launch(scene),
            Self::Other { variable, .. } => Ok(Launch::default().proxied_by(variable, proxy)),
        }?;
        // Hooks leave out what the proxy records.
        let launch = if proxy.is_some() { launch.variable(WATCHED, "1") } else { launch };
        Ok(launch.on(scene))
    }
}
