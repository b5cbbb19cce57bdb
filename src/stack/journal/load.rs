//! The tree of a history, read from the newest snapshot and the events since then.

use super::Journal;
use super::follow::follow;
use super::snapshots::{MANY_EVENTS, commit_snapshot, remake_snapshot};
use crate::error::{Error, Result};
use crate::frame::Repair;
use crate::stack::archive::archive_of;
use crate::stack::deadline::Deadline;
use crate::store::mirror::Mirror;
use crate::store::{EventQuery, Snapshot, Store};
use crate::tree::Tree;

impl Journal {
    /// Reads the tree of the history, and makes its first snapshot if there is none. The list says why a
    /// snapshot was not used.
    pub(in crate::stack) fn load(&mut self, deadline: &Deadline) -> Result<(Tree, Vec<Repair>)> {
        let Self { store: Some(store), mirror, finished_frames, .. } = self else { return Ok(Default::default()) };
        let read = read_tree(&mut **store, mirror.as_mut(), deadline);
        let (mut tree, mut repair) = match read {
            Err(Error::Json { .. }) if store.base_revision()? > 0 => {
                restore_base(&mut **store, mirror.as_mut(), *finished_frames, deadline)?
            }
            read => read?,
        };
        // A command makes the first snapshot of a small stack, so opening the stack writes nothing.
        let is_due = tree.revision() >= MANY_EVENTS as u64 || repair.is_some();
        // If it cannot be made, all frames stay in memory.
        if tree.has_archive()
            && tree.archived_revision() == 0
            && is_due
            && let Ok((found, later)) = make_first_snapshot(&mut **store, mirror.as_mut(), deadline)
        {
            tree = found;
            repair = repair.or(later);
        }
        tree.drop_finished(*finished_frames);
        if let Some(mirror) = mirror
            && (tree.revision() == 0 || tree.revision() < mirror.revision())
        {
            mirror.rewrite_all(tree.len());
        }
        Ok((tree, repair.into_iter().collect()))
    }

    /// The tree that an open would read now. Changes nothing here.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub(in crate::stack) fn read_again(&mut self, deadline: &Deadline) -> Result<Tree> {
        match &mut self.store {
            Some(store) => {
                // The store considers the events that it has read here as known.
                self.is_uncertain = true;
                read_tree(&mut **store, None, deadline).map(|(tree, _)| tree)
            }
            None => Ok(Tree::new()),
        }
    }
}

/// Reads the tree of a history: the tree of the newest snapshot, with the events since then. If there is no
/// snapshot, or it cannot be read, the tree follows from the events alone, and is completely in memory until
/// the next snapshot. The repair says so.
///
/// # Errors
/// [`Error::Json`] if the snapshot cannot be read and the events do not suffice: see
/// [`Store::base_revision`].
pub(super) fn read_tree(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    loop {
        let snapshot = store.snapshot(deadline.remaining())?;
        let revision = snapshot.as_ref().map_or(0, |snapshot| snapshot.revision);
        let read = read_tree_since(store, mirror.as_deref_mut(), snapshot, deadline);
        // Meanwhile another process may have made a snapshot, or have compacted the events.
        let is_outdated = matches!(read, Err(Error::Json { .. } | Error::History { .. }));
        if !is_outdated || store.snapshot_revision()? == revision {
            return read;
        }
    }
}

/// As [`read_tree`], with this snapshot.
fn read_tree_since(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    snapshot: Option<Snapshot>,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    let (mut tree, mut repair) = (Tree::new(), None);
    if snapshot.is_none() && store.base_revision()? > 0 {
        return Err(Error::json("the snapshot", "it is missing"));
    }
    let archive = archive_of(store);
    if let Some((archive, Snapshot { head, unfinished, revision, .. })) = archive.clone().zip(snapshot) {
        let is_newest = |store: &mut dyn Store| Ok::<bool, Error>(store.snapshot_revision()? == revision);
        match Tree::of_snapshot(&head, &unfinished, archive, false) {
            Ok(found) => tree = found,
            Err(error @ (Error::Json { .. } | Error::Damaged { .. } | Error::Io { .. }))
                if is_newest(store)? && store.base_revision()? == 0 =>
            {
                repair = Some(unread_snapshot(&error));
            }
            Err(error) => return Err(error),
        }
        if let Some(mirror) = mirror.as_deref_mut().filter(|mirror| mirror.revision() < tree.revision()) {
            mirror.note_unlisted();
        }
    }
    if let Some(archive) = archive.filter(|_| !tree.has_archive()) {
        tree.use_archive(archive);
    }
    let news = EventQuery::default().since(tree.revision());
    store.read(&news, deadline.remaining(), &mut |event| follow(mirror.as_deref_mut(), &mut tree, event))?;
    Ok((tree, repair))
}

fn unread_snapshot(error: &Error) -> Repair {
    Repair::of_state(format!("{error}; the events were read instead"))
}

/// Makes the first snapshot of a history, unless another process has made it meanwhile.
fn make_first_snapshot(
    store: &mut dyn Store,
    mirror: Option<&mut Mirror>,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    store.begin(deadline.remaining())?;
    let made = read_tree(store, mirror, deadline).and_then(|(mut tree, repair)| {
        if tree.has_archive() && tree.archived_revision() == 0 && tree.revision() > 0 {
            commit_snapshot(store, &mut tree)?;
        }
        Ok((tree, repair))
    });
    // Ends the transaction if it was not committed.
    store.rollback();
    made
}

/// Replaces a snapshot that cannot be read. The new snapshot is made of the snapshot that the events of the
/// history follow, unless another process has done so meanwhile.
fn restore_base(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    finished_frames: usize,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    store.begin(deadline.remaining())?;
    let restored = match read_tree(store, mirror.as_deref_mut(), deadline) {
        Err(error @ Error::Json { .. }) => {
            let made = remake_snapshot(store, finished_frames, deadline);
            mirror.into_iter().for_each(Mirror::note_unlisted);
            made.map(|tree| (tree, Some(unread_snapshot(&error))))
        }
        read => read,
    };
    // Ends the transaction if it was not committed.
    store.rollback();
    restored
}
