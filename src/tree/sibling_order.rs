//! The position of a frame among its siblings, as in "task 2 of 3".

use super::Tree;
use crate::frame::{FrameStatus, Handle};

/// The position of a frame among the children of its parent, and the number of children of each status.
/// Invalidated children are not counted. Among several attempts at the same work, only the newest one is
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SiblingOrder {
    /// Position of the frame in the order of [`Tree::children`], from 1.
    pub position: usize,
    /// Number of children, including the frame itself.
    pub total: usize,
    /// Number of children that are completed.
    pub completed: usize,
    /// Number of children that are in_progress.
    pub in_progress: usize,
    /// Number of children that are planned.
    pub planned: usize,
    /// Number of children that are blocked.
    pub blocked: usize,
    /// Number of children that failed.
    pub failed: usize,
}

/// Returns the position of a frame among its siblings. `None` for roots, invalidated frames, and frames that
/// were retried.
pub fn sibling_order(tree: &Tree, handle: Handle) -> Option<SiblingOrder> {
    let node = tree.node(handle);
    let parent = node.parent()?;
    if node.retried_as().is_some() || node.status() == FrameStatus::Invalidated {
        return None;
    }
    let index = tree.child_index(parent);
    let [planned, in_progress, completed, blocked, failed] = [
        FrameStatus::Planned,
        FrameStatus::InProgress,
        FrameStatus::Completed,
        FrameStatus::Blocked,
        FrameStatus::Failed,
    ]
    .map(|status| index.count(status));
    Some(SiblingOrder {
        position: tree.place(handle) - index.uncounted_before(node.order()) + 1,
        total: planned + in_progress + completed + blocked + failed,
        completed,
        in_progress,
        planned,
        blocked,
        failed,
    })
}
