//! The place of a frame: its parent, and its order among its siblings. Siblings have keys, and only the order
//! of these keys matters. So a frame is found among its siblings, and compared with one of them, without
//! reading the others.

use super::Tree;
use crate::frame::Handle;
use crate::steps::step;

/// The key of the first child of a frame, in the middle of all numbers.
const FIRST: u64 = 1 << 63;
/// The difference between the keys of children that are added one after the other.
const GAP: u64 = 1 << 30;
/// The largest difference between the keys of two children, if the second one gets a place between others. It
/// is small, because other frames often get the place after the second one, for example the attempts at one
/// work.
const SMALL_GAP: u64 = 1 << 18;

impl Tree {
    /// The children of a frame, or the roots, in their order.
    pub(super) fn level(&self, parent: Option<Handle>) -> &[Handle] {
        parent.map_or_else(|| self.roots(), |parent| &self.node(parent).children)
    }

    /// The number of siblings, or of roots, before a frame.
    pub(crate) fn place(&self, handle: Handle) -> usize {
        let node = self.node(handle);
        match node.parent {
            Some(parent) => {
                self.node(parent).children.partition_point(|sibling| self.node(*sibling).order < node.order)
            }
            None => self.roots.place(node.order, &self.nodes),
        }
    }

    /// The sibling, or root, after a frame.
    pub(crate) fn next(&self, handle: Handle) -> Option<Handle> {
        self.level(self.node(handle).parent).get(self.place(handle) + 1).copied()
    }

    /// True if a frame is the other frame, or is above it.
    pub(super) fn is_at_or_above(&self, frame: Handle, other: Handle) -> bool {
        frame == other || self.is_ancestor(frame, other)
    }

    /// The first frame that would depend on itself or on a frame above or below it, together with that frame,
    /// if a frame had this parent and, if they are given, these dependencies. With a new parent, the frames
    /// below the frame have new ancestors too.
    pub(super) fn kin_after_edit(
        &self,
        handle: Handle,
        parent: Option<Handle>,
        depends_on: Option<&[Handle]>,
    ) -> Option<(Handle, Handle)> {
        let is_above = |frame: &Handle| parent.is_some_and(|parent| self.is_at_or_above(*frame, parent));
        // A frame that depends on another one waits for the newest attempt of that frame.
        let attempts = |frame: &Handle| [*frame, self.newest_attempt(*frame)];
        let is_kin = |dependency: &&Handle| {
            attempts(dependency).iter().any(|frame| self.is_at_or_above(handle, *frame) || is_above(frame))
        };
        if let Some(kin) = depends_on.unwrap_or_default().iter().inspect(|_| step()).find(is_kin) {
            return Some((handle, *kin));
        }
        if parent == self.node(handle).parent {
            return None;
        }
        self.subtree(handle).find_map(|frame| {
            let node = self.node(frame);
            let is_replaced = frame == handle && depends_on.is_some();
            let dependencies = if is_replaced { &[][..] } else { node.dependencies() };
            let find = |frames: &[Handle], is_kin: &dyn Fn(&Handle) -> bool| {
                frames.iter().inspect(|_| step()).copied().find(|other| is_kin(other))
            };
            let dependency = find(dependencies, &|other| attempts(other).iter().any(is_above));
            let dependency = dependency.map(|dependency| (frame, dependency));
            dependency.or_else(|| find(self.dependents(frame), &is_above).map(|dependent| (dependent, frame)))
        })
    }

    /// Puts a frame whose parent is set among its siblings: before one of them, or after all of them.
    pub(super) fn enter(&mut self, handle: Handle, before: Option<Handle>) {
        match (self.node(handle).parent, before) {
            (Some(parent), _) => self.enter_children(handle, parent, before),
            (None, None) => self.enter_last_root(handle),
            (None, Some(before)) => self.enter_roots(handle, before),
        }
    }

    fn enter_children(&mut self, handle: Handle, parent: Handle, before: Option<Handle>) {
        let place = before.map_or(self.node(parent).children.len(), |sibling| self.place(sibling));
        let key = self.free_key(Some(parent), place);
        self.nodes[handle.index()].order = key;
        let level = &self.node(parent).children;
        let is_out_of_order = place.checked_sub(1).is_some_and(|before| level[before] > handle)
            || level.get(place).is_some_and(|after| *after < handle);
        let parent = &mut self.nodes[parent.index()];
        parent.children.insert(place, handle);
        parent.is_reordered |= is_out_of_order;
    }

    fn enter_roots(&mut self, handle: Handle, before: Handle) {
        let place = self.place(before);
        let key = self.free_key(None, place);
        self.nodes[handle.index()].order = key;
        self.roots.insert(place, key, handle, &self.nodes);
        self.root_statuses[self.nodes[handle.index()].status() as usize] += 1;
    }

