//! `callstack edit`: changes a planned frame, or corrects the words of one that has begun.

use std::io;

use callstack_core::text::one_line;
use callstack_core::{Frame, FrameEdit, FrameRef, FrameStatus, Handle, Priority};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, list, next};
use super::marks::name;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input::{self, misused};
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, its title, or the beginning of one of these. It must be planned. Of a frame that has begun the title, the
    /// criteria, the task, the priority, the labels and the assignee can be corrected; the history keeps the ones before.
    frame: FrameRef,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Args)]
struct Changes {
    /// New title.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// New success criteria. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    criteria: Option<String>,
    /// The same in few words, for prompts.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    criteria_compacted: Option<String>,
    /// New full instruction: what is to be done, what is known, what is to be returned. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    task: Option<String>,
    /// How urgent it is: 0, before all others, to 4.
    #[arg(long, value_name = "0-4", conflicts_with = "no_priority")]
    priority: Option<Priority>,
    /// As urgent as the frame above.
    #[arg(long)]
    no_priority: bool,
    /// A label that it gets. Can be repeated.
    #[arg(long, value_name = "LABEL", alias = "label")]
    add_label: Vec<String>,
    /// A label that it loses. Can be repeated.
    #[arg(long, value_name = "LABEL")]
    remove_label: Vec<String>,
    /// Who is to do the work. Workers of other names leave the frame to them.
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "no_assignee")]
    assignee: Option<String>,
    /// Anybody can do the work.
    #[arg(long)]
    no_assignee: bool,
    /// A frame whose results this one needs. Can be repeated. These dependencies replace all earlier ones.
    #[arg(long, value_name = "FRAME", conflicts_with = "no_dependencies")]
    depends_on: Vec<FrameRef>,
    /// Remove all dependencies.
    #[arg(long)]
    no_dependencies: bool,
    /// Move the frame, with all frames below it, below this one, as the last child.
    #[arg(long, value_name = "FRAME", alias = "parent", conflicts_with = "root")]
    below: Option<FrameRef>,
    /// Make the frame a root.
    #[arg(long)]
    root: bool,
    /// Move the frame before this sibling.
    #[arg(long, value_name = "FRAME", conflicts_with = "last")]
    before: Option<FrameRef>,
    /// Make the frame the last of its siblings.
    #[arg(long)]
    last: bool,
}

/// The frame as it is after the edit.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edited {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// Its dependencies that are not completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for_frames: Vec<Handle>,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Edited {
    const KIND: &'static str = "edited";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(self.frame.line("edited"))?;
        list(page, "waits for", &self.waits_for_frames)?;
        next(page, &self.same_stack, format_args!("callstack show {}", self.frame.handle))
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Edited, Failure> {
    let labels = Labels { added: arguments.changes.add_label.clone(), removed: arguments.changes.remove_label.clone() };
    let mut edit = arguments.changes.edit()?;
    let stack = folder.open_to_write()?;
    let handle = stack.resolve(arguments.frame)?;
    edit.labels = labels.of(handle, &stack.frame(handle)?)?;
    stack.edit(handle, edit)?;
    Ok(stack.read(|tree| Edited {
        frame: ChangedFrame::of(tree, handle),
        waits_for_frames: match tree.node(handle).status() {
            FrameStatus::Planned => tree.waits_for(handle).collect(),
            _ => Vec::new(),
        },
        same_stack: folder.same_stack(),
    })?)
}

/// Labels that a frame gets and loses.
struct Labels {
    added: Vec<String>,
    removed: Vec<String>,
}

impl Labels {
    /// All labels of a frame then. `None`: they stay.
    ///
    /// # Errors
    /// If it does not have a label that it is to lose.
    fn of(self, handle: Handle, frame: &Frame) -> Result<Option<Vec<String>>, Failure> {
        if let Some(missing) = self.removed.iter().find(|label| !frame.has_label(label)) {
            let message = format!("{handle} does not have the label `{}`", one_line(missing));
            return Err(Failure::new(Exit::Refused, "no_label", message).next(format!("callstack show {handle}")));
        }
        if self.added.is_empty() && self.removed.is_empty() {
            return Ok(None);
        }
        let is_kept =
            |label: &&String| !self.removed.iter().any(|removed| removed.to_lowercase() == label.to_lowercase());
        Ok(Some(frame.labels.iter().filter(is_kept).chain(&self.added).cloned().collect()))
    }
}

impl Changes {
    /// # Errors
    /// If nothing changes; those of the standard input.
    fn edit(self) -> Result<FrameEdit, Failure> {
        let words = [self.title, self.criteria, self.criteria_compacted, self.task];
        let [title, criteria, compacted, task] = input::texts(words)?;
        let mut edit = FrameEdit::default();
        edit.title = title;
        edit.success_criteria = criteria;
        edit.success_criteria_compacted = compacted;
        edit.task = task;
        edit.priority = self.priority.map(Some).or(self.no_priority.then_some(None));
        edit.depends_on = (self.no_dependencies || !self.depends_on.is_empty()).then_some(self.depends_on);
        edit.parent = self.below.map(Some).or(self.root.then_some(None));
        edit.before = self.before.map(Some).or(self.last.then_some(None));
        edit.assignee = self.assignee.map(Some).or(self.no_assignee.then_some(None));
        let has_labels = !self.add_label.is_empty() || !self.remove_label.is_empty();
        if edit == FrameEdit::default() && !has_labels {
            return Err(misused("no change is given").next("`callstack edit --help` lists what can be changed"));
        }
        Ok(edit)
    }
}
