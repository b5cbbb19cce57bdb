//! `callstack init`: tells a host of agents how to start `callstack mcp`, in the settings of the project, and takes it back.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, Table};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, write_file};

/// The name of the server in the settings of every host.
const SERVER: &str = "callstack";
/// The byte order mark.
const MARK: &str = "\u{feff}";

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
    /// Replace an entry of the same name that somebody has changed.
    #[arg(long)]
    force: bool,
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
        })
    }

    /// The key of the object with the servers.
    fn section(self) -> &'static str {
        match self {
            Self::Claude | Self::Cursor => "mcpServers",
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
        let is_elsewhere = matches!(self, Self::Cursor | Self::Vscode);
        let stack = stack.or(is_elsewhere.then_some("${workspaceFolder}/.callstack"));
        let words = ["mcp"].into_iter().chain(stack.into_iter().flat_map(|stack| ["--stack", stack]));
        let words: Vec<&str> = words.collect();
        match self {
            Self::Claude | Self::Codex | Self::Cursor => json!({ "command": program, "args": words }),
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
        }
    }
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Initialized, Failure> {
    let Arguments { host, undo, print, force } = *arguments;
    let (path, entry) = (host.path()?, host.entry(&program(), folder.named_without_password()?.as_deref()));
    let shown = match host {
        Host::Codex => Toml::shown(host.section(), &entry),
        _ => Json::shown(host.section(), &entry),
    };
    let reported = |done| Initialized { host, path: path.display().to_string(), done, entry: shown.clone() };
    if print {
        return Ok(reported(Done::Printed));
    }
    let advised = |failure: Failure| {
        failure.next(format!("correct it, or add the entry by hand: callstack init {} --print", host.name()))
    };
    let before = read(&path)?;
    let marked = Marked::of(&before);
    let settings: Box<dyn Settings> = match host {
        Host::Codex => Box::new(Toml::parse(marked.text, &path).map_err(advised)?),
        _ => Box::new(Json::parse(marked.text, &path).map_err(advised)?),
    };
    let found = settings.find(host.section()).map_err(advised)?;
    match (found, undo) {
        (None, true) => return Ok(reported(Done::Unchanged)),
        (Some(found), false) if found == entry => return Ok(reported(Done::Unchanged)),
        (Some(found), _) if found != entry && !force => {
            let message = format!("{} has another entry callstack: {found}", path.display());
            let (host, undo) = (host.name(), if undo { " --undo" } else { "" });
            let done = if undo.is_empty() { "replace it" } else { "remove it all the same" };
            return Err(Failure::new(Exit::Refused, "other_entry", message)
                .next(format!("change it by hand, or {done}: callstack init {host}{undo} --force")));
        }
        (_, true) => settings.remove(host.section())?,
        _ => settings.put(host.section(), &entry)?,
    }
    let text = marked.again(&settings.text());
    // A link leads to settings that others share: the file stays.
    match undo && settings.is_empty() && !path.is_symlink() {
        true => fs::remove_file(&path).map_err(|error| Failure::of_file("remove", path.display(), &error))?,
        false => write(&path, &text)?,
    }
    Ok(reported(if undo { Done::Removed } else { Done::Written }))
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
    let named = |name: &str| env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named("CODEX_HOME").or_else(|| env::home_dir().map(|home| home.join(".codex"))).ok_or_else(|| {
        Failure::new(Exit::Failed, "io", "there is no home folder with the settings of Codex")
            .next("name their folder: CODEX_HOME=FOLDER callstack init codex")
    })
}

/// A text with what editors of other systems put into files: a mark at the beginning, and two characters at the end of a line.
struct Marked<'a> {
    text: &'a str,
    has_mark: bool,
    has_long_ends: bool,
}

impl<'a> Marked<'a> {
    fn of(text: &'a str) -> Self {
        let (has_mark, text) = text.strip_prefix(MARK).map_or((false, text), |rest| (true, rest));
        Self { text, has_mark, has_long_ends: text.contains("\r\n") }
    }

    /// Another text with the same marks.
    fn again(&self, text: &str) -> String {
        let mark = if self.has_mark { MARK } else { "" };
        match self.has_long_ends {
            true => format!("{mark}{}", text.replace("\r\n", "\n").replace('\n', "\r\n")),
            false => format!("{mark}{text}"),
        }
    }
}

/// The text of a file; empty if it is missing.
fn read(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|error| Failure::of_file("read", path.display(), &error)),
    }
}

/// Writes the settings, and makes their folder if it is missing.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::of_file("write", path.display(), &error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    write_file(path, true, |writer| writer.write_all(text.as_bytes()).map_err(failed)).map(drop)
}

/// The settings of a host. What is not changed keeps every character, comments included.
trait Settings {
    /// The entry of the server.
    fn find(&self, section: &str) -> Result<Option<Value>, Failure>;
    fn put(&self, section: &str, entry: &Value) -> Result<(), Failure>;
    /// Removes the entry, and the section if nothing else is in it.
    fn remove(&self, section: &str) -> Result<(), Failure>;
    /// True if there are no settings.
    fn is_empty(&self) -> bool;
    fn text(&self) -> String;
}

