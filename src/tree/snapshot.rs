//! Snapshots of trees: the data that is kept of a tree in addition to its events, so that the tree can be
//! opened without them, and so that finished trees need not be in memory.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::archive::Shelf;
use super::costs::Price;
use super::given::Given;
use super::holding::Place;
use super::nodes::Nodes;
use super::packed::{Packed, PackedFrame, Row, pack};
use super::roots::Roots;
use super::transcripts::Transcript;
use super::{Node, Tree, titles};
use crate::archive::{Archive, ArchiveQuery, ArchivedFrame};
use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::{Change, Event, FrameStatus, Handle};

/// The form of snapshots. A snapshot in another form is not read.
const FORM: u32 = 1;
/// A snapshot is due once trees with this number of frames have ended since the last snapshot.
const ENDED_FRAMES: usize = 64;
/// A snapshot is due after this number of events since the last one, plus the numbers that the next two
/// constants add.
const SNAPSHOT_EVENTS: u64 = 64;
/// Number of events to add for each frame that has changed since then: reading the image of the frame takes
/// as long as reading some events.
const EVENTS_FOR_CHANGED: u64 = 4;
/// One event is added for this number of unfinished frames, because all of them are packed again.
const UNFINISHED_FOR_EVENT: u64 = 8;

/// A key of a root above this number leaves no room for later keys.
const HIGHEST_ROOT: u64 = u64::MAX - (1 << 48);
/// A revision above this number in a snapshot from elsewhere leaves no room for later events.
const HIGHEST_REVISION: u64 = 1 << 62;
/// From this number of frames on, a head is trusted only if the archive has the last frame, because memory is
/// reserved for each frame.
const MANY_FRAMES: usize = 100_000;

/// The data that a snapshot keeps in addition to the frames.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    form: u32,
    revision: u64,
    updated_at: u64,
    sequence: u64,
    frames: usize,
    root_statuses: [usize; FrameStatus::ALL.len()],
    chunks: usize,
    active: Option<Handle>,
    unsettled: Vec<Handle>,
    stops: Vec<(Handle, u64, String)>,
    /// The last commands of persons.
    given: VecDeque<Given>,
    /// The cost of the requests of conversations.
    price: Price,
    /// Where each conversation is.
    places: BTreeMap<String, Place>,
    /// How far the transcripts of conversations were read.
    transcripts: BTreeMap<String, Transcript>,
    /// The highest key of the places of roots.
    last_root: Option<u64>,
    /// The roots of the trees that are held in memory.
    open: BTreeSet<Handle>,
    extra: Map<String, Value>,
}

impl Head {
    /// Reads a head, and checks that its numbers are possible: each frame, chunk, start and finish has an
    /// event.
    fn read(text: &str) -> Result<Self> {
        let head: Self =
            serde_json::from_str(text).map_err(|error| Error::json(SNAPSHOT, error.to_string()).with_source(error))?;
        if head.form != FORM {
            return Err(Error::json(SNAPSHOT, format!("it has the form {}, not {FORM}", head.form)));
        }
        let named = head
            .active
            .iter()
            .chain(&head.unsettled)
            .chain(&head.open)
            .chain(head.stops.iter().map(|(frame, ..)| frame))
            .chain(head.places.values().map(|place| &place.frame))
            .chain(head.places.values().filter_map(|place| place.lost.as_ref()).map(|(_, frame)| frame))
            .chain(head.transcripts.values().map(|transcript| &transcript.frame))
            .copied()
            .chain(head.given.iter().flat_map(Given::named));
        let are_there = { named }.all(|frame| frame.index() < head.frames);
        let roots: usize = head.root_statuses.iter().fold(0, |sum, count| sum.saturating_add(*count));
        let counts = [head.frames as u64, head.chunks as u64, head.sequence / 2];
        if !are_there || roots > head.frames || counts.into_iter().any(|count| count > head.revision) {
            return Err(Error::json(SNAPSHOT, "its head names frames or counts that cannot be".to_owned()));
        }
        Ok(head)
    }
}

impl Tree {
    /// The revision of a snapshot with this head, and the number of its frames.
    ///
    /// # Errors
    /// [`Error::Json`] if the head cannot be read.
    pub(crate) fn snapshot_extent(head: &str) -> Result<(u64, usize)> {
        let Head { revision, frames, .. } = Head::read(head)?;
        Ok((revision, frames))
    }