    /// Does not read the other roots, because there can be many.
    fn enter_last_root(&mut self, handle: Handle) {
        let key = match self.roots.last() {
            None => FIRST,
            Some(last) => last.checked_add(GAP).unwrap_or_else(|| self.free_key(None, self.roots().len())),
        };
        self.nodes[handle.index()].order = key;
        self.roots.push(key, handle);
        self.root_statuses[self.nodes[handle.index()].status() as usize] += 1;
    }

    /// The key for a new frame at a place among siblings. The siblings get new keys if there is no free key.
    fn free_key(&mut self, parent: Option<Handle>, place: usize) -> u64 {
        if self.key(parent, place).is_none() {
            self.spread(parent);
        }
        self.key(parent, place).unwrap_or(FIRST)
    }

    /// The key for a new frame at a place among siblings; `None` if there is no free key between its
    /// neighbours.
    fn key(&self, parent: Option<Handle>, place: usize) -> Option<u64> {
        let key = |place: usize| match parent {
            Some(parent) => self.node(parent).children.get(place).map(|sibling| self.node(*sibling).order),
            None => self.roots.key(place, &self.nodes),
        };
        match (place.checked_sub(1).and_then(key), key(place)) {
            (None, None) => Some(FIRST),
            (Some(before), None) => before.checked_add(GAP),
            (None, Some(after)) => after.checked_sub(GAP),
            (Some(before), Some(after)) => (after - before > 1).then(|| before + ((after - before) / 2).min(SMALL_GAP)),
        }
    }

    /// Gives siblings new keys in the same order, with equal gaps.
    fn spread(&mut self, parent: Option<Handle>) {
        let level = self.level(parent).to_vec();
        self.set_level(parent, level);
    }

    /// Gives the children of a frame, or the roots, another order, and keys with equal gaps.
    pub(super) fn set_level(&mut self, parent: Option<Handle>, order: Vec<Handle>) {
        let key = |place: usize| FIRST + place as u64 * GAP;
        for (place, handle) in order.iter().enumerate() {
            step();
            self.nodes[handle.index()].order = key(place);
        }
        let Some(parent) = parent else {
            let keys = (0..order.len()).map(key).collect();
            self.busy_roots.clear();
            order.iter().for_each(|root| self.note_root(*root));
            return self.roots.set(order, keys);
        };
        self.forget_child_index(parent);
        let revision = self.revision;
        let parent = &mut self.nodes[parent.index()];
        parent.is_reordered = !order.is_sorted();
        // The computation of relevance keeps the keys of finished children.
        parent.finished_revision = revision;
        parent.children = order;
    }

    /// Moves a frame, with the frames below it, below another parent or to another place among its siblings.
    /// The parent must be neither the frame nor below it; `before` must be another child of the parent.
    pub(super) fn move_to(&mut self, handle: Handle, parent: Option<Handle>, before: Option<Handle>) {
        let (old, place) = (self.node(handle).parent, self.place(handle));
        let taken = self.take_next(handle);
        self.clear_above.forget();
        match old {
            Some(old) => drop(self.nodes[old.index()].children.remove(place)),
            None => {
                self.roots.remove(place, &self.nodes);
                self.busy_roots.remove(&(self.node(handle).order, handle));
                let status = self.node(handle).status() as usize;
                self.root_statuses[status] = self.root_statuses[status].saturating_sub(1);
            }
        }
        if parent != old {
            self.change_parent(handle, parent);
        }
        self.enter(handle, before);
        self.note_root(handle);
        old.into_iter().for_each(|old| self.note_child_of(old, handle));
        self.note_standing(handle);
        self.put_next(taken.into_iter().chain(old).collect());
        let is_finished = self.node(handle).status().is_finished();
        for changed in [old, parent].into_iter().flatten() {
            let revision = self.revision;
            let node = &mut self.nodes[changed.index()];
            node.children_revision = revision;
            if is_finished {
                node.finished_revision = revision;
            }
        }
    }

    /// Sets the parent of a frame. Also updates what its old and new ancestors, and the frames below it, keep
    /// because of it.
    fn change_parent(&mut self, handle: Handle, parent: Option<Handle>) {
        let was_held = self.is_held(handle);
        let node = &mut self.nodes[handle.index()];
        let (is_busy, finished) = (node.is_busy(), node.finished);
        let old = std::mem::replace(&mut node.parent, parent);
        let is_held = self.is_held(handle);
        // A frame that was retried is not among the finished children.
        let node = self.node(handle);
        let is_finished = node.status().is_finished() && node.retried_as().is_none();
        if is_busy {
            self.count_branch(old, false);
            self.count_branch(parent, true);
            old.into_iter().for_each(|old| self.note_end(old));
        }
        if let Some(old) = old.filter(|_| is_finished) {
            let old = &mut self.nodes[old.index()];
            old.finished_children.remove(&finished);
            old.held_children -= u32::from(was_held);
        }
        if let Some(parent) = parent.filter(|_| is_finished) {
            let parent = &mut self.nodes[parent.index()];
            parent.finished_children.insert(finished, handle);
            parent.held_children += u32::from(is_held);
        }
        let branch: Vec<Handle> = self.subtree(handle).collect();
        for frame in branch {
            let (depth, jump) = self.way_up(frame, self.node(frame).parent);
            let node = &mut self.nodes[frame.index()];
            (node.depth, node.jump) = (depth, jump);
            self.note_title(frame);
        }
    }

