//! `callstack plan --edit`: the plan as a check list in the person's editor.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use callstack_core::import::{PLAN_TEXT_LINES, plan_text};
use callstack_core::stack::EditedPlan;
use callstack_core::tree::MOST_TAKEN_BACK;
use callstack_core::{FrameRef, Handle, Stack};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{list, next, quoted};
use super::programs::command_line;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Line, Page, Report, count, number};
use crate::same_stack::SameStack;

/// What the editor says above the plan.
const HELP: &str =
    "# Each line is a frame; two blanks more than the line above put it below that one. Lines with # say nothing.
# Edit titles, move lines, and remove those that are not needed. A line without (fN) is a new frame.
# `after f2, f5` after (fN) says what a frame needs. Frames that have begun or ended stay where they are.
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
        let EditedPlan { planned, edited, invalidated, dependents, .. } = &self.edited;
        if self.edited.is_nothing() {
            return page.line(Line::new().plain("The plan is as it was."));
        }
        list(page, "planned", planned)?;
        list(page, "changed", edited)?;
        list(page, "out of the plan", invalidated)?;
        list(page, "needed by frames, which cannot begin", dependents)?;
        let can_be_undone = edited.len() + invalidated.len() <= MOST_TAKEN_BACK;
        let undo = if can_be_undone { "; `callstack undo` takes it back" } else { "" };
        next(page, &self.same_stack, format_args!("`callstack tree`{undo}"))
    }
}

/// Changes the plan below a frame, or all of it, to what a text says: the text of a file, or of the person's
/// editor.
pub fn run(below: Option<FrameRef>, file: Option<&Path>, folder: &StackFolder) -> Result<PlanEdited, Failure> {
    // The stack is opened first: a person who cannot write learns it before the editor opens.
    let stack = folder.open_to_write()?;
    let below: Option<Handle> = below.map(|below| stack.resolve(below)).transpose()?;
    let before = stack.read(|tree| plan_text(tree, below))?;
    let lines = before.lines().count();
    if lines > PLAN_TEXT_LINES {
        let message = format!(
            "the plan has {}, and a text has at most {}",
            count(lines, "frame"),
            number(PLAN_TEXT_LINES as u64)
        );
        return Err(Failure::new(Exit::Refused, "too_long", message).next("callstack plan --edit --below FRAME"));
    }
    let edited = match file {
        Some(file) => apply(&stack, below, &before, &input::content(file)?)?,
        None => in_editor(&stack, below, &before)?,
    };
    Ok(PlanEdited { edited, same_stack: folder.same_stack() })
}

fn apply(stack: &Stack, below: Option<Handle>, before: &str, after: &str) -> Result<EditedPlan, Failure> {
    if after.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#')) {
        return Ok(EditedPlan::default());
    }
    stack
        .edit_plan(below, before, after)?
        .map_err(|problem| Failure::new(Exit::Refused, "plan_text", problem.to_string()))
}

/// Lets the person edit the plan. If anything fails after that, the text stays in its file.
fn in_editor(stack: &Stack, below: Option<Handle>, before: &str) -> Result<EditedPlan, Failure> {
    let whole = format!("{HELP}\n{before}");
    let mut file = tempfile::Builder::new().prefix("callstack-plan-").suffix(".md").tempfile()?;
    let name = file.path().display().to_string();
    let failed = |error: io::Error| Failure::of_file("write", &name, &error);
    file.write_all(whole.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    // An editor can write a new file in place of the old one. Then the open file is not the new one.
    let path = file.into_temp_path();
    let edited = edit(&path).and_then(|()| {
        let after = input::content(&path)?;
        if after == whole { Ok(EditedPlan::default()) } else { apply(stack, below, before, &after) }
    });
    edited.or_else(|failure| {
        if fs::read(&path).is_ok_and(|content| content == whole.as_bytes()) {
            return Err(failure);
        }
        let kept = path.keep().map_err(|error| failed(error.error))?;
        let again = kept.display().to_string();
        let again = quoted(&again);
        Err(failure.next(format!(
            "nothing was changed; `callstack plan --edit --file {again}` takes your text once it is corrected"
        )))
    })
}

/// Opens a file in the editor of $VISUAL or $EDITOR, and waits for its end.
fn edit(path: &Path) -> Result<(), Failure> {
    let is_named = |name| env::var(name).ok().filter(|editor: &String| !editor.trim().is_empty());
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(is_named);
    if named.is_none() && !io::stdin().is_terminal() {
        let message = "there is no terminal for an editor";
        return Err(Failure::new(Exit::Usage, "no_terminal", message)
            .next("name an editor in $VISUAL or $EDITOR, or give the text: callstack plan --edit --file FILE"));
    }
    let editor = named.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_owned());
    let status = command_line(&editor, &path.to_string_lossy()).status();
    let status = status.map_err(|error| Failure::of_file("run", &editor, &error))?;
    if status.success() {
        return Ok(());
    }
    let message = format!("the editor `{editor}` has ended with {status}");
    Err(Failure::new(Exit::Failed, "editor", message))
}
