//! `callstack ready`: what can begin now.

use std::io;

use callstack_core::{FrameRef, Handle};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::frame_line::{FrameLine, left_out};
use super::marks::Marked;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};

#[derive(Args)]
pub struct Arguments {
    /// Only frames below this one.
    #[arg(long, value_name = "FRAME")]
    below: Option<FrameRef>,
    #[command(flatten)]
    marked: Marked,
    /// Maximum number of frames: the first ones.
    #[arg(long, value_name = "FRAMES")]
    limit: Option<usize>,
}

/// The planned frames that can begin, in the order of the plan.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    frames: Vec<ReadyFrame>,
    /// Number of further ones, which `--limit` leaves out.
    more: usize,
    #[serde(skip)]
    restriction: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReadyFrame {
    #[serde(flatten)]
    frame: FrameLine,
    /// The frame above it; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Handle>,
    /// The compacted success criteria, or the full ones. Can be empty.
    criteria: String,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Ready, Failure> {
    let stack = folder.open_to_read()?;
    let below = arguments.below.as_ref().map(|below| stack.resolve(below.clone())).transpose()?;
    Ok(stack.read(|tree| {
        let is_below = |handle: &Handle| below.is_none_or(|below| tree.is_ancestor(below, *handle));
        let handles: Vec<Handle> =
            tree.ready().filter(is_below).filter(|handle| arguments.marked.fits(tree, *handle)).collect();
        let shown = handles.len().min(arguments.limit.unwrap_or(usize::MAX));
        let frames = handles[..shown].iter().map(|handle| {
            let node = tree.node(*handle);
            let criteria = node.record().dense_criteria().to_owned();
            ReadyFrame { frame: FrameLine::of(tree, *handle), parent: node.parent(), criteria }
        });
        let restriction = arguments.marked.restriction();
        Ready { frames: frames.collect(), more: handles.len() - shown, restriction }
    })?)
}

impl Report for Ready {
    const KIND: &'static str = "ready";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.frames.is_empty() && self.more == 0 {
            return page.line(Line::new().plain(format!("No planned frame{} can begin.", self.restriction)));
        }
        for ReadyFrame { frame, parent, .. } in &self.frames {
            frame.write_entry(page, *parent)?;
        }
        left_out(page, self.more)
    }
}
