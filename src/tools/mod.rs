//! The agent's tools: one table of names, schemas, handlers and texts. Hosts register the tools from it.
//!
//! A tool is a struct. Its documentation is the description that the agent reads, its fields are the
//! arguments, and `AgentTool::run` is the handler. JSON Schema and validation are derived from the same
//! struct, so they always agree.
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

mod acting;
pub mod arguments;
mod autonomy;
mod beginning;
mod caller;
mod compaction;
mod context;
pub mod conversation;
mod docs;
mod frames;
mod json;
mod log;
mod memory;
mod planning;
mod popping;
mod running;
mod subagents;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::caller::Caller;
use self::log::LogRange;
use crate::error::Error;
use crate::frame::{Event, FrameRef, Handle, MemoryModel, RunSettings, ToolCall, shown_message};
use crate::memory::{Next, Operation};
use crate::session::calls::{CallId, CallPlace};
use crate::session::{Effect, call_title};
use crate::stack::{HostSettings, Stack};
use crate::text::hanging_indent;
use crate::vocabulary::{ToolNames, ToolRole};

pub use docs::markdown;

/// The topic of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ToolGroup"))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Group {
    /// Starting, finishing and showing frames.
    Frames,
    /// Planning frames, starting planned frames, and removing frames from the plan.
    Planning,
    /// The context that an agent receives before a model call.
    Context,
    /// Summaries of conversations.
    Compaction,
    /// Child sessions that the host's own tools start.
    Subagents,
    /// Assessing when to start and finish frames.
    Autonomy,
    /// Heap and registers: texts that contexts show even after the conversation has been compacted.
    Memory,
}

/// The definition of a tool, with which a host registers it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Tool {
    /// Its name, such as `stack_frame_push`.
    pub name: &'static str,
    /// Its topic.
    pub group: Group,
    /// Its description for the agent.
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    pub parameters: Value,
    /// Valid arguments.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    pub example: Value,
}

/// The answer of a tool.
///
/// In JSON: `{"text": "…", "isError": false, "effects": []}`, or, if the answer comes later,
/// `{"call": 3, "isError": false, "effects": [{"kind": "createSession", …}]}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ToolAnswer"))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Answer {
    /// The answer; absent if it comes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// One line for people: what the call was about, and its result. Empty if the arguments say it, or if the
    /// answer comes later.
    pub title: String,
    /// The frames that the call has popped, or whose ends it has waited for. The answer says how they have
    /// ended, or what they wait for.
    pub ended: Vec<Handle>,
    /// The call that is answered later, by the effect [`Answer`](Effect::Answer).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Whether the tool call was refused. The text then contains the reason.
    pub is_error: bool,
    /// The effects that the host must carry out.
    pub effects: Vec<Effect>,
}

impl Answer {
    /// An answer whose first line says everything to people.
    fn said(text: String, is_error: bool) -> Self {
        let title = first_line(&text);
        Self { text: Some(text), title, ended: Vec::new(), call: None, is_error, effects: Vec::new() }
    }
}

/// The first line of a text, for people. JSON and XML are for programs and say nothing to people.
fn first_line(text: &str) -> String {
    let first = text.lines().next().filter(|line| !line.starts_with(['{', '[', '<']));
    first.map(call_title::line).unwrap_or_default()
}

/// The arguments of a tool, with the handler.
trait AgentTool: DeserializeOwned + schemars::JsonSchema {
    /// The tool's name.
    const NAME: &'static str;
    /// Valid arguments, a JSON object.
    const EXAMPLE: &'static str;
    /// What differs in hosts where frames are worked on in the conversation of their caller.
    const IN_CONVERSATION: InConversation = InConversation::NONE;
    /// True if a call that names no frame is about the frame in which the conversation of the caller is. Such
    /// a call is refused as long as the model takes its conversation to be in another frame.
    const USES_PLACE: bool = true;

