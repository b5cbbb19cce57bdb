//! Counts the significant words of texts, each form of a word as it stands in the texts only once.

use std::ops::Range;

use super::query::{beginning, term};
use crate::context::keys::{KeyMap, mix};
use crate::keywords::{RawWord, for_each_raw_word};
use crate::steps::step;

/// Number of first places where words are remembered, and of the places from there on where a word may be.
const FIRST_PLACES: usize = 512;
const PLACES: usize = 4;

/// Counts words by their stems. It remembers the short words that it has met last, with the terms of their stems and
/// how often the present text has them, because texts repeat their words, and those of other texts.
pub(super) struct WordCounts {
    remembered: [Remembered; FIRST_PLACES + PLACES],
    /// The places of the words that the present text has, and perhaps others.
    met: Vec<usize>,
    counts: KeyMap<u64, f32>,
    stem: String,
}

#[derive(Clone, Copy)]
struct Remembered {
    /// The word as a number; 0: none.
    word: u128,
    is_significant: bool,
    /// The term of its stem, if it is significant.
    term: u64,
    /// How often the present text has it.
    count: f32,
}

impl Default for WordCounts {
    fn default() -> Self {
        let none = Remembered { word: 0, is_significant: false, term: 0, count: 0.0 };
        Self {
            remembered: [none; FIRST_PLACES + PLACES],
            met: Vec::new(),
            counts: KeyMap::default(),
            stem: String::new(),
        }
    }
}

impl WordCounts {
    /// Counts the words at the beginning of a text, each with this weight.
    pub(super) fn add(&mut self, text: &str, weight: f32) {
        let Self { remembered, met, counts, stem } = self;
        for_each_raw_word(beginning(text), &mut |raw| {
            step();
            let RawWord::Short(word) = raw else {
                if let Some(stem) = raw.significant(stem) {
                    *counts.entry(term(stem)).or_default() += weight;
                }
                return;
            };
            let is_free_or_same = |place: &usize| [0, word].contains(&remembered[*place].word);
            let place = places(word).find(is_free_or_same).unwrap_or_else(|| places(word).start);
            let remembered = &mut remembered[place];
            if remembered.word != word {
                remembered.move_to(counts);
                let term = raw.significant(stem).map(term);
                let (is_significant, term) = (term.is_some(), term.unwrap_or_default());
                *remembered = Remembered { word, is_significant, term, count: 0.0 };
            }
            if remembered.count == 0.0 {
                met.push(place);
            }
            remembered.count += weight;
        });
    }

    /// Returns the terms of the words that were counted since the last time, with their counts.
    pub(super) fn take(&mut self) -> impl ExactSizeIterator<Item = (u64, f32)> + '_ {
        self.met.drain(..).for_each(|place| self.remembered[place].move_to(&mut self.counts));
        self.counts.drain()
    }
}

impl Remembered {
    /// Moves the count to those of the terms.
    fn move_to(&mut self, counts: &mut KeyMap<u64, f32>) {
        let count = std::mem::take(&mut self.count);
        if self.is_significant && count > 0.0 {
            *counts.entry(self.term).or_default() += count;
        }
    }
}

/// The places where a word may be remembered.
fn places(word: u128) -> Range<usize> {
    let first = mix(word) as usize % FIRST_PLACES;
    first..first + PLACES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keywords::for_each_word;

    #[test]
    fn more_words_than_are_remembered_are_counted() {
        let mut words = WordCounts::default();
        for (kinds, weight) in [(5_000, 1.0), (50, 3.0), (0, 1.0), (1_000, 1.0)] {
            let text: Vec<String> = (0..2 * kinds).map(|number| format!("Thing{} änd", number * 7 % kinds)).collect();
            let text = text.join(" ");
            let mut expected: KeyMap<u64, f32> = KeyMap::default();
            for_each_word(beginning(&text), |stem| *expected.entry(term(stem)).or_default() += weight);
            words.add(&text, weight);
            assert_eq!(words.take().collect::<KeyMap<_, _>>(), expected);
        }
    }
}
