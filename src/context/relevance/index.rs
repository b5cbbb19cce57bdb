//! The inverted index of a frame's finished children, and their scores.

use super::habit::{Habit, HabitBefore, count_before};
use super::query::{Query, TITLE_WEIGHT, term};
use super::{Scored, Signals, Standpoint, position, together};
use crate::context::keys::KeyMap;
use crate::frame::{FrameStatus, Handle, has_handle_form};
use crate::keywords::for_each_word;
use crate::steps::step;
use crate::tree::{Node, Tree};

/// BM25's parameter *k1*, the saturation of repeated terms. Usual values are 1.2 to 2 (Robertson & Zaragoza 2009, "The
/// Probabilistic Relevance Framework").
const SATURATION: f32 = 1.5;
/// BM25's parameter *b*, the correction for long texts, from 0 to 1.
const LENGTH_CORRECTION: f32 = 0.6;
/// Text matches are divided by the best match, but by no less than this share of the highest possible match. Otherwise
/// the best of several unrelated siblings would look relevant.
const LEAST_IDEAL_SHARE: f32 = 0.1;
/// How many of the documents with a word or a name, of the dependents of a document, and of the newest documents are
/// looked at, newest first, where not all documents are scored.
const LOOKED_AT: usize = 32;

/// The inverted index of a frame's finished children. The documents are in the order in which the children finished; the
/// position in this order is the *place* of a document.
#[derive(Debug, Default)]
pub(in crate::context) struct SiblingIndex {
    documents: Vec<Document>,
    /// The lengths of the documents: their weighted numbers of words.
    lengths: Vec<f32>,
    /// For each word, the places of the documents that contain it, in order, each with the weighted number of
    /// occurrences.
    words: KeyMap<u64, Vec<(u32, f32)>>,
    /// For each name, the places of the documents that have it, in order.
    names: KeyMap<u64, Vec<u32>>,
    habit: Habit,
    checked_at: u64,
}

#[derive(Debug)]
struct Document {
    handle: Handle,
    settled_revision: u64,
    finished: u64,
    created_at: u64,
    /// The position among all children of the parent.
    position: usize,
    /// The places of the documents on which it depends; only those that had finished before it.
    dependencies: Vec<u32>,
    /// The places of the documents that depend on it, in order.
    dependents: Vec<u32>,
    /// False for a failed frame without results, which is never shown unless it is a dependency.
    is_candidate: bool,
    /// The sum of the lengths of this document and of all documents before it.
    total_length: f64,
}

impl SiblingIndex {
    /// Updates the index from the tree. Adds the children that have finished since the last update; builds the index
    /// again if an indexed child has changed.
    pub(in crate::context) fn update(&mut self, tree: &Tree, parent: Handle) {
        let node = tree.node(parent);
        let count = node.finished_children().len();
        if self.checked_at == node.finished_revision() && self.documents.len() == count {
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
            self.add(tree, parent, handle);
        }
        self.checked_at = node.finished_revision();
    }

    fn add(&mut self, tree: &Tree, parent: Handle, handle: Handle) {
        let place = self.documents.len() as u32;
        let node = tree.node(handle);
        let (settled, record) = (node.settled(), node.record());
        let results = record.results.as_deref().or(record.results_compacted.as_deref()).unwrap_or_default();
        let artifacts = settled.artifacts.iter().map(|text| (text.as_str(), 1.0));
        let decisions = settled.decisions.iter().map(|text| (text.as_str(), 1.0));
        let texts = [(settled.title, TITLE_WEIGHT), (settled.success_criteria, 1.0), (results, 1.0)];
        let mut counts: KeyMap<u64, f32> = KeyMap::default();
        let mut length = 0.0;
        for (text, weight) in texts.into_iter().chain(artifacts).chain(decisions) {
            for_each_word(text, |stem| {
                *counts.entry(term(stem)).or_default() += weight;
                length += weight;
            });
        }
        for (word, count) in counts {
            self.words.entry(word).or_default().push((place, count));
        }
        self.add_names(place, handle, &record.session_id);
        let position = position(tree.node(parent), handle);
        let dependencies = self.add_dependencies(tree, node, place, position);
        let before = self.documents.last().map_or(0.0, |document| document.total_length);
        self.lengths.push(length);
        self.documents.push(Document {
            handle,
            settled_revision: node.settled_revision(),
            finished: node.finished().unwrap_or_default(),
            created_at: record.created_at,
            position,
            dependencies,
            dependents: Vec::new(),
            is_candidate: node.status() == FrameStatus::Completed || !results.trim().is_empty(),
            total_length: before + f64::from(length),
        });
    }

