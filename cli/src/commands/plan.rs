//! `callstack plan`: plans one frame, or several with the same parent.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use callstack_core::import::{self, Imported, Problem};
use callstack_core::text::from_json;
use callstack_core::tree::Parts;
use callstack_core::{Error, Frame, FrameRef, Handle, NewFrame, Parent, Priority, Stack, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changed::{ChangedFrame, list, next};
use super::import::{Defect, place_below};
use super::push::{Place, Task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input::{self, misused};
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

/// Maximum number of planned frames that the text names.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct Arguments {
    /// Short names of the frames, two to five words each, in the order of the plan.
    #[arg(value_name = "TITLE", required_unless_present_any = ["file", "edit"])]
    titles: Vec<String>,
    /// Read the frames from a file, or from the standard input with `-`: a title on each line, a check list
    /// in Markdown, or a JSON list of titles and of objects with the keys title, successCriteria,
    /// successCriteriaCompacted, task, priority, labels, assignee, dependsOn and sessionID. dependsOn can
    /// name other frames of the list by their titles.
    #[arg(long, value_name = "FILE", conflicts_with = "titles")]
    file: Option<PathBuf>,
    #[command(flatten)]
    task: Task,
    #[command(flatten)]
    place: Place,
    /// Edit the plan as a check list in the editor of $VISUAL or $EDITOR: titles, order, places,
    /// dependencies, new and removed frames. With --below only what is below that frame; with --file the
    /// edited list comes from a file, without an editor.
    #[arg(long, conflicts_with_all = ["titles", "chain", "root", "new", "criteria", "criteria_compacted", "task", "priority", "labels", "assignee", "depends_on"])]
    edit: bool,
    /// Each frame needs the results of the one before it.
    #[arg(long)]
    chain: bool,
    /// Create the stack if the folder has none: in the folder of --stack, else in .callstack of the working
    /// folder, unless that would hide a stack which commands there use.
    #[arg(long)]
    new: bool,
}

/// Frames that were planned, in the order of the plan.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    frames: Vec<PlannedFrame>,
    /// The first of them that can begin now.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_ready: Option<Handle>,
    /// Entries of a check list that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Defect>,
    #[serde(skip)]
    same_stack: SameStack,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlannedFrame {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// Its dependencies that are not completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for_frames: Vec<Handle>,
}

impl Report for Planned {
    const KIND: &'static str = "planned";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        for PlannedFrame { frame, waits_for_frames } in self.frames.iter().take(SHOWN) {
            page.line(frame.line("planned"))?;
            list(page, "    waits for", waits_for_frames)?;
        }
        if self.frames.len() > SHOWN {
            page.text(0, &format!("and {} more", self.frames.len() - SHOWN))?;
        }
        Defect::list(page, &self.problems)?;
        match self.next_ready {
            Some(ready) => next(page, &self.same_stack, format_args!("callstack activate {ready}")),
            None => next(page, &self.same_stack, "`callstack ready` lists the frames that can begin"),
        }
    }
}

