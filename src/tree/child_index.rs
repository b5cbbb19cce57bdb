//! The children of a frame by what they are: planned, in progress, interrupted and so on. Contexts and
//! queries find the few children that they show among many without a look at the others.

use std::mem;

use super::node::Waits;
use super::{Node, Tree};
use crate::frame::{Frame, FrameStatus, Handle};
use crate::keys::{self, KeyMap};
use crate::ordered::Ordered;
use crate::steps::step;

/// A kind of children. A child can be of several kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Planned,
    /// Planned work with nothing of its own to wait for.
    Free,
    /// Planned, and a dependency of its own has ended without being completed.
    Lost,
    InProgress,
    Blocked,
    /// Failed, and not retried.
    Failed,
    /// Retried or invalidated: it has no number among the children.
    Uncounted,
    /// Blocked, and answered.
    Answered,
    /// Its holder has left it in the middle of the work.
    Interrupted,
}

const KINDS: [Kind; 9] = [
    Kind::Planned,
    Kind::Free,
    Kind::Lost,
    Kind::InProgress,
    Kind::Blocked,
    Kind::Failed,
    Kind::Uncounted,
    Kind::Answered,
    Kind::Interrupted,
];

/// The children of one frame, each by the key of its place.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChildIndex {
    known: KeyMap<Handle, Known>,
    lists: [Ordered<(u64, Handle)>; KINDS.len()],
    /// The number of children with each status, in the order of [`FrameStatus::ALL`], without those that were
    /// retried.
    counts: [usize; FrameStatus::ALL.len()],
    /// The children that have begun, by the revisions of their settled views: those that are finished, and those
    /// that were finished once.
    changes: Ordered<(u64, Handle)>,
    /// The revision since which it knows all changes: that at which it was made, or at which a child that had
    /// begun has left.
    complete_since: u64,
}

/// What the index has noted of a child.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    order: u64,
    /// A bit for each kind.
    kinds: u16,
    /// The status, unless it was retried.
    status: Option<FrameStatus>,
    /// The revision under which it is among the changes; 0: it is not among them.
    changed: u64,
}

impl ChildIndex {
    /// The children of a kind, in their order.
    pub(crate) fn all(&self, kind: Kind) -> impl DoubleEndedIterator<Item = Handle> + Clone + '_ {
        self.lists[kind as usize].iter().inspect(|_| step()).map(|(_, child)| *child)
    }

    /// The number of children of a kind.
    pub(crate) fn number(&self, kind: Kind) -> usize {
        self.lists[kind as usize].len()
    }

    /// The children of a kind that are not before a place, in their order.
    pub(crate) fn from(&self, kind: Kind, order: u64) -> impl Iterator<Item = Handle> + '_ {
        let found = self.lists[kind as usize].from(move |(other, _)| other.cmp(&order));
        found.inspect(|_| step()).map(|(_, child)| *child)
    }

    /// The number of children with a status, without those that were retried.
    pub(crate) fn count(&self, status: FrameStatus) -> usize {
        self.counts[status as usize]
    }

    /// The number of children before a place that are retried or invalidated.
    pub(crate) fn uncounted_before(&self, order: u64) -> usize {
        self.lists[Kind::Uncounted as usize].rank(|(other, _)| other.cmp(&order))
    }

    /// Among the children of some kinds, the last one.
    pub(super) fn last_of(&self, kinds: &[Kind]) -> Option<Handle> {
        let last = kinds.iter().filter_map(|kind| self.lists[*kind as usize].iter().next_back());
        last.max().map(|(_, child)| *child)
    }

    /// The children that are or were finished and have changed since a revision. `None` if not all changes
    /// since then are known.
    pub(crate) fn changed_since(&self, revision: u64) -> Option<impl Iterator<Item = Handle> + '_> {
        let changes = self.changes.from(move |(changed, _)| (*changed).cmp(&revision.saturating_add(1)));
        (revision >= self.complete_since).then(|| changes.inspect(|_| step()).map(|(_, child)| *child))
    }

    /// All that it says, for tests.
    #[cfg(test)]
    pub(super) fn content(&self) -> String {
        let known: std::collections::BTreeMap<_, _> = self.known.iter().collect();
        let lists: Vec<Vec<_>> = self.lists.iter().map(|list| list.iter().collect()).collect();
        format!("{known:?} {lists:?} {:?} {:?}", self.counts, self.changes.iter().collect::<Vec<_>>())
    }

    fn note(&mut self, child: Handle, new: Option<Known>) {
        let old = keys::set(&mut self.known, child, new);
        if old == new {
            return;
        }
        for (place, list) in self.lists.iter_mut().enumerate() {
            let key = |known: Known| (known.kinds & 1 << place != 0).then_some((known.order, child));
            replace(list, old.and_then(key), new.and_then(key));
        }
        let changed = |known: Known| (known.changed > 0).then_some((known.changed, child));
        replace(&mut self.changes, old.and_then(changed), new.and_then(changed));
        if let Some(status) = old.and_then(|old| old.status) {
            self.counts[status as usize] -= 1;
        }
        if let Some(status) = new.and_then(|new| new.status) {
            self.counts[status as usize] += 1;
        }
    }
}

