//! `callstack hook`: what the plugin of Claude Code runs at the events of a session. A hook reads the event from the standard
//! input, and writes to the standard output what Claude Code is to do. A hook never fails the session: without a stack it does
//! nothing, and an error is only reported.

use std::env;
use std::io::{self, Read};
use std::path::Path;

use callstack_core::context::{Budget, Guidance};
use callstack_core::text::from_json;
use callstack_core::tools::conversation::{self, Conversation, frame_in_prompt, is_handed_over, place};
use callstack_core::{Command, Error, FrameStatus, Handle, Identity, PopStatus, Settings, Stack};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::caller::{self, ARGUMENT, Caller};
use crate::clock::now;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::note;

/// The budget of the contexts that hooks add, in tokens and bytes. Claude Code puts longer texts into a file.
const TOKENS: usize = 2_400;
const BYTES: usize = 9_000;
/// The longest event that is read, in bytes: tools may write large files.
const LONGEST_EVENT: u64 = 64 << 20;

#[derive(Args)]
pub struct HookArguments {
    /// The event.
    #[arg(value_enum)]
    event: HookEvent,
}

#[derive(Clone, Copy, ValueEnum)]
enum HookEvent {
    /// A session begins, goes on, or was compacted: adds the context of its frame.
    SessionStart,
    /// The user has written: adds what is new for the frame.
    UserPromptSubmit,
    /// A tool is about to be called: says who calls the tools of callstack.
    PreToolUse,
    /// A tool was called: records the file that it has written, or names the frame of the subagent that it has started.
    PostToolUse,
    /// A subagent begins: makes its frame.
    SubagentStart,
    /// A subagent ends: finishes its frame with its answer.
    SubagentStop,
    /// The session is about to be compacted: says what the summary must keep.
    PreCompact,
    /// The agent ends its turn: reminds it once of its open frame.
    Stop,
}

/// An event of Claude Code.
#[derive(Deserialize)]
struct Event {
    session_id: String,
    /// The subagent in which it happens.
    #[serde(default)]
    agent_id: String,
    #[serde(default)]
    agent_type: String,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    tool_response: Value,
    #[serde(default)]
    last_assistant_message: String,
    #[serde(default)]
    stop_hook_active: bool,
    #[serde(default)]
    background_tasks: Vec<Value>,
}

/// Runs a hook.
pub fn run(arguments: &HookArguments, folder: &StackFolder) -> Result<Exit, Failure> {
    match answer(arguments.event, folder) {
        Ok(Some(answer)) => println!("{answer}"),
        Ok(None) => {}
        // Another exit code would stop tools, or be shown as a failure of the session.
        Err(problem) => note(&format!("callstack hook: {problem}")),
    }
    Ok(Exit::Done)
}

fn answer(kind: HookEvent, folder: &StackFolder) -> Result<Option<Value>, String> {
    let mut text = String::new();
    io::stdin().take(LONGEST_EVENT).read_to_string(&mut text).map_err(|error| error.to_string())?;
    let unreadable = |error: serde_json::Error| format!("the event cannot be read: {error}");
    let mut event: Map<String, Value> = from_json(&text).map_err(unreadable)?;
    event.retain(|_, value| !value.is_null());
    let event: Event = serde_json::from_value(Value::Object(event)).map_err(unreadable)?;
    let Some(caller) = Caller::of_claude(&event.session_id, Some(&event.agent_id)) else { return Ok(None) };
    // The most frequent hook needs no stack.
    if let HookEvent::PreToolUse = kind {
        return Ok(called_by(event.tool_input, &caller));
    }
    if !folder.has_stack() {
        return Ok(None);
    }
    let stack = folder.open_to_write().map_err(|failure| failure.for_agents())?;
    let stack = caller::as_conversation(&stack, Some(&caller));
    if stack.read(|tree| stack.actor().is_some_and(|actor| !tree.due_renewals(actor, now()).is_empty())) {
        stack.execute(Command::RenewAll).map_err(|error| error.to_string())?;
    }
    let budget = Budget::default().total(TOKENS).bytes(Some(BYTES));
    let settings = Settings::default().budget(budget).guidance(Guidance::None).tools(conversation::names(&[]));
    let conversation = Conversation::new(&stack, &settings);
    let session = Session { stack: &stack, event: &event, conversation, settings: &settings, caller };
    session.answer(kind).map_err(|error| error.to_string())
}

/// The input of a tool with the conversation that calls it: Claude Code itself names only the call.
fn called_by(input: Value, caller: &Caller) -> Option<Value> {
    let Value::Object(mut input) = input else { return None };
    input.insert(ARGUMENT.to_owned(), caller.as_str().into());
    Some(json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": input } }))
}

struct Session<'a> {
    /// The stack, whose commands the conversation gives.
    stack: &'a Stack,
    event: &'a Event,
    conversation: Conversation<'a>,
    settings: &'a Settings,
    /// The session, or the subagent in it.
    caller: Caller,
}

