//! Import of other tools' plans as frames: Task Master's `tasks.json`, Beads' `issues.jsonl`, and check lists
//! in Markdown.
//!
//! The functions of this module are pure: they convert a text to [`Frame`]s with valid links. Malformed
//! entries are reported with their place; all others are imported. A byte order mark is not a defect.
//!
//! An import fails closed: what a plan says about work that must not begin is kept. Each format has a table
//! that says what its words become (`fate.rs`). What is unknown waits for a person.
//!
//! [`Stack::import`](crate::Stack::import) adds the
//! frames to a tree.

mod beads;
#[cfg(feature = "markdown")]
mod checklist;
mod collector;
mod export;
mod fate;
mod plan_file;
mod plan_text;
mod task_master;
mod time;
mod update;

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::dense::dense_characters;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Handle, Repair, StackState, has_handle_form, marks, reference_to_id, shown};
use crate::text::{beginning, readable_json};
use crate::tree::Tree;

pub use beads::beads;
#[cfg(feature = "markdown")]
pub use checklist::{checklist, is_checklist};
use collector::Collector;
pub(crate) use export::note_export;
pub use export::{ExportedPlan, export};
pub(crate) use plan_file::{LastPlanFile, read as read_plan_file};
pub use plan_file::{PLAN_FILE, PLAN_FILE_FRAMES, plan_file};
pub use plan_text::{PLAN_TEXT_LINES, PlanTextError, plan_commands, plan_text};
pub use task_master::task_master;
pub(crate) use update::bring_up_to_date;
pub use update::{Becomes, PlanChange, PlanConflict, PlanField, PlanUpdate, compare};

/// Maximum length of compacted criteria and results, which are cut from the full ones, in characters.
const CRITERIA_CHARACTERS: usize = 150;
const RESULTS_CHARACTERS: usize = 400;

/// The frames of a plan, parents before children. Each tag (Task Master) or file (Beads) with tasks has one
/// root frame.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Imported {
    /// The frames. IDs are unique, and parents and dependencies exist.
    pub frames: Vec<Frame>,
    /// Defects of the file: entries that were left out or changed, logs that do not come with their frames,
    /// and IDs that have the form of a handle (see [`FrameRef`](crate::FrameRef)).
    pub problems: Vec<Problem>,
    /// True if parts of the file could not be read. What the plan does not have may be in these parts.
    pub is_incomplete: bool,
    /// True if a plan with these IDs in the stack is the same plan, no matter how much of it has changed.
    /// What the file does not have any more then leaves the plan. If false, it is the same plan if the two
    /// have most of their work in common, and the file has lost at most half of what is unfinished.
    pub is_same_plan: bool,
    /// What a plan file of stacks has said last in this stack. `None`: the plan is from another file.
    pub(crate) plan_file: Option<LastPlanFile>,
}

impl Imported {
    /// The plan with a text before all its IDs, for example because a stack has frames with these IDs
    /// already.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        for frame in &mut self.frames {
            let Frame { session_id, parent_session_id, depends_on, retry_of, planned_children, child_order, .. } =
                frame;
            let single = [session_id].into_iter().chain(parent_session_id).chain(retry_of);
            let lists = depends_on.iter_mut().chain(child_order).chain(planned_children.iter_mut().flatten());
            single.chain(lists).for_each(|id| id.insert_str(0, prefix));
        }
        self
    }

    /// How many frames are work, wait, have ended, and are not work.
    pub fn counts(&self) -> ImportedCounts {
        let mut counts = ImportedCounts::default();
        for frame in &self.frames {
            *match (frame.status, frame.no_work.is_some()) {
                (FrameStatus::Blocked, _) => &mut counts.waiting,
                (_, true) => &mut counts.no_work,
                (FrameStatus::Planned, false) => &mut counts.work,
                (FrameStatus::InProgress, false) => &mut counts.begun,
                (FrameStatus::Completed, false) => &mut counts.finished,
                (FrameStatus::Failed, false) => &mut counts.failed,
                (FrameStatus::Invalidated, false) => &mut counts.invalidated,
            } += 1;
        }
        counts
    }
}

