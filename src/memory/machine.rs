//! The stack machine: converts the tool calls of a model to events that change its memory.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;

use super::step::{Position, conversation, is_told, last_step, newest_child, pending, position};
use crate::error::{Error, Result};
use crate::frame::{
    Change, Frame, FrameRef, FrameStatus, Handle, MemoryModel, Message, NewChunk, NewFrame, PopStatus, RegisterValues,
    RunSettings, ToolCall,
};
use crate::text::{FreeNames, beginning, hanging_indent, one_line, visible};
use crate::tree::{Command, Draft, HeapUsage, Records, Tree};

/// Maximum length of a title that is made from a task, in characters.
const TITLE_LENGTH: usize = 60;

/// The parameters of a run to start: see [`Stack::start_run`](crate::Stack::start_run).
///
/// In JSON: `{"task": "Build a calculator", "settings": {"memory": "registers"}}`. The keys `title`,
/// `sessionID`, `settings` and `tools` are optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct NewRun {
    /// The agent's task. Must not be blank. It becomes the success criteria of the root frame and the first
    /// message of its conversation.
    pub task: String,
    /// The title of the root frame. Default: the first line of the task, cut to 60 characters.
    pub title: Option<String>,
    /// The ID of the root frame. Default: a generated ID.
    #[serde(rename = "sessionID")]
    pub session_id: Option<String>,
    /// The kind of memory and its limits. Default: stack and heap.
    #[serde(default)]
    pub settings: RunSettings,
    /// A description of the agent's other tools in Markdown, up to 100,000 characters. It is a section of the
    /// system prompt. It is stored with the run, so a process that resumes the run uses the same prompt.
    /// Default: empty.
    #[serde(default)]
    pub tools: String,
}

impl NewRun {
    /// Maximum length of the description of tools, in characters.
    pub const TOOLS_LIMIT: usize = 100_000;

    /// Creates the parameters of a run with the default settings: stack and heap.
    pub fn new(task: impl Into<String>) -> Self {
        Self { task: task.into(), ..Self::default() }
    }

    /// Sets the ID of the root frame.
    #[must_use]
    pub fn id(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Sets the title of the root frame.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the kind of memory and its limits.
    pub fn settings(mut self, settings: RunSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the description of the agent's other tools.
    ///
    /// ```
    /// use callstack_core::Stack;
    /// use callstack_core::memory::{NewRun, Next};
    ///
    /// let stack = Stack::in_memory();
    /// let run = stack.start_run(NewRun::new("Find a flight").tools("# Tools\n\n- search(query): searches flights."))?;
    /// let Next::Ask(prompt) = stack.run(run).next()? else { panic!("a run begins with a question") };
    /// assert!(prompt.system.contains("- search(query): searches flights."));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn tools(mut self, tools: impl Into<String>) -> Self {
        self.tools = tools.into();
        self
    }
}

/// A reply of a model: text, tool calls, or both.
///
/// In JSON: `{"text": "…", "calls": [{"id": "call_1", "name": "heap_free", "arguments": "{\"name\":
/// \"api\"}"}]}`. All keys are optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Reply {
    /// The text. Default: empty.
    pub text: String,
    /// The tool calls, in order. Default: empty. If an ID is empty or already used in the conversation, a new
    /// ID is generated.
    pub calls: Vec<ToolCall>,
    /// True if the provider has cut the reply at its maximum length. None of its tool calls is carried out
    /// then, and a message tells the model so. Default false.
    pub cut: bool,
}

impl Reply {
    /// Creates a complete reply. The text is empty if the model only calls tools.
    pub fn new(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self { text: text.into(), calls, cut: false }
    }

    /// Sets whether the provider has cut the reply at its maximum length.
    #[must_use]
    pub fn cut(mut self, cut: bool) -> Self {
        self.cut = cut;
        self
    }
}

