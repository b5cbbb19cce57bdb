//! Full text search over the frames of a tree: titles, tasks, criteria, results, decisions, artifacts, questions and chunks.

use serde::Serialize;

use crate::frame::{FrameRef, FrameStatus, Handle};
use crate::steps::step;
use crate::text::one_line;
use crate::tree::{Scan, Tree};

/// How much of a text an excerpt shows before and behind the first word that was found, in characters.
const BEFORE: usize = 40;
const BEHIND: usize = 100;
/// The most words of a query.
const MOST_WORDS: usize = 16;

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// Words. A frame is found if for each of them a word of its texts begins with it, in any letter case.
    pub words: String,
    /// Only frames below this one.
    pub below: Option<FrameRef>,
    /// True: also what was said and done in the frames, as their logs have it.
    pub logs: bool,
    /// The most frames that are returned. Default 20.
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
    /// The results, or those so far.
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
/// In JSON: `{"handle": "f2", "status": "completed", "title": "Cart", "field": "results", "excerpt": "… totals in src/cart.rs …"}`, and `line`
/// for an entry of a log.
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
    /// The number of the entry, of a log.
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
    /// Number of further ones, which the limit leaves out.
    pub more: usize,
}

/// The words of a query, in small letters.
pub(crate) struct Words(Vec<String>);

impl Words {
    /// The words of a text; at most 16.
    pub(crate) fn of(text: &str) -> Self {
        Self(words(text).map(|(_, word)| word).take(MOST_WORDS).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn longest(&self) -> Option<&str> {
        self.0.iter().map(String::as_str).max_by_key(|word| word.len())
    }

    /// Which of the words a text has, and where the first one stands.
    pub(crate) fn found_in(&self, text: &str) -> (Vec<bool>, usize) {
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

/// The words of a text in small letters, each with its place.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut place = 0;
    text.split_inclusive(|character: char| !character.is_alphanumeric()).filter_map(move |part| {
        let start = place;
        place += part.len();
        let word = part.trim_end_matches(|character: char| !character.is_alphanumeric());
        (!word.is_empty()).then(|| (start, word.to_lowercase()))
    })
}

/// A part of a text around a place, on one line.
pub(crate) fn excerpt(text: &str, place: usize) -> String {
    let start = text[..place].char_indices().rev().nth(BEFORE - 1).map_or(0, |(start, _)| start);
    let end = text[place..].char_indices().nth(BEHIND).map_or(text.len(), |(end, _)| place + end);
    let before = if start > 0 { "…" } else { "" };
    let behind = if end < text.len() { "…" } else { "" };
    format!("{before}{}{behind}", one_line(&text[start..end]))
}

/// The frames below a frame, or all, that have the words, in no order.
pub(crate) fn frames(tree: &Tree, words: &Words, below: Option<Handle>) -> Vec<Found> {
    let mut scan = Scan::of(tree);
    let found = tree.handles().filter_map(|handle| {
        step();
        if below.is_some_and(|below| !tree.is_ancestor(below, handle)) {
            return None;
        }
        frame(scan.at(handle), handle, words)
    });
    found.collect()
}

/// The frame, if it has all the words.
fn frame(tree: &Tree, handle: Handle, words: &Words) -> Option<Found> {
    let record = tree.node(handle).record();
    let mut best: Vec<u32> = vec![0; words.0.len()];
    let mut shown: Option<(u32, SearchField, &str, usize)> = None;
    let mut look = |field: SearchField, text| {
        let (found, place) = words.found_in(text);
        let weight = found.iter().filter(|found| **found).count() as u32 * field.weight();
        for (best, _) in best.iter_mut().zip(&found).filter(|(_, found)| **found) {
            *best = (*best).max(field.weight());
        }
        if weight > shown.as_ref().map_or(0, |(most, ..)| *most) {
            shown = Some((weight, field, text, place));
        }
    };
    look(SearchField::Title, &*record.title);
    record.results.iter().chain(&record.results_compacted).for_each(|text| look(SearchField::Results, text));
    record.decisions.iter().for_each(|text| look(SearchField::Decision, text));
    look(SearchField::Criteria, &record.success_criteria);
    for question in &record.questions {
        look(SearchField::Question, &question.question);
        question.answer.iter().for_each(|text| look(SearchField::Question, text));
    }
    record.artifacts.iter().for_each(|text| look(SearchField::Artifact, text));
    look(SearchField::Task, &record.task);
    record.heap.iter().for_each(|chunk| look(SearchField::Heap, &chunk.content));
    let (_, field, text, place) = shown?;
    best.iter().all(|best| *best > 0).then(|| Found {
        handle,
        status: record.status,
        title: record.title.clone(),
        field,
        excerpt: excerpt(text, place),
        line: None,
        score: (best.iter().sum(), record.updated_at),
    })
}

impl Found {
    /// A frame in whose log the words were found.
    pub(crate) fn in_log(tree: &Tree, handle: Handle, line: usize, excerpt: String, words: &Words) -> Self {
        let record = tree.node(handle).record();
        Self {
            handle,
            status: record.status,
            title: record.title.clone(),
            field: SearchField::Log,
            excerpt,
            line: Some(line),
            score: (words.0.len() as u32 * SearchField::Log.weight(), record.updated_at),
        }
    }
}

/// The best of what was found: those with the words in the most telling texts, and of equal ones the newest.
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
        assert!(Words::of(" -- \u{0} ").is_empty());
    }

    #[test]
    fn excerpts_are_cut_between_characters() {
        let text = "ä".repeat(300);
        let cut = excerpt(&text, 200);
        assert_eq!(cut.chars().count(), BEFORE + BEHIND + 2, "{cut}");
        assert_eq!(excerpt("a\nb", 0), "a b");
    }
}
