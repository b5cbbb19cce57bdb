//! What has happened, as the store remembers it.

use std::io::Write;

use super::Stack;
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::store::{EventQuery, export};

impl Stack {
    /// The events that fit a query, oldest first. Commands of this process wait meanwhile.
    ///
    /// ```
    /// use callstack_core::{EventQuery, MemoryStore, NewFrame, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// let root = stack.push(NewFrame::new("Build").id("ses_1"))?;
    /// stack.add_decision(root, "Use SQLite")?;
    /// let decisions = stack.history(&EventQuery::default().frame(root).kind("decisionAdded"))?;
    /// assert_eq!(decisions[0].revision, 3);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack keeps no history; [`Error::Setting`] for an unknown kind;
    /// those of the store.
    pub fn history(&self, query: &EventQuery) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        self.read_history(query, |event| {
            events.push(event);
            Ok(())
        })?;
        Ok(events)
    }

    /// Writes the whole history as text, one event in JSON on each line, and returns how many there are.
    /// [`read_history`](crate::read_history) reads it, and [`Stack::rebuild`] makes a stack of it.
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack keeps no history; [`Error::Io`]; those of the store.
    pub fn export_history(&self, mut writer: impl Write) -> Result<u64> {
        let mut count = 0;
        self.read_history(&EventQuery::default(), |event| {
            count += 1;
            export::write(&event, &mut writer)
        })?;
        Ok(count)
    }

    fn read_history(&self, query: &EventQuery, mut each: impl FnMut(Event) -> Result<()>) -> Result<()> {
        query.check()?;
        self.check_working()?;
        let mut disk = self.inner.disk.lock();
        let store = disk.store.as_mut().ok_or(Error::InMemory { what: "history" })?;
        store.read(query, &mut each)
    }
}