/// How many frames of a plan are of each kind. Each frame is counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImportedCounts {
    /// Planned work, which begins when what it depends on is completed.
    pub work: usize,
    /// Work that was begun elsewhere.
    pub begun: usize,
    /// What waits until a person answers, or until a time.
    pub waiting: usize,
    /// What is not work: records of the tool, and frames that hold others together.
    pub no_work: usize,
    /// What is completed.
    pub finished: usize,
    /// What has failed.
    pub failed: usize,
    /// What is out of the plan.
    pub invalidated: usize,
}

/// A defect in an imported file. In JSON: `{"place": "line 3", "message": "has no `id`; left out"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Problem {
    /// The place of the defect: a line, a JSON path, or the ID of a frame.
    pub place: String,
    /// The defect and its handling.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", shown(&self.place), self.message)
    }
}

impl From<Repair> for Problem {
    fn from(repair: Repair) -> Self {
        Problem { place: repair.frame.unwrap_or_else(|| "state".into()), message: repair.message }
    }
}

/// A file format from which frames can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The specification's `state.json`.
    State,
    /// Task Master's `tasks.json`.
    TaskMaster,
    /// Beads' `issues.jsonl`.
    Beads,
    /// A check list in Markdown, with the feature `markdown`.
    Checklist,
    /// The plan file of a stack: see [`plan_file()`].
    PlanFile,
}

impl Format {
    /// Detects the format of a text. It is a state if its first JSON object has an object `frames`. It is a
    /// file of Beads issues if a line, or an entry of a JSON list, has the keys of an issue, no matter what
    /// the lines before it are. It is a file of Task Master for other JSON objects and lists of tasks.
    ///
    /// # Errors
    /// [`Error::Json`] if the text has none of these formats, with the line of the first fault, or of a mark
    /// of a merge conflict.
    pub fn of(text: &str) -> Result<Self> {
        const WHAT: &str = "the file";
        if plan_file::is_plan_file(text) {
            return Ok(Format::PlanFile);
        }
        let text = readable_json(text);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let first = values.next().ok_or_else(|| Error::json(WHAT, "it is empty"))?;
        match first {
            Ok(Value::Object(first)) => Ok(match first.get("frames") {
                Some(Value::Object(_)) => Format::State,
                _ if beads::is_issue(&first) || first.get("issues").is_some_and(Value::is_array) => Format::Beads,
                _ if values.next().is_some() => Format::Beads,
                _ => Format::TaskMaster,
            }),
            Ok(Value::Array(list)) => match list.iter().find_map(Value::as_object) {
                Some(task) if task_master::is_task(task) => Ok(Format::TaskMaster),
                Some(issue) if beads::is_issue(issue) => Ok(Format::Beads),
                _ => Err(Error::json(WHAT, "it is a JSON list, but not of issues or tasks")),
            },
            Ok(_) => Err(Error::json(WHAT, "it is neither a JSON object nor a list of them")),
            Err(error) => {
                let is_issue = |line: &str| serde_json::from_str(line).is_ok_and(|issue| beads::is_issue(&issue));
                let list = text.trim_start().strip_prefix('[').map(str::trim_start);
                let is_json =
                    text.trim_start().starts_with('{') || list.is_some_and(|list| list.starts_with(['{', '"']));
                // One object on several lines is not a list of issues.
                let is_one = |line: &str| serde_json::from_str::<Value>(line).is_err();
                let of_lines =
                    text.lines().filter(|line| !line.trim().is_empty() && beads::conflict_mark(line).is_none());
                let is_torn = in_conflict(WHAT, &text).is_some() && of_lines.take(1).any(is_one);
                match text.lines().any(is_issue) && !is_torn {
                    true => Ok(Format::Beads),
                    false if !is_json && has_list(&text) => Ok(Format::Checklist),
                    false => Err(unreadable(WHAT, &text, error)),
                }
            }
        }
    }
}

/// The error for a text that is not JSON. It names the mark of a merge conflict if the text has one.
fn unreadable(what: &'static str, text: &str, error: serde_json::Error) -> Error {
    in_conflict(what, text).unwrap_or_else(|| Error::of_json(what, error))
}

/// The error for a text in which a merge conflict begins. A line of `=` alone can be a heading of Markdown.
fn in_conflict(what: &'static str, text: &str) -> Option<Error> {
    let mut lines = (1..).zip(text.lines());
    let (number, _) = lines.find(|(_, line)| line.starts_with('<') && beads::conflict_mark(line).is_some())?;
    Some(Error::json(what, format!("line {number} is a mark of a merge conflict, which is not settled")))
}

