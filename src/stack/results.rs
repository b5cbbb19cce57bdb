//! The results of commands, and how they follow from the events of a command.

use serde::Serialize;

#[cfg(doc)]
use super::Stack;
use crate::frame::{Change, Event, FrameStatus, Handle};
use crate::tree::Tree;

/// The result of [`Stack::pop`].
///
/// In JSON: `{"handle": "f2", "parent": "f1", "active": "f1", "stillOpen": [], "stillPlanned": ["f4"]}`;
/// `parent` and `active` can be null. With [`Stack::pop_and_begin`] also `"next": "f3"`, if a frame has
/// begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Popped {
    /// The popped frame.
    pub handle: Handle,
    /// Its parent; `None` if it is a root.
    pub parent: Option<Handle>,
    /// The active frame after the pop; `None` if there is none.
    pub active: Option<Handle>,
    /// Frames below the popped frame that are still in_progress or blocked. The pop did not change them.
    pub still_open: Vec<Handle>,
    /// Frames below the popped frame that are still planned.
    pub still_planned: Vec<Handle>,
    /// The frame that has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Handle>,
}

/// The result of [`Stack::invalidate`].
///
/// In JSON: `{"invalidated": ["f2", "f4"], "stillOpen": ["f3"], "dependents": ["f5"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Invalidated {
    /// The invalidated frames: the frame itself, then the planned frames below it.
    pub invalidated: Vec<Handle>,
    /// Frames below it that are still in_progress or blocked. The command did not change them.
    pub still_open: Vec<Handle>,
    /// Unfinished frames that depend on one of the invalidated frames.
    pub dependents: Vec<Handle>,
}

/// The result of [`Stack::reopen`].
///
/// In JSON: `{"handle": "f2", "waiting": ["f3"], "begun": ["f4"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reopened {
    /// The frame that continues.
    pub handle: Handle,
    /// Planned frames that depend on it. They wait again.
    pub waiting: Vec<Handle>,
    /// Frames that depend on it and have begun, or ended: they have used results that were wrong.
    pub begun: Vec<Handle>,
}

/// The result of [`Stack::undo`].
///
/// In JSON: `{"command": "pop", "frames": ["f2"], "removed": []}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Undone {
    /// What the command was, such as `pop`.
    pub command: String,
    /// The frames that are as they were before it.
    pub frames: Vec<Handle>,
    /// The frames that it had added. They are invalidated.
    pub removed: Vec<Handle>,
}

/// The result of [`Stack::edit_plan`].
///
/// In JSON: `{"planned": ["f7"], "edited": ["f3"], "invalidated": [], "dependents": []}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EditedPlan {
    /// The new frames.
    pub planned: Vec<Handle>,
    /// The frames with another title, other dependencies, or another place.
    pub edited: Vec<Handle>,
    /// The frames that are out of the plan.
    pub invalidated: Vec<Handle>,
    /// Unfinished frames that depend on one of these.
    pub dependents: Vec<Handle>,
}

impl EditedPlan {
    /// True if the plan is as it was.
    pub fn is_nothing(&self) -> bool {
        self.planned.is_empty() && self.edited.is_empty() && self.invalidated.is_empty()
    }
}

/// The result of [`Stack::retry`].
///
/// In JSON: `{"handle": "f7", "attempt": 2, "invalidated": ["f4"], "stillOpen": ["f3"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Retried {
    /// The new frame, which is planned.
    pub handle: Handle,
    /// Which attempt it is, counted from 1.
    pub attempt: usize,
    /// The frames below the earlier attempt that were planned. They are invalidated.
    pub invalidated: Vec<Handle>,
    /// Frames below the earlier attempt that are still in_progress or blocked. The command did not change
    /// them.
    pub still_open: Vec<Handle>,
}

pub(super) fn first_handle(events: Vec<Event>) -> Handle {
    events[0].handle
}

/// The frames of the events whose change matches.
pub(super) fn frames_with(events: &[Event], is: impl Fn(&Change) -> bool) -> Vec<Handle> {
    events.iter().filter(|event| is(&event.change)).map(|event| event.handle).collect()
}

/// The unfinished frames that depend on frames which were invalidated.
pub(super) fn unfinished_dependents(tree: &Tree, invalidated: &[Handle]) -> Vec<Handle> {
    let counts = |handle: &&Handle| tree.node(**handle).retried_as().is_none();
    let dependents = invalidated.iter().filter(counts).flat_map(|handle| tree.dependents(*handle)).copied();
    let mut dependents: Vec<Handle> =
        dependents.filter(|dependent| tree.node(*dependent).status().is_unfinished()).collect();
    dependents.sort_unstable();
    dependents.dedup();
    dependents
}

pub(super) fn unfinished_below(tree: &Tree, handle: Handle, is: fn(FrameStatus) -> bool) -> Vec<Handle> {
    tree.unfinished_below(handle).filter(|frame| is(tree.node(*frame).status())).collect()
}
