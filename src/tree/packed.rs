//! The unfinished trees of a snapshot in one piece: a table with what is asked of all their frames, and the
//! images of the frames in compressed blocks. A tree that is opened reads the table. It reads a block when it
//! needs a frame of the block.
//!
//! The piece has a number for its form, a checksum of the rest, the compressed table, and the blocks. A table and
//! a block come after their lengths in bytes. Numbers are little-endian. The table has the number of the frames,
//! column by column the fields of [`Row`], and then row by row its dependencies and its dependents.

use std::sync::{Arc, OnceLock};

use super::Node;
use super::relations::{Member, Relations};
use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::{FrameStatus, Handle, Holder, HolderKind, Priority};
use crate::text::{fnv, fnv_of};

/// The form of the piece. A piece in another form is not read.
const FORM: u8 = 2;
/// The frames of a block: those with this number of successive handles.
const BLOCK: usize = 16;
/// No compressed text is longer by more than this factor when it is decompressed.
const MOST_COMPRESSED: usize = 256;

/// The facts about a frame that are known without its image: all that walks over a whole plan ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    member: Member,
    /// Revision of the last change of anything in its node.
    pub(super) changed: u64,
    /// Revision of the last change that contexts show, if it has begun; otherwise 0.
    pub(super) shown_change: u64,
    /// The hash of its ID.
    id: u64,
    /// Its own priority.
    pub(super) priority: Option<Priority>,
    /// The frames on which it depends, as they were named.
    pub(super) dependencies: Box<[Handle]>,
    /// The frames that depend on it.
    pub(super) dependents: Box<[Handle]>,
    /// True if indexes of the tree have facts about the frame that its image has and this row has not.
    pub(super) is_indexed: bool,
    /// True if it is no work.
    pub(super) is_no_work: bool,
    /// True if it has or had a holder.
    pub(super) has_holder: bool,
    /// True if it was planned before it was begun.
    pub(super) was_planned: bool,
    /// True if there are several attempts at its work.
    pub(super) has_attempts: bool,
    /// True if it is the root frame of a run.
    is_run: bool,
    /// True if it has used models.
    pub(super) has_usage: bool,
}

impl Row {
    pub(super) fn of(handle: Handle, node: &Node) -> Self {
        let record = node.record();
        let is_unfinished = record.status.is_unfinished();
        let is_held = |holder: &Holder| holder.is_on_it() || is_unfinished && holder.kind == HolderKind::Worker;
        let is_held = record.holder.as_deref().is_some_and(is_held);
        let has_chunks = is_unfinished && !record.heap.is_empty();
        Self {
            member: Member::of(handle, node),
            changed: node.changed,
            shown_change: node.shown_change(),
            id: fnv_of(node.session_id()),
            priority: record.priority,
            dependencies: node.dependencies().into(),
            dependents: node.dependents().into(),
            is_indexed: is_held || record.waits_to_begin() || has_chunks,
            is_no_work: record.no_work.is_some(),
            has_holder: record.holder.is_some(),
            was_planned: record.was_planned(),
            has_attempts: node.attempt.is_some(),
            is_run: node.is_run(),
            has_usage: node.has_usage(),
        }
    }

    pub(super) fn status(&self) -> FrameStatus {
        self.member.status
    }

    /// The fields as numbers, without the dependencies. Times, parents and priorities that are there are greater by
    /// one than 0.
    fn numbers(&self) -> [u64; COLUMNS] {
        let Member { handle, parent, order, finished, status, is_retried, delivered_at, forgotten_at } = self.member;
        let Self { is_indexed, is_no_work, has_holder, was_planned, has_attempts, is_run, has_usage, .. } = *self;
        let flags = [is_indexed, is_no_work, has_holder, was_planned, has_attempts, is_run, has_usage, is_retried];
        let time = |time: Option<u64>| time.map_or(0, |time| time.saturating_add(1));
        [
            handle.number().into(),
            parent.map_or(0, |parent| parent.number().into()),
            order,
            finished,
            time(delivered_at),
            time(forgotten_at),
            self.changed,
            self.shown_change,
            self.id,
            status as u64,
            self.priority.map_or(0, |priority| u64::from(u8::from(priority)) + 1),
            flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag)),
            self.dependencies.len() as u64,
            self.dependents.len() as u64,
        ]
    }

    /// The row with these numbers, and the numbers of its dependencies and dependents. `None` if there is no such row.
    fn of_numbers(numbers: [u64; COLUMNS]) -> Option<(Self, [usize; 2])> {
        let [handle, parent, order, finished, delivered, forgotten, changed, shown_change, id, rest @ ..] = numbers;
        let [status, priority, flags, needed, needing] = rest;
        let flag = |number: u32| flags >> number & 1 == 1;
        let member = Member {
            handle: handle_of(handle)?,
            parent: handle_of(parent),
            order,
            finished,
            status: *FrameStatus::ALL.get(usize::try_from(status).ok()?)?,
            is_retried: flag(7),
            delivered_at: delivered.checked_sub(1),
            forgotten_at: forgotten.checked_sub(1),
        };
        let row = Self {
            member,
            changed,
            shown_change,
            id,
            priority: priority.checked_sub(1).map(Priority::new).map_or(Some(None), |found| found.map(Some))?,
            dependencies: Box::default(),
            dependents: Box::default(),
            is_indexed: flag(0),
            is_no_work: flag(1),
            has_holder: flag(2),
            was_planned: flag(3),
            has_attempts: flag(4),
            is_run: flag(5),
            has_usage: flag(6),
        };
        Some((row, [usize::try_from(needed).ok()?, usize::try_from(needing).ok()?]))
    }
}

