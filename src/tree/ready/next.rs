//! The planned frames that can begin as far as they themselves are concerned, in the order of the plan: work
//! with nothing of its own to wait for, and no parts that are left. Workers and lists of ready frames look
//! only at these.

use std::cmp::Ordering;
use std::mem;

use parking_lot::Mutex;

use crate::frame::{FrameStatus, Handle, Priority};
use crate::keys::{self, KeyMap};
use crate::ordered::Ordered;
use crate::steps::step;
use crate::tree::Tree;
use crate::tree::child_index::Kind;

/// The number of frames above a frame that are always looked at.
const NEAR: usize = if cfg!(test) { 1 } else { 8 };

/// These frames, by their priorities, the most urgent first.
#[derive(Debug, Clone, Default)]
pub(in crate::tree) struct NextFrames {
    lists: [Ordered<Handle>; Priority::COUNT],
    known: KeyMap<Handle, Priority>,
}

impl NextFrames {
    fn list(&mut self, priority: Priority) -> &mut Ordered<Handle> {
        &mut self.lists[usize::from(u8::from(priority))]
    }

    /// Puts a frame into the list of its priority, or takes it out.
    fn note(&mut self, tree: &Tree, handle: Handle, new: Option<Priority>) {
        let old = keys::set(&mut self.known, handle, new);
        if old == new {
            return;
        }
        let order = |other: &Handle| tree.plan_order(*other, handle);
        if let Some(old) = old {
            self.list(old).remove(order);
        }
        if let Some(new) = new {
            self.list(new).insert(handle, order);
        }
    }

    /// The frames at or below a frame, or all of them.
    fn within<'a>(&'a self, tree: &'a Tree, top: Option<Handle>) -> impl Iterator<Item = Handle> + 'a {
        self.lists.iter().flat_map(move |list| {
            let order = move |other: &Handle| top.map_or(Ordering::Greater, |top| tree.plan_order(*other, top));
            let is_within = move |handle: &Handle| top.is_none_or(|top| tree.is_at_or_above(top, *handle));
            list.from(order).copied().inspect(|_| step()).take_while(is_within)
        })
    }
}

impl Tree {
    fn next_frames(&self) -> &NextFrames {
        self.next.get_or_make(|| {
            let mut next = NextFrames::default();
            for handle in self.unfinished_in_order() {
                step();
                next.note(self, handle, self.next_priority(handle));
            }
            next
        })
    }

