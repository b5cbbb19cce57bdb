//! Brings the word index of a store up to date with the history and the logs, for a search.

use std::collections::BTreeSet;
use std::mem;

use super::Stack;
use super::search::texts_of;
use crate::error::{Error, Result};
use crate::frame::{Change, Frame, Handle, own_log_path};
use crate::search::{Words, texts, words_of};
use crate::store::{EventQuery, GrownLog, IndexedHistory, IndexedWords, WordIndex, WordSource};
use crate::text::fnv_of;
use crate::tree::{Scan, Tree};

/// How often a search tries to bring the index up to date while other searches do so too.
const ATTEMPTS: usize = 3;
/// Number of words that are added together. A frame or a part of a log is added with more words only if it
/// has more itself.
const TOGETHER: usize = 50_000;
/// Number of distinct words of a log after which further lines of the log become another part of the index.
const OF_PART: usize = 20_000;

impl Stack {
    /// The frames that can have the words, from an index that is brought up to date.
    pub(super) fn indexed(&self, index: &dyn WordIndex, words: &Words, with_logs: bool) -> Result<BTreeSet<Handle>> {
        for _ in 0..ATTEMPTS {
            let Some(history) = self.index_frames(index)? else { continue };
            if !with_logs || self.index_logs(index, history)? {
                return Ok(index.find(&words.indexed(), with_logs)?.into_iter().collect());
            }
        }
        Err(Error::Busy { path: self.place(), waited: 0 })
    }

    /// Adds what has changed in frames since the index was written. `None`: another search has written to it
    /// meanwhile.
    fn index_frames(&self, index: &dyn WordIndex) -> Result<Option<IndexedHistory>> {
        // Revision 0: another search has begun to add all frames, and has not finished.
        let seen = index.indexed()?;
        let known = seen.filter(|known| known.revision > 0);
        if known.is_some_and(|known| known.revision > self.inner.tree.read().revision()) {
            self.refresh()?;
        }
        let News { before, newest, frames } = self.news_since(known)?;
        let adding = Adding {
            index,
            newest,
            // Each search has its own mark, so that two searches that add all frames notice each other.
            is_new: before.is_none(),
            meanwhile: before.unwrap_or(IndexedHistory { revision: 0, mark: (self.inner.random)() }),
            has_files: self.inner.stored_logs.is_none(),
        };
        // All frames of a tree are looked at together, because a finished tree that is not in memory is then
        // loaded only once.
        let added = self.read(|tree| adding.add(tree, seen, &frames))??;
        Ok(added.then_some(newest))
    }

    /// What has changed since the index was written.
    fn news_since(&self, known: Option<IndexedHistory>) -> Result<News> {
        let since = known.map_or_else(|| self.inner.tree.read().revision(), |known| known.revision).saturating_sub(1);
        let (mut first, mut newest, mut frames, mut is_compacted) = (None, None, BTreeSet::new(), false);
        self.read_history(&EventQuery::default().since(since), |event| {
            let text = serde_json::to_string(&event).expect("an event has only string keys and finite numbers");
            let this = IndexedHistory { revision: event.revision, mark: fnv_of(&text) };
            is_compacted |= newest.replace(this).is_some_and(|before| this.revision != before.revision + 1);
            match first {
                None => first = Some(this),
                Some(_) if changes_texts(&event.change) => drop(frames.insert(event.handle)),
                Some(_) => {}
            }
            Ok(())
        })?;
        // The index belongs to a history that has more events.
        let newest = newest.ok_or_else(|| Error::Busy { path: self.place(), waited: 0 })?;
        match first == known && !is_compacted {
            true => Ok(News { before: known, newest, frames: frames.into_iter().collect() }),
            // The index has nothing of the history, belongs to another history, or to one that was compacted
            // since.
            false => Ok(News { before: None, newest, frames: self.read(|tree| tree.handles().collect())? }),
        }
    }

    /// Adds the lines that logs have since the index was written. Returns false if another search has written
    /// to it meanwhile.
    fn index_logs(&self, index: &dyn WordIndex, history: IndexedHistory) -> Result<bool> {
        let mut batch = Batch::default();
        let mut is_ours = true;
        for log in index.grown_logs()? {
            let frame = log.frame;
            let mut words = BTreeSet::new();
            let mut failed = Ok(());
            let mut lines = log.lines;
            let whole = self.log(frame).each_entry(log.lines, &mut |entry| {
                lines += 1;
                let mut texts = Vec::new();
                entry.iter().for_each(|entry| texts_of(entry, &mut texts));
                words.extend(words_of(texts));
                if words.len() < OF_PART || failed.is_err() || !is_ours {
                    return;
                }
                // The state of the log is written with its last part: until then the log counts as grown.
                let part = GrownLog { state: [0; 3], ..log.clone() };
                batch.add(WordSource::Log { log: part, lines }, mem::take(&mut words));
                match batch.flush_if_full(index, history) {
                    Ok(added) => is_ours = added,
                    Err(error) => failed = Err(error),
                }
            })?;
            failed?;
            batch.add(WordSource::Log { log, lines: whole }, words);
            if !is_ours || !batch.flush_if_full(index, history)? {
                return Ok(false);
            }
        }
        batch.flush(index, history)
    }
}

