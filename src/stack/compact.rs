//! Compaction of the history: the events of finished trees are replaced by their last state.

use serde::Serialize;

use super::History;
#[cfg(all(feature = "session", feature = "sqlite"))]
use super::archive::archive_of;
#[cfg(all(feature = "session", feature = "sqlite"))]
use super::deadline::Deadline;
use super::journal::MirrorScope;
#[cfg(all(feature = "session", feature = "sqlite"))]
use super::{Stack, Upkeep};
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::error::Error;
use crate::error::Result;
use crate::store::DATABASE;
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::store::{EventQuery, Snapshot, Store};
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::tree::{Compared, Comparison};

/// What [`History::compact`] has done.
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

/// What [`Upkeep::repair`] has made again in addition to the snapshot of the database.
#[cfg(all(feature = "session", feature = "sqlite"))]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RepairedFiles {
    /// True if `state.json` and the files in `frames/` were rewritten. False: the files were right already,
    /// or there are no files.
    pub are_rewritten: bool,
    /// The folder, within the stack's folder, with the files as they were before the repair, if some of them
    /// were wrong.
    pub kept_in: Option<String>,
}

impl History<'_> {
    /// Replaces the events of finished trees by their last state. A tree is replaced if nothing in it is
    /// unfinished and its last event was recorded before `before`, in milliseconds since the Unix epoch. The
    /// database becomes smaller. Frames, handles, contexts and logs stay as they are.
    ///
    /// **What it gives up:** [`History::events`] no longer has these events, so [`History::spans`], timelines
    /// and charts do not know when such a frame began and ended, beyond the times in its record.
    /// [`History::export`] writes the frames in place of the events that are gone, so `Stack::rebuild`
    /// still makes the stack again.
    ///
    /// In one transaction, the events are replayed and compared with the snapshot of the database, and the
    /// events of each tree that is the same in both are removed. Then the file is rewritten, if a quarter of
    /// it is free. That needs the same space on the disk a second time. Commands of other processes wait
    /// meanwhile, about two seconds for 100 MB, up to their
    /// [`busy_timeout`](crate::StackOptions::busy_timeout).
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
    /// let compaction = stack.history().compact(u64::MAX)?;
    /// assert_eq!(compaction.trees, 1);
    /// assert_eq!(stack.frame(tax)?.results.as_deref(), Some("19 % on all goods"));
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the store keeps no snapshots; [`Error::Damaged`] if the events do not give what
    /// the snapshot has; the errors of every command. After an error the history is as it was, and other
    /// commands continue.
    pub fn compact(&self, before: u64) -> Result<HistoryCompaction> {
        let call = self.stack.as_one_call();
        let log = format!("{DATABASE}-wal");
        let bytes =
            || self.stack.inner.log_folder.as_ref().map_or(0, |folder| folder.size(DATABASE) + folder.size(&log));
        let bytes_before = bytes();
        let compacted = call.command(|journal, deadline| {
            // The files beside the database are first brought up to date with the events that are removed.
            let (tree, clock) = (&self.stack.inner.tree, &self.stack.inner.span_clock);
            let _ = journal.write_mirror(tree, clock, MirrorScope::All, deadline);
            // A fault of a snapshot, or of old events, does not prevent other commands.
            Ok(journal.compact(tree, before, deadline))
        })??;
        Ok(HistoryCompaction { trees: compacted.trees, events: compacted.events, bytes_before, bytes_after: bytes() })
    }
}

