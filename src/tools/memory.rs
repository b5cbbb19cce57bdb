//! Tools by which agents manage their memory: chunks on the heap and registers for the agents of any host,
//! and the stack machine for the agents in a run.

use schemars::JsonSchema;
use serde::Deserialize;

use super::caller::Caller;
use super::json::pretty;
use super::{AgentTool, MemoryCall, MemoryTool, Reply};
use crate::context::Settings;
use crate::error::Error;
use crate::frame::{Chunk, Handle, NewChunk, Register, RegisterValues};
use crate::memory::{Operation, stored, updated};
use crate::stack::Heap;
use crate::text::one_line;
use crate::tree::HeapUsage;
use crate::vocabulary::ToolRole;

/// Store a text on the heap. Every context of the frames in its scope shows it word for word, as long as
/// there is room, until stack_heap_free. For requirements and contracts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Allocate {
    /// Words joined by hyphens.
    name: String,
    /// The text.
    content: String,
    /// A few words for the index.
    #[serde(default)]
    description: String,
    /// tree: all frames; frame: this session's frame and those below it.
    #[serde(default)]
    scope: Scope,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    #[default]
    Tree,
    Frame,
}

impl AgentTool for Allocate {
    const NAME: &'static str = "stack_heap_alloc";
    const EXAMPLE: &'static str = r#"{"name": "api-contract", "content": "POST /orders -> 201 {id}; 409 if the cart is empty", "description": "routes that the client relies on"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let own = caller.named_or_own(None)?;
        let owner = match self.scope {
            Scope::Tree => caller.stack.look(|tree| tree.root(own)),
            Scope::Frame => own,
        };
        let Self { name, content, description, .. } = self;
        caller.stack.heap(owner).allocate(NewChunk { name: name.clone(), content, description })?;
        kept(caller, "allocated", &name)
    }
}

/// The answer about a chunk that was stored: the usage of the heap, and which chunks the frame of the caller
/// does not see as a whole.
fn kept(caller: &mut Caller<'_>, what: &str, name: &str) -> Result<Reply, Error> {
    let own = caller.named_or_own(None)?;
    let settings = caller.stack.host().settings().context;
    let cut = not_whole(&caller.stack.heap(own), &settings, caller.tools().get(ToolRole::HeapRead));
    Ok(Reply::Text(format!("{}{cut}", stored(what, name, usage(caller)?))))
}

/// Names the chunks that do not fit into the context of a frame. Empty if the context shows all chunks as a
/// whole. `read`: the tool that reads them.
pub(crate) fn not_whole(heap: &Heap<'_>, settings: &Settings, read: Option<&str>) -> String {
    let names = heap.not_whole(settings).unwrap_or_default();
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    let read = read.map_or(String::new(), |read| format!("; {read} shows them"));
    format!("\nNot whole in the contexts of this frame, for lack of room: {}{read}.", names.join(", "))
}

/// Replace the content of a chunk on the heap.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// The chunk's name.
    name: String,
    /// The new text.
    content: String,
}

impl AgentTool for Write {
    const NAME: &'static str = "stack_heap_write";
    const EXAMPLE: &'static str =
        r#"{"name": "api-contract", "content": "POST /orders -> 201 {id, total}; 409 if the cart is empty"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        caller.stack.heap(caller.named_or_own(None)?).write(&*self.name, self.content)?;
        kept(caller, "written", &self.name)
    }
}

impl MemoryTool for Write {
    const NAME: &'static str = "heap_write";
    const EXAMPLE: &'static str = <Self as AgentTool>::EXAMPLE;

    fn call(self) -> MemoryCall {
        Operation::WriteChunk { name: self.name, content: self.content }.into()
    }
}

/// Read a chunk of the heap. Without a name, list the chunks.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The chunk's name.
    name: Option<String>,
}

