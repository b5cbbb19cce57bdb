//! Catching up with what other processes have committed.

use super::Journal;
use super::follow::follow;
use super::load::read_tree;
use super::snapshots::MANY_EVENTS;
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::mirror::Mirror;
use crate::store::{EventQuery, Store};
use crate::tree::Tree;

impl Journal {
    /// Applies the commits of other processes. Returns true if there were any.
    pub(in crate::stack) fn refresh(&mut self, tree: &SharedTree, deadline: &Deadline) -> Result<bool> {
        let Self { store: Some(store), mirror, is_uncertain, is_incomplete, .. } = self else { return Ok(false) };
        let before = tree.read().revision();
        if *is_uncertain || *is_incomplete || store.has_news(deadline.remaining())? {
            catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline)?;
            *is_uncertain = false;
        }
        Ok(tree.read().revision() > before)
    }
}

/// Applies the commits of other processes. If an event is damaged or does not fit, the events before it are
/// applied.
///
/// If another process has made a snapshot since, its archive no longer has what this tree knows. The events are
/// followed nevertheless, as long as they need nothing of the archive: when many processes share a large stack, each
/// of them is behind each snapshot of the others. Otherwise, and if the tree is incomplete or a snapshot was lost, the
/// tree is read again.
pub(super) fn catch_up(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    tree: &SharedTree,
    is_incomplete: &mut bool,
    deadline: &Deadline,
) -> Result<()> {
    let (known, has_archive, archived) = {
        let tree = tree.read();
        (tree.revision(), tree.has_archive(), tree.archived_revision())
    };
    let has_snapshot = archived > 0;
    let snapshot = |store: &mut dyn Store| if has_archive { store.snapshot_revision() } else { Ok(0) };
    // More events of a snapshot are not followed one by one: the snapshot is read faster. After the first snapshot of a
    // stack, finished trees need not stay in memory.
    let most = if has_snapshot { MANY_EVENTS as u64 } else { 0 };
    let newest = snapshot(store)?;
    let mut missed = newest.saturating_sub(known);
    // A failover can lose a snapshot and keep all events. What only that snapshot had is made from the events again.
    let is_lost = newest < archived;
    let mut reads_again = *is_incomplete || is_lost || missed > most;
    let mut read = Ok(());
    if !reads_again {
        let mut news = Vec::new();
        read = store.read(&EventQuery::default().since(known), deadline.remaining(), &mut |event| {
            news.push(event);
            Ok(())
        });
        if !matches!(read, Ok(()) | Err(Error::Damaged { .. })) {
            return read;
        }
        if !news.is_empty() {
            // The store has read news that the tree does not get if this fails.
            let newest = snapshot(store).inspect_err(|_| *is_incomplete = true)?;
            missed = newest.saturating_sub(known);
            reads_again = newest < archived || missed > 0 && !has_snapshot;
        }
        let mirror = mirror.as_deref_mut();
        if missed > 0 && !reads_again {
            // Readers do not see a tree that lacks something. A damaged event can end the news before the snapshot.
            let mut newer = tree.read().clone();
            let followed = newer.without_archive(|newer| follow_all(mirror, newer, news));
            reads_again = followed.is_none() || newer.revision() < known + missed;
            if !reads_again {
                newer.archived(known + missed, false);
                tree.change(|tree| *tree = newer);
            }
        } else if !reads_again && !news.is_empty() {
            let followed = tree.change(|tree| {
                let before = tree.failures();
                let followed = follow_all(mirror, tree, news);
                *is_incomplete |= tree.failures() > before;
                followed
            });
            reads_again = *is_incomplete || matches!(followed, Err(Error::Json { .. }));
            if followed.is_err() && !reads_again {
                // Meanwhile another process may have made a snapshot, or a failover may have lost one. Then the archive
                // is not the one that this tree knows.
                reads_again = snapshot(store).inspect_err(|_| *is_incomplete = true)? != newest;
            }
            if !reads_again {
                followed?;
            }
        }
    }
    if reads_again {
        *is_incomplete = true;
        let (found, _) = read_tree(store, mirror, deadline)?;
        tree.change(|tree| *tree = found);
        *is_incomplete = false;
        // A damaged event that the snapshot has need not be read.
        read = Ok(());
    }
    read
}

fn follow_all(mut mirror: Option<&mut Mirror>, tree: &mut Tree, events: Vec<Event>) -> Result<()> {
    events.into_iter().try_for_each(|event| follow(mirror.as_deref_mut(), tree, event))
}
