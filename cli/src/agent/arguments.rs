//! The arguments of `callstack agent`.

use std::path::PathBuf;
use std::time::Duration;

use callstack_core::frame::{MemoryModel, RunSettings};
use clap::{Args, ValueEnum};

use super::work::Limits;

#[derive(Args)]
pub struct AgentArguments {
    /// What the agent is to do.
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub task: Option<String>,
    /// Its memory: stack and heap, or these and registers.
    #[arg(long, value_enum, default_value_t = Memory::Registers)]
    memory: Memory,
    /// The model, as its provider calls it.
    #[arg(long, env = "CALLSTACK_MODEL")]
    pub model: String,
    /// Where it is, such as http://127.0.0.1:11434/v1/; without it, its provider's own address.
    #[arg(long, env = "CALLSTACK_BASE_URL")]
    pub base_url: Option<String>,
    /// How to talk to it. By default by the model's name: anthropic for claude-…, else openai.
    #[arg(long, value_enum)]
    wire: Option<Wire>,
    /// The environment variable that holds the API key. By default OPENAI_API_KEY or ANTHROPIC_API_KEY.
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// The workspace.
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// Where the run is saved. By default .callstack in the workspace.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Go on with the newest run that is not finished.
    #[arg(long)]
    pub resume: bool,
    /// Stop after so many steps of this call.
    #[arg(long, default_value_t = 200, value_name = "STEPS")]
    max_steps: u64,
    /// Stop when the model has made the same call so many times in a row.
    #[arg(long, default_value_t = 6, value_name = "TIMES")]
    max_repeats: usize,
    /// How many frames may be above another one.
    #[arg(long, default_value_t = 5, value_name = "FRAMES")]
    max_depth: usize,
    /// Characters on the heap past which the agent is warned.
    #[arg(long, default_value_t = RunSettings::HEAP_CEILING, value_name = "CHARACTERS")]
    heap_ceiling: usize,
    /// How many times a request is repeated that the model cannot answer now.
    #[arg(long, default_value_t = 5, value_name = "TIMES")]
    pub retries: u32,
    /// How long to wait before the first repetition; each time twice as long.
    #[arg(long, default_value_t = 1_000, value_name = "MILLISECONDS")]
    retry_delay: u64,
    /// How long to wait for more of an answer.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    timeout: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Memory {
    Heap,
    Registers,
}

/// The interface of a model.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    /// Chat completions, as OpenAI and most others have them.
    Openai,
    /// Messages, as Anthropic has them.
    Anthropic,
}

impl AgentArguments {
    pub fn settings(&self) -> RunSettings {
        let memory = match self.memory {
            Memory::Heap => MemoryModel::Heap,
            Memory::Registers => MemoryModel::Registers,
        };
        RunSettings::default().memory(memory).max_depth(self.max_depth).heap_ceiling(self.heap_ceiling)
    }

    pub fn limits(&self) -> Limits {
        Limits { steps: self.max_steps, repeats: self.max_repeats }
    }

    pub fn wire(&self) -> Wire {
        let by_name = if self.model.starts_with("claude") { Wire::Anthropic } else { Wire::Openai };
        self.wire.unwrap_or(by_name)
    }

    pub fn state_folder(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| self.dir.join(".callstack"))
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    pub fn retry_delay(&self) -> Duration {
        Duration::from_millis(self.retry_delay)
    }

    /// The name of the variable with the key.
    pub fn key_variable(&self) -> &str {
        self.api_key_env.as_deref().unwrap_or(match self.wire() {
            Wire::Openai => "OPENAI_API_KEY",
            Wire::Anthropic => "ANTHROPIC_API_KEY",
        })
    }

    /// The key. Models at an address of the user's own may need none.
    pub fn key(&self) -> Result<Option<String>, String> {
        let key = std::env::var(self.key_variable()).ok().filter(|key| !key.is_empty());
        if key.is_none() && (self.base_url.is_none() || self.api_key_env.is_some()) {
            return Err(format!(
                "there is no API key: set {}, name another variable with --api-key-env, or give the --base-url of a \
                 model that needs none",
                self.key_variable()
            ));
        }
        Ok(key)
    }
}
