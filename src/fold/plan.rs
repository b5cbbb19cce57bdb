//! What happens to a conversation: which items go, and which texts replace them. The rules make the plan, and
//! the writer carries it out.

use super::FoldedStatus;
use crate::frame::Handle;
use crate::json::Value;

/// What happens to a conversation.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// For each item, the number of the fold with which it goes.
    pub gone: Vec<Option<usize>>,
    /// In the order of their beginnings.
    pub folds: Vec<Fold<'a>>,
    /// The item at which a cache should end, if a mark is free.
    pub boundary: Option<usize>,
}

impl Plan<'_> {
    /// This plan together with another plan for the same conversation, which folds other items.
    pub fn and(mut self, other: Self) -> Self {
        let before = self.folds.len();
        for (own, others) in self.gone.iter_mut().zip(other.gone) {
            *own = own.or(others.map(|fold| fold + before));
        }
        self.folds.extend(other.folds);
        self.boundary = self.boundary.or(other.boundary);
        self
    }
}

/// A part of the conversation that goes as a whole.
#[derive(Debug)]
pub(super) struct Fold<'a> {
    pub what: What,
    /// A text, and the text that replaces it.
    pub replaced: Option<(Value<'a>, String)>,
}

/// What a fold is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A stretch of a frame.
    Stretch(Handle, FoldedStatus),
    /// This number of turns.
    Turns(usize),
    /// An answer that stays, but without the part that says where the conversation is.
    Answer,
    /// Only thoughts, which were bound to what was before them.
    Thoughts,
}
