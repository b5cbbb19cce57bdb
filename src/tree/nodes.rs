//! The nodes of a tree: in memory, packed, or in an archive. Copies of a tree share their nodes until one of
//! them changes a node.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Node;
use super::archive::{Loaded, Shelf};
use super::image::nodes_of;
use super::packed::{Block, Packed, PackedFrame};
use crate::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::Handle;

const ADVICE: &str = "make the snapshot again from the events (`upkeep().repair`, or `callstack doctor --repair`)";

/// Number of nodes of a page.
const PAGE: usize = 32;

type Page = [OnceLock<Arc<Node>>; PAGE];

/// The nodes of a tree, in the order of their handles. A clone copies pointers. The first change of a shared
/// node copies that node.
///
/// With an archive, the nodes of finished trees need not be in memory. When one of them is read, all nodes of
/// its tree are loaded; [`Nodes::drop_node`] removes a node from memory again. The nodes of unfinished trees
/// are in memory or packed: they are made when they are first needed, from what was read with the snapshot.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pages: Vec<OnceLock<Box<Page>>>,
    len: usize,
    /// `None`: all nodes are in memory.
    shelf: Option<Arc<Shelf>>,
    /// The trees that were unfinished in the snapshot that this tree was made from.
    packed: Option<Arc<Packed>>,
    /// The packed frames that were dropped since. The archive has them.
    dropped: BTreeSet<Handle>,
    /// The blocks of the newest snapshot that was read or made here. The next one uses them again.
    blocks: Mutex<Arc<[Block]>>,
    /// The finished trees in memory.
    loaded: Mutex<Loaded>,
    /// The revision of the tree. A node in the archive with a later change belongs to a later state of the
    /// tree.
    known: u64,
    /// The revision that nodes note when they change: the revision of the event that is being applied.
    revision: u64,
    /// The revision of the archive. The archive has the nodes that have no later change.
    archived: u64,
    /// The nodes that have changed after the revision of the archive.
    changed: Vec<Handle>,
    /// Number of frames of trees that have ended after that revision.
    ended: usize,
    /// Nodes that were made from the events, because the archive does not have them in their present state.
    replayed: Mutex<BTreeSet<Handle>>,
}

impl Clone for Nodes {
    fn clone(&self) -> Self {
        Self {
            pages: self.pages.clone(),
            len: self.len,
            shelf: self.shelf.clone(),
            packed: self.packed.clone(),
            dropped: self.dropped.clone(),
            blocks: Mutex::new(self.blocks.lock().clone()),
            loaded: Mutex::new(self.loaded.lock().clone()),
            known: self.known,
            revision: self.revision,
            archived: self.archived,
            changed: self.changed.clone(),
            ended: self.ended,
            replayed: Mutex::new(self.replayed.lock().clone()),
        }
    }
}

impl Nodes {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn get(&self, index: usize) -> Option<&Node> {
        (index < self.len).then(|| &self[index])
    }

    pub(super) fn shelf(&self) -> Option<&Shelf> {
        self.shelf.as_deref()
    }

    /// The node if it is in memory or packed.
    pub(super) fn in_memory(&self, index: usize) -> Option<&Node> {
        self.made(index).or_else(|| self.unpack(index))
    }

    /// The node if it is in memory and not packed.
    pub(super) fn made(&self, index: usize) -> Option<&Node> {
        self.pages.get(index / PAGE)?.get()?[index % PAGE].get().map(|node| &**node)
    }

    /// True if the node is in memory or packed.
    pub(super) fn is_in_memory(&self, handle: Handle) -> bool {
        self.made(handle.index()).is_some() || self.packed(handle).is_some()
    }