/// Detects the format of a text and reads a tree from it.
///
/// ```
/// let file = r#"{"tasks": [{"id": 1, "title": "Set up", "status": "done", "details": "cargo new"}]}"#;
/// let (tree, problems) = callstack_core::import::read(file)?;
/// assert!(problems.is_empty());
/// assert_eq!(tree.len(), 2);
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] if the text has none of the formats, or no line of a Beads file is an issue;
/// [`Error::Version`] for a state that a newer version of the library wrote.
pub fn read(text: &str) -> Result<(Tree, Vec<Problem>)> {
    let Imported { mut frames, problems, .. } = match Format::of(text)? {
        Format::State => return state(text),
        Format::TaskMaster => task_master(text)?,
        Format::Checklist => list(text)?,
        Format::Beads => beads::issues(text)?,
        Format::PlanFile => plan_file::read(text)?,
    };
    frames.sort_by_key(|frame| frame.created_at);
    // The imported links are valid already, so this makes no repairs.
    let (tree, _, _) = Tree::from_frames(&mut frames);
    Ok((tree, problems))
}

/// Detects the format of a text and reads frames from it, to be added to an existing tree. The logs of a
/// state's frames stay where the state comes from, so a `logPath` is taken out of its frame and reported in
/// [`Imported::problems`].
///
/// ```
/// use callstack_core::{Stack, import};
///
/// let stack = Stack::in_memory();
/// let plan = import::frames(r#"{"id": "app-1", "title": "Set up", "status": "open"}"#)?;
/// stack.import(plan.frames)?;
/// assert_eq!(stack.frame("app-1")?.title, "Set up");
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// The same as for [`read`].
pub fn frames(text: &str) -> Result<Imported> {
    match Format::of(text)? {
        Format::State => {
            let (tree, mut problems) = state(text)?;
            let mut frames = in_sibling_order(&tree);
            problems.extend(frames.iter_mut().filter_map(take_log));
            Ok(Imported { frames, problems, ..Imported::default() })
        }
        Format::TaskMaster => task_master(text),
        Format::Checklist => list(text),
        Format::Beads => beads::issues(text),
        Format::PlanFile => plan_file::read(text),
    }
}

#[cfg(feature = "markdown")]
use checklist::{checklist as list, is_checklist as has_list};

#[cfg(not(feature = "markdown"))]
fn list(_: &str) -> Result<Imported> {
    Err(Error::json("the check list", "this build of the library reads no Markdown"))
}

#[cfg(not(feature = "markdown"))]
fn has_list(_: &str) -> bool {
    false
}

/// The frames of a tree by their handles, except that siblings are in their own order: frames that are added
/// keep the order of the list.
fn in_sibling_order(tree: &Tree) -> Vec<Frame> {
    let mut order: Vec<Handle> = tree.handles().collect();
    for siblings in tree.handles().map(|parent| tree.children(parent)).chain([tree.roots()]) {
        let mut places = siblings.to_vec();
        places.sort_unstable();
        for (place, sibling) in places.iter().zip(siblings) {
            order[place.index()] = *sibling;
        }
    }
    order.into_iter().map(|handle| tree.frame(handle)).collect()
}

/// Takes the path of its log out of a frame for another tree. There it would be the path of another file, or
/// of none.
fn take_log(frame: &mut Frame) -> Option<Problem> {
    let path = frame.log_path.take().filter(|path| !path.is_empty())?;
    let message = format!("its logPath `{}` leads to no log here; left out", shown(&path));
    Some(Problem { place: frame.session_id.clone(), message })
}

fn state(text: &str) -> Result<(Tree, Vec<Problem>)> {
    let (state, mut repairs) = StackState::from_json(text)?;
    let (tree, more) = Tree::from_state(state);
    repairs.extend(more);
    let notes = tree.handles().filter_map(|frame| handle_form(tree.node(frame).session_id()));
    let problems = repairs.into_iter().map(Problem::from).chain(notes).collect();
    Ok((tree, problems))
}

