//! The words and names for which finished siblings are searched.

use std::sync::Arc;

use super::words::{WordCounts, beginning, term};
use crate::keywords::for_each_name;
use crate::tree::Node;

/// Maximum number of different words that a sibling has in the index: of its title and criteria, of its
/// results, and of its artifacts and decisions. They take at most about 50 KB of memory, however long its
/// texts are.
pub(super) const MOST_WORDS: [usize; 3] = [256, 256, 128];
/// A word of a title counts as often as this number of words of the other texts.
pub(super) const TITLE_WEIGHT: f32 = 3.0;
/// A word of the task counts as this part of a word of the criteria.
const TASK_WEIGHT: f32 = 0.25;
/// For the siblings of an ancestor of a frame: a word of that ancestor, and of a frame between the two,
/// counts as this part of a word of the frame for which the siblings are scored.
const ABOVE_WEIGHT: f32 = 0.5;

/// The words and names in the title, the criteria and the task of a frame.
#[derive(Debug)]
pub(in crate::context) struct Query {
    /// The words with their weights, in ascending order.
    pub(super) words: Vec<(u64, f32)>,
    /// In ascending order.
    pub(super) names: Vec<u64>,
}

impl Query {
    pub(in crate::context) fn of(node: &Node, counts: &mut WordCounts) -> Self {
        let settled = node.settled();
        let mut names = Vec::new();
        let task = node.record().task.as_str();
        for (text, weight) in [(settled.title, TITLE_WEIGHT), (settled.success_criteria, 1.0), (task, TASK_WEIGHT)] {
            counts.add(text, weight, usize::MAX);
            for_each_name(beginning(text), |name| names.push(term(name)));
        }
        names.sort_unstable();
        names.dedup();
        // Repetitions of a word raise its weight with saturation: count / (count + 1).
        let words = counts.take().into_iter().map(|(word, count)| (word, count / (count + 1.0))).collect();
        Self { words, names }
    }

    /// The query of a frame for the siblings of its ancestor: the frame's own words, and with less weight
    /// those of the frames `above` it: the ancestor, and the frames between the two.
    pub(in crate::context) fn beside(frame: &Query, above: &[Arc<Query>]) -> Self {
        let mut words = frame.words.clone();
        for query in above {
            words.extend(query.words.iter().map(|(word, weight)| (*word, weight * ABOVE_WEIGHT)));
        }
        // The sort keeps the order of equal words, so their weights are always added in the same order.
        words.sort_by_key(|(word, _)| *word);
        words.dedup_by(|(word, weight), (first, sum)| {
            let is_same = word == first;
            *sum += if is_same { *weight } else { 0.0 };
            is_same
        });
        let mut names = frame.names.clone();
        above.iter().for_each(|query| names.extend(&query.names));
        names.sort_unstable();
        names.dedup();
        Self { words, names }
    }
}
