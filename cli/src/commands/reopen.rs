//! `callstack reopen`: reopens a completed frame that turned out to be wrong.

use std::io;

use callstack_core::{FrameRef, Handle};
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
    /// The frame: its handle, its ID, its title, or the beginning of one of these. It must be completed.
    frame: FrameRef,
    /// What is wrong. The agent or person that continues the frame sees it. `-` reads the standard input.
    reason: String,
}

/// The frame that was reopened. It is the active frame now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reopened {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// Planned frames that depend on it. They wait again.
    waiting: Vec<Handle>,
    /// Frames that depend on it and have begun or ended: they have used results that were wrong.
    begun: Vec<Handle>,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Reopened {
    const KIND: &'static str = "reopened";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(self.frame.line("reopened"))?;
        list(page, "wait for it again", &self.waiting)?;
        list(page, "have used its results", &self.begun)?;
        match self.begun.first() {
            Some(begun) => next(page, &self.same_stack, format_args!("callstack show {begun}")),
            None => next(page, &self.same_stack, format_args!("callstack pop {} --results TEXT", self.frame.handle)),
        }
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Reopened, Failure> {
    let reason = input::text(arguments.reason)?;
    let stack = folder.open_to_write()?;
    let reopened = stack.reopen(arguments.frame, reason)?;
    Ok(Reopened {
        frame: stack.read(|tree| ChangedFrame::of(tree, reopened.handle))?,
        waiting: reopened.waiting,
        begun: reopened.begun,
        same_stack: folder.same_stack(),
    })
}
