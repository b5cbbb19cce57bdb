//! Import of other tools' plans as frames: Task Master's `tasks.json` and Beads' `issues.jsonl`.
//!
//! The functions of this module are pure: they convert a text to [`Frame`]s with valid links. Malformed entries
//! are reported with their place; all others are imported. A byte order mark, and escapes of half characters, are no defects. [`Stack::import`](crate::Stack::import) adds the
//! frames to a tree.

mod beads;
mod task_master;
mod time;

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Handle, Repair, StackState, has_handle_form, reference_to_id, shown};
use crate::text::{FreeNames, beginning, readable_json};
use crate::tree::Tree;

pub use beads::beads;
pub use task_master::task_master;

/// Maximum length of compacted criteria and results, which are cut from the full ones, in characters.
const CRITERIA_CHARACTERS: usize = 150;
const RESULTS_CHARACTERS: usize = 400;

/// The frames of a plan, parents before children. Each tag (Task Master) or file (Beads) with tasks has one root frame.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Imported {
    /// The frames. IDs are unique, and parents and dependencies exist.
    pub frames: Vec<Frame>,
    /// Defects of the file: entries that were left out or changed, logs that do not come with their frames, and IDs that have the form
    /// of a handle (see [`FrameRef`](crate::FrameRef)).
    pub problems: Vec<Problem>,
}

/// A defect in an imported file. In JSON: `{"place": "line 3", "message": "has no `id`; left out"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
}

impl Format {
    /// Detects the format of a text by its first JSON object: a state if it has an object `frames`; Beads
    /// issues if it has `id` and `title`, or if another object follows; or else a Task Master file.
    ///
    /// # Errors
    /// [`Error::Json`] if the text does not begin with a JSON object.
    pub fn of(text: &str) -> Result<Self> {
        let text = readable_json(text);
        let mut objects = serde_json::Deserializer::from_str(&text).into_iter::<Map<String, Value>>();
        let first = match objects.next() {
            Some(first) => first.map_err(|error| Error::of_json("the file", error))?,
            None => return Err(Error::json("the file", "it is empty")),
        };
        let is_issue = first.contains_key("id") && first.contains_key("title");
        Ok(match first.get("frames") {
            Some(Value::Object(_)) => Format::State,
            _ if objects.next().is_some() || is_issue => Format::Beads,
            _ => Format::TaskMaster,
        })
    }
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
/// [`Error::Json`] if the text has none of the formats, or no line of a Beads file is an issue; [`Error::Version`] for a state that a newer version of
/// the library wrote.
pub fn read(text: &str) -> Result<(Tree, Vec<Problem>)> {
    let Imported { mut frames, problems } = match Format::of(text)? {
        Format::State => return state(text),
        Format::TaskMaster => task_master(text)?,
        Format::Beads => issues(text)?,
    };
    frames.sort_by_key(|frame| frame.created_at);
    // The imported links are valid already, so this makes no repairs.
    let (tree, _, _) = Tree::from_frames(&mut frames);
    Ok((tree, problems))
}

/// Detects the format of a text and reads frames from it, to be added to an existing tree. The logs of a state's frames stay where the
/// state comes from, so a `logPath` is taken out of its frame and reported in [`Imported::problems`].
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
            Ok(Imported { frames, problems })
        }
        Format::TaskMaster => task_master(text),
        Format::Beads => issues(text),
    }
}

fn issues(text: &str) -> Result<Imported> {
    let imported = beads(text);
    match (&imported.frames[..], imported.problems.first()) {
        ([], Some(problem)) => Err(Error::json("the Beads file", format!("no line is an issue ({problem})"))),
        _ => Ok(imported),
    }
}

/// The frames of a tree by their handles, except that siblings are in their order: frames that are added keep that of the
/// list.
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

/// Takes the path of its log out of a frame for another tree, where it would be that of another file, or of none.
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

/// Collects frames and problems while a file is read.
#[derive(Default)]
struct Collector {
    frames: Vec<Frame>,
    places: HashMap<String, usize>,
    names: FreeNames,
    /// The indexes of the frames that are no tasks of the file, but parents of its tasks; ascending.
    made: Vec<usize>,
    problems: Vec<Problem>,
}

