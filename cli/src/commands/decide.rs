//! `callstack decide`: records a decision in a frame.

use std::io;

use callstack_core::FrameRef;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, named_or_active, next};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
#[command(allow_missing_positional = true)]
pub struct Arguments {
    /// The frame: its handle, its ID, its title, or the beginning of one of these. Default: the active frame.
    frame: Option<FrameRef>,
    /// The decision and its reason. `-` reads the standard input.
    decision: String,
}

/// A decision that was recorded.
#[derive(Serialize, JsonSchema)]
pub struct RecordedDecision {
    #[serde(flatten)]
    frame: ChangedFrame,
    decision: String,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for RecordedDecision {
    const KIND: &'static str = "decisionRecorded";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(self.frame.line_with("recorded the decision in", ""))?;
        next(page, &self.same_stack, format_args!("callstack show {}", self.frame.handle))
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<RecordedDecision, Failure> {
    let Arguments { frame, decision } = arguments;
    input::check_not_forgotten(frame.as_ref(), &decision, "the decision")?;
    let decision = input::text(decision)?;
    let stack = folder.open_to_write()?;
    let handle = named_or_active(&stack, frame)?;
    stack.add_decision(handle, decision.clone())?;
    let frame = stack.read(|tree| ChangedFrame::of(tree, handle))?;
    Ok(RecordedDecision { frame, decision, same_stack: folder.same_stack() })
}
