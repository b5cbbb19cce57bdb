//! Catching up with what other processes have committed.

use super::Journal;
use super::follow::follow;
use super::load::read_tree;
use crate::error::{Error, Result};
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::mirror::Mirror;
use crate::store::{EventQuery, Store};

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
/// applied. If another process has made a snapshot since, or the tree is incomplete, the tree is read again.
/// The reason is that the snapshot no longer has what this tree knows.
pub(super) fn catch_up(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    tree: &SharedTree,
    is_incomplete: &mut bool,
    deadline: &Deadline,
) -> Result<()> {
    let (known, has_archive) = {
        let tree = tree.read();
        (tree.revision(), tree.has_archive())
    };
    let is_behind_snapshot =
        |store: &mut dyn Store| Ok::<bool, Error>(has_archive && store.snapshot_revision()? > known);
    // What a snapshot has need not be followed event by event, no matter how much it is.
    let mut reads_again = *is_incomplete || is_behind_snapshot(store)?;
    let (mut news, mut read) = (Vec::new(), Ok(()));
    if !reads_again {
        read = store.read(&EventQuery::default().since(known), deadline.remaining(), &mut |event| {
            news.push(event);
            Ok(())
        });
        if !matches!(read, Ok(()) | Err(Error::Damaged { .. })) {
            return read;
        }
        reads_again = !news.is_empty() && is_behind_snapshot(store)?;
    }
    if reads_again {
        let (found, _) = read_tree(store, mirror, deadline)?;
        tree.change(|tree| *tree = found);
        *is_incomplete = false;
    } else if !news.is_empty() {
        let followed = tree.change(|tree| {
            let before = tree.failures();
            let followed = news.into_iter().try_for_each(|event| follow(mirror.as_deref_mut(), tree, event));
            *is_incomplete |= tree.failures() > before;
            followed
        });
        followed?;
    }
    read
}
