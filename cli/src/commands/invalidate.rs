//! `callstack invalidate`: removes frames from the plan.

use std::io;

use callstack_core::{FrameRef, FrameStatus, Handle, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, list, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// The frames: handles, IDs, titles, or beginnings of these. They may be in any state, also completed or
    /// failed: their results are then no longer used. The planned frames below them are removed with them.
    #[arg(required = true, num_args = 1.., value_name = "FRAME")]
    frames: Vec<FrameRef>,
    /// Why they are removed. `-` reads the standard input.
    #[arg(required = true, value_name = "REASON")]
    reason: String,
    /// Also remove the frames below them that are in progress or blocked. The hosts stop the agents that work
    /// there.
    #[arg(long)]
    subtree: bool,
}

/// The frame that was removed from the plan, and the frames that this concerns.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invalidated {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// The other frames that were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<ChangedFrame>,
    /// Its status before.
    from: FrameStatus,
    reason: String,
    /// The frames below those that were named, which are invalidated too.
    invalidated_below: Vec<Handle>,
    /// Frames below them that are still in_progress or blocked. They did not change.
    still_open: Vec<Handle>,
    /// Planned frames that depend on an invalidated one. They cannot begin.
    planned_dependents: Vec<Handle>,
    /// Frames that have begun and depend on an invalidated one.
    begun_dependents: Vec<Handle>,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Invalidated {
    const KIND: &'static str = "invalidated";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let was = if self.from.is_finished() { format!(", which was {}", self.from) } else { String::new() };
        page.line(self.frame.line_with("invalidated", &was))?;
        for other in &self.others {
            page.line(other.line_with("invalidated", ""))?;
        }
        let them = if self.others.is_empty() { "it" } else { "them" };
        list(page, &format!("invalidated below {them}"), &self.invalidated_below)?;
        list(page, &format!("still open below {them}"), &self.still_open)?;
        list(page, "needed by frames that have begun", &self.begun_dependents)?;
        list(page, "needed by planned frames, which cannot begin", &self.planned_dependents)?;
        let step = match (&self.planned_dependents[..], &self.still_open[..]) {
            ([waiting, ..], _) => other_dependency(*waiting),
            ([], [open, ..]) => {
                format!(
                    "`callstack stop {open}` if an agent works on it; `callstack invalidate {open} REASON` removes it too (--subtree: at once)"
                )
            }
            ([], []) => "callstack tree".to_owned(),
        };
        next(page, &self.same_stack, step)
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Invalidated, Failure> {
    let Arguments { frames, reason, subtree } = arguments;
    let stack = folder.open_to_write()?;
    check_reason(&stack, &reason)?;
    let reason = input::text(reason)?;
    let mut handles: Vec<Handle> = Vec::new();
    for frame in frames {
        let handle = stack.resolve(frame)?;
        if !handles.contains(&handle) {
            handles.push(handle);
        }
    }
    invalidate(&stack, &handles, reason, subtree, folder.same_stack())
}

/// Refuses a reason that names a frame: the reason was forgotten, and the last frame is in its place.
fn check_reason(stack: &Stack, reason: &str) -> Result<(), Failure> {
    let is_frame = stack.read(|tree| {
        let named = tree.resolve(&FrameRef::from(reason)).ok();
        named.is_some_and(|named| reason == named.to_string() || tree.node(named).title().trim() == reason.trim())
    })?;
    if !is_frame {
        return Ok(());
    }
    let message = format!("`{reason}` is a frame, but the reason is missing");
    Err(Failure::new(Exit::Usage, "arguments", message)
        .next("callstack invalidate FRAME ... REASON, with the reason as the last argument"))
}

/// Removes frames from the plan; with `subtree` also the open frames below them. At least one frame is named.
pub fn invalidate(
    stack: &Stack,
    handles: &[Handle],
    reason: String,
    subtree: bool,
    same_stack: SameStack,
) -> Result<Invalidated, Failure> {
    let from = stack.read(|tree| tree.node(handles[0]).status())?;
    let done = stack.invalidate_all(handles.to_vec(), reason.clone(), subtree)?;
    Ok(stack.read(|tree| {
        let is_planned = |frame: &Handle| tree.node(*frame).status() == FrameStatus::Planned;
        let (planned_dependents, begun_dependents) = done.dependents.into_iter().partition(is_planned);
        Invalidated {
            frame: ChangedFrame::of(tree, handles[0]),
            others: handles[1..].iter().map(|handle| ChangedFrame::of(tree, *handle)).collect(),
            from,
            reason,
            invalidated_below: done.invalidated.into_iter().filter(|frame| !handles.contains(frame)).collect(),
            still_open: done.still_open,
            planned_dependents,
            begun_dependents,
            same_stack,
        }
    })?)
}

/// The advice for a planned frame that waits for an ended frame.
pub fn other_dependency(waiting: Handle) -> String {
    format!(
        "`callstack edit {waiting} --depends-on OTHER` gives {waiting} another dependency, `callstack edit {waiting} \
         --no-dependencies` none"
    )
}
