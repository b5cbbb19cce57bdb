//! Where a frame stands among its siblings, for people and prompts that count tasks.

use super::Tree;
use crate::frame::{FrameStatus, Handle};

/// Where a frame stands among the children of its parent, invalidated ones left aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiblingOrder {
    /// Counted from 1.
    pub position: usize,
    /// How many there are, the frame itself included.
    pub total: usize,
    /// How many of them are completed.
    pub completed: usize,
    /// How many are in progress.
    pub in_progress: usize,
    /// How many are planned.
    pub planned: usize,
    /// How many are blocked.
    pub blocked: usize,
    /// How many failed.
    pub failed: usize,
}

/// Where a frame stands among its siblings; `None` for roots and invalidated frames.
pub fn sibling_order(tree: &Tree, handle: Handle) -> Option<SiblingOrder> {
    let parent = tree.node(handle).parent()?;
    let mut order = SiblingOrder::default();
    for child in tree.children(parent) {
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
