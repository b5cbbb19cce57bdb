//! An order of frames in which each frame comes after the frames that it depends on. It answers at once for
//! most new dependencies that they close no circle.
//!
//! The order is kept with the algorithm of Pearce and Kelly (2006, "A Dynamic Topological Sort Algorithm for
//! Directed Acyclic Graphs"): a new dependency that does not fit into the order moves only frames that are
//! between the two.

use std::collections::HashSet;

use super::Tree;
use crate::frame::Handle;
use crate::keys::KeyMap;
use crate::steps::step;

/// The numbers of the frames that depend on others or that others depend on, each work by its first attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct DependencyOrder {
    numbers: KeyMap<Handle, u64>,
    next: u64,
}

impl Tree {
    /// True if the work of a frame waits for the work of another one, directly or through others.
    pub(super) fn depends_on(&self, handle: Handle, other: Handle) -> bool {
        let order = self.dependency_order();
        let wanted = self.first_attempt(other);
        let lowest = order.numbers.get(&wanted);
        // What a frame depends on has a lower number, and a frame with a number depends only on such frames.
        let can_wait = |frame: &Handle| match order.numbers.get(frame) {
            Some(number) => lowest.is_some_and(|lowest| number >= lowest),
            None => true,
        };
        let mut seen = HashSet::new();
        let mut pending = vec![self.first_attempt(handle)];
        while let Some(frame) = pending.pop() {
            step();
            if frame == wanted {
                return true;
            }
            if can_wait(&frame) {
                pending.extend(self.works_before(frame).filter(can_wait).filter(|other| seen.insert(*other)));
            }
        }
        false
    }

    /// The works that the newest attempt at a work depends on, each by its first attempt.
    fn works_before(&self, first: Handle) -> impl Iterator<Item = Handle> + '_ {
        let dependencies = self.node(self.newest_attempt(first)).dependencies();
        dependencies.iter().map(|dependency| self.first_attempt(*dependency))
    }

    /// The works that wait for a work. Only the newest attempt at a work counts, as in
    /// [`Tree::works_before`].
    fn works_after(&self, first: Handle) -> impl Iterator<Item = Handle> + '_ {
        let is_newest = |dependent: &&Handle| self.newest_attempt(**dependent) == **dependent;
        self.node(first).dependents().iter().filter(is_newest).map(|dependent| self.first_attempt(*dependent))
    }

    fn dependency_order(&self) -> &DependencyOrder {
        self.dependency_order.get_or_make(|| {
            let mut order = DependencyOrder::default();
            for handle in self.nodes.all_in_memory() {
                if self.newest_dependencies(handle).next().is_some() {
                    self.enter_order(&mut order, self.first_attempt(handle));
                }
            }
            order
        })
    }

    /// Gives a number to a work and to all that it waits for, unless they have one.
    fn enter_order(&self, order: &mut DependencyOrder, first: Handle) {
        let mut entered = HashSet::new();
        let mut path = vec![first];
        // A work gets its number after the works that it depends on.
        while let Some(first) = path.last().copied() {
            step();
            if order.numbers.contains_key(&first) {
                path.pop();
            } else if entered.insert(first) {
                path.extend(self.works_before(first).filter(|other| !order.numbers.contains_key(other)));
            } else {
                order.next += 1;
                order.numbers.insert(first, order.next);
                path.pop();
            }
        }
    }

    /// Moves works in the order, if it was made, so that it fits to a new dependency of a frame.
    pub(super) fn note_dependency(&mut self, handle: Handle, dependency: Handle) {
        let mut made = std::mem::take(&mut self.dependency_order);
        let is_in_order = made.made_mut().is_none_or(|order| self.fit(order, handle, dependency));
        if is_in_order {
            self.dependency_order = made;
        }
    }

    /// False if the order cannot be kept, because a history from elsewhere has a circle.
    fn fit(&self, order: &mut DependencyOrder, handle: Handle, dependency: Handle) -> bool {
        let (first, before) = (self.first_attempt(handle), self.first_attempt(dependency));
        self.enter_order(order, before);
        self.enter_order(order, first);
        let (Some(lowest), Some(highest)) = (order.numbers.get(&first), order.numbers.get(&before)) else {
            return false;
        };
        let (lowest, highest) = (*lowest, *highest);
        if highest < lowest {
            return true;
        }
        let later = self.reached(order, first, |number| number <= highest, |frame| self.works_after(frame).collect());
        let earlier =
            self.reached(order, before, |number| number >= lowest, |frame| self.works_before(frame).collect());
        let mut numbers: Vec<u64> =
            earlier.iter().chain(&later).filter_map(|frame| order.numbers.get(frame)).copied().collect();
        numbers.sort_unstable();
        let are_distinct = numbers.windows(2).all(|pair| pair[0] != pair[1]);
        for (frame, number) in earlier.into_iter().chain(later).zip(numbers) {
            order.numbers.insert(frame, number);
        }
        are_distinct
    }

    /// The works that are reached from one of them through works with numbers in a range, in the order of
    /// their numbers. Works without a number are not in the way.
    fn reached(
        &self,
        order: &DependencyOrder,
        start: Handle,
        is_within: impl Fn(u64) -> bool,
        next: impl Fn(Handle) -> Vec<Handle>,
    ) -> Vec<Handle> {
        let is_within = |frame: &Handle| order.numbers.get(frame).is_some_and(|number| is_within(*number));
        let mut found = HashSet::from([start]);
        let mut pending = vec![start];
        while let Some(frame) = pending.pop() {
            step();
            pending.extend(next(frame).into_iter().filter(is_within).filter(|other| found.insert(*other)));
        }
        let mut found: Vec<Handle> = found.into_iter().collect();
        found.sort_unstable_by_key(|frame| order.numbers.get(frame));
        found
    }
}
