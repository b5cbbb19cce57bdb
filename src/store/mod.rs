//! Persistence of a tree: its events in a [`Store`], and files in the documented layout next to it.
//!
//! The events are authoritative. [`SqliteStore`] keeps them in one file that several processes can use at the
//! same time; [`MemoryStore`] keeps them in process memory. The documented layout (`state.json`,
//! `frames/{id}.json`) is read once, when a folder has no history yet. Afterwards it is only written, as a
//! mirror for people and other tools. Logs of frames are plain files too.
//!
//! This layer uses frames and their events. It does not use trees and makes no decisions about them.

pub(crate) mod export;
mod file_errors;
pub(crate) mod folder;
pub(crate) mod layout;
pub(crate) mod logs;
mod memory;
pub(crate) mod mirror;
mod patience;
#[cfg(feature = "sqlite")]
mod sqlite;
mod word_index;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, ArchivedFrame};
use crate::error::{Error, Result};
use crate::frame::{Change, Event, Handle};

pub use export::read_history;
pub use logs::{LogDamage, LogLimits, LogLine, LogPage, LogQuery, PrunedLogs};
pub use memory::MemoryStore;
pub use mirror::MirrorStatus;
#[cfg(all(feature = "sqlite", feature = "session"))]
pub use sqlite::DatabaseHealth;
#[cfg(feature = "sqlite")]
pub(crate) use sqlite::damaged_database;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
pub use word_index::{GrownLog, IndexedHistory, IndexedWords, WordIndex, WordSource};

/// File name of the database in a stack's folder.
pub(crate) const DATABASE: &str = "stack.db";

/// Default of the maximum wait of a command for other processes, in milliseconds.
pub(crate) const BUSY_TIMEOUT: u64 = 10_000;

/// A store for the events of one tree.
///
/// A write is a transaction: `begin`, `read` (the commits of other processes), `append`, `commit`. From
/// `begin` to `commit` or `rollback` no other user of the same history can commit, so decisions made in
/// between are based on the complete history. If any step fails, nothing of the transaction is kept.
///
/// Every method that returns a [`Result`] may also return the errors of the medium, that is [`Error::Io`],
/// [`Error::DiskFull`], [`Error::ReadOnly`] and [`Error::Busy`].
///
/// `patience` is the maximum wait of a method for other users of the history. It is what remains of the time
/// limit of the stack's call ([`StackOptions::busy_timeout`](crate::StackOptions::busy_timeout)). A store on
/// a server also returns [`Error::Disconnected`].
pub trait Store: Send {
    /// Begins a transaction: waits until no other user is in one, then locks others out. An open
    /// transaction of this store is rolled back first.
    ///
    /// # Errors
    /// [`Error::Busy`] if the others do not finish in time; [`Error::Io`] and the other errors of the medium.
    fn begin(&mut self, patience: Duration) -> Result<()>;

    /// Passes the events that match the query to `each`, oldest first. Stops at the first error of `each`.
    /// Works inside and outside a transaction.
    ///
    /// # Errors
    /// The error of `each`; [`Error::Damaged`] if an event cannot be read; [`Error::Io`] and the other errors
    /// of the medium.
    fn read(&mut self, query: &EventQuery, patience: Duration, each: &mut dyn FnMut(Event) -> Result<()>)
    -> Result<()>;

