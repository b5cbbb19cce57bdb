//! What a command commits, and the draft in which it is put together.

use serde_json::Value;

use super::{Command, Tree, decide};
use crate::error::Result;
use crate::frame::{Change, Event, Handle};

/// The outcome of deciding a command: the events that change the tree, and the lines that are added to the full logs of
/// frames.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use = "a commit changes nothing until its events are applied"]
#[non_exhaustive]
pub struct Commit {
    /// The events in the order of their revisions. Empty: there is nothing to change.
    pub events: Vec<Event>,
    /// Lines for the full logs. They are written before the events are committed, by stacks that keep logs.
    pub log: Vec<LogAppend>,
}

impl Commit {
    /// The events of a whole history, to be committed again.
    pub(crate) fn of_history(events: Vec<Event>) -> Self {
        Self { events, log: Vec::new() }
    }
}

/// Lines to be added to the full log of a frame.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogAppend {
    /// The frame.
    pub handle: Handle,
    /// Path of its log, relative to the stack's folder.
    pub log_path: String,
    /// The frame has had no log at this path: a file of that name is not its own.
    pub is_new: bool,
    /// The lines, each a JSON value.
    pub entries: Vec<Value>,
    /// The lines repeat what events of the commit say, so they stay if nobody knows whether the events were committed.
    pub repeats_events: bool,
}

/// A commit in the making, on top of a tree that does not change meanwhile. Events get their revisions here, and
/// nowhere else.
pub(crate) struct Draft<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) now: u64,
    commit: Commit,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(tree: &'a Tree, now: u64) -> Self {
        Self { tree, now, commit: Commit::default() }
    }

    /// The commit of a command, with room for more behind it.
    pub(crate) fn of(tree: &'a Tree, command: Command, now: u64) -> Result<Self> {
        Ok(Self { tree, now, commit: decide(tree, command, now)? })
    }

    /// Adds an event behind those that are there.
    pub(crate) fn push(&mut self, handle: Handle, change: Change) {
        let revision = self.tree.revision() + 1 + self.commit.events.len() as u64;
        self.commit.events.push(Event { revision, time: self.now, handle, change });
    }

    /// Adds lines to the log of a frame, which is set to be the frame's log if it is not.
    pub(crate) fn append_log(&mut self, handle: Handle, log_path: String, entries: Vec<Value>, repeats_events: bool) {
        let is_new = self.tree.node(handle).record().log_path.as_ref() != Some(&log_path);
        if is_new {
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
    /// If there is no event.
    pub(crate) fn first_handle(&self) -> Handle {
        self.commit.events[0].handle
    }

    pub(crate) fn finish(self) -> Commit {
        self.commit
    }
}
