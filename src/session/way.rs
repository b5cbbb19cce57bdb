//! [`Way`]: the frames through which the conversation of a session has passed.

use std::collections::{HashSet, VecDeque};

use crate::frame::Handle;

/// Number of moves that are kept for each session: messages are reported soon after they were written.
const KEPT_MOVES: usize = 256;

/// The path of a conversation through frames. Empty as long as the conversation is only in the session's own
/// frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Way {
    /// The frames that it has entered and not left, in the order in which it entered them.
    pub(super) entered: Vec<Handle>,
    /// The frames that it has entered since it was compacted: it has the criteria of these frames word for
    /// word.
    pub(super) described: HashSet<Handle>,
    /// The frames that the conversation has planned itself.
    pub(super) planned: HashSet<Handle>,
    /// The frame in which the conversation was from each time on, oldest first; `None`: the session's own
    /// frame. Times are in milliseconds since the Unix epoch.
    pub(super) moves: VecDeque<(u64, Option<Handle>)>,
    /// The frame in which the conversation was when the model was asked, if it has entered another frame
    /// since.
    pub(super) asked_in: Option<Handle>,
    /// The frame in which the conversation was compacted, or else the session's own frame. The stable part of
    /// its contexts belongs to this frame.
    pub(super) base: Option<Handle>,
    /// The time of the first move, if the path before it is not known because it is from the time before a
    /// restart.
    pub(super) resumed_at: Option<u64>,
    /// The frame where the conversation is according to an answer since the model was asked, although the
    /// conversation assumes that it is elsewhere. `Some(None)`: in the session's own frame.
    pub(super) answered: Option<Option<Handle>>,
    /// The same according to an answer before the model was asked: the model knows it.
    pub(super) told: Option<Option<Handle>>,
    /// True if the conversation assumes that it is in no frame, and the session has another frame of its own
    /// since.
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

    /// The frame in which the conversation was at this time. `Some(None)`: in the session's own frame.
    pub(super) fn at(&self, time: Option<u64>) -> Option<Option<Handle>> {
        let Some(time) = time else { return self.moves.back().map(|(_, frame)| *frame) };
        self.moves.iter().rev().find(|(moved, _)| *moved <= time).map(|(_, frame)| *frame)
    }
}
