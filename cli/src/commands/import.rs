//! `callstack import`: adds the plan of another tool, or the frames of a state, to the stack.

use std::collections::HashSet;
use std::path::PathBuf;
use std::{io, iter};

use callstack_core::import::{self, Format, Imported, ImportedCounts, Problem};
use callstack_core::text::{one_line, readable_json};
use callstack_core::{Error, Frame, FrameRef, Handle, Stack, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::changed::{ChangedFrame, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report, count};
use crate::same_stack::SameStack;

/// What can be imported.
const FORMATS: &str = "give tasks.json of Task Master, issues.jsonl of Beads, a check list in Markdown, the state.json of a stack, or, with \
                       --new, the events of a stack (callstack export --format events)";
/// Size up to which the first event of a history is recognized without reading the whole file, in bytes.
const LONGEST_EVENT: u64 = 1 << 20;
/// Number of roots that are read at a time.
const PART: usize = 256;
/// Maximum number of roots, and of defects, that the text names.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct Arguments {
    /// The file: tasks.json of Task Master, issues.jsonl of Beads, a check list in Markdown, a state.json, or with --new the events of a
    /// stack. `-` reads the standard input.
    file: PathBuf,
    /// Put the roots of the plan below this frame. Default: they are roots.
    #[arg(long, value_name = "FRAME", alias = "parent")]
    below: Option<FrameRef>,
    /// Put this before the IDs of the file, for example because the stack has frames with these IDs already.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Create the stack if the folder has none: in the folder of --stack, else in .callstack of the working folder, unless
    /// that would hide a stack which commands there use.
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
    /// How many of them are what; absent for events.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<ImportedCounts>,
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
    Checklist,
    State,
    /// The events of a stack, from which it was made again.
    Events,
}

/// A defect of the file.
#[derive(Serialize, JsonSchema)]
pub(super) struct Defect {
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
            PlanFormat::Checklist => "a check list",
            PlanFormat::State => "a state",
            PlanFormat::Events => "the events of a stack",
        };
        let counts = self.counts.map(in_words).filter(|words| !words.is_empty()).map(|words| format!(": {words}"));
        let counts = counts.unwrap_or_default();
        page.text(0, &format!("imported {} from {format}{counts}", count(self.frames, "frame")))?;
        for top in self.tops.iter().take(SHOWN) {
            page.line(top.line("    with"))?;
        }
        if self.tops.len() > SHOWN {
            page.text(4, &format!("and {} more at the top", self.tops.len() - SHOWN))?;
        }
        Defect::list(page, &self.problems)?;
        match self.tops.first() {
            Some(top) => next(page, &self.same_stack, format_args!("callstack tree --root {}", top.handle)),
            None => Ok(()),
        }
    }
}

/// How many frames are what.
fn in_words(counts: ImportedCounts) -> String {
    let ImportedCounts { work, begun, waiting, no_work, finished, invalidated, .. } = counts;
    let words = [
        (work, "planned"),
        (begun, "in progress"),
        (waiting, "waiting for somebody"),
        (finished, "completed"),
        (invalidated, "out of the plan"),
        (no_work, "no work"),
    ];
    let words = words.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}"));
    words.collect::<Vec<_>>().join(", ")
}

impl Defect {
    pub(super) fn all(problems: &[Problem]) -> Vec<Self> {
        let defect = |problem: &Problem| Self { place: problem.place.clone(), message: problem.message.clone() };
        problems.iter().map(defect).collect()
    }

