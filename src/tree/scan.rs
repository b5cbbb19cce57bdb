//! A scan of many frames of a tree, one after the other, that does not keep the frames that it loads.

use super::Tree;
use crate::frame::Handle;

/// Maximum number of frames of finished trees that a scan keeps, in addition to the frames of the tree that
/// it is reading. Trees that grew at the same time are read in turn.
const KEPT_FRAMES: usize = 8_192;

/// A tree that is read frame by frame. Finished trees that are not in memory are loaded into a copy, and
/// dropped again.
pub(crate) struct Scan<'a> {
    tree: &'a Tree,
    copy: Option<Tree>,
}

impl<'a> Scan<'a> {
    pub(crate) fn of(tree: &'a Tree) -> Self {
        Self { tree, copy: None }
    }

    /// The tree for reading this frame and other frames of its tree.
    pub(crate) fn at(&mut self, handle: Handle) -> &Tree {
        if self.tree.is_in_memory(handle) {
            return self.tree;
        }
        let copy = self.copy.get_or_insert_with(|| self.tree.clone());
        // A tree is not dropped while several of its frames are read one after the other, no matter how large
        // it is.
        if !copy.is_in_memory(handle) {
            copy.drop_finished(KEPT_FRAMES);
        }
        copy
    }
}
