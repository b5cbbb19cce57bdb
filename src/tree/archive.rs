//! The archive of a tree: where a tree keeps the frames that it does not hold in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Node;
use crate::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::{Frame, Handle};

/// An archive, and the failures in it. Frames are read in places that cannot return an error. So a failure is
/// noted here, and the caller of the whole operation asks for it.
#[derive(Debug)]
pub(super) struct Shelf {
    archive: Arc<dyn Archive>,
    failures: AtomicU64,
    failure: Mutex<Option<Error>>,
    /// Stands for a node that could not be loaded.
    missing: Box<Node>,
}

impl Shelf {
    pub(super) fn new(archive: Arc<dyn Archive>) -> Self {
        let first = Handle::from_index(0).expect("the first handle");
        let missing = Box::new(Node::new(Frame::default(), None, 0, first));
        Self { archive, failures: AtomicU64::new(0), failure: Mutex::default(), missing }
    }

    /// An archive from which nothing can be read.
    pub(super) fn closed() -> Self {
        Self::new(Arc::new(Closed))
    }

    pub(super) fn archive(&self) -> &dyn Archive {
        &*self.archive
    }

    pub(super) fn shared_archive(&self) -> Arc<dyn Archive> {
        self.archive.clone()
    }

    /// The answer of the archive. `None` if it has failed; the failure is noted.
    pub(super) fn noting<T>(&self, answer: Result<T>) -> Option<T> {
        let noted = |error| {
            *self.failure.lock() = Some(error);
            self.failures.fetch_add(1, Ordering::Release);
        };
        answer.map_err(noted).ok()
    }

    pub(super) fn missing(&self) -> &Node {
        &self.missing
    }

    /// The number of failures so far.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    /// The last failure, if there were more than this number.
    pub(super) fn failure_since(&self, number: u64) -> Option<Error> {
        if self.failures() == number { None } else { self.failure.lock().clone() }
    }
}

/// Takes the place of an archive that is newer than its tree.
#[derive(Debug)]
struct Closed;

impl Closed {
    fn refused<T>() -> Result<T> {
        Err(Error::json(SNAPSHOT, "it is newer than the tree"))
    }
}

impl Archive for Closed {
    fn frames(&self, _: Handle) -> Result<Vec<ArchivedFrame>> {
        Self::refused()
    }

    fn page(&self, _: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        Self::refused()
    }

    fn find(&self, _: ArchiveQuery<'_>, _: u64) -> Result<Vec<ArchivedPlace>> {
        Self::refused()
    }
}

/// The finished trees that are in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Loaded {
    /// For each root the number of its frames, and the time of its last use.
    trees: HashMap<Handle, (usize, u64)>,
    /// The roots by the times of their last uses.
    uses: BTreeMap<u64, Handle>,
    /// Counts the uses.
    time: u64,
    /// The number of frames of all trees.
    frames: usize,
    /// True if no tree has been added since the trees that could be dropped were dropped.
    is_settled: bool,
}

impl Loaded {
    /// Adds a tree with this number of frames.
    pub(super) fn insert(&mut self, root: Handle, frames: usize) {
        self.remove(root);
        self.time += 1;
        self.frames += frames;
        self.trees.insert(root, (frames, self.time));
        self.uses.insert(self.time, root);
        self.is_settled = false;
    }

    pub(super) fn note_use(&mut self, root: Handle) {
        if let Some((_, used)) = self.trees.get_mut(&root) {
            self.time += 1;
            self.uses.remove(used);
            self.uses.insert(self.time, root);
            *used = self.time;
        }
    }

    pub(super) fn remove(&mut self, root: Handle) {
        if let Some((frames, used)) = self.trees.remove(&root) {
            self.uses.remove(&used);
            self.frames -= frames;
        }
    }

    /// Notes that trees that could not be dropped before can perhaps be dropped now.
    pub(super) fn look_again(&mut self) {
        self.is_settled = false;
    }

    pub(super) fn has_excess(&self, most: usize) -> bool {
        self.frames > most && !self.is_settled
    }

    /// The number of frames to drop until at most this number is left. 0 until something has changed since
    /// the last time.
    pub(super) fn take_excess(&mut self, most: usize) -> usize {
        if !self.has_excess(most) {
            return 0;
        }
        self.is_settled = true;
        self.frames - most
    }

    /// The tree that was used first after this time, with the time.
    pub(super) fn used_after(&self, time: u64) -> Option<(u64, Handle)> {
        self.uses.range(time + 1..).next().map(|(used, root)| (*used, *root))
    }

    /// The roots. The roots of the trees that were used longest ago come first.
    pub(super) fn roots(&self) -> impl Iterator<Item = Handle> + '_ {
        self.uses.values().copied()
    }
}