#[cfg(all(feature = "session", feature = "sqlite"))]
impl Upkeep<'_> {
    /// Makes again everything that follows from the events: the snapshot in the database, and, if the stack
    /// has a mirror, `state.json` and the files in `frames/`. It is for a stack where [`Upkeep::health`]
    /// finds that these are wrong. The frames whose events were compacted come from the snapshot that the
    /// remaining events follow.
    ///
    /// Reads all events in one transaction. This takes some seconds for a million events, and commands of
    /// other processes wait meanwhile, up to their [`busy_timeout`](crate::StackOptions::busy_timeout). If
    /// some of the files are wrong, all of them are kept in `before-repair/` as they were. Files that are
    /// right are not rewritten. Processes that have the stack open continue with the finished trees that they
    /// have read before. If these trees were damaged, end the processes.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// std::fs::write(folder.join("state.json"), "spilled coffee").unwrap();
    /// stack.upkeep().repair()?;
    /// assert!(std::fs::read_to_string(folder.join("state.json")).unwrap().contains("Build a shop"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the store keeps no snapshots; [`Error::History`] and [`Error::Damaged`] for the
    /// events; the errors of every command, and those of the files. If the events cannot be read, nothing has
    /// changed. [`Error::Damaged`] also if the database itself is damaged. Then the files may be all that is
    /// left of some frames.
    pub fn repair(&self) -> Result<RepairedFiles> {
        self.stack.check_working()?;
        if let Some(folder) = self.stack.inner.log_folder.as_ref().filter(|folder| folder.has_file(DATABASE)) {
            let found = super::health::database_of(folder, self.stack.begin_call().remaining())?;
            if let Some(problem) = found.problems.first() {
                let advice = "nothing was repaired; copy the folder, then make another stack of the events that can be read \
                              (`history().export` and `Stack::rebuild`) or of the files";
                return Err(Error::damaged(folder.path_of(DATABASE).display().to_string(), problem, advice));
            }
        }
        let (tree, clock) = (&self.stack.inner.tree, &self.stack.inner.span_clock);
        let repaired = self.stack.command(|journal, deadline| Ok(journal.remake(tree, clock, deadline)))??;
        self.stack.inner.contexts.clear_cache(None);
        self.stack.files().flush()?;
        Ok(repaired)
    }
}

#[cfg(all(feature = "session", feature = "sqlite"))]
const NO_SNAPSHOTS: Error = Error::InMemory { what: "snapshots" };

#[cfg(all(feature = "session", feature = "sqlite"))]
impl Stack {
    /// Replays the events up to the snapshot of the store, and compares each tree with the snapshot if no
    /// process changes the tree meanwhile. Commands do not wait for it.
    ///
    /// # Errors
    /// [`Error::InMemory`] if the store keeps no snapshots; [`Error::History`] and [`Error::Damaged`] for the
    /// events; the errors of the store.
    pub(super) fn compare_snapshot(&self) -> Result<Compared> {
        loop {
            let base = self.ask_store(|store, _| store.base_revision())?;
            let compared = self.compare_snapshot_once();
            let is_sound = matches!(&compared, Ok(compared) if compared.problems.is_empty());
            // Meanwhile another process may have compacted the events.
            if is_sound || self.ask_store(|store, _| store.base_revision())? == base {
                return compared;
            }
        }
    }

    fn compare_snapshot_once(&self) -> Result<Compared> {
        self.refresh()?;
        let (snapshot, archive) = self.ask_store(|store, deadline| {
            let archive = archive_of(store).ok_or(NO_SNAPSHOTS)?;
            Ok((store.snapshot(deadline.remaining())?, archive))
        })?;
        let Some(Snapshot { revision, head, unfinished, .. }) = snapshot else { return Ok(Compared::default()) };
        let mut comparison = Comparison::new(archive, head, unfinished, revision)?;
        let query = EventQuery::default().since(comparison.revision()).until(revision);
        self.read_history(&query, |event| comparison.follow(event))?;
        comparison.read_compacted()?;
        comparison.into_result()
    }

    fn ask_store<T>(&self, run: impl FnOnce(&mut dyn Store, &Deadline) -> Result<T>) -> Result<T> {
        self.with_journal(|journal, deadline| run(&mut **journal.store.as_mut().ok_or(NO_SNAPSHOTS)?, deadline))
    }
}
