//! A store that forwards every call to another store. Hooks see the calls: they can fail, wait, panic or
//! change the returned values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callstack_core::archive::{Archive, ArchivedFrame};
use callstack_core::store::{CompactedEvents, CompactionLimits, Snapshot};
use callstack_core::{Event, EventQuery, Handle, HistoryReader, LogReader, Result, Store};

/// A call of a store.
#[derive(Debug, Clone, Copy)]
pub struct StoreCall {
    /// The name of the method.
    pub name: &'static str,
    /// How long the call may wait; `None` if the method has no such argument.
    pub patience: Option<Duration>,
}

/// The additional actions of a [`Wrapped`] store. By default there are none.
///
/// [`Hooks::before`] and [`Hooks::after`] see the calls that return a [`Result`].
pub trait Hooks: Send {
    /// Runs before a call. If it returns an error, the error is the result of the call, and the call
    /// is not made.
    fn before(&mut self, call: StoreCall) -> Result<()> {
        let _ = call;
        Ok(())
    }

    /// Runs after a call that has succeeded. If it returns an error, the error is the result of the call.
    fn after(&mut self, call: StoreCall) -> Result<()> {
        let _ = call;
        Ok(())
    }

    /// The reader of the history that the store shows.
    fn reader(&self, reader: Box<dyn HistoryReader>) -> Option<Box<dyn HistoryReader>> {
        Some(reader)
    }

    /// The archive that the store shows.
    fn archive(&self, archive: Arc<dyn Archive>) -> Arc<dyn Archive> {
        archive
    }

    /// The snapshot that the store returns.
    fn snapshot(&mut self, snapshot: Option<Snapshot>) -> Option<Snapshot> {
        snapshot
    }

    /// A snapshot that the store will write.
    fn written(&mut self, snapshot: &Snapshot) {
        let _ = snapshot;
    }

    /// Whether there is news.
    fn has_news(&mut self, found: bool) -> bool {
        found
    }
}

/// A store with hooks.
pub struct Wrapped<H> {
    store: Box<dyn Store>,
    hooks: H,
}

impl<H: Hooks> Wrapped<H> {
    /// Hooks around a store.
    pub fn new(store: impl Store + 'static, hooks: H) -> Self {
        Self::around(Box::new(store), hooks)
    }

    /// Hooks around a store of any kind.
    pub fn around(store: Box<dyn Store>, hooks: H) -> Self {
        Self { store, hooks }
    }

    fn call<T>(
        &mut self,
        name: &'static str,
        patience: impl Into<Option<Duration>>,
        call: impl FnOnce(&mut dyn Store) -> Result<T>,
    ) -> Result<T> {
        let seen = StoreCall { name, patience: patience.into() };
        self.hooks.before(seen)?;
        let result = call(&mut *self.store)?;
        self.hooks.after(seen)?;
        Ok(result)
    }
}

impl<H: Hooks> Store for Wrapped<H> {
    fn begin(&mut self, patience: Duration) -> Result<()> {
        self.call("begin", patience, |store| store.begin(patience))
    }

    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        self.call("read", patience, |store| store.read(query, patience, each))
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        self.store.reader().and_then(|reader| self.hooks.reader(reader))
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        self.store.archive().map(|archive| self.hooks.archive(archive))
    }

    fn snapshot(&mut self, patience: Duration) -> Result<Option<Snapshot>> {
        let snapshot = self.call("snapshot", patience, |store| store.snapshot(patience))?;
        Ok(self.hooks.snapshot(snapshot))
    }

    fn restore_base(&mut self) -> Result<()> {
        self.call("restore_base", None, |store| store.restore_base())
    }

    fn snapshot_revision(&mut self) -> Result<u64> {
        self.call("snapshot_revision", None, |store| store.snapshot_revision())
    }

    fn base_revision(&mut self) -> Result<u64> {
        self.call("base_revision", None, |store| store.base_revision())
    }

    fn compact(&mut self, limits: &CompactionLimits<'_>) -> Result<CompactedEvents> {
        self.call("compact", None, |store| store.compact(limits))
    }

    fn shrink(&mut self, patience: Duration) -> Result<()> {
        self.call("shrink", patience, |store| store.shrink(patience))
    }

    fn leave(&mut self) {
        self.store.leave();
    }

    fn write_snapshot(&mut self, snapshot: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.hooks.written(snapshot);
        self.call("write_snapshot", None, |store| store.write_snapshot(snapshot, frames))
    }

    fn write_base(&mut self, base: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.call("write_base", None, |store| store.write_base(base, frames))
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.call("append", None, |store| store.append(events))
    }

    fn logs(&self) -> Option<Arc<dyn LogReader>> {
        self.store.logs()
    }

    fn append_log(&mut self, frame: Handle, lines: Vec<String>) -> Result<bool> {
        self.call("append_log", None, |store| store.append_log(frame, lines))
    }

    fn remove_logs(&mut self, frames: &[Handle]) -> Result<()> {
        self.call("remove_logs", None, |store| store.remove_logs(frames))
    }

    fn commit(&mut self) -> Result<()> {
        self.call("commit", None, |store| store.commit())
    }

    fn rollback(&mut self) {
        self.store.rollback();
    }

    fn has_news(&mut self, patience: Duration) -> Result<bool> {
        let found = self.call("has_news", patience, |store| store.has_news(patience))?;
        Ok(self.hooks.has_news(found))
    }

    fn sync(&mut self, patience: Duration) -> Result<()> {
        self.call("sync", patience, |store| store.sync(patience))
    }
}

/// Panics in the middle of a transaction, after events were appended, while a switch is on.
#[derive(Clone, Default)]
pub struct PanicInAppend(Arc<AtomicBool>);

impl PanicInAppend {
    /// Turns the switch.
    pub fn set(&self, is_on: bool) {
        self.0.store(is_on, Ordering::Relaxed);
    }
}

impl Hooks for PanicInAppend {
    fn after(&mut self, call: StoreCall) -> Result<()> {
        let is_on = call.name == "append" && self.0.load(Ordering::Relaxed);
        assert!(!is_on, "provoked by a test");
        Ok(())
    }
}