    /// Runs the tool.
    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error>;
}

/// What differs in a tool of hosts where frames are worked on in the conversation of their caller
/// ([`CallPlace::Conversation`]).
struct InConversation {
    /// The description. `None`: the same.
    description: Option<&'static str>,
    /// The arguments that are only for such hosts.
    arguments: &'static [&'static str],
    /// The arguments that are only for other hosts, also within arguments.
    without: &'static [&'static str],
    /// The arguments that can be left out, with their descriptions.
    optional: &'static [(&'static str, &'static str)],
    /// Valid arguments. `None`: the same.
    example: Option<&'static str>,
}

impl InConversation {
    const NONE: Self = Self { description: None, arguments: &[], without: &[], optional: &[], example: None };
}

/// A tool with which an agent in a run manages its own memory.
trait MemoryTool: DeserializeOwned + schemars::JsonSchema {
    /// The tool's name.
    const NAME: &'static str;
    /// Valid arguments, a JSON object.
    const EXAMPLE: &'static str;

    /// Returns what the tool call requests.
    fn call(self) -> MemoryCall;
}

/// What a tool call of an agent in a run requests.
enum MemoryCall {
    /// An operation on its memory.
    Operation(Operation),
    /// Lines of the log of a frame.
    ReadLog { frame: String, range: LogRange },
}

impl From<Operation> for MemoryCall {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}

/// The reply of a handler.
enum Reply {
    /// The answer.
    Text(String),
    /// The answer follows when this call ends.
    Later(CallId),
}

impl Reply {
    /// The same reply with a sentence after its first line, unless the answer comes later.
    fn and(self, sentence: &str) -> Self {
        match self {
            Self::Text(text) => Self::Text(beginning::with_sentence(text, sentence)),
            Self::Later(call) => Self::Later(call),
        }
    }
}

/// An entry of a table: a tool without its types.
struct Entry<Run> {
    name: &'static str,
    group: Group,
    example: &'static str,
    schema: fn() -> schemars::Schema,
    in_conversation: InConversation,
    uses_place: bool,
    run: Run,
}

type RunTool = fn(&mut Caller<'_>, &str, &'static str) -> Result<Reply, String>;
type ReadCall = fn(&str, &'static str) -> Result<MemoryCall, String>;

impl Entry<RunTool> {
    const fn of<C: AgentTool>(group: Group) -> Self {
        Self {
            name: C::NAME,
            group,
            example: C::EXAMPLE,
            schema: arguments::schema::<C>,
            in_conversation: C::IN_CONVERSATION,
            uses_place: C::USES_PLACE,
            run: |caller, arguments, example| {
                let call: C = arguments::read(arguments, example)?;
                call.run(caller).map_err(|error| error.to_string())
            },
        }
    }
}

impl Entry<ReadCall> {
    const fn of_memory<C: MemoryTool>() -> Self {
        Self {
            name: C::NAME,
            group: Group::Memory,
            example: C::EXAMPLE,
            schema: arguments::schema::<C>,
            in_conversation: InConversation::NONE,
            uses_place: false,
            run: |arguments, example| Ok(arguments::read::<C>(arguments, example)?.call()),
        }
    }
}

impl<Run> Entry<Run> {
    /// Valid arguments for hosts where frames are worked on in this place.
    fn example(&self, place: CallPlace) -> &'static str {
        self.in_conversation.example.filter(|_| place == CallPlace::Conversation).unwrap_or(self.example)
    }

    /// The definition for hosts where frames are worked on in this place.
    fn tool(&self, place: CallPlace) -> Tool {
        let (mut description, mut parameters) = arguments::described((self.schema)());
        let InConversation { description: other, arguments, without, optional, .. } = &self.in_conversation;
        if place == CallPlace::Conversation {
            description = other.map_or(description, str::to_owned);
            leave_out(without, &mut parameters);
            for (name, description) in *optional {
                parameters["properties"][name]["description"] = json!(description);
            }
            require_not(|name| optional.iter().any(|(optional, _)| *optional == name), &mut parameters);
        } else {
            leave_out(arguments, &mut parameters);
        }
        let example = serde_json::from_str(self.example(place)).expect("examples are JSON");
        Tool { name: self.name, group: self.group, description, parameters, example }
    }
}

