//! `callstack invalidate`: removes a frame from the plan.

use std::io;

use callstack_core::{FrameRef, FrameStatus, Handle, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, list, next};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, the beginning of its ID, or its title. It may be in any state, also completed or failed:
    /// its results are then no longer used. The planned frames below it are removed with it.
    frame: FrameRef,
    /// Why it is removed. `-` reads the standard input.
    reason: String,
}

/// The frame that was removed from the plan, and whom it concerns.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invalidated {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// Its status before.
    from: FrameStatus,
    reason: String,
    /// The frames below it that were planned. They are invalidated too.
    invalidated_below: Vec<Handle>,
    /// Frames below it that are still in_progress or blocked. They did not change.
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
        list(page, "invalidated below it", &self.invalidated_below)?;
        list(page, "still open below it", &self.still_open)?;
        list(page, "needed by frames that have begun", &self.begun_dependents)?;
        list(page, "needed by planned frames, which cannot begin", &self.planned_dependents)?;
        let step = match (&self.planned_dependents[..], &self.still_open[..]) {
            ([waiting, ..], _) => format!(
                "`callstack edit {waiting} --depends-on OTHER` gives {waiting} another dependency, `callstack edit {waiting} \
                 --no-dependencies` none"
            ),
            ([], [open, ..]) => {
                format!(
                    "`callstack stop {open}` if an agent works on it; `callstack invalidate {open} REASON` removes it too"
                )
            }
            ([], []) => "callstack tree".to_owned(),
        };
        next(page, &self.same_stack, step)
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Invalidated, Failure> {
    let reason = input::text(arguments.reason)?;
    let stack = folder.open_to_write()?;
    let handle = stack.resolve(arguments.frame)?;
    invalidate(&stack, handle, reason, folder.same_stack())
}

/// Removes a frame from the plan.
pub fn invalidate(
    stack: &Stack,
    handle: Handle,
    reason: String,
    same_stack: SameStack,
) -> Result<Invalidated, Failure> {
    let from = stack.read(|tree| tree.node(handle).status())?;
    let done = stack.invalidate(handle, reason.clone())?;
    Ok(stack.read(|tree| {
        let is_planned = |frame: &Handle| tree.node(*frame).status() == FrameStatus::Planned;
        let (planned_dependents, begun_dependents) = done.dependents.into_iter().partition(is_planned);
        Invalidated {
            frame: ChangedFrame::of(tree, handle),
            from,
            reason,
            invalidated_below: done.invalidated.into_iter().filter(|frame| *frame != handle).collect(),
            still_open: done.still_open,
            planned_dependents,
            begun_dependents,
            same_stack,
        }
    })?)
}
