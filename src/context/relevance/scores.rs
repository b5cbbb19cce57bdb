//! The scores of the documents of an index, for one frame.

use super::habit::{HabitBefore, count_before};
use super::index::{Document, SiblingIndex};
use super::notes::Notes;
use super::plan::distance;
use super::query::Query;
use super::{Scored, Signals, Standpoint, together};
use crate::steps::step;

/// BM25's parameter *k1*, the saturation of repeated terms. Usual values are 1.2 to 2 (Robertson & Zaragoza
/// 2009, "The Probabilistic Relevance Framework").
const SATURATION: f32 = 1.5;
/// BM25's parameter *b*, the correction for long texts, from 0 to 1.
const LENGTH_CORRECTION: f32 = 0.6;
/// Text matches are divided by the best match, but by no less than this share of the highest possible match.
/// Otherwise the best of several unrelated siblings would look relevant.
const LEAST_IDEAL_SHARE: f32 = 0.1;
/// How many of the documents with a word or a name, of the dependents of a document, and of the newest
/// documents are looked at, newest first, where not all documents are scored.
const LOOKED_AT: usize = 32;

/// How many documents are scored for one frame.
#[derive(Debug, Clone, Copy)]
pub(in crate::context) struct Extent {
    /// The number of documents up to which all of those are scored that had finished when the frame started.
    pub(in crate::context) all: usize,
    /// The number of the best ones that are kept if there are more.
    pub(in crate::context) best: usize,
    /// The number of the first ones that finished later.
    pub(in crate::context) later: usize,
}

#[cfg(test)]
impl Extent {
    /// All documents.
    pub(in crate::context) const ALL: Self = Self { all: usize::MAX, best: usize::MAX, later: 1 << 40 };

    /// At most this number of documents. Up to a quarter of them finished later.
    pub(in crate::context) const fn of(most: usize) -> Self {
        Self { all: 0, best: most - most / 4, later: most / 4 }
    }
}

impl SiblingIndex {
    /// Scores candidates for a frame, and returns them in the order in which they finished. The frame itself
    /// is none.
    ///
    /// Each sibling is compared with a fixed set of siblings: those that had finished when the frame started,
    /// or, if it finished later, all that finished before it. Therefore a sibling that finishes never changes
    /// the score of one that is already shown.
    ///
    /// The work does not grow with the number of children: of many that had finished when the frame started,
    /// it looks at the newest, at the newest with each word and name, and at their dependencies. These are
    /// compared with each other.
    pub(in crate::context) fn scores(&mut self, from: &Standpoint, query: &Query, extent: Extent) -> Vec<Scored> {
        let base = self.base(from);
        let end = self.documents.len().min(base + extent.later);
        let are_all = base <= extent.all;
        let mut notes = self.take_notes();
        let matches = self.search(query, base, end, if are_all { usize::MAX } else { LOOKED_AT }, &mut notes.texts);
        let places = match are_all {
            true => (0..base).collect(),
            false => self.places(query, base, &matches.named, &mut notes.is_found),
        };
        let own = self.rank(from, &places, base..end, &mut notes.ranks);
        let seen = self.see(from, base, own, matches, &notes, places.iter().copied());
        let mut scored: Vec<Scored> = places.iter().filter_map(|place| seen.score(*place)).collect();
        if !are_all {
            keep_best(&mut scored, extent.best);
        }
        scored.extend((base..end).filter_map(|place| seen.score(place)));
        notes.wipe(places.into_iter().chain(base..end));
        self.notes = notes;
        scored
    }

    fn take_notes(&mut self) -> Notes {
        let mut notes = std::mem::take(&mut self.notes);
        notes.grow(self.documents.len());
        notes
    }

    /// The number of documents that had finished when the frame started.
    fn base(&self, from: &Standpoint) -> usize {
        self.documents.partition_point(|document| document.finished < from.started)
    }

