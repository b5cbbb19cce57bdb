//! Plans of other tools as frames: Task Master's `tasks.json` and Beads' `issues.jsonl`.
//!
//! Pure functions from text to [`Frame`]s whose links are sound: what is malformed is reported
//! with its place, and the rest is imported. [`Stack::import`](crate::Stack::import) adds the
//! frames to a tree.

mod beads;
mod task_master;
mod time;

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Repair, StackState};
use crate::text::beginning;
use crate::tree::Tree;

pub use beads::beads;
pub use task_master::task_master;

/// Longest compacted criteria and results made of full ones, in characters.
const CRITERIA_CHARACTERS: usize = 150;
const RESULTS_CHARACTERS: usize = 400;

/// A plan as frames, parents before children, with a root of its own for each tag or file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// The frames. IDs are unique, and parents and dependencies exist.
    pub frames: Vec<Frame>,
    /// What could not be read or did not fit.
    pub problems: Vec<Problem>,
}

/// Something in an imported file that was left out or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: a line, a JSON path, or the ID of a task.
    pub place: String,
    /// What was wrong and what was made of it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

impl From<Repair> for Problem {
    fn from(repair: Repair) -> Self {
        Problem { place: repair.frame.unwrap_or_else(|| "state".into()), message: repair.message }
    }
}

/// A file format that frames can be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The specification's `state.json`.
    State,
    /// Task Master's `tasks.json`.
    TaskMaster,
    /// Beads' `issues.jsonl`.
    Beads,
}

impl Format {
    /// The format of a text: many JSON objects are Beads issues, one is a state if it has
    /// `frames`, else a Task Master file.
    ///
    /// # Errors
    /// [`Error::Json`] if the text begins with no JSON object.
    pub fn of(text: &str) -> Result<Self> {
        let not_json = |message: String| Error::Json { what: "the file", message };
        let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
        let first = match objects.next() {
            Some(first) => first.map_err(|error| not_json(error.to_string()))?,
            None => return Err(not_json("it is empty".into())),
        };
        let is_issue = first.contains_key("id") && first.contains_key("title");
        Ok(match first.get("frames") {
            Some(Value::Object(_)) => Format::State,
            _ if objects.next().is_some() || is_issue => Format::Beads,
            _ => Format::TaskMaster,
        })
    }
}

/// Reads a tree from any of the formats.
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
/// [`Error::Json`] if the text as a whole cannot be read; [`Error::Version`] for a state of a
/// newer version.
pub fn read(text: &str) -> Result<(Tree, Vec<Problem>)> {
    let Imported { mut frames, problems } = match Format::of(text)? {
        Format::State => return state(text),
        Format::TaskMaster => task_master(text)?,
        Format::Beads => beads(text),
    };
    frames.sort_by_key(|frame| frame.created_at);
    // What is imported is sound: there is nothing to mend.
    let (tree, _, _) = Tree::from_frames(&mut frames);
    Ok((tree, problems))
}

/// Reads frames from any of the formats, to add them to a tree.
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
/// As [`read`].
pub fn frames(text: &str) -> Result<Imported> {
    match Format::of(text)? {
        Format::State => {
            let (tree, problems) = state(text)?;
            Ok(Imported { frames: tree.state().frames, problems })
        }
        Format::TaskMaster => task_master(text),
        Format::Beads => Ok(beads(text)),
    }
}

fn state(text: &str) -> Result<(Tree, Vec<Problem>)> {
    let (state, mut repairs) = StackState::from_json(text)?;
    let (tree, more) = Tree::from_state(state);
    repairs.extend(more);
    Ok((tree, repairs.into_iter().map(Problem::from).collect()))
}

/// Frames as they are collected.
#[derive(Default)]
struct Collector {
    frames: Vec<Frame>,
    places: HashMap<String, usize>,
    problems: Vec<Problem>,
}

impl Collector {
    fn report(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem { place: place.into(), message: message.into() });
    }

    /// Adds a frame; one whose ID is taken gets another.
    fn add(&mut self, mut frame: Frame, place: &str) {
        if self.places.contains_key(&frame.session_id) {
            let taken = frame.session_id.clone();
            frame.session_id = (2..)
                .map(|number| format!("{taken} ({number})"))
                .find(|id| !self.places.contains_key(id))
                .expect("there are more numbers than frames");
            self.report(place, format!("`{taken}` stands there twice; kept as `{}`", frame.session_id));
        }
        self.places.insert(frame.session_id.clone(), self.frames.len());
        self.frames.push(frame);
    }

    /// Cuts what does not hold, orders parents before children, and gives each root the status
    /// that follows from its children.
    fn finish(mut self) -> Imported {
        let (tree, _, repairs) = Tree::from_frames(&mut self.frames);
        self.problems.extend(repairs.into_iter().map(Problem::from));
        let mut frames = tree.state().frames;
        for root in tree.roots() {
            let mut below = tree.subtree(*root).skip(1).peekable();
            let is_made = frames[root.index()].extra.is_empty() && below.peek().is_some();
            let done = |status: FrameStatus| status.is_finished() || status == FrameStatus::Invalidated;
            if is_made {
                let all_done = below.all(|frame| done(tree.node(frame).status()));
                frames[root.index()].status = if all_done { FrameStatus::Completed } else { FrameStatus::InProgress };
            }
        }
        Imported { frames, problems: self.problems }
    }
}

/// The frame of a task: compacted texts are the beginnings of the full ones, results are only
/// there once it is done.
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

struct Texts {
    title: String,
    criteria: String,
    results: String,
}

/// Takes a text out of an object. What is no text is reported, and stays with the other keys.
fn take_text(object: &mut Map<String, Value>, key: &str, place: &str, collector: &mut Collector) -> Option<String> {
    match object.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(_)) => match object.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        Some(_) => {
            collector.report(place, format!("`{key}` is no text; not used"));
            None
        }
    }
}
