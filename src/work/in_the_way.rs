//! What keeps the work of a plan from being complete, when workers find nothing more to do.

use std::collections::{BTreeSet, HashSet};

use crate::frame::{FrameStatus, Handle};
use crate::steps::step;
use crate::tree::Tree;

/// The frames for which an actor has to do something before all work below a frame, or in a stack, can be
/// done. Each list is in creation order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InTheWay {
    /// Frames that have ended: failed roots, failed parts of unfinished work, invalidated frames that other
    /// frames need, and ended frames above planned frames.
    pub ended: Vec<Handle>,
    /// The first failed one of these: it can be retried.
    pub failed: Option<Handle>,
    /// The first completed one, which has unfinished work below it: it can be reopened.
    pub completed: Option<Handle>,
    /// Planned frames that persons, conversations or hosts have begun and work on.
    pub by_hand: Vec<Handle>,
    /// Blocked frames that wait for an answer.
    pub asking: Vec<Handle>,
    /// Blocked frames that are answered, and that no worker resumes.
    pub answered: Vec<Handle>,
    /// Frames that wait for each other, if nothing else is in the way and nothing can begin: each needs the
    /// next one or has it as a part, and the last one waits for the first one. One of them has to get other
    /// dependencies or another place.
    pub circle: Vec<Handle>,
}

impl Tree {
    /// What is in the way of the work below a frame, that frame included, or of all work.
    pub fn in_the_way(&self, below: Option<Handle>) -> InTheWay {
        let is_meant = |handle: &Handle| below.is_none_or(|below| *handle == below || self.is_ancestor(below, *handle));
        let is_failed = |handle: &Handle| self.status(*handle) == FrameStatus::Failed && !self.is_retried(*handle);
        let mut ended = self.ended_and_needed(below);
        let parts = self.unfinished().filter(is_meant).flat_map(|parent| self.children(parent)).copied();
        let roots = below.is_none().then(|| self.with_status(FrameStatus::Failed)).into_iter().flatten();
        let roots = roots.filter(|handle| self.parent(*handle).is_none());
        ended.extend(parts.chain(roots).filter(is_failed).filter(|handle| self.is_work(*handle)));
        ended.extend(
            below.filter(|below| matches!(self.status(*below), FrameStatus::Failed | FrameStatus::Invalidated)),
        );
        let by_hand = self.with_status(FrameStatus::InProgress).filter(|handle| Some(*handle) != below);
        let by_hand = by_hand.filter(is_meant).filter(|handle| !self.is_of_worker(*handle) && self.is_work(*handle));
        let blocked = self.with_status(FrameStatus::Blocked).filter(is_meant);
        let (answered, asking): (Vec<Handle>, Vec<Handle>) =
            blocked.partition(|handle| self.node(*handle).record().pending_answer().is_some());
        let mut way = InTheWay {
            failed: ended.iter().copied().find(is_failed),
            completed: ended.iter().copied().find(|handle| self.status(*handle) == FrameStatus::Completed),
            ended: ended.into_iter().collect(),
            by_hand: by_hand.collect(),
            asking,
            // When a frame of a worker is answered, a worker resumes it.
            answered: answered.into_iter().filter(|handle| !self.is_of_worker(*handle)).collect(),
            circle: Vec::new(),
        };
        let is_clear = [&way.ended, &way.by_hand, &way.asking, &way.answered].iter().all(|frames| frames.is_empty());
        if is_clear && self.ready_within(below).next().is_none() {
            way.circle = self.wait_circle(below);
        }
        way
    }

    /// Frames that wait for each other in a circle: for what they need, and for their parts. An edit and an
    /// import refuse a circle of dependencies, but not one that leads from a frame to its part, because that
    /// would take a walk through the plan for each new dependency.
    fn wait_circle(&self, below: Option<Handle>) -> Vec<Handle> {
        let is_meant = |handle: &Handle| below.is_none_or(|below| *handle == below || self.is_ancestor(below, *handle));
        let (mut done, mut on_path) = (HashSet::new(), HashSet::new());
        let mut path: Vec<(Handle, Vec<Handle>)> = Vec::new();
        for start in self.with_status(FrameStatus::Planned).filter(is_meant) {
            let mut next = Some(start).filter(|start| !done.contains(start));
            loop {
                if let Some(frame) = next.take() {
                    on_path.insert(frame);
                    path.push((frame, self.waited_for(frame)));
                }
                let Some((frame, others)) = path.last_mut() else { break };
                let Some(other) = others.pop() else {
                    on_path.remove(frame);
                    done.insert(*frame);
                    path.pop();
                    continue;
                };
                step();
                if on_path.contains(&other) {
                    return path.into_iter().map(|(frame, _)| frame).skip_while(|frame| *frame != other).collect();
                }
                next = Some(other).filter(|other| !done.contains(other));
            }
        }
        Vec::new()
    }

    /// The unfinished frames for which a frame waits itself: those that it needs, if it is planned, and its
    /// parts. In reverse order.
    fn waited_for(&self, handle: Handle) -> Vec<Handle> {
        let is_planned = self.status(handle) == FrameStatus::Planned;
        let needed = is_planned.then(|| self.unfinished_dependencies(handle)).into_iter().flatten();
        let others = needed.chain(self.children(handle).iter().copied());
        let mut others: Vec<Handle> = others.filter(|other| self.status(*other).is_unfinished()).collect();
        others.reverse();
        others
    }

    /// The ended frames that planned frames need or that are above planned frames, and the dependencies of
    /// the frame below which frames were to be done.
    fn ended_and_needed(&self, below: Option<Handle>) -> BTreeSet<Handle> {
        let has_ended = |handle: &Handle| !self.status(*handle).is_unfinished();
        let is_meant = |handle: &Handle| below.is_none_or(|below| *handle == below || self.is_ancestor(below, *handle));
        let top = below.filter(|below| !has_ended(below));
        let is_planned = |handle: Handle| self.status(handle) == FrameStatus::Planned;
        let waiting = self.with_status(FrameStatus::Planned).chain(self.with_workers()).filter(is_meant).chain(top);
        let mut needed = BTreeSet::new();
        for handle in waiting {
            // What is above a planned frame is looked at once, for the highest planned one.
            let parent = self.parent(handle).filter(|_| Some(handle) != below);
            if is_planned(handle) && parent.is_some_and(is_planned) {
                needed.extend(self.unfinished_dependencies(handle).filter(has_ended));
                continue;
            }
            needed.extend(self.waits_for(handle).filter(has_ended));
            // No worker does the work below a frame that has ended.
            let first_begun = self.ancestors(handle).find(|above| !is_planned(*above));
            needed.extend(first_begun.filter(has_ended));
        }
        needed
    }

    /// True for the work of a plan: a frame that workers have had, that was planned, or that is below a
    /// planned one. Other actors have pushed the remaining frames for themselves.
    fn is_work(&self, handle: Handle) -> bool {
        let is_planned = |parent: Handle| self.status(parent) == FrameStatus::Planned;
        self.is_of_worker(handle) || self.was_planned(handle) || self.parent(handle).is_some_and(is_planned)
    }
}
