//! Claims: which worker works on a frame, and until when.

use serde::{Deserialize, Serialize};

use super::{FrameRef, Handle};

/// The last claim of a frame: the worker to which the frame was given, and until when.
///
/// In JSON: `{"worker": "build-1", "generation": 2, "until": 1795293166903}`. When it is read, what is missing is empty or 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// The name that the worker gave. Empty if somebody has the frame in hand, so that no worker gets it.
    pub worker: String,
    /// Which claim of this frame it is, counted from 1. A worker whose generation is not the newest one has lost the frame.
    pub generation: u64,
    /// The end of the lease, in milliseconds since the Unix epoch. From then on the frame can be claimed again.
    pub until: u64,
}

impl Claim {
    /// The longest lease, in milliseconds: a day.
    pub const LONGEST_LEASE: u64 = 86_400_000;
    /// Maximum length of the name of a worker, in characters.
    pub const LONGEST_WORKER: usize = 1_000;

    /// True if the claim is that of a worker, and not the mark that somebody goes on by hand.
    pub fn has_worker(&self) -> bool {
        !self.worker.is_empty()
    }

    /// True if the lease has not ended. A lease that ends later than the longest one that could begin now was given by a
    /// clock that is ahead; it counts as ended, because nobody can wait for that clock.
    pub fn is_held(&self, now: u64) -> bool {
        self.until > now && self.until - now <= Self::LONGEST_LEASE
    }
}

/// A claim that a worker makes: [`Stack::claim`](crate::Stack::claim).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NewClaim {
    /// The name of the worker. It should differ from those of other workers, and must not be blank.
    pub worker: String,
    /// The length of the lease in milliseconds: from 1 to [`Claim::LONGEST_LEASE`].
    pub lease: u64,
    /// Only frames below this one. `None`: all frames.
    pub below: Option<FrameRef>,
    /// Exactly this frame. `None`: the first one that can be claimed.
    pub frame: Option<FrameRef>,
}

impl NewClaim {
    /// A claim of the first frame that can be claimed, by the worker with this name, for so many milliseconds.
    pub fn new(worker: impl Into<String>, lease: u64) -> Self {
        Self { worker: worker.into(), lease, below: None, frame: None }
    }

    /// Claims only a frame below this one.
    #[must_use]
    pub fn below(mut self, frame: impl Into<FrameRef>) -> Self {
        self.below = Some(frame.into());
        self
    }

    /// Claims exactly this frame.
    #[must_use]
    pub fn frame(mut self, frame: impl Into<FrameRef>) -> Self {
        self.frame = Some(frame.into());
        self
    }
}

/// A frame that a worker has claimed. The worker proves with it that the frame is still its own.
///
/// In JSON: `{"handle": "f3", "worker": "build-1", "generation": 2, "until": 1795293166903}`. When it is read, a proof needs the
/// handle, the worker and the generation; the others can be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClaimedFrame {
    /// The frame.
    pub handle: Handle,
    /// The name of the worker.
    pub worker: String,
    /// The generation of the claim: see [`Claim::generation`].
    pub generation: u64,
    /// The end of the lease, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub until: u64,
}

impl ClaimedFrame {
    /// The frame with its claim.
    pub(crate) fn of(handle: Handle, claim: Claim) -> Self {
        let Claim { worker, generation, until } = claim;
        Self { handle, worker, generation, until }
    }
}

/// What is left to do for workers: the numbers of unfinished frames, each counted once.
///
/// In JSON: `{"claimable": 3, "claimed": 2, "waiting": 40, "begun": 1, "blocked": 0}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WorkLeft {
    /// Frames that can be claimed now.
    pub claimable: usize,
    /// Frames that workers hold: their leases have not ended.
    pub claimed: usize,
    /// Frames that cannot be claimed yet, because they wait for others: planned ones, and begun ones that have split their work.
    pub waiting: usize,
    /// Frames in progress that no worker has claimed: a person or a host works on them.
    pub begun: usize,
    /// Blocked frames that wait for an answer, or for somebody who goes on with them.
    pub blocked: usize,
}
