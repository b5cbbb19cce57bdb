//! Scores the relevance of finished siblings, those of a frame and those of its ancestors.
//!
//! The signals of a sibling are added up:
//!
//! ```text
//! text                              its BM25 score divided by the best one, from 0 to 1
//! + 1 / (1 + f)                     f: its place among the finished siblings, 1 for the newest
//! + (c + 1 / (1 + p)) / (d + 1)     p: how many places before the frame it was planned, 1 for the one just before,
//!                                   if only siblings count that had finished when the frame started;
//!                                   c: how many of the d siblings with dependencies depend on the sibling planned p
//!                                   places before them; 1 / (1 + p) is omitted if it was planned after the frame
//! + 2 v / (v + 4)                   v: the sum of the texts of the siblings that depend on it
//! + 1                               if the task names it
//! + 1/2 together                    how much nearer its creation is to that of the frame than usual, from 0 to 1
//! ```
//!
//! The third and the fourth line are the habit of the plan: tasks depend on what earlier tasks depended on.
//! Without declared dependencies they say that tasks often depend on the one planned before them. Three
//! quarters of the sum of a failed sibling count. A sum s gives the score 100 s / (s + 1), so the newest
//! completed sibling has at least 33 points, even if it has nothing else.
//!
//! `examples/relevance` measures the formula on real plans, and docs/figures.md says what each signal is
//! worth. The constants are round ones on a plateau: no others between their halves and their doubles are
//! better by more than 0.011 nDCG@5, whichever plan is left out.

mod habit;
mod index;
mod lengths;
mod notes;
mod plan;
mod postings;
mod query;
mod scores;
#[cfg(test)]
mod tests;
mod words;

pub(super) use index::SiblingIndex;
pub(super) use query::Query;
pub(super) use scores::Extent;
pub(super) use words::WordCounts;

use crate::frame::Handle;
use crate::tree::Tree;

/// The share of the score of a sibling that the task names.
const NAMED: f32 = 1.0;
/// The largest share of the score of a sibling that was created at the same time as the frame.
const TOGETHER: f32 = 0.5;
/// The share of its sum that a failed sibling keeps. Its results are lessons; those of a completed one can be
/// used.
const FAILED: f32 = 0.75;
/// The signal "created together" is halved at this difference of the creation times, in milliseconds.
const TOGETHER_HALF: f32 = 1_800_000.0;
/// The largest share of the score of a sibling on which similar siblings depend, and the sum of their texts
/// at which it has half of that.
const DEPENDENTS: f32 = 2.0;
const DEPENDENTS_HALF: f32 = 4.0;

/// A sibling and its relevance, from 0 to 100, rounded to tenths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) handle: Handle,
    pub(super) score: f32,
}

/// The place from which finished siblings are seen: another sibling, or a frame below it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standpoint {
    /// The newest attempt at the work of the frame beside the siblings.
    beside: Handle,
    /// Key of its place among them.
    order: u64,
    /// When it was created, in milliseconds since the Unix epoch.
    created_at: u64,
    /// The place in the tree's sequence of starts and finishes from which the siblings are seen.
    started: u64,
}

impl Standpoint {
    /// The standpoint of a frame that looks at the siblings of `beside`, which is itself or one of its
    /// ancestors.
    pub(super) fn new(tree: &Tree, frame: Handle, beside: Handle) -> Self {
        let started = tree.node(frame).started().unwrap_or(u64::MAX);
        let created_at = tree.node(beside).record().created_at;
        let beside = tree.newest_attempt(beside);
        Self { beside, order: tree.node(beside).order(), created_at, started }
    }
}

/// The signals for the relevance of a sibling.
struct Signals {
    /// From 0 to 1.
    text: f32,
    /// Its place among the siblings that had finished, 1 for the newest; 1 also for those that finished
    /// later.
    finished: usize,
    /// The share of earlier siblings that depend on the one with the same distance in the plan.
    habit: f32,
    /// The sum of the texts of the siblings that depend on it.
    dependents: f32,
    is_named: bool,
    is_failed: bool,
    /// From 0 to 1.
    together: f32,
}

impl Signals {
    fn score(&self) -> f32 {
        let sum = self.text
            + near(self.finished)
            + self.habit
            + DEPENDENTS * self.dependents / (self.dependents + DEPENDENTS_HALF)
            + if self.is_named { NAMED } else { 0.0 }
            + TOGETHER * self.together;
        let sum = if self.is_failed { FAILED * sum } else { sum };
        (1000.0 * sum / (sum + 1.0)).round() / 10.0
    }
}

/// A share that falls with the distance: 1/2 for the distance 1, 1/3 for 2, and so on.
fn near(distance: usize) -> f32 {
    1.0 / (1.0 + distance as f32)
}

/// How near two creation times are: 1 for the same, 1/2 at [`TOGETHER_HALF`].
fn together(one: u64, other: u64) -> f32 {
    1.0 / (1.0 + one.abs_diff(other) as f32 / TOGETHER_HALF)
}

/// The score of an ancestor: 100 for the parent (distance 1), 10 less for each further generation, at least
/// 20.
pub(super) fn ancestor_score(distance: usize) -> f32 {
    (100.0 - 10.0 * (distance as f32 - 1.0)).max(20.0)
}
