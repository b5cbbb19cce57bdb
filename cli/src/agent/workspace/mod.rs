//! The workspace of an agent: a folder, and the four tools that read, write and run commands in it.

mod command;
mod files;
mod output;

use std::io;
use std::path::{Path, PathBuf};

use callstack_core::tools::arguments;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::agent::model::Offer;

pub use command::Environment;

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

/// Run a shell command in the workspace, for up to 30 seconds. Returns its output and errors; if they are long, their
/// beginning and end. Background processes of the command are killed when it ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCommand {
    /// The command, for `sh -c`.
    command: String,
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
    const EXAMPLE: &'static str = r#"{"command": "python -m pytest -q"}"#;
}

/// A folder in which the tools work. File tools cannot access files outside of it.
pub struct Workspace {
    path: PathBuf,
    folder: Dir,
    /// The folder of the run's own files, relative to the workspace, if it is in the workspace.
    private: Option<PathBuf>,
    environment: Environment,
}

impl Workspace {
    /// Opens the workspace in a folder. The file tools refuse access to the folder `private`.
    pub fn open(path: &Path, private: &Path, environment: Environment) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let private = private.canonicalize()?.strip_prefix(&path).ok().map(Path::to_owned);
        let folder = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { path, folder, private, environment })
    }

    /// Describes the tools in the system prompt.
    pub const DESCRIPTION: &str = include_str!("description.md");

    /// The tools of the workspace.
    pub fn offers() -> Vec<Offer> {
        vec![ReadFile::offer(), WriteFile::offer(), ListFiles::offer(), RunCommand::offer()]
    }

    /// Executes a tool call. `None` if the workspace has no tool with this name.
    ///
    /// # Errors
    /// A message for the agent.
    pub async fn call(&self, name: &str, json: &str) -> Option<Result<String, String>> {
        Some(match name {
            ReadFile::NAME => ReadFile::read(json).and_then(|call| self.read_file(&call.path, call.offset)),
            WriteFile::NAME => WriteFile::read(json).and_then(|call| self.write_file(&call.path, &call.content)),
            ListFiles::NAME => ListFiles::read(json).and_then(|call| self.list_files(&call.path)),
            RunCommand::NAME => match RunCommand::read(json) {
                Ok(call) => self.run_command(&call.command).await,
                Err(problem) => Err(problem),
            },
            _ => return None,
        })
    }
}