impl Session<'_> {
    fn answer(&self, kind: HookEvent) -> Result<Option<Value>, Error> {
        match kind {
            HookEvent::SessionStart => self.begun(),
            HookEvent::UserPromptSubmit => self.prompted(),
            HookEvent::PreToolUse => Ok(None),
            HookEvent::PostToolUse => self.called().map(|()| None),
            HookEvent::SubagentStart => self.agent_begun().map(|()| None),
            HookEvent::SubagentStop => self.agent_ended().map(|()| None),
            HookEvent::PreCompact => Ok(self.compacting()),
            HookEvent::Stop => Ok(self.stopping()),
        }
    }

    fn status(&self, frame: Handle) -> FrameStatus {
        self.stack.read(|tree| tree.node(frame).status())
    }

    fn begun(&self) -> Result<Option<Value>, Error> {
        let Some(own) = self.conversation.place() else {
            let open = self.stack.read(|tree| tree.with_status(FrameStatus::InProgress).count());
            let text = match open {
                0 => return Ok(None),
                _ => format!(
                    "The call stack of this project (tools of callstack) has {open} frames in progress, none of this \
                     conversation: status shows them; activate goes on in one; push begins a new task."
                ),
            };
            return Ok(Some(added("SessionStart", &text)));
        };
        let context = self.stack.context(own, self.settings)?;
        let text = format!(
            "You are in frame {} of the call stack (tools of callstack).\n{}",
            self.conversation.name(own),
            context.xml
        );
        Ok(Some(added("SessionStart", &text)))
    }

    fn prompted(&self) -> Result<Option<Value>, Error> {
        let Some(own) = self.conversation.place() else { return Ok(None) };
        let context = self.stack.context(own, self.settings)?;
        Ok(Some(added("UserPromptSubmit", &context.volatile)))
    }

    fn called(&self) -> Result<(), Error> {
        match &*self.event.tool_name {
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => self.file_written(),
            "Agent" | "Task" => self.agent_named(),
            _ => Ok(()),
        }
    }

    fn file_written(&self) -> Result<(), Error> {
        let input = &self.event.tool_input;
        let path = ["file_path", "notebook_path"].into_iter().find_map(|key| input.get(key)?.as_str());
        if let (Some(own), Some(path)) = (self.conversation.place(), path) {
            // The working folder changes within a session.
            let project = env::var("CLAUDE_PROJECT_DIR").ok().filter(|project| !project.is_empty());
            let project = project.as_deref().unwrap_or(&self.event.cwd);
            let relative = Path::new(path).strip_prefix(project).unwrap_or(Path::new(path));
            self.stack.add_artifact(own, relative.to_string_lossy())?;
        }
        Ok(())
    }

    /// Makes a frame for a subagent that begins, unless it is known already in which one it works.
    fn agent_begun(&self) -> Result<(), Error> {
        let is_known = self.entered(&self.caller).is_some();
        if self.event.agent_id.is_empty() || is_known {
            return Ok(());
        }
        let title = if self.event.agent_type.is_empty() { "subagent" } else { &self.event.agent_type };
        self.frame_of(&self.caller, title).map(drop)
    }

    /// The frame that a conversation has entered last.
    fn entered(&self, caller: &Caller) -> Option<Handle> {
        self.stack.read(|tree| tree.place_of(caller.as_str()))
    }

    /// The stack for a subagent of the session.
    fn of_agent(&self, agent: &Caller) -> Stack {
        caller::as_conversation(self.stack, Some(agent))
    }

    /// The frame that was made for a subagent, below that of its session. `None` if its session has none.
    fn frame_of(&self, agent: &Caller, title: &str) -> Result<Option<Handle>, Error> {
        let session = Caller::of_claude(&self.event.session_id, None);
        let (made, parent) = self.stack.read(|tree| {
            let own = session.and_then(|session| place(tree, &session.actor()));
            (tree.by_id(agent.as_str()), own)
        });
        let Some(parent) = parent.filter(|_| made.is_none()) else { return Ok(made) };
        // The frame of the session stays its own: the subagent works beside it.
        self.of_agent(agent).ensure(agent.as_str(), Some(title), Some(parent.into())).map(Some)
    }

    /// Names the frame of a subagent by the call that has started it, which may be reported before or after its begin. If its
    /// prompt hands over a frame, it works in that one.
    fn agent_named(&self) -> Result<(), Error> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (input, response) = (&self.event.tool_input, &self.event.tool_response);
        let id = text(response, "agentId");
        let Some(agent) = Caller::of_claude(&self.event.session_id, Some(&id)).filter(|_| !id.is_empty()) else {
            return Ok(());
        };
        let (prompt, description) = (text(input, "prompt"), text(input, "description"));
        let (made, handed_over) = self.stack.read(|tree| {
            let is_task = |frame: &Handle| {
                frame.index() < tree.len()
                    && tree.node(*frame).session_id() != agent.as_str()
                    && is_handed_over(tree, *frame)
                    && !tree.node(*frame).status().is_finished()
            };
            (tree.by_id(agent.as_str()), frame_in_prompt(&prompt).filter(is_task))
        });
        if let Some(frame) = handed_over {
            if self.entered(&agent) == made && self.status(frame) == FrameStatus::InProgress {
                self.of_agent(&agent).set_status(frame, FrameStatus::InProgress, None)?;
            }
            return match made.filter(|made| self.status(*made).is_open()) {
                Some(made) => {
                    self.of_agent(&agent).invalidate(made, format!("The subagent works in {frame}")).map(drop)
                }
                None => Ok(()),
            };
        }
        let title = if description.is_empty() { "subagent".to_owned() } else { description };
        match self.frame_of(&agent, &title)? {
            Some(made) if self.status(made) != FrameStatus::Invalidated => self.stack.identify(
                made,
                Identity { title, success_criteria: prompt, success_criteria_compacted: String::new() },
            ),
            _ => Ok(()),
        }
    }

    /// Finishes the frames of a subagent that are still open, with what it has said last.
    fn agent_ended(&self) -> Result<(), Error> {
        if self.event.agent_id.is_empty() {
            return Ok(());
        }
        let made = self.stack.read(|tree| tree.by_id(self.caller.as_str()));
        let said = self.event.last_assistant_message.trim();
        let (status, results) = match said.is_empty() {
            true => (PopStatus::Failed, "The subagent has ended without an answer."),
            false => (PopStatus::Completed, said),
        };
        let (task, below) = self.stack.read(|tree| {
            let Some(entered) = tree.place_of(self.caller.as_str()) else { return (None, Vec::new()) };
            let is_own = |frame: Handle| {
                let holder = tree.node(frame).record().holder.as_deref();
                holder.is_some_and(|holder| holder.name == self.caller.as_str())
            };
            let task = tree.lineage(entered).find(|frame| is_handed_over(tree, *frame) && is_own(*frame));
            (task, tree.lineage(entered).take_while(|frame| task.is_some_and(|task| *frame != task)).collect())
        });
        if let Some(made) = made.filter(|made| task.is_some_and(|task| task != *made) && self.status(*made).is_open()) {
            self.stack.invalidate(made, format!("The subagent has worked in {}", task.unwrap_or(made)))?;
        }
        // The agent may have ended in a part of its task.
        let Some(task) = task.or(made) else { return Ok(()) };
        for frame in below {
            if self.status(frame) == FrameStatus::InProgress {
                self.stack.pop(frame, status, format!("The subagent has ended; its answer is in {task}."))?;
            }
        }
        if self.status(task) == FrameStatus::InProgress {
            self.stack.pop(task, status, results)?;
        }
        // What it has begun besides its task.
        for frame in self.stack.read(|tree| tree.way_back(self.caller.as_str())) {
            self.stack.pop(frame, status, format!("The subagent has ended; its answer is in {task}."))?;
        }
        Ok(())
    }

    fn compacting(&self) -> Option<Value> {
        let own = self.conversation.place()?;
        let text = format!(
            "You are in frame {} of the call stack. The stack keeps the plan, the criteria, and the results and decisions that are \
             recorded; the context of the frame is added again after this. The summary must keep what is recorded nowhere: what was \
             tried and why it failed, what is half done, and what comes next.",
            self.conversation.name(own)
        );
        Some(json!({ "systemMessage": text }))
    }

    fn stopping(&self) -> Option<Value> {
        let own = self.conversation.place()?;
        let is_due = !self.event.stop_hook_active
            && self.event.background_tasks.is_empty()
            && self.status(own) == FrameStatus::InProgress
            // Said once to each holder of a frame, in whatever session.
            && self.stack.execute(Command::Remind { frame: own.into() }).is_ok_and(|events| !events.is_empty());
        is_due.then(|| {
            let reason = format!(
                "Frame {} is still in progress. If its criteria are met, pop it with its results. If it waits for somebody, pop it as \
                 blocked with the question. If you go on later, record what exists as resultsSoFar. This is said once.",
                self.conversation.name(own)
            );
            json!({ "decision": "block", "reason": reason })
        })
    }
}

/// The answer that adds a text to the conversation.
fn added(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}
