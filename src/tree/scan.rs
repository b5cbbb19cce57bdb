//! A look at many frames of a tree, one after the other, that does not keep what it loads.

use super::Tree;
use crate::frame::Handle;

/// Number of frames of finished trees that a look keeps at most, besides those of the tree that it looks at. Trees that grew at the
/// same time are looked at in turn.
const KEPT_FRAMES: usize = 8_192;

/// A tree that is looked at frame by frame. Finished trees that are not in memory are loaded into a copy, and dropped again.
pub(crate) struct Scan<'a> {
    tree: &'a Tree,
    copy: Option<Tree>,
}

impl<'a> Scan<'a> {
    pub(crate) fn of(tree: &'a Tree) -> Self {
        Self { tree, copy: None }
    }

    /// The tree for a look at this frame and at others of its tree.
    pub(crate) fn at(&mut self, handle: Handle) -> &Tree {
        if self.tree.is_in_memory(handle) {
            return self.tree;
        }
        let copy = self.copy.get_or_insert_with(|| self.tree.clone());
        // A tree is not dropped between two looks at it, however large it is.
        if !copy.is_in_memory(handle) {
            copy.drop_finished(KEPT_FRAMES);
        }
        copy
    }
}
