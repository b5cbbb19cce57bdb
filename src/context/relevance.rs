//! Scores the relevance of finished siblings to a frame: BM25 over their texts, plus simple signals. The signals are:
//! the task names the sibling, both mention the same paths, both were planned at about the same time, the sibling
//! finished recently, or it finished first (early tasks are often the foundation of later ones).

use super::keys::KeyMap;
use crate::frame::{FrameStatus, Handle, has_handle_form};
use crate::keywords::{for_each_name, for_each_word};
use crate::tree::{Node, Tree};

/// BM25's parameter *k1*, the saturation of repeated terms. Usual values are 1.2 to 2 (Robertson & Zaragoza 2009, "The
/// Probabilistic Relevance Framework").
const SATURATION: f32 = 1.5;
/// BM25's parameter *b*, the correction for long texts, from 0 to 1.
const LENGTH_CORRECTION: f32 = 0.6;
/// A word of a title counts as often as this number of words of the other texts.
const TITLE_WEIGHT: f32 = 3.0;
/// A word of the ancestor beside which a frame stands counts as this part of a word of the frame for which it is scored.
const ANCESTOR_WEIGHT: f32 = 0.5;
/// Text matches are divided by the best match, but by no less than this share of the highest possible match. Otherwise
/// the best of several unrelated siblings would look relevant.
const LEAST_IDEAL_SHARE: f32 = 0.1;

/// Maximum number of points of each signal. The sum is limited to 100. For the text match, the square root of its ratio
/// to the best match counts, so half of the best match gives more than half of the points.
const TEXT_POINTS: f32 = 56.0;
const RECENCY_POINTS: f32 = 16.0;
const TOGETHER_POINTS: f32 = 28.0;
const FOUNDATION_POINTS: f32 = 10.0;
const MENTION_POINTS: f32 = 30.0;
const PATH_POINTS: f32 = 6.0;
/// The points for recency are halved if this number of siblings finished later, but before the frame started.
const RECENCY_HALF: f32 = 4.0;
/// The signal "planned together" is halved at this difference of the creation times, in milliseconds.
const TOGETHER_HALF: f32 = 1_800_000.0;

/// A sibling and its relevance, from 0 to 100, rounded to tenths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) handle: Handle,
    pub(super) score: f32,
}

/// The query of a frame: the words, paths and names in its title and criteria.
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
        // Repetitions of a word raise its weight with saturation: count / (count + 1).
        let words = order.into_iter().map(|term| (term, counts[&term] / (counts[&term] + 1.0))).collect();
        Self { words, paths, names }
    }

    /// The query of a frame for the siblings of its ancestor: the frame's own words, and those of the ancestor with
    /// less weight.
    pub(super) fn beside(frame: &Query, ancestor: &Query) -> Self {
        let mut weights: KeyMap<u64, usize> = KeyMap::default();
        let mut words = frame.words.clone();
        weights.extend(words.iter().enumerate().map(|(place, (word, _))| (*word, place)));
        for (word, weight) in &ancestor.words {
            match weights.get(word) {
                Some(place) => words[*place].1 += weight * ANCESTOR_WEIGHT,
                None => words.push((*word, weight * ANCESTOR_WEIGHT)),
            }
        }
        let joined = |one: &[u64], other: &[u64]| {
            let mut joined = [one, other].concat();
            joined.sort_unstable();
            joined.dedup();
            joined
        };
        Self { words, paths: joined(&frame.paths, &ancestor.paths), names: joined(&frame.names, &ancestor.names) }
    }
}

/// The inverted index of a frame's finished children. The documents are in the order in which the children finished.
#[derive(Debug, Default)]
pub(super) struct SiblingIndex {
    documents: Vec<Document>,
    /// For each word, the documents that contain it, in order, each with the weighted number of occurrences.
    words: KeyMap<u64, Vec<(u32, f32)>>,
    /// For each path and name, the documents that contain it, in order.
    names: KeyMap<u64, Vec<u32>>,
    checked_at: u64,
}

#[derive(Debug)]
struct Document {
    handle: Handle,
    settled_revision: u64,
    finished: u64,
    created_at: u64,
    /// False for a failed frame without results, which is never shown unless it is a dependency.
    is_candidate: bool,
    length: f32,
    /// The sum of the lengths of this document and of all documents before it.
    total_length: f64,
}

impl SiblingIndex {
    /// Updates the index from the tree. Adds the children that have finished since the last update; builds the index
    /// again if an indexed child has changed.
    pub(super) fn update(&mut self, tree: &Tree, parent: Handle) {
        let node = tree.node(parent);
        let count = node.finished_children().len();
        if self.checked_at == node.children_revision() && self.documents.len() == count {
            return;
        }
        let holds = self.documents.len() <= count
            && self.documents.iter().zip(node.finished_children()).all(|(document, handle)| {
                document.handle == handle && document.settled_revision == tree.node(handle).settled_revision()
            });
        if !holds {
            *self = Self::default();
        }
        for handle in node.finished_children().skip(self.documents.len()) {
            self.add(handle, tree.node(handle));
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
        // A text of the form of a handle names the frame with this handle, not the frame with such an ID.
        let ids = [id.as_str(), last_part].into_iter().filter(|name| !has_handle_form(name));
        let names = ids.chain([handle.to_string().as_str()]).map(|name| term(NAME, name)).collect::<Vec<_>>();
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

    /// Scores all candidates except the frame itself, in the order in which they finished.
    ///
    /// Each sibling is compared with a fixed set of siblings: those that had finished when the frame started, or, if it
    /// finished later, all that finished before it. Therefore a sibling that finishes never changes the score of one
    /// that is already shown.
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
        // Subtract the mean: if all frames were created simultaneously, the creation time carries no signal.
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

    /// Scores the best `most` finished children of this index's parent for a frame further below. `beside` is the
    /// ancestor of the frame among them, which is left out. The order is that in which they finished.
    pub(super) fn best(&self, beside: Handle, frame: &Node, query: &Query, most: usize) -> Vec<Scored> {
        let mut scored = self.scores(beside, frame, query);
        if scored.len() > most {
            let better =
                |one: &Scored, other: &Scored| other.score.total_cmp(&one.score).then(other.handle.cmp(&one.handle));
            let mut kept = scored.clone();
            kept.select_nth_unstable_by(most, better);
            kept.truncate(most);
            scored.retain(|candidate| kept.contains(candidate));
        }
        scored
    }

    /// The term of BM25's denominator that reduces the influence of a word's count. It grows with the length of the
    /// document relative to the average length of the documents with which it is compared.
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

/// BM25's inverse document frequency, in the variant that is never negative. The base-2 logarithm is approximated from
/// the exponent and mantissa of the number. Unlike the logarithms of system libraries, this gives the same result on
/// every machine.
fn rarity(documents: usize, having: usize) -> f32 {
    let ratio = 1.0 + (documents as f32 - having as f32 + 0.5) / (having as f32 + 0.5);
    let bits = ratio.to_bits();
    (bits >> 23) as f32 - 127.0 + (bits & 0x7f_ffff) as f32 / 8_388_608.0
}

/// The score of an ancestor: 100 for the parent (distance 1), 10 less for each further generation, at least 20.
pub(super) fn ancestor_score(distance: usize) -> f32 {
    (100.0 - 10.0 * (distance as f32 - 1.0)).max(20.0)
}

const WORD: u64 = 1;
const PATH: u64 = 2;
const NAME: u64 = 3;

/// Hashes a term to 64 bits (FNV-1a), with the same result on every machine. A collision of two terms only makes a
/// score slightly inaccurate.
fn term(kind: u64, text: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ kind;
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