/// An operation of a model on its memory, requested by a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Pushes a child of the current frame for a sub-task (`push_frame`).
    Push {
        /// A short name, which becomes the title of the child.
        name: String,
        /// The objective, which becomes the success criteria of the child. Must not be blank.
        objective: String,
        /// Further information for the child. May be empty.
        context: String,
        /// A description of the result that the child must return. May be empty.
        return_spec: String,
    },
    /// Pops the current frame as completed (`pop_frame`). Its parent gets all of this as the answer to
    /// `push_frame`.
    Pop {
        /// The results of the frame. Must not be blank.
        result: String,
        /// What the frame has made, usually paths. None may be blank.
        artifacts: Vec<String>,
        /// What was decided in the frame and later frames must know. None may be blank.
        decisions: Vec<String>,
    },
    /// Sets registers of the current frame. Values that are too long are cut, and the answer reports it.
    UpdateRegisters(RegisterValues),
    /// Allocates a chunk on the heap of the root frame, which all frames of the run see.
    AllocateChunk(NewChunk),
    /// Replaces the content of a chunk that the current frame sees.
    WriteChunk {
        /// The name of the chunk.
        name: String,
        /// The new content.
        content: String,
    },
    /// Removes a chunk that the current frame sees from the heap.
    FreeChunk {
        /// The name of the chunk.
        name: String,
    },
}

/// Starts a run. `session_id` becomes the ID of its root frame.
pub(super) fn start(tree: &Tree, run: NewRun, session_id: String, now: u64) -> Result<Draft<'_>> {
    let NewRun { task, title, settings, tools, .. } = run;
    if task.trim().is_empty() {
        return Err(Error::Empty { field: "task" });
    }
    let (length, limit) = (tools.chars().count(), NewRun::TOOLS_LIMIT);
    if length > limit {
        return Err(Error::TooLong { field: "tools", length, limit });
    }
    let title = title.unwrap_or_else(|| title_of(&task));
    let frame = NewFrame::new(title).id(session_id).criteria(task.clone()).root();
    let mut draft = Draft::of(tree, Command::Push(frame), now)?;
    let root = draft.first_handle();
    draft.push(root, Change::RunStarted { run: settings, tools });
    if settings.memory == MemoryModel::Registers {
        draft.push(root, Change::RegistersChanged { registers: RegisterValues::new() });
    }
    draft.push(root, Change::MessagesAdded { messages: vec![Message::User { text: task }] });
    Ok(draft)
}

/// Returns the first line of a task. A longer line is cut to [`TITLE_LENGTH`] characters, followed by `…`.
fn title_of(task: &str) -> String {
    let line = task.trim().lines().next().unwrap_or_default();
    match beginning(line, TITLE_LENGTH) {
        all if all.len() == line.len() => line.to_owned(),
        short => format!("{}…", short.trim_end()),
    }
}

/// Records a reply of a model. If it contains no tool calls, a message that asks for one is added.
pub(super) fn reply(tree: &Tree, root: Handle, reply: Reply, now: u64) -> Result<Draft<'_>> {
    let position = position(tree, root)?;
    let conversation = conversation(tree, position.frame);
    if let Some(call) = pending(tree.node(position.frame).conversation()).first() {
        let expected = format!("the answer to {} ({})", call.id, call.name);
        return Err(Error::OutOfTurn { handle: root, found: "a reply".into(), expected });
    }
    check_open(tree, root, "a reply")?;
    let Reply { text, mut calls, cut } = reply;
    let request = match (cut, &calls[..]) {
        (true, calls) => Some(shorter_reply(calls)),
        (false, []) => {
            Some("You have called no tool. Call one; if nothing is left to do, call pop_frame with the result.".into())
        }
        (false, _) => None,
    };
    // The last tool call of a cut reply is incomplete, even if its arguments happen to be readable.
    calls.truncate(if cut { 0 } else { calls.len() });
    make_call_ids_unique(&mut calls, conversation, position.run.steps + 1);
    let mut messages = vec![Message::Assistant { text, calls }];
    messages.extend(request.map(|text| Message::User { text }));
    let mut draft = Draft::new(tree, now);
    draft.push(position.frame, Change::MessagesAdded { messages });
    Ok(draft)
}

/// Returns the message to a model whose reply was cut.
fn shorter_reply(calls: &[ToolCall]) -> String {
    let names: Vec<String> = calls.iter().map(|call| one_line(&call.name)).collect();
    let lost = match &names[..] {
        [] => String::new(),
        names => format!(", and not carried out: {}", names.join(", ")),
    };
    format!(
        "Your reply was cut off, because it reached its maximum length{lost}. Reply again and more briefly: write a long \
         file in several parts, and make one tool call at a time."
    )
}

