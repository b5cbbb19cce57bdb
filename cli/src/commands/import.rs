//! `callstack import`: adds the plan of another tool to the stack, or brings it up to date; or adds the
//! frames of a state.

pub mod session;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use callstack_core::import::{
    self, Becomes, Format, Imported, ImportedCounts, PlanChange, PlanConflict, PlanUpdate, Problem,
};
use callstack_core::text::{one_line, readable_json};
use callstack_core::{Error, Frame, FrameRef, Handle, Stack, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use self::session::ImportedSession;
use super::changed::{ChangedFrame, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Line, Page, Report, count};
use crate::same_stack::SameStack;
use crate::sessions::{self, SessionFiles};

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
    /// The file: tasks.json of Task Master, issues.jsonl of Beads, a check list in Markdown, a state.json, a
    /// session of an agent, or with --new the events of a stack. `-` reads the standard input.
    #[arg(required_unless_present_any = ["session", "latest"])]
    file: Option<PathBuf>,
    /// Put the roots of the plan below this frame. Default: they are roots.
    #[arg(long, value_name = "FRAME", alias = "parent")]
    below: Option<FrameRef>,
    /// Put this before the IDs of the file, for example because the stack has frames with these IDs already.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Create the stack if the folder has none: in the folder of --stack, else in .callstack of the working
    /// folder, unless that would hide a stack which commands there use.
    #[arg(long)]
    new: bool,
    /// The file is the plan that the stack has, no matter how much of it has changed: bring its frames up to
    /// date, and take out of the plan the frames that the file does not have any more.
    #[arg(long, conflicts_with = "new")]
    update: bool,
    /// Only print what would change. Not for the state and the events of a stack.
    #[arg(long, conflicts_with = "new")]
    dry_run: bool,
    /// The session that the options of all commands name.
    #[arg(skip)]
    session: Option<SessionFiles>,
}

impl Arguments {
    /// The session that is imported.
    pub fn of_session(self, session: Option<SessionFiles>) -> Self {
        Self { session, ..self }
    }
}

/// The frames that were imported, and the defects of the file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedPlan {
    /// The format of the file.
    format: PlanFormat,
    /// True: nothing was changed; this is what would be.
    dry_run: bool,
    /// Number of new frames.
    frames: usize,
    /// How many entries of the file are in which state; absent for events.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<ImportedCounts>,
    /// The new frames at the top of the plan. Empty if nothing was changed.
    tops: Vec<ChangedFrame>,
    /// The frames that were imported before, and have changed; with --dry-run also the new ones.
    changes: Vec<PlanChange>,
    /// The fields on which the stack and the file differ: they keep the values of the stack.
    conflicts: Vec<PlanConflict>,
    /// Number of frames that were imported before, and do not change.
    unchanged: usize,
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
    /// The plan file of a stack, `plan.md`.
    PlanFile,
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
            PlanFormat::PlanFile => "the plan file of a stack",
            PlanFormat::State => "a state",
            PlanFormat::Events => "the events of a stack",
        };
        let is_first = self.changes.is_empty() && self.conflicts.is_empty() && self.unchanged == 0;
        match is_first {
            true => {
                let counts = self.counts.map(in_words).filter(|words| !words.is_empty());
                let counts = counts.map(|words| format!(": {words}")).unwrap_or_default();
                page.text(0, &format!("imported {} from {format}{counts}", count(self.frames, "frame")))?;
            }
            false => self.write_update(page, format)?,
        }
        for top in self.tops.iter().filter(|_| !self.dry_run).take(SHOWN) {
            page.line(top.line("    with"))?;
        }
        if self.tops.len() > SHOWN {
            page.text(4, &format!("and {} more at the top", self.tops.len() - SHOWN))?;
        }
        write_conflicts(page, &self.conflicts)?;
        Defect::list(page, &self.problems)?;
        match self.tops.first() {
            Some(top) => next(page, &self.same_stack, format_args!("callstack tree --root {}", top.handle)),
            None => Ok(()),
        }
    }
}

