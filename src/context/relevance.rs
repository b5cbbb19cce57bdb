//! Which finished siblings matter to a frame: BM25 over their texts, with signals a reader can
//! check: named in the task, shared paths, planned together, finished lately, or first of all, as
//! the foundations are that later work stands on.

use super::keys::KeyMap;
use crate::frame::{FrameStatus, Handle};
use crate::keywords::{for_each_name, for_each_word};
use crate::tree::{Node, Tree};

/// BM25's saturation of repeated terms (Robertson & Zaragoza 2009, "The Probabilistic Relevance
/// Framework", use 1.2 to 2).
const SATURATION: f32 = 1.5;
/// BM25's correction for long texts, 0 to 1.
const LENGTH_CORRECTION: f32 = 0.6;
/// A word of a title says as much as three of the text.
const TITLE_WEIGHT: f32 = 3.0;
/// The best text match counts as full only if it reaches this share of what the frame's words
/// could give at all, so that the least bad of unrelated siblings does not look relevant.
const LEAST_IDEAL_SHARE: f32 = 0.1;

/// Points of a score, which ends at 100: what each signal gives at its strongest. Of the text match
/// the square root counts: half the words of the best match are more than half as telling.
const TEXT_POINTS: f32 = 56.0;
const RECENCY_POINTS: f32 = 16.0;
const TOGETHER_POINTS: f32 = 28.0;
const FOUNDATION_POINTS: f32 = 10.0;
const MENTION_POINTS: f32 = 30.0;
const PATH_POINTS: f32 = 6.0;
/// Recency halves at this many finished siblings in between.
const RECENCY_HALF: f32 = 4.0;
/// "Planned together" halves at this distance of the creation times, in milliseconds.
const TOGETHER_HALF: f32 = 1_800_000.0;

/// A sibling and how much it matters, 0 to 100 in tenths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) handle: Handle,
    pub(super) score: f32,
}

/// What a frame asks for: its own words, paths and names, from title and criteria.
#[derive(Debug)]
pub(super) struct Query {
    words: Vec<(u64, f32)>,
    paths: Vec<u64>,
    names: Vec<u64>,
}

impl Query {
    pub(super) fn of(node: &Node) -> Self {
        let settled = node.settled();
        let mut counts: KeyMap<u64, f32> = KeyMap::default();
        let mut order = Vec::new();
        let mut paths = Vec::new();
        let mut names = Vec::new();
        for (text, weight) in [(settled.title, TITLE_WEIGHT), (settled.success_criteria, 1.0)] {
            for_each_word(text, |stem| {
                let term = term(WORD, stem);
                *counts.entry(term).or_insert_with(|| {
                    order.push(term);
                    0.0
                }) += weight;
            });
            for_each_name(
                text,
                |name, is_path| if is_path { paths.push(term(PATH, name)) } else { names.push(term(NAME, name)) },
            );
        }
        paths.sort_unstable();
        paths.dedup();
        names.sort_unstable();
        names.dedup();
        // A word that the task repeats asks for more, but not for twice as much.
        let words = order.into_iter().map(|term| (term, counts[&term] / (counts[&term] + 1.0))).collect();
        Self { words, paths, names }
    }
}

/// The finished children of one frame, in the order in which they finished, by their words.
#[derive(Debug, Default)]
pub(super) struct SiblingIndex {
    documents: Vec<Document>,
    /// For each word the documents that have it, in order, and how often (weighted).
    words: KeyMap<u64, Vec<(u32, f32)>>,
    /// The same for paths and names, where once is enough.
    names: KeyMap<u64, Vec<u32>>,
    checked_at: u64,
}

#[derive(Debug)]
struct Document {
    handle: Handle,
    settled_revision: u64,
    finished: u64,
    created_at: u64,
    /// A failed frame without results teaches nothing.
    is_candidate: bool,
    length: f32,
    /// Of this and all documents before it.
    total_length: f64,
}

impl SiblingIndex {
    /// Brings the index up to date with the tree: adds what has finished since, and starts again
    /// if anything it holds has changed.
    pub(super) fn update(&mut self, tree: &Tree, parent: Handle) {
        let node = tree.node(parent);
        if self.checked_at == node.children_revision() && self.documents.len() == node.finished_children().len() {
            return;
        }
        let finished = node.finished_children();
        let holds = self.documents.len() <= finished.len()
            && self.documents.iter().zip(finished).all(|(document, handle)| {
                document.handle == *handle && document.settled_revision == tree.node(*handle).settled_revision()
            });
        if !holds {
            *self = Self::default();
        }
        for handle in &finished[self.documents.len()..] {
            self.add(*handle, tree.node(*handle));
        }
        self.checked_at = node.children_revision();
    }

