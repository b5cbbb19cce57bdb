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
    let parent = tree.node(handle).parent()?;
    let mut order = SiblingOrder::default();
    for child in tree.children(parent).iter().filter(|child| tree.node(**child).retried_as().is_none()) {
        match tree.node(*child).status() {
            FrameStatus::Planned => order.planned += 1,
            FrameStatus::InProgress => order.in_progress += 1,
            FrameStatus::Completed => order.completed += 1,
            FrameStatus::Failed => order.failed += 1,
            FrameStatus::Blocked => order.blocked += 1,
            FrameStatus::Invalidated => continue,
        }
        order.total += 1;
        if *child == handle {
            order.position = order.total;
        }
    }
    (order.position > 0).then_some(order)
}
