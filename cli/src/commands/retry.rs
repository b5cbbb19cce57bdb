//! `callstack retry`: plans the next attempt of a failed, blocked or interrupted frame.

use std::io;

use callstack_core::{Error, FrameRef, Handle, Stack};
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
    /// The frame: its handle, its ID, its title, or the beginning of one of these. It must be failed, blocked
    /// or interrupted.
    frame: FrameRef,
    /// What must be done differently, or the answer to what the frame waits for. `-` reads the standard
    /// input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

/// The next attempt, which is planned.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// The attempt before it.
    retry_of: Handle,
    /// Which attempt it is, counted from 1.
    attempt: usize,
    /// The frames below the earlier attempt that were planned. They are invalidated.
    invalidated: Vec<Handle>,
    /// Frames below the earlier attempt that are still in_progress or blocked. They did not change.
    still_open: Vec<Handle>,
    /// True if a worker had the earlier attempt, so that workers do this one.
    #[serde(skip)]
    has_worker: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Retried {
    const KIND: &'static str = "retried";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let behind = format!(", attempt {} in place of {}", self.attempt, self.retry_of);
        page.line(self.frame.line_with("planned", &behind))?;
        list(page, "invalidated below the earlier attempt", &self.invalidated)?;
        list(page, "still open below the earlier attempt", &self.still_open)?;
        match self.has_worker {
            true => page.text(0, "a worker begins it; if none runs: callstack work -- COMMAND"),
            false => next(page, &self.same_stack, format_args!("callstack activate {}", self.frame.handle)),
        }
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Retried, Failure> {
    let [note] = input::texts([arguments.note])?;
    let stack = folder.open_to_write()?;
    let retry_of = stack.resolve(arguments.frame)?;
    retry(&stack, retry_of, note, folder.same_stack())
}

/// Plans the next attempt of a frame.
pub fn retry(stack: &Stack, retry_of: Handle, note: Option<String>, same_stack: SameStack) -> Result<Retried, Failure> {
    if stack.read(|tree| tree.node(retry_of).record().held_by().is_some())? {
        stack.work().note_interruptions();
    }
    let retried = stack.retry(retry_of, note).map_err(|error| match error {
        Error::Held { .. } => {
            Failure::from(error).next("its host notices within a second that it was stopped; then repeat the command")
        }
        other => other.into(),
    })?;
    Ok(Retried {
        has_worker: stack.read(|tree| tree.node(retry_of).record().worker().is_some())?,
        frame: stack.read(|tree| ChangedFrame::of(tree, retried.handle))?,
        retry_of,
        attempt: retried.attempt,
        invalidated: retried.invalidated,
        still_open: retried.still_open,
        same_stack,
    })
}