    /// Checks that the head of a snapshot agrees with its frames, so that a snapshot from elsewhere gives a
    /// tree that can be relied on. Reads all frames, and keeps only a few numbers for each of them.
    ///
    /// # Errors
    /// [`Error::Json`] that says what differs; the errors of the archive.
    pub(crate) fn check_snapshot(head: &str, archive: &dyn Archive) -> Result<()> {
        let head = Head::read(head)?;
        let differs = |what: String| Err(Error::json(SNAPSHOT, what));
        let (mut ids, mut statuses, mut last_root) = (HashSet::new(), [0; FrameStatus::ALL.len()], None);
        let mut is_active_open = head.active.is_none();
        let mut last = None;
        loop {
            let page = archive.page(last)?;
            let Some(end) = page.last() else { break };
            last = Some(end.handle);
            for ArchivedFrame { handle, root, session_id, status, place, .. } in page {
                let owners = |id: &str| archive.find(ArchiveQuery::Id(id), head.revision);
                if !ids.insert(titles::hash(&session_id)) && owners(&session_id)?.len() > 1 {
                    return differs(format!("{handle} has the ID of another frame"));
                }
                if status.is_unfinished() && !head.open.contains(&root) {
                    return differs(format!("{handle} is {status}, and its head does not name the tree as unfinished"));
                }
                is_active_open |= head.active == Some(handle) && status.is_open();
                if let Some(place) = place {
                    statuses[status as usize] += 1;
                    last_root = last_root.max(Some(place));
                }
            }
        }
        match head {
            Head { root_statuses, .. } if root_statuses != statuses => differs("its head counts other roots".into()),
            Head { last_root: last, .. } if last < last_root || last > Some(HIGHEST_ROOT) => {
                differs("its head names another last root".into())
            }
            _ if !is_active_open => differs("the active frame is not open".into()),
            Head { revision, .. } if revision > HIGHEST_REVISION => {
                differs(format!("its revision {revision} is too high"))
            }
            _ => Ok(()),
        }
    }

    /// The tree of a snapshot. Trees that have ended stay in the archive until they are read. `unfinished`: the
    /// other trees, see [`Tree::pack_unfinished`]; they are read from the archive if this cannot be read, and
    /// if it is empty. `may_replay`: frames that the archive does not have in their state at that time are
    /// made from the events, which can take seconds.
    ///
    /// # Errors
    /// [`Error::Json`] if the snapshot cannot be read; the errors of the archive.
    pub(crate) fn of_snapshot(
        head: &str,
        unfinished: &[u8],
        archive: Arc<dyn Archive>,
        may_replay: bool,
    ) -> Result<Self> {
        let head = Head::read(head)?;
        if head.frames > MANY_FRAMES {
            let before_last = Handle::from_index(head.frames - 2);
            let last = before_last.map(|handle| archive.page(Some(handle))).transpose()?.unwrap_or_default();
            if last.is_empty() {
                return Err(Error::json(
                    "the snapshot",
                    format!("its head names {} frames, more than there are", head.frames),
                ));
            }
        }
        let mut tree = Self {
            nodes: Nodes::archived(head.frames, head.revision, Arc::new(Shelf::new(archive.clone()))),
            roots: Roots::archived(head.last_root),
            root_statuses: head.root_statuses,
            active: head.active,
            revision: head.revision,
            updated_at: head.updated_at,
            sequence: head.sequence,
            unsettled: head.unsettled,
            chunks: head.chunks,
            places: head.places,
            transcripts: head.transcripts,
            given: head.given,
            price: head.price,
            stops: head.stops.into_iter().map(|(frame, revision, reason)| (frame, (revision, reason))).collect(),
            extra: head.extra,
            ..Self::default()
        };
        let packed = Packed::read(unfinished, head.frames, head.revision).ok();
        if let Some(packed) = packed.filter(|packed| packed.roots().eq(head.open.iter().copied())) {
            tree.take_in_packed(packed);
            return tree.failure_since(0).map_or(Ok(tree), Err);
        }
        for root in head.open {
            for handle in tree.nodes.load_tree(root, may_replay)? {
                tree.take_in(handle);
            }
            tree.note_root(root);
        }
        Ok(tree)
    }

    /// Gives an archive that is still empty to a tree that is completely in memory.
    pub(crate) fn use_archive(&mut self, archive: Arc<dyn Archive>) {
        self.nodes.use_archive(Arc::new(Shelf::new(archive)));
        for root in self.roots_in_memory() {
            self.note_end(root);
        }
    }

