//! `callstack pop`: finishes a frame with results, or blocks it.

use std::io;
use std::path::PathBuf;

use callstack_core::frame::Holder;
use callstack_core::{Actor, Error, FrameRef, FrameStatus, Handle, HolderKind, PopStatus, Results, Stack, Tree};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, list, named_or_active, next};
use crate::clock::now;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input::{self, misused};
use crate::output::{Line, Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, its title, or the beginning of one of these. Default: the active frame,
    /// unless a session of an agent works on it.
    frame: Option<FrameRef>,
    /// The new status. Default: completed; with --question blocked.
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// The results: what exists now, where, and how it is used. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    results: Option<String>,
    /// Read the results from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "results")]
    results_file: Option<PathBuf>,
    /// The results in a few short sentences, for the prompts of other frames.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    results_compacted: Option<String>,
    /// Block the frame: what it needs, and who can give it. The results are then the results so far.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    question: Option<String>,
    /// Complete the frame although frames below it are open or planned.
    #[arg(long)]
    anyway: bool,
    /// What to do if the results and the question are empty. Default: give the options of this command.
    #[arg(skip)]
    advice: Option<&'static str>,
}

impl Arguments {
    /// The arguments that complete a frame, with the results as the only words.
    pub fn completing(frame: Option<FrameRef>, results: String, anyway: bool) -> Self {
        let advice = "say what exists now, where, and how it is used: callstack done [FRAME] RESULTS";
        Self { status: Some(Status::Completed), results: Some(results), anyway, ..Self::of(frame, advice) }
    }

    /// The arguments that block a frame, with the question as the only words.
    pub fn blocking(frame: Option<FrameRef>, question: String) -> Self {
        let advice = "say what the frame needs, and who can give it: callstack block [FRAME] QUESTION";
        Self { question: Some(question), ..Self::of(frame, advice) }
    }

