//! Commands that go back: a completed frame is reopened, and the last command of a person is taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use super::editing::Place;
use super::not_empty;
use crate::error::{Error, Result};
use crate::frame::{Change, Event, FrameBefore, FrameEdit, FrameRef, FrameStatus, Handle, TreeBefore, changed_keys};
use crate::tree::given::{Given, left_by};
use crate::tree::{Draft, Tree};

/// The reason for the invalidation of a frame whose creation was taken back.
pub(crate) const TAKEN_BACK: &str = "It was taken back.";
/// A command that changes more frames than this, in addition to the frames that it adds, cannot be taken
/// back.
pub const MOST_TAKEN_BACK: usize = 2_000;

impl Draft<'_> {
    /// Reopens a completed frame.
    pub(super) fn reopen(&mut self, handle: Handle, reason: String) -> Result<()> {
        let (tree, node) = (self.tree, self.tree.node(handle));
        let from = node.status();
        if from != FrameStatus::Completed || tree.run(handle).is_some() {
            return Err(Error::Transition { handle, from, to: FrameStatus::InProgress });
        }
        not_empty("reason", &reason)?;
        // A frame that only holds others together continues when its parts continue.
        let is_group = |above: &Handle| {
            let node = tree.node(*above);
            node.status() == FrameStatus::Completed && node.record().no_work.is_some()
        };
        let groups: Vec<Handle> = tree.ancestors(handle).take_while(is_group).collect();
        let mut above = tree.ancestors(handle).skip(groups.len());
        if let Some(above) = above.find(|above| !tree.node(*above).status().is_open()) {
            return Err(match tree.node(above).status() {
                FrameStatus::Planned => Error::ParentPlanned { handle: above },
                status => Error::ParentClosed { handle: above, status },
            });
        }
        self.check_free(handle)?;
        for group in groups {
            self.push(group, Change::Reopened { reason: reason.clone() });
        }
        self.push(handle, Change::Reopened { reason });
        self.take(handle);
        self.activate(Some(handle));
        Ok(())
    }

    /// Notes that a person has given a command, together with the changes that it has made so far.
    pub(super) fn note_command(&mut self, command: &str, by: &str) {
        let Some(first) = self.events().first().map(|event| event.handle) else { return };
        let before = self.before_command().map(Box::new);
        self.push(first, Change::Commanded { command: command.to_owned(), by: by.to_owned(), before });
    }

    /// The state of the tree before the events so far. `None` if some events cannot be taken back, or if
    /// there are too many.
    fn before_command(&self) -> Option<TreeBefore> {
        let tree = self.tree;
        let mut before = TreeBefore::default();
        let mut frames: BTreeMap<Handle, (Vec<&str>, Option<Box<FrameEdit>>)> = BTreeMap::new();
        for Event { handle, change, .. } in self.events() {
            let is_known = handle.index() < tree.len();
            match change {
                Change::Added { frame } if frame.retry_of.is_none() => {
                    before.added = Some([before.added.map_or(*handle, |[first, _]| first), *handle]);
                    continue;
                }
                Change::Added { .. } => return None,
                Change::DependenciesAdded { .. } | Change::Imported { .. } if !is_known => continue,
                Change::ActiveChanged { .. } => before.active = tree.active(),
                _ => {}
            }
            let keys = changed_keys(change)?;
            if !is_known || keys.is_empty() {
                continue;
            }
            // The steps of a run are not repeated.
            if tree.run(*handle).is_some() || frames.len() > MOST_TAKEN_BACK {
                return None;
            }
            let (changed, place) = frames.entry(*handle).or_default();
            changed.extend(keys);
            // A frame that has waited to begin is planned then.
            if matches!(change, Change::Answered { becomes: Some(_), .. }) {
                changed.push("status");
            }
            if let Change::Edited { edit, .. } | Change::Reimported { edit: Some(edit), .. } = change
                && edit.changes_plan()
            {
                note_place(place, place_before(tree, *handle, edit));
            }
        }
        let before_of =
            |(frame, (keys, edit))| FrameBefore { frame, values: tree.node(frame).record().values(keys), edit };
        before.frames = frames.into_iter().map(before_of).collect();
        Some(before)
    }

    /// Takes back the last command of a person, if no later work is built on it.
    pub(super) fn undo(&mut self, by: &str) -> Result<()> {
        let tree = self.tree;
        let given = tree.given().iter().rfind(|given| given.by == by).ok_or(Error::NothingToUndo {})?;
        let refused = |reason: String| Error::NotUndone { command: given.command.clone(), reason };
        let Some(before) = given.before.as_deref() else {
            return Err(refused(format!(
                "retries, stops, commands about the heap, and commands that change more than {MOST_TAKEN_BACK} frames cannot"
            )));
        };
        if let Some(reason) = built_since(tree, given, before) {
            return Err(refused(reason));
        }
        let (commanded, command) = (given.revision, given.command.clone());
        self.push(given.handle, Change::Undone { commanded, command });
        let first = self.events().len();
        for FrameBefore { frame, values, edit } in in_order_of_return(tree, before) {
            self.push(*frame, Change::Restored { values: values.clone(), edit: edit.clone() });
        }
        if let Some(reason) = cannot_go_back(tree, before, &self.events()[first..]) {
            return Err(refused(reason));
        }
        // A frame that was moved below a new frame has left it by then.
        for frame in before.added() {
            if tree.node(frame).status() != FrameStatus::Invalidated {
                self.push(frame, Change::Invalidated { reason: TAKEN_BACK.to_owned() });
                self.leave(frame, FrameStatus::Invalidated);
            }
        }
        // Another frame may have been made active since, or this frame may have ended.
        let status_of = |frame: Handle| {
            let restored = before.frames.iter().find(|before| before.frame == frame);
            restored.and_then(FrameBefore::status).unwrap_or_else(|| tree.node(frame).status())
        };
        if let Some(active) = before.active.filter(|frame| tree.active() == given.active && status_of(*frame).is_open())
        {
            self.push(active, Change::ActiveChanged { active: true });
        }
        Ok(())
    }
}

