//! The history of a stack: the events in its store, by query or as text.

use std::io::Write;
use std::sync::Arc;

use super::Stack;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::frame::{Event, FrameRef, FrameSpans, Timeline};
use crate::store::EventQuery;
use crate::store::export::{self, HistoryLine};
use crate::tree::Tree;

/// The history of a stack: all events, since its first command. [`Stack::history`] returns it.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct History<'a> {
    pub(super) stack: &'a Stack,
}

impl Stack {
    /// Returns the history of the stack. A stack that was made with [`Stack::in_memory`] keeps none.
    ///
    /// ```
    /// use callstack_core::{EventQuery, MemoryStore, NewFrame, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// stack.push(NewFrame::new("Build").id("ses_1"))?;
    /// let history = stack.history();
    /// assert_eq!(history.events(&EventQuery::default().kind("added"))?.len(), 1);
    /// let mut text = Vec::new();
    /// assert_eq!(history.export(&mut text)?, history.events(&EventQuery::default())?.len() as u64);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn history(&self) -> History<'_> {
        History { stack: self }
    }
}

impl History<'_> {
    /// The events that match a query, oldest first, up to the revision of the tree. The query does not wait
    /// for commands, and commands do not wait for the query (for an exception see [`Stack`]).
    ///
    /// ```
    /// use callstack_core::{EventQuery, MemoryStore, NewFrame, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// let root = stack.push(NewFrame::new("Build").id("ses_1"))?;
    /// stack.add_decision(root, "Use SQLite")?;
    /// let decisions = stack.history().events(&EventQuery::default().frame(root).kind("decisionAdded"))?;
    /// assert_eq!(decisions[0].revision, 3);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack keeps no history; [`Error::Setting`] for an unknown kind of events;
    /// [`Error::Broken`]; the errors of the store. [`Error::InsideRead`] only if the store has no reader.
    pub fn events(&self, query: &EventQuery) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        self.stack.read_history(query, |event| {
            events.push(event);
            Ok(())
        })?;
        Ok(events)
    }

    /// When a frame began and ended, and when it was blocked. Reads the events of the frame.
    ///
    /// ```
    /// use callstack_core::{MemoryStore, NewFrame, PopStatus, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// let tax = stack.push(NewFrame::new("Taxes"))?;
    /// stack.block(tax, "Which VAT rate?", None)?;
    /// let spans = stack.history().spans(tax)?;
    /// assert_eq!((spans.begun_at.is_some(), spans.ended_at, spans.blocked[0].to), (true, None, None));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; as [`History::events`].
    pub fn spans(&self, frame: impl Into<FrameRef>) -> Result<FrameSpans> {
        let query = EventQuery::default().frame(self.stack.resolve(frame)?);
        let mut spans = FrameSpans::default();
        self.stack.read_history(&query, |event| {
            spans.follow(&event);
            Ok(())
        })?;
        Ok(spans)
    }

    /// Brings a timeline up to the revision of the tree: reads the events that it does not contain, which are
    /// all events of a new one. Returns true if there were any. If it fails, the timeline contains the events
    /// before the failure.
    ///
    /// ```
    /// use callstack_core::frame::{ModelRequest, Timeline};
    /// use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// let tax = stack.push(NewFrame::new("Taxes"))?;
    /// let mut timeline = Timeline::default();
    /// assert!(stack.history().update_timeline(&mut timeline)?);
    /// assert!(timeline.spans(tax).is_some_and(|spans| spans.begun_at.is_some()));
    ///
    /// stack.record_usage(tax, ModelRequest { output: 40, ..ModelRequest::new("small") })?;
    /// assert!(stack.history().update_timeline(&mut timeline)?);
    /// assert_eq!(timeline.requests()[0].request.output, 40);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`History::events`].
    pub fn update_timeline(&self, timeline: &mut Timeline) -> Result<bool> {
        let known = timeline.revision();
        // Without this, a look at a stack that has not changed would ask the store.
        if self.stack.inner.tree.read().revision() <= known {
            return Ok(false);
        }
        self.stack.read_history(&EventQuery::default().since(known), |event| {
            timeline.follow(&event);
            Ok(())
        })?;
        Ok(timeline.revision() > known)
    }

    /// Writes the whole history as text, one event in JSON per line, and returns the number of events.
    /// [`read_history`](crate::read_history) reads the text, and `Stack::rebuild` creates a stack from it.
    /// Like [`History::events`] it ends at the revision of the tree and does not wait for commands. If the
    /// history is damaged ([`Stack::is_broken`] describes this), these are the events before the damage.
    ///
    /// If the history was [compacted](History::compact), the frames whose events are gone come first, in
    /// lines that only the library reads: `{"base": …}` once, then `{"baseFrame": …}` for each frame.
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack keeps no history; [`Error::Io`] if the writer fails;
    /// [`Error::History`] if another process compacts the history meanwhile; [`Error::Broken`]; the errors of
    /// the store. [`Error::InsideRead`] only if the store has no reader, or another process has compacted
    /// events that this stack has not read.
    pub fn export(&self, mut writer: impl Write) -> Result<u64> {
        self.stack.check_working()?;
        let archive = self.stack.inner.tree.read().archive();
        let base = || Ok::<_, Error>(archive.as_ref().map(|archive| archive.base()).transpose()?.flatten());
        let before = base()?;
        let head = before.as_ref().map(|(head, _)| head.clone());
        let mut count = 0;
        let written = before.map_or(Ok(()), |base| self.stack.export_base(base, &mut writer)).and_then(|()| {
            self.stack.read_history(&EventQuery::default(), |event| {
                count += 1;
                export::write(&event, &mut writer)
            })
        });
        // A compaction can also be why the others have failed.
        match base()?.map(|(head, _)| head) {
            Some(after) if head.as_ref() != Some(&after) => {
                let (revision, _) = Tree::snapshot_extent(&after)?;
                let message = "the history was compacted up to it while it was exported; export it again";
                Err(Error::History { revision, message: message.into() })
            }
            _ => written.map(|()| count),
        }
    }
}

impl Stack {
    /// Writes the snapshot that the events of a compacted history follow.
    fn export_base(&self, (head, frames): (String, Arc<dyn Archive>), writer: &mut impl Write) -> Result<()> {
        let (revision, _) = Tree::snapshot_extent(&head)?;
        // Another process may have compacted events that this one has not read.
        if revision > self.inner.tree.read().revision() {
            self.refresh()?;
        }
        export::write(&HistoryLine::Base(head), writer)?;
        let mut last = None;
        loop {
            let page = frames.page(last)?;
            let Some(end) = page.last() else { return Ok(()) };
            last = Some(end.handle);
            page.into_iter().try_for_each(|frame| export::write(&HistoryLine::BaseFrame(frame), writer))?;
        }
    }

    pub(super) fn read_history(&self, query: &EventQuery, mut each: impl FnMut(Event) -> Result<()>) -> Result<()> {
        query.check()?;
        self.check_working()?;
        let revision = self.inner.tree.read().revision();
        let query = &query.clone().until(query.until.map_or(revision, |until| until.min(revision)));
        if let Some(reader) = &self.inner.history {
            let deadline = self.begin_call();
            return deadline.stated(reader.read(query, deadline.remaining(), &mut each));
        }
        self.with_journal(|journal, deadline| {
            let store = journal.store.as_mut().ok_or(Error::InMemory { what: "history" })?;
            store.read(query, deadline.remaining(), &mut each)
        })
    }
}
