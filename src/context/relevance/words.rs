//! Counts the significant words of texts, each form of a word as it stands in the texts only once; how much
//! of a text is read, and the hashes of words.

use std::collections::hash_map::Entry;

use crate::keys::{KeyMap, mix};
use crate::keywords::{RawWord, for_each_raw_word};
use crate::steps::step;
use crate::text::fnv_of;

/// How many characters of a text are read for words and names. What is important in a text stands at its
/// beginning, and tools may put megabytes into results.
const READ_CHARACTERS: usize = 16_000;
/// Number of first places where words are remembered, and of the places from there on where a word may be.
/// All together take 8 KB, a quarter of the memory that is nearest to a processor.
const FIRST_PLACES: usize = 256;
const PLACES: usize = 4;

/// Counts words by their stems. It remembers the short words that it has met last, with the terms of their
/// stems and how often the present texts have them, because texts repeat their own words and those of other
/// texts. The choice of the remembered words changes no count, so the counts of a text do not depend on what
/// was read before it.
pub(in crate::context) struct WordCounts {
    remembered: Vec<Remembered>,
    /// The places of the words that the present texts have, and perhaps others.
    met: Vec<usize>,
    /// The terms that are counted in the present texts, each with its count except for the words that are
    /// remembered.
    counts: KeyMap<u64, f32>,
    stem: String,
}

#[derive(Clone, Copy)]
struct Remembered {
    /// The word as a number; 0: none.
    word: u128,
    /// The term of its stem, if it is significant.
    term: u64,
    is_significant: bool,
    /// How often the present texts have it, without what is already among the counts; 0: it is not counted.
    count: f32,
}

impl Default for WordCounts {
    fn default() -> Self {
        let none = Remembered { word: 0, term: 0, is_significant: false, count: 0.0 };
        Self {
            remembered: vec![none; FIRST_PLACES + PLACES],
            met: Vec::new(),
            counts: KeyMap::default(),
            stem: String::new(),
        }
    }
}

impl WordCounts {
    /// Counts the words at the beginning of a text, each with this weight, until there are `most` more terms.
    /// From there on it counts only the words whose terms are already counted. Returns how many more terms
    /// there may be.
    pub(super) fn add(&mut self, text: &str, weight: f32, most: usize) -> usize {
        let mut left = most;
        for_each_raw_word(beginning(text), |raw| {
            step();
            // Most words are words that the text already had before.
            if let RawWord::Short(word) = raw {
                let remembered = &mut self.remembered[first_place(word)];
                if remembered.word == word && remembered.count > 0.0 {
                    remembered.count += weight;
                    return;
                }
            }
            self.add_another(&raw, weight, &mut left);
        });
        left
    }

    /// Counts a word that is not in its first place with a count.
    #[inline(never)]
    fn add_another(&mut self, raw: &RawWord<'_>, weight: f32, left: &mut usize) {
        let Self { remembered, met, counts, stem } = self;
        let RawWord::Short(word) = *raw else {
            let count = raw.significant(stem).and_then(|stem| count_of(counts, term(stem), left));
            count.into_iter().for_each(|count| *count += weight);
            return;
        };
        let place = place(remembered, word);
        let remembered = &mut remembered[place];
        if remembered.word != word {
            remembered.move_count_to(counts);
            let term = raw.significant(stem).map(term);
            let is_significant = term.is_some();
            *remembered = Remembered { word, term: term.unwrap_or_default(), is_significant, count: 0.0 };
        }
        if remembered.count == 0.0 {
            if remembered.is_significant && count_of(counts, remembered.term, left).is_none() {
                return;
            }
            met.push(place);
        }
        remembered.count += weight;
    }

    /// Returns the terms of the words that were counted since the last time, in ascending order, with their
    /// counts.
    pub(super) fn take(&mut self) -> Vec<(u64, f32)> {
        self.met.drain(..).for_each(|place| self.remembered[place].move_count_to(&mut self.counts));
        let mut counts: Vec<(u64, f32)> = self.counts.drain().collect();
        counts.sort_unstable_by_key(|(term, _)| *term);
        counts
    }
}

impl Remembered {
    /// Adds the count to that of the term, and begins at 0.
    fn move_count_to(&mut self, counts: &mut KeyMap<u64, f32>) {
        let count = std::mem::take(&mut self.count);
        if self.is_significant && count > 0.0 {
            *counts.entry(self.term).or_default() += count;
        }
    }
}

/// Returns the count of a term. A new term takes one of the terms that are left; `None` if none is left.
fn count_of<'a>(counts: &'a mut KeyMap<u64, f32>, term: u64, left: &mut usize) -> Option<&'a mut f32> {
    match counts.entry(term) {
        Entry::Occupied(count) => Some(count.into_mut()),
        Entry::Vacant(free) => {
            *left = left.checked_sub(1)?;
            Some(free.insert(0.0))
        }
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

/// The part of a text that is read.
pub(super) fn beginning(text: &str) -> &str {
    // A character has at least one byte.
    if text.len() <= READ_CHARACTERS {
        return text;
    }
    text.char_indices().nth(READ_CHARACTERS).map_or(text, |(end, _)| &text[..end])
}

/// The parts of the texts of a list that are read: together about as much as of one text.
pub(super) fn beginnings(texts: &[String]) -> impl Iterator<Item = &str> {
    let mut left = READ_CHARACTERS;
    texts.iter().map_while(move |text| {
        let is_room = left > 0;
        let read = beginning(text);
        // Each text counts as one character more, because there may be many empty ones.
        left = left.saturating_sub(read.chars().count() + 1);
        is_room.then_some(read)
    })
}

/// Hashes a word or a name, with the same result on every machine. A collision of two only makes a score
/// slightly inaccurate.
pub(super) fn term(text: &str) -> u64 {
    fnv_of(text)
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
            words.add(&text, weight, usize::MAX);
            assert_eq!(words.take().into_iter().collect::<KeyMap<_, _>>(), expected);
        }
    }
}