impl AgentTool for Read {
    const NAME: &'static str = "stack_heap_read";
    const EXAMPLE: &'static str = r#"{"name": "api-contract"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let own = caller.named_or_own(None)?;
        let Some(name) = self.name else {
            let mut lines = vec![format!("Heap: {}.", usage(caller)?)];
            lines.extend(chunk_lines(&caller.stack.heap(own))?);
            return Ok(Reply::Text(lines.join("\n")));
        };
        Ok(Reply::Text(caller.stack.heap(own).chunk(&name)?.1.content))
    }
}

/// Remove a chunk from the heap when no frame needs it any more.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Free {
    /// The chunk's name.
    name: String,
}

impl AgentTool for Free {
    const NAME: &'static str = "stack_heap_free";
    const EXAMPLE: &'static str = r#"{"name": "api-contract"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        caller.stack.heap(caller.named_or_own(None)?).free(&*self.name)?;
        Ok(Reply::Text(stored("freed", &self.name, usage(caller)?)))
    }
}

impl MemoryTool for Free {
    const NAME: &'static str = "heap_free";
    const EXAMPLE: &'static str = <Self as AgentTool>::EXAMPLE;

    fn call(self) -> MemoryCall {
        Operation::FreeChunk { name: self.name }.into()
    }
}

/// Update the registers: eight short notes in every request of their frame. Only the given ones change; an
/// empty text clears a register; longer texts are cut (limits in characters). Without arguments, show the
/// registers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateRegisters {
    /// The objective, at most 240 characters.
    #[serde(rename = "R0_GOAL")]
    goal: Option<String>,
    /// Remaining steps, at most 980.
    #[serde(rename = "R1_PLAN")]
    plan: Option<String>,
    /// The next action, at most 200.
    #[serde(rename = "R2_NEXT")]
    next: Option<String>,
    /// Reading, implementing, testing; at most 60.
    #[serde(rename = "R3_PHASE")]
    phase: Option<String>,
    /// Requirements, contracts, edge cases; at most 720.
    #[serde(rename = "R4_CONSTRAINTS")]
    constraints: Option<String>,
    /// Not verified yet; at most 480.
    #[serde(rename = "R5_ASSUMPTIONS")]
    assumptions: Option<String>,
    /// Unknowns, obstacles; at most 600.
    #[serde(rename = "R6_OPEN_QUESTIONS")]
    open_questions: Option<String>,
    /// The latest event, at most 300.
    #[serde(rename = "R7_STATUS")]
    status: Option<String>,
}

impl UpdateRegisters {
    fn values(self) -> RegisterValues {
        let given = [
            self.goal,
            self.plan,
            self.next,
            self.phase,
            self.constraints,
            self.assumptions,
            self.open_questions,
            self.status,
        ];
        Register::ALL.iter().zip(given).filter_map(|(register, value)| Some((*register, value?))).collect()
    }
}

impl AgentTool for UpdateRegisters {
    const NAME: &'static str = "stack_registers_update";
    const EXAMPLE: &'static str =
        r#"{"R2_NEXT": "run the tests of the cart", "R7_STATUS": "totals are rounded to cents"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let own = caller.named_or_own(None)?;
        let values = self.values();
        if values.is_empty() {
            let registers = caller.stack.registers(own)?.unwrap_or_default();
            return Ok(Reply::Text(pretty(&registers)));
        }
        let text = updated(&values);
        caller.stack.update_registers(own, values)?;
        Ok(Reply::Text(text))
    }
}

impl MemoryTool for UpdateRegisters {
    const NAME: &'static str = "update_registers";
    const EXAMPLE: &'static str = <Self as AgentTool>::EXAMPLE;

    fn call(self) -> MemoryCall {
        Operation::UpdateRegisters(self.values()).into()
    }
}

/// Start a sub-task in a child frame, which sees nothing of this conversation but these arguments. This
/// conversation is suspended until the child frame is popped; its result is this tool's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PushFrame {
    /// Short name, words joined by hyphens.
    name: String,
    /// The goal of the frame: the files, their behaviour, and how it is verified.
    objective: String,
    /// All other information that the frame needs.
    #[serde(default)]
    context: String,
    /// The facts that the frame must report when it is popped.
    #[serde(default)]
    return_spec: String,
}