/// Adds a message of the user to the current conversation of a run. The model gets it after the answers to
/// its tool calls.
pub(super) fn tell(tree: &Tree, root: Handle, text: String, now: u64) -> Result<Draft<'_>> {
    let frame = position(tree, root)?.frame;
    check_open(tree, root, "a message")?;
    if text.trim().is_empty() {
        return Err(Error::Empty { field: "text" });
    }
    let mut draft = Draft::new(tree, now);
    draft.push(frame, Change::MessagesAdded { messages: vec![Message::User { text }] });
    Ok(draft)
}

fn check_open(tree: &Tree, root: Handle, found: &str) -> Result<()> {
    let status = tree.node(root).status();
    if status.is_open() {
        return Ok(());
    }
    Err(Error::OutOfTurn {
        handle: root,
        found: found.to_owned(),
        expected: format!("nothing, because it is {status}"),
    })
}

/// Makes the IDs of tool calls unique and not empty. Answers are matched by ID, and some models omit or
/// repeat IDs.
fn make_call_ids_unique(calls: &mut [ToolCall], conversation: &[Arc<Message>], step: u64) {
    let earlier = conversation.iter().flat_map(|message| match &**message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let mut taken: HashSet<String> = earlier.map(|call| call.id.clone()).collect();
    let mut names = FreeNames::default();
    for call in calls {
        if call.id.is_empty() || taken.contains(&call.id) {
            let given = if call.id.is_empty() { "call" } else { &call.id };
            call.id = names.next(given, 1, |number| format!("{given}_{step}_{number}"), |id| !taken.contains(id));
        }
        taken.insert(call.id.clone());
    }
}

/// Records the answer to a tool call that is not about agent memory.
pub(super) fn answer<'t>(
    tree: &'t Tree,
    root: Handle,
    call: &str,
    text: String,
    is_error: bool,
    now: u64,
) -> Result<Draft<'t>> {
    let turn = Turn::new(tree, root, call)?;
    let mut draft = Draft::new(tree, now);
    push_answer(&mut draft, turn.frame, call, &turn.call.name, text, is_error);
    Ok(draft)
}

/// Executes a tool call about agent memory, or answers it with the reason why it is refused. `session_id`
/// becomes the ID of the frame that the tool call may push.
pub(super) fn operate<'t>(
    tree: &'t Tree,
    root: Handle,
    call: &str,
    operation: Result<Operation, String>,
    session_id: String,
    now: u64,
) -> Result<Draft<'t>> {
    let turn = Turn::new(tree, root, call)?;
    let done = operation
        .and_then(|operation| turn.check_read(tree, operation))
        .and_then(|operation| turn.operate(tree, operation, session_id, now).map_err(|error| error.to_string()));
    done.or_else(|problem| {
        let problem = format!("{}: {}", one_line(&turn.call.name), hanging_indent(&problem));
        answer(tree, root, call, problem, true, now)
    })
}

/// Answers a `push_frame` tool call whose frame was ended outside of the run, for example by a command of the
/// host. Without an answer the run would wait forever.
pub(super) fn settle(tree: &Tree, root: Handle, now: u64) -> Result<Draft<'_>> {
    let frame = position(tree, root)?.frame;
    let mut draft = Draft::new(tree, now);
    let Some(call) = pending(tree.node(frame).conversation()).first() else { return Ok(draft) };
    let is_of_call = |child: &Handle| tree.node(*child).conversation().and_then(|own| own.call()) == Some(&call.id);
    if let Some(child) = newest_child(tree, frame).filter(is_of_call) {
        let record = tree.node(child).record();
        let mut text = returned(record.status, record, record.dense_results());
        if let Some(reason) = &record.invalidation_reason {
            text.push_str(&format!("\nReason: {}", hanging_indent(reason)));
        }
        push_answer(&mut draft, frame, &call.id, &call.name, text, false);
    }
    Ok(draft)
}

/// The next tool call to answer, and its place in the run.
struct Turn<'a> {
    root: Handle,
    frame: Handle,
    depth: usize,
    settings: RunSettings,
    call: &'a ToolCall,
}

