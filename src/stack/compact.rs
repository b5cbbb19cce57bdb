//! Compaction of the history: the events of finished trees are replaced by their last state.

use serde::Serialize;

use super::Stack;
#[cfg(all(feature = "session", feature = "sqlite"))]
use super::archive::archive_of;
use super::journal::MirrorScope;
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::error::Error;
use crate::error::Result;
use crate::store::DATABASE;
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::store::EventQuery;
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::tree::{Compared, Comparison};

/// What [`Stack::compact_history`] has done.
///
/// In JSON: `{"trees": 120, "events": 18304, "bytesBefore": 52428800, "bytesAfter": 9437184}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HistoryCompaction {
    /// Number of trees whose events were removed.
    pub trees: usize,
    /// Number of events that were removed.
    pub events: u64,
    /// Size of the database with its write-ahead log before, in bytes.
    pub bytes_before: u64,
    /// Size of the database with its write-ahead log afterwards, in bytes.
    pub bytes_after: u64,
}

/// What [`Stack::repair`] has made anew beside the snapshot of the database.
#[cfg(all(feature = "session", feature = "sqlite"))]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RepairedFiles {
    /// True if `state.json` and the files in `frames/` were written again. False: the files were right already, or there are none.
    pub are_rewritten: bool,
    /// The folder, within that of the stack, with the files as they were, if some of them were wrong.
    pub kept_in: Option<String>,
}

impl Stack {
    /// Replaces the events of finished trees by their last state: of all trees in which nothing is unfinished and whose last event
    /// was recorded before a time, in milliseconds since the Unix epoch. The database becomes smaller. Frames, handles, contexts
    /// and logs stay as they are.
    ///
    /// **What it gives up:** [`Stack::history`] no longer has these events, so [`Stack::spans`], timelines and charts do not know
    /// when such a frame began and ended, beyond the times in its record. [`Stack::export_history`] writes the frames in place of
    /// the events that are gone, so `Stack::rebuild` still makes the stack again.
    ///
    /// In one transaction, the events are replayed and compared with the snapshot of the database, and those of the trees that are
    /// the same are removed. Then the file is rewritten, if a quarter of it is free, which needs as much space on the disk once more.
    /// Commands of other processes wait meanwhile, about two seconds for 100 MB, up to their [`busy_timeout`](crate::StackOptions::busy_timeout).
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Stack, StackOptions};
    ///
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// let tax = stack.push(NewFrame::new("Taxes"))?;
    /// stack.pop(tax, PopStatus::Completed, "19 % on all goods")?;
    /// stack.push(NewFrame::new("Shipping"))?;
    /// let compaction = stack.compact_history(u64::MAX)?;
    /// assert_eq!(compaction.trees, 1);
    /// assert_eq!(stack.frame(tax)?.results.as_deref(), Some("19 % on all goods"));
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the store keeps no snapshots; [`Error::Damaged`] if the events do not give what the snapshot has;
    /// the errors of every command. After an error the history is as it was, and other commands go on.
    pub fn compact_history(&self, before: u64) -> Result<HistoryCompaction> {
        let call = self.as_one_call();
        let log = format!("{DATABASE}-wal");
        let bytes = || self.inner.log_folder.as_ref().map_or(0, |folder| folder.size(DATABASE) + folder.size(&log));
        let bytes_before = bytes();
        let compacted = call.command(|journal, deadline| {
            // The files beside the database are brought up to date with the events that go.
            let (tree, clock) = (&self.inner.tree, &self.inner.span_clock);
            let _ = journal.write_mirror(tree, clock, MirrorScope::All, deadline);
            // What is wrong with a snapshot, or with old events, does not keep the other commands from their work.
            Ok(journal.compact(tree, before, deadline))
        })??;
        Ok(HistoryCompaction { trees: compacted.trees, events: compacted.events, bytes_before, bytes_after: bytes() })
    }

    /// Makes everything anew that follows from the events: the snapshot in the database, and, if the stack has a mirror,
    /// `state.json` and the files in `frames/`. It is for a stack whose [`Stack::health`] finds these wrong. The frames whose
    /// events were compacted come from the snapshot that the events follow.
    ///
    /// Reads all events in one transaction: some seconds for a million of them, in which commands of other processes wait, up to
    /// their [`busy_timeout`](crate::StackOptions::busy_timeout). If some of the files are wrong, all of them as they were stay in
    /// `before-repair/`. Right ones are not written again. Processes that have the stack open go on with the finished trees that they
    /// have read before: end them, if these were damaged.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// std::fs::write(folder.join("state.json"), "spilled coffee").unwrap();
    /// stack.repair()?;
    /// assert!(std::fs::read_to_string(folder.join("state.json")).unwrap().contains("Build a shop"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the store keeps no snapshots; [`Error::History`] and [`Error::Damaged`] for the events; the errors of
    /// every command, and those of the files. If the events cannot be read, nothing has changed. [`Error::Damaged`] too if the database
    /// itself is damaged: then the files may be all that is left of some frames.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub fn repair(&self) -> Result<RepairedFiles> {
        self.check_working()?;
        if let Some(folder) = self.inner.log_folder.as_ref().filter(|folder| folder.has_file(DATABASE)) {
            let found = super::health::database_of(folder, self.begin_call().remaining())?;
            if let Some(problem) = found.problems.first() {
                let advice = "nothing was made anew; copy the folder, then make another stack of the events that can be read \
                              (Stack::export_history and Stack::rebuild) or of the files";
                return Err(Error::damaged(folder.path_of(DATABASE).display().to_string(), problem, advice));
            }
        }
        let (tree, clock) = (&self.inner.tree, &self.inner.span_clock);
        let repaired = self.command(|journal, deadline| Ok(journal.remake(tree, clock, deadline)))??;
        self.inner.contexts.clear_cache(None);
        self.flush()?;
        Ok(repaired)
    }

    /// Replays the events up to the snapshot of the store, and compares each tree with it that nobody changes meanwhile. Commands do
    /// not wait for it.
    ///
    /// # Errors
    /// [`Error::InMemory`] if the store keeps no snapshots; [`Error::History`] and [`Error::Damaged`] for the events; the errors of
    /// the store.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub(super) fn compare_snapshot(&self) -> Result<Compared> {
        self.refresh()?;
        let no_snapshots = Error::InMemory { what: "snapshots" };
        let (snapshot, archive) = self.with_journal(|journal, deadline| {
            let store = journal.store.as_mut().ok_or(no_snapshots.clone())?;
            let archive = archive_of(&**store).ok_or(no_snapshots)?;
            Ok((store.snapshot(deadline.remaining())?, archive))
        })?;
        let Some(snapshot) = snapshot else { return Ok(Compared::default()) };
        let mut comparison = Comparison::new(archive, snapshot.head, snapshot.revision)?;
        let query = EventQuery::default().since(comparison.revision()).until(snapshot.revision);
        self.read_history(&query, |event| comparison.follow(event))?;
        comparison.read_compacted();
        Ok(comparison.into_result())
    }
}
