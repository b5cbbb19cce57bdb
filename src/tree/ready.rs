//! What can begin: which planned frames wait for nothing, and for what the others wait. One rule for contexts, tools, the program and
//! workers.
//!
//! - A planned frame waits for its own dependencies, and for those of the planned frames above it, which need them for all of their
//!   work. What is in progress above it has begun, so that has what it needs.
//! - Nobody wants what is below a frame that has ended.
//! - A frame with parts is the work of putting these together, so whoever takes what is next gets the parts first ([`Tree::can_begin`]).
//!   An agent can begin such a frame before them, and work on them in it ([`Tree::is_ready`]).

use std::collections::HashMap;

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
    /// The planned frames that can begin ([`Tree::can_begin`]), in creation order.
    pub fn ready(&self) -> impl Iterator<Item = Handle> + '_ {
        let mut known = HashMap::new();
        let planned = self.with_status(FrameStatus::Planned);
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

    /// The dependencies that are not completed of a frame and of the planned ones above it, each with the frame that needs it.
    fn needed(&self, handle: Handle) -> impl Iterator<Item = (Handle, Handle)> + '_ {
        let is_planned = |above: &Handle| {
            step();
            self.node(*above).status() == FrameStatus::Planned
        };
        let frames = std::iter::once(handle).chain(self.ancestors(handle).take_while(is_planned));
        frames.flat_map(|frame| self.unfinished_dependencies(frame).map(move |dependency| (frame, dependency)))
    }

    /// The first frame above that is not planned, if that has ended.
    fn ended_above(&self, handle: Handle) -> Option<Handle> {
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

    /// As [`Tree::is_ready`], for many frames: `known` has those that were looked at.
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
        is_free
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

    /// Checks that a frame has what it needs to begin: [`Tree::is_ready`].
    ///
    /// # Errors
    /// [`Error::NotReady`], with the dependencies that are not completed.
    pub fn check_ready(&self, handle: Handle) -> Result<()> {
        let needed: Vec<(Handle, Handle)> = self.needed(handle).collect();
        let dependencies: Vec<Handle> = needed.iter().map(|(_, dependency)| *dependency).collect();
        if let Some(first) = dependencies.first() {
            let message =
                format!("{}; {}", self.listed_needs(handle, &needed), self.advice_on(handle, *first, &dependencies));
            return Err(Error::NotReady { handle, dependencies, message });
        }
        match self.ended_above(handle) {
            Some(above) => {
                let status = self.node(above).status();
                let message =
                    format!("{above} above it is {status}; move it below a frame that is open, or invalidate it");
                Err(Error::NotReady { handle, dependencies, message })
            }
            None => Ok(()),
        }
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

    fn advice_on(&self, handle: Handle, first: Handle, dependencies: &[Handle]) -> String {
        let lost = dependencies.iter().find(|dependency| !self.node(**dependency).status().is_unfinished());
        let can_be_edited = self.node(handle).status() == FrameStatus::Planned;
        let has_failed = lost.filter(|lost| self.node(**lost).status() == FrameStatus::Failed);
        match (lost, has_failed) {
            (_, Some(failed)) if can_be_edited => format!("begin {failed} anew, or give {handle} other dependencies"),
            (_, Some(failed)) => format!("begin {failed} anew"),
            (Some(_), _) if can_be_edited => format!("give {handle} other dependencies"),
            (Some(_), _) => "plan a new frame".to_owned(),
            (None, _) => format!("run {first} first"),
        }
    }
}
