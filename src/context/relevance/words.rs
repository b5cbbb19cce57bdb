//! Counts the significant words of texts, each form of a word as it stands in the texts only once.

use super::query::{beginning, term};
use crate::context::keys::mix;
use crate::keywords::{RawWord, for_each_raw_word};
use crate::steps::step;

/// Number of first places where words are remembered, and of the places from there on where a word may be. All together
/// take 8 KB, a quarter of what is nearest to a processor.
const FIRST_PLACES: usize = 256;
const PLACES: usize = 4;

/// Counts words by their stems. It remembers the short words that it has met last, with the terms of their stems and
/// how often the present text has them, because texts repeat their words, and those of other texts.
pub(super) struct WordCounts {
    remembered: Vec<Remembered>,
    /// The places of the words that the present text has, and perhaps others.
    met: Vec<usize>,
    /// The terms of the other words with their counts, also several times the same one.
    counts: Vec<(u64, f32)>,
    stem: String,
}

#[derive(Clone, Copy)]
struct Remembered {
    /// The word as a number; 0: none.
    word: u128,
    /// The term of its stem, if it is significant.
    term: u64,
    is_significant: bool,
    /// How often the present text has it.
    count: f32,
}

impl Default for WordCounts {
    fn default() -> Self {
        let none = Remembered { word: 0, term: 0, is_significant: false, count: 0.0 };
        Self { remembered: vec![none; FIRST_PLACES + PLACES], met: Vec::new(), counts: Vec::new(), stem: String::new() }
    }
}

impl WordCounts {
    /// Counts the words at the beginning of a text, each with this weight, until there are `most` more different ones, and
    /// from there on those that are remembered. Long words and words with other characters than those of ASCII are not
    /// remembered: each time counts as a different one. Returns how many more there may be.
    pub(super) fn add(&mut self, text: &str, weight: f32, most: usize) -> usize {
        let mut left = most;
        for_each_raw_word(beginning(text), |raw| {
            step();
            // Most words are those that the text has had already.
            if let RawWord::Short(word) = raw {
                let remembered = &mut self.remembered[first_place(word)];
                if remembered.word == word && remembered.count > 0.0 {
                    remembered.count += weight;
                    return;
                }
            }
            if left > 0 && self.add_another(&raw, weight) {
                left -= 1;
            }
        });
        left
    }

    /// Counts a word that is not in its first place with a count. Returns true if it is significant, and the text has not
    /// had it where it is remembered.
    #[inline(never)]
    fn add_another(&mut self, raw: &RawWord<'_>, weight: f32) -> bool {
        let Self { remembered, met, counts, stem } = self;
        let RawWord::Short(word) = *raw else {
            let count = raw.significant(stem).map(|stem| (term(stem), weight));
            counts.extend(count);
            return count.is_some();
        };
        let place = place(remembered, word);
        let remembered = &mut remembered[place];
        if remembered.word != word {
            counts.extend(remembered.take());
            let term = raw.significant(stem).map(term);
            let is_significant = term.is_some();
            *remembered = Remembered { word, term: term.unwrap_or_default(), is_significant, count: 0.0 };
        }
        let is_new = remembered.count == 0.0;
        if is_new {
            met.push(place);
        }
        remembered.count += weight;
        is_new && remembered.is_significant
    }

    /// Returns the terms of the words that were counted since the last time, in ascending order, with their counts.
    pub(super) fn take(&mut self) -> Vec<(u64, f32)> {
        let mut counts = std::mem::take(&mut self.counts);
        counts.reserve(self.met.len());
        counts.extend(self.met.drain(..).filter_map(|place| self.remembered[place].take()));
        counts.sort_unstable_by_key(|(term, _)| *term);
        counts.dedup_by(|(term, count), (first, sum)| {
            let is_same = term == first;
            *sum += if is_same { *count } else { 0.0 };
            is_same
        });
        counts
    }
}

impl Remembered {
    /// Returns the term and the count, and begins anew.
    fn take(&mut self) -> Option<(u64, f32)> {
        let count = std::mem::take(&mut self.count);
        (self.is_significant && count > 0.0).then_some((self.term, count))
    }
}

/// The first place where a word may be.
fn first_place(word: u128) -> usize {
    mix(word) as usize % FIRST_PLACES
}

/// The place where a word is remembered, or may be.
fn place(remembered: &[Remembered], word: u128) -> usize {
    let first = first_place(word);
    let is_free_or_same = |place: &usize| [0, word].contains(&remembered[*place].word);
    (first..first + PLACES).find(is_free_or_same).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::keys::KeyMap;
    use crate::keywords::for_each_word;

    #[test]
    fn more_words_than_are_remembered_are_counted() {
        let mut words = WordCounts::default();
        for (kinds, weight) in [(5_000, 1.0), (50, 3.0), (0, 1.0), (1_000, 1.0)] {
            let text: Vec<String> = (0..2 * kinds).map(|number| format!("Thing{} änd", number * 7 % kinds)).collect();
            let text = text.join(" ");
            let mut expected: KeyMap<u64, f32> = KeyMap::default();
            for_each_word(beginning(&text), |stem| *expected.entry(term(stem)).or_default() += weight);
            words.add(&text, weight, usize::MAX);
            assert_eq!(words.take().into_iter().collect::<KeyMap<_, _>>(), expected);
        }
    }
}
