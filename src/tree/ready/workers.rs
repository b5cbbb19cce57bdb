//! Which frames are free for workers, and what prevents workers from getting the other frames.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Obstacle, Parts};
use crate::error::Error;
use crate::frame::{Frame, FrameStatus, Handle, Holder, WorkLeft};
use crate::keys::{self, KeyMap};
use crate::steps::step;
use crate::tree::{Kind, Tree};

/// When frames that workers have begun are free for the next worker, as far as their holders are concerned.
#[derive(Debug, Clone, Default)]
pub(in crate::tree) struct WorkerTimes {
    times: BTreeSet<(u64, Handle)>,
    known: KeyMap<Handle, u64>,
}

impl WorkerTimes {
    fn note(&mut self, handle: Handle, time: Option<u64>) {
        if let Some(old) = keys::set(&mut self.known, handle, time) {
            self.times.remove(&(old, handle));
        }
        self.times.extend(time.map(|time| (time, handle)));
    }

    /// All times, in their order, for tests.
    #[cfg(test)]
    pub(in crate::tree) fn times(&self) -> &BTreeSet<(u64, Handle)> {
        &self.times
    }

    /// The frames that are free at a time. A time that is further away than any lease ends is that of a clock
    /// that was wrong.
    fn free_at(&self, now: u64) -> impl Iterator<Item = Handle> + '_ {
        let first = Handle::from_index(0).expect("the first handle");
        let wrong = now.saturating_add(Holder::LONGEST_LEASE + Holder::CLOCK_DIFFERENCE + 1);
        let free = self.times.range(..(now.saturating_add(1), first)).chain(self.times.range((wrong, first)..));
        free.inspect(|_| step()).map(|(_, handle)| *handle)
    }
}

impl Tree {
    /// Notes when a frame that workers have begun is free for the next worker.
    pub(in crate::tree) fn note_worker_time(&mut self, handle: Handle) {
        let frame = self.node(handle).record();
        let time = match (frame.status, frame.worker()) {
            (FrameStatus::InProgress, Some(holder)) => holder.free_from(),
            (FrameStatus::Blocked, Some(_)) => frame.pending_answer().map(|_| 0),
            _ => None,
        };
        self.worker_times.note(handle, time);
    }

    /// The first frame that is free for a worker with this name. Among the frames that workers have had, it
    /// is the one that has waited longest; if there is none, it is the first planned frame that can begin.
    /// Frames with another assignee are left to that assignee.
    pub(in crate::tree) fn free_for_workers(&self, name: &str, below: Option<Handle>, now: u64) -> Option<Handle> {
        let is_below = |handle: &Handle| below.is_none_or(|below| self.is_ancestor(below, *handle));
        let is_for_worker = |handle: &Handle| self.node(*handle).record().is_for_worker(name);
        let left = self.worker_times.free_at(now).filter(is_below).filter(is_for_worker);
        let left = left.filter(|handle| self.can_hold(*handle, now).is_ok());
        let left =
            left.min_by_key(|handle| (self.node(*handle).record().worker().map_or(0, Holder::free_since), *handle));
        let can_begin = |handle: &Handle| {
            step();
            is_for_worker(handle) && self.can_begin(*handle, Parts::First).is_ok()
        };
        left.or_else(|| {
            let is_below = |handle: &Handle| Some(*handle) != below;
            self.nearly_ready(below).filter(is_below).find(can_begin)
        })
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
            if self.children(frame).is_empty() {
                continue;
            }
            let index = self.child_index(frame);
            let planned = index.all(Kind::Planned).next_back();
            let begun = |kind: Kind, is_part: fn(&Frame) -> bool| {
                index.all(kind).rev().find(|child| is_part(self.node(*child).record()))
            };
            let failed = begun(Kind::Failed, Frame::was_planned);
            let is_part = |child: &Frame| child.was_planned() || child.waits_to_begin();
            let open = [Kind::InProgress, Kind::Blocked].into_iter().filter_map(|kind| begun(kind, is_part));
            let parts = planned.into_iter().chain(failed).chain(open);
            if let Some(part) = parts.max_by_key(|part| self.node(*part).order()) {
                return Some(part);
            }
            let mut open: Vec<Handle> = index.all(Kind::InProgress).chain(index.all(Kind::Blocked)).collect();
            // The first one is looked at next.
            open.sort_unstable_by_key(|child| Reverse(self.node(*child).order()));
            looked.append(&mut open);
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
