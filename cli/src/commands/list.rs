//! `callstack list`: the frames as a flat list, in the order of the plan.

use std::io;

use callstack_core::{FrameRef, FrameStatus, Handle};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::frame_line::{FrameLine, left_out};
use super::marks::Marked;
use super::tree::{Statuses, statuses};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};

#[derive(Args)]
pub struct Arguments {
    /// Only frames below this one.
    #[arg(value_name = "FRAME")]
    below: Option<FrameRef>,
    /// Only frames of this status, as in `callstack tree --status`. Default: unfinished ones.
    #[arg(long, short, value_name = "STATUS", value_delimiter = ',', value_parser = statuses)]
    status: Vec<Statuses>,
    /// Frames of all statuses.
    #[arg(long, short, conflicts_with = "status")]
    all: bool,
    #[command(flatten)]
    marked: Marked,
    /// Maximum number of frames: the first ones.
    #[arg(long, short = 'n', value_name = "FRAMES")]
    limit: Option<usize>,
}

/// Frames in the order of the plan.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameList {
    frames: Vec<ListedFrame>,
    /// Number of further ones, which `--limit` leaves out.
    more: usize,
    #[serde(skip)]
    below: Option<Handle>,
    #[serde(skip)]
    restriction: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedFrame {
    #[serde(flatten)]
    frame: FrameLine,
    /// The frame above it; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Handle>,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<FrameList, Failure> {
    let stack = folder.open_to_read()?;
    let below = arguments.below.as_ref().map(|below| stack.resolve(below.clone())).transpose()?;
    let chosen = match (&arguments.status[..], arguments.all) {
        (_, true) => FrameStatus::ALL.to_vec(),
        ([], false) => FrameStatus::named("unfinished").unwrap_or_default().to_vec(),
        (statuses, false) => statuses.concat(),
    };
    Ok(stack.read(|tree| {
        let tops = below.map_or_else(|| tree.roots().to_vec(), |below| tree.children(below).to_vec());
        let all = tops.iter().flat_map(|top| tree.subtree(*top));
        let handles: Vec<Handle> = all
            .filter(|handle| chosen.contains(&tree.node(*handle).status()) && arguments.marked.fits(tree, *handle))
            .collect();
        let shown = handles.len().min(arguments.limit.unwrap_or(usize::MAX));
        let frames = handles[..shown]
            .iter()
            .map(|handle| ListedFrame { frame: FrameLine::of(tree, *handle), parent: tree.node(*handle).parent() });
        FrameList {
            frames: frames.collect(),
            more: handles.len() - shown,
            below,
            restriction: arguments.marked.restriction(),
        }
    })?)
}

impl Report for FrameList {
    const KIND: &'static str = "frames";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.frames.is_empty() && self.more == 0 {
            let below = self.below.map(|below| format!(" below {below}")).unwrap_or_default();
            return page.line(
                Line::new()
                    .plain(format!("No such frame{below}{}. --all lists frames of all statuses.", self.restriction)),
            );
        }
        for ListedFrame { frame, parent } in &self.frames {
            frame.write_entry(page, *parent)?;
        }
        left_out(page, self.more)
    }
}
