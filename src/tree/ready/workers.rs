//! Which frames are free for workers, and what prevents workers from getting the other frames.

use super::{Obstacle, Parts};
use crate::error::Error;
use crate::frame::{FrameStatus, Handle, Holder, WorkLeft};
use crate::steps::step;
use crate::tree::Tree;

impl Tree {
    /// The first frame that is free for a worker with this name. Among the frames that workers have had, it
    /// is the one that has waited longest; if there is none, it is the first planned frame that can begin.
    /// Frames with another assignee are left to that assignee.
    pub(in crate::tree) fn free_for_workers(&self, name: &str, below: Option<Handle>, now: u64) -> Option<Handle> {
        let is_below = |handle: &Handle| below.is_none_or(|below| self.is_ancestor(below, *handle));
        let is_for_worker = |handle: &Handle| self.node(*handle).record().is_for_worker(name);
        let left = self.with_workers().filter(is_below).filter(is_for_worker);
        let left = left.filter(|handle| self.can_hold(*handle, now).is_ok());
        let left =
            left.min_by_key(|handle| (self.node(*handle).record().worker().map_or(0, Holder::free_since), *handle));
        let can_begin = |handle: &Handle| {
            step();
            is_for_worker(handle) && self.can_begin(*handle, Parts::First).is_ok()
        };
        left.or_else(|| self.planned_in_order(below).find(can_begin))
    }

    /// Whether a worker can hold a frame at this time: a planned frame that can begin, or a frame that
    /// workers have begun and that no worker has now. If not, what prevents it.
    pub fn can_hold(&self, handle: Handle, now: u64) -> Result<(), Obstacle> {
        let frame = self.node(handle).record();
        match (frame.status, frame.worker()) {
            (FrameStatus::InProgress, Some(holder)) if holder.holds(now) => Err(Obstacle::Held),
            (FrameStatus::InProgress, Some(holder)) => {
                self.can_go_on(handle)?;
                if holder.is_put_back(now) { Err(Obstacle::Later) } else { Ok(()) }
            }
            (FrameStatus::Blocked, Some(_)) if frame.pending_answer().is_some() => self.can_go_on(handle),
            _ => self.can_begin(handle, Parts::First),
        }
    }

    /// Whether a worker can resume a frame that workers have begun.
    fn can_go_on(&self, handle: Handle) -> Result<(), Obstacle> {
        self.is_wanted(handle)?;
        self.part_for_workers(handle).map_or(Ok(()), |part| Err(Obstacle::Child(part)))
    }

    /// A part that was planned below a worker's frame and is not completed, no matter which actor began it. A
    /// frame that has split its work comes after its parts, and the last of these parts is returned. Frames
    /// that were pushed below it are its worker's own work, even if they have failed. Parts can be planned
    /// below such a pushed frame as long as it is open.
    pub fn part_for_workers(&self, handle: Handle) -> Option<Handle> {
        let mut looked = vec![handle];
        while let Some(frame) = looked.pop() {
            for handle in self.children(frame).iter().rev() {
                step();
                let child = self.node(*handle);
                let is_left = match child.status() {
                    FrameStatus::Planned => true,
                    FrameStatus::Failed => child.record().was_planned() && child.retried_as().is_none(),
                    FrameStatus::InProgress | FrameStatus::Blocked => {
                        child.record().was_planned() || child.record().waits_to_begin()
                    }
                    FrameStatus::Completed | FrameStatus::Invalidated => false,
                };
                if is_left {
                    return Some(*handle);
                }
                if child.status().is_open() {
                    looked.push(*handle);
                }
            }
        }
        None
    }

    /// The error for a frame that a worker cannot get.
    pub(in crate::tree) fn not_free(&self, handle: Handle, obstacle: Obstacle) -> Error {
        let status = |handle: Handle| self.node(handle).status();
        let reason = match obstacle {
            Obstacle::Held => "a worker holds it, and its lease has not ended".to_owned(),
            Obstacle::Later => "a worker has put it back for later".to_owned(),
            Obstacle::Begun => "it is in_progress, but no worker began it".to_owned(),
            Obstacle::Blocked => {
                "it is blocked; a worker can resume a frame that workers have begun, when it is answered".to_owned()
            }
            Obstacle::Ended => format!("it is {}", status(handle)),
            Obstacle::Dependency { frame, dependency } => {
                format!("{frame} depends on {dependency}, which is {}", status(dependency))
            }
            Obstacle::Child(child) => format!("it comes after its children, and {child} is {}", status(child)),
            Obstacle::Above(above) => format!("{above} above it is {}", status(above)),
            Obstacle::Waiting(above) => format!("{above} above it waits to begin"),
            Obstacle::NoWork => "it is not work".to_owned(),
            Obstacle::NotBelow(top) => format!("it is not below {top}"),
        };
        Error::NotFree { handle, reason }
    }

    /// Counts the work that is left below a frame, or everywhere, at this time: for the worker with this
    /// name, or for workers to which no frame is assigned.
    pub fn work_left(&self, name: Option<&str>, below: Option<Handle>, now: u64) -> WorkLeft {
        let mut left = WorkLeft::default();
        let is_below = |handle: &Handle| below.is_none_or(|below| self.is_ancestor(below, *handle));
        // A frame that only holds others together is done when these are done.
        let is_work = |handle: &Handle| {
            let frame = self.node(*handle).record();
            frame.no_work.is_none() || frame.status == FrameStatus::Blocked
        };
        let frame = |handle: Handle| self.node(handle).record();
        let is_for_others = |handle: Handle| match name {
            Some(name) => !frame(handle).is_for_worker(name),
            None => frame(handle).assignee.is_some(),
        };
        for handle in self.unfinished().filter(is_below).filter(is_work) {
            *match self.can_hold(handle, now) {
                Ok(()) if is_for_others(handle) => &mut left.assigned,
                Ok(()) => &mut left.free,
                Err(Obstacle::Held) => &mut left.held,
                Err(Obstacle::Later) => &mut left.later,
                Err(Obstacle::Begun) => &mut left.begun,
                Err(Obstacle::Blocked) => &mut left.blocked,
                Err(_) => &mut left.waiting,
            } += 1;
        }
        left
    }
}
