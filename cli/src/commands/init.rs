//! `callstack init`: tells a host of agents how to start `callstack mcp`, in the settings of the project, and takes it back.

mod file;
mod permission;
mod plugin;
mod settings;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use self::file::SettingsFile;
use self::permission::Word;
use self::settings::{Json, SERVER, Settings, Toml};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};

#[derive(Args)]
pub struct Arguments {
    /// The host.
    #[arg(value_enum)]
    host: Host,
    /// Take the entry back.
    #[arg(long)]
    undo: bool,
    /// Print the settings, and write nothing.
    #[arg(long, conflicts_with = "undo")]
    print: bool,
    /// Replace an entry of the same name that somebody has changed, or write one beside a package that is installed.
    #[arg(long)]
    force: bool,
    /// Let agents call the tools without a question: they change nothing but the stack. Default: a terminal asks.
    #[arg(long, conflicts_with = "undo")]
    allow: bool,
}

/// A host of agents.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Host {
    /// Claude Code: .mcp.json
    Claude,
    /// Codex: config.toml in ~/.codex, or in the folder of CODEX_HOME
    Codex,
    /// Cursor: .cursor/mcp.json
    Cursor,
    /// Visual Studio Code: .vscode/mcp.json
    Vscode,
    /// Zed: .zed/settings.json
    Zed,
    /// OpenCode: opencode.json
    Opencode,
    /// Gemini CLI: .gemini/settings.json
    Gemini,
    /// Qwen Code: .qwen/settings.json
    Qwen,
    /// Copilot CLI: .github/mcp.json
    Copilot,
    /// Windsurf: mcp_config.json in ~/.codeium/windsurf, for this project alone
    Windsurf,
}

/// The change of the settings of a host.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    host: Host,
    /// The file with the settings.
    path: String,
    done: Done,
    /// The entry, in the language of the file.
    entry: String,
}

#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Done {
    /// The entry was added or replaced.
    Written,
    /// The entry was removed.
    Removed,
    /// The settings were right already.
    Unchanged,
    /// The settings were shown, and not written.
    Printed,
}

impl Report for Initialized {
    const KIND: &'static str = "initialized";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let line = |done: &str| Line::new().plain(done).said(&self.path);
        match self.done {
            Done::Written => page.line(line("wrote "))?,
            Done::Removed => return page.line(line("removed the entry from ")),
            Done::Unchanged => return page.line(line("nothing to change in ")),
            Done::Printed => page.line(line("for "))?,
        }
        page.raw(&self.entry)?;
        if self.done == Done::Written {
            page.notice("next", self.host.next_step())?;
        }
        Ok(())
    }
}

impl Host {
    /// The file with the settings: of the project, in the working folder, or if the host has no such file, of the user.
    fn path(self) -> Result<PathBuf, Failure> {
        Ok(match self {
            Self::Claude => ".mcp.json".into(),
            Self::Cursor => ".cursor/mcp.json".into(),
            Self::Vscode => ".vscode/mcp.json".into(),
            Self::Zed => ".zed/settings.json".into(),
            Self::Opencode => match Path::new("opencode.jsonc").is_file() {
                true => "opencode.jsonc".into(),
                false => "opencode.json".into(),
            },
            Self::Codex => codex_home()?.join("config.toml"),
            Self::Gemini => ".gemini/settings.json".into(),
            Self::Qwen => ".qwen/settings.json".into(),
            Self::Copilot => ".github/mcp.json".into(),
            Self::Windsurf => home("the settings of Windsurf")?.join(".codeium/windsurf/mcp_config.json"),
        })
    }

    /// True if the settings are those of the person, for all projects. The person may have put links there.
    fn is_of_person(self) -> bool {
        matches!(self, Self::Codex | Self::Windsurf)
    }