    fn add_names(&mut self, place: u32, handle: Handle, session_id: &str) {
        let id = session_id.to_lowercase();
        let last_part = id.rsplit('/').next().unwrap_or(&id);
        // A text of the form of a handle names the frame with this handle, not the frame with such an ID.
        let ids = [id.as_str(), last_part].into_iter().filter(|name| !has_handle_form(name));
        for name in ids.chain([handle.to_string().as_str()]) {
            let places = self.names.entry(term(name)).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }

    /// Notes on which documents a new one depends, and returns their places.
    fn add_dependencies(&mut self, tree: &Tree, node: &Node, place: u32, position: usize) -> Vec<u32> {
        let find = |dependency: &Handle| {
            let other = tree.node(*dependency);
            let finished = other.finished().filter(|_| other.parent() == node.parent())?;
            let found = self.documents.binary_search_by_key(&finished, |document| document.finished).ok()?;
            Some(found as u32)
        };
        let dependencies: Vec<u32> = node.dependencies().iter().filter_map(find).collect();
        for dependency in &dependencies {
            self.documents[*dependency as usize].dependents.push(place);
        }
        let distance = |dependency: &u32| position as i64 - self.documents[*dependency as usize].position as i64;
        self.habit.add(place, dependencies.iter().map(distance));
        dependencies
    }

    /// Scores all candidates except the frame itself, in the order in which they finished.
    ///
    /// Each sibling is compared with a fixed set of siblings: those that had finished when the frame started, or, if it
    /// finished later, all that finished before it. Therefore a sibling that finishes never changes the score of one
    /// that is already shown.
    pub(in crate::context) fn scores(&self, from: &Standpoint, query: &Query) -> Vec<Scored> {
        let (base, end) = (self.base(from), self.documents.len());
        let mut matches = self.search(query, base, end, usize::MAX);
        matches.compare(0..base);
        let seen = self.see(from, base, matches, 0..base);
        (0..end).filter_map(|place| seen.score(place)).collect()
    }

    /// Scores the children for a frame below one of them, and returns the best in the order in which they finished, at
    /// most `most`.
    ///
    /// The work does not grow with the number of children: of those that had finished when the frame started, it looks at
    /// the newest, at the newest with each word and name, and at their dependencies. Up to a quarter of `most` is
    /// kept for those that finished later. They follow the others and change nothing about them.
    pub(in crate::context) fn best(&self, from: &Standpoint, query: &Query, most: usize) -> Vec<Scored> {
        let base = self.base(from);
        let end = self.documents.len().min(base + most / 4);
        let mut matches = self.search(query, base, end, LOOKED_AT);
        let places = self.places(query, base, &matches.named);
        matches.compare(places.iter().map(|place| *place as usize));
        let seen = self.see(from, base, matches, places.iter().map(|place| *place as usize));
        let mut scored: Vec<Scored> = places.iter().filter_map(|place| seen.score(*place as usize)).collect();
        keep_best(&mut scored, most - most / 4);
        scored.extend((base..end).filter_map(|place| seen.score(place)));
        scored
    }

    /// The number of documents that had finished when the frame started.
    fn base(&self, from: &Standpoint) -> usize {
        self.documents.partition_point(|document| document.finished < from.started)
    }

    /// Searches the documents before the place `end`. Of those before `base` that have a word or a name, at most
    /// `looked_at` are found, the newest.
    fn search(&self, query: &Query, base: usize, end: usize, looked_at: usize) -> Matches {
        let mut texts = vec![0.0; end];
        let dampening = self.dampening(base);
        let later_dampening: Vec<f32> =
            (base..end).map(|place| self.dampening(place + 1).of(self.lengths[place])).collect();
        let mut ideal = 0.0;
        for (word, weight) in &query.words {
            let weight = weight * (SATURATION + 1.0);
            let postings = self.words.get(word).map_or(&[][..], Vec::as_slice);
            let in_base = postings.partition_point(|(place, _)| (*place as usize) < base);
            let most = rarity(base, in_base) * weight;
            ideal += most;
            for (place, count) in &postings[in_base.saturating_sub(looked_at)..in_base] {
                step();
                let place = *place as usize;
                texts[place] += most * count / (count + dampening.of(self.lengths[place]));
            }
            let later = postings.iter().enumerate().skip(in_base);
            for (position, (place, count)) in later.take_while(|(_, (place, _))| (*place as usize) < end) {
                step();
                let place = *place as usize;
                let most = rarity(place + 1, position + 1) * weight;
                texts[place] += most * count / (count + later_dampening[place - base]);
            }
        }
        let mut named = Vec::new();
        for name in &query.names {
            let places = self.names.get(name).map_or(&[][..], Vec::as_slice);
            let in_base = count_before(places, base);
            let places = places[in_base.saturating_sub(looked_at)..].iter().inspect(|_| step());
            named.extend(places.take_while(|place| (**place as usize) < end));
        }
        sort_once(&mut named);
        Matches { texts, named, best: ideal * LEAST_IDEAL_SHARE }
    }

    /// The places before `base` that are worth a look: the newest, the newest with a word of the query, those that are
    /// `named`, and the places on which these depend.
    fn places(&self, query: &Query, base: usize, named: &[u32]) -> Vec<u32> {
        let newest = base.saturating_sub(LOOKED_AT);
        let mut is_known = vec![false; newest];
        let mut older = Vec::new();
        let mut add = |older: &mut Vec<u32>, place: u32| {
            step();
            if (place as usize) < newest && !std::mem::replace(&mut is_known[place as usize], true) {
                older.push(place);
            }
        };
        named.iter().for_each(|place| add(&mut older, *place));
        if newest > 0 {
            for (word, _) in &query.words {
                let postings = self.words.get(word).map_or(&[][..], Vec::as_slice);
                let in_base = postings.partition_point(|(place, _)| (*place as usize) < base);
                let looked_at = &postings[in_base.saturating_sub(LOOKED_AT)..in_base];
                looked_at.iter().for_each(|(place, _)| add(&mut older, *place));
            }
        }
        let found: Vec<u32> = older.iter().copied().chain(newest as u32..base as u32).collect();
        for place in &found {
            let dependencies = self.documents[*place as usize].dependencies.iter().take(LOOKED_AT);
            dependencies.for_each(|place| add(&mut older, *place));
        }
        older.sort_unstable();
        older.extend(newest as u32..base as u32);
        older
    }

    /// BM25's correction for the lengths of documents, relative to the average of the first `known` ones.
    fn dampening(&self, known: usize) -> Dampening {
        let last = known.checked_sub(1).map(|last| &self.documents[last]);
        let average = last.map_or(0.0, |last| (last.total_length / known as f64) as f32);
        Dampening { by_length: SATURATION * LENGTH_CORRECTION / average.max(1.0) }
    }

    /// Joins what is needed to score documents. `usual` are the places before `base` that are compared with each other.
    fn see<'a>(
        &'a self,
        from: &'a Standpoint,
        base: usize,
        matches: Matches,
        usual: impl ExactSizeIterator<Item = usize>,
    ) -> Seen<'a> {
        // If all frames were created simultaneously, the creation time carries no signal.
        let count = usual.len().max(1) as f32;
        let sum: f32 = usual.map(|place| together(self.documents[place].created_at, from.created_at)).sum();
        Seen { index: self, from, base, matches, habit: self.habit.before(base), usual_together: sum / count }
    }
}

