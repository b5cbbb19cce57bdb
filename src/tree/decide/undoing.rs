//! Commands that go back: a completed frame goes on, and the last command of a person is taken back.

use std::collections::BTreeMap;

use super::editing::Place;
use super::not_empty;
use crate::error::{Error, Result};
use crate::frame::{Change, FrameBefore, FrameEdit, FrameRef, FrameStatus, Handle, changed_keys};
use crate::tree::given::{Given, digest};
use crate::tree::{Draft, Tree};

/// The reason with which a frame is invalidated whose making was taken back.
const TAKEN_BACK: &str = "It was taken back.";

impl Draft<'_> {
    /// Lets a completed frame go on.
    pub(super) fn reopen(&mut self, handle: Handle, reason: String) -> Result<()> {
        let (tree, node) = (self.tree, self.tree.node(handle));
        let from = node.status();
        if from != FrameStatus::Completed || tree.run(handle).is_some() {
            return Err(Error::Transition { handle, from, to: FrameStatus::InProgress });
        }
        not_empty("reason", &reason)?;
        if let Some(parent) = node.parent()
            && !tree.node(parent).status().is_unfinished()
        {
            return Err(Error::ParentClosed { handle: parent, status: tree.node(parent).status() });
        }
        self.check_free(handle)?;
        self.push(handle, Change::Reopened { reason });
        self.take(handle);
        self.activate(Some(handle));
        Ok(())
    }

    /// Notes that a person has given a command, with what it has changed so far.
    pub(super) fn note_command(&mut self, command: &str, by: &str) {
        let Some(first) = self.events().first().map(|event| event.handle) else { return };
        let tree = self.tree;
        let is_known = |handle: Handle| handle.index() < tree.len();
        let is_of_run = |handle: Handle| is_known(handle) && tree.run(handle).is_some();
        let mut before: Option<BTreeMap<Handle, FrameBefore>> = Some(BTreeMap::new());
        let mut was_active = None;
        for event in self.events() {
            let handle = event.handle;
            let Some(frames) = &mut before else { break };
            let frame = frames.entry(handle).or_insert_with(|| FrameBefore::new(handle));
            match (&event.change, changed_keys(&event.change)) {
                _ if is_of_run(handle) => before = None,
                (Change::Added { frame: added }, _) if added.retry_of.is_none() => frame.is_new = true,
                (Change::DependenciesAdded { .. } | Change::Imported { .. }, _) if !is_known(handle) => {}
                (_, Some(_)) if !is_known(handle) => {}
                (change, Some(keys)) => {
                    frame.values.extend(tree.node(handle).record().values(keys));
                    match change {
                        Change::Edited { edit, .. } if edit.changes_plan() => {
                            frame.edit = Some(Box::new(place_before(tree, handle, edit)));
                        }
                        Change::ActiveChanged { .. } => was_active = tree.active(),
                        _ => {}
                    }
                }
                _ => before = None,
            }
        }
        let changes = |frame: &FrameBefore| frame.is_new || !frame.values.is_empty() || frame.edit.is_some();
        let before = before.map(|frames| frames.into_values().filter(changes).collect());
        let (command, by) = (command.to_owned(), by.to_owned());
        self.push(first, Change::Commanded { command, by, was_active, before });
    }

    /// Takes back the last command of a person, if nothing has been built on it.
    pub(super) fn undo(&mut self, by: &str) -> Result<()> {
        let tree = self.tree;
        let given = tree.given().iter().rfind(|given| given.by == by).ok_or(Error::NothingToUndo {})?;
        let Given { revision, handle, command, was_active, active, before, .. } = given;
        let refused = |reason: String| Error::NotUndone { command: command.clone(), reason };
        let Some(before) = before else {
            return Err(refused("a command of its kind cannot be taken back".into()));
        };
        for (before, digest) in before {
            check_unchanged(tree, given, before, *digest).map_err(refused)?;
        }
        self.push(*handle, Change::Undone { commanded: *revision, command: command.clone() });
        for (FrameBefore { frame, is_new, values, edit }, _) in before {
            match is_new {
                true => {
                    self.push(*frame, Change::Invalidated { reason: TAKEN_BACK.to_owned() });
                    self.leave(*frame, FrameStatus::Invalidated);
                }
                false => self.push(*frame, Change::Restored { values: values.clone(), edit: edit.clone() }),
            }
        }
        // Somebody may have chosen another one since, or ended it.
        let status_of = |frame: Handle| {
            let restored = before.iter().find(|(before, _)| before.frame == frame).map(|(before, _)| before);
            restored.and_then(FrameBefore::status).unwrap_or_else(|| tree.node(frame).status())
        };
        if let Some(was_active) = was_active.filter(|frame| tree.active() == *active && status_of(*frame).is_open()) {
            self.push(was_active, Change::ActiveChanged { active: true });
        }
        Ok(())
    }
}

/// The edit that takes a frame back from an edit to its place and its dependencies.
fn place_before(tree: &Tree, handle: Handle, edit: &FrameEdit) -> FrameEdit {
    // As texts, which are equal to those that are read from a store.
    let name = |handle: Handle| FrameRef::Text(handle.to_string());
    let node = tree.node(handle);
    FrameEdit {
        depends_on: edit.depends_on.as_ref().map(|_| node.dependencies().iter().copied().map(name).collect()),
        parent: edit.parent.as_ref().map(|_| node.parent().map(name)),
        before: edit.moves().then(|| tree.next(handle).map(name)),
        ..FrameEdit::default()
    }
}

/// Checks that a frame is as a command has left it, and that nothing has been built on that. The error says what has.
fn check_unchanged(tree: &Tree, given: &Given, before: &FrameBefore, left: u64) -> std::result::Result<(), String> {
    let (handle, is_new) = (before.frame, before.is_new);
    let node = tree.node(handle);
    if digest(tree, before) != left {
        let ended = node.parent().filter(|above| !tree.node(*above).status().is_unfinished());
        return Err(match ended {
            Some(above) => {
                format!("{handle} has changed since, or {above} above it, which is {}", tree.node(above).status())
            }
            None => format!("{handle} has changed since"),
        });
    }
    if let Some(edit) = &before.edit {
        Place::after(tree, handle, edit).map_err(|error| format!("{handle} cannot go back: {error}"))?;
    }
    let is_later = |child: &&Handle| child.index() >= given.frames && tree.node(**child).status().is_unfinished();
    if let Some(child) = tree.children(handle).iter().find(is_later) {
        return Err(format!("{child} was added below {handle} since"));
    }
    let has_begun = |other: &Handle| {
        let record = tree.node(*other).record();
        record.status != FrameStatus::Planned && record.begun_at.unwrap_or(record.created_at) >= given.time
    };
    let is_needed = |other: &Handle| match is_new {
        true => other.index() >= given.frames && tree.node(*other).status().is_unfinished(),
        false => node.status() == FrameStatus::Completed && has_begun(other),
    };
    match tree.dependents(handle).iter().find(|other| is_needed(other)) {
        Some(dependent) => Err(format!("{dependent}, which depends on {handle}, was planned or begun since")),
        None => Ok(()),
    }
}
