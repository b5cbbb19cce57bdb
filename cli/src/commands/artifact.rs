//! `callstack artifact`: records in a frame what its work has made.

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
    /// A path, a URL or a name.
    artifact: String,
}

/// An artifact that was recorded.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedArtifact {
    #[serde(flatten)]
    frame: ChangedFrame,
    artifact: String,
    /// False if the frame had it already.
    is_new: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for RecordedArtifact {
    const KIND: &'static str = "artifactRecorded";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let done = if self.is_new { "recorded the artifact in" } else { "the artifact was already recorded in" };
        page.line(self.frame.line_with(done, ""))?;
        next(page, &self.same_stack, format_args!("callstack show {}", self.frame.handle))
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<RecordedArtifact, Failure> {
    let Arguments { frame, artifact } = arguments;
    input::check_not_forgotten(frame.as_ref(), &artifact, "the artifact")?;
    let stack = folder.open_to_write()?;
    let handle = named_or_active(&stack, frame)?;
    let is_new = stack.add_artifact(handle, artifact.clone())?;
    let frame = stack.read(|tree| ChangedFrame::of(tree, handle))?;
    Ok(RecordedArtifact { frame, artifact, is_new, same_stack: folder.same_stack() })
}
