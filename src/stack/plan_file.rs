//! The plan file of a stack, `plan.md`, for version control. The stack keeps it up to date together with the
//! files beside the database, and an import reads it.

use std::borrow::Cow;

use serde::Serialize;

use super::journal::{Journal, TreeFiles};
use super::{Files, Stack};
use crate::error::{Error, Result};
use crate::import::{Imported, LastPlanFile, PLAN_FILE, read_plan_file};
use crate::store::folder::Folder;
use crate::store::mirror::{self, Mirror, PATIENCE};

/// The file that excludes a stack's folder from git, and the line in it that excludes everything.
const IGNORED: &str = ".gitignore";
const EVERYTHING: &str = "*";
/// The lines that let git take the plan.
const TAKEN: [&str; 2] = ["!.gitignore", "!plan.md"];

/// Whether a stack has a plan file. In JSON for example `"changed"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PlanFileState {
    /// It has no plan file.
    Off,
    /// It is kept up to date.
    On,
    /// The text of the file is not the text that the stack has written last. The stack does not write the
    /// file until it is imported.
    Changed,
}

impl Files<'_> {
    /// Begins to keep the plan in the file `plan.md` of the stack's folder, and lets git take that file: the
    /// folder's `.gitignore` excludes everything else. The file is written with `state.json`. If a person or
    /// another program changes it, it stays as it is until it is imported ([`Stack::bring_up_to_date`]): what
    /// only one side has changed is taken over, and the rest is a conflict.
    ///
    /// ```
    /// use callstack_core::stack::PlanFileState;
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Shop"))?;
    /// assert_eq!(stack.files().begin_plan()?, PlanFileState::On);
    /// assert!(std::fs::read_to_string(folder.join("plan.md")).unwrap().contains("- [>] Shop"));
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack has no folder, or writes no files there; [`Error::Io`],
    /// [`Error::DiskFull`], [`Error::ReadOnly`]; the errors of every command (see [`Stack`]).
    pub fn begin_plan(&self) -> Result<PlanFileState> {
        self.stack.with_plan_file(|folder, mirror, files| {
            mirror.begin_plan(files)?;
            take(folder, true)
        })?;
        self.plan_state()
    }

    /// Removes the plan file, and lets git ignore the whole folder again. Returns false if there was none.
    ///
    /// # Errors
    /// As [`Files::begin_plan`].
    pub fn end_plan(&self) -> Result<bool> {
        let mut was_there = false;
        self.stack.with_plan_file(|folder, mirror, _| {
            was_there = folder.is_taken(PLAN_FILE);
            mirror.end_plan(PLAN_FILE)?;
            take(folder, false)
        })?;
        Ok(was_there)
    }

    /// Whether the stack has a plan file, and knows its text.
    ///
    /// # Errors
    /// [`Error::Io`] if something else has the name of the file.
    pub fn plan_state(&self) -> Result<PlanFileState> {
        let Some(folder) = &self.stack.inner.log_folder else { return Ok(PlanFileState::Off) };
        Ok(match mirror::plan(folder, PLAN_FILE)? {
            None => PlanFileState::Off,
            Some((text, last)) if last.as_ref() == Some(&text) => PlanFileState::On,
            Some(_) => PlanFileState::Changed,
        })
    }
}

impl Stack {
    /// The plan, and if it is a plan file, the text that the file had last in this stack.
    pub(super) fn with_last_plan_file<'a>(&self, plan: &'a Imported) -> Result<Cow<'a, Imported>> {
        let folder = self.inner.log_folder.as_ref().filter(|_| plan.plan_file.is_some());
        let Some(last) = folder.map(|folder| mirror::last_plan(folder, PLAN_FILE)).transpose()?.flatten() else {
            return Ok(Cow::Borrowed(plan));
        };
        let frames = read_plan_file(&last)?.frames;
        Ok(Cow::Owned(Imported { plan_file: Some(LastPlanFile::Said(frames)), ..plan.clone() }))
    }

    /// Notes that the plan file of the folder was imported, if the imported file is the plan file, so that it
    /// is written again.
    pub(super) fn note_plan_file(&self, plan: &Imported) -> Result<()> {
        let Some(folder) = self.inner.log_folder.as_ref().filter(|_| plan.plan_file.is_some()) else { return Ok(()) };
        let Some((text, _)) = mirror::plan(folder, PLAN_FILE)? else { return Ok(()) };
        if read_plan_file(&text)?.frames != plan.frames {
            return Ok(());
        }
        self.with_plan_file(|_, mirror, files| mirror.accept_plan(&text, files))
    }

    /// Runs code with the mirror, which no other process uses meanwhile, and with the files of the newest
    /// tree.
    fn with_plan_file(&self, run: impl FnOnce(&Folder, &mut Mirror, &TreeFiles<'_>) -> Result<()>) -> Result<()> {
        self.refresh()?;
        self.command(|journal, deadline| {
            let (tree, clock) = (&self.inner.tree, &self.inner.span_clock);
            let Journal { mirror: Some(mirror), folder: Some(folder), .. } = journal else {
                return Err(Error::InMemory { what: "files" });
            };
            tree.lend(|tree| {
                mirror.locked(&|| clock.now(), deadline.within(PATIENCE).remaining(), |mirror| {
                    tree.checked(|tree| run(folder, mirror, &TreeFiles::new(tree, false)))?
                })
            })
        })
    }
}

/// Lets git take the plan file, or ignore it again. Other lines, which a person wrote, stay.
fn take(folder: &Folder, is_taken: bool) -> Result<()> {
    let before = folder.read(IGNORED)?.map(|text| String::from_utf8_lossy(&text).into_owned());
    let Some(before) = before.or_else(|| is_taken.then(String::new)) else { return Ok(()) };
    let mut lines: Vec<&str> = before.lines().filter(|line| !TAKEN.contains(&line.trim())).collect();
    if is_taken {
        if !lines.iter().any(|line| line.trim() == EVERYTHING) {
            lines.insert(0, EVERYTHING);
        }
        lines.extend(TAKEN);
    }
    let after = lines.join("\n") + "\n";
    if after == before { Ok(()) } else { folder.replace(IGNORED, |writer| writer.write_all(after.as_bytes())) }
}