    /// Tells the frame above a branch, and its ancestors, that the branch now has something unfinished, or
    /// has nothing unfinished any more.
    pub(super) fn count_branch(&mut self, above: Option<Handle>, is_busy: bool) {
        let mut above = above;
        while let Some(parent) = above {
            let node = &mut self.nodes[parent.index()];
            let was_busy = node.is_busy();
            if is_busy {
                node.busy_children += 1;
            } else {
                node.busy_children -= 1;
            }
            above = node.parent.filter(|_| node.is_busy() != was_busy);
            self.note_root(parent);
        }
    }

    /// Notes whether a frame is a root whose tree has something unfinished.
    pub(super) fn note_root(&mut self, handle: Handle) {
        let node = self.node(handle);
        let place = (node.order, handle);
        if node.parent.is_none() && node.is_busy() {
            self.busy_roots.insert(place);
        } else if node.parent.is_none() {
            self.busy_roots.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::frame::{FrameEdit, FrameRef, Handle, NewFrame};
    use crate::steps::{assert_grows, steps_of};
    use crate::tree::{Command, Tree, execute};

    fn handle(number: usize) -> Handle {
        Handle::from_index(number - 1).unwrap()
    }

    /// A root f1 with this number of planned children.
    fn planned(children: usize) -> Tree {
        let mut tree = Tree::new();
        execute(&mut tree, Command::Push(NewFrame::new("Root").id("root")));
        for number in 0..children {
            execute(&mut tree, Command::Plan(NewFrame::new("Task").id(number.to_string()).below(handle(1))));
        }
        tree
    }

    fn edit(tree: &mut Tree, frame: usize, edit: FrameEdit) {
        execute(tree, Command::Edit { frame: FrameRef::Handle(handle(frame)), edit });
    }

    #[test]
    fn a_gap_between_two_siblings_never_ends() {
        let mut tree = planned(5);
        let mut expected: Vec<Handle> = (2..=6).map(handle).collect();
        for round in 0..200 {
            // Always moved into the same gap, from both sides.
            let (moved, before) = if round % 2 == 0 { (2, 4) } else { (3, 4) };
            if tree.next(handle(moved)) != Some(handle(before)) {
                edit(&mut tree, moved, FrameEdit::default().before(handle(before)));
                expected.retain(|frame| *frame != handle(moved));
                let place = expected.iter().position(|frame| *frame == handle(before)).unwrap();
                expected.insert(place, handle(moved));
            }
            assert_eq!(tree.children(handle(1)), expected);
            let keys: Vec<u64> = tree.children(handle(1)).iter().map(|frame| tree.node(*frame).order).collect();
            assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
        }
    }

    #[test]
    fn a_move_takes_steps_in_proportion_to_what_moves() {
        assert_grows(2.2, 500, |size| {
            let mut tree = planned(size);
            steps_of(|| {
                for number in 3..size {
                    edit(&mut tree, number, FrameEdit::default().before(handle(2)));
                    edit(&mut tree, number, FrameEdit::default().last());
                    crate::steps::step();
                }
            })
            .1
        });
        assert_grows(2.2, 500, |size| {
            let mut tree = planned(2);
            let mut above = handle(2);
            for number in 0..size {
                execute(&mut tree, Command::Plan(NewFrame::new("Part").id(format!("p{number}")).below(above)));
                above = tree.handles().next_back().unwrap();
            }
            steps_of(|| edit(&mut tree, 2, FrameEdit::default().below(handle(3)))).1
        });
    }

    #[test]
    fn ways_up_are_right_after_a_move() {
        let mut tree = planned(2);
        let mut above = handle(2);
        for number in 0..60 {
            execute(&mut tree, Command::Plan(NewFrame::new("Part").id(format!("p{number}")).below(above)));
            if number % 3 != 2 {
                above = tree.handles().next_back().unwrap();
            }
        }
        edit(&mut tree, 20, FrameEdit::default().below(handle(3)));
        edit(&mut tree, 3, FrameEdit::default().below(handle(12)));
        for frame in tree.handles() {
            let ancestors: Vec<_> = tree.ancestors(frame).collect();
            assert_eq!(tree.node(frame).depth(), ancestors.len());
            for other in tree.handles() {
                assert_eq!(tree.is_ancestor(other, frame), ancestors.contains(&other), "{other} above {frame}");
            }
        }
    }
}
