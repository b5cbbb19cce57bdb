//! Search over the frames and logs of a stack, with the word index of its store.

use serde_json::Value;

use super::Stack;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::Handle;
use crate::search::{self, Found, FoundFrames, SearchQuery, Seen, Words};
use crate::store::LogQuery;
#[cfg(doc)]
use crate::store::WordIndex;
use crate::tree::{Scan, Tree};

impl Stack {
    /// Finds the frames whose texts have all words of a query: titles, tasks, criteria, results, decisions,
    /// artifacts, questions, chunks on the heap, and with `logs` what was said and done in them. The best
    /// frames come first: those with the words in their titles, then those with the words in results and
    /// decisions; of equal frames the newest.
    ///
    /// With a [`WordIndex`] of the store, frames that do not have the words are not read. The search adds to
    /// the index what is new since the last search. The first search takes longer.
    ///
    /// ```
    /// use callstack_core::search::{SearchField, SearchQuery};
    /// use callstack_core::{NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// stack.push(NewFrame::new("Shopping cart").id("cart"))?;
    /// stack.pop("cart", PopStatus::Completed, "Totals are in src/cart.rs")?;
    /// let found = stack.search(&SearchQuery::new("total cart"))?;
    /// assert_eq!((found.frames[0].title.as_str(), found.frames[0].field), ("Shopping cart", SearchField::Title));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`] if the query has no word, [`Error::Setting`] if it has more than 16;
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Io`]; as [`Stack::read`].
    pub fn search(&self, query: &SearchQuery) -> Result<FoundFrames> {
        let words = Words::of(&query.words);
        words.check()?;
        let below = query.below.clone().map(|below| self.resolve(below)).transpose()?;
        let with_logs = query.logs && self.keeps_logs();
        // An index that cannot be used costs only time: all frames are found.
        let indexed = self.inner.word_index.as_deref().and_then(|index| self.indexed(index, &words, with_logs).ok());
        let Looked { mut found, incomplete } = self.read(|tree| match &indexed {
            Some(indexed) => look_at(tree, indexed.iter().copied(), &words, below),
            None => look_at(tree, tree.handles(), &words, below),
        })??;
        for Incomplete { handle, seen, has_file } in incomplete {
            if with_logs && (has_file || self.inner.stored_logs.is_some()) {
                found.extend(self.found_in_log(handle, seen, &words)?);
            }
        }
        Ok(search::best(found, query.limit))
    }

    /// The frame, if its log has the words that its record does not have. The newest entry with a word
    /// counts.
    fn found_in_log(&self, handle: Handle, mut seen: Seen, words: &Words) -> Result<Option<Found>> {
        while let Some(word) = seen.first_missing(words) {
            let page = self.log(handle).read(&LogQuery::default().search(word))?;
            for line in page.lines.iter().rev() {
                let mut texts = Vec::new();
                texts_of(&line.entry, &mut texts);
                seen.look_at_entry(line.number, &texts.join(" "), words);
                if seen.first_missing(words) != Some(word) {
                    break;
                }
            }
            if seen.first_missing(words) == Some(word) {
                return Ok(None);
            }
        }
        self.read(|tree| seen.found(handle, tree.node(handle).record()))
    }
}

/// What a look at frames has found.
#[derive(Default)]
struct Looked {
    /// The frames whose records have all words.
    found: Vec<Found>,
    /// The other frames.
    incomplete: Vec<Incomplete>,
}

/// A frame whose record lacks words.
struct Incomplete {
    handle: Handle,
    seen: Seen,
    /// True if its log is a file.
    has_file: bool,
}

/// Looks for the words in the records of frames.
fn look_at(tree: &Tree, frames: impl Iterator<Item = Handle>, words: &Words, below: Option<Handle>) -> Result<Looked> {
    let Looked { mut found, mut incomplete } = Looked::default();
    let mut scan = Scan::of(tree);
    // Other processes may have added frames that this tree does not have.
    let is_here =
        |frame: &Handle| frame.index() < tree.len() && below.is_none_or(|below| tree.is_ancestor(below, *frame));
    for frame in frames.filter(is_here) {
        // A frame that cannot be read must not look like a frame without the words.
        scan.at(frame).checked(|tree| {
            let record = tree.node(frame).record();
            let seen = Seen::of(record, words);
            match seen.has_all() {
                true => found.extend(seen.found(frame, record)),
                false => incomplete.push(Incomplete { handle: frame, seen, has_file: record.log_path.is_some() }),
            }
        })?;
    }
    Ok(Looked { found, incomplete })
}

/// The texts of an entry, without its keys.
pub(super) fn texts_of<'a>(entry: &'a Value, texts: &mut Vec<&'a str>) {
    match entry {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts_of(value, texts)),
        Value::Object(values) => values.values().for_each(|value| texts_of(value, texts)),
        _ => {}
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::super::StackOptions;
    use super::*;
    use crate::frame::NewFrame;
    use crate::steps::steps_of;

    #[test]
    fn a_search_reads_only_frames_that_can_have_the_words() {
        let folder = tempfile::tempdir().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        for number in 0..100 {
            stack.push(NewFrame::new(format!("Part p{number}e")).root()).unwrap();
        }
        for query in ["p77e part", "p78e"] {
            let (found, steps) = steps_of(|| stack.search(&SearchQuery::new(query)).unwrap());
            assert_eq!((found.frames.len(), steps), (1, 1), "{query}");
        }
        // The index may have been deleted at any time.
        std::fs::remove_file(folder.path().join("stack.db-words")).unwrap();
        assert_eq!(stack.search(&SearchQuery::new("p79e")).unwrap().frames.len(), 1);
    }
}