/// The handle with a number that counts from 1. `None`: it is 0, or too large.
fn handle_of(number: u64) -> Option<Handle> {
    Handle::from_index(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// The widths of the columns, in bytes.
const WIDTHS: [usize; COLUMNS] = [HANDLE, HANDLE, 8, 8, 8, 8, 8, 8, 8, 1, 1, 1, 4, 4];
const COLUMNS: usize = 14;
/// The width of the number of a handle, in bytes.
const HANDLE: usize = 4;

/// The images of the frames with successive handles, compressed. They are separated by line feeds.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The number of the block: the places of its frames in creation order, divided by the size of blocks.
    number: usize,
    /// Which of these frames it has, one bit for each.
    members: u32,
    /// The highest revision of a change of a frame that it shows.
    changed: u64,
    bytes: Arc<[u8]>,
}

/// The unfinished trees of a snapshot.
#[derive(Debug)]
pub(super) struct Packed {
    rows: Vec<Row>,
    relations: Relations,
    blocks: Vec<Block>,
    /// Number of frames of the whole tree.
    frames: usize,
    /// The places of the rows by the hashes of their IDs.
    ids: OnceLock<Vec<(u64, u32)>>,
}

impl Packed {
    /// Reads the table. `frames` and `revision` are those of the snapshot.
    ///
    /// # Errors
    /// [`Error::Json`] if the piece has another form or is damaged.
    pub(super) fn read(bytes: &[u8], frames: usize, revision: u64) -> Result<Self> {
        let mut rest = bytes;
        if take(&mut rest, 1)? != [FORM] || take(&mut rest, 8)? != checksum(rest) {
            return Err(unreadable());
        }
        let rows = rows_of(&decompressed(take_counted(&mut rest)?)?)?;
        let are_ascending = rows.is_sorted_by(|one, other| one.member.handle < other.member.handle);
        let is_there = |handle: Handle| handle.index() < frames;
        let are_there = rows.iter().all(|row| {
            let others = row.dependencies.iter().chain(&row.dependents);
            is_there(row.member.handle) && row.changed <= revision && others.copied().all(is_there)
        });
        if !are_ascending || !are_there {
            return Err(unreadable());
        }
        let members: Vec<Member> = rows.iter().map(|row| row.member).collect();
        let mut blocks: Vec<Block> = Vec::with_capacity(rows.len() / BLOCK + 1);
        for group in in_blocks(&rows) {
            blocks.push(Block::of(group, take_counted(&mut rest)?.into()));
        }
        if !rest.is_empty() {
            return Err(unreadable());
        }
        Ok(Self { relations: Relations::of(&members)?, rows, blocks, frames, ids: OnceLock::new() })
    }

    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The frame, if it is one of these.
    pub(super) fn find(&self, handle: Handle) -> Option<PackedFrame<'_>> {
        Some(PackedFrame { packed: self, place: self.relations.place(handle)? })
    }

    /// The roots, in creation order.
    pub(super) fn roots(&self) -> impl Iterator<Item = Handle> + '_ {
        self.rows.iter().filter(|row| row.member.parent.is_none()).map(|row| row.member.handle)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = PackedFrame<'_>> {
        (0..self.rows.len()).map(|place| PackedFrame { packed: self, place })
    }

    /// The frames that can have this ID.
    pub(super) fn with_id(&self, id: &str) -> impl Iterator<Item = Handle> + '_ {
        let ids = self.ids.get_or_init(|| {
            let mut ids: Vec<(u64, u32)> = self.rows.iter().map(|row| row.id).zip(0..).collect();
            ids.sort_unstable();
            ids
        });
        let hash = fnv_of(id);
        let first = ids.partition_point(|(other, _)| *other < hash);
        let found = ids[first..].iter().take_while(move |(other, _)| *other == hash);
        found.map(|(_, place)| self.rows[*place as usize].member.handle)
    }

    /// The nodes of the block that has the image of this frame. `None` if the block cannot be read, or if its
    /// images contradict the table. A piece with the right checksum has no such block.
    pub(super) fn nodes_near(&self, handle: Handle) -> Option<Vec<(Handle, Node)>> {
        let number = block_of(handle);
        let place = self.blocks.binary_search_by_key(&number, |block| block.number).ok()?;
        let block = &self.blocks[place];
        let images = block.images()?;
        let mut nodes = Vec::with_capacity(BLOCK);
        for (handle, image) in block.handles().zip(images.split('\n')) {
            let place = self.relations.place(handle)?;
            let row = &self.rows[place];
            let mut node = Node::of_image(handle, row.changed, image, self.frames).ok()?;
            self.relations.give_to(place, &mut node);
            if Row::of(handle, &node) != *row {
                return None;
            }
            nodes.push((handle, node));
        }
        Some(nodes)
    }

    /// True if these are all rows.
    pub(super) fn has_rows(&self, rows: &[Row]) -> bool {
        self.rows == rows
    }

    /// True if the images of all frames can be read and are these.
    pub(super) fn images_are(&self, image: impl Fn(Handle) -> String) -> bool {
        self.blocks.iter().all(|block| {
            let is_same = |images: String| block.handles().map(&image).eq(images.split('\n'));
            block.images().is_some_and(is_same)
        })
    }
}