/// What an index does not have.
struct News {
    /// What the index has. `None`: nothing of this history.
    before: Option<IndexedHistory>,
    /// The newest event of the history.
    newest: IndexedHistory,
    /// The frames whose texts have changed.
    frames: Vec<Handle>,
}

/// The addition of frames to an index.
struct Adding<'a> {
    index: &'a dyn WordIndex,
    /// What the index has at the end, and what it has while further frames follow.
    newest: IndexedHistory,
    meanwhile: IndexedHistory,
    /// True: everything else in the index is removed.
    is_new: bool,
    /// True if logs are files.
    has_files: bool,
}

impl Adding<'_> {
    /// Adds frames to an index in this state. Returns false if another search has written to the index
    /// meanwhile.
    fn add(&self, tree: &Tree, mut before: Option<IndexedHistory>, frames: &[Handle]) -> Result<bool> {
        let mut scan = Scan::of(tree);
        let mut batch = Batch::default();
        let mut is_new = self.is_new;
        for frame in frames {
            // A frame that cannot be read must not count as one without words.
            let words = scan.at(*frame).checked(|tree| self.words_of(tree.node(*frame).record(), *frame))?;
            batch.words += words.words.len();
            batch.parts.push(words);
            if batch.words >= TOGETHER {
                if !self.index.add(before, mem::take(&mut is_new), self.meanwhile, mem::take(&mut batch).parts)? {
                    return Ok(false);
                }
                before = Some(self.meanwhile);
            }
        }
        // Also if no frame was added: events that change no text then need not be read again.
        Ok(before == Some(self.newest) || self.index.add(before, is_new, self.newest, batch.parts)?)
    }

    /// The words of a frame, and the name of its log if logs are files.
    fn words_of(&self, record: &Frame, frame: Handle) -> IndexedWords {
        let log = record.log_path.as_ref().filter(|_| self.has_files).map(|_| own_log_path(&record.session_id, frame));
        let words = words_of(texts(record).map(|(_, text)| text));
        IndexedWords { source: WordSource::Record { frame, log }, words }
    }
}

/// Words that are added together.
#[derive(Default)]
struct Batch {
    parts: Vec<IndexedWords>,
    words: usize,
}

impl Batch {
    fn add(&mut self, source: WordSource, words: BTreeSet<String>) {
        self.words += words.len();
        self.parts.push(IndexedWords { source, words: words.into_iter().collect() });
    }

    /// Adds the words to an index in this state, if they are enough. Returns false if another search has
    /// written to the index meanwhile.
    fn flush_if_full(&mut self, index: &dyn WordIndex, history: IndexedHistory) -> Result<bool> {
        if self.words < TOGETHER { Ok(true) } else { self.flush(index, history) }
    }

    fn flush(&mut self, index: &dyn WordIndex, history: IndexedHistory) -> Result<bool> {
        let parts = mem::take(self).parts;
        Ok(parts.is_empty() || index.add(Some(history), false, history, parts)?)
    }
}

/// True for a change after which a frame can have other texts, or another log.
fn changes_texts(change: &Change) -> bool {
    match change {
        Change::Added { .. }
        | Change::Imported { .. }
        | Change::Identified { .. }
        | Change::StatusChanged { .. }
        | Change::Summarized { .. }
        | Change::Asked { .. }
        | Change::Answered { .. }
        | Change::IdReplaced { .. }
        | Change::LogPathSet { .. }
        | Change::LogMoved { .. }
        | Change::ArtifactAdded { .. }
        | Change::DecisionAdded { .. }
        | Change::ChunkAllocated { .. }
        | Change::ChunkWritten { .. }
        | Change::ChunkFreed { .. }
        | Change::Edited { .. }
        | Change::Reopened { .. }
        | Change::Restored { .. }
        | Change::Reimported { .. } => true,
        Change::DependenciesAdded { .. }
        | Change::Held { .. }
        | Change::Released { .. }
        | Change::Stopped { .. }
        | Change::SummaryRequested { .. }
        | Change::Invalidated { .. }
        | Change::Delivered {}
        | Change::Forgotten {}
        | Change::ActiveChanged { .. }
        | Change::RegistersChanged { .. }
        | Change::RunStarted { .. }
        | Change::Called { .. }
        | Change::MessagesAdded { .. }
        | Change::UsageRecorded { .. }
        | Change::LimitsSet { .. }
        | Change::CostRecorded { .. }
        | Change::TranscriptRead { .. }
        | Change::Commanded { .. }
        | Change::Undone { .. } => false,
    }
}
