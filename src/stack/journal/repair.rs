//! Repairs: the snapshot is made again from the events, and the files of the mirror from the tree.

use super::catch_up::catch_up;
use super::outdated::list_changed;
use super::snapshots::remake_snapshot;
use super::{Journal, TreeFiles};
use crate::error::{Error, Result};
use crate::stack::compact::RepairedFiles;
use crate::stack::deadline::Deadline;
use crate::stack::health::found_files;
use crate::stack::shared_tree::SharedTree;
use crate::stack::span_clock::SpanClock;
use crate::store::layout;
use crate::store::mirror::Portion;

/// The folder with the files of the mirror as they were before a repair.
const BEFORE_REPAIR: &str = "before-repair";

impl Journal {
    /// Makes the snapshot again from the events, and also the files of the mirror if they are not right.
    pub(in crate::stack) fn remake(
        &mut self,
        tree: &SharedTree,
        clock: &SpanClock,
        deadline: &Deadline,
    ) -> Result<RepairedFiles> {
        let Self { store: Some(store), finished_frames, is_uncertain, .. } = self else {
            return Err(Error::InMemory { what: "history" });
        };
        let made =
            store.begin(deadline.remaining()).and_then(|()| remake_snapshot(&mut **store, *finished_frames, deadline));
        // Ends the transaction if it was not committed.
        store.rollback();
        *is_uncertain |= made.is_err();
        let made = made?;
        tree.change(|tree| *tree = made);
        self.is_incomplete = false;
        let Self { store: Some(store), mirror: Some(mirror), folder: Some(folder), is_incomplete, .. } = self else {
            return Ok(RepairedFiles::default());
        };
        let clock = || clock.now();
        let mut repaired = RepairedFiles::default();
        // If two repairs run at the same time, the second one finds what the first one has written.
        let written = mirror.locked(&clock, deadline.remaining(), |mirror| {
            if store.has_news(deadline.remaining())? {
                catch_up(&mut **store, Some(mirror), tree, is_incomplete, deadline)?;
            }
            mirror.follow_others(tree.read().revision());
            tree.lend(|tree| {
                // The events were not applied to the tree one by one.
                list_changed(&mut **store, mirror, tree, deadline)?;
                let found = found_files(folder, tree, |handle| mirror.is_due(handle));
                if found.are_wrong {
                    repaired.kept_in = layout::keep(folder, BEFORE_REPAIR)?;
                }
                if found.are_wrong || found.are_missing {
                    repaired.are_rewritten = true;
                    mirror.rewrite_all(tree.len());
                    mirror.write_all(&clock, &TreeFiles::new(tree, false), Portion::ALL)?;
                }
                Ok(())
            })
        });
        self.noting_damage(written)?;
        Ok(repaired)
    }
}