impl ImportedPlan {
    /// The changes of a plan that was imported before.
    fn write_update(&self, page: &mut Page<'_>, format: &str) -> io::Result<()> {
        let is_new = |change: &&PlanChange| change.becomes == Becomes::Added;
        let new = if self.dry_run { self.changes.iter().filter(is_new).count() } else { self.frames };
        let changed = self.changes.iter().filter(|change| !is_new(change)).count();
        if new + changed == 0 {
            let as_said = count(self.unchanged, "frame");
            let said = match self.conflicts.is_empty() {
                true => format!("nothing changes: the stack has {as_said} of {format} already"),
                false => format!("nothing changes, because file and stack do not agree: {as_said} of {format}"),
            };
            return page.text(0, &said);
        }
        let would = if self.dry_run { "would bring" } else { "brought" };
        let unchanged = self.unchanged;
        page.text(
            0,
            &format!("{would} up to date with {format}: {new} new, {changed} changed, {unchanged} unchanged"),
        )?;
        for PlanChange { frame, title, becomes, fields, .. } in self.changes.iter().take(SHOWN) {
            let fields: Vec<&str> = fields.iter().map(|field| field.name()).filter(|name| *name != "status").collect();
            let fields = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ")) };
            page.line(Line::new().plain(format!("    {frame} {}{fields}: ", in_word(*becomes))).said(title))?;
        }
        match self.changes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => page.text(4, &format!("and {more} more; --json lists all")),
        }
    }
}

/// Writes the first conflicts between a file and the stack.
pub(super) fn write_conflicts(page: &mut Page<'_>, conflicts: &[PlanConflict]) -> io::Result<()> {
    if !conflicts.is_empty() {
        let left = if conflicts.len() == 1 { "left as it is" } else { "left as they are" };
        page.text(0, &format!("{}, {left}:", count(conflicts.len(), "conflict")))?;
    }
    for PlanConflict { frame, title, field, file, stack, advice, .. } in conflicts.iter().take(SHOWN) {
        let said = |text: &str| if text.trim().is_empty() { "nothing".to_owned() } else { one_line(text) };
        page.line(Line::new().plain(format!("    {frame} {}: ", field.name())).said(title))?;
        page.text(8, &format!("the file says: {}", said(file)))?;
        page.text(8, &format!("the stack says: {}", said(stack)))?;
        page.text(8, advice)?;
    }
    match conflicts.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => page.text(4, &format!("and {more} more; --json lists all")),
    }
}

pub(super) fn in_word(becomes: Becomes) -> &'static str {
    match becomes {
        Becomes::Added => "is new",
        Becomes::Planned => "is planned",
        Becomes::Waiting => "waits",
        Becomes::Begun => "was begun elsewhere",
        Becomes::Finished => "is finished",
        Becomes::Invalidated => "is out of the plan",
        Becomes::Removed => "is removed from the file",
        _ => "is edited",
    }
}

/// How many frames are in which state.
fn in_words(counts: ImportedCounts) -> String {
    let ImportedCounts { work, begun, waiting, no_work, finished, failed, invalidated, .. } = counts;
    let words = [
        (work, "planned"),
        (begun, "in progress"),
        (waiting, "waiting for a person"),
        (finished, "completed"),
        (failed, "failed"),
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
            // An ID of the file can have line breaks. Such an ID must not look like another defect.
            page.text(4, &one_line(&format!("{place}: {message}")))?;
        }
        match defects.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => page.text(4, &format!("and {more} more; --json lists all")),
        }
    }
}

/// What was imported: a plan or frames, or a session of an agent.
pub enum Outcome {
    Plan(ImportedPlan),
    Session(ImportedSession),
}

