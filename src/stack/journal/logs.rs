//! The logs of frames that a command writes, moves or removes, and how these changes are taken back.

use std::collections::HashSet;

use super::Journal;
use crate::error::{Error, Result};
use crate::frame::{Change, Event, Handle, own_log_path};
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::folder::Folder;
use crate::store::logs::{self, Appended};
use crate::store::{LogLimits, PrunedLogs, StoredLog};
use crate::tree::{LogAppend, Tree};

/// Where and how a command writes logs.
#[derive(Clone, Copy)]
pub(super) struct Logs<'a> {
    /// `None` if the stack keeps no logs.
    pub(super) folder: Option<&'a Folder>,
    pub(super) are_synced: bool,
    pub(super) deadline: &'a Deadline,
}

impl Logs<'_> {
    /// Removes appended lines from the logs: all lines, or only those that do not repeat events.
    pub(super) fn take_back(self, written: &[Written], all: bool) {
        let undone = written.iter().rev().filter(|lines| all || !lines.repeats_events);
        undone.for_each(|lines| lines.appended.undo(self.deadline.remaining()));
    }
}

/// Lines that were appended to a log.
pub(super) struct Written {
    pub(super) appended: Appended,
    repeats_events: bool,
}

/// Appends lines to logs and records them in `written`.
///
/// Each log is locked on its own, within the store's transaction and only while its lines are written. No
/// call waits for anything else while it has the lock of a log, so these locks cannot be part of a deadlock.
pub(super) fn append_lines(logs: Logs<'_>, log: Vec<LogAppend>, written: &mut Vec<Written>) -> Result<()> {
    let Some(folder) = logs.folder else { return Ok(()) };
    for LogAppend { log_path, is_new, entries, repeats_events, .. } in log {
        if is_new {
            // A file that already has this name belongs to another frame or program.
            folder.set_aside(&log_path)?;
        }
        let appended = logs::append(folder, &log_path, &entries, logs.are_synced, logs.deadline.remaining())?;
        written.push(Written { appended, repeats_events });
    }
    Ok(())
}

/// The old and the new name of each log that moves.
pub(super) fn moved_logs(tree: &Tree, events: &[Event]) -> Vec<(String, String)> {
    let moved = events.iter().filter_map(|event| match &event.change {
        Change::LogMoved { log_path } => Some((tree.node(event.handle).record().log_path.clone()?, log_path.clone())),
        _ => None,
    });
    moved.collect()
}

/// Logs whose frames get another ID, with their old and new names. A log has both names until the commit has
/// finished. If the commit fails and it is not known whether it was kept, both names stay.
pub(super) struct LogMoves<'a> {
    folder: &'a Folder,
    moved: Vec<(String, String)>,
}

impl<'a> LogMoves<'a> {
    /// Gives the logs their new names, in addition to the old ones.
    pub(super) fn begin(folder: &'a Folder, moved: Vec<(String, String)>) -> Result<Self> {
        let mut moves = Self { folder, moved: Vec::new() };
        for (old, new) in moved.into_iter().filter(|(old, _)| folder.has_file(old)) {
            if let Err(error) = folder.set_aside(&new).and_then(|()| folder.second_name(&old, &new)) {
                moves.undo();
                return Err(error);
            }
            moves.moved.push((old, new));
        }
        Ok(moves)
    }

    pub(super) fn undo(&self) {
        self.moved.iter().for_each(|(_, new)| drop(self.folder.remove(new)));
    }

    pub(super) fn finish(&self) {
        self.moved.iter().for_each(|(old, _)| drop(self.folder.remove(old)));
    }
}

impl Journal {
    /// Removes logs of finished frames that the limits select, while no other process commits or appends to a
    /// log.
    pub(in crate::stack) fn prune_logs(
        &mut self,
        tree: &SharedTree,
        limits: LogLimits,
        deadline: &Deadline,
    ) -> Result<PrunedLogs> {
        let folder = self.folder.clone();
        self.in_transaction(tree, deadline, |store, tree| {
            let tree = tree.read();
            if let Some(stored) = store.logs() {
                let kept: HashSet<Handle> = tree.unfinished().collect();
                let found = stored.list(deadline.remaining())?;
                let found = found.into_iter().map(|StoredLog { frame, bytes, written }| (written, frame, bytes));
                let (chosen, pruned) = logs::choose(found.collect(), limits, |frame| kept.contains(frame));
                store.remove_logs(&chosen)?;
                store.commit()?;
                return Ok(pruned);
            }
            let folder = folder.ok_or(Error::InMemory { what: "logs" })?;
            let own_log = |handle: Handle| own_log_path(tree.node(handle).session_id(), handle);
            logs::prune(&folder, limits, &tree.unfinished().map(own_log).collect())
        })
    }
}
