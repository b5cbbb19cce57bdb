//! `callstack hook`: what the plugins of Claude Code and other hosts run at the events of a session. A hook
//! reads the event from the standard input, and writes to the standard output what the host is to do. A hook
//! never fails the session: without a stack it does nothing, and an error is only reported.

mod host;
mod status_line;
mod transcript;

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use callstack_core::context::{Budget, Guidance};
use callstack_core::session::{changes_of_command, folder_after};
use callstack_core::text::{decoded, from_json};
use callstack_core::tools::conversation::{self, Conversation, SubagentReports};
use callstack_core::{Command, Error, HostSettings, Settings};
use clap::{Args, ValueEnum};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

pub use self::host::HookHost;
#[cfg(feature = "proxy")]
pub use self::host::WORKER_AGENT;
pub use self::status_line::run as run_status_line;
pub use self::transcript::WATCHED;
use crate::caller::{self, ARGUMENT, Caller};
use crate::clock::now;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::note;

/// The budget of the contexts that hooks add, in tokens and bytes. Claude Code puts longer texts into a file.
const TOKENS: usize = 2_400;
const BYTES: usize = 9_000;
/// The budget of what each subagent is told that works without a frame that was handed over, in tokens.
const AGENT_TOKENS: usize = 1_200;
/// The longest event that is read, in bytes: tools may write large files.
const LONGEST_EVENT: u64 = 64 << 20;

#[derive(Args)]
pub struct HookArguments {
    /// The event.
    #[arg(value_enum)]
    event: HookEvent,
    /// The host whose hook it is.
    #[arg(long, value_enum, default_value = "claude", value_name = "HOST")]
    host: HookHost,
    /// The hook is one of `callstack run`. Then the hooks of an installed plugin do nothing.
    #[arg(long, hide = true)]
    of_run: bool,
}

/// The variable that `callstack run` sets for an agent that gets its hooks for the run.
pub const OF_RUN: &str = "CALLSTACK_RUN";

/// What the person is told about a project that has the server of the plugin and also a server of its own.
const TWICE: &str = "callstack is set up twice, so that its tools are there twice: by the plugin, and by .mcp.json of this project. \
                     Keep one of them: `callstack init claude --undo` takes the entry back.";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HookEvent {
    /// A session begins, resumes, or was compacted: adds the context of its frame.
    SessionStart,
    /// The person has written: adds what is new for the frame.
    UserPromptSubmit,
    /// A tool is about to be called: says which conversation calls the tools of callstack.
    PreToolUse,
    /// A tool was called: records the file that it has written, or names the frame of the subagent that it
    /// has started.
    PostToolUse,
    /// A call of a tool has failed: fails the frame of the subagent that it has started.
    PostToolUseFailure,
    /// A subagent begins: makes its frame.
    SubagentStart,
    /// A subagent ends: finishes its frame with its answer.
    SubagentStop,
    /// The requests of a subagent have failed for good: fails its frame.
    StopFailure,
    /// The session is about to be compacted: says what the summary must keep.
    PreCompact,
    /// The session was compacted: the summary becomes the results so far of its frame.
    PostCompact,
    /// The agent ends its turn: reminds it once of its open frame.
    Stop,
    /// The session ends: reads the rest of its transcript, and frees its frames for others.
    SessionEnd,
}

/// An event of a host. If a field that does not say which agent acts has another type, the event is handled
/// even so.
#[derive(Deserialize)]
pub struct Event {
    session_id: String,
    #[serde(default, deserialize_with = "fitting")]
    transcript_path: String,
    /// The subagent in which it happens.
    #[serde(default)]
    agent_id: String,
    #[serde(default, deserialize_with = "fitting")]
    agent_type: String,
    #[serde(default, deserialize_with = "fitting")]
    cwd: String,
    #[serde(default, deserialize_with = "fitting")]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    tool_response: Value,
    #[serde(default, deserialize_with = "fitting")]
    agent_transcript_path: String,
    #[serde(default, deserialize_with = "words")]
    last_assistant_message: String,
    #[serde(default, deserialize_with = "words")]
    compact_summary: String,
    #[serde(default, deserialize_with = "words")]
    error: String,
    #[serde(default, deserialize_with = "fitting")]
    stop_hook_active: bool,
    #[serde(default, deserialize_with = "fitting")]
    background_tasks: Vec<Value>,
}

impl Event {
    /// True if a tool is called that starts a subagent.
    fn starts_agent(&self) -> bool {
        matches!(&*self.tool_name, "Agent" | "Task")
    }

    /// The path of a file, relative to the project if the file is in it. The working folder changes within a
    /// session.
    fn in_project(&self, folder: &str, path: &str) -> String {
        let project = env::var("CLAUDE_PROJECT_DIR").ok().filter(|project| !project.is_empty());
        let project = project.as_deref().unwrap_or(&self.cwd);
        let mut whole = PathBuf::new();
        for part in Path::new(folder).join(path).components() {
            match part {
                Component::ParentDir => drop(whole.pop()),
                Component::CurDir => {}
                other => whole.push(other),
            }
        }
        whole.strip_prefix(project).unwrap_or(&whole).to_string_lossy().into_owned()
    }

