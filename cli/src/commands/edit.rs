//! `callstack edit`: changes a planned frame, or corrects the words of one that has begun.

use std::io;

use callstack_core::{FrameEdit, FrameRef, FrameStatus, Handle, Priority};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, list, next};
use super::marks::{LabelChanges, name};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input::{self, misused};
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, its title, or the beginning of one of these. It must be planned. If it
    /// has begun, only the title, the criteria, the task, the priority, the labels and the assignee can be
    /// corrected; the history keeps the earlier ones.
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
    /// The success criteria in few words, for prompts.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    criteria_compacted: Option<String>,
    /// New full instruction: what is to be done, what is known, what is to be returned. `-` reads the
    /// standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    task: Option<String>,
    /// How urgent it is: 0, before all others, to 4.
    #[arg(long, value_name = "0-4", conflicts_with = "no_priority")]
    priority: Option<Priority>,
    /// As urgent as the frame above.
    #[arg(long)]
    no_priority: bool,
    #[command(flatten)]
    labels: LabelChanges,
    /// The person or agent that does the work. Workers of other names leave the frame to them.
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "no_assignee")]
    assignee: Option<String>,
    /// Any person or agent can do the work.
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
    let (mut edit, labels) = arguments.changes.edit()?;
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

impl Changes {
    /// All changes except the changes of labels, which depend on the labels that the frame has.
    ///
    /// # Errors
    /// If nothing changes; the errors of the standard input.
    fn edit(self) -> Result<(FrameEdit, LabelChanges), Failure> {
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
        if edit == FrameEdit::default() && !self.labels.are_given() {
            return Err(misused("no change is given").next("`callstack edit --help` lists what can be changed"));
        }
        Ok((edit, self.labels))
    }
}