impl<'a> Turn<'a> {
    fn new(tree: &'a Tree, root: Handle, id: &str) -> Result<Self> {
        let Position { run, frame, depth } = position(tree, root)?;
        check_open(tree, root, id)?;
        match pending(tree.node(frame).conversation()).first() {
            Some(call) if call.id == id => Ok(Self { root, frame, depth, settings: run.settings, call }),
            next => {
                let expected =
                    next.map_or("a reply of the model".to_owned(), |call| format!("{} ({})", call.id, call.name));
                Err(Error::OutOfTurn { handle: root, found: format!("an answer to {id}"), expected })
            }
        }
    }
}

/// Adds the answer to a tool call to the conversation of a frame.
fn push_answer(draft: &mut Draft<'_>, frame: Handle, call: &str, name: &str, text: String, is_error: bool) {
    let message = Message::Tool { call: call.to_owned(), name: name.to_owned(), text, is_error };
    draft.push(frame, Change::MessagesAdded { messages: vec![message] });
}

/// Returns the answer to `push_frame`: the status, criteria and result of the frame that has ended.
fn returned(status: FrameStatus, frame: &Frame, result: &str) -> String {
    let [criteria, result] = [&frame.success_criteria, result].map(|text| hanging_indent(text.trim()));
    format!("Sub-task {status}: {criteria}\nResult: {result}")
}

impl Turn<'_> {
    fn operate<'t>(&self, tree: &'t Tree, operation: Operation, session_id: String, now: u64) -> Result<Draft<'t>> {
        let frame = FrameRef::from(self.frame);
        let (command, text) = match operation {
            Operation::Push { name, objective, context, return_spec } => {
                let briefing = briefing(&objective, &context, &return_spec)?;
                let frame = NewFrame::new(name).id(session_id).criteria(objective);
                return self.push_frame(tree, frame, briefing, now);
            }
            Operation::Pop { result, artifacts, decisions } => {
                return self.pop_frame(tree, result, artifacts, decisions, now);
            }
            Operation::UpdateRegisters(registers) => {
                let text = updated(&registers);
                (Command::UpdateRegisters { frame, registers }, text)
            }
            Operation::AllocateChunk(chunk) => {
                let usage = self.usage(tree).changed(1, "", &chunk.content);
                let text = stored("allocated", &chunk.name, usage);
                (Command::AllocateChunk { frame: self.root.into(), chunk }, text)
            }
            Operation::WriteChunk { name, content } => {
                let usage = self.usage(tree).changed(0, self.content(tree, &name), &content);
                let text = stored("written", &name, usage);
                (Command::WriteChunk { frame, name, content }, text)
            }
            Operation::FreeChunk { name } => {
                let usage = self.usage(tree).changed(-1, self.content(tree, &name), "");
                let text = stored("freed", &name, usage);
                (Command::FreeChunk { frame, name }, text)
            }
        };
        let mut draft = Draft::of(tree, command, now)?;
        push_answer(&mut draft, self.frame, &self.call.id, &self.call.name, text, false);
        Ok(draft)
    }

    fn usage(&self, tree: &Tree) -> HeapUsage {
        HeapUsage::of(tree, self.frame, self.settings.heap_ceiling)
    }

    /// Returns the present content of a chunk; empty if there is no such chunk.
    fn content<'t>(&self, tree: &'t Tree, name: &str) -> &'t str {
        tree.chunk(self.frame, name).map_or("", |(_, chunk)| &chunk.content)
    }

    fn push_frame<'t>(&self, tree: &'t Tree, frame: NewFrame, briefing: String, now: u64) -> Result<Draft<'t>> {
        self.check_first_operation(tree, "push_frame")?;
        if self.depth >= self.settings.max_depth {
            return Err(Error::TooDeep { handle: self.frame, limit: self.settings.max_depth });
        }
        let mut draft = Draft::of(tree, Command::Push(frame.below(self.frame)), now)?;
        let child = draft.first_handle();
        draft.push(child, Change::Called { call: self.call.id.clone() });
        draft.push(child, Change::MessagesAdded { messages: vec![Message::User { text: briefing }] });
        Ok(draft)
    }

    fn pop_frame<'t>(
        &self,
        tree: &'t Tree,
        result: String,
        mut artifacts: Vec<String>,
        decisions: Vec<String>,
        now: u64,
    ) -> Result<Draft<'t>> {
        self.check_first_operation(tree, "pop_frame")?;
        if result.trim().is_empty() {
            return Err(Error::Empty { field: "result" });
        }
        let node = tree.node(self.frame);
        let mut seen = HashSet::new();
        artifacts.retain(|artifact| seen.insert(artifact.clone()));
        let mut text = returned(FrameStatus::Completed, node.record(), &result);
        for (what, entries) in [("Artifact", &artifacts), ("Decision", &decisions)] {
            let line = |entry: &String| format!("\n{what}: {}", hanging_indent(entry.trim()));
            text.extend(entries.iter().map(line));
        }
        let behind: Vec<String> =
            pending(node.conversation()).iter().skip(1).map(|call| one_line(&call.name)).collect();
        if !behind.is_empty() {
            text.push_str(&format!("\nNot carried out, because they came after its pop_frame: {}.", behind.join(", ")));
        }
        let frame = FrameRef::from(self.frame);
        let mut draft = Draft::new(tree, now);
        let records = Records { artifacts, decisions, results: None };
        draft.decide(Command::Record { frame: frame.clone(), records })?;
        draft.decide(Command::Pop { frame, status: PopStatus::Completed, results: result.into() })?;
        if let (Some(parent), Some(call)) = (node.parent(), node.conversation().and_then(|own| own.call())) {
            push_answer(&mut draft, parent, call, "push_frame", text, false);
        }
        Ok(draft)
    }

    /// Checks that the model does not leave the conversation before it has read a message of the user in it.
    fn check_read(&self, tree: &Tree, operation: Operation) -> Result<Operation, String> {
        let leaves = matches!(operation, Operation::Push { .. } | Operation::Pop { .. });
        match leaves && is_told(tree.node(self.frame).conversation()) {
            true => Err("not carried out, because the user has sent a message since; read it first".into()),
            false => Ok(operation),
        }
    }

    /// Checks that no other `push_frame` or `pop_frame` of this step has succeeded. A step can have only one.
    fn check_first_operation(&self, tree: &Tree, name: &'static str) -> Result<()> {
        let (calls, answers) = last_step(tree.node(self.frame).conversation());
        let is_done = |answer: &Message| matches!(answer, Message::Tool { is_error: false, .. });
        let is_stack_operation = |call: &ToolCall| call.name == "push_frame" || call.name == "pop_frame";
        let mut answered = calls.iter().zip(answers);
        match answered.any(|(call, answer)| is_stack_operation(call) && is_done(answer)) {
            true => Err(Error::SecondStackOperation { name }),
            false => Ok(()),
        }
    }
}