pub fn run(mut arguments: Arguments, folder: &StackFolder) -> Result<Outcome, Failure> {
    let named = arguments.file.clone().unwrap_or_default();
    let session = match (arguments.session.take(), sessions::form_of(&named)) {
        (Some(session), _) => Some(session),
        (None, Some(form)) => Some(SessionFiles::of_form(form, &named)?),
        // The ID of a session.
        (None, None) => {
            match named.to_str().filter(|name| !named.exists() && *name != "-" && sessions::is_session(name)) {
                Some(name) => Some(sessions::find(name)?),
                None => None,
            }
        }
    };
    if let Some(session) = session {
        for (option, is_given) in [
            ("--dry-run", arguments.dry_run),
            ("--update", arguments.update),
            ("--below", arguments.below.is_some()),
            ("--prefix", !arguments.prefix.is_empty()),
        ] {
            if is_given {
                let message = format!(
                    "{option} cannot be used with a session, which is a tree of its own and is always brought up to date"
                );
                return Err(Failure::new(Exit::Usage, "session", message).next(format!("leave {option} out")));
            }
        }
        // A stack is made for it if there is none, as for the first frame. The actor that imports a session
        // continues its work here. If the agent of the session continues too, the next import adds that.
        return session::import(&session.over(), folder).map(Outcome::Session);
    }
    plan(&arguments, &named, folder).map(Outcome::Plan)
}

fn plan(arguments: &Arguments, file: &Path, folder: &StackFolder) -> Result<ImportedPlan, Failure> {
    // A history can be larger than the memory, so its file is read piece by piece.
    if input::first_line(file, LONGEST_EVENT)?.is_some_and(|line| is_history(&line)) {
        return rebuilt(arguments, input::reader(file)?, folder);
    }
    let text = input::content(file)?;
    if is_history(&text) {
        return rebuilt(arguments, text.as_bytes(), folder);
    }
    let format = format_of(&text).map_err(refused)?;
    let plan = import::frames(&text).map_err(refused)?;
    let counts = Some(plan.counts());
    if plan.frames.is_empty() {
        let reason = plan.problems.first().map(|problem| format!(": {problem}")).unwrap_or_default();
        let message = format!("{} has nothing to import{reason}", input::name(file));
        return Err(Failure::new(Exit::Refused, "empty", message).next(FORMATS));
    }
    let mut plan = plan.with_prefix(&arguments.prefix);
    plan.is_same_plan = arguments.update;
    let below = &arguments.below;
    for (option, is_given) in [("--dry-run", arguments.dry_run), ("--update", arguments.update)] {
        if is_given && matches!(format, PlanFormat::State) {
            let message = format!("{option} cannot be used with a state, whose frames are all added");
            return Err(Failure::new(Exit::Usage, "state", message).next(format!("leave {option} out")));
        }
    }
    if arguments.dry_run {
        let stack = folder.open_to_read()?;
        let update = stack.compare_plan(&plan, below.clone()).map_err(not_imported)?;
        let changes = update.added.iter().chain(&update.changes).cloned().collect();
        let frames = update.added.len();
        let base = ImportedPlan { dry_run: true, frames, changes, ..ImportedPlan::of(&stack, format, &[], folder)? };
        return Ok(ImportedPlan { counts, problems: Defect::all(&plan.problems), ..base.with(update) });
    }
    folder.change(arguments.new, |stack| {
        let (added, update) = match format {
            PlanFormat::State => (import_state(stack, &plan, below.clone())?, PlanUpdate::default()),
            _ => {
                let update = stack.bring_up_to_date(&plan, below.clone()).map_err(not_imported)?;
                (update.added.iter().map(|added| added.frame).collect(), update)
            }
        };
        let base = ImportedPlan { changes: update.changes.clone(), ..ImportedPlan::of(stack, format, &added, folder)? };
        Ok(ImportedPlan { counts, problems: Defect::all(&plan.problems), ..base.with(update) })
    })
}

/// Adds the frames of a state.
fn import_state(stack: &Stack, plan: &Imported, below: Option<FrameRef>) -> Result<Vec<Handle>, Failure> {
    let mut frames = plan.frames.clone();
    if let Some(below) = below {
        place_below(stack, below, &mut frames)?;
    }
    stack.import(frames).map_err(not_imported)
}

