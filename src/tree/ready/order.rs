//! The order of the frames that can begin: the most urgent first, and equally urgent frames in the order of
//! the plan.

use std::collections::HashMap;
use std::iter;

use super::Parts;
use crate::frame::{FrameStatus, Handle, Priority};
use crate::steps::step;
use crate::tree::{Kind, Tree};

impl Tree {
    /// How urgent a frame is: its own priority, or else the priority of the nearest frame above that has one.
    pub fn priority(&self, handle: Handle) -> Priority {
        self.lineage(handle).find_map(|frame| self.brief(frame).priority()).unwrap_or_default()
    }

    /// The planned frames that can begin, after their parts ([`Parts::First`]): the most urgent first, and
    /// equally urgent frames in the order of the plan.
    pub fn ready(&self) -> impl Iterator<Item = Handle> + '_ {
        self.ready_within(None)
    }

    /// Same as [`Tree::ready`], for a frame and the frames below it, or for all frames.
    pub(crate) fn ready_within(&self, top: Option<Handle>) -> impl Iterator<Item = Handle> + '_ {
        self.nearly_ready(top).filter(|handle| self.can_begin(*handle, Parts::First).is_ok())
    }

    /// The planned children of a frame that can begin with their parts inside them, in that order. With
    /// `completed`: the children that can begin once this frame is completed.
    pub fn ready_children(&self, parent: Handle, completed: Option<Handle>) -> impl Iterator<Item = Handle> + '_ {
        let index = self.child_index(parent);
        let order = |child: &Handle| self.brief(*child).order();
        // The frames that wait for this one are not free yet.
        let waiting = completed.into_iter().flat_map(|completed| self.dependents(completed));
        let is_waiting_child = |child: &Handle| {
            step();
            let is_planned = self.parent(*child) == Some(parent) && self.status(*child) == FrameStatus::Planned;
            is_planned && self.has_open_needs(*child)
        };
        let mut waiting: Vec<Handle> = waiting.copied().filter(is_waiting_child).collect();
        waiting.sort_unstable_by_key(order);
        let mut waiting = waiting.into_iter().peekable();
        let mut free = index.all(Kind::Free).peekable();
        let planned = iter::from_fn(move || {
            let is_first = waiting.peek().is_some_and(|next| free.peek().is_none_or(|free| order(next) < order(free)));
            if is_first { waiting.next() } else { free.next() }
        });
        let planned = self.most_urgent_first(planned);
        planned.filter(move |child| self.can_begin_after(*child, Parts::Within, completed).is_ok())
    }

    /// The planned siblings of a frame that can begin when the frame is completed, in that order.
    pub fn ready_siblings(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        let parent = self.parent(handle);
        parent
            .into_iter()
            .flat_map(move |parent| self.ready_children(parent, Some(handle)))
            .filter(move |next| *next != handle)
    }

    /// Sorts frames, which are in the order of the plan, into the order in which they are next. They are
    /// taken one by one if no frame has a priority.
    fn most_urgent_first<'a>(
        &'a self,
        mut frames: impl Iterator<Item = Handle> + 'a,
    ) -> impl Iterator<Item = Handle> + 'a {
        let mut sorted = Vec::new();
        if !self.prioritized.is_empty() {
            let mut known = HashMap::new();
            sorted.extend(frames.by_ref().map(|frame| (self.inherited(frame, &mut known), frame)));
            sorted.sort_by_key(|(priority, _)| *priority);
        }
        sorted.into_iter().map(|(_, frame)| frame).chain(frames)
    }

    /// Same as [`Tree::priority`], for many frames: `known` has the priorities of the frames that were looked
    /// at.
    fn inherited(&self, handle: Handle, known: &mut HashMap<Handle, Priority>) -> Priority {
        let mut path = Vec::new();
        let mut priority = Priority::NORMAL;
        for frame in self.lineage(handle) {
            let own = known.get(&frame).copied().or(self.brief(frame).priority());
            if let Some(own) = own {
                priority = own;
                break;
            }
            path.push(frame);
        }
        known.extend(path.into_iter().map(|frame| (frame, priority)));
        priority
    }
}
