//! `callstack push`: begins a frame.

use std::io;

use callstack_core::text::one_line;
use callstack_core::{FrameRef, Handle, NewFrame, Parent, Priority, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, next};
use super::marks::Marks;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// Short name of the frame, two to five words.
    title: String,
    #[command(flatten)]
    task: Task,
    #[command(flatten)]
    place: Place,
    /// ID of the frame, usually that of a session. Default: a generated one.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Begin a new frame although one with this title is planned.
    #[arg(long)]
    another: bool,
    /// Create the stack if the folder has none: in the folder of --stack, else in .callstack of the working
    /// folder, unless that would hide a stack which commands there use.
    #[arg(long)]
    new: bool,
}

/// What a new frame is about.
#[derive(Args)]
pub struct Task {
    /// Success criteria: checkable conditions for the completion of the frame. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    criteria: Option<String>,
    /// The success criteria in few words, for prompts.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    criteria_compacted: Option<String>,
    /// The full instruction: what is to be done, what is known, what is to be returned. Only the frame's own
    /// agent sees it. `-` reads the standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    task: Option<String>,
    /// How urgent it is: 0, before all others, to 4. Default: as the frame above, or 2.
    #[arg(long, value_name = "0-4")]
    priority: Option<Priority>,
    /// A frame whose results this one needs. Can be repeated.
    #[arg(long, value_name = "FRAME")]
    depends_on: Vec<FrameRef>,
    #[command(flatten)]
    marks: Marks,
}

/// Where new frames stand.
#[derive(Args)]
pub struct Place {
    /// The frame above. Default: the active frame; a root if no frame is active.
    #[arg(long, value_name = "FRAME", alias = "parent", conflicts_with = "root")]
    below: Option<FrameRef>,
    /// Begin a new tree.
    #[arg(long)]
    root: bool,
}

/// The frame that was begun. It is the active frame now.
#[derive(Serialize, JsonSchema)]
pub struct Pushed {
    #[serde(flatten)]
    frame: ChangedFrame,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Pushed {
    const KIND: &'static str = "pushed";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(self.frame.line("began"))?;
        next(page, &self.same_stack, format_args!("callstack pop {} --results TEXT", self.frame.handle))
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Pushed, Failure> {
    let Arguments { title, task, place, id, another, new } = arguments;
    let is_plain = id.is_none() && !task.has_words() && !task.has_order();
    let mut frame = task.of(NewFrame::new(title))?;
    frame.parent = place.parent();
    frame.session_id = id;
    folder.change(new, |stack| {
        let handle = match planned(stack, &frame)?.filter(|_| !another) {
            Some(planned) if is_plain => stack.begin(planned).map(|()| planned)?,
            Some(planned) => return Err(is_planned(planned, &stack.frame(planned)?.title)),
            None => stack.push(frame.clone())?,
        };
        Ok(Pushed { frame: stack.read(|tree| ChangedFrame::of(tree, handle))?, same_stack: folder.same_stack() })
    })
}

/// The planned frame that has the title of a new frame, at the place of the new frame.
fn planned(stack: &Stack, frame: &NewFrame) -> Result<Option<Handle>, Failure> {
    let parent = match &frame.parent {
        Parent::Frame(below) => Some(stack.resolve(below.clone())?),
        Parent::Root => None,
        _ => stack.active(),
    };
    Ok(stack.read(|tree| tree.planned_with_title(&frame.identity.title, parent))?)
}

/// A frame with this title is planned, and the new frame would be its sibling.
fn is_planned(planned: Handle, title: &str) -> Failure {
    let message = format!("{planned} ({}) is planned already", one_line(title));
    Failure::new(Exit::Refused, "planned_title", message).next(format!(
        "`callstack activate {planned}` begins it, `callstack edit {planned}` changes it, --another begins a new frame beside it"
    ))
}

impl Task {
    /// True if it has words that only one frame can have.
    pub fn has_words(&self) -> bool {
        self.criteria.is_some() || self.criteria_compacted.is_some() || self.task.is_some()
    }

    /// True if an option for the order of work or the assignee is given.
    pub fn has_order(&self) -> bool {
        !self.depends_on.is_empty() || self.priority.is_some() || self.marks.are_given()
    }

    /// The frame with this task, as far as it is given.
    ///
    /// # Errors
    /// The errors of the standard input.
    pub fn of(&self, mut frame: NewFrame) -> Result<NewFrame, Failure> {
        let words = [self.criteria.clone(), self.criteria_compacted.clone(), self.task.clone()];
        let [criteria, compacted, task] = input::texts(words)?;
        criteria.into_iter().for_each(|criteria| frame.identity.success_criteria = criteria);
        compacted.into_iter().for_each(|compacted| frame.identity.success_criteria_compacted = compacted);
        task.into_iter().for_each(|task| frame.task = task);
        frame.priority = self.priority.or(frame.priority);
        frame.depends_on.extend(self.depends_on.iter().cloned());
        Ok(self.marks.of(frame))
    }
}

impl Place {
    /// The frame that is named.
    pub fn below(&self) -> Option<&FrameRef> {
        self.below.as_ref()
    }

    pub fn parent(self) -> Parent {
        match self.below {
            Some(frame) => Parent::Frame(frame),
            None if self.root => Parent::Root,
            None => Parent::Auto,
        }
    }
}
