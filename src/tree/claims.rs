//! Which frames workers can claim, and what keeps the others from it.

use super::Tree;
use super::ready::Obstacle;
use crate::error::{Error, Result};
use crate::frame::{Claim, ClaimedFrame, FrameStatus, Handle, PopStatus, WorkLeft};
use crate::steps::step;

/// Why a frame cannot be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unclaimable {
    /// A worker holds it.
    Held,
    /// It is in progress, and no worker has claimed it, or a host runs it.
    Begun,
    /// It is blocked, and has no answer with which a worker could go on.
    Blocked,
    /// It has ended.
    Ended,
    /// It waits for something.
    Waits(Obstacle),
    /// It is not below this frame, which the claim names.
    NotBelow(Handle),
}

fn waits_for_part(part: Handle) -> Unclaimable {
    Unclaimable::Waits(Obstacle::Child(part))
}

impl Tree {
    /// The frames that workers have claimed and that have not ended, in creation order, also those whose leases have ended.
    pub fn claimed(&self) -> impl Iterator<Item = Handle> + '_ {
        self.claimed.iter().copied()
    }

    /// The first frame that a worker can claim: of those whose lease has ended the one that waits longest, else the first
    /// planned one that can begin, in the order of the plan.
    pub(super) fn claimable(&self, below: Option<Handle>, now: u64) -> Option<Handle> {
        let is_below = |handle: Handle| below.is_none_or(|below| self.is_ancestor(below, handle));
        let mut lapsed: Option<(u64, Handle)> = None;
        for handle in self.claimed().filter(|handle| is_below(*handle) && self.unclaimable(*handle, now).is_none()) {
            let until = self.node(handle).record().claim.as_ref().map_or(0, |claim| claim.until);
            lapsed = lapsed.filter(|(earliest, _)| *earliest <= until).or(Some((until, handle)));
        }
        let can_begin = |handle: &Handle| {
            step();
            self.node(*handle).status() == FrameStatus::Planned && self.can_begin(*handle)
        };
        let first = || match below {
            Some(below) => self.unfinished_below(below).find(can_begin),
            None => self.unfinished_in_order().find(can_begin),
        };
        lapsed.map(|(_, handle)| handle).or_else(first)
    }

    /// What keeps a worker from claiming a frame now. `None`: nothing.
    pub(super) fn unclaimable(&self, handle: Handle, now: u64) -> Option<Unclaimable> {
        let frame = self.node(handle).record();
        match (frame.status, frame.worker_claim()) {
            (FrameStatus::Planned, _) => self.obstacle(handle).map(Unclaimable::Waits),
            (FrameStatus::InProgress, Some(claim)) if frame.call.is_none() => match claim.is_held(now) {
                true => Some(Unclaimable::Held),
                false => self.child_for_workers(handle).map(waits_for_part),
            },
            (FrameStatus::InProgress, _) => Some(Unclaimable::Begun),
            (FrameStatus::Blocked, Some(_)) if frame.call.is_none() && frame.pending_answer().is_some() => {
                self.child_for_workers(handle).map(waits_for_part)
            }
            (FrameStatus::Blocked, _) => Some(Unclaimable::Blocked),
            _ => Some(Unclaimable::Ended),
        }
    }

    /// A part that was planned below a worker's frame and is not completed, whoever has begun it: a frame that has split its work comes
    /// after its parts, the last of which is named. What was pushed below it is its worker's own work, also if that has failed; parts
    /// can be planned below that as long as it is open.
    pub fn child_for_workers(&self, handle: Handle) -> Option<Handle> {
        let mut looked = vec![handle];
        while let Some(frame) = looked.pop() {
            for handle in self.children(frame).iter().rev() {
                step();
                let child = self.node(*handle);
                let is_left = match child.status() {
                    FrameStatus::Planned => true,
                    FrameStatus::Failed => child.record().claim.is_some() && child.retried_as().is_none(),
                    FrameStatus::InProgress | FrameStatus::Blocked => child.record().claim.is_some(),
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

    /// True if a worker works on a frame: it is in_progress, and the lease has not ended.
    pub fn is_with_worker(&self, handle: Handle, now: u64) -> bool {
        let frame = self.node(handle).record();
        frame.status == FrameStatus::InProgress && frame.worker_claim().is_some_and(|claim| claim.is_held(now))
    }

    /// The error for a frame that cannot be claimed.
    pub(super) fn not_claimable(&self, handle: Handle, obstacle: Unclaimable) -> Error {
        let status = |handle: Handle| self.node(handle).status();
        let reason = match obstacle {
            Unclaimable::Held => "a worker has claimed it, and its lease has not ended".to_owned(),
            Unclaimable::Begun => "it is in_progress, and no worker has claimed it".to_owned(),
            Unclaimable::Blocked => {
                "it is blocked; a worker can go on with what workers have begun, when it is answered".to_owned()
            }
            Unclaimable::Ended => format!("it is {}", status(handle)),
            Unclaimable::Waits(Obstacle::Dependency { frame, dependency }) => {
                format!("{frame} depends on {dependency}, which is {}", status(dependency))
            }
            Unclaimable::Waits(Obstacle::Child(child)) => {
                format!("it comes after its children, and {child} is {}", status(child))
            }
            Unclaimable::Waits(Obstacle::Above(above)) => format!("{above} above it is {}", status(above)),
            Unclaimable::NotBelow(top) => format!("it is not below {top}"),
        };
        Error::NotClaimable { handle, reason }
    }

    /// Checks that the worker of a frame can end it with this status.
    ///
    /// # Errors
    /// [`Error::NotClaimable`] if the frame is not in_progress, or is to be completed before a part that was planned below it.
    pub(crate) fn check_finish(&self, handle: Handle, status: PopStatus) -> Result<()> {
        let obstacle = match self.node(handle).status() {
            FrameStatus::InProgress => {
                let is_completed = status == PopStatus::Completed;
                self.child_for_workers(handle).filter(|_| is_completed).map(waits_for_part)
            }
            FrameStatus::Blocked => Some(Unclaimable::Blocked),
            _ => Some(Unclaimable::Ended),
        };
        obstacle.map_or(Ok(()), |obstacle| Err(self.not_claimable(handle, obstacle)))
    }

    /// Counts what is left to do for workers, below a frame or everywhere, at this time.
    pub fn work_left(&self, below: Option<Handle>, now: u64) -> WorkLeft {
        let mut left = WorkLeft::default();
        for handle in self.unfinished().filter(|handle| below.is_none_or(|below| self.is_ancestor(below, *handle))) {
            *match self.unclaimable(handle, now) {
                None => &mut left.claimable,
                Some(Unclaimable::Held) => &mut left.claimed,
                Some(Unclaimable::Begun) => &mut left.begun,
                Some(Unclaimable::Blocked) => &mut left.blocked,
                Some(_) => &mut left.waiting,
            } += 1;
        }
        left
    }

    /// Checks that a claim is still the newest one of its frame. Its lease may have ended, as long as nobody else has claimed
    /// the frame.
    ///
    /// # Errors
    /// [`Error::ClaimLost`]; [`Error::UnknownFrame`].
    pub fn check_claim(&self, claimed: &ClaimedFrame) -> Result<()> {
        let handle = self.resolve(&claimed.handle.into())?;
        let newest = self.node(handle).record().claim.as_deref();
        if newest.is_some_and(|newest| newest.generation == claimed.generation && newest.worker == claimed.worker) {
            return Ok(());
        }
        let Claim { worker, generation, .. } = newest.cloned().unwrap_or_default();
        Err(Error::ClaimLost { handle, worker, generation, refused: claimed.generation })
    }

    /// Notes whether a worker has claimed the frame, unless it has ended.
    pub(super) fn note_claim(&mut self, handle: Handle) {
        let frame = self.node(handle).record();
        if frame.status.is_open() && frame.worker_claim().is_some() {
            self.claimed.insert(handle);
        } else {
            self.claimed.remove(&handle);
        }
    }
}