/// The frames that a command has changed, in an order in which each of them can go back. Parents come before
/// the frames that were below them before the command, so that no frame ever comes below itself. Among
/// siblings the last one comes first, because a place is named by the next sibling.
fn in_order_of_return<'a>(tree: &Tree, before: &'a TreeBefore) -> Vec<&'a FrameBefore> {
    let find = |frame: &FrameRef| tree.resolve(frame).ok();
    let places: BTreeMap<Handle, &FrameEdit> =
        before.frames.iter().filter_map(|before| Some((before.frame, &**before.edit.as_ref()?))).collect();
    let parent_of = |frame: Handle| match places.get(&frame).and_then(|edit| edit.parent.as_ref()) {
        Some(parent) => parent.as_ref().and_then(find),
        None => tree.node(frame).parent(),
    };
    let next_of = |frame: Handle| {
        let next = places.get(&frame)?.before.as_ref()?.as_ref().and_then(find);
        next.filter(|next| places.contains_key(next))
    };
    // Only a damaged command can contain a circle.
    let depth = |frame| iter::successors(parent_of(frame), |above| parent_of(*above)).take(tree.len()).count();
    let behind = |frame| iter::successors(next_of(frame), |next| next_of(*next)).take(before.frames.len()).count();
    let order = |frame: Handle| if places.is_empty() { (0, 0) } else { (depth(frame), behind(frame)) };
    let mut frames: Vec<((usize, usize), &FrameBefore)> =
        before.frames.iter().map(|before| (order(before.frame), before)).collect();
    frames.sort_by_key(|(order, _)| *order);
    frames.into_iter().map(|(_, before)| before).collect()
}