impl ImportedPlan {
    fn of(stack: &Stack, format: PlanFormat, imported: &[Handle], folder: &StackFolder) -> Result<Self, Failure> {
        let is_imported: HashSet<Handle> = imported.iter().copied().collect();
        let is_top =
            |tree: &Tree, frame: Handle| !tree.node(frame).parent().is_some_and(|up| is_imported.contains(&up));
        let tops = stack.read(|tree| {
            let tops = imported.iter().filter(|frame| is_top(tree, **frame));
            tops.map(|frame| ChangedFrame::of(tree, *frame)).collect()
        })?;
        Ok(Self {
            format,
            frames: imported.len(),
            counts: None,
            tops,
            dry_run: false,
            changes: Vec::new(),
            conflicts: Vec::new(),
            unchanged: 0,
            problems: Vec::new(),
            same_stack: folder.same_stack(),
        })
    }

    /// Adds what the update leaves as it is.
    fn with(self, update: PlanUpdate) -> Self {
        Self { conflicts: update.conflicts, unchanged: update.unchanged, ..self }
    }
}

/// The failure of a file that cannot be imported, no matter into which stack.
fn refused(error: Error) -> Failure {
    let failure = Failure::new(Exit::Refused, error.code(), error.to_string());
    if matches!(error, Error::Json { .. }) { failure.next(FORMATS) } else { failure }
}

fn not_imported(error: Error) -> Failure {
    match &error {
        Error::DuplicateId { session_id, handle } => {
            let message = format!("the ID `{}` of the file already belongs to frame {handle}", one_line(session_id));
            Failure::new(Exit::Refused, error.code(), message).next(format!(
                "`callstack tree --root {handle}` shows that frame, which seems to be from another plan; --prefix TEXT gives the \
                 frames of the file other IDs; --update says that it is the same plan"
            ))
        }
        _ => error.into(),
    }
}

/// True if the text is the export of a stack's events: its first object has their keys, or those of a
/// compacted history.
fn is_history(text: &str) -> bool {
    let text = readable_json(text);
    let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
    let is_event = |first: &Value| first["revision"].is_u64() && first["kind"].is_string();
    matches!(first, Some(Ok(first)) if is_event(&first) || first["base"].is_string())
}

/// Makes the stack that the events describe.
fn rebuilt(arguments: &Arguments, history: impl io::BufRead, folder: &StackFolder) -> Result<ImportedPlan, Failure> {
    if !arguments.new || arguments.below.is_some() || !arguments.prefix.is_empty() {
        let name = input::name(arguments.file.as_deref().unwrap_or(Path::new("-")));
        let message = format!("{name} has the events of a stack, from which a new stack is made as a whole");
        return Err(Failure::new(Exit::Refused, "history", message).next(
            "name a folder for it with --stack FOLDER --new; to add the frames to another stack, import its state \
             (callstack export)",
        ));
    }
    let stack = folder.rebuild(history)?;
    let (frames, roots) = stack.read(|tree| (tree.len(), tree.roots().to_vec()))?;
    // Each call frees the memory of finished trees.
    let named = |part: &[Handle]| stack.read(|tree| part.iter().map(|root| ChangedFrame::of(tree, *root)).collect());
    let mut tops = Vec::new();
    for part in roots.chunks(PART) {
        tops.append(&mut named(part)?);
    }
    let same_stack = folder.same_stack();
    Ok(ImportedPlan {
        format: PlanFormat::Events,
        dry_run: false,
        frames,
        counts: None,
        tops,
        changes: Vec::new(),
        conflicts: Vec::new(),
        unchanged: 0,
        problems: Vec::new(),
        same_stack,
    })
}

/// Puts the roots of a plan below a frame.
pub(super) fn place_below(stack: &Stack, below: FrameRef, frames: &mut [Frame]) -> Result<(), Error> {
    let handle = stack.resolve(below)?;
    let (status, id) = stack.read(|tree| (tree.node(handle).status(), tree.node(handle).session_id().to_owned()))?;
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
        Format::PlanFile => PlanFormat::PlanFile,
        _ => PlanFormat::TaskMaster,
    })
}