    /// The prompt with which a subagent was started: the first words in its transcript. Empty if they cannot
    /// be read.
    fn prompt_of_agent(&self) -> String {
        // Reading a pipe would wait.
        let is_file = Path::new(&self.agent_transcript_path).is_file();
        let Some(file) = is_file.then(|| File::open(&self.agent_transcript_path).ok()).flatten() else {
            return String::new();
        };
        let lines = BufReader::new(file.take(LONGEST_EVENT)).lines().map_while(io::Result::ok);
        let mut entries = lines.filter_map(|line| from_json::<Value>(&line).ok());
        let content = entries
            .find_map(|mut entry| (entry["message"]["role"] == "user").then(|| entry["message"]["content"].take()));
        match content {
            Some(content) => text_of(content),
            None => String::new(),
        }
    }
}

/// A value of a field, or the default if it has another type.
fn fitting<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(field: D) -> Result<T, D::Error> {
    let value = Value::deserialize(field)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The text of a field. The host writes it as a text, or as a list of blocks.
fn words<'de, D: Deserializer<'de>>(field: D) -> Result<String, D::Error> {
    Value::deserialize(field).map(text_of)
}

fn text_of(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// Runs a hook.
pub fn run(arguments: &HookArguments, folder: &StackFolder) -> Result<Exit, Failure> {
    if env::var_os(OF_RUN).is_some() && !arguments.of_run {
        return Ok(Exit::Done);
    }
    let is_packaged = arguments.host == HookHost::Claude && !arguments.of_run;
    match answer(arguments.host, arguments.event, folder) {
        Ok(answer) if is_packaged && arguments.event == HookEvent::SessionStart && has_entry() => {
            let mut answer = answer.unwrap_or_else(|| json!({}));
            answer["systemMessage"] = TWICE.into();
            println!("{answer}");
        }
        Ok(Some(answer)) => println!("{answer}"),
        Ok(None) => {}
        // Another exit code would stop tools, or be shown as a failure of the session.
        Err(problem) => note(&format!("callstack hook: {problem}")),
    }
    Ok(Exit::Done)
}

/// True if `callstack init` has given the project the tools as well. Other hosts know both by the same name,
/// and use one of them.
fn has_entry() -> bool {
    // Reading a pipe would wait.
    let is_file = Path::new(".mcp.json").is_file();
    let text = if is_file { std::fs::read_to_string(".mcp.json").unwrap_or_default() } else { String::new() };
    from_json::<Value>(&text).is_ok_and(|settings| settings["mcpServers"]["callstack"].is_object())
}

fn answer(host: HookHost, kind: HookEvent, folder: &StackFolder) -> Result<Option<Value>, String> {
    let mut bytes = Vec::new();
    io::stdin().take(LONGEST_EVENT).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    // A shell of Windows can pass it on in UTF-16.
    let text = decoded(bytes).map_err(|error| error.to_string())?;
    let unreadable = |error: serde_json::Error| format!("the event cannot be read: {error}");
    let mut event: Map<String, Value> = from_json(&text).map_err(unreadable)?;
    event.retain(|_, value| !value.is_null());
    let event: Event = serde_json::from_value(Value::Object(event)).map_err(unreadable)?;
    let Some(caller) = host.caller(&event.session_id, &event.agent_id) else { return Ok(None) };
    // The most frequent hook needs no stack. In a run the server knows the conversation.
    if host != HookHost::Claude && kind == HookEvent::PreToolUse && env::var_os(transcript::WATCHED).is_some() {
        return Ok(None);
    }
    if matches!(kind, HookEvent::PreToolUse) && !event.starts_agent() {
        return Ok(event
            .tool_input
            .is_object()
            .then(|| host.updated(with(&event.tool_input, ARGUMENT, caller.as_str().into()))));
    }
    if !folder.has_stack() {
        return Ok(None);
    }
    let stack = folder.open_to_write().map_err(|failure| failure.for_agents())?;
    let stack = caller::as_conversation(&stack, Some(&caller));
    if stack.read(|tree| stack.actor().is_some_and(|actor| !tree.due_renewals(actor, now()).is_empty())) == Ok(true) {
        stack.execute(Command::RenewAll).map_err(|error| error.to_string())?;
    }
    let budget = budget(kind);
    let settings = Settings::default().budget(budget).guidance(Guidance::None).tools(conversation::names(&[]));
    let conversation = Conversation::new(&stack, &settings).reporting(SubagentReports::All { worker: None });
    let answer = answer_to(host, kind, &event, &conversation).map_err(|error| error.to_string());
    // At this point the frame of a subagent is known. A failure here takes nothing from the answer.
    if let Err(problem) = transcript::read(host, kind, &event, &conversation) {
        note(&format!("callstack hook: {problem}"));
    }
    if kind == HookEvent::SessionStart
        && let Err(problem) = transcript::read_others(host, &event, &stack)
    {
        note(&format!("callstack hook: {problem}"));
    }
    if kind == HookEvent::SessionEnd && event.agent_id.is_empty() {
        // Other holders can continue its frames at once.
        conversation.ended().map_err(|error| error.to_string())?;
    }
    answer
}

/// The budget of the context that a hook adds. The person can set it by the variables of all contexts.
fn budget(kind: HookEvent) -> Budget {
    let budget = HostSettings::from_environment("{}").0.context.budget;
    let is_set = env::var_os("STACK_TOKEN_BUDGET_TOTAL").is_some_and(|value| !value.is_empty());
    match kind {
        // A prompt has as much room as the answer of a tool.
        HookEvent::PreToolUse => budget,
        HookEvent::SubagentStart => {
            let total = budget.total.min(AGENT_TOKENS);
            budget.total(total).bytes(Some(BYTES))
        }
        _ if is_set => budget.bytes(Some(BYTES)),
        _ => budget.total(TOKENS).bytes(Some(BYTES)),
    }
}

/// The input of a tool with another value of a key: with the conversation that calls the tool, because the
/// host itself names only the call, or with the prompt of a subagent.
fn with(input: &Value, key: &str, value: String) -> Value {
    let mut input = input.clone();
    input[key] = value.into();
    input
}

/// What a conversation is told at an event, and what is recorded about it.
fn answer_to(
    host: HookHost,
    kind: HookEvent,
    event: &Event,
    conversation: &Conversation<'_>,
) -> Result<Option<Value>, Error> {
    let answer = match kind {
        HookEvent::SessionStart => conversation.begun()?.map(|text| host.added(kind, &text)),
        HookEvent::UserPromptSubmit => {
            let keeps_texts = host.event(HookEvent::PreCompact).is_some();
            conversation.prompted(keeps_texts)?.map(|text| host.added(kind, &text))
        }
        HookEvent::PreToolUse => {
            let prompted = event.tool_input.get("prompt").and_then(Value::as_str);
            let has_tools = !host::is_worker(&event.tool_input);
            let prompt = prompted.and_then(|prompt| conversation.agent_prompted(prompt, has_tools));
            prompt.map(|prompt| host.updated(with(&event.tool_input, "prompt", prompt)))
        }
        HookEvent::PostToolUse => {
            called(event, conversation)?;
            None
        }
        HookEvent::SubagentStart => {
            let title = if event.agent_type.is_empty() { "subagent" } else { &event.agent_type };
            let made = conversation.agent_begun(title)?;
            // A frame for whose context there is no room was made even so.
            made.and_then(|frame| conversation.agent_context(frame).ok()).map(|text| host.added(kind, &text))
        }
        HookEvent::SubagentStop => {
            conversation.agent_ended(&event.prompt_of_agent(), &event.last_assistant_message)?;
            None
        }
        HookEvent::StopFailure => {
            if !event.agent_id.is_empty() {
                conversation.agent_failed("", &event.last_assistant_message)?;
            }
            None
        }
        HookEvent::PostToolUseFailure => {
            if event.starts_agent() {
                let prompt = event.tool_input.get("prompt").and_then(Value::as_str).unwrap_or_default();
                conversation.agent_failed(prompt, &event.error)?;
            }
            None
        }
        HookEvent::PreCompact => conversation.compacting().map(|text| json!({ "systemMessage": text })),
        HookEvent::PostCompact => {
            conversation.compacted(&event.compact_summary)?;
            None
        }
        HookEvent::SessionEnd => None,
        HookEvent::Stop if event.stop_hook_active || !event.background_tasks.is_empty() => None,
        HookEvent::Stop => conversation.stopping().map(|text| json!({ "decision": "block", "reason": text })),
    };
    Ok(answer)
}

/// Records what a call of a tool has done.
fn called(event: &Event, conversation: &Conversation<'_>) -> Result<(), Error> {
    let text = |value: &'_ Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let input = &event.tool_input;
    match &*event.tool_name {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            let path = ["file_path", "notebook_path"].into_iter().find_map(|key| input.get(key)?.as_str());
            path.map_or(Ok(()), |path| conversation.wrote(vec![event.in_project(&event.cwd, path)]))
        }
        "Bash" => {
            let command = text(input, "command");
            // The host names the folder in which its shell is after the command.
            let Some(folder) = folder_after(&command).filter(|folder| !Path::new(folder).is_absolute()) else {
                return Ok(());
            };
            let above = event.cwd.strip_suffix(&*folder).and_then(|above| above.strip_suffix(['/', '\\']));
            let begun = above.filter(|_| !folder.is_empty()).unwrap_or(&event.cwd);
            let changes = changes_of_command(&command);
            let changes = changes.into_iter().map(|change| change.with_paths(|path| event.in_project(begun, &path)));
            let in_project = changes.filter(|change| !Path::new(change.path()).is_absolute());
            conversation.wrote(in_project.map(|change| change.artifact()).collect())
        }
        _ if event.starts_agent() => {
            let id = text(&event.tool_response, "agentId");
            let agent = Caller::of_claude(&event.session_id, Some(&id)).filter(|_| !id.is_empty());
            agent.map_or(Ok(()), |agent| {
                conversation.agent_named(&agent.actor(), &text(input, "description"), &text(input, "prompt"))
            })
        }
        _ => Ok(()),
    }
}
