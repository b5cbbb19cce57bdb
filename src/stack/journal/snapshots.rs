//! Snapshots of the tree in the store. The tree need not hold what they have.

use super::Journal;
use super::follow::follow;
use crate::error::{Error, Result};
use crate::stack::archive::archive_of;
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::{EventQuery, Snapshot, Store};
use crate::tree::Tree;

/// Number of events from which a command makes a snapshot itself, or an open that has read them all, so that
/// the next open does not have to read them.
pub(super) const MANY_EVENTS: usize = 1_024;

impl Journal {
    /// Makes a snapshot of the tree, if the store keeps one.
    pub(super) fn make_snapshot(&mut self, tree: &SharedTree, deadline: &Deadline) -> Result<()> {
        self.in_transaction(tree, deadline, |store, tree| {
            let made = write_newest_snapshot(store, tree)?;
            store.commit()?;
            archived(tree, made);
            Ok(())
        })?;
        self.drop_finished(tree);
        Ok(())
    }
}

/// Adds a snapshot of the tree to the transaction, if one is due. Returns its revision.
pub(super) fn write_due_snapshot(store: &mut dyn Store, tree: &SharedTree) -> Result<Option<u64>> {
    if !tree.read().is_snapshot_due() {
        return Ok(None);
    }
    // Other processes make snapshots too. A tree without a snapshot may have found a snapshot that cannot be
    // read.
    let newest = store.snapshot_revision()?;
    let known = tree.read().archived_revision();
    if known > 0 && newest > known {
        tree.change(|tree| tree.archived(newest, false));
    }
    let tree = tree.read();
    if tree.is_snapshot_due() { write_snapshot(store, &tree).map(Some) } else { Ok(None) }
}

/// Adds a snapshot of the tree to the transaction, if there are events since the last one. Returns its
/// revision.
pub(super) fn write_newest_snapshot(store: &mut dyn Store, tree: &SharedTree) -> Result<Option<u64>> {
    let tree = tree.read();
    let has_news = tree.has_archive() && tree.revision() > tree.archived_revision();
    has_news.then(|| write_snapshot(store, &tree)).transpose()
}

/// Adds a snapshot of the tree to the transaction. Returns its revision.
fn write_snapshot(store: &mut dyn Store, tree: &Tree) -> Result<u64> {
    let is_whole = tree.archived_revision() == 0;
    let unfinished = tree.pack_unfinished()?;
    let snapshot = Snapshot { revision: tree.revision(), head: tree.snapshot_head(), unfinished, is_whole };
    tree.checked(|tree| store.write_snapshot(&snapshot, &mut tree.unarchived()))??;
    Ok(snapshot.revision)
}

/// Notes the revision of a snapshot that was committed.
pub(super) fn archived(tree: &SharedTree, made: Option<u64>) {
    if let Some(revision) = made {
        tree.change(|tree| tree.archived(revision, true));
    }
}

/// Adds a snapshot of a tree that no other thread has yet to the transaction, if a snapshot is due. Then
/// drops what the tree need not hold any more.
pub(super) fn archive_if_due(store: &mut dyn Store, tree: &mut Tree, finished_frames: usize) -> Result<()> {
    if tree.is_snapshot_due() {
        let revision = write_snapshot(store, tree)?;
        tree.archived(revision, true);
        tree.drop_finished(finished_frames);
    }
    Ok(())
}

/// Commits the transaction with a snapshot of the tree.
pub(super) fn commit_snapshot(store: &mut dyn Store, tree: &mut Tree) -> Result<()> {
    let revision = write_snapshot(store, tree)?;
    store.commit()?;
    tree.archived(revision, true);
    Ok(())
}

/// Makes the snapshot again, from the events and the frames that they follow, and commits it. Reads the
/// events in parts, and keeps at most this number of frames of finished trees in memory. Call it in a
/// transaction.
pub(super) fn remake_snapshot(store: &mut dyn Store, finished_frames: usize, deadline: &Deadline) -> Result<Tree> {
    let archive = archive_of(store).ok_or(Error::InMemory { what: "snapshots" })?;
    store.restore_base()?;
    let mut tree = match store.snapshot(deadline.remaining())? {
        Some(base) => Tree::of_snapshot(&base.head, &base.unfinished, archive, false)?,
        None => {
            let mut tree = Tree::new();
            tree.use_archive(archive);
            tree
        }
    };
    loop {
        let mut events = Vec::new();
        let query = EventQuery::default().since(tree.revision()).limit(MANY_EVENTS);
        store.read(&query, deadline.remaining(), &mut |event| {
            events.push(event);
            Ok(())
        })?;
        if events.is_empty() {
            break;
        }
        for event in events {
            follow(None, &mut tree, event)?;
            archive_if_due(store, &mut tree, finished_frames)?;
        }
    }
    if tree.revision() > 0 {
        commit_snapshot(store, &mut tree)?;
        tree.drop_finished(finished_frames);
    }
    Ok(tree)
}
