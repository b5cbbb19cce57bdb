//! Search over the frames and logs of a stack, with the word index of its store.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Stack;
use crate::error::{Error, Result};
use crate::frame::{Frame, Handle, own_log_path};
use crate::search::{self, Found, FoundFrames, SearchQuery, Seen, Words, words_of};
use crate::store::{EventQuery, IndexedHistory, IndexedWords, LogQuery, WordIndex, WordSource};
use crate::text::fnv_of;
use crate::tree::{Scan, Tree};

/// How often a search tries to bring the index up to date while others do so too.
const ATTEMPTS: usize = 3;
/// Number of frames whose words are added together.
const FRAMES: usize = 4_096;
/// Number of lines of a log whose words are one part of the index.
const LINES: usize = 2_048;
/// Number of parts of logs that are added together.
const PARTS: usize = 256;

impl Stack {
    /// Finds the frames whose texts have all words of a query: titles, tasks, criteria, results, decisions, artifacts, questions, chunks on
    /// the heap, and with `logs` what was said and done in them. The best come first: those with the words in their titles, then in results
    /// and decisions; of equal ones the newest.
    ///
    /// With a [`WordIndex`] of the store, frames that do not have the words are not read: the search adds to the index what is new since
    /// the last one. The first search takes longer.
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
    /// [`Error::Empty`] if the query has no word; [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Io`]; as [`Stack::read`].
    pub fn search(&self, query: &SearchQuery) -> Result<FoundFrames> {
        let words = Words::of(&query.words);
        if words.is_empty() {
            return Err(Error::Empty { field: "words" });
        }
        let below = query.below.clone().map(|below| self.resolve(below)).transpose()?;
        let with_logs = query.logs && self.keeps_logs();
        // An index that cannot be used costs time, and no frame.
        let indexed = self.inner.word_index.as_deref().and_then(|index| self.indexed(index, &words, with_logs).ok());
        let (mut found, incomplete) = self.read(|tree| match &indexed {
            Some(indexed) => look_at(tree, indexed.iter().copied(), &words, below),
            None => look_at(tree, tree.handles(), &words, below),
        })?;
        for (handle, seen, has_file) in incomplete {
            if with_logs && (has_file || self.inner.stored_logs.is_some()) {
                found.extend(self.found_in_log(handle, seen, &words)?);
            }
        }
        Ok(search::best(found, query.limit))
    }

    /// The frame, if its log has the words that its record does not have. The newest entry counts.
    fn found_in_log(&self, handle: Handle, mut seen: Seen, words: &Words) -> Result<Option<Found>> {
        for word in seen.missing(words) {
            if !seen.missing(words).contains(&word) {
                continue;
            }
            let page = self.log(handle).read(&LogQuery::default().search(word))?;
            for line in page.lines.iter().rev() {
                let mut texts = Vec::new();
                texts_of(&line.entry, &mut texts);
                seen.look_at_entry(line.number, &texts.join(" "), words);
                if !seen.missing(words).contains(&word) {
                    break;
                }
            }
            if seen.missing(words).contains(&word) {
                return Ok(None);
            }
        }
        self.read(|tree| seen.found(handle, tree.node(handle).record()))
    }

    /// The frames that can have the words, by an index that is brought up to date.
    fn indexed(&self, index: &dyn WordIndex, words: &Words, with_logs: bool) -> Result<BTreeSet<Handle>> {
        let others_write = || Error::Busy { path: self.place(), waited: 0 };
        let mut history = None;
        for _ in 0..ATTEMPTS {
            history = self.index_frames(index)?;
            if history.is_some() {
                break;
            }
        }
        let history = history.ok_or_else(others_write)?;
        if with_logs && !self.index_logs(index, history)? {
            return Err(others_write());
        }
        Ok(index.find(&words.indexed(), with_logs)?.into_iter().collect())
    }

    /// Adds what has changed in frames since the index was written. `None`: another search has written to it meanwhile.
    fn index_frames(&self, index: &dyn WordIndex) -> Result<Option<IndexedHistory>> {
        let known = index.indexed()?.filter(|known| *known != UNFINISHED);
        if known.is_some_and(|known| known.revision > self.inner.tree.read().revision()) {
            self.refresh()?;
        }
        let News { before, newest, frames } = self.news_since(known)?;
        let has_files = self.inner.stored_logs.is_none();
        // In one look, because a finished tree that is not in memory is loaded once then.
        let added = self.read(|tree| add_frames(tree, index, before, newest, &frames, has_files))??;
        Ok(added.then_some(newest))
    }

