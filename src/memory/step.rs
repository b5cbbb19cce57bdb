//! The steps of a run: its current frame, its status, and the prompt for the model.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use super::heap;
use super::prompt::system_prompt;
use super::section::{section, without_tags};
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, MemoryModel, Message, Register, RunSettings, ToolCall};
use crate::text::{hanging_indent, one_line};
use crate::tree::{Conversation, RunState, Tree};

/// Number of consecutive steps with the same tool calls from which the prompt warns the model.
const REPEATS_TOLD: usize = 3;

/// The next thing that a run needs from its host.
///
/// In JSON the key `next` names the variant: `{"next": "ask", "system": "…", "messages": […], …}`, `{"next":
/// "call", "id": "call_1", "name": "read_file", "arguments": "{}"}` or `{"next": "over", "status":
/// "completed", "results": "…"}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "next", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Next {
    /// Ask a model with this prompt, and record its reply with [`Run::reply`](crate::stack::Run::reply).
    Ask(Prompt),
    /// Answer this tool call of the model. If it is about agent memory, use
    /// [`Run::operate`](crate::stack::Run::operate). If not, execute it and record the answer with
    /// [`Run::answer`](crate::stack::Run::answer).
    Call(ToolCall),
    /// Nothing: the run is over, because the root frame is not open any more.
    Over {
        /// The status of the root frame.
        status: FrameStatus,
        /// The results of the root frame; empty if it has none.
        results: String,
    },
}

/// The prompt for a model in one step.
///
/// In JSON: `{"step": 1, "frame": "f1", "depth": 0, "system": "…", "messages": [{"role": "user", "text":
/// "…"}]}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The number of the step, from 1.
    pub step: u64,
    /// The current frame of the run.
    pub frame: Handle,
    /// The depth of the current frame in the run. The root of the run has depth 0.
    pub depth: usize,
    /// The system prompt. It is the same in every step of a run.
    pub system: String,
    /// The conversation of the current frame, in order. The text of the newest message ends with a section
    /// `<memory>`: the step, the frame, the registers and the heap.
    ///
    /// This section changes in every step. It comes last, so that prompt caches keep everything before it. It
    /// is not a separate message, because not every model accepts a user message after tool messages.
    ///
    /// With [`RunSettings::shared_results`], the text of the first message begins with the element
    /// `<stack-context>` if the frame is not the root. It has the criteria of the frames above this frame,
    /// and the results of the finished frames next to this frame and next to those above it. It stays the
    /// same while the frame works, unless another actor changes these frames.
    ///
    /// No other text makes such a section: `<memory>` and `</memory>` in a message, a chunk or a register are
    /// `&lt;memory>` and `&lt;/memory>`.
    pub messages: Vec<Arc<Message>>,
    /// Length of the element `<stack-context>` in the first message, with the blank line after it, in bytes.
    #[serde(skip)]
    pub(super) surroundings: usize,
}

/// The status of a run.
///
/// In JSON: `{"settings": {…}, "steps": 4, "frame": "f3", "depth": 2, "repeats": 1}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunStatus {
    /// The settings with which the run was started.
    pub settings: RunSettings,
    /// Number of steps, that is, of replies of a model.
    pub steps: u64,
    /// The current frame of the run.
    pub frame: Handle,
    /// The depth of the current frame in the run. The root of the run has depth 0.
    pub depth: usize,
    /// Number of consecutive steps with the same tool calls in the current frame, up to and including the
    /// last step; 0 before the first step. Updates of registers are ignored in steps that also call other
    /// tools.
    pub repeats: usize,
}

/// The current frame of a run, and its depth.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) run: RunState,
    pub(super) frame: Handle,
    pub(super) depth: usize,
}

pub(super) fn position(tree: &Tree, root: Handle) -> Result<Position> {
    let run = *tree.node(root).conversation().and_then(|own| own.run()).ok_or(Error::NoRun { handle: root })?;
    let (mut frame, mut depth) = (root, 0);
    while let Some(child) = open_child(tree, frame) {
        (frame, depth) = (child, depth + 1);
    }
    Ok(Position { run, frame, depth })
}

/// Returns the status of the run with this root.
pub(crate) fn status(tree: &Tree, root: Handle) -> Result<RunStatus> {
    let Position { run, frame, depth } = position(tree, root)?;
    let repeats = repeats(conversation(tree, frame));
    Ok(RunStatus { settings: run.settings, steps: run.steps, frame, depth, repeats })
}

/// Returns the child that is open in the same run. It can only be the newest one, because the children of a
/// run's frame work one after the other.
fn open_child(tree: &Tree, frame: Handle) -> Option<Handle> {
    newest_child(tree, frame).filter(|child| tree.node(*child).status().is_open())
}

/// Returns the newest child that a tool call of the frame's model has pushed.
pub(super) fn newest_child(tree: &Tree, frame: Handle) -> Option<Handle> {
    let is_called = |child: &Handle| tree.node(*child).conversation().is_some_and(|own| own.call().is_some());
    tree.children(frame).iter().rev().copied().find(is_called)
}