/// A frame whose image is in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedFrame<'a> {
    packed: &'a Packed,
    place: usize,
}

impl<'a> PackedFrame<'a> {
    pub(super) fn handle(self) -> Handle {
        self.row().member.handle
    }

    pub(super) fn row(self) -> &'a Row {
        &self.packed.rows[self.place]
    }

    pub(super) fn parent(self) -> Option<Handle> {
        self.row().member.parent
    }

    pub(super) fn children(self) -> &'a [Handle] {
        self.packed.relations.children(self.place)
    }

    pub(super) fn depth(self) -> u32 {
        self.packed.relations.depth(self.place)
    }

    pub(super) fn jump(self) -> Handle {
        self.packed.relations.jump(self.place)
    }

    pub(super) fn order(self) -> u64 {
        self.row().member.order
    }

    pub(super) fn status(self) -> FrameStatus {
        self.row().member.status
    }

    pub(super) fn is_retried(self) -> bool {
        self.row().member.is_retried
    }

    pub(super) fn has_unfinished_below(self) -> bool {
        self.packed.relations.has_unfinished_below(self.place)
    }

    /// See [`Row`].
    pub(super) fn is_run(self) -> bool {
        self.row().is_run
    }
}

impl Block {
    /// The block with the images of these frames, which are the frames of one block.
    fn of(rows: &[Row], bytes: Arc<[u8]>) -> Self {
        let number = rows.first().map_or(0, |row| block_of(row.member.handle));
        let (members, changed) = rows.iter().fold((0, 0), |(members, changed), row| {
            (members | 1 << (row.member.handle.index() % BLOCK), changed.max(row.changed))
        });
        Self { number, members, changed, bytes }
    }

    /// Its frames, in creation order.
    fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        let members = (0..BLOCK).filter(|place| self.members >> place & 1 == 1);
        members.filter_map(|place| Handle::from_index(self.number * BLOCK + place))
    }

    /// The images of its frames, separated by line feeds. `None` if they cannot be read.
    fn images(&self) -> Option<String> {
        let images = String::from_utf8(decompressed(&self.bytes).ok()?).ok()?;
        (images.split('\n').count() == self.handles().count()).then_some(images)
    }
}