/// Returns the first message of a child's conversation. The child sees nothing else of its parent's
/// conversation.
fn briefing(objective: &str, context: &str, return_spec: &str) -> Result<String> {
    if objective.trim().is_empty() {
        return Err(Error::Empty { field: "objective" });
    }
    let mut text = format!("Objective: {}", hanging_indent(objective));
    for (heading, part) in [("Context", context), ("Return with pop_frame", return_spec)] {
        if !part.trim().is_empty() {
            text.push_str(&format!("\n\n{heading}: {}", hanging_indent(part)));
        }
    }
    Ok(text)
}

/// Returns the answer to an update of registers. It names the registers, and the values that were cut.
pub(crate) fn updated(registers: &RegisterValues) -> String {
    if registers.is_empty() {
        return "No register was named; none has changed.".into();
    }
    let names: Vec<&str> = registers.keys().map(|register| register.name()).collect();
    let mut text = format!("Updated {}.", names.join(", "));
    for (register, value) in registers {
        let kept = register.fitting(value);
        if kept.len() < value.len() {
            let cut: String = value[kept.len()..].chars().take(20).collect();
            text.push_str(&format!(
                " {} had {} characters and holds {}: the rest was cut, from {:?} on.",
                register.name(),
                value.chars().count(),
                register.limit(),
                visible(&cut)
            ));
        }
    }
    text
}

/// Returns the answer to a change of the heap, with its usage and, if it is too large, a warning.
pub(crate) fn stored(what: &str, name: &str, usage: HeapUsage) -> String {
    let mut text = format!("The chunk {} is {what}. Heap: {usage}.", one_line(name));
    if let Some(warning) = usage.warning() {
        text.push_str(&format!("\n{warning}"));
    }
    text
}