    /// Begins with packed trees.
    fn take_in_packed(&mut self, packed: Packed) {
        let with = |is_in: fn(PackedFrame<'_>) -> bool| {
            packed.all().filter(move |frame| is_in(*frame)).map(PackedFrame::handle)
        };
        self.unfinished = with(|frame| frame.status().is_unfinished()).collect();
        self.prioritized = with(|frame| frame.status().is_unfinished() && frame.row().priority.is_some()).collect();
        self.no_work = with(|frame| frame.status().is_unfinished() && frame.row().is_no_work).collect();
        let is_busy_root = |frame: &PackedFrame<'_>| {
            frame.parent().is_none() && (frame.status().is_unfinished() || frame.has_unfinished_below())
        };
        self.busy_roots = packed.all().filter(is_busy_root).map(|root| (root.order(), root.handle())).collect();
        let indexed: Vec<Handle> = with(|frame| frame.row().is_indexed).collect();
        self.nodes.use_packed(packed);
        indexed.into_iter().for_each(|handle| self.note_in_indexes(handle));
    }

    /// Adds a frame to the indexes after its node was put in its place.
    fn take_in(&mut self, handle: Handle) {
        let id = self.node(handle).session_id().to_owned();
        self.ids.insert(&id, handle);
        self.note_in_indexes(handle);
    }

    /// Adds a frame to the indexes, except that of the IDs.
    fn note_in_indexes(&mut self, handle: Handle) {
        let record = self.node(handle).record();
        let chunks: Vec<String> = record.heap.iter().map(|chunk| chunk.name.clone()).collect();
        self.note_unfinished(handle);
        self.note_holder(handle);
        chunks.iter().for_each(|chunk| self.note_chunk_owner(handle, chunk));
    }

    /// The data that a snapshot keeps in addition to the frames, as JSON.
    pub(crate) fn snapshot_head(&self) -> String {
        let stops = self.stops.iter();
        let head = Head {
            form: FORM,
            revision: self.revision,
            updated_at: self.updated_at,
            sequence: self.sequence,
            frames: self.len(),
            root_statuses: self.root_statuses,
            chunks: self.chunks,
            active: self.active,
            unsettled: self.unsettled.clone(),
            stops: stops.map(|(frame, (revision, reason))| (*frame, *revision, reason.clone())).collect(),
            places: self.places.clone(),
            transcripts: self.transcripts.clone(),
            given: self.given.clone(),
            price: self.price,
            last_root: self.roots.last(),
            extra: self.extra.clone(),
            open: self.roots_to_pack(),
        };
        serde_json::to_string(&head).expect("it has only string keys and finite numbers")
    }

    /// The roots of the trees that stay in memory or packed: those with unfinished frames, with holders, and
    /// with changes that contexts do not show yet.
    fn roots_to_pack(&self) -> BTreeSet<Handle> {
        let unfinished = self.busy_roots.iter().map(|(_, root)| *root);
        unfinished.chain(self.unsettled.iter().chain(&self.held).map(|frame| self.root(*frame))).collect()
    }

    /// The trees that the head of the snapshot names as unfinished, in one piece. The archive has their frames
    /// too, but to read them there takes longer.
    ///
    /// # Errors
    /// The errors of the archive.
    pub(crate) fn pack_unfinished(&self) -> Result<Vec<u8>> {
        self.checked(|tree| {
            let image = |handle| tree.node(handle).image();
            let (bytes, blocks) = pack(&tree.rows_to_pack(), &tree.nodes.blocks(), image);
            tree.nodes.note_blocks(blocks);
            bytes
        })
    }

    /// The frames of the trees to pack, in creation order. Does not unpack any of them.
    fn rows_to_pack(&self) -> Vec<Row> {
        let mut frames: Vec<Handle> = self.roots_to_pack().into_iter().collect();
        let mut next = 0;
        while let Some(handle) = frames.get(next).copied() {
            frames.extend_from_slice(self.children(handle));
            next += 1;
        }
        frames.sort_unstable();
        let row = |handle: &Handle| match self.nodes.packed(*handle) {
            Some(frame) => frame.row().clone(),
            None => Row::of(*handle, self.node(*handle)),
        };
        frames.iter().map(row).collect()
    }

    /// How unfinished trees in one piece differ from those of this tree. `None` if they are the same, or if
    /// there are none.
    ///
    /// # Errors
    /// The errors of the archive.
    pub(crate) fn problem_of_packed(&self, unfinished: &[u8]) -> Result<Option<String>> {
        if unfinished.is_empty() {
            return Ok(None);
        }
        self.checked(|tree| {
            let packed = Packed::read(unfinished, tree.len(), tree.revision).ok();
            let is_same = packed.is_some_and(|packed| {
                packed.has_rows(&tree.rows_to_pack()) && packed.images_are(|handle| tree.node(handle).image())
            });
            (!is_same).then(|| "the unfinished trees of the snapshot are others than the events give".to_owned())
        })
    }

    /// The frames that the snapshot does not have in their present state.
    pub(crate) fn unarchived(&self) -> impl ExactSizeIterator<Item = ArchivedFrame> + '_ {
        self.nodes.unarchived().into_iter().map(|handle| self.archived_frame(handle))
    }

    /// A frame as an archive keeps it.
    pub(crate) fn archived_frame(&self, handle: Handle) -> ArchivedFrame {
        let node = self.node(handle);
        ArchivedFrame {
            handle,
            root: self.root(handle),
            session_id: node.session_id().to_owned(),
            title: titles::hash(node.title()),
            status: node.status(),
            is_run: node.is_run(),
            place: node.parent.is_none().then_some(node.order),
            changed: node.changed,
            image: node.image(),
        }
    }

    /// True if enough has changed since the last snapshot.
    pub(crate) fn is_snapshot_due(&self) -> bool {
        let changed = self.nodes.changes() as u64 * EVENTS_FOR_CHANGED;
        let events = SNAPSHOT_EVENTS + changed + self.unfinished.len() as u64 / UNFINISHED_FOR_EVENT;
        let has_many_events = self.revision >= self.nodes.archived_revision() + events;
        self.has_archive() && (has_many_events || self.nodes.ended() >= ENDED_FRAMES)
    }

    /// The revision of the last snapshot that this tree knows.
    pub(crate) fn archived_revision(&self) -> u64 {
        self.nodes.archived_revision()
    }

    /// The frames that have changed since a revision, up to the last snapshot.
    pub(crate) fn changed_since(&self, revision: u64) -> Vec<Handle> {
        self.nodes.archived_since(revision)
    }

    /// The archive of the frames that are not in memory.
    pub(crate) fn archive(&self) -> Option<Arc<dyn Archive>> {
        self.nodes.shelf().map(|shelf| shelf.shared_archive())
    }

    /// True if the tree has a snapshot, or can get one, so that parts of the tree need not be in memory.
    pub(crate) fn has_archive(&self) -> bool {
        self.nodes.shelf().is_some()
    }

    /// All frames of the tree to which a frame belongs.
    pub(crate) fn archived_tree(&self, handle: Handle) -> Vec<ArchivedFrame> {
        self.subtree(self.root(handle)).map(|handle| self.archived_frame(handle)).collect()
    }

    /// Notes that the archive has all frames as they were at this revision. `is_own`: this tree was archived,
    /// not the tree of another process.
    pub(crate) fn archived(&mut self, revision: u64, is_own: bool) {
        self.nodes.archived_at(revision);
        if is_own {
            self.nodes.forget_replayed();
        }
    }

    /// Changes the tree without its archive, which is newer than the tree. `None` if the change fails, or needs the
    /// archive: the tree is then incomplete, and must not be used.
    pub(crate) fn without_archive<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Option<T> {
        let archive = self.nodes.replace_archive(Some(Arc::new(Shelf::closed())));
        let changed = change(self).ok().filter(|_| self.failures() == 0);
        self.nodes.replace_archive(archive);
        changed
    }

    /// True if finished trees have more than this number of frames in memory.
    pub(crate) fn has_excess(&self, most: usize) -> bool {
        self.nodes.has_excess(most)
    }

    /// Drops finished trees from memory until the finished trees in memory have at most this number of frames
    /// together. The trees that were used longest ago are dropped first. Trees that differ from the archive
    /// stay.
    pub(crate) fn drop_finished(&mut self, most: usize) {
        let mut excess = self.nodes.loaded().take_excess(most);
        let mut time = 0;
        while excess > 0
            && let Some((used, root)) = self.nodes.loaded().used_after(time)
        {
            time = used;
            let is_finished = |node: &Node| node.parent.is_none() && !node.is_busy();
            if !self.nodes.in_memory(root.index()).is_some_and(is_finished) {
                self.nodes.loaded().remove(root);
            } else if self.is_settled(root) && self.subtree(root).all(|frame| self.nodes.is_archived(frame)) {
                excess = excess.saturating_sub(self.drop_tree(root));
            }
        }
    }

    /// True if the frames of a tree have no holders, and no changes that contexts do not show yet.
    pub(super) fn is_settled(&self, root: Handle) -> bool {
        self.subtree(root).all(|frame| {
            let node = self.node(frame);
            node.before.is_none() && node.frame.held_by().is_none()
        })
    }

    /// Drops a tree from memory. Returns the number of its frames.
    pub(super) fn drop_tree(&mut self, root: Handle) -> usize {
        let frames: Vec<Handle> = self.subtree(root).collect();
        self.nodes.loaded().remove(root);
        for frame in &frames {
            let node = self.node(*frame);
            let id = node.session_id().to_owned();
            self.leave_way(*frame);
            self.ids.remove(&id);
            self.titles.remove(*frame);
            self.nodes.drop_node(*frame);
        }
        frames.len()
    }

    /// The roots of the finished trees in memory. Afterwards [`Tree::has_excess`] is false until another tree
    /// is added.
    pub(super) fn loaded_roots(&mut self) -> Vec<Handle> {
        let loaded = self.nodes.loaded();
        loaded.take_excess(0);
        loaded.roots().collect()
    }

    /// Leaves a tree in memory, until something in it changes.
    pub(super) fn forget_loaded(&mut self, root: Handle) {
        self.nodes.loaded().remove(root);
    }

    /// The roots of all trees in memory.
    pub(super) fn roots_in_memory(&self) -> Vec<Handle> {
        self.nodes.all_in_memory().filter(|handle| self.brief(*handle).parent().is_none()).collect()
    }

    /// Loads the data that an event changes, so that the event can be applied without reading the archive.
    ///
    /// # Errors
    /// The errors of the archive.
    pub(crate) fn prepare(&self, event: &Event) -> Result<()> {
        if self.nodes.shelf().is_none() {
            return Ok(());
        }
        self.checked(|tree| {
            let mut touched: Vec<Handle> = Vec::new();
            if event.handle.index() < tree.len() {
                touched.extend(tree.node(event.handle).dependencies());
                touched.push(tree.first_attempt(event.handle));
                touched.extend(tree.dependents(event.handle));
            }
            let by_id = |id: &String| tree.by_id(id);
            match &event.change {
                Change::Added { frame } => {
                    if frame.retry_of.is_some() && frame.parent_session_id.is_none() {
                        tree.roots();
                    }
                    let ids = frame.parent_session_id.iter().chain(&frame.retry_of).chain(&frame.depends_on);
                    touched.extend(ids.filter_map(by_id));
                }
                Change::DependenciesAdded { depends_on } => touched.extend(depends_on.iter().filter_map(by_id)),
                Change::IdReplaced { session_id } => touched.extend(by_id(session_id)),
                Change::Edited { edit, .. }
                | Change::Restored { edit: Some(edit), .. }
                | Change::Reimported { edit: Some(edit), .. } => {
                    let is_root = tree.nodes.get(event.handle.index()).is_some_and(|node| node.parent.is_none());
                    if edit.moves() && (is_root || edit.parent == Some(None)) {
                        tree.roots();
                    }
                    let named = edit
                        .parent
                        .iter()
                        .flatten()
                        .chain(edit.before.iter().flatten())
                        .chain(edit.depends_on.iter().flatten());
                    touched.extend(named.filter_map(|other| tree.resolve(other).ok()));
                }
                _ => {}
            }
            for frame in touched {
                let first = tree.first_attempt(frame);
                tree.node(first);
                tree.dependents(frame).iter().for_each(|dependent| {
                    tree.node(*dependent);
                });
            }
        })
    }

    /// Runs a query.
    ///
    /// # Errors
    /// The last error of the archive, if an error has occurred during the query: the answer of the query must
    /// not be used then.
    pub(crate) fn checked<T>(&self, query: impl FnOnce(&Self) -> T) -> Result<T> {
        let before = self.failures();
        let value = query(self);
        self.failure_since(before).map_or(Ok(value), Err)
    }

    /// The frames in memory, in creation order.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub(crate) fn handles_in_memory(&self) -> impl Iterator<Item = Handle> + '_ {
        self.nodes.all_in_memory()
    }

    /// True if the frame is in memory.
    pub(crate) fn is_in_memory(&self, handle: Handle) -> bool {
        self.nodes.is_in_memory(handle)
    }

    /// Number of archive failures so far, for [`Tree::failure_since`].
    pub(crate) fn failures(&self) -> u64 {
        self.nodes.shelf().map_or(0, Shelf::failures)
    }

    /// The last error of the archive, if there were more errors than this number.
    pub(crate) fn failure_since(&self, number: u64) -> Option<Error> {
        self.nodes.shelf()?.failure_since(number)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use std::sync::atomic::{AtomicBool, Ordering};

    use parking_lot::Mutex;

    use super::*;
    use crate::archive::{ArchiveQuery, ArchivedPlace};
    use crate::frame::{Finish, Frame, FrameRef, Hold, NewFrame, NewHold, PopStatus, Priority, Results};
    use crate::tree::state::tests::Growing;
    use crate::tree::{Command, execute};

    /// An archive in memory.
    #[derive(Debug, Default)]
    pub(in crate::tree) struct Kept(Mutex<BTreeMap<Handle, ArchivedFrame>>);

    impl Kept {
        pub(in crate::tree) fn take(&self, frames: impl Iterator<Item = ArchivedFrame>) {
            self.0.lock().extend(frames.map(|frame| (frame.handle, frame)));
        }

        fn find(&self, is: impl Fn(&ArchivedFrame) -> bool) -> Vec<ArchivedFrame> {
            self.0.lock().values().filter(|frame| is(frame)).cloned().collect()
        }
    }

    impl Archive for Kept {
        fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
            let first = after.map_or(0, |after| after.index() + 1);
            Ok(self.0.lock().values().filter(|frame| frame.handle.index() >= first).cloned().collect())
        }

        fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
            let root = self.0.lock().get(&handle).map(|frame| frame.root);
            Ok(self.find(|frame| Some(frame.root) == root))
        }

        fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
            let is = |frame: &ArchivedFrame| match query {
                ArchiveQuery::Id(id) => frame.session_id == id,
                ArchiveQuery::Beginning(beginning, _) => frame.session_id.starts_with(beginning),
                ArchiveQuery::Title(title) => frame.title == title,
                ArchiveQuery::Status(status) => frame.status == status,
                ArchiveQuery::Runs => frame.is_run,
                ArchiveQuery::Roots => frame.place.is_some(),
                ArchiveQuery::Nothing => false,
            };
            let found = self.find(|frame| is(frame) || frame.changed > since).into_iter();
            Ok(found
                .map(|ArchivedFrame { handle, changed, place, .. }| ArchivedPlace { handle, changed, place })
                .collect())
        }
    }

    /// An archive whose disk can fail.
    #[derive(Debug, Default)]
    struct Failing {
        kept: Kept,
        fails: AtomicBool,
    }

    impl Failing {
        fn checked<T>(&self, answer: Result<T>) -> Result<T> {
            match self.fails.load(Ordering::Relaxed) {
                true => Err(Error::io("read", "stack.db", "the disk has failed")),
                false => answer,
            }
        }
    }

    impl Archive for Failing {
        fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
            self.checked(self.kept.page(after))
        }

        fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
            self.checked(self.kept.frames(handle))
        }

        fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
            self.checked(Archive::find(&self.kept, query, since))
        }
    }

    #[test]
    fn a_frame_that_cannot_be_read_is_an_error_when_it_is_resolved() {
        let archive = Arc::new(Failing::default());
        let (mut growing, mut tree) = (Growing::new(7), Tree::new());
        tree.use_archive(archive.clone());
        for _ in 0..250 {
            growing.grow().iter().for_each(|event| tree.replay(event).unwrap());
        }
        archive.kept.take(tree.unarchived());
        tree.archived(tree.revision(), true);
        tree.drop_finished(0);
        let gone = tree.handles().find(|handle| !tree.is_in_memory(*handle)).expect("a tree has ended");
        let id = growing.tree.node(gone).session_id().to_owned();
        let title = growing.tree.node(gone).title().to_owned();
        archive.fails.store(true, Ordering::Relaxed);
        for reference in [FrameRef::Handle(gone), FrameRef::Id(id.clone()), FrameRef::from(title.as_str())] {
            let error = tree.resolve(&reference).expect_err("its tree cannot be read");
            assert_eq!(error.code(), "io", "{reference}: {error}");
        }
        archive.fails.store(false, Ordering::Relaxed);
        assert_eq!(tree.resolve(&FrameRef::Id(id)).unwrap(), gone);
    }

    /// A tree that is opened from its snapshot; the archive; and the piece with its unfinished trees.
    fn opened_again(mut tree: Tree) -> (Tree, Arc<Failing>, String, Vec<u8>) {
        let archive = Arc::new(Failing::default());
        tree.use_archive(archive.clone());
        archive.kept.take(tree.unarchived());
        let (head, unfinished) = (tree.snapshot_head(), tree.pack_unfinished().unwrap());
        let opened = Tree::of_snapshot(&head, &unfinished, archive.clone(), false).unwrap();
        (opened, archive, head, unfinished)
    }

    /// A tree with a root and this number of planned frames, opened from its snapshot.
    fn opened(frames: usize) -> (Tree, Arc<Failing>, String, Vec<u8>) {
        let mut tree = Tree::new();
        execute(&mut tree, Command::Push(NewFrame::new("Root").id("root")));
        let root = tree.active().expect("the root is active");
        for number in 1..frames {
            let task = NewFrame::new(format!("Task {number}")).id(format!("task {number}"));
            execute(&mut tree, Command::Plan(task.below(root)));
        }
        opened_again(tree)
    }

    /// A plan as other tools have them: headings with tasks, which have priorities and need each other. Workers have
    /// done half of them.
    fn real_plan(headings: usize) -> Tree {
        let frame = |number: usize| {
            let place = number % 20;
            let id = |number: usize| format!("task {number}");
            Frame {
                session_id: id(number),
                title: format!("Task {number}"),
                status: FrameStatus::Planned,
                priority: Priority::new(number as u64 % 5),
                parent_session_id: Some(if place == 0 { "plan".into() } else { id(number - place) }),
                depends_on: if place > 2 && place % 2 == 1 { vec![id(number - 1)] } else { Vec::new() },
                no_work: (place == 0).then(|| "heading".into()),
                ..Frame::default()
            }
        };
        let plan = Frame { session_id: "plan".into(), parent_session_id: None, ..frame(0) };
        let mut tree = Tree::new();
        execute(
            &mut tree,
            Command::Import { frames: [plan].into_iter().chain((0..20 * headings).map(frame)).collect() },
        );
        for _ in 0..10 * headings {
            execute(&mut tree, Command::Hold(NewHold::new("worker", 60)));
            let handle = tree.held().next().expect("a task is free");
            let hold = Hold::of(handle, tree.node(handle).record().held_by().expect("it is held"));
            execute(&mut tree, Command::Finish { hold, finish: Finish::Done(Results::new("Done")) });
        }
        tree
    }

    /// A question about a whole plan, and a command about one frame, read the images of few frames.
    #[test]
    fn the_work_on_a_real_plan_unpacks_few_frames() {
        let (tree, ..) = opened_again(real_plan(100));
        let frames = tree.len();
        assert_eq!(tree.nodes.all_packed().count(), frames);
        type Work = fn(&mut Tree);
        let works: [(&str, Work); 7] = [
            ("the overview", |tree| drop(tree.overview(None))),
            ("what is ready", |tree| assert!(tree.ready().count() > 100)),
            ("what is in the way", |tree| drop(tree.in_the_way(None))),
            ("the priorities", |tree| assert!(tree.handles().any(|handle| tree.priority(handle) == Priority::LOWEST))),
            ("a hold", |tree| execute(tree, Command::Hold(NewHold::new("worker", 60)))),
            ("a push", |tree| execute(tree, Command::Push(NewFrame::new("Other work").id("other")))),
            ("a task from its begin to its end", |tree| {
                let frame = || FrameRef::Id("task 1904".into());
                execute(tree, Command::Activate { frame: frame() });
                let (status, results) = (PopStatus::Completed, Results::new("Done"));
                execute(tree, Command::Pop { frame: frame(), status, results });
            }),
        ];
        for (what, work) in works {
            let mut tree = tree.clone();
            let added = tree.len();
            work(&mut tree);
            let unpacked = tree.len() - tree.nodes.all_packed().count() - (tree.len() - added);
            assert!(unpacked <= 6 * 16, "{what}: {unpacked} of {frames} frames were unpacked");
        }
    }

    #[test]
    fn a_command_in_a_large_unfinished_tree_unpacks_few_frames() {
        let (mut tree, ..) = opened(2_000);
        assert_eq!(tree.nodes.all_packed().count(), 2_000);
        let planned = tree.with_status(FrameStatus::Planned).count();
        assert_eq!((planned, tree.unfinished().count(), tree.ready().count()), (1_999, 2_000, 1_999));
        let named = tree.resolve(&FrameRef::from("Task 777")).unwrap();
        assert_eq!(tree.resolve(&FrameRef::Id("task 777".into())).unwrap(), named);
        execute(&mut tree, Command::Activate { frame: FrameRef::Handle(named) });
        execute(&mut tree, Command::Push(NewFrame::new("Part").id("part").below(named)));
        tree.pack_unfinished().unwrap();
        tree.snapshot_head();
        let unpacked = 2_001 - tree.nodes.all_packed().count();
        assert!(unpacked <= 5 * 16, "{unpacked} frames were unpacked");
    }

    #[test]
    fn frames_of_a_damaged_piece_are_read_from_the_archive() {
        let (tree, archive, head, unfinished) = opened(200);
        let expected = tree.state();
        for place in (0..unfinished.len()).step_by(7) {
            let mut damaged = unfinished.clone();
            damaged[place] ^= 0x55;
            let read = Tree::of_snapshot(&head, &damaged, archive.clone(), false).unwrap();
            assert_eq!(read.nodes.all_packed().count(), 0, "byte {place}: the piece is not used");
            assert_eq!(read.state(), expected, "byte {place}");
            assert!(tree.problem_of_packed(&damaged).unwrap().is_some(), "byte {place}: an examination finds it");
        }
        assert_eq!(tree.problem_of_packed(&unfinished).unwrap(), None);
    }

    #[test]
    fn a_piece_that_contradicts_itself_is_an_error_and_decides_nothing() {
        let (tree, archive, head, _) = opened(200);
        let handle = |index: usize| Handle::from_index(index).expect("a handle");
        // Each frame has the image of the frame before it.
        let image = |frame: Handle| tree.node(handle(frame.index().saturating_sub(1))).image();
        let (crafted, _) = pack(&tree.rows_to_pack(), &[], image);
        let read = Tree::of_snapshot(&head, &crafted, archive.clone(), false).unwrap();
        let error =
            read.checked(|read| read.node(handle(50)).title().to_owned()).expect_err("its image is another one");
        assert_eq!(error.code(), "damaged", "{error}");
        let error = read.resolve(&FrameRef::Id("task 50".into())).expect_err("its block cannot be used");
        assert_eq!(error.code(), "damaged", "{error}");
    }

    #[test]
    fn a_tree_that_drops_finished_trees_after_every_command_is_the_same() {
        let (mut dropped, mut packed) = (0, 0);
        for seed in 0..60 {
            let archive = Arc::new(Kept::default());
            let (mut whole, mut part) = (Growing::new(seed), Tree::new());
            part.use_archive(archive.clone());
            for step in 0..250 {
                for event in whole.grow() {
                    part.replay(&event).unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}"));
                }
                if step % 3 == 0 {
                    let unfinished = part.pack_unfinished().unwrap();
                    assert_eq!(whole.tree.problem_of_packed(&unfinished).unwrap(), None, "seed {seed}, step {step}");
                    archive.take(part.unarchived());
                    let (head, revision) = (part.snapshot_head(), part.revision());
                    part.archived(revision, true);
                    if step % 7 == 0 {
                        let unfinished = if step % 2 == 0 { &unfinished[..] } else { &[] };
                        part = Tree::of_snapshot(&head, unfinished, archive.clone(), false).unwrap();
                        packed += part.nodes.all_packed().count();
                    }
                }
                part.drop_finished(0);
                dropped += part.len() - part.nodes.all_in_memory().count();
                if step % 25 == 0 {
                    assert_eq!(part.clone().state(), whole.tree.state(), "seed {seed}, step {step}");
                }
            }
            assert_eq!(part.state(), whole.tree.state(), "seed {seed}");
            for handle in whole.tree.handles() {
                let (node, expected) = (part.node(handle), whole.tree.node(handle));
                let plain = |node: &crate::tree::Node| {
                    let no_links =
                        "waits: Some(Waits { dependencies: [], dependents: [], left: Derived, counted: Derived })";
                    format!("{node:?}").replace(no_links, "waits: None")
                };
                assert_eq!(plain(node), plain(expected), "seed {seed}");
                let id = FrameRef::Id(expected.session_id().to_owned());
                assert_eq!(part.resolve(&id).unwrap(), handle, "seed {seed}");
            }
            assert_eq!(part.root_statuses(), whole.tree.root_statuses(), "seed {seed}");
            for status in FrameStatus::ALL {
                assert!(part.with_status(*status).eq(whole.tree.with_status(*status)), "seed {seed}, {status}");
            }
            assert!(part.runs().eq(whole.tree.runs()), "seed {seed}");
            assert_eq!(part.nodes.shelf().unwrap().failures(), 0);
        }
        assert!(dropped > 1_000, "{dropped} frames were not in memory");
        assert!(packed > 1_000, "{packed} frames were packed");
    }
}
