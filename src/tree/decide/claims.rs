//! Commands for the claims of workers.

use super::check_name;
use crate::error::{Error, Result};
use crate::frame::{Change, Claim, ClaimedFrame, FrameStatus, Handle, NewClaim};
use crate::tree::Draft;
use crate::tree::claims::Unclaimable;

impl Draft<'_> {
    /// Gives a frame to a worker. Nothing happens if none can be claimed, except that a named one is refused.
    pub(super) fn claim(&mut self, claim: NewClaim) -> Result<()> {
        let (tree, now) = (self.tree, self.now);
        let NewClaim { worker, lease, below, frame } = claim;
        check_name("worker", &worker, Claim::LONGEST_WORKER)?;
        let until = self.end_of_lease(lease, 1)?;
        let below = below.map(|below| tree.resolve(&below)).transpose()?;
        let named = frame.map(|frame| tree.resolve(&frame)).transpose()?;
        if let Some(handle) = named {
            let outside = below.filter(|below| !tree.is_ancestor(*below, handle)).map(Unclaimable::NotBelow);
            if let Some(obstacle) = outside.or_else(|| tree.unclaimable(handle, now)) {
                return Err(tree.not_claimable(handle, obstacle));
            }
        }
        if let Some(handle) = named.or_else(|| tree.claimable(below, now)) {
            let frame = tree.node(handle).record();
            let generation = frame.claim.as_ref().map_or(0, |claim| claim.generation).saturating_add(1);
            if frame.status != FrameStatus::InProgress {
                self.begin_unseen(handle);
            }
            self.push(handle, Change::Claimed { claim: Claim { worker, generation, until } });
        }
        Ok(())
    }

    /// Gives a worker another end of the lease of a frame that it still works on.
    pub(super) fn renew_claim(&mut self, claimed: ClaimedFrame, lease: u64) -> Result<()> {
        let until = self.end_of_lease(lease, 0)?;
        self.tree.check_claim(&claimed)?;
        let ClaimedFrame { handle, worker, generation, .. } = claimed;
        self.check_in_progress(handle)?;
        self.push(handle, Change::Claimed { claim: Claim { worker, generation, until } });
        Ok(())
    }

    /// Marks a frame that somebody begins or goes on with by hand, if it is a worker's, or a planned part of a worker's frame: no
    /// worker gets it any more, and the worker's frame above it comes after it.
    pub(super) fn take_over(&mut self, handle: Handle) {
        let node = self.tree.node(handle);
        let is_of_worker = |frame: Handle| self.tree.node(frame).record().worker_claim().is_some();
        let is_part = node.status() == FrameStatus::Planned && node.parent().is_some_and(is_of_worker);
        if is_part || is_of_worker(handle) {
            let generation = node.record().claim.as_ref().map_or(0, |claim| claim.generation).saturating_add(1);
            self.push(handle, Change::Claimed { claim: Claim { worker: String::new(), generation, until: 0 } });
        }
    }

    /// A frame that a person has finished, blocked or invalidated has no worker any more.
    fn check_in_progress(&self, handle: Handle) -> Result<()> {
        match self.tree.node(handle).status() {
            FrameStatus::InProgress => Ok(()),
            FrameStatus::Blocked => Err(self.tree.not_claimable(handle, Unclaimable::Blocked)),
            _ => Err(self.tree.not_claimable(handle, Unclaimable::Ended)),
        }
    }

    /// The end of a lease that has at least this length.
    fn end_of_lease(&self, lease: u64, least: u64) -> Result<u64> {
        if (least..=Claim::LONGEST_LEASE).contains(&lease) {
            return Ok(self.now.saturating_add(lease));
        }
        let expected = "a time of at most 86400000 milliseconds, and for a new claim more than 0";
        Err(Error::Setting { name: "lease".into(), value: lease.to_string(), expected })
    }
}