/// Packs trees. `rows`: all their frames, in creation order. `earlier`: blocks that were made before. A block
/// whose frames have not changed since is not made again. Returns the piece, and its blocks.
pub(super) fn pack(rows: &[Row], earlier: &[Block], image: impl Fn(Handle) -> String) -> (Vec<u8>, Vec<Block>) {
    let mut blocks = Vec::with_capacity(rows.len() / BLOCK + 1);
    for group in in_blocks(rows) {
        let mut block = Block::of(group, Arc::default());
        let known = earlier.binary_search_by_key(&block.number, |block| block.number).map(|place| &earlier[place]);
        let is_same = |known: &&Block| (known.members, known.changed) == (block.members, block.changed);
        block.bytes = match known.ok().filter(is_same) {
            Some(known) => known.bytes.clone(),
            None => {
                let images: Vec<String> = group.iter().map(|row| image(row.member.handle)).collect();
                lz4_flex::compress_prepend_size(images.join("\n").as_bytes()).into()
            }
        };
        blocks.push(block);
    }
    let mut bytes = vec![FORM];
    bytes.extend([0; 8]);
    add_counted(&mut bytes, &lz4_flex::compress_prepend_size(&table_of(rows)));
    blocks.iter().for_each(|block| add_counted(&mut bytes, &block.bytes));
    let checksum = checksum(&bytes[9..]);
    bytes[1..9].copy_from_slice(&checksum);
    (bytes, blocks)
}

/// A checksum that changes with each change of up to eight successive bytes, and with nearly all others.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    fnv(bytes.chunks(8).map(word)).to_le_bytes()
}

fn block_of(handle: Handle) -> usize {
    handle.index() / BLOCK
}

/// The rows of each block.
fn in_blocks(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|one, other| block_of(one.member.handle) == block_of(other.member.handle))
}

fn table_of(rows: &[Row]) -> Vec<u8> {
    let numbers: Vec<[u64; COLUMNS]> = rows.iter().map(Row::numbers).collect();
    let mut table = Vec::with_capacity(4 + rows.len() * WIDTHS.iter().sum::<usize>());
    table.extend(length(rows.len()));
    for (column, width) in WIDTHS.into_iter().enumerate() {
        numbers.iter().for_each(|row| table.extend(&row[column].to_le_bytes()[..width]));
    }
    let others = rows.iter().flat_map(|row| row.dependencies.iter().chain(&row.dependents));
    others.for_each(|other| table.extend(&u64::from(other.number()).to_le_bytes()[..HANDLE]));
    table
}

fn rows_of(table: &[u8]) -> Result<Vec<Row>> {
    let mut rest = table;
    let count = take_length(&mut rest)?;
    if count.checked_mul(WIDTHS.iter().sum()).is_none_or(|length| length > rest.len()) {
        return Err(unreadable());
    }
    let mut columns = [&[] as &[u8]; COLUMNS];
    for (column, width) in columns.iter_mut().zip(WIDTHS) {
        *column = take(&mut rest, count * width)?;
    }
    let number = |place: usize, column: usize| {
        let width = WIDTHS[column];
        number_of(&columns[column][place * width..][..width])
    };
    let mut rows = Vec::with_capacity(count);
    for place in 0..count {
        let numbers = std::array::from_fn(|column| number(place, column));
        let (mut row, [needed, needing]) = Row::of_numbers(numbers).ok_or_else(unreadable)?;
        (row.dependencies, row.dependents) = (take_handles(&mut rest, needed)?, take_handles(&mut rest, needing)?);
        rows.push(row);
    }
    if rest.is_empty() { Ok(rows) } else { Err(unreadable()) }
}

fn take_handles(rest: &mut &[u8], count: usize) -> Result<Box<[Handle]>> {
    let handles = take(rest, count.checked_mul(HANDLE).ok_or_else(unreadable)?)?;
    handles.chunks(HANDLE).map(|number| handle_of(number_of(number)).ok_or_else(unreadable)).collect()
}

/// A number of at most 8 bytes.
fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn unreadable() -> Error {
    Error::json(SNAPSHOT, "its unfinished trees cannot be read".to_owned())
}

fn length(length: usize) -> [u8; 4] {
    // A tree has less frames than this, and a block of its frames less bytes.
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn add_counted(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(length(part.len()));
    bytes.extend(part);
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (part, others) = rest.split_at_checked(count).ok_or_else(unreadable)?;
    *rest = others;
    Ok(part)
}

fn take_length(rest: &mut &[u8]) -> Result<usize> {
    let bytes = take(rest, 4)?;
    Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| unreadable())?) as usize)
}

fn take_counted<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = take_length(rest)?;
    take(rest, count)
}