/// Returns a note on how to name a frame whose ID has the form of a handle; `None` for other IDs.
fn handle_form(session_id: &str) -> Option<Problem> {
    has_handle_form(session_id).then(|| Problem {
        place: session_id.to_owned(),
        message: format!(
            "its ID has the form of a handle; kept, and named by its handle or as `{}`",
            reference_to_id(session_id)
        ),
    })
}

/// Creates the frame of a task. The compacted texts are the sentences of the full ones that say most. Only a
/// finished task has results.
fn task_frame(id: String, parent: Option<&str>, status: FrameStatus, texts: Texts) -> Frame {
    let results = Some(texts.results).filter(|results| status.is_finished() && !results.is_empty());
    Frame {
        session_id: id,
        parent_session_id: parent.map(str::to_owned),
        status,
        title: texts.title,
        success_criteria_compacted: dense_characters(&texts.criteria, CRITERIA_CHARACTERS),
        success_criteria: texts.criteria,
        results_compacted: results.as_deref().map(|results| dense_characters(results, RESULTS_CHARACTERS)),
        results,
        ..Frame::default()
    }
}

/// The task of a frame: the parts that are not blank, each with a word for what it is. A task that is too
/// long is cut, and reported.
fn task_of<T: AsRef<str>>(parts: &[(&str, T)], place: &str, collector: &mut Collector) -> String {
    let parts = parts.iter().map(|(what, text)| (what, text.as_ref().trim())).filter(|(_, text)| !text.is_empty());
    let task = parts.map(|(what, text)| format!("{what}{text}")).collect::<Vec<_>>().join("\n\n");
    let shown = beginning(&task, Frame::LONGEST_TASK);
    if shown.len() < task.len() {
        collector.report(place, format!("its texts are longer than {} characters together; cut", Frame::LONGEST_TASK));
    }
    shown.to_owned()
}

#[derive(Default)]
struct Texts {
    title: String,
    criteria: String,
    results: String,
}

/// Takes the labels out of an object. Labels that a frame cannot have are reported and left out.
fn take_labels(object: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Vec<String> {
    let Some(value) = object.remove("labels").filter(|value| !value.is_null()) else { return Vec::new() };
    let entries: Vec<&Value> = value.as_array().into_iter().flatten().collect();
    let texts: Vec<String> = entries.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect();
    let distinct: HashSet<&str> = texts.iter().map(|text| text.trim()).collect();
    let labels = marks::labels(texts.iter().cloned());
    if !value.is_array() || texts.len() < entries.len() || labels.len() < distinct.len() {
        collector.report(place, "some of its `labels` are not texts, or are empty or too long; these are left out");
    }
    labels
}

/// Takes the assignee out of an object.
fn take_assignee(object: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Option<String> {
    let name = take_text(object, "assignee", place, collector).filter(|name| !name.trim().is_empty());
    if name.is_none() {
        // A value that is not a name has no other place.
        object.remove("assignee");
    }
    let assignee = marks::assignee(name.as_deref()?);
    if assignee.is_none() {
        collector.report(place, "the name of its assignee is too long; left out");
    }
    assignee
}

/// Takes a text out of an object: also a number, and a list of texts, which are its lines. A value of another
/// type is reported and remains with the other keys.
fn take_text(object: &mut Map<String, Value>, key: &str, place: &str, collector: &mut Collector) -> Option<String> {
    let is_line = |value: &Value| matches!(value, Value::String(_) | Value::Number(_));
    match object.get(key)? {
        Value::Null => return None,
        Value::String(_) | Value::Number(_) => {}
        Value::Array(lines) if lines.iter().all(is_line) => {}
        _ => {
            collector.report(place, format!("`{key}` is not a text; ignored"));
            return None;
        }
    }
    let line = |value: Value| if let Value::String(text) = value { text } else { value.to_string() };
    match object.remove(key)? {
        Value::Array(lines) => Some(lines.into_iter().map(line).collect::<Vec<_>>().join("\n")),
        value => Some(line(value)),
    }
}

/// Takes a list out of an object; empty if there is none. A value of another type is reported and removed.
fn take_list(object: &mut Map<String, Value>, key: &str, place: &str, collector: &mut Collector) -> Vec<Value> {
    match object.remove(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            collector.lose(place, format!("`{key}` is not a list; left out"));
            Vec::new()
        }
    }
}
