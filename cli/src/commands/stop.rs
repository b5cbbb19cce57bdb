//! `callstack stop`: stops frames that hosts run, workers have or conversations work in.

use std::{io, slice};

use callstack_core::{Error, FrameRef, Handle, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, next};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

/// Maximum number of stopped frames that the text names.
const SHOWN: usize = 20;

/// The reason of a stop if none is given.
pub const REASON: &str = "by a person";

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, its title, or the beginning of one of these. It is stopped, and so is
    /// what runs below it.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    frame: Option<FrameRef>,
    /// Stop all frames that hosts run, workers have or conversations work in.
    #[arg(long)]
    all: bool,
    /// Why they are stopped. Their parents see it. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", default_value = REASON, allow_hyphen_values = true)]
    reason: String,
}

/// The frames that were stopped. They are blocked, and can be answered or retried.
#[derive(Serialize, JsonSchema)]
pub struct Stopped {
    stopped: Vec<ChangedFrame>,
    /// The frame that was named.
    #[serde(skip)]
    top: Option<Handle>,
    /// True if everything there has ended, so that nothing was recorded.
    #[serde(skip)]
    is_over: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Stopped {
    const KIND: &'static str = "stopped";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Some(first) = self.stopped.first() else {
            return self.write_nothing_ran(page);
        };
        for frame in self.stopped.iter().take(SHOWN) {
            page.line(frame.line("stopped"))?;
        }
        if self.stopped.len() > SHOWN {
            page.text(0, &format!("and {} more", self.stopped.len() - SHOWN))?;
        }
        let handle = first.handle;
        next(
            page,
            &self.same_stack,
            format_args!(
                "`callstack answer {handle} TEXT` lets it continue, `callstack retry {handle}` makes a new attempt"
            ),
        )
    }
}

impl Stopped {
    /// The stop is recorded even so, because hosts queue frames that the stack does not know.
    fn write_nothing_ran(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.is_over {
            page.text(0, "everything there has ended; there is nothing to stop")?;
            return next(page, &self.same_stack, "callstack tree");
        }
        page.text(0, "nothing runs there; what hosts have queued there will not begin")?;
        match self.top {
            Some(top) => {
                let step = format_args!("`callstack invalidate {top} REASON` takes it out of the plan");
                next(page, &self.same_stack, step)
            }
            None => next(page, &self.same_stack, "callstack tree"),
        }
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Stopped, Failure> {
    let reason = input::text(arguments.reason)?;
    if reason.trim().is_empty() {
        return Err(Error::Empty { field: "reason" }.into());
    }
    let stack = folder.open_to_write()?;
    let top = arguments.frame.map(|frame| stack.resolve(frame)).transpose()?;
    stop(&stack, top, reason, folder.same_stack())
}

/// Stops what hosts run, and workers have, from a frame downwards, or everything.
pub fn stop(stack: &Stack, top: Option<Handle>, reason: String, same_stack: SameStack) -> Result<Stopped, Failure> {
    stack.work().note_interruptions();
    let stopped = match top {
        Some(top) => stack.stop(top, reason)?,
        None => stack.stop_all(reason)?,
    };
    let is_over = stack.read(|tree| {
        let tops = top.as_ref().map_or(tree.roots(), slice::from_ref);
        tops.iter().all(|top| !tree.node(*top).is_unfinished_at_or_below())
    })?;
    let stopped = stack.read(|tree| stopped.iter().map(|frame| ChangedFrame::of(tree, *frame)).collect())?;
    Ok(Stopped { stopped, top, is_over, same_stack })
}
