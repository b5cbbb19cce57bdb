//! [`Way`]: the frames through which the conversation of a session goes.

use std::collections::{HashSet, VecDeque};

use crate::frame::Handle;

/// Number of moves that are kept for each session: messages are reported soon after they were written.
const KEPT_MOVES: usize = 256;

/// The way of a conversation through frames. Empty as long as it is in the session's own frame alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Way {
    /// The frames that it has entered and not left, in the order in which it did.
    pub(super) entered: Vec<Handle>,
    /// Those that it has entered since it was compacted: it has their criteria word for word.
    pub(super) described: HashSet<Handle>,
    /// Those that it has planned itself.
    pub(super) planned: HashSet<Handle>,
    /// In which frame it was from which time on, oldest first; `None`: in the session's own. In milliseconds since the Unix epoch.
    pub(super) moves: VecDeque<(u64, Option<Handle>)>,
    /// The frame in which it was when the model was asked, if it has entered another one since.
    pub(super) asked_in: Option<Handle>,
    /// The frame in which it was compacted, or else the session's own. The stable part of its contexts is that of this frame.
    pub(super) base: Option<Handle>,
    /// The time of the first move, if the way before it is not known: from the time before a restart.
    pub(super) resumed_at: Option<u64>,
    /// Where the conversation is by an answer since the model was asked, although that takes itself to be elsewhere. `Some(None)`: in the
    /// session's own frame.
    pub(super) answered: Option<Option<Handle>>,
    /// The same by an answer before the model was asked: the model knows it.
    pub(super) told: Option<Option<Handle>>,
    /// The conversation takes itself to be in no frame, and the session has another one of its own since.
    pub(super) is_unplaced: bool,
}

impl Way {
    /// The conversation is in a frame from now on.
    pub(super) fn moved(&mut self, frame: Option<Handle>, time: u64) {
        if self.moves.len() == KEPT_MOVES {
            self.moves.pop_front();
        }
        self.moves.push_back((time, frame));
    }

    /// The frame in which the conversation was at this time. `Some(None)`: in the session's own.
    pub(super) fn at(&self, time: Option<u64>) -> Option<Option<Handle>> {
        let Some(time) = time else { return self.moves.back().map(|(_, frame)| *frame) };
        self.moves.iter().rev().find(|(moved, _)| *moved <= time).map(|(_, frame)| *frame)
    }
}