/// Why frames cannot return to their places before a command. The events move all of them there.
fn cannot_go_back(tree: &Tree, before: &TreeBefore, events: &[Event]) -> Option<String> {
    before.frames.iter().find(|before| before.edit.is_some())?;
    let mut restored = tree.clone();
    // The event that comes before these events in the draft is not applied.
    let revisions = tree.revision() + 1..;
    revisions.zip(events).for_each(|(revision, event)| restored.apply(&Event { revision, ..event.clone() }));
    before.frames.iter().find_map(|before| {
        let edit = before.edit.as_ref()?;
        let error = Place::after(&restored, before.frame, edit).err()?;
        Some(format!("{} cannot go back: {error}", before.frame))
    })
}

/// The edit that undoes an edit of a frame: it restores the place and the dependencies of the frame.
fn place_before(tree: &Tree, handle: Handle, edit: &FrameEdit) -> FrameEdit {
    // Written as texts, because these are equal to the texts that are read from a store.
    let name = |handle: Handle| FrameRef::Text(handle.to_string());
    let node = tree.node(handle);
    FrameEdit {
        depends_on: edit.depends_on.as_ref().map(|_| node.dependencies().iter().copied().map(name).collect()),
        parent: edit.parent.as_ref().map(|_| node.parent().map(name)),
        before: edit.moves().then(|| tree.next(handle).map(name)),
        ..FrameEdit::default()
    }
}

/// Adds an edit to the way back from several edits. Each edit leads back to the state before the command.
fn note_place(place: &mut Option<Box<FrameEdit>>, before: FrameEdit) {
    let FrameEdit { depends_on, parent, before: next, .. } = before;
    let place = place.get_or_insert_default();
    place.depends_on = place.depends_on.take().or(depends_on);
    place.parent = place.parent.take().or(parent);
    place.before = place.before.take().or(next);
}

/// Why a command cannot be taken back: what has changed since, or was built on it. `None`: it can be taken
/// back.
fn built_since(tree: &Tree, given: &Given, before: &TreeBefore) -> Option<String> {
    let changed = before.frames.iter().map(|before| before.frame);
    let mut frames = changed.chain(before.added()).zip(given.left.iter().zip(left_by(tree, before)));
    if let Some((handle, _)) = frames.find(|(_, (left, now))| *left != now) {
        let ended = tree.node(handle).parent().filter(|above| !tree.node(*above).status().is_unfinished());
        return Some(match ended {
            Some(above) => {
                format!("{handle} has changed since, or {above} above it, which is {}", tree.node(above).status())
            }
            None => format!("{handle} has changed since"),
        });
    }
    let is_later = |other: &Handle| other.index() >= given.frames;
    let added: BTreeSet<Handle> = before.added().collect();
    // A frame that is left there would wait for ever.
    let returning: BTreeSet<Handle> =
        before.frames.iter().filter(|before| before.edit.is_some()).map(|before| before.frame).collect();
    let is_left = |other: &&Handle| {
        !added.contains(other) && !returning.contains(other) && tree.node(**other).status().is_unfinished()
    };
    for handle in before.added() {
        if let Some(child) = tree.children(handle).iter().find(is_left) {
            return Some(format!("{child} was added below {handle} since"));
        }
        if let Some(dependent) = tree.dependents(handle).iter().find(is_left) {
            return Some(format!("{dependent} depends on {handle} since"));
        }
    }
    before.frames.iter().find_map(|before| {
        let handle = before.frame;
        let node = tree.node(handle);
        if let Some(next) = node.retried_as().filter(is_later) {
            return Some(format!("{handle} was retried as {next} since"));
        }
        let status = before.status()?;
        let is_new = |child: &&Handle| is_later(child) && tree.node(**child).status().is_unfinished();
        if let Some(child) = tree.children(handle).iter().find(is_new).filter(|_| !status.is_open()) {
            return Some(format!("{child} was added below {handle} since"));
        }
        let has_begun = |other: &&Handle| {
            let record = tree.node(**other).record();
            record.status != FrameStatus::Planned && record.begun_at.unwrap_or(record.created_at) >= given.time
        };
        let dependents = tree.dependents(handle).iter();
        let dependent = { dependents }.find(has_begun).filter(|_| node.status() == FrameStatus::Completed)?;
        Some(format!("{dependent}, which depends on {handle}, was begun since"))
    })
}
