//! The workspace of an agent: a folder, and the tools that read, write and run commands in it.

mod background;
mod command;
mod files;
mod group;
mod output;

use std::io;
use std::path::{Path, PathBuf};

use callstack_core::frame::RunSettings;
use callstack_core::tools::arguments;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::agent::model::Offer;

use background::Background;
pub use command::{Environment, TimeLimit};

/// Maximum length of a tool's answer, in characters (specification, "Workspace Tools").
const LIMIT: usize = 10_000;

/// Read a file. At most 10,000 characters are returned; use `offset` to read further.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// The file, relative to the workspace.
    path: String,
    /// Number of characters to skip. Default 0.
    #[serde(default)]
    offset: usize,
}

/// Write a file, or replace it. Missing folders are created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    /// The file, relative to the workspace.
    path: String,
    /// The new content of the file.
    content: String,
}

/// List the content of a folder.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListFiles {
    /// The folder, relative to the workspace. Default: the workspace itself.
    #[serde(default)]
    path: String,
}

/// Run a shell command in the workspace, until it ends or its time limit is reached. Returns its output and
/// errors; if they are long, their beginning and end. When it ends, all processes that it has started are
/// killed. With `background` it runs on while you work: use it for servers and watchers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCommand {
    /// The command, for `sh -c`.
    command: String,
    /// Time limit in seconds. Give a longer one to builds, installations and long tests.
    #[serde(default)]
    timeout: Option<u64>,
    /// Run it in the background, without a time limit, and return its ID after a second. It ends with
    /// end_command, or when the run ends or is interrupted; it does not survive a restart of the run. Default
    /// false.
    #[serde(default)]
    background: bool,
}

/// List the background commands: ID, status and command line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListCommands {}

/// Read the newest output of a background command, and its status.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommandOutput {
    /// The ID of the command.
    id: String,
    /// Number of characters, up to 10,000. Default 4,000.
    #[serde(default)]
    characters: Option<usize>,
}

/// End a background command, with all processes that it has started. Returns its newest output.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EndCommand {
    /// The ID of the command.
    id: String,
}

/// The arguments of a tool.
trait Arguments: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const EXAMPLE: &'static str;

    fn offer() -> Offer {
        let (description, parameters) = arguments::describe::<Self>();
        Offer { name: Self::NAME, description, parameters }
    }

    fn read(json: &str) -> Result<Self, String> {
        arguments::read(json, Self::EXAMPLE)
    }
}

impl Arguments for ReadFile {
    const NAME: &'static str = "read_file";
    const EXAMPLE: &'static str = r#"{"path": "src/calc.py"}"#;
}

impl Arguments for WriteFile {
    const NAME: &'static str = "write_file";
    const EXAMPLE: &'static str = r#"{"path": "src/calc.py", "content": "def add(a, b):\n    return a + b\n"}"#;
}

impl Arguments for ListFiles {
    const NAME: &'static str = "list_files";
    const EXAMPLE: &'static str = r#"{"path": "src"}"#;
}

impl Arguments for RunCommand {
    const NAME: &'static str = "run_command";
    const EXAMPLE: &'static str = r#"{"command": "python -m pytest -q", "timeout": 300}"#;
}

impl Arguments for ListCommands {
    const NAME: &'static str = "list_commands";
    const EXAMPLE: &'static str = "{}";
}

impl Arguments for CommandOutput {
    const NAME: &'static str = "command_output";
    const EXAMPLE: &'static str = r#"{"id": "c1"}"#;
}

impl Arguments for EndCommand {
    const NAME: &'static str = "end_command";
    const EXAMPLE: &'static str = r#"{"id": "c1"}"#;
}

/// What a tool call has done.
pub struct Done {
    /// The answer for the agent.
    pub answer: String,
    /// The file that it has written, relative to the workspace.
    pub written: Option<String>,
}

impl From<String> for Done {
    fn from(answer: String) -> Self {
        Self { answer, written: None }
    }
}

/// A folder in which the tools work. File tools cannot access files outside of it.
pub struct Workspace {
    path: PathBuf,
    folder: Dir,
    /// The folder of the run's own files, relative to the workspace, if it is in the workspace.
    private: Option<PathBuf>,
    environment: Environment,
    time_limit: TimeLimit,
    background: Background,
}

