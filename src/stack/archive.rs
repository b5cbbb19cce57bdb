//! The archive of a stack: the frames of the store's snapshot, or, if the snapshot cannot be used, the frames
//! of the tree that the events give.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::store::{EventQuery, HistoryReader, Store};
use crate::tree::Tree;

/// Maximum wait for the events.
const PATIENCE: Duration = Duration::from_secs(10);

/// The archive of a store, which falls back to the events.
pub(super) fn archive_of(store: &dyn Store) -> Option<Arc<dyn Archive>> {
    let archive = store.archive()?;
    Some(Arc::new(StackArchive { archive, reader: store.reader() }))
}

/// The archive of a store, and a reader of its events.
struct StackArchive {
    archive: Arc<dyn Archive>,
    reader: Option<Box<dyn HistoryReader>>,
}

impl fmt::Debug for StackArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.archive.fmt(formatter)
    }
}

impl Archive for StackArchive {
    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        self.archive.frames(handle)
    }

    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        self.archive.page(after)
    }

    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
        self.archive.find(query, since)
    }

    fn base(&self) -> Result<Option<(String, Arc<dyn Archive>)>> {
        self.archive.base()
    }

    fn frames_at(&self, handle: Handle, revision: u64) -> Result<Vec<ArchivedFrame>> {
        let Some(reader) = &self.reader else { return self.archive.frames_at(handle, revision) };
        let mut tree = match self.archive.base()? {
            Some((head, frames)) => Tree::of_snapshot(&head, &[], frames, false)?,
            None => Tree::new(),
        };
        if tree.revision() > revision {
            let message =
                format!("the tree of {handle} has changed since event {revision}, and the history was compacted");
            return Err(Error::json("the snapshot", message));
        }
        let query = EventQuery::default().since(tree.revision()).until(revision);
        reader.read(&query, PATIENCE, &mut |event| {
            tree.checked(|tree| tree.check_next(&event))??;
            tree.prepare(&event)?;
            tree.apply_owned(event);
            Ok(())
        })?;
        if tree.revision() < revision {
            // A failover can lose events.
            let message = format!("the events end at {}, before event {revision}", tree.revision());
            return Err(Error::json("the history", message));
        }
        let frames = tree.archived_tree(handle);
        // A frame of the base that could not be read has a placeholder. Events of the frame are applied to
        // the placeholder.
        tree.failure_since(0).map_or(Ok(frames), Err)
    }
}
