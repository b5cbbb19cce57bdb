//! Where the person has gone back: what was said after that place is no part of the conversation any more. It was paid for, so it stays in the
//! tree, as invalidated turns.

use std::collections::HashMap;

use super::Session;
use crate::frame::Handle;
use crate::text::fnv_of;
use crate::tree::Command;

/// The turns, and in which one each line was said.
#[derive(Default)]
pub(super) struct Branches {
    turns: Vec<Handle>,
    /// For the name of each line the number of turns that had begun then.
    lines: HashMap<u64, usize>,
}

impl Branches {
    /// A turn has begun.
    pub(super) fn begun(&mut self, turn: Handle) {
        self.turns.push(turn);
    }
}

impl Session {
    /// Notes a line that was followed. `turns`: the number of turns before it. If it has begun one, behind a line of an earlier one, the turns
    /// between them were left.
    pub(super) fn note_branch(&mut self, node: Option<&str>, after: Option<&str>, turns: usize) {
        let known = after.and_then(|after| self.branches.lines.get(&fnv_of(after)).copied());
        if let Some(known) = known.filter(|_| self.facts.turns > turns) {
            self.leave(known, turns);
        }
        if let Some(node) = node {
            self.branches.lines.insert(fnv_of(node), self.branches.turns.len());
        }
    }

    /// The person has gone back to before a line.
    pub(super) fn rewound(&mut self, line: &str) {
        let known = self.branches.lines.get(&fnv_of(line)).copied().unwrap_or_default();
        self.leave(known.saturating_sub(1), self.branches.turns.len());
    }

    /// Invalidates the turns behind the first ones, as far as there were so many.
    fn leave(&mut self, first: usize, turns: usize) {
        let left: Vec<Handle> = self.branches.turns.get(first..turns).unwrap_or_default().to_vec();
        for turn in left {
            let reason = "The person went back to before it.".to_owned();
            self.command(Command::Invalidate { frame: turn.into(), reason });
        }
    }
}