/// The documents that a search has found.
struct Matches {
    /// The BM25 score of each document.
    texts: Vec<f32>,
    /// The places of the documents that are named, in order.
    named: Vec<u32>,
    /// The score by which those of the documents that had finished are divided.
    best: f32,
}

impl Matches {
    /// Makes the scores of these places the ones with which all are compared.
    fn compare(&mut self, places: impl Iterator<Item = usize>) {
        self.best = places.map(|place| self.texts[place]).fold(self.best, f32::max);
    }

    /// The text match of a document in relation to the best one, from 0 to 1.
    fn text(&self, place: usize) -> f32 {
        let text = self.texts[place];
        let best = self.best.max(text);
        if best > 0.0 { text / best } else { 0.0 }
    }
}

/// The term of BM25's denominator that reduces the influence of a word's count. It grows with the length of the document.
struct Dampening {
    by_length: f32,
}

impl Dampening {
    fn of(&self, length: f32) -> f32 {
        SATURATION * (1.0 - LENGTH_CORRECTION) + self.by_length * length
    }
}

/// The documents as a frame sees them.
struct Seen<'a> {
    index: &'a SiblingIndex,
    from: &'a Standpoint,
    base: usize,
    matches: Matches,
    habit: HabitBefore<'a>,
    usual_together: f32,
}

