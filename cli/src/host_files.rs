//! Where hosts of agents keep what belongs to the person: their settings, logins and transcripts.

use std::env;
use std::path::PathBuf;

/// The variable of the folder above that of Gemini CLI.
pub const GEMINI_HOME: &str = "GEMINI_CLI_HOME";

/// A host, by its files.
#[derive(Clone, Copy)]
pub enum HostFiles {
    Claude,
    Codex,
    Copilot,
    Gemini,
    Pi,
    Qwen,
    Windsurf,
}

impl HostFiles {
    /// The variable of the environment with which a person names another folder. An empty value counts as
    /// none.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_CONFIG_DIR"),
            Self::Codex => Some("CODEX_HOME"),
            Self::Copilot => Some("COPILOT_HOME"),
            Self::Gemini => Some(GEMINI_HOME),
            Self::Pi => Some("PI_CODING_AGENT_DIR"),
            Self::Qwen => Some("QWEN_HOME"),
            Self::Windsurf => None,
        }
    }

    /// The folder in the person's home.
    fn name(self) -> &'static str {
        match self {
            Self::Claude => ".claude",
            Self::Codex => ".codex",
            Self::Copilot => ".copilot",
            Self::Gemini => ".gemini",
            Self::Pi => ".pi/agent",
            Self::Qwen => ".qwen",
            Self::Windsurf => ".codeium/windsurf",
        }
    }

    /// The folder with the files. `None`: no variable names it, and there is no home folder.
    pub fn folder(self) -> Option<PathBuf> {
        match (self, self.named()) {
            // The variable of Gemini CLI names the home in which its folder is.
            (Self::Gemini, _) => Some(self.home()?.join(self.name())),
            (_, Some(named)) => Some(named),
            (_, None) => Some(home()?.join(self.name())),
        }
    }

    /// The home of the person, as the host finds it.
    pub fn home(self) -> Option<PathBuf> {
        self.named().filter(|_| matches!(self, Self::Gemini)).or_else(home)
    }

    fn named(self) -> Option<PathBuf> {
        env::var_os(self.variable()?).filter(|folder| !folder.is_empty()).map(PathBuf::from)
    }
}

/// The home of the person. `None`: there is none.
pub fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
