//! The agent's tools: one table of names, schemas, handlers and texts, from which hosts register them.
//!
//! A tool is a struct: its documentation is what the agent reads of the tool, its fields are the arguments, and
//! `AgentTool::run` is the handler. JSON Schema and validation are made of the same struct, so they cannot differ.
//!
//! ```
//! use callstack_core::session::HostEvent;
//! use callstack_core::{Stack, tools};
//!
//! let stack = Stack::in_memory();
//! let event = r#"{"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"}"#;
//! let effects = stack.host().report(serde_json::from_str::<HostEvent>(event).unwrap());
//! assert!(effects.is_empty());
//! let plan = r#"{"title": "Cart", "successCriteria": "Totals are right", "successCriteriaCompacted": "totals"}"#;
//! let answer = tools::call(&stack, "ses_1", "stack_frame_plan", plan);
//! assert_eq!(answer.text.unwrap(), "f1 (Cart) is planned. Begin it with stack_frame_activate f1.");
//! let answer = tools::call(&stack, "ses_1", "stack_frame_plan", r#"{"title": 5}"#);
//! assert!(answer.is_error && answer.text.unwrap().contains("Example: {"));
//! ```

pub mod arguments;
mod autonomy;
mod caller;
mod compaction;
mod context;
mod docs;
mod frames;
mod memory;
mod planning;
mod subagents;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::caller::Caller;
use crate::error::Error;
use crate::frame::{FrameRef, MemoryModel, ToolCall};
use crate::memory::{Next, Operation};
use crate::session::Effect;
use crate::session::calls::CallId;
use crate::stack::Stack;
use crate::vocabulary::{ToolNames, ToolRole};

pub use docs::markdown;

/// What a tool is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Group {
    /// Beginning, finishing and looking at frames.
    Frames,
    /// Frames for later, and frames that are not needed any more.
    Planning,
    /// What agents see of the stack before a model call.
    Context,
    /// Summaries of conversations.
    Compaction,
    /// Child sessions that the host's own tools start.
    Subagents,
    /// When to begin and finish frames.
    Autonomy,
    /// What stays in sight whatever becomes of the conversation.
    Memory,
}

/// A tool as hosts register it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Tool {
    /// Its name, such as `stack_frame_push`.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// What the agent reads of it.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// Arguments that are valid.
    pub example: Value,
}

/// What a tool answers.
///
/// In JSON: `{"text": "…", "isError": false, "effects": []}`, or, if the answer comes later,
/// `{"call": 3, "isError": false, "effects": [{"kind": "createSession", …}]}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Answer {
    /// The answer; absent if it comes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The call that is answered later, by an effect [`Answer`](Effect::Answer).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The text says why nothing was done.
    pub is_error: bool,
    /// What the host is to do.
    pub effects: Vec<Effect>,
}

/// A tool's arguments, and what it does with them.
trait AgentTool: DeserializeOwned + schemars::JsonSchema {
    /// The tool's name.
    const NAME: &'static str;
    /// Valid arguments, a JSON object.
    const EXAMPLE: &'static str;

    /// Does what the tool is for.
    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error>;
}

/// A tool of an agent in a run, by which it manages its own memory.
trait MemoryTool: DeserializeOwned + schemars::JsonSchema {
    /// The tool's name.
    const NAME: &'static str;
    /// Valid arguments, a JSON object.
    const EXAMPLE: &'static str;

    /// What is to be done.
    fn operation(self) -> Operation;
}

/// What a handler has to say.
enum Reply {
    /// The answer.
    Text(String),
    /// The answer comes when this call is over.
    Later(CallId),
}

/// A line of a table: a tool without its types.
struct Entry<Run> {
    name: &'static str,
    group: Group,
    example: &'static str,
    schema: fn() -> schemars::Schema,
    run: Run,
}