/// Returns the next thing that a run needs from its host. `surroundings` returns what a frame sees of other
/// frames, in at most the given number of tokens.
pub(crate) fn next(
    tree: &Tree,
    root: Handle,
    surroundings: impl FnOnce(&Tree, Handle, usize) -> String,
) -> Result<Next> {
    let position = position(tree, root)?;
    let record = tree.node(root).record();
    if !record.status.is_open() {
        return Ok(Next::Over { status: record.status, results: record.results.clone().unwrap_or_default() });
    }
    match pending(tree.node(position.frame).conversation()).first() {
        Some(call) => Ok(Next::Call(call.clone())),
        None => {
            let RunSettings { shared_results, results_budget, .. } = position.run.settings;
            let shared = match shared_results && position.depth > 0 {
                true => surroundings(tree, position.frame, results_budget),
                false => String::new(),
            };
            Ok(Next::Ask(prompt(tree, root, position, &shared)))
        }
    }
}

pub(super) fn conversation(tree: &Tree, frame: Handle) -> &[Arc<Message>] {
    tree.node(frame).conversation().map_or(&[], |own| own.messages())
}

/// Returns the tool calls of the model's last message that have no answer yet, in order.
pub(super) fn pending(conversation: Option<&Conversation>) -> &[ToolCall] {
    let (calls, answers) = last_step(conversation);
    // Only the next call can be answered, so the answers have the order of the calls.
    calls.get(answers.len()..).unwrap_or_default()
}

/// Returns the tool calls of the model's last message, and the messages after it that answer them, in their
/// order.
pub(super) fn last_step(conversation: Option<&Conversation>) -> (&[ToolCall], &[Arc<Message>]) {
    let reply = conversation.and_then(Conversation::last_reply);
    let Some((Message::Assistant { calls, .. }, after)) = reply else { return (&[], &[]) };
    let answers = after.partition_point(|message| matches!(**message, Message::Tool { .. }));
    (calls, &after[..answers])
}

/// Returns true if the user has sent a message since the model's last message.
pub(super) fn is_told(conversation: Option<&Conversation>) -> bool {
    let newest = conversation.and_then(Conversation::last_reply).and_then(|(_, after)| after.last());
    newest.is_some_and(|message| matches!(**message, Message::User { .. }))
}

/// Returns the number of consecutive messages of the model, up to the last one, with the same tool calls.
/// Updates of registers are ignored in messages that also call other tools.
fn repeats(messages: &[Arc<Message>]) -> usize {
    let mut steps = messages.iter().rev().filter_map(|message| match &**message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    let Some(last) = steps.next() else { return 0 };
    1 + steps.take_while(|calls| actions(calls).eq(actions(last))).count()
}

fn actions(calls: &[ToolCall]) -> impl Iterator<Item = (&str, &str)> {
    let is_note = |call: &&ToolCall| call.name == "update_registers";
    let only_notes = calls.iter().all(|call| is_note(&call));
    calls
        .iter()
        .filter(move |call| only_notes || !is_note(call))
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
}

fn prompt(tree: &Tree, root: Handle, position: Position, shared: &str) -> Prompt {
    let Position { run, frame, depth } = position;
    let mut messages: Vec<_> = conversation(tree, frame).iter().map(harmless).collect();
    let mut surroundings = 0;
    if let Some(first) = messages.first_mut().filter(|_| !shared.is_empty()) {
        // It comes before the briefing, because frames with one parent have the same text up to the end of
        // their ancestors.
        *first = Arc::new(first.with_text([shared, "\n", first.text()].concat()));
        surroundings = shared.len() + 1;
    }
    let memory = section(&memory(tree, position));
    match messages.last_mut() {
        Some(newest) => *newest = Arc::new(newest.followed_by(&memory)),
        // The conversation of this frame is gone, so the prompt contains only the memory section.
        None => messages.push(Arc::new(Message::User { text: memory })),
    }
    let tools = tree.node(root).conversation().map_or("", |own| own.tools());
    let system = system_prompt(&run.settings, tools);
    Prompt { step: run.steps + 1, frame, depth, system, messages, surroundings }
}

/// Returns a message without tags of the section `<memory>`.
fn harmless(message: &Arc<Message>) -> Arc<Message> {
    match without_tags(message.text()) {
        Cow::Borrowed(_) => message.clone(),
        Cow::Owned(text) => Arc::new(message.with_text(text)),
    }
}

/// Returns the body of the section `<memory>`. The lines of its texts are indented or fenced.
fn memory(tree: &Tree, Position { run, frame, depth }: Position) -> String {
    let (settings, step) = (run.settings, run.steps + 1);
    let node = tree.node(frame);
    let chunks = tree.chunks(frame);
    let size: usize = chunks.iter().map(|(_, chunk)| chunk.content.len() + 200).sum();
    let mut text = String::with_capacity(size + 5_000);
    let _ = writeln!(
        text,
        "Step {step}, frame {frame} ({}), depth {depth} of {}.",
        one_line(node.title()),
        settings.max_depth
    );
    let repeats = repeats(conversation(tree, frame));
    if repeats >= REPEATS_TOLD {
        let _ = writeln!(text, "You have made the same call {repeats} times in a row. Do something else.");
    }
    if settings.memory == MemoryModel::Registers {
        text.push_str("\nREGISTERS\n");
        let registers = node.record().registers.as_deref();
        for register in Register::ALL {
            let value = registers.map_or("", |registers| registers.get(*register));
            let _ = writeln!(text, "{}: {}", register.name(), hanging_indent(value));
        }
    }
    heap::write_section(&chunks, step, settings.heap_ceiling, &mut text);
    text
}