/// Takes arguments out of a schema, and out of the schemas within it.
fn leave_out(names: &[&str], schema: &mut Value) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !names.contains(&name.as_str()));
        properties.values_mut().for_each(|property| leave_out(names, property));
        require_not(|name| names.contains(&name), schema);
    }
    if let Some(items) = schema.get_mut("items") {
        leave_out(names, items);
    }
}

/// Says that some arguments of a schema can be left out.
fn require_not(is_optional: impl Fn(&str) -> bool, schema: &mut Value) {
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(&is_optional));
    }
}

#[rustfmt::skip]
const TABLE: [Entry<RunTool>; 39] = [
    Entry::of::<frames::Push>(Group::Frames),
    Entry::of::<frames::Pop>(Group::Frames),
    Entry::of::<frames::Answer>(Group::Frames),
    Entry::of::<frames::Status>(Group::Frames),
    Entry::of::<frames::ShowTree>(Group::Frames),
    Entry::of::<frames::Details>(Group::Frames),
    Entry::of::<log::Log>(Group::Frames),
    Entry::of::<frames::AddArtifact>(Group::Frames),
    Entry::of::<frames::AddDecision>(Group::Frames),
    Entry::of::<frames::Identify>(Group::Frames),
    Entry::of::<frames::GetState>(Group::Frames),
    Entry::of::<planning::Plan>(Group::Planning),
    Entry::of::<planning::PlanChildren>(Group::Planning),
    Entry::of::<planning::Edit>(Group::Planning),
    Entry::of::<planning::Activate>(Group::Planning),
    Entry::of::<planning::Invalidate>(Group::Planning),
    Entry::of::<running::ActivateReady>(Group::Planning),
    Entry::of::<running::Wait>(Group::Frames),
    Entry::of::<running::Stop>(Group::Frames),
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

/// A tool of agents in runs, and whether they have it with the settings of their run.
type MemoryEntry = (Entry<ReadCall>, fn(&RunSettings) -> bool);

#[rustfmt::skip]
const MEMORY_TABLE: [MemoryEntry; 8] = [
    (Entry::of_memory::<memory::PushFrame>(), |_| true),
    (Entry::of_memory::<memory::PopFrame>(), |settings| !settings.shared_results),
    (Entry::of_memory::<memory::PopFrameWithRecords>(), |settings| settings.shared_results),
    (Entry::of_memory::<log::ReadFrameLog>(), |settings| settings.shared_results),
    (Entry::of_memory::<memory::HeapAllocate>(), |_| true),
    (Entry::of_memory::<memory::Write>(), |_| true),
    (Entry::of_memory::<memory::Free>(), |_| true),
    (Entry::of_memory::<memory::UpdateRegisters>(), |settings| settings.memory == MemoryModel::Registers),
];

fn memory_table(settings: &RunSettings) -> impl Iterator<Item = &'static Entry<ReadCall>> {
    MEMORY_TABLE.iter().filter(|(_, is_offered)| is_offered(settings)).map(|(entry, _)| entry)
}