impl Collector {
    fn report(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem { place: place.into(), message: message.into() });
    }

    /// Adds a frame. If its ID is already used, the frame gets another one.
    fn add(&mut self, mut frame: Frame, place: &str) {
        if self.places.contains_key(&frame.session_id) {
            let taken = frame.session_id.clone();
            let is_free = |id: &str| !self.places.contains_key(id);
            frame.session_id = self.names.next(&taken, 2, |number| format!("{taken} ({number})"), is_free);
            self.report(place, format!("the ID `{taken}` is used twice; kept as `{}`", frame.session_id));
        }
        self.problems.extend(handle_form(&frame.session_id));
        self.places.insert(frame.session_id.clone(), self.frames.len());
        self.frames.push(frame);
    }

    /// Adds a frame that is no task of the file, but the parent of tasks: see [`Collector::finish`].
    fn add_made(&mut self, frame: Frame, place: &str) {
        self.made.push(self.frames.len());
        self.add(frame, place);
    }

    /// Removes invalid links, and orders parents before children. A made parent has the status that follows from the frames below it;
    /// without any it is left out, because it would be work that nobody has planned.
    fn finish(mut self) -> Imported {
        let (tree, indexes, repairs) = Tree::from_frames(&mut self.frames);
        self.problems.extend(repairs.into_iter().map(Problem::from));
        let mut frames = tree.state().frames;
        let mut empty = Vec::new();
        for made in tree.handles().filter(|handle| self.made.binary_search(&indexes[handle.index()]).is_ok()) {
            let mut below = tree.descendants(made).peekable();
            if below.peek().is_none() {
                empty.push(made);
                continue;
            }
            let is_over = |status: FrameStatus| status.is_finished() || status == FrameStatus::Invalidated;
            let is_done = below.all(|frame| is_over(tree.node(frame).status()));
            frames[made.index()].status = if is_done { FrameStatus::Completed } else { FrameStatus::InProgress };
        }
        let mut handles = tree.handles();
        frames.retain(|_| handles.next().is_some_and(|frame| !empty.contains(&frame)));
        Imported { frames, problems: self.problems }
    }
}

/// Creates the frame of a task. The compacted texts are the beginnings of the full ones. Only a finished task
/// has results.
fn task_frame(id: String, parent: Option<&str>, status: FrameStatus, texts: Texts) -> Frame {
    let results = Some(texts.results).filter(|results| status.is_finished() && !results.is_empty());
    Frame {
        session_id: id,
        parent_session_id: parent.map(str::to_owned),
        status,
        title: texts.title,
        success_criteria_compacted: beginning(&texts.criteria, CRITERIA_CHARACTERS).to_owned(),
        success_criteria: texts.criteria,
        results_compacted: results.as_deref().map(|results| beginning(results, RESULTS_CHARACTERS).to_owned()),
        results,
        ..Frame::default()
    }
}

/// The task of a frame: the parts that are not blank, each with what it is. A task that is too long is cut, and reported.
fn task_of<const N: usize>(parts: [(&str, &str); N], place: &str, collector: &mut Collector) -> String {
    let parts = parts.iter().filter(|(_, text)| !text.trim().is_empty());
    let task = parts.map(|(what, text)| format!("{what}{}", text.trim())).collect::<Vec<_>>().join("\n\n");
    let shown = beginning(&task, Frame::LONGEST_TASK);
    if shown.len() < task.len() {
        collector.report(place, format!("its texts are longer than {} characters together; cut", Frame::LONGEST_TASK));
    }
    shown.to_owned()
}

struct Texts {
    title: String,
    criteria: String,
    results: String,
}

/// Takes a text out of an object. A value of another type is reported and remains with the other keys.
fn take_text(object: &mut Map<String, Value>, key: &str, place: &str, collector: &mut Collector) -> Option<String> {
    match object.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(_)) => match object.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        Some(_) => {
            collector.report(place, format!("`{key}` is not a text; ignored"));
            None
        }
    }
}

/// Takes a list out of an object; empty if there is none. A value of another type is reported and removed.
fn take_list(object: &mut Map<String, Value>, key: &str, place: &str, collector: &mut Collector) -> Vec<Value> {
    match object.remove(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            collector.report(place, format!("`{key}` is not a list; left out"));
            Vec::new()
        }
    }
}
