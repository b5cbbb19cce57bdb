//! The commit of a command (its events and log lines), and the draft that collects them.

use serde_json::Value;

use super::{Command, Tree, decide};
use crate::error::Result;
use crate::frame::{Actor, Change, Event, Handle};

/// The outcome of deciding a command: the events that change the tree, and the lines that are added to the
/// full logs of frames.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use = "a commit changes nothing until its events are applied"]
#[non_exhaustive]
pub struct Commit {
    /// The events, ordered by revision. Empty: the tree is already in the state that the command asks for.
    pub events: Vec<Event>,
    /// Lines for the full logs. Only stacks in a folder keep logs. They write the lines before they commit
    /// the events.
    pub log: Vec<LogAppend>,
}

/// Lines to append to the full log of a frame.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogAppend {
    /// The frame.
    pub handle: Handle,
    /// Path of its log, relative to the stack's folder.
    pub log_path: String,
    /// True if the frame has had no log at this path. A file that is already there belongs to something else.
    pub is_new: bool,
    /// The lines, each a JSON value.
    pub entries: Vec<Value>,
    /// True if the lines have the same content as events of the commit. If the commit fails and it is not
    /// known whether the events were kept, these lines stay in the log.
    pub repeats_events: bool,
}

/// A commit that is being put together, for a tree that does not change meanwhile. Only this type assigns
/// revisions to events.
pub(crate) struct Draft<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) now: u64,
    /// The actor that gives the command; `None`: a caller that uses the stack directly.
    pub(crate) actor: Option<Actor>,
    /// True: a person gives the command.
    pub(crate) is_person: bool,
    /// True: the command begins a call, which holds the frame.
    pub(crate) is_call: bool,
    commit: Commit,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(tree: &'a Tree, now: u64) -> Self {
        Self { tree, now, actor: None, is_person: false, is_call: false, commit: Commit::default() }
    }

    /// A draft that starts with the commit of a command.
    pub(crate) fn of(tree: &'a Tree, command: Command, now: u64) -> Result<Self> {
        let mut draft = Self::new(tree, now);
        draft.decide(command)?;
        Ok(draft)
    }

    /// Adds the commit of a command. The command is decided on the tree as it is before the events of this
    /// draft.
    pub(crate) fn decide(&mut self, command: Command) -> Result<()> {
        self.append(decide(self.tree, command, self.now)?);
        Ok(())
    }

    /// True if this draft lets a frame go.
    pub(crate) fn has_let_go(&self, handle: Handle) -> bool {
        let lets_go = |event: &Event| event.handle == handle && matches!(event.change, Change::Released { .. });
        self.commit.events.iter().any(lets_go)
    }

    /// True if this draft gives a frame to a holder, or lets it go.
    pub(crate) fn changes_holder(&self, handle: Handle) -> bool {
        let is_holding = |change: &Change| matches!(change, Change::Released { .. } | Change::Held { .. });
        self.commit.events.iter().any(|event| event.handle == handle && is_holding(&event.change))
    }

    /// Adds a commit that was decided on the tree before the events of this draft.
    pub(crate) fn append(&mut self, Commit { events, log }: Commit) {
        events.into_iter().for_each(|event| self.push(event.handle, event.change));
        self.commit.log.extend(log);
    }

    /// Adds an event with the next revision.
    pub(crate) fn push(&mut self, handle: Handle, change: Change) {
        self.push_at(handle, change, self.now);
    }

    /// Adds an event with another time, for something that has happened elsewhere.
    pub(crate) fn push_at(&mut self, handle: Handle, change: Change, time: u64) {
        let revision = self.tree.revision().saturating_add(1 + self.commit.events.len() as u64);
        self.commit.events.push(Event { revision, time, handle, change });
    }

    /// Adds lines to the log of a frame. If this log is not the frame's log yet, also adds an event that
    /// makes it the frame's log.
    pub(crate) fn append_log(&mut self, handle: Handle, log_path: String, entries: Vec<Value>, repeats_events: bool) {
        let known = self.tree.node(handle).record().log_path.as_ref();
        // A frame whose log a host keeps elsewhere by now can have lines in its own file.
        let is_new = known.is_none();
        if known != Some(&log_path) {
            self.push(handle, Change::LogPathSet { log_path: log_path.clone() });
        }
        self.commit.log.push(LogAppend { handle, log_path, is_new, entries, repeats_events });
    }

    /// The events so far.
    pub(crate) fn events(&self) -> &[Event] {
        &self.commit.events
    }

    /// The frame of the first event.
    ///
    /// # Panics
    /// Panics if there is no event.
    pub(crate) fn first_handle(&self) -> Handle {
        self.commit.events[0].handle
    }

    pub(crate) fn finish(self) -> Commit {
        self.commit
    }
}