    /// What has changed since the index was written.
    fn news_since(&self, known: Option<IndexedHistory>) -> Result<News> {
        let since = known.map_or_else(|| self.inner.tree.read().revision(), |known| known.revision).saturating_sub(1);
        let (mut first, mut newest, mut frames, mut is_compacted) = (None, UNFINISHED, BTreeSet::new(), false);
        self.read_history(&EventQuery::default().since(since), |event| {
            let text = serde_json::to_string(&event).expect("an event has only string keys and finite numbers");
            is_compacted |= first.is_some() && event.revision != newest.revision + 1;
            newest = IndexedHistory { revision: event.revision, mark: fnv_of(&text) };
            match first {
                None => first = Some(newest),
                Some(_) => drop(frames.insert(event.handle)),
            }
            Ok(())
        })?;
        match first == known && !is_compacted {
            true => Ok(News { before: known, newest, frames: frames.into_iter().collect() }),
            // It has none of the history, another one, or one that was compacted since.
            false if first.is_some() => {
                Ok(News { before: None, newest, frames: self.read(|tree| tree.handles().collect())? })
            }
            false => Err(Error::InMemory { what: "history" }),
        }
    }

    /// Adds the lines that logs have since the index was written. Returns false if another search has written to it meanwhile.
    fn index_logs(&self, index: &dyn WordIndex, history: IndexedHistory) -> Result<bool> {
        let mut batch = Vec::new();
        for mut log in index.grown_logs()? {
            loop {
                let first = log.lines + 1;
                let page = self.log(log.frame).read(&LogQuery::default().range(first, log.lines + LINES))?;
                let lines = page.total.min(log.lines + LINES);
                let mut texts = Vec::new();
                page.lines.iter().for_each(|line| texts_of(&line.entry, &mut texts));
                let words = words_of(texts);
                batch.push(IndexedWords { source: WordSource::Log { log: log.clone(), lines }, words });
                log.lines = lines;
                if batch.len() == PARTS && !index.add(Some(history), history, std::mem::take(&mut batch))? {
                    return Ok(false);
                }
                if lines == page.total {
                    break;
                }
            }
        }
        Ok(batch.is_empty() || index.add(Some(history), history, batch)?)
    }
}

/// What an index does not have.
struct News {
    /// What it has. `None`: nothing of this history.
    before: Option<IndexedHistory>,
    /// The newest event of the history.
    newest: IndexedHistory,
    /// The frames that have changed.
    frames: Vec<Handle>,
}

/// What an index has while all frames are added.
const UNFINISHED: IndexedHistory = IndexedHistory { revision: 0, mark: 0 };

/// Adds the words of frames. Returns false if another search has written to the index meanwhile.
fn add_frames(
    tree: &Tree,
    index: &dyn WordIndex,
    mut before: Option<IndexedHistory>,
    newest: IndexedHistory,
    frames: &[Handle],
    has_files: bool,
) -> Result<bool> {
    let mut scan = Scan::of(tree);
    let meanwhile = before.unwrap_or(UNFINISHED);
    let mut batches = frames.chunks(FRAMES).peekable();
    while let Some(batch) = batches.next() {
        let words = batch.iter().map(|&frame| words_of_frame(scan.at(frame).node(frame).record(), frame, has_files));
        let words = words.collect();
        let after = if batches.peek().is_some() { meanwhile } else { newest };
        if !index.add(before, after, words)? {
            return Ok(false);
        }
        before = Some(after);
    }
    Ok(true)
}

/// The words of a frame, and the name of its log if logs are files.
fn words_of_frame(record: &Frame, frame: Handle, has_files: bool) -> IndexedWords {
    let log = record.log_path.as_ref().filter(|_| has_files).map(|_| own_log_path(&record.session_id, frame));
    let words = words_of(search::texts(record).map(|(_, text)| text));
    IndexedWords { source: WordSource::Record { frame, log }, words }
}

/// Of these frames those whose records have all words, and what was seen of the others, with true if they have files of logs.
fn look_at(
    tree: &Tree,
    frames: impl Iterator<Item = Handle>,
    words: &Words,
    below: Option<Handle>,
) -> (Vec<Found>, Vec<(Handle, Seen, bool)>) {
    let (mut found, mut incomplete) = (Vec::new(), Vec::new());
    let mut scan = Scan::of(tree);
    // Others may have added frames that this tree does not have.
    let is_here =
        |frame: &Handle| frame.index() < tree.len() && below.is_none_or(|below| tree.is_ancestor(below, *frame));
    for frame in frames.filter(is_here) {
        let record = scan.at(frame).node(frame).record();
        let seen = Seen::of(record, words);
        match seen.has_all() {
            true => found.extend(seen.found(frame, record)),
            false => incomplete.push((frame, seen, record.log_path.is_some())),
        }
    }
    (found, incomplete)
}

/// The texts of an entry, without its keys.
fn texts_of<'a>(entry: &'a Value, texts: &mut Vec<&'a str>) {
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
        // The index can be gone at any time.
        std::fs::remove_file(folder.path().join("stack.db-words")).unwrap();
        assert_eq!(stack.search(&SearchQuery::new("p79e")).unwrap().frames.len(), 1);
    }
}