    /// Returns a reader that reads the committed events while this store is in a transaction. With it,
    /// queries of the history never wait for a command. The default is `None`: these queries then wait until
    /// no command runs, and use [`Store::read`].
    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        None
    }

    /// The frames of the newest snapshot, read independently of the transactions of this store. With it, the
    /// finished trees of a stack need not be in memory. The default is `None`: the stack holds all frames.
    fn archive(&self) -> Option<Arc<dyn Archive>> {
        None
    }

    /// An index for searches, which needs neither a transaction nor the store. The default is `None`: a
    /// search reads all frames.
    fn word_index(&self) -> Option<Arc<dyn WordIndex>> {
        None
    }

    /// The newest snapshot, if there is one.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Io`] and the other errors of the medium.
    fn snapshot(&mut self, patience: Duration) -> Result<Option<Snapshot>> {
        let _ = patience;
        Ok(None)
    }

    /// In a transaction, replaces the newest snapshot by the one that the events of a compacted history
    /// follow.
    ///
    /// # Errors
    /// The errors of the medium.
    fn restore_base(&mut self) -> Result<()> {
        Ok(())
    }

    /// The revision of the newest snapshot. 0, which is the default: there is none.
    ///
    /// # Errors
    /// The errors of the medium.
    fn snapshot_revision(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// The revision that the events of a compacted history follow: see [`Archive::base`]. 0, which is the
    /// default, if they begin with the first one.
    ///
    /// # Errors
    /// The errors of the medium.
    fn base_revision(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// In a transaction, removes the events of finished trees, whose last state the newest snapshot has, and
    /// makes that snapshot the base of the events.
    ///
    /// # Errors
    /// [`Error::InMemory`], which is the default, if the store keeps no snapshots; the errors of the medium.
    fn compact(&mut self, limits: &CompactionLimits<'_>) -> Result<CompactedEvents> {
        let _ = limits;
        Err(Error::InMemory { what: "snapshots" })
    }

    /// Gives the space that is not used any more back to the file system, if it is a large share. Called
    /// outside of transactions.
    ///
    /// # Errors
    /// The errors of the medium.
    fn shrink(&mut self, patience: Duration) -> Result<()> {
        let _ = patience;
        Ok(())
    }

    /// Called once in a process that ends without dropping the store. It may do what makes the next open of the
    /// store faster, if that is worth the time. Errors are not reported. Called outside of transactions.
    fn leave(&mut self) {}

    /// Adds a snapshot to the transaction, which replaces the one before it. `frames` are those that have
    /// changed since then. Called only if [`Store::archive`] returns an archive.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`] and the other errors of the medium.
    fn write_snapshot(&mut self, snapshot: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        let _ = (snapshot, frames);
        Ok(())
    }

    /// In a transaction of an empty history, writes the snapshot that the events of a compacted history
    /// follow, with all its frames: see [`Archive::base`]. The remaining events up to the snapshot's revision
    /// are appended next. The last one of these has that revision.
    ///
    /// # Errors
    /// [`Error::InMemory`], which is the default, if the store keeps no snapshots; the errors of the medium.
    fn write_base(&mut self, base: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        let _ = (base, frames);
        Err(Error::InMemory { what: "snapshots" })
    }

    /// Adds events to the transaction. Their revisions must continue those in the store without a gap. After
    /// [`Store::write_base`], revisions up to that of the base may be left out.
    ///
    /// # Errors
    /// [`Error::History`] if a revision cannot be stored; [`Error::DiskFull`], [`Error::Io`] and the other
    /// errors of the medium.
    fn append(&mut self, events: &[Event]) -> Result<()>;

    /// The reader of the logs of frames, if the store keeps them itself. The default is `None`: the stack
    /// keeps them in files, if it has a folder.
    fn logs(&self) -> Option<Arc<dyn LogReader>> {
        None
    }

    /// In a transaction, adds lines to the log of a frame, each a JSON value. Returns true if they are the
    /// first lines of the log. Called only if [`Store::logs`] returns a reader.
    ///
    /// # Errors
    /// [`Error::InMemory`], which is the default; the errors of the medium.
    fn append_log(&mut self, frame: Handle, lines: Vec<String>) -> Result<bool> {
        let _ = (frame, lines);
        Err(Error::InMemory { what: "logs" })
    }

    /// In a transaction, removes the logs of frames. Called only if [`Store::logs`] returns a reader.
    ///
    /// # Errors
    /// As [`Store::append_log`].
    fn remove_logs(&mut self, frames: &[Handle]) -> Result<()> {
        let _ = frames;
        Err(Error::InMemory { what: "logs" })
    }

    /// Commits the transaction and ends it. [`Durability`] states which failures a commit survives.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`] and the other errors of the medium. The caller must then roll the
    /// transaction back. [`Error::Disconnected`] says whether the commit may have been kept.
    fn commit(&mut self) -> Result<()>;

    /// Discards the transaction and ends it. Does nothing outside a transaction.
    fn rollback(&mut self);

    /// Returns false only if no other user has committed since the last `read` that reached the newest event.
    /// Takes microseconds, so it can be called before every command.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Io`] and the other errors of the medium.
    fn has_news(&mut self, patience: Duration) -> Result<bool>;

    /// Syncs all commits to the disk, so that they survive a power loss.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Io`] and the other errors of the medium.
    fn sync(&mut self, patience: Duration) -> Result<()>;
}

/// What a store keeps of a tree in addition to its events and the images of its frames, so that the tree can
/// be opened without reading all events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The revision of the tree: the number of events that it shows.
    pub revision: u64,
    /// The part of the tree that does not belong to one frame, as JSON. Only the library reads it.
    pub head: String,
    /// The unfinished trees in one piece, so that they need not be made from the images of their frames. Only
    /// the library reads it. Empty if the store does not keep it; then opening takes longer.
    pub unfinished: Vec<u8>,
    /// When it is written: true if its frames are all frames of the tree, so that the frames of earlier
    /// snapshots are removed.
    pub is_whole: bool,
}

/// The trees whose events [`Store::compact`] removes: finished trees that meet all of these conditions.
#[derive(Clone, Copy)]
pub struct CompactionLimits<'a> {
    /// The event that last changed one of its frames has an earlier time, in milliseconds since the Unix
    /// epoch.
    pub before: u64,
    /// Returns true for a root if the snapshot of its tree was compared with the events and is the same. It
    /// is not called for trees that have not changed since the base.
    pub is_verified: &'a dyn Fn(Handle) -> bool,
}

