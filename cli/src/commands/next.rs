//! `callstack next`: the frame that should begin next.

use std::io;

use callstack_core::{Error, Handle, Stack, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::next;
use super::frame_line::FrameLine;
use super::marks::Marked;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{FAINT, Line, Page, Report, count};
use crate::same_stack::SameStack;

/// How often another frame is chosen when another actor begins the first one.
const MOST_TRIES: usize = 64;

#[derive(Args)]
pub struct Arguments {
    /// Begin it.
    #[arg(long, short)]
    begin: bool,
    #[command(flatten)]
    marked: Marked,
}

impl Arguments {
    /// True if the command changes the stack.
    pub fn begins(&self) -> bool {
        self.begin
    }
}

/// The planned frame that should begin next: the first in the tree of the active frame, else of all.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Next {
    /// Absent: no planned frame can begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<FrameLine>,
    /// The frame above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Handle>,
    /// Its success criteria. Can be empty.
    criteria: String,
    /// True: it was begun.
    begun: bool,
    /// Number of others that can begin.
    more: usize,
    /// The options by which it was chosen.
    #[serde(skip)]
    options: String,
    #[serde(skip)]
    restriction: &'static str,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Next {
    const KIND: &'static str = "next";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Some(frame) = &self.frame else {
            page.line(Line::new().plain(format!("No planned frame{} can begin.", self.restriction)))?;
            return next(page, &self.same_stack, "callstack status");
        };
        frame.write_entry(page, self.parent)?;
        if !self.criteria.trim().is_empty() {
            page.text(4, &self.criteria)?;
        }
        if self.more > 0 {
            page.line(Line::new().styled(FAINT, format!("{} can begin too", count(self.more, "other frame"))))?;
        }
        match self.begun {
            true => next(page, &self.same_stack, format_args!("callstack done {} RESULTS", frame.handle)),
            false => next(page, &self.same_stack, format_args!("callstack next --begin{}", self.options)),
        }
    }
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Next, Failure> {
    if !arguments.begin {
        let stack = folder.open_to_read()?;
        let frame = stack.read(|tree| chosen(tree, &arguments.marked))?;
        return Ok(stack.read(|tree| Next::of(tree, frame, false, &arguments.marked, folder.same_stack()))?);
    }
    let stack = folder.open_to_write()?;
    let frame = begin(&stack, &arguments.marked)?;
    Ok(stack.read(|tree| Next::of(tree, frame, frame.is_some(), &arguments.marked, folder.same_stack()))?)
}

/// Begins the next frame. If another actor begins it meanwhile, begins the next one after it.
fn begin(stack: &Stack, marked: &Marked) -> Result<Option<Handle>, Failure> {
    for _ in 0..MOST_TRIES {
        let Some(frame) = stack.read(|tree| chosen(tree, marked))? else { return Ok(None) };
        match stack.begin(frame) {
            Ok(()) => return Ok(Some(frame)),
            Err(Error::Transition { .. } | Error::NotReady { .. } | Error::NotPlanned { .. }) => drop(stack.refresh()?),
            Err(error) => return Err(error.into()),
        }
    }
    let message = "other workers begin all frames that can begin";
    Err(Failure::new(Exit::Refused, "no_frame", message).next("callstack status"))
}

impl Next {
    fn of(tree: &Tree, frame: Option<Handle>, begun: bool, marked: &Marked, same_stack: SameStack) -> Self {
        let others = tree.ready().filter(|handle| Some(*handle) != frame && marked.fits(tree, *handle)).count();
        let criteria = frame.map(|handle| tree.node(handle).record().dense_criteria().to_owned());
        Self {
            frame: frame.map(|handle| FrameLine::of(tree, handle)),
            parent: frame.and_then(|handle| tree.node(handle).parent()),
            criteria: criteria.unwrap_or_default(),
            begun,
            more: others,
            options: marked.options(),
            restriction: marked.restriction(),
            same_stack,
        }
    }
}

/// The first frame that can begin: in the tree of the active frame, if a frame there can begin.
fn chosen(tree: &Tree, marked: &Marked) -> Option<Handle> {
    let ready = || tree.ready().filter(|handle| marked.fits(tree, *handle));
    let root = tree.active().map(|active| tree.root(active));
    let of_task = root.and_then(|root| ready().find(|handle| tree.root(*handle) == root));
    of_task.or_else(|| ready().next())
}