    /// The frames that can begin as far as they themselves are concerned: at or below a frame, or all of
    /// them, in the order in which they are next.
    pub(super) fn nearly_ready(&self, top: Option<Handle>) -> impl Iterator<Item = Handle> + '_ {
        self.next_frames().within(self, top)
    }

    /// How urgent a frame is, if it can begin as far as it itself is concerned.
    fn next_priority(&self, handle: Handle) -> Option<Priority> {
        let is_work = self.status(handle) == FrameStatus::Planned && !self.is_group(handle);
        let can_begin = is_work && !self.has_open_needs(handle) && self.part_left(handle).is_none();
        can_begin.then(|| if self.prioritized.is_empty() { Priority::NORMAL } else { self.priority(handle) })
    }

    /// Among the parts of a frame that are neither completed nor invalidated, the part that is done last.
    pub(super) fn part_left(&self, handle: Handle) -> Option<Handle> {
        let children = self.children(handle);
        if children.is_empty() {
            return None;
        }
        // The children of a packed frame have not changed since the snapshot. Its index would unpack it.
        if self.nodes.packed(handle).is_some() {
            let is_left = |child: &&Handle| match self.status(**child) {
                FrameStatus::Completed | FrameStatus::Invalidated => false,
                FrameStatus::Failed => !self.is_retried(**child),
                FrameStatus::Planned | FrameStatus::InProgress | FrameStatus::Blocked => true,
            };
            return children.iter().rev().inspect(|_| step()).find(is_left).copied();
        }
        self.child_index(handle).last_of(&[Kind::Planned, Kind::InProgress, Kind::Blocked, Kind::Failed])
    }

    /// Notes what a frame is now, in all that follows from it: in the index of its parent's children, among
    /// the frames that are next, and for the frames below it.
    pub(in crate::tree) fn note_standing(&mut self, handle: Handle) {
        let node = self.node(handle);
        let parent = node.parent();
        // A frame in progress stands in the way of nothing below it.
        let may_stand_in_the_way = node.has_unfinished_below() && node.status() != FrameStatus::InProgress;
        self.clear_above.forget_one(handle);
        if may_stand_in_the_way {
            self.clear_above.forget();
        }
        parent.into_iter().for_each(|parent| self.note_child_of(parent, handle));
        self.note_worker_time(handle);
        self.note_next(parent.into_iter().chain([handle]));
    }

    fn note_next(&mut self, frames: impl Iterator<Item = Handle>) {
        let mut next = mem::take(&mut self.next);
        if let Some(next) = next.made_mut() {
            frames.for_each(|handle| next.note(self, handle, self.next_priority(handle)));
        }
        self.next = next;
    }

    /// Takes the frames at and below a frame out of the frames that are next, because the frame moves or gets
    /// another priority. They are noted again afterwards.
    pub(in crate::tree) fn take_next(&mut self, top: Handle) -> Vec<Handle> {
        let mut next = mem::take(&mut self.next);
        let mut taken = Vec::new();
        if let Some(next) = next.made_mut() {
            taken = next.within(self, Some(top)).collect();
            taken.iter().for_each(|handle| next.note(self, *handle, None));
        }
        self.next = next;
        taken
    }

    /// Notes frames again after [`Tree::take_next`].
    pub(in crate::tree) fn put_next(&mut self, taken: Vec<Handle>) {
        self.note_next(taken.into_iter());
    }

    /// The order of two frames in the plan: each frame before the frames below it, and siblings in their
    /// order.
    pub(in crate::tree) fn plan_order(&self, one: Handle, other: Handle) -> Ordering {
        let depth = |handle: Handle| self.brief(handle).depth();
        let least = depth(one).min(depth(other));
        let (mut left, mut right) = (self.ancestor_at(one, least), self.ancestor_at(other, least));
        if left == right {
            return depth(one).cmp(&depth(other));
        }
        // Frames at the same depth jump to the same depth.
        loop {
            step();
            let (a, b) = (self.brief(left), self.brief(right));
            match (a.parent(), b.parent()) {
                (Some(one), Some(other)) if one != other => {
                    let is_far = a.jump() != b.jump();
                    (left, right) = if is_far { (a.jump(), b.jump()) } else { (one, other) };
                }
                _ => return a.order().cmp(&b.order()),
            }
        }
    }

    /// The frame itself or its ancestor that has this depth.
    pub(in crate::tree) fn ancestor_at(&self, handle: Handle, depth: u32) -> Handle {
        let mut place = handle;
        while self.brief(place).depth() > depth {
            step();
            // The jump leads further up than the parent, but it must not lead past the depth.
            place = self.brief(place).above(self, depth).expect("a frame with a depth has a parent");
        }
        place
    }

    /// True if nothing above a planned frame keeps it from beginning: the planned frames above it wait for
    /// nothing, and the first one that is not planned is open.
    pub(super) fn is_clear_above(&self, handle: Handle) -> bool {
        let mut passed = Vec::new();
        for (above, distance) in self.ancestors(handle).zip(0..) {
            if distance >= NEAR && self.clear_above.has(above) {
                break;
            }
            let status = self.status(above);
            if status != FrameStatus::Planned {
                if status.is_open() {
                    break;
                }
                return false;
            }
            if self.has_open_needs(above) {
                return false;
            }
            passed.push(above);
        }
        if passed.len() > NEAR {
            self.clear_above.note(passed);
        }
        true
    }
}

/// The planned frames that are clear themselves and have nothing above that keeps the frames below them from
/// beginning. They are remembered so that the frames of a deep plan are not looked at again for each of its
/// leaves.
#[derive(Debug, Default)]
pub(in crate::tree) struct ClearAbove(Mutex<KeyMap<Handle, ()>>);

impl Clone for ClearAbove {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

impl ClearAbove {
    fn has(&self, handle: Handle) -> bool {
        self.0.lock().contains_key(&handle)
    }

    fn note(&self, frames: Vec<Handle>) {
        self.0.lock().extend(frames.into_iter().map(|frame| (frame, ())));
    }

    /// Forgets a frame that has changed.
    fn forget_one(&mut self, handle: Handle) {
        self.0.get_mut().remove(&handle);
    }

    /// Forgets all, because something has changed above planned frames.
    pub(in crate::tree) fn forget(&mut self) {
        self.0.get_mut().clear();
    }
}