impl Seen<'_> {
    /// The score of a document; `None` if it is no candidate.
    fn score(&self, place: usize) -> Option<Scored> {
        step();
        let document = &self.index.documents[place];
        if !document.is_candidate || document.handle == self.from.beside {
            return None;
        }
        let signals = Signals {
            text: self.matches.text(place),
            finished: self.base.saturating_sub(place).max(1),
            habit: self.habit.share(self.from.position as i64 - document.position as i64),
            dependents: self.dependents(document),
            is_named: self.matches.named.binary_search(&(place as u32)).is_ok(),
            together: (together(document.created_at, self.from.created_at) - self.usual_together).max(0.0),
        };
        Some(Scored { handle: document.handle, score: signals.score() })
    }

    /// The sum of the text matches of the newest documents that depend on this one.
    fn dependents(&self, document: &Document) -> f32 {
        let dependents = &document.dependents[..count_before(&document.dependents, self.base)];
        let newest = dependents.iter().rev().take(LOOKED_AT).inspect(|_| step());
        newest.map(|place| self.matches.text(*place as usize)).sum()
    }
}

/// BM25's inverse document frequency, in the variant that is never negative. The base-2 logarithm is approximated from
/// the exponent and mantissa of the number. Unlike the logarithms of system libraries, this gives the same result on
/// every machine.
fn rarity(documents: usize, having: usize) -> f32 {
    let ratio = 1.0 + (documents as f32 - having as f32 + 0.5) / (having as f32 + 0.5);
    let bits = ratio.to_bits();
    (bits >> 23) as f32 - 127.0 + (bits & 0x7f_ffff) as f32 / 8_388_608.0
}

/// Removes all but the `most` best without changing the order. The newer of two equal ones is the better one.
fn keep_best(scored: &mut Vec<Scored>, most: usize) {
    if scored.len() <= most {
        return;
    }
    let better = |one: &Scored, other: &Scored| other.score.total_cmp(&one.score).then(other.handle.cmp(&one.handle));
    let mut ranked = scored.clone();
    ranked.select_nth_unstable_by(most, better);
    let first_left_out = ranked[most];
    scored.retain(|candidate| better(candidate, &first_left_out).is_lt());
}

fn sort_once(places: &mut Vec<u32>) {
    places.sort_unstable();
    places.dedup();
}
