//! Compares an archive with the events from which the archive follows. The events are applied one by one.
//! Each finished tree is compared, and dropped, as soon as the archive has it in its present state. So few
//! trees are in memory at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::scan::Scan;
use super::{Node, Tree};
use crate::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use crate::error::{Error, Result};
use crate::frame::{Event, Handle};

/// Finished trees are compared once they have this number of frames in memory.
const COMPARED_FRAMES: usize = 4_096;

/// After this number of unreadable frames, further ones are not noted.
const MOST_UNREADABLE: usize = 100;

/// A comparison that continues with each event.
pub(crate) struct Comparison {
    tree: Tree,
    archive: Arc<Earlier>,
    /// The head of the archive, and its unfinished trees in one piece.
    head: String,
    unfinished: Vec<u8>,
    /// The roots of trees that change again, by the revision of their last change.
    later: BTreeMap<u64, BTreeSet<Handle>>,
    compared: Compared,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The roots of the trees that are the same in the archive.
    pub(crate) same: BTreeSet<Handle>,
    /// The frames that are not the same, and what is different. Empty if the archive agrees with the events.
    pub(crate) problems: Vec<String>,
}

impl Comparison {
    /// Compares the archive, whose snapshot has this head and these unfinished trees, with the events that follow
    /// the base of the archive.
    ///
    /// # Errors
    /// The errors of the archive; [`Error::Json`](crate::Error::Json) if the base cannot be read.
    pub(crate) fn new(archive: Arc<dyn Archive>, head: String, unfinished: Vec<u8>, revision: u64) -> Result<Self> {
        let (base_head, base) = archive.base()?.unzip();
        let archive = Arc::new(Earlier { archive, revision, base });
        let tree = match base_head {
            Some(base_head) => Tree::of_snapshot(&base_head, &[], archive.clone(), true)?,
            None => {
                let mut tree = Tree::new();
                tree.use_archive(archive.clone());
                tree
            }
        };
        let mut made = Self { tree, archive, head, unfinished, later: BTreeMap::new(), compared: Compared::default() };
        if made.tree.revision() == revision {
            made.end()?;
        }
        Ok(made)
    }

    /// Applies the next event.
    ///
    /// # Errors
    /// [`Error::History`](crate::Error::History) if the event does not fit; the errors of the archive.
    pub(crate) fn follow(&mut self, event: Event) -> Result<()> {
        let before = self.tree.failures();
        self.tree.checked(|tree| tree.check_next(&event))??;
        self.tree.prepare(&event)?;
        self.tree.apply_owned(event);
        if let Some(error) = self.tree.failure_since(before).filter(|error| !is_of_data(error)) {
            return Err(error);
        }
        if self.tree.revision() == self.archive.revision {
            return self.end();
        }
        let is_due = self.later.first_key_value().is_some_and(|(revision, _)| *revision <= self.tree.revision());
        if is_due || self.tree.has_excess(COMPARED_FRAMES) {
            let waiting: BTreeSet<Handle> = match is_due {
                true => self.later.pop_first().map(|(_, roots)| roots).unwrap_or_default(),
                false => self.tree.loaded_roots().into_iter().collect(),
            };
            for root in waiting {
                self.compare_finished(root)?;
            }
        }
        Ok(())
    }

    /// Compares the rest, at the revision of the archive.
    fn end(&mut self) -> Result<()> {
        if self.tree.snapshot_head() != self.head {
            self.compared.problems.push("the head of the snapshot is another one than the events give".to_owned());
        }
        self.compared.problems.extend(self.tree.problem_of_packed(&self.unfinished)?);
        for root in self.tree.roots_in_memory() {
            let frames = self.archive.frames(root)?;
            self.compare(root, &frames);
        }
        Ok(())
    }

    /// Compares a tree, and drops it, if it is finished and does not change again.
    fn compare_finished(&mut self, root: Handle) -> Result<()> {
        let is_finished = |node: &Node| node.parent().is_none() && !node.is_unfinished_at_or_below();
        if !self.tree.is_in_memory(root) || !is_finished(self.tree.node(root)) {
            self.tree.forget_loaded(root);
            return Ok(());
        }
        let frames = self.archive.frames(root)?;
        let changed = frames.iter().map(|frame| frame.changed).max().unwrap_or_default();
        if changed > self.tree.revision() {
            self.later.entry(changed).or_default().insert(root);
            self.tree.forget_loaded(root);
            return Ok(());
        }
        if self.tree.is_settled(root) {
            self.compare(root, &frames);
            self.tree.drop_tree(root);
        }
        Ok(())
    }

