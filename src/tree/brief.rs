//! Where a frame is and how its work stands, in brief. For a packed frame this is known without its image, so
//! walks over many frames do not unpack them.

use super::node::Waits;
use super::packed::{PackedFrame, Row};
use super::{Node, Tree};
use crate::frame::{Frame, FrameStatus, Handle, Priority};

/// Where a frame is and how its work stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Brief<'a> {
    Node(&'a Node),
    Packed(PackedFrame<'a>),
}

impl<'a> Brief<'a> {
    pub(super) fn parent(self) -> Option<Handle> {
        match self {
            Brief::Node(node) => node.parent,
            Brief::Packed(frame) => frame.parent(),
        }
    }

    pub(super) fn children(self) -> &'a [Handle] {
        match self {
            Brief::Node(node) => &node.children,
            Brief::Packed(frame) => frame.children(),
        }
    }

    /// Number of ancestors.
    pub(super) fn depth(self) -> u32 {
        match self {
            Brief::Node(node) => node.depth,
            Brief::Packed(frame) => frame.depth(),
        }
    }

    /// An ancestor further up than the parent, or the frame itself if it is a root.
    pub(super) fn jump(self) -> Handle {
        match self {
            Brief::Node(node) => node.jump,
            Brief::Packed(frame) => frame.jump(),
        }
    }

    /// The ancestor to which the jump leads, or the parent if that ancestor has less than this depth.
    pub(super) fn above(self, tree: &Tree, depth: u32) -> Option<Handle> {
        Some(self.jump()).filter(|jump| tree.brief(*jump).depth() >= depth).or(self.parent())
    }

    /// Key of its place among its siblings.
    pub(super) fn order(self) -> u64 {
        match self {
            Brief::Node(node) => node.order,
            Brief::Packed(frame) => frame.order(),
        }
    }

    pub(super) fn status(self) -> FrameStatus {
        match self {
            Brief::Node(node) => node.status(),
            Brief::Packed(frame) => frame.status(),
        }
    }

    pub(super) fn is_retried(self) -> bool {
        match self {
            Brief::Node(node) => node.retried_as().is_some(),
            Brief::Packed(frame) => frame.is_retried(),
        }
    }

    /// True if a frame below it is unfinished.
    pub(super) fn has_unfinished_below(self) -> bool {
        match self {
            Brief::Node(node) => node.has_unfinished_below(),
            Brief::Packed(frame) => frame.has_unfinished_below(),
        }
    }

    /// See [`Node::dependencies`].
    pub(super) fn dependencies(self) -> &'a [Handle] {
        match self {
            Brief::Node(node) => node.dependencies(),
            Brief::Packed(frame) => &frame.row().dependencies,
        }
    }

    /// The frames that depend on it, if it is the first attempt at its work.
    pub(super) fn dependents(self) -> &'a [Handle] {
        match self {
            Brief::Node(node) => node.dependents(),
            Brief::Packed(frame) => &frame.row().dependents,
        }
    }

    /// See [`Waits`]. A packed frame has none: what follows from its dependencies is not kept.
    pub(super) fn waits(self) -> Option<&'a Waits> {
        match self {
            Brief::Node(node) => node.waits(),
            Brief::Packed(_) => None,
        }
    }

    /// Its own priority.
    pub(super) fn priority(self) -> Option<Priority> {
        match self {
            Brief::Node(node) => node.record().priority,
            Brief::Packed(frame) => frame.row().priority,
        }
    }

    /// True if it only holds other frames together.
    pub(super) fn is_no_work(self) -> bool {
        match self {
            Brief::Node(node) => node.record().no_work.is_some(),
            Brief::Packed(frame) => frame.row().is_no_work,
        }
    }

    /// True if it was planned before it was begun.
    pub(super) fn was_planned(self) -> bool {
        match self {
            Brief::Node(node) => node.record().was_planned(),
            Brief::Packed(frame) => frame.row().was_planned,
        }
    }

    /// Revision of the last change that contexts show, if the frame has begun; otherwise 0.
    pub(super) fn shown_change(self) -> u64 {
        match self {
            Brief::Node(node) => node.shown_change(),
            Brief::Packed(frame) => frame.row().shown_change,
        }
    }

    /// True if it is the root frame of a run.
    pub(super) fn is_run(self) -> bool {
        match self {
            Brief::Node(node) => node.is_run(),
            Brief::Packed(frame) => frame.is_run(),
        }
    }
}

impl Tree {
    pub(super) fn brief(&self, handle: Handle) -> Brief<'_> {
        match self.nodes.made(handle.index()) {
            Some(node) => Brief::Node(node),
            None => self.nodes.packed(handle).map_or_else(|| Brief::Node(self.node(handle)), Brief::Packed),
        }
    }

    /// The node of a frame, unless the frame is packed and lacks what the caller asks for.
    pub(super) fn node_with(&self, handle: Handle, has: impl Fn(&Row) -> bool) -> Option<&Node> {
        match self.brief(handle) {
            Brief::Node(node) => Some(node),
            Brief::Packed(frame) => has(frame.row()).then(|| self.node(handle)),
        }
    }

    /// The record of a frame that is blocked, or that has or had a holder. `None`, or the record, for another frame.
    pub(crate) fn begun_record(&self, handle: Handle) -> Option<&Frame> {
        let node = self.node_with(handle, |row| row.has_holder || row.status() == FrameStatus::Blocked);
        node.map(Node::record)
    }

    /// True if workers have had a frame last.
    pub(crate) fn is_of_worker(&self, handle: Handle) -> bool {
        self.begun_record(handle).is_some_and(|record| record.worker().is_some())
    }

    /// True if a frame was planned before it was begun.
    pub(crate) fn was_planned(&self, handle: Handle) -> bool {
        self.brief(handle).was_planned()
    }

    /// The parent of a frame: [`Node::parent`]. As fast as [`Tree::status`].
    ///
    /// # Panics
    /// As [`Tree::status`].
    pub fn parent(&self, handle: Handle) -> Option<Handle> {
        self.brief(handle).parent()
    }

    /// The status of a frame: [`Node::status`]. In a stack whose unfinished trees are large, this is faster than
    /// [`Tree::node`], which reads the whole record when it is first asked for.
    ///
    /// # Panics
    /// Panics if the tree has no frame with this handle, as [`Tree::node`] does.
    pub fn status(&self, handle: Handle) -> FrameStatus {
        self.brief(handle).status()
    }

    /// Number of ancestors of a frame; 0 for a root. As fast as [`Tree::status`].
    ///
    /// # Panics
    /// As [`Tree::status`].
    pub fn depth(&self, handle: Handle) -> usize {
        self.brief(handle).depth() as usize
    }

    /// True if a frame was retried.
    pub(crate) fn is_retried(&self, handle: Handle) -> bool {
        self.brief(handle).is_retried()
    }
}
