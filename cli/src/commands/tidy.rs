//! `callstack tidy`: removes what was planned and can never begin.

use std::io;

use callstack_core::{FrameRef, Handle, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{list, next};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, count};
use crate::same_stack::SameStack;

/// The reason for the frames that are removed.
const REASON: &str = "The frame above it has ended without it";

#[derive(Args)]
pub struct Arguments {
    /// Only the frames below this frame.
    #[arg(value_name = "FRAME")]
    frame: Option<FrameRef>,
    /// Only list them.
    #[arg(long)]
    dry_run: bool,
    /// Why they are removed. Default: the frame above has ended without them.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Planned frames below frames that have ended, which were removed from the plan.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tidied {
    frames: Vec<Handle>,
    /// True: they were only listed.
    dry_run: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Tidied {
    const KIND: &'static str = "tidied";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let found = count(self.frames.len(), "planned frame");
        match (self.frames.is_empty(), self.dry_run) {
            (true, _) => {
                return page.line(Line::new().plain("Nothing to tidy: no planned frame is below one that has ended."));
            }
            (false, true) => page.line(Line::new().plain(format!("{found} can never begin")))?,
            (false, false) => page.line(Line::new().plain(format!("removed {found} from the plan")))?,
        }
        list(page, "the frame above has ended", &self.frames)?;
        next(page, &self.same_stack, if self.dry_run { "callstack tidy" } else { "`callstack undo` takes it back" })
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Tidied, Failure> {
    let Arguments { frame, dry_run, reason } = arguments;
    let found = |stack: &Stack| {
        let below = frame.clone().map(|frame| stack.resolve(frame)).transpose()?;
        stack.read(|tree| tree.leftovers(below))
    };
    let frames = match dry_run {
        true => {
            let stack = folder.open_to_read()?;
            found(&stack)?
        }
        false => {
            let stack = folder.open_to_write()?;
            let frames = found(&stack)?;
            if !frames.is_empty() {
                stack.invalidate_all(frames.clone(), reason.unwrap_or_else(|| REASON.to_owned()), false)?;
            }
            frames
        }
    };
    Ok(Tidied { frames, dry_run, same_stack: folder.same_stack() })
}
