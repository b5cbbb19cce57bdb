//! The state of an update: the tree after the events so far, and what the tree is compared with.

use std::collections::HashMap;

use super::PlanUpdate;
use super::known::Known;
use crate::error::Result;
use crate::frame::{Change, Event, Frame, FrameRef, Handle};
use crate::import::{Imported, plan_file};
use crate::tree::{Draft, Tree};

/// Why nothing leaves the plan, although the file does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Parts of the file cannot be read.
    Incomplete,
    /// The file has lost most of what is unfinished.
    MostIsMissing,
}

/// Makes the events.
pub(super) struct Updater<'a, 'tree> {
    pub(super) draft: &'a mut Draft<'tree>,
    /// The tree after the events so far.
    pub(super) tree: Tree,
    pub(super) plan: &'a Imported,
    /// Where the top of the plan is: below a given frame, or next to what was imported before.
    pub(super) top: Option<Handle>,
    pub(super) known: Known,
    /// The frames of the file by their IDs in it.
    pub(super) file: HashMap<&'a str, &'a Frame>,
    /// The IDs of the frames in the plan.
    pub(super) ids: HashMap<Handle, String>,
    /// Why nothing leaves the plan.
    pub(super) doubt: Option<Doubt>,
    pub(super) outcome: PlanUpdate,
}

impl<'a, 'tree> Updater<'a, 'tree> {
    pub(super) fn new(
        draft: &'a mut Draft<'tree>,
        tree: Tree,
        known: Known,
        plan: &'a Imported,
        below: Option<Handle>,
    ) -> Self {
        let file: HashMap<&str, &Frame> = plan.frames.iter().map(|frame| (frame.session_id.as_str(), frame)).collect();
        let ids = known.handles.iter().map(|(id, handle)| (*handle, id.clone())).collect();
        let top = below.or_else(|| top_before(&tree, plan, &known, &file));
        Self { draft, tree, plan, top, known, file, ids, doubt: None, outcome: PlanUpdate::default() }
    }

    /// Adds an event, unless it is not possible after the events before it.
    pub(super) fn push(&mut self, handle: Handle, change: Change) -> Result<()> {
        let revision = self.tree.revision().saturating_add(1);
        let event = Event { revision, time: self.draft.now, handle, change };
        self.tree.check_next(&event)?;
        self.tree.apply(&event);
        if let Some(change) = self.of_stack(handle, event.change) {
            self.draft.push(handle, change);
        }
        Ok(())
    }

    /// A change as the stack keeps it. Only a copy of the tree has what a plan file said about the frames of
    /// this stack.
    fn of_stack(&self, handle: Handle, change: Change) -> Option<Change> {
        let is_lent = self.plan.plan_file.is_some()
            && handle.index() < self.draft.tree.len()
            && !plan_file::has_come_from_one(self.draft.tree.node(handle).record());
        match change {
            Change::Reimported { mut values, edit } if is_lent => {
                values.remove("origin");
                (!values.is_empty() || edit.is_some()).then_some(Change::Reimported { values, edit })
            }
            change => Some(change),
        }
    }

    /// The parent of a frame within the file. `None`: it is at the top of the plan.
    pub(super) fn parent_in_file(&self, frame: &Frame) -> Option<&'a Frame> {
        frame.parent_session_id.as_deref().and_then(|parent| self.file.get(parent)).copied()
    }
}

/// The frame below which the top of a plan was.
fn top_before(tree: &Tree, plan: &Imported, known: &Known, file: &HashMap<&str, &Frame>) -> Option<Handle> {
    let is_top = |frame: &&Frame| frame.parent_session_id.as_deref().is_none_or(|parent| !file.contains_key(parent));
    let was_top = |handle: &Handle| {
        let origin = tree.node(*handle).record().origin.as_ref();
        origin.is_some_and(|origin| origin.checksums.parent == 0)
    };
    let mut tops = plan.frames.iter().filter(is_top).filter_map(|frame| known.handles.get(&frame.session_id).copied());
    tree.node(tops.find(was_top)?).parent()
}

/// A frame by its handle, as a text: equal to what is read from a store.
pub(super) fn named(handle: Handle) -> FrameRef {
    FrameRef::Text(handle.to_string())
}
