//! Full text search over the frames of a tree: titles, tasks, criteria, results, decisions, artifacts,
//! questions and chunks.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::frame::{Frame, FrameRef, FrameStatus, Handle};
use crate::steps::step;
use crate::text::one_line;

/// How much of a text an excerpt shows before and behind the first word that was found, in characters.
const BEFORE: usize = 40;
const BEHIND: usize = 100;
/// Maximum number of words of a query, and of words that are read from the text of a query.
const MOST_WORDS: usize = 16;
const MOST_READ: usize = 100;
/// The characters of a word that an index keeps. A word that is longer is compared when the frame is read.
const INDEXED_CHARACTERS: usize = 40;

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// Words. A frame is found if each of them is the beginning of a word in its texts, in any letter case.
    pub words: String,
    /// Only frames below this one.
    pub below: Option<FrameRef>,
    /// True: the search also looks at what was said and done in the frames, as their logs have it.
    pub logs: bool,
    /// Maximum number of frames that are returned. Default 20.
    pub limit: usize,
}

impl SearchQuery {
    /// A search for words in all frames.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), below: None, logs: false, limit: 20 }
    }

    setters! {
        below: Option<FrameRef>,
        logs: bool,
        limit: usize,
    }
}

/// Where a text was found. In JSON for example `"results"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SearchField {
    /// The title.
    Title,
    /// The results, or the results so far.
    Results,
    /// A decision.
    Decision,
    /// The success criteria.
    Criteria,
    /// A question, or its answer.
    Question,
    /// An artifact.
    Artifact,
    /// The full instruction.
    Task,
    /// A chunk on the heap.
    Heap,
    /// An entry of the log.
    Log,
}

impl SearchField {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Results => "results",
            Self::Decision => "decision",
            Self::Criteria => "criteria",
            Self::Question => "question",
            Self::Artifact => "artifact",
            Self::Task => "task",
            Self::Heap => "heap",
            Self::Log => "log",
        }
    }

    /// How much a word counts there.
    const fn weight(self) -> u32 {
        match self {
            Self::Title => 8,
            Self::Results | Self::Decision => 4,
            Self::Criteria | Self::Question | Self::Artifact => 3,
            Self::Task => 2,
            Self::Heap | Self::Log => 1,
        }
    }
}

/// A frame that was found.
///
/// In JSON: `{"handle": "f2", "status": "completed", "title": "Cart", "field": "results", "excerpt": "…
/// totals in src/cart.rs …"}`, and `line` for an entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Found {
    /// The frame.
    pub handle: Handle,
    /// Its status.
    pub status: FrameStatus,
    /// Its title.
    pub title: String,
    /// The text that has most of the words.
    pub field: SearchField,
    /// A part of it, on one line.
    pub excerpt: String,
    /// The number of the entry, for an entry of a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip)]
    score: (u32, u64),
}

/// The frames that were found, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FoundFrames {
    /// The frames.
    pub frames: Vec<Found>,
    /// Number of further frames, which the limit leaves out.
    pub more: usize,
}

/// The words of a query, in small letters.
pub(crate) struct Words(Vec<String>);

impl Words {
    /// The words of a text, without those that are the beginning of another one. Of a long text, only the
    /// beginning is used.
    pub(crate) fn of(text: &str) -> Self {
        let mut words: Vec<String> = words(text).map(|(_, word)| word).take(MOST_READ).collect();
        // A word that is the beginning of another word adds nothing.
        let is_told = |index: usize, word: &String| {
            let others = words.iter().enumerate().filter(|(other, _)| *other != index);
            { others }.any(|(other, longer)| longer.starts_with(word.as_str()) && (longer != word || other < index))
        };
        let told: Vec<bool> = words.iter().enumerate().map(|(index, word)| is_told(index, word)).collect();
        let mut told = told.iter();
        words.retain(|_| !told.next().expect("one for each word"));
        Self(words)
    }

