//! The plan of the model: which frames depend on which other frames, which frames can begin, in which order,
//! and edits.

use callstack_core::{FrameStatus, HolderKind};

use super::asks::Edit;
use super::holders::Who;
use super::{Answer, Model};

impl Model {
    /// True if a planned frame and the planned frames above it have what they need, if the frame is not below
    /// a frame that has ended, and if it has no parts left.
    pub(super) fn can_begin(&self, frame: usize) -> bool {
        // A part does not wait for frames that wait for it.
        let has_what_it_needs = |whole: usize| {
            let mut dependencies = self.frames[whole].depends_on.iter().map(|dependency| self.newest(*dependency));
            dependencies.all(|dependency| {
                self.frames[dependency].status == FrameStatus::Completed
                    || whole != frame && self.all_behind(frame, whole).contains(&dependency)
            })
        };
        let is_planned = |frame: &usize| self.frames[*frame].status == FrameStatus::Planned;
        let above = self.above(frame);
        let planned: Vec<usize> = above.iter().copied().take_while(is_planned).collect();
        let begun = above.get(planned.len());
        let mut children = (0..self.frames.len()).filter(|child| self.frames[*child].parent == Some(frame));
        is_planned(&frame)
            && has_what_it_needs(frame)
            && planned.into_iter().all(has_what_it_needs)
            && begun.is_none_or(|begun| self.is_open(*begun))
            && children.all(|child| {
                self.is_retried(child)
                    || matches!(self.frames[child].status, FrameStatus::Completed | FrameStatus::Invalidated)
            })
    }

    /// All frames that come after a part of another frame: the frames that depend on the part, the frames
    /// below these frames, and the frames above the part inside the whole.
    fn all_behind(&self, part: usize, whole: usize) -> Vec<usize> {
        let mut behind = vec![part];
        let mut next = 0;
        while let Some(frame) = behind.get(next).copied() {
            next += 1;
            let depends = |other: &usize| {
                let plain = &self.frames[*other];
                let is_on_it = |dependency: &usize| self.first(*dependency) == self.first(frame);
                plain.status == FrameStatus::Planned && plain.depends_on.iter().any(is_on_it)
            };
            let dependents: Vec<usize> = (0..self.frames.len()).filter(depends).collect();
            let is_below = |other: &usize| {
                let is_left = self.frames[*other].status == FrameStatus::Planned || self.is_open(*other);
                is_left && self.above(*other).iter().any(|above| dependents.contains(above))
            };
            let below = (0..self.frames.len()).filter(is_below);
            let above = self.above(frame).into_iter();
            let above = above.take_while(|above| *above != whole && !self.above(whole).contains(above));
            let found: Vec<usize> = dependents.iter().copied().chain(below).chain(above).collect();
            for other in found {
                if !behind.contains(&other) {
                    behind.push(other);
                }
            }
        }
        behind
    }

    /// All frames in the order of the plan: each frame comes before the frames below it.
    fn in_plan_order(&self, below: Option<usize>) -> Vec<usize> {
        let with_parts = |frame| std::iter::once(frame).chain(self.in_plan_order(Some(frame)));
        self.level(below).into_iter().flat_map(with_parts).collect()
    }

    /// All frames in the order in which they can be taken next.
    pub(super) fn most_urgent_first(&self) -> Vec<usize> {
        let mut frames = self.in_plan_order(None);
        let own = |frame: usize| self.frames[frame].priority;
        frames.sort_by_key(|frame| {
            own(*frame).or_else(|| self.above(*frame).into_iter().find_map(own)).unwrap_or_default()
        });
        frames
    }

    /// True if one frame is the other frame, or is above it.
    fn is_kin(&self, one: usize, other: usize) -> bool {
        one == other || self.above(one).contains(&other) || self.above(other).contains(&one)
    }

    /// True if a frame waits for another frame, no matter how many frames are between them.
    pub(super) fn waits(&self, frame: usize, other: usize) -> bool {
        let dependencies = |at: usize| self.frames[at].depends_on.iter().map(|dependency| self.newest(*dependency));
        let mut reached: Vec<usize> = dependencies(frame).collect();
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            for dependency in dependencies(at) {
                if !reached.contains(&dependency) {
                    reached.push(dependency);
                }
            }
            next += 1;
        }
        reached.contains(&other)
    }

    /// The dependencies. Attempts at the same work are named only once.
    pub(super) fn once(&self, depends_on: &[usize]) -> Vec<usize> {
        let mut once: Vec<usize> = Vec::new();
        depends_on.iter().for_each(|dependency| {
            if !once.iter().any(|known| self.first(*known) == self.first(*dependency)) {
                once.push(*dependency);
            }
        });
        once
    }

    pub(super) fn edit(&mut self, frame: usize, edit: &Edit, who: Who) -> Answer {
        self.there(frame)?;
        let Edit { depends_on, parent, before, .. } = edit;
        let is_person = matches!(who, Who::Named(HolderKind::Person, ..));
        let is_correction = depends_on.is_none() && parent.is_none() && before.is_none() && is_person;
        if self.frames[frame].status != FrameStatus::Planned && !(self.is_open(frame) && is_correction) {
            return Err("not_planned");
        }
        if edit.title.as_deref() == Some("") {
            return Err("empty");
        }
        let old = self.frames[frame].parent;
        let parent = edit.parent.unwrap_or(old);
        parent.filter(|_| edit.parent.is_some()).map_or(Ok(()), |parent| self.there(parent))?;
        if parent != old && self.frames[frame].retry_of.is_some() {
            return Err("retry_link");
        }
        if let Some(parent) = parent.filter(|_| parent != old) {
            if parent == frame || self.above(parent).contains(&frame) {
                return Err("parent_circle");
            }
            self.takes(parent, FrameStatus::Planned)?;
        }
        if let Some(Some(sibling)) = edit.before {
            self.there(sibling)?;
            if sibling == frame || self.frames[sibling].parent != parent {
                return Err("not_sibling");
            }
        }
        edit.depends_on.iter().flatten().try_for_each(|dependency| self.there(*dependency))?;
        let once = edit.depends_on.as_ref().map(|depends_on| self.once(depends_on));
        let plain = &mut self.frames[frame];
        let is_named = edit.title.as_ref().is_some_and(|title| *title != plain.title)
            || edit.criteria.as_ref().is_some_and(|criteria| *criteria != plain.criteria);
        plain.placeholder &= !is_named;
        edit.title.iter().for_each(|title| plain.title.clone_from(title));
        edit.criteria.iter().for_each(|criteria| plain.criteria.clone_from(criteria));
        edit.priority.iter().for_each(|priority| plain.priority = *priority);
        plain.parent = parent;
        once.into_iter().for_each(|once| plain.depends_on = once);
        // Any frame can now have a dependency that is above or below it.
        for one in (0..self.frames.len()).filter(|_| parent != old || edit.depends_on.is_some()) {
            let is_kin = |other: &usize| self.is_kin(one, *other) || self.is_kin(one, self.newest(*other));
            if self.frames[one].depends_on.iter().any(is_kin) {
                return Err("dependency");
            }
        }
        if edit.depends_on.is_some() && self.waits(frame, frame) {
            return Err("dependency");
        }
        if let Some(parent) = parent.filter(|_| parent != old) {
            self.fix_identity(parent);
        }
        let before = if parent == old { edit.before } else { Some(edit.before.flatten()) };
        if let Some(before) = before {
            self.order.retain(|other| *other != frame);
            let place = before.and_then(|before| self.order.iter().position(|other| *other == before));
            self.order.insert(place.unwrap_or(self.order.len()), frame);
        }
        Ok(())
    }
}
