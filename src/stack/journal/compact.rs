//! Compaction: the events of finished trees are removed from the store, because the snapshot has these trees.

use super::Journal;
use super::snapshots::{archived, write_newest_snapshot};
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::stack::archive::archive_of;
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::{CompactedEvents, CompactionLimits, EventQuery, Snapshot};
use crate::tree::{Compared, Comparison};

impl Journal {
    /// Compares the events with the snapshot, removes those of finished trees in the same transaction, and
    /// gives their space back to the disk.
    pub(in crate::stack) fn compact(
        &mut self,
        tree: &SharedTree,
        before: u64,
        deadline: &Deadline,
    ) -> Result<CompactedEvents> {
        let compacted = self.in_transaction(tree, deadline, |store, tree| {
            let made = write_newest_snapshot(store, tree)?;
            let Some(Snapshot { revision, head, unfinished, .. }) = store.snapshot(deadline.remaining())? else {
                return Ok(CompactedEvents::default());
            };
            let archive = archive_of(store).ok_or(Error::InMemory { what: "snapshots" })?;
            let mut comparison = Comparison::new(archive, head, unfinished, revision)?;
            let query = EventQuery::default().since(comparison.revision());
            store.read(&query, deadline.remaining(), &mut |event| comparison.follow(event))?;
            let Compared { same, problems } = comparison.into_result()?;
            if let Some(problem) = problems.first() {
                let advice = "nothing was compacted; make the snapshot again from the events (`upkeep().repair`, or `callstack doctor \
                              --repair`), then compact";
                return Err(Error::damaged("the snapshot of the history", problem, advice));
            }
            let is_verified = |root: Handle| same.contains(&root);
            let compacted = store.compact(&CompactionLimits { before, is_verified: &is_verified })?;
            store.commit()?;
            archived(tree, made);
            Ok(compacted)
        })?;
        self.drop_finished(tree);
        if let Some(store) = &mut self.store {
            // The events are removed. The file becomes smaller now, or with later events.
            let _ = store.shrink(deadline.remaining());
        }
        Ok(compacted)
    }
}
