//! `callstack stop`: stops frames that hosts run.

use std::io;

use callstack_core::FrameRef;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, next};
use crate::failure::Failure;
use crate::folder::{SameStack, StackFolder};
use crate::input;
use crate::output::{Page, Report};

/// Maximum number of stopped frames that the text names.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, the beginning of its ID, or its title. It is stopped, and so is what runs below it.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    frame: Option<FrameRef>,
    /// Stop all frames that hosts run.
    #[arg(long)]
    all: bool,
    /// Why they are stopped. Their parents see it. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", default_value = "by a person", allow_hyphen_values = true)]
    reason: String,
}

/// The frames that were stopped. They are blocked, and can be answered or retried.
#[derive(Serialize, JsonSchema)]
pub struct Stopped {
    stopped: Vec<ChangedFrame>,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Stopped {
    const KIND: &'static str = "stopped";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Some(first) = self.stopped.first() else {
            return page.text(0, "no host runs a frame there; what is queued there does not begin");
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
            format_args!("`callstack answer {handle} TEXT` lets it go on, `callstack retry {handle}` begins it anew"),
        )
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Stopped, Failure> {
    let reason = input::text(arguments.reason)?;
    let stack = folder.open_to_write()?;
    stack.end_abandoned_calls();
    let stopped = match arguments.frame {
        Some(frame) => stack.stop(frame, reason)?,
        None => stack.stop_all(reason)?,
    };
    let stopped = stack.read(|tree| stopped.iter().map(|frame| ChangedFrame::of(tree, *frame)).collect());
    Ok(Stopped { stopped, same_stack: folder.same_stack() })
}
