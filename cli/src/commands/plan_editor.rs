//! `callstack plan --edit`: the plan as a check list in the person's editor.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::Command;

use callstack_core::import::plan_text;
use callstack_core::stack::EditedPlan;
use callstack_core::{FrameRef, Handle};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{list, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};
use crate::same_stack::SameStack;

/// What the editor says above the plan.
const HELP: &str =
    "# Each line is a frame; two blanks more than the line above put it below that one. Lines with # say nothing.
# Edit titles, move lines, and remove those that are not needed. A line without (fN) is a new frame.
# `after f2, f5` behind (fN) says what a frame needs. Frames that have begun or ended stay where they are.
# A file without any line changes nothing.
";

/// What an edited plan has changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanEdited {
    #[serde(flatten)]
    edited: EditedPlan,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for PlanEdited {
    const KIND: &'static str = "planEdited";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let EditedPlan { planned, edited, invalidated, .. } = &self.edited;
        if planned.is_empty() && edited.is_empty() && invalidated.is_empty() {
            return page.line(Line::new().plain("The plan is as it was."));
        }
        list(page, "planned", planned)?;
        list(page, "changed", edited)?;
        list(page, "out of the plan", invalidated)?;
        next(page, &self.same_stack, "`callstack tree`; `callstack undo` takes it back")
    }
}

/// Lets the person edit the plan below a frame, or all of it.
pub fn run(below: Option<FrameRef>, folder: &StackFolder) -> Result<PlanEdited, Failure> {
    let stack = folder.open_to_read()?;
    let below: Option<Handle> = below.map(|below| stack.resolve(below)).transpose()?;
    let before = stack.read(|tree| plan_text(tree, below))?;
    let mut file = tempfile::Builder::new().prefix("callstack-plan-").suffix(".md").tempfile()?;
    let name = file.path().display().to_string();
    let failed = |error: io::Error| Failure::of_file("write", &name, &error);
    file.write_all(format!("{HELP}\n{before}").as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    // Editors that write a new file in place of the old one leave the handle behind.
    let path = file.into_temp_path();
    edit(&path)?;
    let after = fs::read_to_string(&path).map_err(|error| Failure::of_file("read", &name, &error))?;
    let is_given_up = after.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'));
    let edited = match is_given_up || after == format!("{HELP}\n{before}") {
        true => Ok(EditedPlan::default()),
        false => {
            folder.open_to_write()?.edit_plan(below, &before, &after).map_err(Failure::from).and_then(|edited| {
                edited.map_err(|problem| Failure::new(Exit::Refused, "plan_text", problem.to_string()))
            })
        }
    };
    match edited {
        Ok(edited) => Ok(PlanEdited { edited, same_stack: folder.same_stack() }),
        // Nothing that the person has written is lost.
        Err(failure) => {
            let kept = path.keep().map_err(|error| failed(error.error))?;
            Err(failure.next(format!("your text is kept in {}; nothing was changed", kept.display())))
        }
    }
}

/// Opens a file in the editor of $VISUAL or $EDITOR, and waits for its end.
fn edit(path: &Path) -> Result<(), Failure> {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|editor| !editor.trim().is_empty()));
    if named.is_none() && !io::stdin().is_terminal() {
        let message = "there is no terminal for an editor";
        return Err(Failure::new(Exit::Usage, "no_terminal", message)
            .next("name an editor in $VISUAL or $EDITOR, or plan with `callstack plan --file FILE`"));
    }
    let editor = named.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_owned());
    // As git does: the variable may have arguments.
    let status = if cfg!(windows) {
        Command::new("cmd").args(["/C", &editor]).arg(path).status()
    } else {
        Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "editor"]).arg(path).status()
    };
    let status = status.map_err(|error| Failure::of_file("run", &editor, &error))?;
    if status.success() {
        return Ok(());
    }
    let message = format!("the editor `{editor}` has ended with {status}; nothing was changed");
    Err(Failure::new(Exit::Failed, "editor", message))
}