impl Arguments {
    /// The frame below which the plan is to be edited, if it is, and the file with the edited text.
    pub fn edits(&self) -> Option<(Option<FrameRef>, Option<&Path>)> {
        self.edit.then(|| (self.place.below().cloned(), self.file.as_deref()))
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Planned, Failure> {
    let Arguments { titles, file, task, place, edit: _, chain, new } = arguments;
    let text = file.map(|file| input::content(&file)).transpose()?;
    if let Some(text) = text.as_deref().filter(|text| import::is_checklist(text)) {
        if chain || task.has_words() || task.has_order() {
            return Err(misused(
                "a check list has its own order and words: --chain, --depends-on, --priority, --label, --assignee, criteria and task are for titles",
            ));
        }
        let Imported { frames, problems, .. } = import::checklist(text)?;
        let parent = place.parent();
        return folder.change(new, |stack| imported(stack, &parent, frames.clone(), &problems, folder.same_stack()));
    }
    let mut frames = match text {
        Some(text) => listed(&text)?,
        None => titles.into_iter().map(NewFrame::new).collect(),
    };
    if task.has_words() && frames.len() > 1 {
        return Err(misused("criteria and task are those of one frame; a JSON list gives each frame its own"));
    }
    frames = frames.into_iter().map(|frame| task.of(frame)).collect::<Result<_, _>>()?;
    let parent = place.parent();
    folder.change(new, |stack| {
        let mut frames = frames.clone();
        if chain {
            for index in 1..frames.len() {
                let before = frames[index - 1].session_id.get_or_insert_with(|| stack.planned_id()).clone();
                frames[index].depends_on.push(FrameRef::Id(before));
            }
        }
        Ok(planned(stack, parent.clone(), frames, folder.same_stack())?)
    })
}

/// Plans the frames below the parent, all or none.
pub fn planned(stack: &Stack, parent: Parent, frames: Vec<NewFrame>, same_stack: SameStack) -> Result<Planned, Error> {
    let planned = match <[NewFrame; 1]>::try_from(frames) {
        Ok([mut frame]) => {
            frame.parent = parent;
            vec![stack.plan(frame)?]
        }
        Err(frames) => stack.plan_children(parent, frames)?,
    };
    Planned::of(stack, &planned, same_stack)
}

/// Adds the frames of a check list below the parent, with their marks.
fn imported(
    stack: &Stack,
    parent: &Parent,
    mut frames: Vec<Frame>,
    problems: &[Problem],
    same_stack: SameStack,
) -> Result<Planned, Failure> {
    // A list can be planned twice, so its frames get IDs in the same way as other planned frames.
    let new: HashMap<String, String> =
        frames.iter().map(|frame| (frame.session_id.clone(), stack.planned_id())).collect();
    for frame in &mut frames {
        for id in [Some(&mut frame.session_id), frame.parent_session_id.as_mut()].into_iter().flatten() {
            new[id.as_str()].clone_into(id);
        }
    }
    let below = match parent {
        Parent::Frame(below) => Some(below.clone()),
        Parent::Root => None,
        _ => stack.active().map(FrameRef::from),
    };
    if let Some(below) = below {
        place_below(stack, below, &mut frames)?;
    }
    let planned = stack.import(frames)?;
    Ok(Planned { problems: Defect::all(problems), ..Planned::of(stack, &planned, same_stack)? })
}

impl Planned {
    fn of(stack: &Stack, planned: &[Handle], same_stack: SameStack) -> Result<Self, Error> {
        let frame = |tree: &Tree, frame: &Handle| PlannedFrame {
            frame: ChangedFrame::of(tree, *frame),
            waits_for_frames: tree.waits_for(*frame).collect(),
        };
        stack.read(|tree| Self {
            same_stack,
            next_ready: planned.iter().copied().find(|frame| tree.can_begin(*frame, Parts::First).is_ok()),
            problems: Vec::new(),
            frames: planned.iter().map(|planned| frame(tree, planned)).collect(),
        })
    }
}

/// An entry of a JSON list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    title: String,
    #[serde(default)]
    success_criteria: String,
    #[serde(default)]
    success_criteria_compacted: String,
    #[serde(default)]
    task: String,
    priority: Option<Priority>,
    #[serde(default)]
    labels: Vec<String>,
    assignee: Option<String>,
    #[serde(default)]
    depends_on: Vec<FrameRef>,
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
}

impl From<Entry> for NewFrame {
    fn from(entry: Entry) -> Self {
        let Entry { title, success_criteria, success_criteria_compacted, depends_on, session_id, .. } = entry;
        let mut frame = NewFrame::new(title).task(entry.task);
        frame.priority = entry.priority;
        frame.labels = entry.labels;
        frame.assignee = entry.assignee;
        frame.identity.success_criteria = success_criteria;
        frame.identity.success_criteria_compacted = success_criteria_compacted;
        frame.depends_on = depends_on;
        frame.session_id = session_id;
        frame
    }
}

/// The frames of a list: JSON, or a title on each line.
fn listed(text: &str) -> Result<Vec<NewFrame>, Failure> {
    let refused = |code: &str, message: &str| Failure::new(Exit::Refused, code, message);
    if text.trim_start().starts_with('{') {
        return Err(refused("json", "the file is JSON, but not a list").next(
            "write a list, such as [{\"title\": \"Schema\"}]; `callstack import FILE` reads the plans of other tools",
        ));
    }
    let begins = text.trim_start().strip_prefix('[').map(|rest| rest.trim_start().chars().next());
    let frames = match begins {
        Some(None | Some('{' | '"' | ']')) => entries(text)?,
        _ => text.lines().map(title).filter(|title| !title.is_empty()).map(NewFrame::new).collect(),
    };
    match frames.is_empty() {
        true => Err(refused("empty", "the list has no frames").next("give a title on each line, or a JSON list")),
        false => Ok(frames),
    }
}

fn entries(text: &str) -> Result<Vec<NewFrame>, Failure> {
    let values: Vec<Value> = from_json(text).map_err(|error| Error::json("the list", error.to_string()))?;
    let read = (1..).zip(values).map(|(number, value)| {
        let frame = match value {
            Value::String(title) => Ok(NewFrame::new(title)),
            value => serde_json::from_value::<Entry>(value).map(NewFrame::from).map_err(|error| error.to_string()),
        };
        let is_named = |frame: &NewFrame| !frame.identity.title.trim().is_empty();
        let frame = frame.and_then(|frame| if is_named(&frame) { Ok(frame) } else { Err("its title is empty".into()) });
        frame.map_err(|message| {
            Failure::from(Error::json("the list", format!("entry {number}: {message}")))
                .next("`callstack plan --help` describes the file; --below and --root place all of its frames")
        })
    });
    read.collect()
}

/// The title on a line, without the mark of a list.
fn title(line: &str) -> &str {
    let line = line.trim();
    ["- ", "* "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim()
}
