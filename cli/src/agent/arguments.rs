//! The arguments of `callstack agent`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use callstack_core::Handle;
use callstack_core::frame::{MemoryModel, RunSettings};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};

use super::failed;
use super::work::Limits;
use super::workspace::TimeLimit;
use crate::failure::Failure;

/// The end of the help.
const AFTER_HELP: &str = "\
Exit codes:
  0    the task is done; its result is on the standard output
  1    a failure: the model, the workspace, files; the last lines say how to continue
  2    wrong arguments
  3    a limit was reached: --max-steps or --max-repeats
  4    refused; for example, another process drives the run, or it is over
  5    the stack was busy; the outcome is unknown
  130  interrupted

Examples:
  callstack agent --model MODEL --dir WORKSPACE \"Build a calculator with tests\"
  callstack agent --resume --model MODEL --dir WORKSPACE
  callstack agent --resume=f12 --model MODEL --dir WORKSPACE \"Use SQLite instead of files\"";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct AgentArguments {
    #[command(flatten)]
    given: GivenOptions,
    /// The task of the agent. With --resume an instruction, which the model gets as a message of the user.
    #[arg(required_unless_present = "resume", value_name = "TASK")]
    pub task: Option<String>,
    /// The memory that the agent manages: stack and heap, or stack, heap and registers.
    #[arg(long, value_enum, default_value_t = Memory::Registers)]
    memory: Memory,
    /// The provider's name of the model.
    #[arg(long, env = "CALLSTACK_MODEL")]
    pub model: String,
    /// The base URL of the model's API, such as http://127.0.0.1:11434/v1/. Default: the API of OpenAI or Anthropic.
    #[arg(long, env = "CALLSTACK_BASE_URL")]
    pub base_url: Option<String>,
    /// The protocol of the model's API. Default: anthropic if the name of the model begins with claude, else openai.
    #[arg(long, value_enum)]
    wire: Option<Wire>,
    /// The environment variable that contains the API key. Default: OPENAI_API_KEY or ANTHROPIC_API_KEY.
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// The workspace: the folder in which the agent works.
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// The value of --stack: the folder in which the run is saved.
    #[arg(skip)]
    stack: Option<PathBuf>,
    /// Continue the newest unfinished run, or the one with this handle, ID or title: --resume=f12.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "RUN")]
    pub resume: Option<String>,
    /// Stop after this number of steps. Steps of earlier processes are not counted.
    #[arg(long, default_value_t = 200, value_name = "STEPS")]
    max_steps: usize,
    /// Stop when the model has made the same tool call this number of times in a row.
    #[arg(long, default_value_t = 6, value_name = "TIMES")]
    max_repeats: usize,
    /// Maximum number of frames above a frame.
    #[arg(long, default_value_t = 5, value_name = "FRAMES")]
    max_depth: usize,
    /// Size of the heap above which the agent is warned.
    #[arg(long, default_value_t = RunSettings::HEAP_CEILING, value_name = "CHARACTERS")]
    heap_ceiling: usize,
    /// Time limit of a command. The model can give a command another one, up to an hour.
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    command_timeout: u64,
    /// Maximum length of a prompt and its answer. If the provider says that it is smaller, its number is used.
    #[arg(long, default_value_t = 128_000, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1_000..))]
    pub context_limit: u64,
    /// Maximum length of an answer. Default: what the provider allows.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: Option<u32>,
    /// Maximum number of repetitions of a request that has failed temporarily.
    #[arg(long, default_value_t = 5, value_name = "TIMES")]
    pub retries: u32,
    /// Wait before the first repetition. It doubles with each further one.
    #[arg(long, default_value_t = 1_000, value_name = "MILLISECONDS")]
    retry_delay: u64,
    /// Maximum wait for the next part of an answer.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    timeout: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Memory {
    Heap,
    Registers,
}

/// The protocol of a model's API.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    /// Chat completions: the protocol of OpenAI and most other providers.
    Openai,
    /// Messages: the protocol of Anthropic.
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

    /// Sets the folder in which the run is saved. An empty name counts as none.
    pub fn set_stack(&mut self, stack: Option<OsString>) {
        self.stack = stack.filter(|folder| !folder.is_empty()).map(PathBuf::from);
    }

    /// The folder in which the run is saved: `--stack`, else `.callstack` in the workspace.
    pub fn stack_folder(&self) -> PathBuf {
        self.stack.clone().unwrap_or_else(|| self.dir.join(".callstack"))
    }

    pub fn time_limit(&self) -> TimeLimit {
        TimeLimit { default: self.command_timeout }
    }

    /// The command line that continues a run with the same options.
    pub fn resume_command(&self, run: Handle) -> String {
        let program = quoted(&std::env::args().next().unwrap_or_else(|| "callstack".into()));
        let options: String = self.given.0.iter().map(|option| format!(" {option}")).collect();
        format!("{program} agent --resume={run}{options}")
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    pub fn retry_delay(&self) -> Duration {
        Duration::from_millis(self.retry_delay)
    }

    /// The name of the environment variable that contains the API key.
    pub fn key_variable(&self) -> &str {
        self.api_key_env.as_deref().unwrap_or(match self.wire() {
            Wire::Openai => "OPENAI_API_KEY",
            Wire::Anthropic => "ANTHROPIC_API_KEY",
        })
    }

    /// The API key. It is optional if `--base-url` is given without `--api-key-env`: such a model may need none.
    pub fn key(&self) -> Result<Option<String>, Failure> {
        let key = std::env::var(self.key_variable()).ok().filter(|key| !key.is_empty());
        if key.is_none() && (self.base_url.is_none() || self.api_key_env.is_some()) {
            return Err(failed(format!(
                "there is no API key: set {}, name another variable with --api-key-env, or give the --base-url of a \
                 model that needs none",
                self.key_variable()
            )));
        }
        Ok(key)
    }
}

/// The options on the command line as a shell reads them, without those that begin or select a run, or are about output.
struct GivenOptions(Vec<String>);

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let others = ["task", "resume", "memory", "max_depth", "heap_ceiling", "json", "color"];
        let is_given = |id: &&str| !others.contains(id) && matches.value_source(id) == Some(ValueSource::CommandLine);
        let words = matches.ids().map(clap::Id::as_str).filter(is_given).filter_map(|id| {
            let value = matches.get_raw(id)?.next_back()?.to_string_lossy();
            Some(format!("--{}={}", id.replace('_', "-"), quoted(&value)))
        });
        Ok(Self(words.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for GivenOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    // Only a word with a NUL cannot be quoted, and no argument has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}