    fn of(frame: Option<FrameRef>, advice: &'static str) -> Self {
        Self {
            frame,
            status: None,
            results: None,
            results_file: None,
            results_compacted: None,
            question: None,
            anyway: false,
            advice: Some(advice),
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Status {
    /// The success criteria are met.
    Completed,
    /// They cannot be met; the results say why.
    Failed,
    /// The frame waits for an answer; --question says for what it asks, else the results.
    Blocked,
}

/// The popped frame, and what is left to do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Popped {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// What the frame waits for, if it is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    /// The active frame now.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<ChangedFrame>,
    /// Frames below it that are in_progress or blocked. They did not change.
    still_open: Vec<Handle>,
    /// Frames below it that are planned.
    still_planned: Vec<Handle>,
    /// The first planned sibling that can begin now.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_ready: Option<Handle>,
    /// Another attempt can be planned where this frame is, if it failed.
    #[serde(skip)]
    can_be_retried: bool,
    /// Nothing is left below the active frame.
    #[serde(skip)]
    active_can_end: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Popped {
    const KIND: &'static str = "popped";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let handle = self.frame.handle;
        page.line(self.frame.line_with(self.frame.status.as_str(), ""))?;
        if let Some(waits_for) = &self.waits_for {
            page.text(0, &format!("waits for: {waits_for}"))?;
        }
        list(page, "still open below it", &self.still_open)?;
        list(page, "still planned below it", &self.still_planned)?;
        if let Some(active) = &self.active {
            page.line(Line::new().plain(format!("active: {} ", active.handle)).said(&active.title))?;
        }
        match (self.frame.status, self.next_ready, &self.active) {
            (FrameStatus::Blocked, ..) => next(page, &self.same_stack, format_args!("callstack answer {handle} TEXT")),
            (FrameStatus::Failed, ..) if self.can_be_retried => {
                next(page, &self.same_stack, format_args!("callstack retry {handle} --note TEXT"))
            }
            _ if !self.still_open.is_empty() => {
                next(page, &self.same_stack, format_args!("callstack tree --root {handle}"))
            }
            (_, Some(ready), _) => next(page, &self.same_stack, format_args!("callstack activate {ready}")),
            (_, None, Some(active)) if self.active_can_end => {
                next(page, &self.same_stack, format_args!("callstack pop {} --results TEXT", active.handle))
            }
            (_, None, Some(active)) => {
                next(page, &self.same_stack, format_args!("callstack tree --root {}", active.handle))
            }
            (_, None, None) => next(page, &self.same_stack, "callstack tree"),
        }
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Popped, Failure> {
    let Arguments { frame, status, results, results_file, results_compacted, question, anyway, advice } = arguments;
    let from_file = results_file.map(|file| input::content(&file)).transpose()?;
    let [results, compacted, question] = input::texts([results.or(from_file), results_compacted, question])?;
    let results = Results::new(results.unwrap_or_default()).compacted(compacted.unwrap_or_default());
    let status = status.unwrap_or(if question.is_some() { Status::Blocked } else { Status::Completed });
    if question.is_some() && status != Status::Blocked {
        return Err(misused("--question is for a frame that becomes blocked; leave out --status, or --question"));
    }
    let asks = question.as_deref().is_some_and(|question| !question.trim().is_empty());
    if !asks && results.dense().trim().is_empty() {
        let field = if status == Status::Blocked { "question" } else { "results" };
        return Err(Failure::from(Error::Empty { field }).next(advice.unwrap_or(match status {
            Status::Blocked => "say with --question what the frame needs, and who can give it",
            Status::Completed => "say with --results or --results-file what exists now, where, and how it is used",
            Status::Failed => "say with --results or --results-file what was tried, and why it failed",
        })));
    }
    let stack = folder.open_to_write()?;
    let handle = chosen(&stack, frame)?;
    let popped = match question {
        Some(question) => stack.block(handle, question, Some(results))?,
        None if status == Status::Completed && !anyway => {
            return complete(&stack, handle, results, folder.same_stack());
        }
        None => stack.pop(handle, status.into(), results)?,
    };
    told(&stack, handle, popped, folder.same_stack())
}

/// Completes a frame, unless something below it is open or planned.
pub fn complete(stack: &Stack, handle: Handle, results: Results, same_stack: SameStack) -> Result<Popped, Failure> {
    let popped = stack.complete(handle, results, None).map_err(refused)?;
    told(stack, handle, popped, same_stack)
}

/// What is said about a popped frame.
fn told(
    stack: &Stack,
    handle: Handle,
    popped: callstack_core::stack::Popped,
    same_stack: SameStack,
) -> Result<Popped, Failure> {
    Ok(stack.read(|tree| Popped {
        frame: ChangedFrame::of(tree, handle),
        waits_for: Some(tree.node(handle).record().waits_for()).filter(|text| !text.is_empty()).map(str::to_owned),
        active: popped.active.map(|active| ChangedFrame::of(tree, active)),
        active_can_end: popped.active.is_some_and(|active| !tree.node(active).has_unfinished_below()),
        still_open: popped.still_open,
        still_planned: popped.still_planned,
        can_be_retried: tree.node(handle).parent().is_none_or(|parent| tree.node(parent).status().is_unfinished()),
        // A command of a worker leaves it to the workers to begin the other frames.
        next_ready: next_ready(tree, handle).filter(|_| stack.actor().is_none_or(|actor| actor.hold.is_none())),
        same_stack,
    })?)
}

/// The refusal to complete a frame while something is left below it, in the words of the program.
fn refused(error: Error) -> Failure {
    let Error::PartsLeft { handle, .. } = error else { return error.into() };
    Failure::from(error).next(format!("`callstack tree --root {handle}`, or `callstack pop {handle} --anyway …` (or `callstack done {handle} RESULTS --anyway`)"))
}

/// The frame that is named, or the active one, unless an agent or another worker works on it.
fn chosen(stack: &Stack, named: Option<FrameRef>) -> Result<Handle, Failure> {
    let is_named = named.is_some();
    let handle = named_or_active(stack, named)?;
    if is_named {
        return Ok(handle);
    }
    let (has_session, has_worker, has_conversation) = stack.read(|tree| {
        let frame = tree.node(handle).record();
        let is_other = |holder: &Holder| holder.kind == HolderKind::Conversation && !holder.name.is_empty();
        let has_conversation = tree.holder(handle, now()).is_some_and(is_other);
        (frame.host().is_some() || frame.has_session(), frame.worker().is_some(), has_conversation)
    })?;
    let is_own = || stack.actor().and_then(Actor::frame) == Some(handle);
    let (code, owner) = match (has_session, has_worker) {
        (true, _) => ("frame_of_session", "a session"),
        _ if has_conversation => ("frame_of_conversation", "a conversation, which works in it"),
        (false, true) if !is_own() => ("frame_of_worker", "workers, which continue it"),
        _ => return Ok(handle),
    };
    let message = format!("{handle} is the active frame, but it belongs to {owner}; name it to pop it nevertheless");
    Err(Failure::new(Exit::Refused, code, message).next(format!("callstack pop {handle} --results TEXT")))
}

/// The first planned sibling of a finished frame that can begin.
fn next_ready(tree: &Tree, handle: Handle) -> Option<Handle> {
    let parent = tree.node(handle).parent().filter(|_| tree.node(handle).status().is_finished())?;
    tree.ready_children(parent, None).next()
}

impl From<Status> for PopStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Completed => PopStatus::Completed,
            Status::Failed => PopStatus::Failed,
            Status::Blocked => PopStatus::Blocked,
        }
    }
}
