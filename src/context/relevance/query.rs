//! The words and names for which finished siblings are searched, and their hashes.

use crate::context::keys::KeyMap;
use crate::keywords::{for_each_name, for_each_word};
use crate::tree::Node;

/// A word of a title counts as often as this number of words of the other texts.
pub(super) const TITLE_WEIGHT: f32 = 3.0;

/// The words and names in the title and the criteria of a frame.
#[derive(Debug)]
pub(in crate::context) struct Query {
    /// The words with their weights, in order of first appearance.
    pub(super) words: Vec<(u64, f32)>,
    pub(super) names: Vec<u64>,
}

impl Query {
    pub(in crate::context) fn of(node: &Node) -> Self {
        let settled = node.settled();
        let mut counts: KeyMap<u64, f32> = KeyMap::default();
        let mut order = Vec::new();
        let mut names = Vec::new();
        for (text, weight) in [(settled.title, TITLE_WEIGHT), (settled.success_criteria, 1.0)] {
            for_each_word(text, |stem| {
                let term = term(stem);
                *counts.entry(term).or_insert_with(|| {
                    order.push(term);
                    0.0
                }) += weight;
            });
            for_each_name(text, |name| names.push(term(name)));
        }
        names.sort_unstable();
        names.dedup();
        // Repetitions of a word raise its weight with saturation: count / (count + 1).
        let words = order.into_iter().map(|term| (term, counts[&term] / (counts[&term] + 1.0))).collect();
        Self { words, names }
    }
}

/// Hashes a word or a name to 64 bits (FNV-1a), with the same result on every machine. A collision of two only makes a
/// score slightly inaccurate.
pub(super) fn term(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