    /// Searches the documents before the place `end`, and notes their BM25 scores. Of those before `base`
    /// that have a word or a name, at most `looked_at` are found, the newest.
    fn search(&self, query: &Query, base: usize, end: usize, looked_at: usize, texts: &mut [f32]) -> Matches {
        let dampening = self.dampening(base);
        let later_dampening: Vec<f32> =
            (base..end).map(|place| self.dampening(place + 1).of(self.lengths.get(place))).collect();
        let mut ideal = 0.0;
        for (word, weight) in &query.words {
            let weight = weight * (SATURATION + 1.0);
            let postings = self.words.get(*word);
            let in_base = postings.partition_point(|(place, _)| (*place as usize) < base);
            let most = rarity(base, in_base) * weight;
            ideal += most;
            for (place, count) in &postings[in_base.saturating_sub(looked_at)..in_base] {
                step();
                let place = *place as usize;
                texts[place] += most * count / (count + dampening.of(self.lengths.get(place)));
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
            let places = self.names.get(*name);
            let in_base = count_before(places, base);
            let places = places[in_base.saturating_sub(looked_at)..].iter().inspect(|_| step());
            named.extend(places.take_while(|place| (**place as usize) < end));
        }
        named.sort_unstable();
        named.dedup();
        Matches { named, best: ideal * LEAST_IDEAL_SHARE }
    }

    /// The places before `base` that are worth a look, in order: the newest, the newest with a word of the
    /// query, those that are `named`, and the places on which these depend.
    fn places(&self, query: &Query, base: usize, named: &[u32], is_found: &mut [bool]) -> Vec<usize> {
        let newest = base.saturating_sub(LOOKED_AT);
        let mut older = Vec::new();
        let mut add = |older: &mut Vec<usize>, place: u32| {
            step();
            let place = place as usize;
            if place < newest && !std::mem::replace(&mut is_found[place], true) {
                older.push(place);
            }
        };
        named.iter().for_each(|place| add(&mut older, *place));
        if newest > 0 {
            for (word, _) in &query.words {
                let postings = self.words.get(*word);
                let in_base = postings.partition_point(|(place, _)| (*place as usize) < base);
                let looked_at = &postings[in_base.saturating_sub(LOOKED_AT)..in_base];
                looked_at.iter().for_each(|(place, _)| add(&mut older, *place));
            }
        }
        let found: Vec<usize> = older.iter().copied().chain(newest..base).collect();
        for place in found {
            let dependencies = self.documents[place].dependencies.iter().take(LOOKED_AT);
            dependencies.for_each(|place| add(&mut older, *place));
        }
        older.iter().for_each(|place| is_found[*place] = false);
        older.sort_unstable();
        older.extend(newest..base);
        older
    }

    /// Notes how many of the compared documents were planned before each of them and before each of the
    /// `later` ones, and returns how many were planned before the frame.
    fn rank(&self, from: &Standpoint, compared: &[usize], later: std::ops::Range<usize>, ranks: &mut [u32]) -> usize {
        let with_order = |place: &usize| (self.documents[*place].order, *place);
        let mut planned: Vec<_> = compared.iter().map(with_order).collect();
        planned.retain(|(order, _)| *order != from.order);
        planned.sort_unstable();
        let rank = |other| planned.partition_point(|(order, _)| *order < other);
        for ((_, place), rank) in planned.iter().zip(0..) {
            ranks[*place] = rank;
        }
        for place in later {
            ranks[place] = rank(self.documents[place].order) as u32;
        }
        rank(from.order)
    }

    /// BM25's correction for the lengths of documents, relative to the average of the first `known` ones.
    fn dampening(&self, known: usize) -> Dampening {
        let average = (self.lengths.first(known) / known.max(1) as f64) as f32;
        Dampening { by_length: SATURATION * LENGTH_CORRECTION / average.max(1.0) }
    }

    /// Joins what is needed to score documents. `compared` are the places before `base` that are compared
    /// with each other; `own` of them were planned before the frame.
    fn see<'a>(
        &'a self,
        from: &'a Standpoint,
        base: usize,
        own: usize,
        mut matches: Matches,
        notes: &'a Notes,
        compared: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Seen<'a> {
        matches.best = compared.clone().map(|place| notes.texts[place]).fold(matches.best, f32::max);
        // If all frames were created simultaneously, the creation time carries no signal.
        let count = compared.len().max(1) as f32;
        let sum: f32 = compared.map(|place| together(self.documents[place].created_at, from.created_at)).sum();
        Seen {
            index: self,
            from,
            base,
            own,
            matches,
            notes,
            habit: self.habit.before(base),
            usual_together: sum / count,
        }
    }
}

/// The documents that a search has found.
struct Matches {
    /// The places of the documents that are named, in order.
    named: Vec<u32>,
    /// The score by which those of the documents that had finished are divided.
    best: f32,
}

/// The term of BM25's denominator that reduces the influence of a word's count. It grows with the length of
/// the document.
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
    /// Number of the compared documents that were planned before the frame.
    own: usize,
    matches: Matches,
    notes: &'a Notes,
    habit: HabitBefore<'a>,
    usual_together: f32,
}

impl Seen<'_> {
    /// The score of a document; `None` if it is not a candidate.
    fn score(&self, place: usize) -> Option<Scored> {
        step();
        let document = &self.index.documents[place];
        if !document.is_candidate || document.handle == self.from.beside {
            return None;
        }
        let rank = self.notes.ranks[place] as usize;
        let distance = distance(self.own, rank, document.order < self.from.order, place < self.base);
        let signals = Signals {
            text: self.text(place),
            finished: self.base.saturating_sub(place).max(1),
            habit: self.habit.share(distance),
            dependents: self.dependents(document),
            is_named: self.matches.named.binary_search(&(place as u32)).is_ok(),
            is_failed: document.is_failed,
            together: (together(document.created_at, self.from.created_at) - self.usual_together).max(0.0),
        };
        Some(Scored { handle: document.handle, score: signals.score() })
    }

    /// The text match of a document in relation to the best one, from 0 to 1.
    fn text(&self, place: usize) -> f32 {
        let text = self.notes.texts[place];
        let best = self.matches.best.max(text);
        if best > 0.0 { text / best } else { 0.0 }
    }

    /// The sum of the text matches of the newest documents that depend on this one.
    fn dependents(&self, document: &Document) -> f32 {
        let dependents = &document.dependents[..count_before(&document.dependents, self.base)];
        let newest = dependents.iter().rev().take(LOOKED_AT).inspect(|_| step());
        newest.map(|place| self.text(*place as usize)).sum()
    }
}

/// BM25's inverse document frequency, in the variant that is never negative. The base-2 logarithm is
/// approximated from the exponent and mantissa of the number. Unlike the logarithms of system libraries, this
/// gives the same result on every machine.
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
