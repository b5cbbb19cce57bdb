//! What can begin: which planned frames wait for nothing, and for what the others wait. One rule for contexts, tools, the program and
//! workers.
//!
//! - A planned frame waits for its own dependencies, and for those of the planned frames above it, which need them for all of their
//!   work: but not for what waits for this part of them itself. What is in progress above it has begun, so that has what it needs.
//! - Nobody wants what is below a frame that has ended.
//! - A frame with parts is the work of putting these together, so whoever takes what is next gets the parts first ([`Tree::can_begin`]).
//!   An agent can begin such a frame before them, and work on them in it ([`Tree::is_ready`]).

use std::collections::{HashMap, HashSet};
use std::iter;

use super::{LISTED, Tree};
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, shown};
use crate::steps::step;
use crate::text::one_line;

/// What keeps a planned frame from beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// A frame, which is it or a planned one above it, depends on one that is not completed.
    Dependency {
        /// The frame that depends on the other one.
        frame: Handle,
        /// The other one, in its newest attempt.
        dependency: Handle,
    },
    /// This part of it is neither completed nor invalidated.
    Child(Handle),
    /// This frame above it has ended.
    Above(Handle),
}

impl Tree {
    /// The planned frames that can begin ([`Tree::can_begin`]), in the order of the plan.
    pub fn ready(&self) -> impl Iterator<Item = Handle> + '_ {
        let mut known = HashMap::new();
        let planned = self.unfinished_in_order().filter(|handle| self.node(*handle).status() == FrameStatus::Planned);
        planned.filter(move |handle| self.is_free(*handle, &mut known) && self.part_left(*handle).is_none())
    }

    /// True if a planned frame is what can be done next: nothing keeps it from beginning ([`Tree::obstacle`]).
    pub fn can_begin(&self, handle: Handle) -> bool {
        self.obstacle(handle).is_none()
    }

    /// True if a planned frame has what it needs, whether parts of it are left or not.
    pub fn is_ready(&self, handle: Handle) -> bool {
        self.obstacle_around(handle, None).is_none()
    }

    /// What keeps a planned frame from beginning. `None`: nothing.
    pub fn obstacle(&self, handle: Handle) -> Option<Obstacle> {
        self.obstacle_around(handle, None).or_else(|| self.part_left(handle).map(Obstacle::Child))
    }

    /// What keeps a planned frame from beginning besides its own parts; with `completed` once that frame is completed.
    pub(crate) fn obstacle_around(&self, handle: Handle, completed: Option<Handle>) -> Option<Obstacle> {
        let waits = self.needed(handle).find(|(_, dependency)| Some(*dependency) != completed);
        let waits = waits.map(|(frame, dependency)| Obstacle::Dependency { frame, dependency });
        waits.or_else(|| self.ended_above(handle).map(Obstacle::Above))
    }

    /// What a planned frame waits for: its dependencies that are not completed, and those of the planned frames above it.
    pub fn waits_for(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.needed(handle).map(|(_, dependency)| dependency)
    }

    /// What a planned frame waits for, each with the frame that needs it.
    pub(crate) fn needed(&self, handle: Handle) -> impl Iterator<Item = (Handle, Handle)> + '_ {
        let comes_first = move |(frame, dependency): &(Handle, Handle)| {
            *frame != handle && self.comes_before(handle, *dependency, *frame)
        };
        self.needs(handle).filter(move |needed| !comes_first(needed))
    }

    /// The dependencies that are not completed of a frame and of the planned frames above it, each with the frame that has it. Contexts
    /// show these: they change with the frames of its lineage alone.
    pub(crate) fn needs(&self, handle: Handle) -> impl Iterator<Item = (Handle, Handle)> + '_ {
        let is_planned = |above: &Handle| {
            step();
            self.node(*above).status() == FrameStatus::Planned
        };
        let frames = iter::once(handle).chain(self.ancestors(handle).take_while(is_planned));
        frames.flat_map(|frame| self.unfinished_dependencies(frame).map(move |dependency| (frame, dependency)))
    }

    /// True if a frame waits for a part of another frame, which depends on it.
    fn comes_before(&self, part: Handle, dependency: Handle, whole: Handle) -> bool {
        let mut seen = HashSet::from([part]);
        let mut pending = vec![part];
        while let Some(frame) = pending.pop() {
            step();
            if frame == dependency {
                return true;
            }
            // Who depends on it waits with all parts, and what is above it comes after it.
            let dependents =
                self.dependents(frame).iter().filter(|other| self.node(**other).status() == FrameStatus::Planned);
            let waiting = dependents.flat_map(|other| iter::once(*other).chain(self.unfinished_below(*other)));
            let above = self.ancestors(frame).take_while(|above| *above != whole && !self.is_ancestor(*above, whole));
            pending.extend(waiting.chain(above).filter(|other| seen.insert(*other)));
        }
        false
    }

    /// The first frame above that is not planned, if that has ended.
    pub(super) fn ended_above(&self, handle: Handle) -> Option<Handle> {
        let begun = self.ancestors(handle).find(|above| self.node(*above).status() != FrameStatus::Planned);
        begun.filter(|above| !self.node(*above).status().is_open())
    }

    /// The part of a frame that is done last of those that are neither completed nor invalidated.
    fn part_left(&self, handle: Handle) -> Option<Handle> {
        let is_left = |child: &&Handle| {
            step();
            let child = self.node(**child);
            let is_done = matches!(child.status(), FrameStatus::Completed | FrameStatus::Invalidated);
            !is_done && child.retried_as().is_none()
        };
        self.children(handle).iter().rev().find(is_left).copied()
    }

    /// As [`Tree::is_ready`], for many frames: `known` says of those that were looked at whether nothing around them is left to do.
    fn is_free(&self, handle: Handle, known: &mut HashMap<Handle, bool>) -> bool {
        let mut path = Vec::new();
        let mut is_free = true;
        for frame in self.lineage(handle) {
            step();
            if let Some(free) = known.get(&frame) {
                is_free = *free;
                break;
            }
            if self.node(frame).status() != FrameStatus::Planned {
                is_free = self.node(frame).status().is_open();
                break;
            }
            path.push(frame);
        }
        for frame in path.into_iter().rev() {
            is_free = is_free && self.unfinished_dependencies(frame).next().is_none();
            known.insert(frame, is_free);
        }
        is_free || self.obstacle_around(handle, None).is_none()
    }

    /// The dependencies of the frame that are not completed, each in its newest attempt.
    pub fn unfinished_dependencies(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        let dependencies = self.newest_dependencies(handle);
        dependencies.filter(|dependency| self.node(*dependency).status() != FrameStatus::Completed)
    }

    /// The planned children of a frame that are ready, in their order; with `completed` those that are once that frame is completed.
    pub fn ready_children(&self, parent: Handle, completed: Option<Handle>) -> impl Iterator<Item = Handle> + '_ {
        let children = self.node(parent).children().iter().copied();
        children.filter(move |child| {
            self.node(*child).status() == FrameStatus::Planned && self.obstacle_around(*child, completed).is_none()
        })
    }

    /// Checks that a frame has what it needs to begin, whether it is below an ended frame or not.
    ///
    /// # Errors
    /// [`Error::NotReady`], with the dependencies that are not completed.
    pub fn check_ready(&self, handle: Handle) -> Result<()> {
        let needed: Vec<(Handle, Handle)> = self.needed(handle).collect();
        if needed.is_empty() {
            return Ok(());
        }
        let message = format!("{}; {}", self.listed_needs(handle, &needed), self.advice_on(&needed));
        Err(Error::NotReady {
            handle,
            dependencies: needed.into_iter().map(|(_, dependency)| dependency).collect(),
            message,
        })
    }

    fn listed_needs(&self, handle: Handle, needed: &[(Handle, Handle)]) -> String {
        let say = |(frame, dependency): &(Handle, Handle)| {
            let node = self.node(*dependency);
            let reason =
                node.record().lost_because().map_or(String::new(), |reason| format!(": {}", shown(&one_line(reason))));
            let whose = if *frame == handle { String::new() } else { format!(", which {frame} above it needs") };
            format!("{dependency} ({}) is {}{whose}{reason}", shown(&one_line(node.title())), node.status())
        };
        let listed = needed.iter().take(LISTED).map(say).collect::<Vec<_>>().join("; ");
        match needed.len().saturating_sub(LISTED) {
            0 => listed,
            more => format!("{listed}; and {more} more"),
        }
    }

    fn advice_on(&self, needed: &[(Handle, Handle)]) -> String {
        let status = |handle: Handle| self.node(handle).status();
        let lost = needed.iter().find(|(_, dependency)| !status(*dependency).is_unfinished());
        let Some((frame, lost)) = lost else { return format!("run {} first", needed[0].1) };
        let has_failed = status(*lost) == FrameStatus::Failed;
        let can_be_edited = status(*frame) == FrameStatus::Planned;
        match (has_failed, can_be_edited) {
            (true, true) => format!("begin {lost} anew, or give {frame} other dependencies"),
            (true, false) => format!("begin {lost} anew"),
            (false, true) => format!("give {frame} other dependencies"),
            (false, false) => "plan a new frame".to_owned(),
        }
    }
}