    fn compare(&mut self, root: Handle, frames: &[ArchivedFrame]) {
        // Another process has changed the tree since.
        if frames.iter().any(|frame| frame.changed > self.archive.revision) {
            return;
        }
        let mut expected: HashMap<Handle, &ArchivedFrame> = frames.iter().map(|frame| (frame.handle, frame)).collect();
        let before = self.compared.problems.len();
        for handle in self.tree.subtree(root) {
            let problem = match expected.remove(&handle) {
                None => "is missing in the snapshot",
                Some(frame) if *frame != self.tree.archived_frame(handle) => {
                    "is another one in the snapshot than the events give"
                }
                Some(_) => continue,
            };
            self.compared.problems.push(format!("{handle} {problem}"));
        }
        let problems = expected.into_keys().map(|handle| format!("{handle} is below {root} in the snapshot only"));
        self.compared.problems.extend(problems);
        if self.compared.problems.len() == before {
            self.compared.same.insert(root);
        }
    }

    /// Reads the frames whose events were compacted, and notes those that cannot be read.
    ///
    /// # Errors
    /// The errors of an archive that cannot be reached.
    pub(crate) fn read_compacted(&mut self) -> Result<()> {
        if self.archive.base.is_none() {
            return Ok(());
        }
        let mut scan = Scan::of(&self.tree);
        let (mut looked_at, mut unreadable) = (None, Vec::new());
        for handle in self.tree.handles() {
            if unreadable.len() == MOST_UNREADABLE {
                break;
            }
            match self.problem_of_compacted(scan.at(handle), handle, &mut looked_at) {
                Ok(problem) => unreadable.extend(problem),
                Err(error) if is_of_data(&error) => unreadable.push(format!("{handle} cannot be read: {error}")),
                Err(error) => return Err(error),
            }
        }
        self.compared.problems.extend(unreadable);
        Ok(())
    }

    /// The columns by which the frames of a tree are found must agree with their images. `looked_at`: the root of the
    /// tree that was looked at last.
    fn problem_of_compacted(
        &self,
        tree: &Tree,
        handle: Handle,
        looked_at: &mut Option<Handle>,
    ) -> Result<Option<String>> {
        let root = tree.checked(|tree| tree.root(handle))?;
        if looked_at.replace(root) == Some(root) {
            return Ok(None);
        }
        let rows = self.archive.frames(handle)?;
        let is_other = |row: &&ArchivedFrame| {
            row.handle.index() < tree.len()
                && row.changed <= self.archive.revision
                && **row != tree.archived_frame(row.handle)
        };
        let other = rows.iter().find(is_other);
        Ok(other.map(|other| format!("{} is found by other keys in the snapshot than it has", other.handle)))
    }

    /// The revision up to which events were applied.
    pub(crate) fn revision(&self) -> u64 {
        self.tree.revision()
    }

    /// What was found.
    ///
    /// # Errors
    /// The errors of an archive that cannot be reached. A frame in it that is damaged is a problem that was found.
    pub(crate) fn into_result(self) -> Result<Compared> {
        self.tree.failure_since(0).filter(|error| !is_of_data(error)).map_or(Ok(self.compared), Err)
    }
}

/// True if an error says that what is kept is wrong, not that it cannot be reached.
pub(crate) fn is_of_data(error: &Error) -> bool {
    matches!(error, Error::Json { .. } | Error::Damaged { .. } | Error::History { .. })
}

/// The archive for the tree of a comparison. A tree that is not in memory is either in its state in the
/// archive at this revision, or has not changed since the base.
#[derive(Debug)]
struct Earlier {
    archive: Arc<dyn Archive>,
    revision: u64,
    base: Option<Arc<dyn Archive>>,
}

impl Archive for Earlier {
    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        self.archive.page(after)
    }

    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        self.archive.frames(handle)
    }

    fn frames_at(&self, handle: Handle, _: u64) -> Result<Vec<ArchivedFrame>> {
        self.base.as_ref().map_or(Ok(Vec::new()), |base| base.frames(handle))
    }

    fn find(&self, query: ArchiveQuery<'_>, _: u64) -> Result<Vec<ArchivedPlace>> {
        let mut found = self.archive.find(query, self.revision)?;
        let known: BTreeSet<Handle> = found.iter().map(|found| found.handle).collect();
        if let Some(base) = &self.base {
            let earlier = base.find(query, self.revision)?.into_iter().filter(|found| !known.contains(&found.handle));
            // The frames tell whether they are still in this state.
            found.extend(earlier.map(|found| ArchivedPlace { changed: u64::MAX, ..found }));
        }
        Ok(found)
    }
}
