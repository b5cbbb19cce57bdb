//! A store that keeps the history in process memory, for stacks without a disk and for tests.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::{EventQuery, HistoryReader, Store};
use crate::error::{Error, Result};
use crate::frame::Event;

/// Keeps the events of a tree in process memory, for one stack.
///
/// ```
/// use callstack_core::{EventQuery, MemoryStore, NewFrame, Stack, StackOptions};
///
/// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
/// stack.push(NewFrame::new("Build").id("ses_1"))?;
/// assert_eq!(stack.history().events(&EventQuery::default())?.len(), 2);
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    events: Committed,
    pending: Vec<Event>,
}

/// The committed events. The event of revision 1 is at position 0.
#[derive(Debug, Clone, Default)]
struct Committed(Arc<RwLock<Vec<Event>>>);

impl Committed {
    fn len(&self) -> usize {
        self.0.read().len()
    }

    /// Passes copies of the matching events to `each`, which runs without the lock.
    fn read(&self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        let first = usize::try_from(query.since).unwrap_or(usize::MAX);
        let fitting = |index: usize| Some(&self.0.read()[index]).filter(|event| query.fits(event)).cloned();
        (first..self.len()).filter_map(fitting).take(query.limit.unwrap_or(usize::MAX)).try_for_each(each)
    }
}

impl MemoryStore {
    /// Creates a store without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a store that contains these events.
    ///
    /// # Errors
    /// [`Error::History`] if their revisions are not 1, 2, 3, …
    pub fn with_events(events: Vec<Event>) -> Result<Self> {
        let mut store = Self::new();
        store.append(&events)?;
        store.commit()?;
        Ok(store)
    }
}

impl Store for MemoryStore {
    fn begin(&mut self, _: Duration) -> Result<()> {
        self.rollback();
        Ok(())
    }

    fn read(&mut self, query: &EventQuery, _: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        self.events.read(query, each)
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        Some(Box::new(self.events.clone()))
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        for event in events {
            let next = (self.events.len() + self.pending.len()) as u64 + 1;
            if event.revision != next {
                return Err(Error::History { revision: event.revision, message: format!("event {next} is next") });
            }
            self.pending.push(event.clone());
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.events.0.write().append(&mut self.pending);
        Ok(())
    }

    fn rollback(&mut self) {
        self.pending.clear();
    }

    fn has_news(&mut self, _: Duration) -> Result<bool> {
        Ok(false)
    }

    fn sync(&mut self, _: Duration) -> Result<()> {
        Ok(())
    }
}

impl HistoryReader for Committed {
    fn read(&self, query: &EventQuery, _: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        Committed::read(self, query, each)
    }
}