/// Returns the tools that a host with these settings offers to its agents: those of [`HostSettings::tools`].
/// Descriptions refer to other offered tools by the host's names, and to no others. [`Tool::name`] is always
/// the name that [`call`] takes, not the host's name.
///
/// ```
/// use callstack_core::{HostSettings, ToolNames, ToolSet, tools};
///
/// let settings = HostSettings::default();
/// let names: Vec<&str> = tools::offered(&settings).iter().map(|tool| tool.name).collect();
/// assert!(names.contains(&"stack_frame_push") && !names.contains(&"stack_config"));
/// assert_eq!(tools::offered(&settings.tools(ToolSet::all())), tools::list(&ToolNames::default()));
/// ```
pub fn offered(settings: &HostSettings) -> Vec<Tool> {
    let names = settings.context.tools.clone().limited_to(settings.tools);
    let mut tools = listed(&names, settings.calls.r#in);
    tools.retain(|tool| settings.tools.contains(tool.name));
    tools
}

/// Returns all tools for the agents of hosts with sessions, also tools that a host does not offer, as for
/// [`CallPlace::Session`]. Descriptions refer to other tools by the host's names. [`Tool::name`] is always
/// the name that [`call`] takes, not the host's name.
///
/// ```
/// use callstack_core::{ToolNames, tools};
/// let list = tools::list(&ToolNames::with_prefix("mcp__callstack__"));
/// let allocate = list.iter().find(|tool| tool.name == "stack_heap_alloc").unwrap();
/// assert!(allocate.description.contains("until mcp__callstack__stack_heap_free."));
/// ```
pub fn list(names: &ToolNames) -> Vec<Tool> {
    listed(names, CallPlace::Session)
}

fn listed(names: &ToolNames, place: CallPlace) -> Vec<Tool> {
    let mut tools: Vec<Tool> = TABLE.iter().map(|entry| entry.tool(place)).collect();
    if !names.is_default() {
        for tool in &mut tools {
            tool.description = names.translate(&tool.description, words_for);
            translate_descriptions(&mut tool.parameters, names);
        }
    }
    tools
}

/// Returns the words that replace the name of a tool in a description if the host does not have that tool.
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
        ToolRole::Edit => "an edit",
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

/// Returns the tools with which an agent in a [run](crate::memory) with these settings manages its own
/// memory.
pub fn memory_tools(settings: &RunSettings) -> Vec<Tool> {
    memory_table(settings).map(|entry| entry.tool(CallPlace::Session)).collect()
}

/// Carries out the next tool call of an agent in a [run](crate::memory) if it is one of the [`memory_tools`]
/// of these settings, which are those of the run, and returns its events. `None`: the tool is one of the
/// host's. If the call is refused, its answer tells the model the reason; that is not an error of this
/// function.
///
/// # Errors
/// As [`Run::operate`](crate::stack::Run::operate).
///
/// ```
/// use callstack_core::frame::ToolCall;
/// use callstack_core::memory::{NewRun, Reply};
/// use callstack_core::{Stack, tools};
///
/// let stack = Stack::in_memory();
/// let run = stack.start_run(NewRun::new("Say hello"))?;
/// let settings = stack.run(run).status()?.settings;
/// let call = |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: r#"{"name": "api"}"#.into() };
/// stack.run(run).reply(Reply::new("", vec![call("1", "heap_free"), call("2", "greet")]))?;
/// // There is no such chunk, and the model is told so.
/// assert_eq!(tools::operate(&stack, run, &settings, &call("1", "heap_free"))?.map(|events| events.len()), Some(1));
/// assert_eq!(tools::operate(&stack, run, &settings, &call("2", "greet"))?, None);
/// # Ok::<(), callstack_core::Error>(())
/// ```
pub fn operate(
    stack: &Stack,
    run: Handle,
    settings: &RunSettings,
    call: &ToolCall,
) -> Result<Option<Vec<Event>>, Error> {
    let Some(entry) = memory_table(settings).find(|entry| entry.name == call.name) else { return Ok(None) };
    let operation = match (entry.run)(&call.arguments, entry.example(CallPlace::Session)) {
        Ok(MemoryCall::Operation(operation)) => Ok(operation),
        Ok(MemoryCall::ReadLog { frame, range }) => match log::read_in_run(stack, run, frame, range) {
            Ok(text) => return stack.run(run).answered(&call.id, text, false).map(Some),
            Err(problem) => Err(problem.to_string()),
        },
        Err(problem) => Err(problem),
    };
    stack.run(run).operate(&call.id, operation).map(Some)
}

/// Carries out the next memory tool calls of a [run](crate::memory) until it needs the host, and returns that
/// need: a reply of the model, or the answer to a call of one of the host's own tools. Also returns when the
/// run has ended.
///
/// # Errors
/// As [`Run::next`](crate::stack::Run::next) and [`Run::operate`](crate::stack::Run::operate).
pub fn advance_run(stack: &Stack, run: impl Into<FrameRef>) -> Result<Next, Error> {
    let stack = &stack.as_one_call();
    let run = stack.resolve(run)?;
    let settings = stack.run(run).status()?.settings;
    loop {
        let next = stack.run(run).next()?;
        let Next::Call(call) = &next else { return Ok(next) };
        if operate(stack, run, &settings, call)?.is_none() {
            return Ok(next);
        }
    }
}

/// Calls a tool for the agent of a session. `arguments` is a JSON object; an empty text stands for `{}`.
///
/// Every tool of the table is carried out, also a tool that the host does not [offer](offered): people and
/// programs call tools that agents need not know, and a conversation may have calls from before a change of
/// the settings. A host that wants to refuse such calls of its agents does not pass them on. The answer to an
/// unknown name lists the offered tools.
///
/// If the call is refused, nothing has changed: the answer has `is_error` and its text contains the problem.
/// It is also refused if events and tool calls in other threads take longer than
/// [`StackOptions::busy_timeout`](crate::StackOptions::busy_timeout), or inside of [`Stack::read`] and in
/// code that the stack calls.
pub fn call(stack: &Stack, session_id: &str, name: &str, arguments: &str) -> Answer {
    let called = stack.in_order(|turns| {
        // Names are looked up in the newest tree. The first command reports an error of the store.
        let _ = turns.stack.refresh();
        answer(Caller::new(turns, session_id), name, arguments)
    });
    called.unwrap_or_else(|error| Answer::said(error.to_string(), true))
}

/// True if the arguments of a call name the frame that it is about.
fn names_frame(arguments: &str) -> bool {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let names = ["frameID", "sessionID", "parentSessionID"].iter().any(|key| arguments[*key].as_str().is_some());
    names || arguments["all"] == true
}

fn answer(mut caller: Caller<'_>, name: &str, arguments: &str) -> Answer {
    let reply = match TABLE.iter().find(|entry| entry.name == name) {
        Some(entry) => {
            let misled = if entry.uses_place && !names_frame(arguments) { caller.misled() } else { None };
            let place = caller.call_place();
            misled.map_or_else(|| (entry.run)(&mut caller, arguments, entry.example(place)), Err)
        }
        None => {
            let names: Vec<String> = TABLE.iter().map(|entry| entry.name).filter_map(caller.naming()).collect();
            Err(match names.is_empty() {
                true => "there is no such tool".to_owned(),
                false => format!("there is no such tool; there are {}", names.join(", ")),
            })
        }
    };
    let named = reply.is_err().then(|| caller.naming()(name)).flatten();
    let told = caller.told();
    let effects = caller.into_effects();
    let (text, call, is_error) = match reply {
        Ok(Reply::Text(text)) => (Some(text), None, false),
        Ok(Reply::Later(call)) => (None, Some(call), false),
        Err(problem) => {
            // The problem can quote arguments, IDs and names.
            let problem = hanging_indent(&shown_message(&problem)).into_owned();
            let text = named.map_or(problem.to_string(), |name| format!("{name}: {problem}"));
            (Some(text), None, true)
        }
    };
    let (title, ended) = match told {
        Some(told) if !is_error => told,
        _ => (text.as_deref().map(first_line).unwrap_or_default(), Vec::new()),
    };
    Answer { text, title, ended, call, is_error, effects }
}
