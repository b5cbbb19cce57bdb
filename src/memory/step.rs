//! A step of a run: where the run is, and what a model is asked.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use super::heap;
use super::prompt::system_prompt;
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, MemoryModel, Message, Register, RunSettings, ToolCall};
use crate::tree::{RunState, Tree};

/// Steps with the same calls in a row from which on the model is told so.
const REPEATS_TOLD: usize = 3;

/// What a run needs next.
///
/// In JSON the key `next` names the variant: `{"next": "ask", "system": "…", "messages": […], …}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "next", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Next {
    /// Ask a model, and bring what it says with [`Run::reply`](crate::stack::Run::reply).
    Ask(Prompt),
    /// Deal with this call of the model: by [`Run::operate`](crate::stack::Run::operate) if it is about memory, else by
    /// doing what it asks for and [`Run::answer`](crate::stack::Run::answer).
    Call(ToolCall),
    /// Nothing: the root frame is finished.
    Over {
        /// How it ended.
        status: FrameStatus,
        /// Its results.
        results: String,
    },
}

/// What a model is asked in a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The number of the step, from 1 on.
    pub step: u64,
    /// The present frame.
    pub frame: Handle,
    /// How many frames are above it.
    pub depth: usize,
    /// The system prompt. The same in every step.
    pub system: Cow<'static, str>,
    /// The conversation of the present frame. The newest message ends with the memory: where the run is, the
    /// registers, the heap. It changes in every step, so it stands where it costs no prompt cache; and in the same
    /// message, because not every model takes one of the user's after those of tools.
    pub messages: Vec<Arc<Message>>,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunStatus {
    /// What it was started with.
    pub settings: RunSettings,
    /// How many times a model has answered.
    pub steps: u64,
    /// The present frame.
    pub frame: Handle,
    /// How many frames are above it.
    pub depth: usize,
    /// How many steps in a row, the last one included, have made the same calls in this frame.
    pub repeats: usize,
}

/// The present frame of a run.
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

/// Where the run of this root is.
pub(crate) fn status(tree: &Tree, root: Handle) -> Result<RunStatus> {
    let Position { run, frame, depth } = position(tree, root)?;
    let repeats = repeats(conversation(tree, frame));
    Ok(RunStatus { settings: run.settings, steps: run.steps, frame, depth, repeats })
}

/// The child that is at work in the same run: none before the newest one can be, for they work one after the other.
fn open_child(tree: &Tree, frame: Handle) -> Option<Handle> {
    newest_child(tree, frame).filter(|child| tree.node(*child).status().is_open())
}

/// The child that a call of the frame's model has pushed last.
pub(super) fn newest_child(tree: &Tree, frame: Handle) -> Option<Handle> {
    let is_called = |child: &Handle| tree.node(*child).conversation().is_some_and(|own| own.call().is_some());
    tree.children(frame).iter().rev().copied().find(is_called)
}

/// What a run needs next.
pub(crate) fn next(tree: &Tree, root: Handle) -> Result<Next> {
    let position = position(tree, root)?;
    let record = tree.node(root).record();
    if !record.status.is_open() {
        return Ok(Next::Over { status: record.status, results: record.results.clone().unwrap_or_default() });
    }
    match pending(conversation(tree, position.frame)).next() {
        Some(call) => Ok(Next::Call(call.clone())),
        None => Ok(Next::Ask(prompt(tree, root, position))),
    }
}

pub(super) fn conversation(tree: &Tree, frame: Handle) -> &[Arc<Message>] {
    tree.node(frame).conversation().map_or(&[], |own| own.messages())
}

/// The calls of the model's last message that have no answer yet, in order.
pub(super) fn pending(messages: &[Arc<Message>]) -> impl Iterator<Item = &ToolCall> {
    let (calls, answers) = last_step(messages);
    let is_answered =
        |id: &str| answers.iter().any(|answer| matches!(&**answer, Message::Tool { call, .. } if call == id));
    calls.iter().filter(move |call| !is_answered(&call.id))
}

/// The calls of the model's last message, and what came after it.
pub(super) fn last_step(messages: &[Arc<Message>]) -> (&[ToolCall], &[Arc<Message>]) {
    for (place, message) in messages.iter().enumerate().rev() {
        if let Message::Assistant { calls, .. } = &**message {
            return (calls, &messages[place + 1..]);
        }
    }
    (&[], messages)
}

/// How many of the model's last messages in a row made the same calls. What it notes in its registers meanwhile
/// does not count, unless it does nothing else.
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

fn prompt(tree: &Tree, root: Handle, position: Position) -> Prompt {
    let Position { run, frame, depth } = position;
    let mut messages = conversation(tree, frame).to_vec();
    let memory = memory(tree, position);
    match messages.last_mut() {
        Some(newest) => *newest = Arc::new(newest.followed_by(&memory)),
        // Of a frame whose conversation is gone the memory is all there is.
        None => messages.push(Arc::new(Message::User { text: memory })),
    }
    let tools = tree.node(root).conversation().map_or("", |own| own.tools());
    Prompt { step: run.steps + 1, frame, depth, system: system_prompt(run.settings.memory, tools), messages }
}

/// What stands at the end of the newest message.
fn memory(tree: &Tree, Position { run, frame, depth }: Position) -> String {
    let (settings, step) = (run.settings, run.steps + 1);
    let node = tree.node(frame);
    let chunks = tree.chunks(frame);
    let size: usize = chunks.iter().map(|(_, chunk)| chunk.content.len() + 200).sum();
    let mut text = String::with_capacity(size + 5_000);
    let _ = writeln!(
        text,
        "\n\n<memory>\nStep {step}, frame {frame} ({}), depth {depth} of {}.",
        node.title(),
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
            let _ = writeln!(text, "{}: {value}", register.name());
        }
    }
    heap::write_section(&chunks, step, settings.heap_ceiling, &mut text);
    text.push_str("</memory>");
    text
}
