//! `callstack undo`: takes back the last command of a person.

use std::io;

use callstack_core::stack::Undone;
use callstack_core::{Handle, Stack};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{list, next};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};
use crate::same_stack::SameStack;

/// The command that was taken back.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoneCommand {
    /// What it was, such as `pop`.
    command: String,
    /// The frames that are as they were before it.
    frames: Vec<Handle>,
    /// The frames that it had added. They are invalidated.
    removed: Vec<Handle>,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for UndoneCommand {
    const KIND: &'static str = "undone";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(Line::new().plain(format!("taken back: {}", self.command)))?;
        list(page, "as before", &self.frames)?;
        list(page, "out of the plan again", &self.removed)?;
        next(page, &self.same_stack, "callstack tree")
    }
}

pub fn run(folder: &StackFolder) -> Result<UndoneCommand, Failure> {
    undo(&*folder.open_to_write()?, folder.same_stack())
}

/// Takes back the last command of a person.
pub fn undo(stack: &Stack, same_stack: SameStack) -> Result<UndoneCommand, Failure> {
    let Undone { command, frames, removed, .. } = stack.undo()?;
    Ok(UndoneCommand { command, frames, removed, same_stack })
}