    /// Checks that there are words, and no more than a search takes.
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::Setting`].
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.len() {
            0 => Err(Error::Empty { field: "words" }),
            1..=MOST_WORDS => Ok(()),
            _ => Err(Error::Setting { name: "words".into(), value: self.0.join(" "), expected: "at most 16 words" }),
        }
    }

    /// The words as an index has them.
    pub(crate) fn indexed(&self) -> Vec<String> {
        self.0.iter().map(|word| indexed(word).to_owned()).collect()
    }

    /// Which of the words a text has, and where the first one stands.
    fn found_in(&self, text: &str) -> (Vec<bool>, usize) {
        let mut found = vec![false; self.0.len()];
        let mut first = None;
        for (place, word) in words(text) {
            for (index, wanted) in self.0.iter().enumerate() {
                if word.starts_with(wanted.as_str()) {
                    found[index] = true;
                    first.get_or_insert(place);
                }
            }
        }
        (found, first.unwrap_or(0))
    }
}

/// The distinct words of texts, for an index.
pub(crate) fn words_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut distinct = BTreeSet::new();
    for (_, word) in texts.into_iter().flat_map(words) {
        distinct.insert(indexed(&word).to_owned());
    }
    distinct.into_iter().collect()
}

/// As much of a word as an index keeps.
fn indexed(word: &str) -> &str {
    word.char_indices().nth(INDEXED_CHARACTERS).map_or(word, |(end, _)| &word[..end])
}

/// The words of a text in small letters, each with its place. Where a script has no blanks between words,
/// they are the pairs of characters that follow each other, and the last character.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut place = 0;
    let parts = text.split_inclusive(|character: char| !character.is_alphanumeric()).filter_map(move |part| {
        let start = place;
        place += part.len();
        let word = part.trim_end_matches(|character: char| !character.is_alphanumeric());
        (!word.is_empty()).then_some((start, word))
    });
    parts.flat_map(|(start, word)| {
        let mut words = Vec::new();
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let is_same = |character: char| is_unspaced(character) == is_unspaced(first);
            let end = rest.find(|character| !is_same(character)).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            let place = start + word.len() - rest.len();
            match is_unspaced(first) {
                false => words.push((place, run.to_lowercase())),
                true => pairs(run, |from, pair| words.push((place + from, pair.to_owned()))),
            }
            rest = behind;
        }
        words
    })
}

/// The pairs of characters of a run, and its last character; each with its place.
fn pairs(run: &str, mut each: impl FnMut(usize, &str)) {
    let mut starts: Vec<usize> = run.char_indices().map(|(start, _)| start).collect();
    starts.push(run.len());
    starts.windows(2).enumerate().for_each(|(index, start)| {
        let end = starts.get(index + 2).copied().unwrap_or(run.len());
        each(start[0], &run[start[0]..end]);
    });
}

/// True for the letters of scripts that put no blanks between words: Han, Hiragana, Katakana, Thai, Lao,
/// Burmese and Khmer.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// A part of a text around a place, on one line.
pub(crate) fn excerpt(text: &str, place: usize) -> String {
    let start = text[..place].char_indices().rev().nth(BEFORE - 1).map_or(0, |(start, _)| start);
    let end = text[place..].char_indices().nth(BEHIND).map_or(text.len(), |(end, _)| place + end);
    let before = if start > 0 { "…" } else { "" };
    let behind = if end < text.len() { "…" } else { "" };
    format!("{before}{}{behind}", one_line(&text[start..end]))
}

/// What a search has seen of a frame so far.
pub(crate) struct Seen {
    /// For each word, the weight of the best text that has it; 0: none has it.
    weights: Vec<u32>,
    shown: Option<Shown>,
}

/// The text that has most of the words.
struct Shown {
    weight: u32,
    field: SearchField,
    excerpt: String,
    line: Option<usize>,
}

impl Seen {
    /// A look at the record of a frame.
    pub(crate) fn of(record: &Frame, words: &Words) -> Self {
        step();
        let mut seen = Self { weights: vec![0; words.0.len()], shown: None };
        texts(record).for_each(|(field, text)| seen.look(field, None, text, words));
        seen
    }

    /// A look at the entry of a line of the frame's log.
    pub(crate) fn look_at_entry(&mut self, line: usize, text: &str, words: &Words) {
        self.look(SearchField::Log, Some(line), text, words);
    }

    fn look(&mut self, field: SearchField, line: Option<usize>, text: &str, words: &Words) {
        let (found, place) = words.found_in(text);
        let weight = found.iter().filter(|found| **found).count() as u32 * field.weight();
        for (best, _) in self.weights.iter_mut().zip(&found).filter(|(_, found)| **found) {
            *best = (*best).max(field.weight());
        }
        if weight > self.shown.as_ref().map_or(0, |shown| shown.weight) {
            self.shown = Some(Shown { weight, field, excerpt: excerpt(text, place), line });
        }
    }

    /// The first word that was in none of the texts.
    pub(crate) fn first_missing<'a>(&self, words: &'a Words) -> Option<&'a str> {
        words.0.iter().zip(&self.weights).find(|(_, weight)| **weight == 0).map(|(word, _)| &**word)
    }

    /// True if some text has each of the words.
    pub(crate) fn has_all(&self) -> bool {
        self.weights.iter().all(|weight| *weight > 0)
    }

    /// The frame, if it has all words.
    pub(crate) fn found(self, handle: Handle, record: &Frame) -> Option<Found> {
        let has_all = self.has_all();
        let Shown { field, excerpt, line, .. } = self.shown?;
        has_all.then(|| Found {
            handle,
            status: record.status,
            title: record.title.clone(),
            field,
            excerpt,
            line,
            score: (self.weights.iter().sum(), record.updated_at),
        })
    }
}

/// The texts of a frame in which words are looked for.
pub(crate) fn texts(record: &Frame) -> impl Iterator<Item = (SearchField, &str)> {
    let results = record.results.iter().chain(&record.results_compacted).map(|text| (SearchField::Results, &**text));
    let questions =
        record.questions.iter().flat_map(|question| [Some(&*question.question), question.answer.as_deref()]);
    [(SearchField::Title, &*record.title)]
        .into_iter()
        .chain(results)
        .chain(record.decisions.iter().map(|text| (SearchField::Decision, &**text)))
        .chain([(SearchField::Criteria, &*record.success_criteria)])
        .chain(questions.flatten().map(|text| (SearchField::Question, text)))
        .chain(record.artifacts.iter().map(|text| (SearchField::Artifact, &**text)))
        .chain([(SearchField::Task, &*record.task)])
        .chain(record.heap.iter().map(|chunk| (SearchField::Heap, &*chunk.content)))
}

/// The best of the found frames: those that have the words in the texts with the highest weight, and among
/// equal ones the newest.
pub(crate) fn best(mut found: Vec<Found>, limit: usize) -> FoundFrames {
    found.sort_by(|one, other| other.score.cmp(&one.score).then(one.handle.cmp(&other.handle)));
    let more = found.len().saturating_sub(limit);
    found.truncate(limit);
    FoundFrames { frames: found, more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_by_its_beginning_in_any_case() {
        let words = Words::of("TOT cart.rs");
        let (found, place) = words.found_in("Die Größe: totals in src/cart.rs, Überblick");
        assert_eq!((found, place), (vec![true, true, true], 13));
        assert_eq!(Words::of("größ").found_in("Die Größe").0, [true]);
        assert_eq!(Words::of("tals").found_in("totals").0, [false]);
        assert_eq!(Words::of(" -- \u{0} ").check().unwrap_err().code(), "empty");
    }

    #[test]
    fn words_of_scripts_without_blanks_are_found_anywhere() {
        assert_eq!(words_of(["購物車ab総計 x"]), ["ab", "x", "物車", "総計", "計", "購物", "車"]);
        for query in ["物車", "車", "購物車", "総", "A"] {
            let words = Words::of(query);
            assert!(words.found_in("購物車ab総計 x").0.iter().all(|found| *found), "{query}");
        }
        assert!(Words::of("車購").found_in("購物車").0.contains(&false));
        assert_eq!(Words::of("ตะกร้า").found_in("ใส่ตะกร้าสินค้า").1, "ใส่".len());
    }

    #[test]
    fn words_that_others_begin_with_are_looked_for_once() {
        assert_eq!(Words::of("car CART cart carts pay").0, ["carts", "pay"]);
        let many = |count: usize| Words::of(&(10..10 + count).map(|word| format!("w{word} ")).collect::<String>());
        assert!(many(MOST_WORDS).check().is_ok());
        assert_eq!(many(MOST_WORDS + 1).check().unwrap_err().code(), "setting");
    }

    #[test]
    fn an_index_keeps_the_beginning_of_a_long_word() {
        let long = "é".repeat(60);
        assert_eq!(words_of([&*long, "b a b"]), ["a".to_owned(), "b".to_owned(), "é".repeat(40)]);
        assert_eq!(Words::of(&long).indexed(), ["é".repeat(40)]);
    }

    #[test]
    fn excerpts_are_cut_between_characters() {
        let text = "ä".repeat(300);
        let cut = excerpt(&text, 200);
        assert_eq!(cut.chars().count(), BEFORE + BEHIND + 2, "{cut}");
        assert_eq!(excerpt("a\nb", 0), "a b");
    }
}