impl MemoryTool for PushFrame {
    const NAME: &'static str = "push_frame";
    const EXAMPLE: &'static str = r#"{"name": "write-tests", "objective": "Create test_calc.py with pytest tests for add and divide of calc.py; run python -m pytest -q until all pass", "context": "divide(a, 0) raises ValueError", "return_spec": "number of tests, passed and failed, problems met"}"#;

    fn call(self) -> MemoryCall {
        let Self { name, objective, context, return_spec } = self;
        Operation::Push { name, objective, context, return_spec }.into()
    }
}

/// Finish the current frame. Its conversation is discarded, and the parent frame continues with the result.
/// At depth 0 this ends the whole run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PopFrame {
    /// The results for the parent: the work that was done and where, the decisions, the open problems.
    result: String,
}

impl MemoryTool for PopFrame {
    const NAME: &'static str = "pop_frame";
    const EXAMPLE: &'static str =
        r#"{"result": "test_calc.py has 9 tests, all pass. divide rounds to two digits, as calc.py documents."}"#;

    fn call(self) -> MemoryCall {
        Operation::Pop { result: self.result, artifacts: Vec::new(), decisions: Vec::new() }.into()
    }
}

/// Finish the current frame. Its conversation is discarded. The parent frame continues with these arguments,
/// and later frames see them. At depth 0 this ends the whole run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PopFrameWithRecords {
    /// The results: the work that was done and where, the open problems.
    result: String,
    /// What the frame has made: paths, URLs or names.
    #[serde(default)]
    artifacts: Vec<String>,
    /// Decisions that later work depends on, each with its reason.
    #[serde(default)]
    decisions: Vec<String>,
}

impl MemoryTool for PopFrameWithRecords {
    const NAME: &'static str = PopFrame::NAME;
    const EXAMPLE: &'static str = r#"{"result": "test_calc.py has 9 tests, all pass.", "decisions": ["divide rounds to two digits, as calc.py documents"]}"#;

    fn call(self) -> MemoryCall {
        let Self { result, artifacts, decisions } = self;
        Operation::Pop { result, artifacts, decisions }.into()
    }
}

/// Store a named text, a chunk, on the heap. Every step of every frame contains it verbatim until you free it
/// with heap_free.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeapAllocate {
    /// Name of the chunk, words joined by hyphens. Refused if a chunk has this name.
    name: String,
    /// The text, which is stored verbatim.
    content: String,
    /// A description in a few words, for the index.
    #[serde(default)]
    description: String,
}

impl MemoryTool for HeapAllocate {
    const NAME: &'static str = "heap_alloc";
    const EXAMPLE: &'static str =
        r#"{"name": "api-spec", "content": "add(a, b) -> int", "description": "signatures of calc.py"}"#;

    fn call(self) -> MemoryCall {
        let Self { name, content, description } = self;
        Operation::AllocateChunk(NewChunk { name, content, description }).into()
    }
}

/// The chunks that a frame sees, one on each line.
pub(super) fn chunk_lines(heap: &Heap<'_>) -> Result<Vec<String>, Error> {
    let line = |(owner, chunk): &(Handle, Chunk)| {
        let description = one_line(&chunk.description);
        let description = if description.is_empty() { description } else { format!(": {description}") };
        format!("- {} (of {owner}, {} characters){description}", one_line(&chunk.name), chunk.content.chars().count())
    };
    Ok(heap.chunks()?.iter().map(line).collect())
}

/// The usage of the heap that the calling session sees.
fn usage(caller: &Caller<'_>) -> Result<HeapUsage, Error> {
    let ceiling = caller.stack.host().settings().context.heap_ceiling;
    caller.stack.heap(caller.named_or_own(None)?).usage(ceiling)
}
