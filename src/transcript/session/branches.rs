//! Where the person has gone back: what was said after that place is not a part of the conversation any more.
//! It was paid for, so it stays in the tree, as invalidated turns.

use std::collections::{HashMap, HashSet};

use super::Session;
use crate::frame::Handle;
use crate::text::fnv_of;
use crate::tree::Command;

/// The turns as a tree, and the turn in which each line was said. Turns have numbers from 1; 0 stands for
/// what was before the first turn.
#[derive(Default)]
pub(super) struct Branches {
    turns: Vec<Turn>,
    /// For the name of each line, the number of its turn.
    lines: HashMap<u64, usize>,
    /// The turn after which the conversation continues.
    current: usize,
}

struct Turn {
    frame: Handle,
    /// The number of the turn before it in the conversation.
    before: usize,
}

impl Branches {
    /// A turn has begun, after the turn after which the conversation continues.
    pub(super) fn begun(&mut self, frame: Handle) {
        self.turns.push(Turn { frame, before: self.current });
        self.current = self.turns.len();
    }

    /// The number of the turn before a turn.
    fn before(&self, turn: usize) -> usize {
        turn.checked_sub(1).and_then(|place| self.turns.get(place)).map_or(0, |turn| turn.before)
    }

    /// The frames of the turns that are not a part of the conversation.
    fn left(&self) -> Vec<Handle> {
        let way = std::iter::successors(Some(self.current), |turn| Some(self.before(*turn)).filter(|_| *turn > 0));
        let living: HashSet<usize> = way.collect();
        let turns = self.turns.iter().zip(1..);
        turns.filter(|(_, number)| !living.contains(number)).map(|(turn, _)| turn.frame).collect()
    }
}

impl Session {
    /// Notes a line that was followed. `turns`: the number of turns before it.
    pub(super) fn note_branch(&mut self, node: Option<&str>, after: Option<&str>, turns: usize) {
        let known = after.and_then(|after| self.branches.lines.get(&fnv_of(after)).copied());
        let branches = &mut self.branches;
        let has_begun = self.facts.turns > turns;
        if let (true, Some(known), Some(turn)) = (has_begun, known, branches.turns.last_mut()) {
            turn.before = known;
        }
        if let Some(node) = node {
            let own = if has_begun { None } else { known };
            let own = own.unwrap_or(branches.turns.len());
            branches.lines.insert(fnv_of(node), own);
        }
    }

    /// The person has gone back to before a line.
    pub(super) fn rewound(&mut self, line: &str) {
        let turn = self.branches.lines.get(&fnv_of(line)).copied().unwrap_or_default();
        self.branches.current = self.branches.before(turn);
    }

    /// The person has taken the last turns back.
    pub(super) fn rolled_back(&mut self, turns: u64) {
        for _ in 0..turns.min(self.branches.turns.len() as u64) {
            self.branches.current = self.branches.before(self.branches.current);
        }
    }

    /// Invalidates the turns that are not a part of the conversation.
    pub(super) fn leave_branches(&mut self) {
        for turn in self.branches.left() {
            let reason = "The person went back to before it.".to_owned();
            self.command(Command::Invalidate { frame: turn.into(), reason });
        }
    }
}