    fn add(&mut self, handle: Handle, node: &Node) {
        let place = self.documents.len() as u32;
        let (settled, record) = (node.settled(), node.record());
        let results = record.results.as_deref().or(record.results_compacted.as_deref()).unwrap_or_default();
        let artifacts = settled.artifacts.iter().map(|text| (text.as_str(), 1.0));
        let decisions = settled.decisions.iter().map(|text| (text.as_str(), 1.0));
        let texts = [(settled.title, TITLE_WEIGHT), (settled.success_criteria, 1.0), (results, 1.0)];
        let mut counts: KeyMap<u64, f32> = KeyMap::default();
        let mut paths = Vec::new();
        let mut length = 0.0;
        for (text, weight) in texts.into_iter().chain(artifacts).chain(decisions) {
            for_each_word(text, |stem| {
                *counts.entry(term(WORD, stem)).or_default() += weight;
                length += weight;
            });
            for_each_name(text, |name, is_path| {
                if is_path {
                    paths.push(term(PATH, name))
                }
            });
        }
        for (word, count) in counts {
            self.words.entry(word).or_default().push((place, count));
        }
        let id = record.session_id.to_lowercase();
        let last_part = id.rsplit('/').next().unwrap_or(&id);
        let names = [id.as_str(), last_part, &handle.to_string()].map(|name| term(NAME, name));
        for name in paths.into_iter().chain(names) {
            let places = self.names.entry(name).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        let before = self.documents.last().map_or(0.0, |document| document.total_length);
        self.documents.push(Document {
            handle,
            settled_revision: node.settled_revision(),
            finished: node.finished().unwrap_or_default(),
            created_at: record.created_at,
            is_candidate: node.status() == FrameStatus::Completed || !results.trim().is_empty(),
            length,
            total_length: before + f64::from(length),
        });
    }

    /// Scores every candidate but the frame itself, in the order in which they finished.
    ///
    /// A sibling is judged once, when it comes into the frame's view: against those that had
    /// finished when the frame began, or, if it finished later, against those before it. So what
    /// finishes later never changes the score of what is shown already.
    pub(super) fn scores(&self, handle: Handle, node: &Node, query: &Query) -> Vec<Scored> {
        let begun = node.started().unwrap_or(u64::MAX);
        let base = self.documents.partition_point(|document| document.finished < begun);
        let mut signals: Vec<Signals> = (0..self.documents.len())
            .map(|place| Signals { dampening: self.dampening(place, base), ..Signals::default() })
            .collect();
        let mut ideal = 0.0;
        for (word, weight) in &query.words {
            let postings = self.words.get(word).map_or(&[][..], Vec::as_slice);
            let in_base = postings.partition_point(|(place, _)| (*place as usize) < base);
            let rarity = rarity(base, in_base);
            ideal += rarity * weight * (SATURATION + 1.0);
            for (position, (place, count)) in postings.iter().enumerate() {
                let place = *place as usize;
                let rarity = if place < base { rarity } else { self::rarity(place + 1, position + 1) };
                signals[place].text +=
                    rarity * weight * count * (SATURATION + 1.0) / (count + signals[place].dampening);
            }
        }
        for path in &query.paths {
            let places = self.names.get(path).map_or(&[][..], Vec::as_slice);
            let in_base = places.partition_point(|place| (*place as usize) < base);
            for (position, place) in places.iter().enumerate() {
                let sharing = if (*place as usize) < base { in_base } else { position + 1 };
                signals[*place as usize].paths += 1.0 / sharing as f32;
            }
        }
        for name in &query.names {
            for place in self.names.get(name).into_iter().flatten() {
                signals[*place as usize].is_named = true;
            }
        }
        let best = signals[..base].iter().map(|signals| signals.text).fold(ideal * LEAST_IDEAL_SHARE, f32::max);
        let created_at = node.record().created_at;
        let together =
            |document: &Document| 1.0 / (1.0 + created_at.abs_diff(document.created_at) as f32 / TOGETHER_HALF);
        // Frames all made at once were not more planned together than others were.
        let usual = self.documents[..base].iter().map(together).sum::<f32>() / base.max(1) as f32;
        let scored = self
            .documents
            .iter()
            .zip(&signals)
            .enumerate()
            .filter(|(_, (document, _))| document.is_candidate && document.handle != handle);
        scored
            .map(|(place, (document, signals))| {
                let since = base.saturating_sub(place + 1) as f32;
                let best = best.max(signals.text);
                let text = if best > 0.0 { signals.text / best } else { 0.0 };
                let score = TEXT_POINTS * text.sqrt()
                    + RECENCY_POINTS / (1.0 + since / RECENCY_HALF)
                    + TOGETHER_POINTS * (together(document) - usual).max(0.0)
                    + FOUNDATION_POINTS / (1.0 + place as f32)
                    + PATH_POINTS * signals.paths.min(1.0)
                    + if signals.is_named { MENTION_POINTS } else { 0.0 };
                Scored { handle: document.handle, score: (score.min(100.0) * 10.0).round() / 10.0 }
            })
            .collect()
    }

    /// What BM25 holds against a term's count: the more, the longer the text is than those known
    /// when it came into view.
    fn dampening(&self, place: usize, base: usize) -> f32 {
        let known = if place < base { base } else { place + 1 };
        let average = (self.documents[known - 1].total_length / known as f64) as f32;
        let length = self.documents[place].length / average.max(1.0);
        SATURATION * (1.0 - LENGTH_CORRECTION + LENGTH_CORRECTION * length)
    }
}

#[derive(Clone, Copy, Default)]
struct Signals {
    dampening: f32,
    text: f32,
    paths: f32,
    is_named: bool,
}

/// BM25's inverse document frequency, in the form that is never negative. The logarithm is read off
/// the number's exponent and mantissa: rough, but the same on every machine, as libraries' are not.
fn rarity(documents: usize, having: usize) -> f32 {
    let ratio = 1.0 + (documents as f32 - having as f32 + 0.5) / (having as f32 + 0.5);
    let bits = ratio.to_bits();
    (bits >> 23) as f32 - 127.0 + (bits & 0x7f_ffff) as f32 / 8_388_608.0
}

/// How much an ancestor matters: the nearer, the more. The parent has 100.
pub(super) fn ancestor_score(distance: usize) -> f32 {
    (100.0 - 10.0 * (distance as f32 - 1.0)).max(20.0)
}

const WORD: u64 = 1;
const PATH: u64 = 2;
const NAME: u64 = 3;

/// A 64-bit stand-in for a term (FNV-1a), the same on every machine. Two terms that meet in one
/// number make a score a little wrong and nothing worse.
fn term(kind: u64, text: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ kind;
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