/// Settings in JSON, with the comments and the commas that some hosts allow.
struct Json {
    root: CstRootNode,
    path: PathBuf,
}

impl Json {
    /// The entry alone, as the file has it.
    fn shown(section: &str, entry: &Value) -> String {
        format!("{:#}\n", json!({ section: { SERVER: entry } }))
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let text = if text.trim().is_empty() { "{\n}\n" } else { text };
        let root =
            CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| unreadable(path, &error.to_string()))?;
        let settings = Self { root, path: path.to_owned() };
        settings.object()?;
        Ok(settings)
    }

    fn object(&self) -> Result<CstObject, Failure> {
        self.root.object_value().ok_or_else(|| unreadable(&self.path, "it is no object"))
    }

    fn section(&self, section: &str) -> Result<Option<CstObject>, Failure> {
        let Some(property) = self.object()?.get(section) else { return Ok(None) };
        let no_object = || unreadable(&self.path, &format!("{section} is no object"));
        property.object_value().map(Some).ok_or_else(no_object)
    }
}

impl Settings for Json {
    fn find(&self, section: &str) -> Result<Option<Value>, Failure> {
        let found = self.section(section)?.and_then(|section| section.get(SERVER));
        Ok(found.and_then(|property| property.value()).and_then(|value| value.to_serde_value()))
    }

    fn put(&self, section: &str, entry: &Value) -> Result<(), Failure> {
        let section = match self.section(section)? {
            Some(found) => found,
            None => self.object()?.object_value_or_set(section),
        };
        match section.get(SERVER) {
            Some(property) => property.set_value(input(entry)),
            None => drop(section.append(SERVER, input(entry))),
        }
        section.ensure_multiline();
        Ok(())
    }

    fn remove(&self, section: &str) -> Result<(), Failure> {
        let Some(found) = self.section(section)? else { return Ok(()) };
        if let Some(property) = found.get(SERVER) {
            property.remove();
        }
        if found.properties().is_empty()
            && let Some(property) = self.object()?.get(section)
        {
            property.remove();
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        let text = self.text();
        let has_comments = text.contains("//") || text.contains("/*");
        self.root.object_value().is_some_and(|object| object.properties().is_empty()) && !has_comments
    }

    fn text(&self) -> String {
        self.root.to_string()
    }
}

/// A value as the parser takes it.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(values) => {
            CstInputValue::Object(values.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// Settings in TOML.
struct Toml {
    document: std::cell::RefCell<DocumentMut>,
    path: PathBuf,
}

impl Toml {
    /// The entry alone, as the file has it.
    fn shown(section: &str, entry: &Value) -> String {
        format!("[{section}.{SERVER}]\n{}", table(entry))
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let document: DocumentMut = text.parse().map_err(|error| unreadable(path, &format!("{error}")))?;
        Ok(Self { document: document.into(), path: path.to_owned() })
    }
}

impl Settings for Toml {
    fn find(&self, section: &str) -> Result<Option<Value>, Failure> {
        let document = self.document.borrow();
        let Some(section) = document.get(section) else { return Ok(None) };
        let section = section
            .as_table_like()
            .ok_or_else(|| unreadable(&self.path, &format!("{} is no table", section.type_name())))?;
        Ok(section.get(SERVER).map(value_of))
    }

    fn put(&self, section: &str, entry: &Value) -> Result<(), Failure> {
        let mut document = self.document.borrow_mut();
        let section = document.entry(section).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let no_table = || unreadable(&self.path, "mcp_servers is no table");
        section.as_table_like_mut().ok_or_else(no_table)?.insert(SERVER, Item::Table(table(entry)));
        Ok(())
    }

    fn remove(&self, section: &str) -> Result<(), Failure> {
        let mut document = self.document.borrow_mut();
        let Some(found) = document.get_mut(section).and_then(Item::as_table_like_mut) else { return Ok(()) };
        found.remove(SERVER);
        if found.is_empty() {
            document.remove(section);
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.document.borrow().to_string().trim().is_empty()
    }

    fn text(&self) -> String {
        self.document.borrow().to_string()
    }
}

/// A table of texts and lists of texts.
fn table(entry: &Value) -> Table {
    let mut table = Table::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        let value = match value {
            Value::Array(values) => toml_edit::Value::from_iter(values.iter().filter_map(Value::as_str)),
            other => toml_edit::Value::from(other.as_str().unwrap_or_default()),
        };
        table.insert(key, Item::Value(value));
    }
    table
}

/// A part of a document as JSON.
fn value_of(item: &Item) -> Value {
    let of_value = |value: &toml_edit::Value| match value {
        toml_edit::Value::String(text) => json!(text.value()),
        toml_edit::Value::Array(values) => values.iter().map(|value| json!(value.as_str())).collect(),
        other => json!(other.to_string().trim()),
    };
    match item {
        Item::Value(value) => value.as_inline_table().map_or_else(
            || of_value(value),
            |table| Value::Object(table.iter().map(|(key, value)| (key.to_owned(), of_value(value))).collect()),
        ),
        Item::Table(table) => {
            Value::Object(table.iter().map(|(key, item)| (key.to_owned(), value_of(item))).collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Refused, "settings", format!("{} cannot be read: {why}", path.display()))
}
