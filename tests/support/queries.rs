//! [`Queries`]: the queries of a tree as methods of a stack.

use callstack_core::error::{Error, Result};
use callstack_core::tree::outline;
use callstack_core::{FrameRef, FrameStatus, Handle, OutlineOptions, Stack, StackState, Tree};

/// Queries of the tree of a stack. Frames are named by references. Like the queries of [`Stack`] that name a
/// frame, they fail with [`Error::Broken`] after a panic in a command.
pub trait Queries {
    /// As [`Tree::ancestors`].
    fn ancestors(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>>;

    /// As [`Tree::children`].
    fn children(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>>;

    /// As [`Tree::siblings`].
    fn siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>>;

    /// As [`Tree::completed_siblings`].
    fn completed_siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>>;

    /// As [`Tree::with_status`]. It also works after a panic in a command.
    fn with_status(&self, status: FrameStatus) -> Result<Vec<Handle>>;

    /// As [`Tree::ready`]. It also works after a panic in a command.
    fn ready(&self) -> Result<Vec<Handle>>;

    /// As [`Tree::state`]. It also works after a panic in a command.
    fn state(&self) -> Result<StackState>;

    /// As [`outline`].
    fn outline(&self, options: &OutlineOptions) -> Result<String>;

    /// As [`Tree::runs`]. It also works after a panic in a command.
    fn runs(&self) -> Result<Vec<Handle>>;
}

impl Queries for Stack {
    fn ancestors(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        of_frame(self, frame.into(), |tree, handle| tree.ancestors(handle).collect())
    }

    fn children(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        of_frame(self, frame.into(), |tree, handle| tree.children(handle).to_vec())
    }

    fn siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        of_frame(self, frame.into(), |tree, handle| tree.siblings(handle).collect())
    }

    fn completed_siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        of_frame(self, frame.into(), |tree, handle| tree.completed_siblings(handle).collect())
    }

    fn with_status(&self, status: FrameStatus) -> Result<Vec<Handle>> {
        self.read(|tree| tree.with_status(status).collect())
    }

    fn ready(&self) -> Result<Vec<Handle>> {
        self.read(|tree| tree.ready().collect())
    }

    fn state(&self) -> Result<StackState> {
        self.read(Tree::state)
    }

    fn outline(&self, options: &OutlineOptions) -> Result<String> {
        check_working(self)?;
        self.read(|tree| outline(tree, options))?
    }

    fn runs(&self) -> Result<Vec<Handle>> {
        self.read(|tree| tree.runs().collect())
    }
}

fn check_working(stack: &Stack) -> Result<()> {
    if stack.is_broken() { Err(Error::Broken {}) } else { Ok(()) }
}

/// Answers a query of one frame.
fn of_frame<T>(stack: &Stack, frame: FrameRef, query: impl FnOnce(&Tree, Handle) -> T) -> Result<T> {
    check_working(stack)?;
    stack.read(|tree| tree.resolve(&frame).map(|handle| query(tree, handle)))?
}