    /// The key of the object with the servers.
    fn section(self) -> &'static str {
        match self {
            Self::Claude | Self::Cursor | Self::Gemini | Self::Qwen | Self::Copilot | Self::Windsurf => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
            Self::Opencode => "mcp",
        }
    }

    /// The entry of the server.
    /// `stack`: the folder of the stack, if it is not that of the project.
    fn entry(self, program: &str, stack: Option<&str>) -> Value {
        // These do not promise in which folder they start a server.
        let elsewhere = match self {
            Self::Cursor | Self::Vscode => Some("${workspaceFolder}/.callstack".to_owned()),
            // Its settings have no word for the folder of a project.
            Self::Windsurf => {
                env::current_dir().ok().map(|here| here.join(".callstack").to_string_lossy().into_owned())
            }
            _ => None,
        };
        let stack = stack.or(elsewhere.as_deref());
        let words = ["mcp"].into_iter().chain(stack.into_iter().flat_map(|stack| ["--stack", stack]));
        let words: Vec<&str> = words.collect();
        match self {
            // Without this, Claude Code hides the tools behind a search.
            Self::Claude => json!({ "command": program, "args": words, "alwaysLoad": true }),
            Self::Codex | Self::Cursor | Self::Gemini | Self::Qwen | Self::Windsurf => {
                json!({ "command": program, "args": words })
            }
            Self::Copilot => json!({ "type": "local", "command": program, "args": words, "tools": ["*"] }),
            Self::Vscode => json!({ "type": "stdio", "command": program, "args": words }),
            Self::Zed => json!({ "command": program, "args": words, "env": {} }),
            Self::Opencode => {
                let command: Vec<&str> = [program].into_iter().chain(words).collect();
                json!({ "type": "local", "command": command, "enabled": true })
            }
        }
    }

    /// Its name in the arguments.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn next_step(self) -> &'static str {
        match self {
            Self::Claude => "start claude in this folder, and allow the server callstack",
            Self::Codex => "start codex; /mcp lists the server callstack",
            Self::Cursor => "open the folder in Cursor; Settings > MCP lists the server callstack",
            Self::Vscode => "open the folder, and start the server callstack above its entry in .vscode/mcp.json",
            Self::Zed => "open the folder in Zed; the settings of the agent panel list the server callstack",
            Self::Opencode => "start opencode in this folder",
            Self::Gemini => "start gemini in this folder, and trust the folder; /mcp lists the server callstack",
            Self::Qwen => "start qwen in this folder, and trust the folder; /mcp lists the server callstack",
            Self::Copilot => {
                "start copilot in this folder, with --allow-tool=callstack, and trust the folder; /mcp shows the server callstack"
            }
            Self::Windsurf => {
                "refresh the servers of Cascade in Windsurf; they use the stack of this folder, whatever is open"
            }
        }
    }
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Initialized, Failure> {
    let Arguments { host, undo, print, force, allow } = *arguments;
    if allow && !host.can_allow() {
        let message = format!("the settings of {} have no permission for tools that could be written", host.name());
        return Err(Failure::new(Exit::Refused, "no_permission", message).next(host.next_step()));
    }
    if !undo && !print && !force && plugin::is_installed(host) {
        let message = format!("the package callstack of {} is installed: either that or init, never both", host.name());
        return Err(Failure::new(Exit::Refused, "has_plugin", message).next("keep the package, or remove it first"));
    }
    let (path, plain) = (host.path()?, host.entry(&program(), folder.named_without_password()?.as_deref()));
    let is_allowed = allow || (!undo && !print && permission::asks(host));
    let mut entry = plain.clone();
    if let Some((key, value)) = host.permission().filter(|_| is_allowed) {
        entry[key] = value;
    }
    let word = host.allowed().filter(|_| is_allowed || undo);
    let shown = shown(host, &entry, word.as_ref());
    let reported = |done| Initialized { host, path: path.display().to_string(), done, entry: shown.clone() };
    if print {
        return Ok(reported(Done::Printed));
    }
    let advised = |failure: Failure| {
        failure.next(format!("correct it, or add the entry by hand: callstack init {} --print", host.name()))
    };
    let mut files = vec![Opened::read(host, &path, host.is_of_person()).map_err(advised)?];
    let (found, settings) = (files[0].settings.find(host.section()).map_err(advised)?, &mut files[0].settings);
    // What a person was asked stays as it was answered, until somebody says it again.
    let is_own = |found: &Value| without_permission(host, found) == plain;
    let is_same = |found: &Value| *found == entry || (!allow && is_own(found));
    match (found, undo) {
        (None, true) => {}
        (Some(found), false) if is_same(&found) => {}
        (Some(found), _) if !is_own(&found) && !force => {
            let message = format!("{} has another entry callstack: {found}", path.display());
            let (host, undo) = (host.name(), if undo { " --undo" } else { "" });
            let done = if undo.is_empty() { "replace it" } else { "remove it all the same" };
            return Err(Failure::new(Exit::Refused, "other_entry", message)
                .next(format!("change it by hand, or {done}: callstack init {host}{undo} --force")));
        }
        (_, true) => settings.remove(host.section()).map_err(advised)?,
        _ => settings.put(host.section(), &entry).map_err(advised)?,
    }
    if let Some((keys, word)) = host.listed() {
        settings.list(keys, &word, !undo).map_err(advised)?;
    }
    if let Some(word) = word {
        let mut other = Opened::read(host, &word.path, false).map_err(advised)?;
        other.settings.list(word.keys, &word.word, !undo).map_err(advised)?;
        files.push(other);
    }
    // All of them were read and changed before the first one is written.
    let mut is_changed = false;
    for file in files.iter().filter(|file| file.is_changed()) {
        file.write(undo)?;
        is_changed = true;
    }
    Ok(reported(match (is_changed, undo) {
        (false, _) => Done::Unchanged,
        (true, true) => Done::Removed,
        (true, false) => Done::Written,
    }))
}

