//! `callstack activate`: begins a planned frame, or continues an open one.

use std::io;

use callstack_core::tree::{Obstacle, Parts};
use callstack_core::{Error, FrameRef, FrameStatus, Handle, Stack, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::holding::with_worker;
use crate::output::{EMPHASIS, Line, Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// The frame: its handle, its ID, its title, or the beginning of one of these. A planned frame begins, a
    /// blocked frame resumes, and a frame that is in_progress becomes the active frame.
    frame: FrameRef,
    /// Begin a planned frame although its dependencies are not completed. Resume a blocked frame although it
    /// belongs to a session: no host prompts the session then. Make a frame the active frame although a
    /// worker has it: the worker continues its work.
    #[arg(long)]
    anyway: bool,
}

/// The frame, which is the active frame now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Activated {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// Its status before.
    from: FrameStatus,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Activated {
    const KIND: &'static str = "activated";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let line = match self.from {
            FrameStatus::Planned => self.frame.line("began"),
            FrameStatus::Blocked => self.frame.line("resumed"),
            _ => Line::new()
                .plain("active: ")
                .styled(EMPHASIS, self.frame.handle.to_string())
                .plain(" ")
                .said(&self.frame.title),
        };
        page.line(line)?;
        next(page, &self.same_stack, format_args!("callstack pop {} --results TEXT", self.frame.handle))
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Activated, Failure> {
    let stack = folder.open_to_write()?;
    let handle = stack.resolve(arguments.frame)?;
    activate(&stack, handle, arguments.anyway, folder.same_stack())
}

/// Begins or continues a frame. `anyway`: even if the frame waits for others, or if another holder works on
/// it.
pub fn activate(stack: &Stack, handle: Handle, anyway: bool, same_stack: SameStack) -> Result<Activated, Failure> {
    let from = stack.read(|tree| tree.node(handle).status())?;
    if !anyway {
        let worker = with_worker(stack, handle)?;
        stack.read(|tree| check(tree, handle, worker))??;
    }
    match from {
        FrameStatus::InProgress => match stack.resume(handle) {
            // It stays that of its holder, and is the active frame.
            Err(Error::Held { .. }) if anyway => stack.set_active(handle)?,
            resumed => resumed?,
        },
        FrameStatus::Planned if anyway => stack.activate(handle)?,
        FrameStatus::Planned => {
            if let Err(error) = stack.begin(handle) {
                return Err(stack.read(|tree| not_ready(tree, handle, error))?);
            }
        }
        _ => stack.resume(handle)?,
    }
    let frame = stack.read(|tree| ChangedFrame::of(tree, handle))?;
    Ok(Activated { frame, from, same_stack })
}

/// Checks that a frame that waits to begin has what it needs, and that no other actor continues a frame that
/// has begun. `worker`: why a worker continues it.
fn check(tree: &Tree, handle: Handle, worker: Option<String>) -> Result<(), Failure> {
    let anyway = || format!("callstack activate {handle} --anyway");
    let node = tree.node(handle);
    match node.status() {
        FrameStatus::Blocked if node.record().waits_to_begin() => {
            tree.check_ready(handle).map_err(|error| not_ready(tree, handle, error))
        }
        FrameStatus::InProgress => worker.map_or(Ok(()), |why| {
            let step = format!(
                "`callstack stop {handle}`, then `callstack activate {handle}`, if you continue it yourself; `{}` only makes it the active \
                 frame",
                anyway()
            );
            Err(Failure::new(Exit::Refused, "frame_of_worker", why).next(step))
        }),
        FrameStatus::Blocked if node.record().has_session() => {
            let message = format!("{handle} belongs to a session, which resumes when {handle} is answered");
            let step = format!("`callstack answer {handle} TEXT`, or `{}` if you continue it yourself", anyway());
            Err(Failure::new(Exit::Refused, "frame_of_session", message).next(step))
        }
        _ => Ok(()),
    }
}

/// The refusal to begin a frame, with what can be done.
fn not_ready(tree: &Tree, handle: Handle, error: Error) -> Failure {
    if !matches!(error, Error::NotReady { .. }) || tree.check_is_work(handle).is_err() {
        return error.into();
    }
    let first = match tree.can_begin(handle, Parts::Within) {
        Err(Obstacle::Above(_)) => Some(format!("callstack edit {handle} --below FRAME")),
        Err(Obstacle::Blocked) => Some(format!("callstack answer {handle} TEXT")),
        Err(Obstacle::Waiting(above)) => Some(completing(tree, handle, above)),
        _ => tree.waits_for(handle).next().map(|needed| completing(tree, handle, needed)),
    };
    let first = first.map(|step| format!("`{step}`, or ")).unwrap_or_default();
    Failure::from(error).next(format!("{first}`callstack activate {handle} --anyway`"))
}

/// The command that helps to complete a dependency.
fn completing(tree: &Tree, handle: Handle, needed: Handle) -> String {
    match tree.node(needed).status() {
        FrameStatus::Planned if tree.can_begin(needed, Parts::Within).is_ok() => format!("callstack activate {needed}"),
        FrameStatus::Planned => "callstack ready".to_owned(),
        FrameStatus::Blocked => format!("callstack answer {needed} TEXT"),
        FrameStatus::Failed => format!("callstack retry {needed}"),
        FrameStatus::Invalidated => format!("callstack edit {handle} --depends-on OTHER"),
        FrameStatus::InProgress | FrameStatus::Completed => format!("callstack show {needed}"),
    }
}