    /// The frame if its node is packed and was not needed yet.
    pub(super) fn packed(&self, handle: Handle) -> Option<PackedFrame<'_>> {
        let packed = self.packed.as_deref()?;
        let is_left = self.made(handle.index()).is_none() && !self.dropped.contains(&handle);
        packed.find(handle).filter(|_| is_left)
    }

    /// The frames whose nodes are packed and were not needed yet.
    pub(super) fn all_packed(&self) -> impl Iterator<Item = PackedFrame<'_>> {
        let packed = self.packed.iter().flat_map(|packed| packed.all());
        packed.filter(|frame| self.packed(frame.handle()).is_some())
    }

    /// The packed frame that has this ID. It may be in memory as well, but it has the ID.
    pub(super) fn packed_with_id(&self, id: &str) -> Option<Handle> {
        let mut found = self.packed.as_ref()?.with_id(id).filter(|handle| !self.dropped.contains(handle));
        found.find(|handle| self[handle.index()].session_id() == id)
    }

    /// Makes the nodes of the block that has the image of a packed node. `None` if the node is not packed, or
    /// if that fails; the failure is noted, because what is known of other frames relies on the same table.
    #[cold]
    fn unpack(&self, index: usize) -> Option<&Node> {
        let handle = Handle::from_index(index)?;
        self.packed(handle)?;
        let contradicts =
            || Error::damaged("the snapshot of the stack", format!("{handle} is not what its table says"), ADVICE);
        let nodes = self.packed.as_ref()?.nodes_near(handle).ok_or_else(contradicts);
        for (handle, node) in self.shelf.as_ref()?.noting(nodes)? {
            if !self.dropped.contains(&handle) {
                self.put(handle.index(), node);
            }
        }
        self.made(index)
    }

    /// Begins with packed trees. None of their nodes may be in memory.
    pub(super) fn use_packed(&mut self, packed: Packed) {
        *self.blocks.get_mut() = packed.blocks().into();
        self.packed = Some(Arc::new(packed));
    }

    /// The blocks of the newest snapshot that was read or made here.
    pub(super) fn blocks(&self) -> Arc<[Block]> {
        self.blocks.lock().clone()
    }

    /// Notes the blocks of a snapshot that was made.
    pub(super) fn note_blocks(&self, blocks: Vec<Block>) {
        *self.blocks.lock() = blocks.into();
    }

    /// The frames that a query finds in the archive, and that have what is searched for: `is` says this. A
    /// frame in memory that has it only because of a later change is not found. Returns nothing if there is no
    /// archive, or if the archive fails.
    pub(super) fn archived_with(&self, query: ArchiveQuery<'_>, is: impl Fn(Handle) -> bool) -> Vec<Handle> {
        let mut found = self.ask_archive(query);
        found.retain(|ArchivedPlace { handle, changed, .. }| {
            let is_as_archived = *changed <= self.known && !self.is_in_memory(*handle);
            is_as_archived || is(*handle)
        });
        found.into_iter().map(|found| found.handle).collect()
    }

    /// The frames of this tree that a query finds in the archive, and the frames that have changed there
    /// since.
    pub(super) fn ask_archive(&self, query: ArchiveQuery<'_>) -> Vec<ArchivedPlace> {
        let Some(shelf) = &self.shelf else { return Vec::new() };
        let mut found = shelf.noting(shelf.archive().find(query, self.known)).unwrap_or_default();
        found.retain(|found| found.handle.index() < self.len);
        found.sort_unstable_by_key(|found| found.handle);
        found.dedup_by_key(|found| found.handle);
        found
    }

    /// The frames of this tree that have changed in the archive since a revision.
    pub(super) fn archived_since(&self, revision: u64) -> Vec<Handle> {
        let Some(shelf) = &self.shelf else { return Vec::new() };
        let found = shelf.noting(shelf.archive().find(ArchiveQuery::Nothing, revision)).unwrap_or_default();
        found.into_iter().map(|found| found.handle).filter(|handle| handle.index() < self.len).collect()
    }

    /// True if the archive can have this frame in a state that only a later tree has.
    pub(super) fn is_outdated(&self, found: &ArchivedPlace) -> bool {
        found.changed > self.known
    }

    /// Number of frames of trees that have ended since the last snapshot.
    pub(super) fn ended(&self) -> usize {
        self.ended
    }

    /// Number of nodes that have changed since they were archived.
    pub(super) fn changes(&self) -> usize {
        self.changed.len()
    }

    /// The nodes that the archive does not have in their present state.
    pub(super) fn unarchived(&self) -> Vec<Handle> {
        let mut unarchived = self.replayed.lock().clone();
        unarchived.extend(&self.changed);
        unarchived.into_iter().collect()
    }

    /// The frames whose nodes are in memory or packed, in creation order.
    pub(super) fn all_in_memory(&self) -> impl Iterator<Item = Handle> + '_ {
        let mut all: Vec<Handle> = self.all_made().chain(self.all_packed().map(PackedFrame::handle)).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// The frames whose nodes are in memory and not packed, in creation order.
    pub(super) fn all_made(&self) -> impl Iterator<Item = Handle> + '_ {
        let pages = self.pages.iter().enumerate().filter_map(|(number, page)| Some((number * PAGE, page.get()?)));
        let filled =
            pages.flat_map(|(first, page)| (first..).zip(page.iter()).filter(|(_, slot)| slot.get().is_some()));
        filled.filter_map(|(index, _)| Handle::from_index(index))
    }

    pub(super) fn push(&mut self, node: Node) {
        self.set_len(self.len + 1);
        self.put(self.len - 1, node);
        // Notes the change.
        let last = self.len - 1;
        let _ = self.index_mut(last);
    }

    /// The nodes of a tree with this number of frames. An archive of this revision has all of them.
    pub(super) fn archived(len: usize, revision: u64, shelf: Arc<Shelf>) -> Self {
        let mut nodes = Self { shelf: Some(shelf), known: revision, revision, archived: revision, ..Self::default() };
        nodes.set_len(len);
        nodes
    }

    /// Begins to use an archive that does not have any of the nodes yet. All nodes must be in memory.
    pub(super) fn use_archive(&mut self, shelf: Arc<Shelf>) {
        self.shelf = Some(shelf);
        self.changed = self.all_in_memory().collect();
    }

    /// Uses another archive from now on, and returns the one before.
    pub(super) fn replace_archive(&mut self, shelf: Option<Arc<Shelf>>) -> Option<Arc<Shelf>> {
        std::mem::replace(&mut self.shelf, shelf)
    }

    /// Begins to apply an event of this revision.
    pub(super) fn begin(&mut self, revision: u64) {
        self.revision = revision;
        self.known = revision.saturating_sub(1);
    }

    /// Ends the application of this event.
    pub(super) fn end(&mut self) {
        self.known = self.revision;
    }

    /// Notes that the archive has all nodes as they were at a revision.
    pub(super) fn archived_at(&mut self, revision: u64) {
        self.archived = revision;
        self.ended = 0;
        self.loaded.get_mut().look_again();
        let changed = std::mem::take(&mut self.changed);
        self.changed = changed.into_iter().filter(|handle| !self.is_archived(*handle)).collect();
    }

    /// Notes that the nodes that were made from the events are in the archive now.
    pub(super) fn forget_replayed(&mut self) {
        self.replayed.get_mut().clear();
    }

    /// The revision of the archive.
    pub(super) fn archived_revision(&self) -> u64 {
        self.archived
    }

    /// True if the archive has the node in its present state.
    pub(super) fn is_archived(&self, handle: Handle) -> bool {
        self.made(handle.index()).is_none_or(|node| node.changed <= self.archived)
            && !self.replayed.lock().contains(&handle)
    }

    /// Notes that a tree was used. It then stays in memory longer than others.
    pub(super) fn note_use(&self, root: Handle) {
        self.loaded.lock().note_use(root);
    }

    /// Notes that a tree in memory with this number of frames has ended.
    pub(super) fn note_end(&mut self, root: Handle, frames: usize) {
        self.loaded.get_mut().insert(root, frames);
        self.ended += frames;
    }

    /// True if the finished trees in memory have more than this number of frames, and perhaps
    /// some of them can be dropped.
    pub(super) fn has_excess(&self, most: usize) -> bool {
        self.loaded.lock().has_excess(most)
    }

    /// The finished trees in memory.
    pub(super) fn loaded(&mut self) -> &mut Loaded {
        self.loaded.get_mut()
    }

    /// A node in memory, to change what follows from the rest of the tree. The change is not noted, because
    /// archives do not keep it.
    pub(super) fn derived_mut(&mut self, index: usize) -> Option<&mut Node> {
        self.in_memory(index)?;
        let page = self.pages.get_mut(index / PAGE)?.get_mut()?;
        page[index % PAGE].get_mut().map(Arc::make_mut)
    }

    /// Removes a node from memory.
    pub(super) fn drop_node(&mut self, handle: Handle) {
        if self.packed.as_ref().is_some_and(|packed| packed.find(handle).is_some()) {
            self.dropped.insert(handle);
        }
        let page = self.pages.get_mut(handle.index() / PAGE);
        let Some(slots) = page.and_then(OnceLock::get_mut) else { return };
        slots[handle.index() % PAGE].take();
        if slots.iter().all(|slot| slot.get().is_none()) {
            self.pages[handle.index() / PAGE].take();
        }
    }

    fn set_len(&mut self, len: usize) {
        self.len = len;
        self.pages.resize_with(len.div_ceil(PAGE), OnceLock::new);
    }

    /// Puts a node in its place, unless a node is already there.
    pub(super) fn put(&self, index: usize, node: Node) {
        let page = self.pages[index / PAGE].get_or_init(Box::default);
        let _ = page[index % PAGE].set(Arc::new(node));
    }

    /// Loads the tree of a node that is not in memory. `None` if that fails; the failure is noted.
    #[cold]
    fn load(&self, index: usize) -> Option<&Node> {
        let handle = Handle::from_index(index).filter(|_| index < self.len)?;
        self.shelf.as_ref()?.noting(self.hold(handle))?;
        self.in_memory(index)
    }

    /// Loads the tree of a frame, unless it is in memory.
    ///
    /// # Errors
    /// The errors of the archive.
    pub(super) fn hold(&self, handle: Handle) -> Result<()> {
        if self.is_in_memory(handle) {
            return Ok(());
        }
        let frames = self.load_tree(handle, true)?;
        let root = frames.iter().find(|frame| self.in_memory(frame.index()).is_some_and(|node| node.parent.is_none()));
        root.into_iter().for_each(|root| self.loaded.lock().insert(*root, frames.len()));
        Ok(())
    }

    /// Loads the tree of a frame, and returns its frames. `may_replay`: see
    /// [`Tree::of_snapshot`](super::Tree::of_snapshot).
    ///
    /// # Errors
    /// The errors of the archive.
    pub(super) fn load_tree(&self, handle: Handle, may_replay: bool) -> Result<Vec<Handle>> {
        let Some(shelf) = &self.shelf else { return Ok(Vec::new()) };
        let nodes = self.read_tree(shelf.archive(), handle, may_replay)?;
        let frames = nodes.iter().map(|(handle, _)| *handle).collect();
        nodes.into_iter().for_each(|(handle, node)| self.put(handle.index(), node));
        Ok(frames)
    }

    /// The nodes of the tree of a frame, as they were at the revision of this tree.
    fn read_tree(&self, archive: &dyn Archive, handle: Handle, may_replay: bool) -> Result<Vec<(Handle, Node)>> {
        let of_frames = |frames: Vec<ArchivedFrame>| match frames.iter().any(|frame| frame.handle == handle) {
            true => nodes_of(frames.iter().filter(|frame| frame.handle.index() < self.len), self.len),
            false => Err(Error::json(SNAPSHOT, format!("frame {handle} is missing"))),
        };
        let is_known = |frame: &ArchivedFrame| frame.changed <= self.known || frame.handle.index() >= self.len;
        let nodes = archive.frames(handle).and_then(|frames| match frames.iter().all(is_known) {
            true => of_frames(frames),
            false => Err(Error::json(SNAPSHOT, format!("the tree of {handle} has changed since"))),
        });
        if !may_replay || !matches!(nodes, Err(Error::Json { .. } | Error::Damaged { .. })) {
            return nodes;
        }
        let nodes = of_frames(archive.frames_at(handle, self.known)?)?;
        self.replayed.lock().extend(nodes.iter().map(|(handle, _)| *handle));
        Ok(nodes)
    }
}

impl Index<usize> for Nodes {
    type Output = Node;

    fn index(&self, index: usize) -> &Node {
        match self.in_memory(index).or_else(|| self.load(index)) {
            Some(node) => node,
            None => self.shelf.as_ref().filter(|_| index < self.len).expect("the tree has the frame").missing(),
        }
    }
}

impl IndexMut<usize> for Nodes {
    fn index_mut(&mut self, index: usize) -> &mut Node {
        if self.in_memory(index).is_none() && self.load(index).is_none() {
            let missing = self[index].clone();
            self.put(index, missing);
        }
        let slot = self.pages[index / PAGE].get_mut().and_then(|page| page[index % PAGE].get_mut());
        let node = Arc::make_mut(slot.expect("it was put there"));
        let was_archived = std::mem::replace(&mut node.changed, self.revision) <= self.archived;
        if was_archived && self.shelf.is_some() {
            self.changed.extend(Handle::from_index(index));
        }
        node
    }
}
