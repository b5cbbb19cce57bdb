//! What happens to frames that the file does not have any more.

use serde_json::{Value, json};

use super::merge::begun_here;
use super::updater::{Doubt, Updater};
use super::{Becomes, PlanChange, PlanConflict, PlanField};
use crate::error::Result;
use crate::frame::{Change, Frame, FrameStatus, Handle, Origin};

/// The reason with which a frame is invalidated if the file does not have it any more.
const REMOVED: &str = "The plan does not have it any more.";

impl Updater<'_, '_> {
    /// The frames that the file does not have any more, with their IDs.
    pub(super) fn gone(&self) -> Vec<(Handle, String)> {
        let mut gone: Vec<(Handle, String)> = { self.known.handles.iter() }
            .filter(|(id, _)| !self.file.contains_key(id.as_str()))
            .map(|(id, handle)| (*handle, id.clone()))
            .collect();
        gone.sort_unstable();
        gone
    }

    /// Why nothing leaves the plan. `None`: what the file does not have leaves it.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        if self.plan.is_incomplete {
            return Some(Doubt::Incomplete);
        }
        let is_planned = |handle: &&Handle| {
            let record = self.tree.node(**handle).record();
            let is_there = record.origin.as_ref().is_some_and(|origin| !origin.gone);
            is_there && record.no_work.is_none() && record.status.is_unfinished()
        };
        let planned = self.known.handles.values().filter(is_planned).count();
        let leaves =
            |(handle, _): &&(Handle, String)| is_planned(&handle) && !begun_here(self.tree.node(*handle).record());
        let missing = self.gone().iter().filter(leaves).count();
        // One missing frame alone is not a sign of another file.
        let is_most = missing > 1 && missing * 2 > planned;
        (is_most && !self.plan.is_same_plan).then_some(Doubt::MostIsMissing)
    }

    /// True if a frame stays although the file does not have it any more: it was begun here, or it is not
    /// known that it is to leave.
    pub(super) fn stays(&self, record: &Frame) -> bool {
        self.doubt.is_some() || begun_here(record) && record.status != FrameStatus::Invalidated
    }

    /// Takes frames that the file does not have any more out of the plan.
    pub(super) fn remove(&mut self) -> Result<()> {
        for (handle, id) in self.gone() {
            let record = self.tree.node(handle).record();
            let Some(origin) = record.origin.as_deref().filter(|origin| !origin.gone).cloned() else { continue };
            let title = record.title.clone();
            if self.stays(record) {
                let (file, advice) = match self.doubt {
                    Some(Doubt::Incomplete) => {
                        ("it is not in what could be read", "parts of the file cannot be read; repair the file")
                    }
                    Some(Doubt::MostIsMissing) => (
                        "it is removed, with most of the plan",
                        "repair the file, or import it as an update of the same plan (--update)",
                    ),
                    None => ("it is removed", "it was begun here: invalidate it, or put it back into the file"),
                };
                self.outcome.conflicts.push(PlanConflict {
                    frame: handle,
                    id,
                    title,
                    field: PlanField::Status,
                    file: file.to_owned(),
                    stack: record.status.to_string(),
                    advice: advice.to_owned(),
                });
                continue;
            }
            let is_unfinished = record.status.is_unfinished();
            let holds_others = record.no_work.is_some() && self.has_left(handle);
            let gone = json!({ "origin": Origin { gone: true, ..origin } });
            let Value::Object(values) = gone else { continue };
            self.push(handle, Change::Reimported { values, edit: None })?;
            if is_unfinished && !holds_others {
                self.invalidate(handle)?;
            }
            self.outcome.changes.push(PlanChange {
                frame: handle,
                id,
                title,
                becomes: Becomes::Removed,
                fields: Vec::new(),
            });
        }
        Ok(())
    }

    /// True if something below a frame is unfinished, and the file has it.
    fn has_left(&self, handle: Handle) -> bool {
        let is_left = |below: Handle| self.ids.get(&below).is_none_or(|id| self.file.contains_key(id.as_str()));
        self.tree.unfinished_below(handle).any(is_left)
    }

    /// Invalidates a frame, and what was planned below it here.
    fn invalidate(&mut self, handle: Handle) -> Result<()> {
        let is_of_nobody = |frame: &Handle| self.tree.node(*frame).record().origin.is_none();
        let below: Vec<Handle> = self.tree.unbegun_below(handle).filter(is_of_nobody).collect();
        for frame in [handle].into_iter().chain(below) {
            self.push(frame, Change::Invalidated { reason: REMOVED.to_owned() })?;
        }
        Ok(())
    }
}