type RunTool = fn(&mut Caller<'_>, &str, &'static str) -> Result<Reply, String>;
type ReadOperation = fn(&str, &'static str) -> Result<Operation, String>;

impl Entry<RunTool> {
    const fn of<C: AgentTool>(group: Group) -> Self {
        Self {
            name: C::NAME,
            group,
            example: C::EXAMPLE,
            schema: arguments::schema::<C>,
            run: |caller, arguments, example| {
                let call: C = arguments::read(arguments, example)?;
                call.run(caller).map_err(|error| error.to_string())
            },
        }
    }
}

impl Entry<ReadOperation> {
    const fn of_memory<C: MemoryTool>() -> Self {
        Self {
            name: C::NAME,
            group: Group::Memory,
            example: C::EXAMPLE,
            schema: arguments::schema::<C>,
            run: |arguments, example| Ok(arguments::read::<C>(arguments, example)?.operation()),
        }
    }
}

impl<Run> Entry<Run> {
    fn tool(&self) -> Tool {
        let (description, parameters) = arguments::described((self.schema)());
        let example = serde_json::from_str(self.example).expect("examples are JSON");
        Tool { name: self.name, group: self.group, description, parameters, example }
    }
}

#[rustfmt::skip]
const TABLE: [Entry<RunTool>; 32] = [
    Entry::of::<frames::Push>(Group::Frames),
    Entry::of::<frames::Pop>(Group::Frames),
    Entry::of::<frames::Status>(Group::Frames),
    Entry::of::<frames::ShowTree>(Group::Frames),
    Entry::of::<frames::Details>(Group::Frames),
    Entry::of::<frames::AddArtifact>(Group::Frames),
    Entry::of::<frames::AddDecision>(Group::Frames),
    Entry::of::<frames::GetState>(Group::Frames),
    Entry::of::<planning::Plan>(Group::Planning),
    Entry::of::<planning::PlanChildren>(Group::Planning),
    Entry::of::<planning::Activate>(Group::Planning),
    Entry::of::<planning::Invalidate>(Group::Planning),
    Entry::of::<context::Info>(Group::Context),
    Entry::of::<context::Preview>(Group::Context),
    Entry::of::<context::ClearCache>(Group::Context),
    Entry::of::<compaction::Summarize>(Group::Compaction),
    Entry::of::<compaction::Info>(Group::Compaction),
    Entry::of::<compaction::GetSummary>(Group::Compaction),
    Entry::of::<subagents::Config>(Group::Subagents),
    Entry::of::<subagents::Stats>(Group::Subagents),
    Entry::of::<subagents::Complete>(Group::Subagents),
    Entry::of::<subagents::List>(Group::Subagents),
    Entry::of::<autonomy::Configure>(Group::Autonomy),
    Entry::of::<autonomy::ShouldPush>(Group::Autonomy),
    Entry::of::<autonomy::ShouldPop>(Group::Autonomy),
    Entry::of::<autonomy::AutoSuggest>(Group::Autonomy),
    Entry::of::<autonomy::Stats>(Group::Autonomy),
    Entry::of::<memory::Allocate>(Group::Memory),
    Entry::of::<memory::Write>(Group::Memory),
    Entry::of::<memory::Read>(Group::Memory),
    Entry::of::<memory::Free>(Group::Memory),
    Entry::of::<memory::UpdateRegisters>(Group::Memory),
];

/// The last one is for agents that have registers.
const MEMORY_TABLE: [Entry<ReadOperation>; 6] = [
    Entry::of_memory::<memory::PushFrame>(),
    Entry::of_memory::<memory::PopFrame>(),
    Entry::of_memory::<memory::HeapAllocate>(),
    Entry::of_memory::<memory::Write>(),
    Entry::of_memory::<memory::Free>(),
    Entry::of_memory::<memory::UpdateRegisters>(),
];

fn memory_table(memory: MemoryModel) -> &'static [Entry<ReadOperation>] {
    match memory {
        MemoryModel::Heap => &MEMORY_TABLE[..MEMORY_TABLE.len() - 1],
        MemoryModel::Registers => &MEMORY_TABLE,
    }
}

/// All tools for the agents of hosts with sessions. Descriptions mention other tools by the host's names. [`Tool::name`]
/// is the name that [`call`] takes, whatever the host's name is.
///
/// ```
/// use callstack_core::{ToolNames, tools};
/// let list = tools::list(&ToolNames::with_prefix("mcp__callstack__"));
/// let allocate = list.iter().find(|tool| tool.name == "stack_heap_alloc").unwrap();
/// assert!(allocate.description.contains("until mcp__callstack__stack_heap_free."));
/// ```
pub fn list(names: &ToolNames) -> Vec<Tool> {
    let mut tools: Vec<Tool> = TABLE.iter().map(Entry::tool).collect();
    if !names.is_default() {
        for tool in &mut tools {
            tool.description = names.translate(&tool.description, words_for);
            translate_descriptions(&mut tool.parameters, names);
        }
    }
    tools
}