/// A file with settings that is being changed.
struct Opened {
    path: PathBuf,
    file: SettingsFile,
    settings: Box<dyn Settings>,
    before: String,
}

impl Opened {
    fn read(host: Host, path: &Path, is_of_person: bool) -> Result<Self, Failure> {
        let file = SettingsFile::read(path, is_of_person)?;
        let settings: Box<dyn Settings> = match host {
            Host::Codex => Box::new(Toml::parse(file.text(), path)?),
            _ => Box::new(Json::parse(file.text(), path)?),
        };
        let before = settings.text();
        Ok(Self { path: path.to_owned(), file, settings, before })
    }

    fn is_changed(&self) -> bool {
        self.settings.text() != self.before
    }

    fn write(&self, undo: bool) -> Result<(), Failure> {
        // A link leads to settings that others share: the file stays.
        match undo && self.settings.is_empty() && !self.path.is_symlink() {
            true => {
                fs::remove_file(&self.path).map_err(|error| Failure::of_file("remove", self.path.display(), &error))
            }
            false => self.file.write(&self.settings.text()),
        }
    }
}

/// The entry without the key by which the tools are called without a question.
fn without_permission(host: Host, entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let (Some((key, _)), Some(entry)) = (host.permission(), entry.as_object_mut()) {
        entry.shift_remove(key);
    }
    entry
}

/// What is written, in the language of the files.
fn shown(host: Host, entry: &Value, word: Option<&Word>) -> String {
    let mut shown = match host {
        Host::Codex => Toml::shown(host.section(), entry),
        _ => Json::shown(host.section(), entry),
    };
    if let Some((keys, word)) = host.listed()
        && let Some((last, above)) = keys.split_last()
    {
        shown.push_str(&format!("\n[{}]\n{last} = [\"{word}\"]\n", above.join(".")));
    }
    if let Some(Word { path, keys, word }) = word {
        let list = keys.iter().rev().fold(json!([word]), |inner, key| json!({ *key: inner }));
        shown.push_str(&format!("{}:\n{list:#}\n", path.display()));
    }
    shown
}

/// The program as a host finds it: by its name if that leads here, else by its path.
fn program() -> String {
    let Ok(here) = env::current_exe().and_then(fs::canonicalize) else { return SERVER.to_owned() };
    let names = env::var_os("PATH").map(|paths| env::split_paths(&paths).collect::<Vec<_>>()).unwrap_or_default();
    let name = format!("{SERVER}{}", env::consts::EXE_SUFFIX);
    let first = names.iter().map(|folder| folder.join(&name)).find(|path| path.is_file());
    match first.and_then(|path| fs::canonicalize(path).ok()) {
        Some(found) if found == here => SERVER.to_owned(),
        _ => here.to_string_lossy().into_owned(),
    }
}

fn codex_home() -> Result<PathBuf, Failure> {
    match env::var_os("CODEX_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => home("the settings of Codex")
            .map(|home| home.join(".codex"))
            .map_err(|failure| failure.next("name their folder: CODEX_HOME=FOLDER callstack init codex")),
    }
}

/// The home folder, with something in it.
fn home(with: &str) -> Result<PathBuf, Failure> {
    let missing = || Failure::new(Exit::Failed, "io", format!("there is no home folder with {with}"));
    env::home_dir().filter(|home| !home.as_os_str().is_empty()).ok_or_else(missing)
}
