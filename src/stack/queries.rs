//! Queries of frames. For those of the tree see [`Stack::read`].

use super::Stack;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::{Actor, Frame, FrameRef, FrameUsage, Handle};
use crate::tree::Tree;

impl Stack {
    /// The handle of the frame that a reference names: see [`Tree::resolve`].
    ///
    /// # Errors
    /// [`Error::UnknownFrame`]; [`Error::AmbiguousFrame`], which lists up to eight candidates;
    /// [`Error::Broken`].
    pub fn resolve(&self, frame: impl Into<FrameRef>) -> Result<Handle> {
        self.query(frame, |_, handle| handle)
    }

    /// Resolves a reference. Of several frames with a title, one in the tree of `near` is meant.
    #[cfg(feature = "tools")]
    pub(crate) fn resolve_near(&self, frame: impl Into<FrameRef>, near: Option<Handle>) -> Result<Handle> {
        self.check_working()?;
        self.read(|tree| tree.resolve_near(&frame.into(), near))?
    }

    /// The complete record of a frame.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`], [`Error::Broken`].
    pub fn frame(&self, frame: impl Into<FrameRef>) -> Result<Frame> {
        self.query(frame, Tree::frame)
    }

    /// The active frame: the frame that is being worked on. `None` if no frame is active. For a worker, see
    /// [`Stack::as_actor`], the frame that it holds.
    pub fn active(&self) -> Option<Handle> {
        self.actor().and_then(Actor::frame).or_else(|| self.inner.tree.read().active())
    }

    /// The sums of the requests to models: those of a frame, and those of the frame and everything below it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn usage(&self, frame: impl Into<FrameRef>) -> Result<FrameUsage> {
        self.query(frame, Tree::usage)
    }

    pub(super) fn query<T>(&self, frame: impl Into<FrameRef>, query: impl FnOnce(&Tree, Handle) -> T) -> Result<T> {
        self.check_working()?;
        let answer = self.look_at(&frame.into(), query);
        self.drop_finished();
        answer
    }

    /// Looks at a frame. The tree is locked meanwhile only if the frame is in memory, so no command waits for
    /// the database.
    pub(super) fn look_at<T>(&self, frame: &FrameRef, look: impl FnOnce(&Tree, Handle) -> T) -> Result<T> {
        let looked = |tree: &Tree| tree.checked(|tree| tree.resolve(frame).map(|handle| look(tree, handle)))?;
        {
            let tree = self.inner.tree.read();
            if tree.holds(frame) {
                return looked(&tree);
            }
        }
        self.inner.tree.lend(looked)
    }
}
