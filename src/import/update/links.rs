//! Dependencies and parents: they change in an order in which each change is possible after the changes
//! before it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::changes::Merge;
use super::merge::{Here, begun_here};
use super::updater::{Updater, named};
use super::{PlanConflict, PlanField};
use crate::error::{Error, Result};
use crate::frame::{Change, Frame, FrameEdit, FrameStatus, Handle, Question};

impl<'a> Updater<'a, '_> {
    /// Removes dependencies that the file does not have any more, before others are added: two tasks may have
    /// changed their places.
    pub(super) fn drop_dependencies(&mut self, merges: &[Merge<'a>]) -> Result<()> {
        if merges.iter().any(|merge| merge.parent.is_some()) {
            // The dependencies of a frame that leaves the plan must not prevent changes.
            for (handle, _) in self.gone() {
                if !self.stays(self.tree.node(handle).record()) {
                    self.keep_dependencies(handle, &[])?;
                }
            }
        }
        let is_moved = |merge: &&Merge<'_>| merge.depends_on.is_some() || merge.parent.is_some();
        if merges.iter().filter(is_moved).count() < 2 {
            return Ok(());
        }
        for merge in merges {
            if let Some(new) = &merge.depends_on {
                self.keep_dependencies(merge.handle, new)?;
            }
        }
        Ok(())
    }

    /// Removes all dependencies except some.
    fn keep_dependencies(&mut self, handle: Handle, kept: &[Handle]) -> Result<()> {
        let old = self.tree.node(handle).dependencies();
        let kept: HashSet<&Handle> = kept.iter().collect();
        let left: Vec<Handle> = old.iter().filter(|other| kept.contains(other)).copied().collect();
        if left.len() == old.len() {
            return Ok(());
        }
        let edit = Some(Box::new(FrameEdit::default().depends_on(left.into_iter().map(named))));
        self.push(handle, Change::Reimported { values: Map::new(), edit })
    }

    /// Moves frames below their new parents, as far as they can be there. A frame that cannot move yet may be
    /// able to when others have moved.
    pub(super) fn move_below_parents(&mut self, merges: &mut [Merge<'a>]) -> Result<()> {
        let mut waiting: Vec<usize> = (0..merges.len()).filter(|at| merges[*at].parent.is_some()).collect();
        loop {
            let before = waiting.len();
            let mut later = Vec::new();
            for at in waiting {
                let merge = &mut merges[at];
                let Some(parent) = merge.parent else { continue };
                let edit = FrameEdit { parent: Some(parent.map(named)), ..FrameEdit::default() };
                if self.check_place(merge.handle, merge.file, &edit, parent).is_err() {
                    later.push(at);
                    continue;
                }
                self.push(merge.handle, Change::Reimported { values: Map::new(), edit: Some(Box::new(edit)) })?;
                merge.parent = None;
            }
            if later.is_empty() || later.len() == before {
                return Ok(());
            }
            waiting = later;
        }
    }

    /// Checks that a frame can be where an edit takes it. The parent can only have ended if the file says so.
    pub(super) fn check_place(
        &self,
        handle: Handle,
        file: &Frame,
        edit: &FrameEdit,
        parent: Option<Handle>,
    ) -> Result<()> {
        self.tree.check_place(handle, edit)?;
        // The other frames continue as the file says.
        let has_ended = |parent: &Handle| {
            let record = self.tree.node(*parent).record();
            !record.status.is_unfinished() && begun_here(record)
        };
        let is_open_in_file = self.parent_in_file(file).is_none_or(|parent| parent.status.is_unfinished());
        match parent.filter(has_ended) {
            Some(handle) if is_open_in_file && file.status.is_unfinished() => {
                Err(Error::ParentClosed { handle, status: self.tree.node(handle).status() })
            }
            _ => Ok(()),
        }
    }

    /// Gives new frames their dependencies on frames that were there. A frame that would wait for itself,
    /// because of what was changed here, must not begin before a person answers.
    pub(super) fn link(&mut self, added: &[Handle]) -> Result<()> {
        for handle in added {
            let Some(file) = self.ids.get(handle).and_then(|id| self.file.get(id.as_str())).copied() else { continue };
            let all = file.depends_on.iter().filter_map(|id| self.known.handles.get(id)).copied();
            let old: Vec<Handle> = all.clone().filter(|other| other.index() < self.draft.tree.len()).collect();
            if old.is_empty() {
                continue;
            }
            if let Err(error) = self.tree.check_place(*handle, &FrameEdit::default().depends_on(all.map(named))) {
                self.wait_for_links(*handle, file, &error)?;
                continue;
            }
            let depends_on = old.iter().map(|other| self.tree.node(*other).session_id().to_owned()).collect();
            self.push(*handle, Change::DependenciesAdded { depends_on })?;
        }
        Ok(())
    }

    /// Blocks a new frame that cannot have its dependencies, and reports that.
    fn wait_for_links(&mut self, handle: Handle, file: &Frame, error: &Error) -> Result<()> {
        let conflict = self.conflict(handle, file, PlanField::DependsOn, false);
        self.outcome.conflicts.push(PlanConflict { advice: error.to_string(), ..conflict });
        let here = Here::of(&self.tree, handle, &self.ids);
        let mut origin = here.origin.cloned().unwrap_or_default();
        // The dependencies that it has now are all that the import has taken over.
        origin.checksums.depends_on = here.checksums.depends_on;
        let mut values = Map::from_iter([("origin".to_owned(), json!(origin))]);
        if file.status.is_unfinished() {
            let question = Question {
                question: format!("It cannot wait for what the plan says: {error}"),
                asked_at: self.draft.now,
                unbegun: true,
                ..Question::default()
            };
            let questions: Vec<Question> = here.record.questions.iter().cloned().chain([question]).collect();
            values.insert("status".to_owned(), json!(FrameStatus::Blocked));
            values.insert("questions".to_owned(), Value::from_iter(questions.iter().map(|question| json!(question))));
        }
        self.push(handle, Change::Reimported { values, edit: None })
    }
}