/// Replaces an entry of a list by another one.
fn replace(list: &mut Ordered<(u64, Handle)>, old: Option<(u64, Handle)>, new: Option<(u64, Handle)>) {
    if old == new {
        return;
    }
    if let Some(old) = old {
        list.remove(|other| other.cmp(&old));
    }
    if let Some(new) = new {
        list.insert(new, |other| other.cmp(&new));
    }
}

impl Tree {
    /// The index of the children of a frame.
    pub(crate) fn child_index(&self, parent: Handle) -> &ChildIndex {
        let node = self.node(parent);
        node.child_index.get_or_make(|| {
            let mut index = ChildIndex { complete_since: self.revision, ..ChildIndex::default() };
            for child in &node.children {
                step();
                index.note(*child, Some(self.known_as(*child)));
            }
            index
        })
    }

    fn known_as(&self, child: Handle) -> Known {
        let brief = self.brief(child);
        let (status, is_retried) = (brief.status(), brief.is_retried());
        let record = self.begun_record(child);
        let is_planned = status == FrameStatus::Planned;
        let [open, lost] = if is_planned { self.needs_left(child) } else { [0, 0] };
        let is = |kind: &Kind| match kind {
            Kind::Planned => is_planned,
            Kind::Free => is_planned && !brief.is_no_work() && open == 0,
            Kind::Lost => is_planned && lost > 0,
            Kind::InProgress => status == FrameStatus::InProgress,
            Kind::Blocked => status == FrameStatus::Blocked,
            Kind::Failed => status == FrameStatus::Failed && !is_retried,
            Kind::Uncounted => is_retried || status == FrameStatus::Invalidated,
            Kind::Answered => record.is_some_and(|record| record.pending_answer().is_some()),
            Kind::Interrupted => record.is_some_and(Frame::is_interrupted),
        };
        let kinds = KINDS.iter().filter(|kind| is(kind)).fold(0, |kinds, kind| kinds | 1 << *kind as u16);
        Known { order: brief.order(), kinds, status: (!is_retried).then_some(status), changed: brief.shown_change() }
    }

    /// Notes in the index of the children of `parent` what a frame is now, if the index was made. If the
    /// frame is no child of `parent` any more, the index forgets it.
    pub(super) fn note_child_of(&mut self, parent: Handle, child: Handle) {
        if self.nodes.in_memory(parent.index()).is_none_or(|parent| parent.child_index.made().is_none()) {
            return;
        }
        let known = (self.node(child).parent == Some(parent)).then(|| self.known_as(child));
        let revision = self.revision;
        if let Some(index) = self.nodes.derived_mut(parent.index()).and_then(|parent| parent.child_index.made_mut()) {
            if known.is_none() && index.known.get(&child).is_some_and(|child| child.changed > 0) {
                index.complete_since = revision;
            }
            index.note(child, known);
        }
    }

