//! `callstack init`: tells a host of agents how to start `callstack mcp`, in the settings of the project, and
//! takes this entry back.

mod file;
mod made;
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
use self::made::Made;
use self::permission::Word;
use self::settings::{Json, SERVER, Settings, Toml};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::host_files::HostFiles;
use crate::output::{Line, Page, Report, note};
use crate::repository::in_main_checkout;

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
    /// Replace an entry of the same name that a person or a program has changed, or write an entry although a
    /// package is installed.
    #[arg(long)]
    force: bool,
    /// Let agents call the tools without a question: the tools change nothing but the stack. Gemini CLI and
    /// Qwen Code have this setting for a server as a whole (`trust`), no matter what the server offers.
    /// Default: a terminal asks.
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
    /// The entry, in the language of the file, without the mark that records what else `init` has made.
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
    /// The file with the settings: the file of the project, in the working folder. If the host has no such
    /// file, it is the file of the person.
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
            Self::Codex => of_person(HostFiles::Codex)?.join("config.toml"),
            Self::Gemini => ".gemini/settings.json".into(),
            Self::Qwen => ".qwen/settings.json".into(),
            Self::Copilot => ".github/mcp.json".into(),
            Self::Windsurf => of_person(HostFiles::Windsurf)?.join("mcp_config.json"),
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
        // These hosts do not promise in which folder they start a server. The server looks for the stack from
        // that folder upwards, as commands do.
        let folder = match self {
            Self::Cursor | Self::Vscode => Some("${workspaceFolder}".to_owned()),
            // Its settings have no word for the folder of a project, and worktrees are made and removed
            // again.
            Self::Windsurf => env::current_dir().ok().map(|here| {
                let main = in_main_checkout(&here).map(|twin| twin.main);
                main.unwrap_or(here).to_string_lossy().into_owned()
            }),
            _ => None,
        };
        let named = match (stack, &folder) {
            (Some(stack), _) => vec!["--stack", stack],
            (None, Some(folder)) => vec!["--folder", folder],
            (None, None) => Vec::new(),
        };
        let words: Vec<&str> = ["mcp"].into_iter().chain(named).collect();
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
                "refresh the servers of Cascade in Windsurf; they use the stack of this project, whatever is open"
            }
        }
    }
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Initialized, Failure> {
    let Arguments { host, undo, print, force, allow } = *arguments;
    if allow && !host.can_allow() {
        note(&format!("the settings of {} have no permission for tools that could be written", host.name()));
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
    let mut main = Opened::read(host, &path, host.is_of_person()).map_err(advised)?;
    let keys = [host.section(), SERVER];
    let found = main.settings.find(keys).map_err(advised)?;
    // The answer of a person to the question stays, until a person answers it again.
    let is_own = |found: &Value| without_additions(host, found, &plain) == plain;
    if let Some(found) = found.as_ref().filter(|found| !is_own(found) && !force) {
        let message = format!("{} has another entry callstack: {found}", path.display());
        let (host, undo) = (host.name(), if undo { " --undo" } else { "" });
        let done = if undo.is_empty() { "replace it" } else { "remove it anyway" };
        return Err(Failure::new(Exit::Refused, "other_entry", message)
            .next(format!("change it by hand, or {done}: callstack init {host}{undo} --force")));
    }
    if !allow && let Some(found) = found.as_ref().filter(|found| is_own(found)) {
        entry = host.without_mark(found.clone(), plain.get("env").is_some());
    }
    match undo {
        true => main.take_back(host, found.as_ref()).map_err(advised)?,
        false => main.put(host, entry, found.as_ref()).map_err(advised)?,
    }
    let mut files = vec![main];
    if let Some(Word { path, keys, word }) = word {
        let mut other = Opened::read(host, &path, false).map_err(advised)?;
        match undo {
            true => other.take_back_word(keys, &word).map_err(advised)?,
            false => other.put_word(keys, &word).map_err(advised)?,
        }
        files.push(other);
    }
    // All files were read and changed before the first one is written.
    let mut is_changed = false;
    for file in files.iter().filter(|file| file.is_changed()) {
        file.write()?;
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
    /// True if `init` has made the file: the file is removed if nothing is left in it.
    is_made: bool,
}

/// True for a folder of settings, such as `.claude`.
fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

impl Opened {
    fn read(host: Host, path: &Path, is_of_person: bool) -> Result<Self, Failure> {
        let file = SettingsFile::read(path, is_of_person)?;
        let settings: Box<dyn Settings> = match host {
            Host::Codex => Box::new(Toml::parse(file.text(), path)?),
            _ => Box::new(Json::parse(file.text(), path)?),
        };
        let before = settings.text();
        Ok(Self { path: path.to_owned(), file, settings, before, is_made: false })
    }

    /// Puts the entry, with what belongs to it in the same file, and a mark of what was not there before.
    fn put(&mut self, host: Host, entry: Value, found: Option<&Value>) -> Result<(), Failure> {
        let mut made = host.made(found);
        self.note_file(&mut made);
        let settings = &mut *self.settings;
        made.add_keys(settings, &[host.section()]);
        if let Some((keys, word)) = host.listed() {
            made.put_word(settings, keys, &word)?;
        }
        let entry = host.with_mark(entry, &made);
        match found == Some(&entry) {
            true => Ok(()),
            false => settings.put([host.section(), SERVER], &entry),
        }
    }

    /// Takes the entry back, and what its mark names.
    fn take_back(&mut self, host: Host, found: Option<&Value>) -> Result<(), Failure> {
        let (made, settings) = (host.made(found), &mut *self.settings);
        if found.is_some() {
            settings.remove([host.section(), SERVER])?;
        }
        made.remove_bare(settings, &[host.section()])?;
        if let Some((keys, word)) = host.listed() {
            made.remove_word(settings, keys, &word)?;
        }
        self.is_made = made.has_file();
        Ok(())
    }

    /// Puts a word into a list of settings without an entry. The variables of these settings have the mark.
    fn put_word(&mut self, keys: &[&str], word: &str) -> Result<(), Failure> {
        let mut made = self.made()?;
        self.note_file(&mut made);
        let settings = &mut *self.settings;
        made.put_word(settings, keys, word)?;
        if settings.text() == self.before {
            return Ok(());
        }
        made.add_keys(settings, &made::PLACE[..1]);
        made.mark().map_or(Ok(()), |mark| settings.put(made::PLACE, &mark))
    }

    /// Takes a word back, as the mark says.
    fn take_back_word(&mut self, keys: &[&str], word: &str) -> Result<(), Failure> {
        let made = self.made()?;
        let settings = &mut *self.settings;
        made.remove_word(settings, keys, word)?;
        settings.remove(made::PLACE)?;
        made.remove_bare(settings, &made::PLACE[..1])?;
        self.is_made = made.has_file();
        Ok(())
    }

    /// What the mark says in settings without an entry.
    fn made(&self) -> Result<Made, Failure> {
        Ok(Made::of_mark(self.settings.find(made::PLACE)?.as_ref()))
    }

    fn note_file(&self, made: &mut Made) {
        if self.file.is_new() {
            made.add_file();
        }
    }

    fn is_changed(&self) -> bool {
        self.settings.text() != self.before
    }

    fn write(&self) -> Result<(), Failure> {
        // A link leads to settings that others share: the file stays.
        match self.is_made && self.settings.is_empty() && !self.path.is_symlink() {
            true => {
                fs::remove_file(&self.path).map_err(|error| Failure::of_file("remove", self.path.display(), &error))?;
                // The folder of the file, if nothing else is in it.
                let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let _ = folder.filter(|folder| is_hidden(folder)).map(fs::remove_dir);
                Ok(())
            }
            false => self.file.write(&self.settings.text()),
        }
    }
}

/// The entry without its mark, and without the key by which the tools are called without a question, to be
/// compared with a plain entry.
fn without_additions(host: Host, entry: &Value, plain: &Value) -> Value {
    let mut entry = host.without_mark(entry.clone(), plain.get("env").is_some());
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

/// The folder with the person's settings of a host.
fn of_person(host: HostFiles) -> Result<PathBuf, Failure> {
    host.folder().ok_or_else(|| {
        let failure = Failure::new(Exit::Failed, "io", "there is no home folder with the settings of the host");
        match host.variable() {
            Some(variable) => failure.next(format!("name the folder of the settings with the variable {variable}")),
            None => failure,
        }
    })
}
