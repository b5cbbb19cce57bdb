//! Where a tree lasts: its events in a [`Store`], and beside them the documented layout of files.
//!
//! The events are authoritative. [`SqliteStore`] keeps them in one file, for several processes at
//! once; [`MemoryStore`] keeps them in memory. The documented layout (`state.json`,
//! `frames/{id}.json`) is read once, when a folder has no history yet, and from then on written
//! beside the store, as a mirror for people and other tools. Logs of frames are plain files too.
//!
//! This floor knows frames and their events. It never sees a tree, and decides nothing about one.

pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod layout;
pub(crate) mod logs;
mod memory;
pub(crate) mod mirror;
#[cfg(feature = "sqlite")]
mod sqlite;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::frame::{Change, Event, Handle};

pub use export::read_history;
pub use logs::{LogDamage, LogLine, LogPage, LogQuery};
pub use memory::MemoryStore;
pub use mirror::MirrorStatus;
#[cfg(feature = "sqlite")]
pub(crate) use sqlite::damaged_database;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};

/// The file of the database in a stack's folder.
pub(crate) const DATABASE: &str = "stack.db";

/// How long a command waits for other processes, unless it is told otherwise, in milliseconds.
pub(crate) const BUSY_TIMEOUT: u64 = 10_000;

/// Keeps the events of one tree.
///
/// A commit goes `begin`, `read` (what others have committed), `append`, `commit`. From `begin` to
/// `commit` or `rollback` no other user of the same history can commit, so that what is decided
/// meanwhile is decided on all there is. Whatever fails, nothing of the transaction is kept.
pub trait Store: Send {
    /// Waits for the others, then keeps them out. A transaction that was left open ends first, as by
    /// [`Store::rollback`].
    ///
    /// # Errors
    /// [`Error::Busy`] if the others do not finish; whatever the disk says.
    fn begin(&mut self) -> Result<()>;

    /// Hands the events that fit the query to `each`, oldest first, until it fails. Works with and
    /// without a transaction.
    ///
    /// # Errors
    /// That of `each`; whatever the disk says; [`Error::Damaged`].
    fn read(&mut self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()>;

    /// Adds events to the transaction. Their revisions go on from the last one in the store.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn append(&mut self, events: &[Event]) -> Result<()>;

    /// Makes the transaction last, and ends it.
    ///
    /// # Errors
    /// Whatever the disk says. The transaction is still to be rolled back then.
    fn commit(&mut self) -> Result<()>;

    /// Ends the transaction without a trace. Without a transaction it does nothing.
    fn rollback(&mut self);

    /// False if certainly nobody else has committed anything since the last `has_news` or `read`
    /// that went up to the newest event. Cheap.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn has_news(&mut self) -> Result<bool>;

    /// Brings everything committed to where it survives a loss of power.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn sync(&mut self) -> Result<()>;
}

/// Which events of a history are meant. The default means all of them.
///
/// ```
/// use callstack_core::{EventQuery, Handle};
/// let first: Handle = "f1".parse().unwrap();
/// let pops = EventQuery::default().since(20).frame(first).kind("statusChanged");
/// assert_eq!(pops.since, 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventQuery {
    /// Only events after this revision.
    pub since: u64,
    /// Only events of this frame.
    pub frame: Option<Handle>,
    /// Only events of this kind, one of [`Change::KINDS`].
    pub kind: Option<String>,
    /// At most so many, the oldest.
    pub limit: Option<usize>,
}

impl EventQuery {
    /// Only events after this revision.
    pub fn since(self, revision: u64) -> Self {
        Self { since: revision, ..self }
    }

    /// Only events of this frame.
    pub fn frame(self, handle: Handle) -> Self {
        Self { frame: Some(handle), ..self }
    }

    /// Only events of this kind, one of [`Change::KINDS`].
    pub fn kind(self, kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// At most so many, the oldest.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// # Errors
    /// [`Error::Setting`] if no event can be of that kind.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.kind {
            Some(kind) if !Change::KINDS.contains(&kind.as_str()) => Err(Error::Setting {
                name: "kind".into(),
                value: kind.clone(),
                expected: "added, imported, dependenciesAdded, identified, statusChanged, invalidated, idReplaced, \
                           logPathSet, artifactAdded, decisionAdded, activeChanged, summarized, chunkAllocated, \
                           chunkWritten, chunkFreed, registersChanged, runStarted, called or messagesAdded",
            }),
            _ => Ok(()),
        }
    }

    /// True if the event is one of those meant, but for the limit.
    fn fits(&self, event: &Event) -> bool {
        event.revision > self.since
            && self.frame.is_none_or(|frame| frame == event.handle)
            && self.kind.as_ref().is_none_or(|kind| kind == event.change.kind())
    }
}

/// What survives what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Durability {
    /// Everything acknowledged survives the death of the process. A loss of power may take the
    /// commits of the last moments, in order, and damages nothing.
    #[default]
    Normal,
    /// Everything acknowledged survives a loss of power too: each commit waits for the disk.
    Full,
}