/// What [`Store::compact`] has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactedEvents {
    /// Number of trees whose events were removed.
    pub trees: usize,
    /// Number of events that were removed.
    pub events: u64,
}

/// Reads the committed events of a [`Store`] independently of its transactions. Several threads may read at
/// the same time.
pub trait HistoryReader: Send + Sync {
    /// As [`Store::read`]. `each` may take any time, and may read again.
    ///
    /// # Errors
    /// As [`Store::read`].
    fn read(&self, query: &EventQuery, patience: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()>;
}

/// Reads the logs of frames from a [`Store`] that keeps them, independently of its transactions.
pub trait LogReader: Send + Sync {
    /// The number of lines in a frame's log. A frame without a log has none.
    ///
    /// # Errors
    /// The errors of the medium.
    fn count(&self, frame: Handle, patience: Duration) -> Result<usize>;

    /// Passes lines of a frame's log to `each`, oldest first: the lines with these numbers, counted from 1,
    /// as far as they exist.
    ///
    /// # Errors
    /// The error of `each`; the errors of the medium.
    fn read(
        &self,
        frame: Handle,
        numbers: RangeInclusive<usize>,
        patience: Duration,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()>;

    /// The logs of all frames that have one.
    ///
    /// # Errors
    /// The errors of the medium.
    fn list(&self, patience: Duration) -> Result<Vec<StoredLog>>;
}

/// A log that a [`Store`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredLog {
    /// The frame.
    pub frame: Handle,
    /// Its size in bytes.
    pub bytes: u64,
    /// The time at which lines were last added, in milliseconds since the Unix epoch.
    pub written: u64,
}

/// A filter for the events of a history. The default selects all events.
///
/// ```
/// use callstack_core::{EventQuery, Handle};
/// let first: Handle = "f1".parse().unwrap();
/// let pops = EventQuery::default().since(20).frame(first).kind("statusChanged");
/// assert_eq!(pops.since, 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EventQuery {
    /// Selects only events with a higher revision. Default 0: all.
    pub since: u64,
    /// Selects only events up to this revision. Default `None`: up to the newest.
    pub until: Option<u64>,
    /// Selects only events of this frame. Default `None`: of all frames.
    pub frame: Option<Handle>,
    /// Selects only events of this kind, one of [`Change::KINDS`]. Default `None`: of all kinds.
    pub kind: Option<String>,
    /// Maximum number of events: the oldest matching ones. Default `None`: no limit.
    pub limit: Option<usize>,
}

impl EventQuery {
    /// Selects only events with a higher revision.
    pub fn since(self, revision: u64) -> Self {
        Self { since: revision, ..self }
    }

    /// Selects only events up to this revision.
    pub fn until(self, revision: u64) -> Self {
        Self { until: Some(revision), ..self }
    }

    /// Selects only events of this frame.
    pub fn frame(self, handle: Handle) -> Self {
        Self { frame: Some(handle), ..self }
    }

    /// Selects only events of this kind, one of [`Change::KINDS`].
    pub fn kind(self, kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Selects at most `limit` events: the oldest matching ones.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Checks that the kind exists.
    ///
    /// # Errors
    /// [`Error::Setting`] if the kind is not one of [`Change::KINDS`].
    pub(crate) fn check(&self) -> Result<()> {
        match &self.kind {
            Some(kind) if !Change::KINDS.contains(&kind.as_str()) => Err(Error::Setting {
                name: "kind".into(),
                value: kind.clone(),
                expected: "added, imported, dependenciesAdded, identified, statusChanged, invalidated, idReplaced, \
                           logPathSet, artifactAdded, decisionAdded, activeChanged, summarized, chunkAllocated, \
                           chunkWritten, chunkFreed, registersChanged, runStarted, called, messagesAdded, logMoved, \
                           delivered, forgotten, asked, answered, held, released, summaryRequested, edited, \
                           stopped, usageRecorded, limitsSet, costRecorded, transcriptRead, reopened, commanded, undone, \
                           restored or reimported",
            }),
            _ => Ok(()),
        }
    }

    /// True if the query selects every event after a revision, so that a reader of its result knows the
    /// newest event.
    pub fn selects_all(&self) -> bool {
        self.until.is_none() && self.frame.is_none() && self.kind.is_none() && self.limit.is_none()
    }

    /// True if the event matches all filters, without regard to the limit.
    fn fits(&self, event: &Event) -> bool {
        event.revision > self.since
            && self.until.is_none_or(|until| event.revision <= until)
            && self.frame.is_none_or(|frame| frame == event.handle)
            && self.kind.as_ref().is_none_or(|kind| kind == event.change.kind())
    }
}

/// The failures that an acknowledged commit survives. In JSON `"normal"` or `"full"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Durability {
    /// Acknowledged commits survive the death of the process. A power loss may remove the latest commits,
    /// newest first, but does not damage the database.
    #[default]
    Normal,
    /// Acknowledged commits also survive a power loss. Each commit waits for the disk, so it is slower.
    Full,
}
