//! `callstack git`: the plan as a file in version control.

use std::env;
use std::io;
use std::path::Path;

use callstack_core::import::PLAN_FILE;
use callstack_core::stack::PlanFileState;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{next, quoted};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// Whether the plan is a file. Default: tell whether it is.
    #[arg(value_enum)]
    wanted: Option<Wanted>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wanted {
    /// Keep `plan.md` in the folder of the stack up to date, and let git take it.
    On,
    /// Remove the file.
    Off,
}

/// Whether the plan is a file for version control.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanInGit {
    /// `changed`: others have changed the file, so it is not written until it is imported.
    state: PlanFileState,
    /// Where it is, or would be.
    path: String,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for PlanInGit {
    const KIND: &'static str = "planInGit";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let path = quoted(&self.path);
        match self.state {
            PlanFileState::On => {
                page.line(Line::new().plain(format!("the plan is in {path}")))?;
                next(
                    page,
                    &self.same_stack,
                    format_args!("git add {path} {}", quoted(&self.path.replace(PLAN_FILE, ".gitignore"))),
                )
            }
            PlanFileState::Changed => {
                page.line(
                    Line::new().plain(format!("{path} has changes that the stack does not have, so it is not written")),
                )?;
                next(page, &self.same_stack, format_args!("callstack import {path}"))
            }
            _ => {
                page.line(Line::new().plain("the plan is in no file"))?;
                next(page, &self.same_stack, "callstack git on")
            }
        }
    }
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<PlanInGit, Failure> {
    let state = match arguments.wanted {
        None => folder.open_to_read()?.files().plan_state()?,
        Some(Wanted::On) => folder.open_to_write()?.files().begin_plan()?,
        Some(Wanted::Off) => {
            let stack = folder.open_to_write()?;
            stack.files().end_plan()?;
            stack.files().plan_state()?
        }
    };
    let whole = folder.existing()?.join(PLAN_FILE);
    let working = env::current_dir().ok();
    let path = working.and_then(|working| whole.strip_prefix(working).ok().map(Path::to_owned)).unwrap_or(whole);
    Ok(PlanInGit { state, path: path.display().to_string(), same_stack: folder.same_stack() })
}