/// The words in a description for a tool that the host does not have.
fn words_for(role: ToolRole) -> &'static str {
    match role {
        ToolRole::Push => "a push",
        ToolRole::Pop => "a pop",
        ToolRole::Activate => "an activation",
        ToolRole::PlanChildren => "planning",
        ToolRole::Invalidate => "an invalidation",
        ToolRole::Details => "the details of a frame",
        ToolRole::Tree => "the drawn tree",
        ToolRole::HeapRead => "reading it",
        ToolRole::HeapFree => "it is freed",
        ToolRole::UpdateRegisters => "an update of registers",
    }
}

/// Translates every description in a schema.
fn translate_descriptions(schema: &mut Value, names: &ToolNames) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = names.translate(text, words_for);
            }
            object.values_mut().for_each(|value| translate_descriptions(value, names));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| translate_descriptions(value, names)),
        _ => {}
    }
}

/// The tools of an agent in a [run](crate::memory), by which it manages its own memory.
pub fn memory_tools(memory: MemoryModel) -> Vec<Tool> {
    memory_table(memory).iter().map(Entry::tool).collect()
}

/// Reads a call of an agent in a run, for [`Run::operate`](crate::stack::Run::operate). `None`: the tool is not
/// one of [`memory_tools`]. Of arguments that cannot be read the text says what is wrong with them.
///
/// ```
/// use callstack_core::frame::{MemoryModel, ToolCall};
/// use callstack_core::memory::Operation;
/// use callstack_core::tools;
///
/// let call = |name: &str, arguments: &str| ToolCall {
///     id: "call_1".into(),
///     name: name.into(),
///     arguments: arguments.into(),
/// };
/// let free = tools::operation(MemoryModel::Heap, &call("heap_free", r#"{"name": "api"}"#)).unwrap();
/// assert_eq!(free, Ok(Operation::FreeChunk { name: "api".into() }));
/// let problem = tools::operation(MemoryModel::Heap, &call("heap_free", "{}")).unwrap().unwrap_err();
/// assert!(problem.contains("missing field `name`"));
/// assert!(tools::operation(MemoryModel::Heap, &call("read_file", "{}")).is_none());
/// ```
pub fn operation(memory: MemoryModel, call: &ToolCall) -> Option<Result<Operation, String>> {
    let entry = memory_table(memory).iter().find(|entry| entry.name == call.name)?;
    Some((entry.run)(&call.arguments, entry.example))
}

/// Carries out the calls about memory that are next in a [run](crate::memory), and tells what it needs of the host
/// then: the answer of a model, or to a call of the host's own tools.
///
/// # Errors
/// As [`Run::next`](crate::stack::Run::next) and [`Run::operate`](crate::stack::Run::operate).
pub fn advance_run(stack: &Stack, run: impl Into<FrameRef>) -> Result<Next, Error> {
    let run = stack.resolve(run)?;
    let memory = stack.run(run).status()?.settings.memory;
    loop {
        let next = stack.run(run).next()?;
        let Next::Call(call) = &next else { return Ok(next) };
        let Some(operation) = operation(memory, call) else { return Ok(next) };
        stack.run(run).operate(&call.id, operation)?;
    }
}

/// Calls a tool for the agent of a session. `arguments` is a JSON object; an empty text stands for `{}`.
///
/// Whatever is wrong, the answer says what, and nothing has changed then.
pub fn call(stack: &Stack, session_id: &str, name: &str, arguments: &str) -> Answer {
    let mut caller = Caller::new(stack, session_id);
    let reply = match TABLE.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.run)(&mut caller, arguments, entry.example),
        None => {
            let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
            Err(format!("there is no such tool; there are {}", names.join(", ")))
        }
    };
    let named = reply.is_err().then(|| caller.tools().of_tool(name)).flatten();
    let effects = caller.into_effects();
    let (text, call, is_error) = match reply {
        Ok(Reply::Text(text)) => (Some(text), None, false),
        Ok(Reply::Later(call)) => (None, Some(call), false),
        Err(problem) => {
            let text = named.map_or(problem.clone(), |name| format!("{name}: {problem}"));
            (Some(text), None, true)
        }
    };
    Answer { text, call, is_error, effects }
}