    /// Writes the first defects.
    pub(super) fn list(page: &mut Page<'_>, defects: &[Self]) -> io::Result<()> {
        if !defects.is_empty() {
            page.text(0, &format!("{} of the file:", count(defects.len(), "defect")))?;
        }
        for Self { place, message } in defects.iter().take(SHOWN) {
            // An ID of the file can have line breaks, and must not pose as another defect.
            page.text(4, &one_line(&format!("{place}: {message}")))?;
        }
        match defects.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => page.text(4, &format!("and {more} more; --json lists all")),
        }
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<ImportedPlan, Failure> {
    // A history can be larger than the memory, so its file is read piece by piece.
    if input::first_line(&arguments.file, LONGEST_EVENT)?.is_some_and(|line| is_history(&line)) {
        return rebuilt(&arguments, input::reader(&arguments.file)?, folder);
    }
    let text = input::content(&arguments.file)?;
    if is_history(&text) {
        return rebuilt(&arguments, text.as_bytes(), folder);
    }
    let format = format_of(&text).map_err(refused)?;
    let plan = import::frames(&text).map_err(refused)?;
    let counts = Some(plan.counts());
    let Imported { mut frames, problems, .. } = plan;
    if frames.is_empty() {
        let reason = problems.first().map(|problem| format!(": {problem}")).unwrap_or_default();
        let message = format!("{} has nothing to import{reason}", input::name(&arguments.file));
        return Err(Failure::new(Exit::Refused, "empty", message).next(FORMATS));
    }
    put_before_ids(&mut frames, &arguments.prefix);
    folder.change(arguments.new, |stack| {
        let mut frames = frames.clone();
        if let Some(below) = &arguments.below {
            place_below(stack, below.clone(), &mut frames)?;
        }
        let imported = stack.import(frames).map_err(not_imported)?;
        Ok(ImportedPlan {
            counts,
            problems: Defect::all(&problems),
            ..ImportedPlan::of(stack, format, &imported, folder)
        })
    })
}

impl ImportedPlan {
    fn of(stack: &Stack, format: PlanFormat, imported: &[Handle], folder: &StackFolder) -> Self {
        let is_imported: HashSet<Handle> = imported.iter().copied().collect();
        let is_top =
            |tree: &Tree, frame: Handle| !tree.node(frame).parent().is_some_and(|up| is_imported.contains(&up));
        let tops = stack.read(|tree| {
            let tops = imported.iter().filter(|frame| is_top(tree, **frame));
            tops.map(|frame| ChangedFrame::of(tree, *frame)).collect()
        });
        Self {
            format,
            frames: imported.len(),
            counts: None,
            tops,
            problems: Vec::new(),
            same_stack: folder.same_stack(),
        }
    }
}

/// The failure of a file that cannot be imported, in whatever stack.
fn refused(error: Error) -> Failure {
    let failure = Failure::new(Exit::Refused, error.code(), error.to_string());
    if matches!(error, Error::Json { .. }) { failure.next(FORMATS) } else { failure }
}

fn not_imported(error: Error) -> Failure {
    match &error {
        Error::DuplicateId { session_id, handle } => {
            let message = format!("the ID `{}` of the file already belongs to frame {handle}", one_line(session_id));
            Failure::new(Exit::Refused, error.code(), message).next(format!(
                "`callstack tree --root {handle}` shows whether the file was imported before; --prefix TEXT gives its \
                 frames other IDs"
            ))
        }
        _ => error.into(),
    }
}

/// True if the text is the export of a stack's events: its first object has their keys, or those of a compacted history.
fn is_history(text: &str) -> bool {
    let text = readable_json(text);
    let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
    let is_event = |first: &Value| first["revision"].is_u64() && first["kind"].is_string();
    matches!(first, Some(Ok(first)) if is_event(&first) || first["base"].is_string())
}

/// Makes the stack that the events tell of.
fn rebuilt(arguments: &Arguments, history: impl io::BufRead, folder: &StackFolder) -> Result<ImportedPlan, Failure> {
    if !arguments.new || arguments.below.is_some() || !arguments.prefix.is_empty() {
        let name = input::name(&arguments.file);
        let message = format!("{name} has the events of a stack, from which a new stack is made as a whole");
        return Err(Failure::new(Exit::Refused, "history", message).next(
            "name a folder for it with --stack FOLDER --new; to add the frames to another stack, import its state \
             (callstack export)",
        ));
    }
    let stack = folder.rebuild(history)?;
    let (frames, roots) = stack.read(|tree| (tree.len(), tree.roots().to_vec()));
    // Each call frees the memory of finished trees.
    let named = |part: &[Handle]| stack.read(|tree| part.iter().map(|root| ChangedFrame::of(tree, *root)).collect());
    let tops = roots.chunks(PART).flat_map(|part: &[Handle]| -> Vec<ChangedFrame> { named(part) }).collect();
    let same_stack = folder.same_stack();
    Ok(ImportedPlan { format: PlanFormat::Events, frames, counts: None, tops, problems: Vec::new(), same_stack })
}

/// Puts a text before all IDs of a plan.
fn put_before_ids(frames: &mut [Frame], prefix: &str) {
    for frame in frames {
        let Frame { session_id, parent_session_id, depends_on, retry_of, planned_children, child_order, .. } = frame;
        let single = iter::once(session_id).chain(parent_session_id).chain(retry_of);
        let lists = depends_on.iter_mut().chain(child_order).chain(planned_children.iter_mut().flatten());
        single.chain(lists).for_each(|id| id.insert_str(0, prefix));
    }
}

/// Puts the roots of a plan below a frame.
pub(super) fn place_below(stack: &Stack, below: FrameRef, frames: &mut [Frame]) -> Result<(), Error> {
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
        Format::Checklist => PlanFormat::Checklist,
        _ => PlanFormat::TaskMaster,
    })
}
