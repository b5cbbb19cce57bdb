//! The way of a command: it is decided on the newest tree, written to the store and the logs, and applied to
//! the tree.

use super::Journal;
use super::catch_up::catch_up;
use super::logs::{LogMoves, Logs, append_lines, moved_logs};
use super::outdated::note;
use super::snapshots::{MANY_EVENTS, write_due_snapshot};
use crate::error::Result;
use crate::frame::Event;
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::{EventQuery, Store};
use crate::tree::{Commit, LogAppend, Tree};

/// If a command had to follow this many events of other processes, the next one follows them before it asks for the
/// lock: many processes share the stack, and what one of them does while it has the lock, the others wait for. On a
/// server that costs the command two or three round trips more.
const MANY_FOLLOWED: u64 = 32;

/// The result of a commit.
pub(in crate::stack) struct Committed {
    pub(in crate::stack) events: Vec<Event>,
    /// True if the commit created the file of a log.
    pub(in crate::stack) has_new_log: bool,
    /// The revision of the snapshot that was made with the commit.
    archived: Option<u64>,
}

impl Journal {
    /// Decides on the newest tree, commits the result, and applies it. No other process can commit in
    /// between. [`Error`](crate::Error) describes the state after a failure.
    ///
    /// The tree is locked only while it is read or changed, not while the disk is used, so readers do not
    /// wait for the disk.
    pub(in crate::stack) fn commit(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        decide: impl FnOnce(&Tree) -> Result<Commit>,
    ) -> Result<Committed> {
        self.transaction(tree, deadline, |tree| tree.read().checked(decide)?)
    }

    /// As [`Journal::commit`], for an empty history. The tree is not locked while `found` runs, so `found`
    /// may read files.
    pub(in crate::stack) fn found(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        found: impl FnOnce() -> Result<Commit>,
    ) -> Result<()> {
        // Another process may do the same at the same time. The second process finds the events of the first.
        let founding = |tree: &SharedTree| if tree.read().revision() == 0 { found() } else { Ok(Commit::default()) };
        self.transaction(tree, deadline, founding).map(drop)
    }

    fn transaction(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        decide: impl FnOnce(&SharedTree) -> Result<Commit>,
    ) -> Result<Committed> {
        let committed = match &mut self.store {
            None => Committed { events: decide(tree)?.events, has_new_log: false, archived: None },
            Some(store) => {
                let Self { mirror, is_incomplete, followed, .. } = self;
                let before = tree.read().revision();
                if *followed >= MANY_FOLLOWED {
                    // The same is done again with the lock, and reports what fails.
                    let _ = catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline);
                }
                if let Err(error) = store.begin(deadline.remaining()) {
                    store.rollback();
                    return Err(error);
                }
                let committed = catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline)
                    .and_then(|()| {
                        *followed = tree.read().revision().saturating_sub(before);
                        decide(tree)
                    })
                    .and_then(|commit| {
                        let logs = Logs { folder: self.folder.as_ref(), are_synced: self.syncs_logs, deadline };
                        persist(&mut **store, logs, tree, commit)
                    });
                // Ends the transaction if it was not committed.
                store.rollback();
                self.is_uncertain = committed.is_err();
                committed?
            }
        };
        let failure = tree.change(|tree| {
            let before = tree.failures();
            for event in &committed.events {
                note(self.mirror.as_mut(), tree, event, true);
                tree.apply(event);
            }
            if let Some(revision) = committed.archived {
                tree.archived(revision, true);
            }
            tree.drop_finished(self.finished_frames);
            tree.failure_since(before)
        });
        // The events are committed. The next command reads the tree again.
        self.is_incomplete |= failure.is_some();
        if committed.events.len() >= MANY_EVENTS {
            // A failure does not fail the command. A later command makes the snapshot.
            let _ = self.make_snapshot(tree, deadline);
        }
        Ok(committed)
    }
}

/// Writes the lines of the logs, then commits the events. If this fails, the lines are removed again.
/// Exception: if the commit failed but may have been kept, lines that repeat events stay. A log may have a
/// message twice, but never lacks one.
fn persist(store: &mut dyn Store, logs: Logs<'_>, tree: &SharedTree, commit: Commit) -> Result<Committed> {
    let Commit { events, log } = commit;
    if store.logs().is_some() {
        return persist_with_logs(store, tree, events, log);
    }
    let mut written = Vec::new();
    let moved = moved_logs(&tree.read(), &events);
    let prepared = append_lines(logs, log, &mut written)
        .and_then(|()| logs.folder.map(|folder| LogMoves::begin(folder, moved)).transpose());
    let moves = match prepared {
        Ok(moves) => moves,
        Err(error) => {
            logs.take_back(&written, true);
            return Err(error);
        }
    };
    let has_new_log = written.iter().any(|lines| lines.appended.is_first());
    if events.is_empty() {
        return Ok(Committed { events, has_new_log, archived: None });
    }
    let archived = match append_events(store, tree, &events) {
        Ok(archived) => archived,
        Err(error) => {
            moves.iter().for_each(LogMoves::undo);
            logs.take_back(&written, true);
            return Err(error);
        }
    };
    if let Err(error) = store.commit() {
        store.rollback();
        let is_undone = !may_have_lasted(store, &events, logs.deadline);
        if is_undone {
            moves.iter().for_each(LogMoves::undo);
        }
        logs.take_back(&written, is_undone);
        return Err(error);
    }
    moves.iter().for_each(LogMoves::finish);
    Ok(Committed { events, has_new_log, archived })
}

/// Commits the events together with the lines of the logs, in a store that keeps both.
fn persist_with_logs(
    store: &mut dyn Store,
    tree: &SharedTree,
    events: Vec<Event>,
    log: Vec<LogAppend>,
) -> Result<Committed> {
    if events.is_empty() && log.is_empty() {
        return Ok(Committed { events, has_new_log: false, archived: None });
    }
    let mut has_new_log = false;
    for LogAppend { handle, entries, .. } in log {
        let lines = entries.iter().map(|entry| entry.to_string()).collect();
        has_new_log |= store.append_log(handle, lines)?;
    }
    let archived = if events.is_empty() { None } else { append_events(store, tree, &events)? };
    store.commit()?;
    Ok(Committed { events, has_new_log, archived })
}

/// Adds events to the transaction, and a snapshot of the tree before them, if one is due. Returns its
/// revision.
fn append_events(store: &mut dyn Store, tree: &SharedTree, events: &[Event]) -> Result<Option<u64>> {
    events.iter().try_for_each(|event| tree.read().prepare(event))?;
    let archived = write_due_snapshot(store, tree)?;
    store.append(events)?;
    Ok(archived)
}

/// True if the store has, or may have, the events of a commit that failed.
fn may_have_lasted(store: &mut dyn Store, events: &[Event], deadline: &Deadline) -> bool {
    let first = &events[0];
    let mut is_there = false;
    let query = EventQuery::default().since(first.revision - 1).limit(1);
    let looked = store.read(&query, deadline.remaining(), &mut |event| {
        is_there = event == *first;
        Ok(())
    });
    is_there || looked.is_err()
}
