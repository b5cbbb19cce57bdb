//! A store that keeps the history in process memory, for stacks without a disk and for tests.

use super::{EventQuery, Store};
use crate::error::{Error, Result};
use crate::frame::Event;

/// Keeps the events of a tree in process memory, for one stack.
///
/// ```
/// use callstack_core::{EventQuery, MemoryStore, NewFrame, Stack, StackOptions};
///
/// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
/// stack.push(NewFrame::new("Build").id("ses_1"))?;
/// assert_eq!(stack.history(&EventQuery::default())?.len(), 2);
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    events: Vec<Event>,
    pending: Vec<Event>,
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
    fn begin(&mut self) -> Result<()> {
        self.rollback();
        Ok(())
    }

    fn read(&mut self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        // The event of revision 1 is at position 0.
        let first = self.events.len().min(usize::try_from(query.since).unwrap_or(usize::MAX));
        let fitting = self.events[first..].iter().filter(|event| query.fits(event));
        fitting.take(query.limit.unwrap_or(usize::MAX)).try_for_each(|event| each(event.clone()))
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
        self.events.append(&mut self.pending);
        Ok(())
    }

    fn rollback(&mut self) {
        self.pending.clear();
    }

    fn has_news(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
