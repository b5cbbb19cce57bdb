//! The arguments of `callstack agent`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use callstack_core::Handle;
use callstack_core::frame::{MemoryModel, RunSettings};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};

use super::failures::failed;
use super::work::Limits;
use super::workspace::TimeLimit;
use crate::commands::changed::quoted;
use crate::common_options;
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
    /// The task of the agent. With --resume: an instruction that the model gets as a message of the user.
    #[arg(required_unless_present = "resume", value_name = "TASK")]
    pub task: Option<String>,
    /// The memory that the agent manages: stack and heap, or stack, heap and registers.
    #[arg(long, value_enum, default_value_t = Memory::Registers)]
    memory: Memory,
    /// The provider's name of the model.
    #[arg(long, env = "CALLSTACK_MODEL")]
    pub model: String,
    /// The base URL of the model's API, such as http://127.0.0.1:11434/v1/. Default: the API of OpenAI or
    /// Anthropic.
    #[arg(long, env = "CALLSTACK_BASE_URL")]
    pub base_url: Option<String>,
    /// The protocol of the model's API. Default: anthropic if the name of the model begins with claude, else
    /// openai.
    #[arg(long, value_enum)]
    wire: Option<Wire>,
    /// The environment variable that contains the API key. Default: OPENAI_API_KEY or ANTHROPIC_API_KEY.
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// The workspace: the folder in which the agent works.
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// The folder in which the run is saved. Default: .callstack in the workspace, even if there is a stack
    /// above it.
    #[arg(long, value_name = "FOLDER", env = "CALLSTACK_DIR", hide_env_values = true, help_heading = common_options::HEADING)]
    stack: Option<OsString>,
    /// Continue the newest unfinished run, or the one with this handle, ID or title: --resume=f12.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "RUN")]
    pub resume: Option<String>,
    /// Stop after this number of steps. Steps of earlier processes are not counted.
    #[arg(long, default_value_t = 200, value_name = "STEPS", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: u32,
    /// Stop when the model has made the same tool call this number of times in a row.
    #[arg(long, default_value_t = 6, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..))]
    max_repeats: u32,
    /// Maximum number of frames above a frame.
    #[arg(long, default_value_t = 5, value_name = "FRAMES")]
    max_depth: usize,
    /// Size of the heap above which the agent is warned.
    #[arg(long, default_value_t = RunSettings::HEAP_CEILING, value_name = "CHARACTERS")]
    heap_ceiling: usize,
    /// Begin each frame with its briefing alone: without the results of the frames around it, and without
    /// artifacts, decisions and logs.
    #[arg(long)]
    no_shared_results: bool,
    /// Maximum size of what a frame sees of the frames around it.
    #[arg(long, default_value_t = RunSettings::RESULTS_BUDGET, value_name = "TOKENS")]
    results_budget: usize,
    /// Give the model only the rules, without examples and common mistakes: about 1,600 tokens less. For
    /// models that are trained to work in this way.
    #[arg(long)]
    short_prompt: bool,
    /// Time limit of a command. The model can give a command another one, up to an hour.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    command_timeout: u64,
    /// Maximum length of a prompt and its answer. If the provider says that it is smaller, its number is
    /// used.
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
        RunSettings::default()
            .memory(memory)
            .max_depth(self.max_depth)
            .heap_ceiling(self.heap_ceiling)
            .shared_results(!self.no_shared_results)
            .results_budget(self.results_budget)
            .short_prompt(self.short_prompt)
    }

    pub fn limits(&self) -> Limits {
        Limits { steps: self.max_steps as usize, repeats: self.max_repeats as usize }
    }

    pub fn wire(&self) -> Wire {
        let by_name = if self.model.starts_with("claude") { Wire::Anthropic } else { Wire::Openai };
        self.wire.unwrap_or(by_name)
    }

    /// The instruction for a run that is resumed.
    pub fn instruction(&self) -> Option<&str> {
        self.task.as_deref().filter(|_| self.resume.is_some())
    }

    /// The folder in which the run is saved. An empty name counts as none.
    ///
    /// Unlike the other commands, this one does not use the nearest stack: `--resume` must not find the run
    /// of another workspace. It would then execute the commands of that run in this workspace.
    pub fn stack_folder(&self) -> PathBuf {
        let given = self.stack.as_ref().filter(|folder| !folder.is_empty());
        given.map_or_else(|| self.dir.join(".callstack"), PathBuf::from)
    }

    pub fn time_limit(&self) -> TimeLimit {
        TimeLimit { default: self.command_timeout }
    }

    /// The command line that continues a run with the same options.
    pub fn resume_command(&self, run: Handle) -> String {
        let options: String = self.given.0.iter().map(|option| format!(" {option}")).collect();
        format!("{} agent --resume={run}{options}", program())
    }

    /// The command line that lists the runs.
    pub fn runs_command(&self) -> String {
        format!("{} runs --stack={}", program(), quoted(&self.stack_folder().to_string_lossy()))
    }

    /// The command line that shows a run.
    pub fn show_command(&self, run: Handle) -> String {
        format!("{} runs show {run} --stack={}", program(), quoted(&self.stack_folder().to_string_lossy()))
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

    /// The API key. It is optional if `--base-url` is given without `--api-key-env`: such a model may need
    /// none.
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

/// The options that were given, as a shell reads them. Options that a run keeps, options that select the run,
/// and options about output are left out. Options from environment variables are included, because the next
/// shell may have other variables.
struct GivenOptions(Vec<String>);

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let of_run = ["memory", "max_depth", "heap_ceiling", "no_shared_results", "results_budget", "short_prompt"];
        let others = ["task", "resume", "json", "color"];
        let sources = [Some(ValueSource::CommandLine), Some(ValueSource::EnvVariable)];
        let is_other = |id: &&str| others.contains(id) || of_run.contains(id);
        let is_given = |id: &&str| !is_other(id) && sources.contains(&matches.value_source(id));
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

/// This program, as it was called.
fn program() -> String {
    let name = std::env::args().next();
    quoted(name.as_deref().unwrap_or("callstack")).into_owned()
}