/// Decompresses bytes that come after the number of bytes that they give.
fn decompressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let (size, compressed) = lz4_flex::block::uncompressed_size(bytes).map_err(|_| unreadable())?;
    if size > compressed.len().saturating_mul(MOST_COMPRESSED) {
        return Err(unreadable());
    }
    lz4_flex::decompress(compressed, size).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{FrameRef, NewFrame};
    use crate::tree::state::tests::grown;
    use crate::tree::{Command, Tree, execute};

    fn packed(tree: &Tree) -> (Vec<u8>, Packed) {
        let bytes = tree.pack_unfinished().unwrap();
        let packed = Packed::read(&bytes, tree.len(), tree.revision()).unwrap();
        (bytes, packed)
    }

    #[test]
    fn what_is_known_without_the_image_is_what_the_node_says() {
        for seed in 0..100 {
            let tree = grown(seed);
            let (_, packed) = packed(&tree);
            for frame in packed.all() {
                let (handle, node) = (frame.handle(), tree.node(frame.handle()));
                let known = (frame.parent(), frame.children(), frame.depth(), frame.jump(), frame.order());
                assert_eq!(known, (node.parent, &node.children[..], node.depth, node.jump, node.order), "seed {seed}");
                let known =
                    (frame.status(), frame.is_retried(), frame.has_unfinished_below(), &frame.row().dependencies[..]);
                let expected =
                    (node.status(), node.retried_as().is_some(), node.has_unfinished_below(), node.dependencies());
                assert_eq!(known, expected, "seed {seed}, {handle}");
                assert!(packed.with_id(node.session_id()).any(|found| found == handle), "seed {seed}, {handle}");
                let nodes = packed.nodes_near(handle).expect("its block can be read");
                let (_, unpacked) = nodes.iter().find(|(other, _)| *other == handle).expect("its block has it");
                assert_eq!(Row::of(handle, unpacked), *frame.row(), "seed {seed}, {handle}");
                assert_eq!(unpacked.image(), node.image(), "seed {seed}, {handle}");
            }
        }
    }

    #[test]
    fn only_blocks_with_changes_are_made_again() {
        let mut tree = Tree::new();
        execute(&mut tree, Command::Push(NewFrame::new("Root").id("root")));
        let root = tree.active().unwrap();
        for number in 1..20 * BLOCK {
            execute(&mut tree, Command::Plan(NewFrame::new("Task").id(number.to_string()).below(root)));
        }
        packed(&tree);
        let before = tree.nodes.blocks();
        let changed = Handle::from_index(7 * BLOCK + 3).unwrap();
        execute(&mut tree, Command::Activate { frame: FrameRef::Handle(changed) });
        packed(&tree);
        let after = tree.nodes.blocks();
        let is_other = |place: &usize| !Arc::ptr_eq(&before[*place].bytes, &after[*place].bytes);
        assert_eq!((0..20).filter(is_other).collect::<Vec<_>>(), [0, 7], "the root has changed too");
    }

    proptest! {
        /// Bytes from elsewhere are refused, or give frames that are safe to ask for.
        #[test]
        fn damaged_bytes_do_no_harm(
            seed in 0_u64..40,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            end in any::<Option<prop::sample::Index>>(),
        ) {
            let tree = grown(seed);
            let (mut bytes, _) = packed(&tree);
            let original = bytes.clone();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Some(end) = end {
                bytes.truncate(end.index(bytes.len()));
            }
            if bytes != original {
                prop_assert!(Packed::read(&bytes, tree.len(), tree.revision()).is_err(), "a damage is noticed");
            }
            if bytes.len() > 9 {
                let checksum = checksum(&bytes[9..]);
                bytes[1..9].copy_from_slice(&checksum);
            }
            if let Ok(packed) = Packed::read(&bytes, tree.len(), tree.revision()) {
                for frame in packed.all() {
                    let nodes = packed.nodes_near(frame.handle()).unwrap_or_default();
                    for (handle, node) in nodes {
                        prop_assert!(handle.index() < tree.len() && node.children.iter().all(|child| child.index() < tree.len()));
                    }
                }
            }
        }
    }

    #[test]
    fn a_small_piece_does_not_ask_for_much_memory() {
        let mut table = u32::MAX.to_le_bytes().to_vec();
        table.extend([0; 40]);
        let mut rest = Vec::new();
        add_counted(&mut rest, &table);
        let bytes = [&[FORM][..], &checksum(&rest), &rest].concat();
        assert!(Packed::read(&bytes, 10, 10).is_err());
    }
}