impl Workspace {
    /// Opens the workspace in a folder. The file tools refuse access to the folder `private`.
    pub fn open(path: &Path, private: &Path, environment: Environment, time_limit: TimeLimit) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let private = private.canonicalize()?.strip_prefix(&path).ok().map(Path::to_owned);
        let folder = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { path, folder, private, environment, time_limit, background: Background::default() })
    }

    /// Describes the tools in the system prompt. If files that are written become artifacts of their frames,
    /// the text says so. Unless the prompt is to be short, the text has examples of good and bad briefings
    /// and results, and a run step by step.
    pub fn description(settings: &RunSettings) -> String {
        let mut text = include_str!("description.md").to_owned();
        if settings.shared_results {
            text.push_str(include_str!("artifacts.md"));
        }
        if !settings.short_prompt {
            text.push_str(concat!("\n", include_str!("briefing.md"), include_str!("example.md")));
        }
        text
    }

    /// The tools of the workspace.
    pub fn offers(&self) -> Vec<Offer> {
        let mut run_command = RunCommand::offer();
        let TimeLimit { default } = self.time_limit;
        let limits = format!(
            " The time limit is {default} seconds, unless you give another one, up to {}.",
            self.time_limit.longest()
        );
        run_command.description.push_str(&limits);
        let of_commands = [run_command, ListCommands::offer(), CommandOutput::offer(), EndCommand::offer()];
        [ReadFile::offer(), WriteFile::offer(), ListFiles::offer()].into_iter().chain(of_commands).collect()
    }

    /// Executes a tool call. `None` if the workspace has no tool with this name.
    ///
    /// # Errors
    /// A message for the agent.
    pub async fn call(&self, name: &str, json: &str) -> Option<Result<Done, String>> {
        if name == WriteFile::NAME {
            return Some(WriteFile::read(json).and_then(|call| self.write_file(&call.path, &call.content)));
        }
        let answer = match name {
            ReadFile::NAME => ReadFile::read(json).and_then(|call| self.read_file(&call.path, call.offset)),
            ListFiles::NAME => ListFiles::read(json).and_then(|call| self.list_files(&call.path)),
            RunCommand::NAME => match RunCommand::read(json) {
                Ok(call) if call.background => match call.timeout {
                    None => self.start_in_background(&call.command).await,
                    Some(_) => Err("a background command has no time limit; leave out `timeout`".into()),
                },
                Ok(call) => self.run_command(&call.command, call.timeout).await,
                Err(problem) => Err(problem),
            },
            ListCommands::NAME => ListCommands::read(json).map(|_| self.list_commands()),
            CommandOutput::NAME => {
                CommandOutput::read(json).and_then(|call| self.command_output(&call.id, call.characters))
            }
            EndCommand::NAME => match EndCommand::read(json) {
                Ok(call) => self.end_command(&call.id).await,
                Err(problem) => Err(problem),
            },
            _ => return None,
        };
        Some(answer.map(Done::from))
    }
}

#[cfg(test)]
mod tests {
    use callstack_core::context::{Approx, TokenCounter};
    use callstack_core::frame::MemoryModel;
    use callstack_core::memory::system_prompt;

    use super::*;

    /// The document says how long the prompts are. `UPDATE_DOCS=1` writes the figures.
    #[test]
    fn what_the_model_is_taught() {
        let tokens = |memory: MemoryModel, is_short: bool| {
            let settings = RunSettings::default().memory(memory).short_prompt(is_short);
            Approx.count(&system_prompt(&settings, &Workspace::description(&settings)))
        };
        let row = |name: &str, memory: MemoryModel| {
            format!("| {name} | {} | {} |\n", tokens(memory, false), tokens(memory, true))
        };
        let table = format!(
            "| memory | system prompt | with `--short-prompt` |\n|---|---:|---:|\n{}{}",
            row("heap", MemoryModel::Heap),
            row("heap and registers", MemoryModel::Registers)
        );
        let path = format!("{}/../docs/agent.md", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once("what_the_model_is_taught -->\n").unwrap();
        let (old, behind) = rest.split_once("<!-- end -->").unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let new = format!("{before}what_the_model_is_taught -->\n{table}<!-- end -->{behind}");
            std::fs::write(&path, new).unwrap();
        } else {
            assert_eq!(old, table, "UPDATE_DOCS=1 writes it");
        }
    }
}