    /// Forgets the index of the children of a frame, because their places have other keys.
    pub(super) fn forget_child_index(&mut self, parent: Handle) {
        if let Some(parent) = self.nodes.derived_mut(parent.index()) {
            parent.child_index.forget();
        }
    }
}

/// How a dependency stands for the frames that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Met,
    Open,
    /// It has ended without being completed.
    Lost,
}

impl Need {
    /// What it adds to the numbers of the frames that wait for it: not completed, and lost.
    fn numbers(self) -> [u32; 2] {
        [u32::from(self != Need::Met), u32::from(self == Need::Lost)]
    }
}

impl Tree {
    /// The number of a frame's own dependencies that are not completed, and of those that have ended without
    /// being completed.
    pub(super) fn needs_left(&self, handle: Handle) -> [u32; 2] {
        let brief = self.brief(handle);
        let count = || {
            brief.dependencies().iter().fold([0, 0], |[open, lost], dependency| {
                step();
                let first = self.first_attempt(*dependency);
                let need = || self.need(first);
                let counted = self.brief(first).waits().map_or_else(need, |waits| *waits.counted.get_or_make(need));
                let [is_open, is_lost] = counted.numbers();
                [open + is_open, lost + is_lost]
            })
        };
        brief.waits().map_or_else(count, |waits| *waits.left.get_or_make(count))
    }

    /// True if a dependency of the frame itself is not completed.
    pub(super) fn has_open_needs(&self, handle: Handle) -> bool {
        self.needs_left(handle)[0] > 0
    }

    /// How the newest attempt at the work of a first attempt stands.
    fn need(&self, first: Handle) -> Need {
        match self.status(self.newest_attempt(first)) {
            FrameStatus::Completed => Need::Met,
            FrameStatus::Failed | FrameStatus::Invalidated => Need::Lost,
            FrameStatus::Planned | FrameStatus::InProgress | FrameStatus::Blocked => Need::Open,
        }
    }

    /// Notes how the work of a frame stands before it changes. Otherwise a question during the change would note how it
    /// stands afterwards, and the frames that wait for it would not be told: they may be packed, and have noted nothing.
    pub(super) fn count_need(&self, handle: Handle) {
        let first = self.first_attempt(handle);
        if !self.brief(first).dependents().is_empty()
            && let Some(waits) = self.node(first).waits()
        {
            waits.counted.get_or_make(|| self.need(first));
        }
    }

    /// Counts in the frames that wait for a first attempt how its work stands now. True if that has changed.
    pub(super) fn note_need(&mut self, first: Handle) -> bool {
        let new = self.need(first);
        let counted = self.waits_mut(first).and_then(|waits| waits.counted.made_mut());
        let old = counted.map(|counted| mem::replace(counted, new));
        if old == Some(new) {
            return false;
        }
        for place in 0..self.node(first).dependents().len() {
            step();
            let dependent = self.node(first).dependents()[place];
            let Some(waits) = self.waits_mut(dependent) else { continue };
            match (waits.left.made_mut(), old) {
                (Some(left), Some(old)) => {
                    let numbers = old.numbers().into_iter().zip(new.numbers());
                    left.iter_mut().zip(numbers).for_each(|(number, (old, new))| *number = *number + new - old);
                }
                // The first attempt was not in memory for a while.
                _ => waits.left.forget(),
            }
        }
        true
    }

    /// Forgets the numbers of a frame whose dependencies have changed.
    pub(super) fn forget_needs(&mut self, handle: Handle) {
        if let Some(waits) = self.waits_mut(handle) {
            waits.left.forget();
        }
    }

    fn waits_mut(&mut self, handle: Handle) -> Option<&mut Waits> {
        self.nodes.derived_mut(handle.index()).and_then(Node::derived_waits)
    }
}
