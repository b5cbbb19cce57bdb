//! `callstack import`: adds the plan of another tool, or the frames of a state, to the stack.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use callstack_core::import::{self, Format, Imported, Problem};
use callstack_core::{Error, Frame, FrameRef, Handle, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::{SameStack, StackFolder};
use crate::input;
use crate::output::{Page, Report, count};

/// What can be imported.
const FORMATS: &str = "give tasks.json of Task Master, issues.jsonl of Beads, or the state.json of a stack";
/// Maximum number of roots, and of defects, that the text names.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct Arguments {
    /// The file: tasks.json of Task Master, issues.jsonl of Beads, or a state.json. `-` reads the standard input.
    file: PathBuf,
    /// Put the roots of the plan below this frame. Default: they are roots.
    #[arg(long, value_name = "FRAME", alias = "parent")]
    below: Option<FrameRef>,
    /// Create the stack if the folder has none: in the folder of --stack, else in .callstack of the working folder.
    #[arg(long)]
    new: bool,
}

/// The frames that were imported, and the defects of the file.
#[derive(Serialize, JsonSchema)]
pub struct ImportedPlan {
    /// The format of the file.
    format: PlanFormat,
    /// Number of imported frames.
    frames: usize,
    /// The frames at the top of the plan.
    tops: Vec<ChangedFrame>,
    /// Entries that were left out or changed.
    problems: Vec<Defect>,
    #[serde(skip)]
    same_stack: SameStack,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum PlanFormat {
    TaskMaster,
    Beads,
    State,
}

/// A defect of the file.
#[derive(Serialize, JsonSchema)]
struct Defect {
    /// The place of the defect: a line, a JSON path, or the ID of a frame.
    place: String,
    /// The defect, and what was done about it.
    message: String,
}

impl Report for ImportedPlan {
    const KIND: &'static str = "imported";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let format = match self.format {
            PlanFormat::TaskMaster => "a plan of Task Master",
            PlanFormat::Beads => "issues of Beads",
            PlanFormat::State => "a state",
        };
        page.text(0, &format!("imported {} from {format}", count(self.frames, "frame")))?;
        for top in self.tops.iter().take(SHOWN) {
            page.line(top.line("    with"))?;
        }
        if self.tops.len() > SHOWN {
            page.text(4, &format!("and {} more at the top", self.tops.len() - SHOWN))?;
        }
        if !self.problems.is_empty() {
            page.text(0, &format!("{} of the file:", count(self.problems.len(), "defect")))?;
        }
        for Defect { place, message } in self.problems.iter().take(SHOWN) {
            page.text(4, &format!("{place}: {message}"))?;
        }
        if self.problems.len() > SHOWN {
            page.text(4, &format!("and {} more; --json lists all", self.problems.len() - SHOWN))?;
        }
        match self.tops.first() {
            Some(top) => next(page, &self.same_stack, format_args!("callstack tree --root {}", top.handle)),
            None => Ok(()),
        }
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<ImportedPlan, Failure> {
    let text = input::content(&arguments.file)?;
    let format = format_of(&text).map_err(|error| Failure::from(error).next(FORMATS))?;
    let Imported { mut frames, problems, .. } = import::frames(&text)?;
    if frames.is_empty() {
        let reason = problems.first().map(|problem| format!(": {problem}")).unwrap_or_default();
        let message = format!("{} has no frames{reason}", arguments.file.display());
        return Err(Failure::new(Exit::Refused, "empty", message).next(FORMATS));
    }
    let stack = folder.open_or_create(arguments.new)?;
    if let Some(below) = arguments.below {
        place_below(&stack, below, &mut frames)?;
    }
    let imported = stack.import(frames).map_err(|error| match &error {
        Error::DuplicateId { handle, .. } => {
            let step = format!(
                "`callstack tree --root {handle}` shows whether the file was imported before; a stack of its own \
                 (--stack FOLDER --new) takes another plan with the same IDs"
            );
            Failure::from(error).next(step)
        }
        _ => error.into(),
    })?;
    let is_imported: HashSet<Handle> = imported.iter().copied().collect();
    Ok(stack.read(|tree| {
        let is_top = |frame: &&Handle| !tree.node(**frame).parent().is_some_and(|parent| is_imported.contains(&parent));
        ImportedPlan {
            format,
            frames: imported.len(),
            tops: imported.iter().filter(is_top).map(|frame| ChangedFrame::of(tree, *frame)).collect(),
            problems: problems.into_iter().map(|Problem { place, message, .. }| Defect { place, message }).collect(),
            same_stack: folder.same_stack(),
        }
    }))
}

/// Puts the roots of a plan below a frame.
fn place_below(stack: &Stack, below: FrameRef, frames: &mut [Frame]) -> Result<(), Error> {
    let handle = stack.resolve(below)?;
    let (status, id) = stack.read(|tree| (tree.node(handle).status(), tree.node(handle).session_id().to_owned()));
    if !status.is_unfinished() {
        return Err(Error::ParentClosed { handle, status });
    }
    frames
        .iter_mut()
        .filter(|frame| frame.parent_session_id.is_none())
        .for_each(|frame| frame.parent_session_id = Some(id.clone()));
    Ok(())
}

fn format_of(text: &str) -> Result<PlanFormat, Error> {
    Ok(match Format::of(text)? {
        Format::State => PlanFormat::State,
        Format::Beads => PlanFormat::Beads,
        _ => PlanFormat::TaskMaster,
    })
}
