//! `callstack undo`: takes back the last command of a person.

use std::io;

use callstack_core::Handle;
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
pub struct Undone {
    /// What it was, such as `pop`.
    command: String,
    /// The frames that are as they were before it. Those that it had added are invalidated.
    frames: Vec<Handle>,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Undone {
    const KIND: &'static str = "undone";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(Line::new().plain(format!("taken back: {}", self.command)))?;
        list(page, "as before, or out of the plan", &self.frames)?;
        next(page, &self.same_stack, "callstack tree")
    }
}

pub fn run(folder: &StackFolder) -> Result<Undone, Failure> {
    let undone = folder.open_to_write()?.undo()?;
    Ok(Undone { command: undone.command, frames: undone.frames, same_stack: folder.same_stack() })
}
