//! Claims: workers on one stack share its frames, each frame for one worker at a time.

use std::sync::Arc;

use super::Stack;
use crate::error::Result;
use crate::frame::{Change, ClaimedFrame, Event, FrameRef, NewClaim, PopStatus, Results, WorkLeft};
use crate::tree::{Command, Tree, decide};

impl Stack {
    /// Gives a frame to a worker, for the length of its lease. `None` if there is nothing to claim now; [`Stack::work_left`]
    /// says whether that can change. Of several workers that claim at the same time, in any processes, each gets another
    /// frame.
    ///
    /// First come the frames whose worker has let its lease end, the one that waits longest before the others, then planned
    /// frames in the order of the plan. **A planned frame can be claimed** when its dependencies are completed, and those of the
    /// planned frames above it; when its children are completed or invalidated, so that the work of a frame with children is
    /// to put their results together; and unless the frame above it has ended. A failed child or dependency is in the way until
    /// it is begun anew ([`Stack::retry`]) or invalidated. **A blocked frame** that a worker has begun can be claimed when it was
    /// answered. A frame below which its worker has planned children comes after them, too, whoever does them. Frames that a person or a host has begun
    /// are theirs, and so are those with which they go on ([`Stack::set_status`] with in_progress) after a worker has blocked them or has
    /// let its lease end.
    ///
    /// The frame becomes in_progress; the active frame of the stack stays. Each claim of a frame has a generation, and only the
    /// newest one counts: give it with all that the worker records ([`Stack::with_claim`]), so that a worker that was given up
    /// changes nothing. The time is that of the stack's [`Clock`](super::Clock), so a wrong clock can end the lease of another
    /// worker too early, which costs work but no results.
    ///
    /// ```
    /// use callstack_core::{NewClaim, NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.plan(NewFrame::new("Shop"))?;
    /// let cart = stack.plan(NewFrame::new("Cart").below(shop))?;
    /// let claimed = stack.claim(NewClaim::new("worker 1", 60_000))?.expect("something can be claimed");
    /// assert_eq!((claimed.handle, claimed.generation), (cart, 1));
    /// assert_eq!(stack.claim(NewClaim::new("worker 2", 60_000))?, None, "the shop comes after the cart");
    ///
    /// stack.with_claim(&claimed).pop(cart, PopStatus::Completed, "Cart in src/cart.rs")?;
    /// assert_eq!(stack.claim(NewClaim::new("worker 2", 60_000))?.map(|claimed| claimed.handle), Some(shop));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`](crate::Error::Empty) if the name of the worker is blank, [`Error::TooLong`](crate::Error::TooLong) if it
    /// has more than [`Claim::LONGEST_WORKER`](crate::frame::Claim::LONGEST_WORKER) characters; [`Error::Setting`](crate::Error::Setting) if the
    /// lease is 0 or longer than [`Claim::LONGEST_LEASE`](crate::frame::Claim::LONGEST_LEASE); [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame); [`Error::NotClaimable`](crate::Error::NotClaimable), with the
    /// reason, if [`NewClaim::frame`] cannot be claimed.
    pub fn claim(&self, claim: NewClaim) -> Result<Option<ClaimedFrame>> {
        Ok(claimed_in(&self.execute(Command::Claim(claim))?))
    }

    /// Gives a worker more time: the lease ends so many milliseconds from now. Returns the claim with its new end. A worker
    /// renews long before the end, for example after a third of its lease. A lease that has ended can be renewed as long as
    /// nobody else has claimed the frame.
    ///
    /// # Errors
    /// [`Error::ClaimLost`](crate::Error::ClaimLost) if the frame was claimed again;
    /// [`Error::NotClaimable`](crate::Error::NotClaimable) if it is not in_progress any more, because somebody has finished,
    /// blocked or invalidated it: in both cases the worker should stop. [`Error::Setting`](crate::Error::Setting) for the lease;
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame).
    pub fn renew_claim(&self, claimed: &ClaimedFrame, lease: u64) -> Result<ClaimedFrame> {
        let events = self.execute(Command::RenewClaim { claimed: claimed.clone(), lease })?;
        Ok(claimed_in(&events).unwrap_or_else(|| claimed.clone()))
    }

    /// Ends the lease of a frame now, so that another worker can claim it: a lease of 0. The frame stays in_progress.
    ///
    /// # Errors
    /// As [`Stack::renew_claim`], but for the lease.
    pub fn release_claim(&self, claimed: &ClaimedFrame) -> Result<()> {
        self.renew_claim(claimed, 0).map(drop)
    }

    /// Ends the frame of a claim by a result, as [`Stack::pop`] does with [`Stack::with_claim`], but only if it is still in_progress, and
    /// completes it only if no part is left that was planned below it: both are checked in the same transaction. So what a person
    /// stops or plans in this moment is not lost. For [`PopStatus::Blocked`] the results are the question.
    ///
    /// # Errors
    /// [`Error::NotClaimable`](crate::Error::NotClaimable) if the frame has ended or is blocked, or if a part is left;
    /// [`Error::ClaimLost`](crate::Error::ClaimLost); the errors of [`Stack::pop`].
    pub fn finish_claim(&self, claimed: &ClaimedFrame, status: PopStatus, results: impl Into<Results>) -> Result<()> {
        let (handle, results) = (claimed.handle, results.into());
        let frame = FrameRef::from(handle);
        let command = match status {
            PopStatus::Blocked => {
                Command::Block { frame, question: Some(results.full), results: None, interruption: false }
            }
            _ => Command::Pop { frame, status, results },
        };
        let finish = move |tree: &Tree, command, now| {
            tree.check_finish(handle, status)?;
            decide(tree, command, now)
        };
        self.with_claim(claimed).commit(move || command, finish).map(drop)
    }

    /// The same stack for the worker that has this claim: each command of the returned stack, and of its clones, is refused if
    /// the frame was claimed again since, which is checked in the same transaction. That holds for all commands, whichever
    /// frame they change. A lease that has ended is no reason for a refusal as long as nobody else has claimed the frame.
    /// Commands of `self` work as before: what a person does needs no claim.
    ///
    /// ```
    /// # use callstack_core::{NewClaim, NewFrame, PopStatus, Stack, StackOptions};
    /// # use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
    /// # let time = Arc::new(AtomicU64::new(1_000));
    /// # let now = time.clone();
    /// # let stack = Stack::with_options(StackOptions::default().clock(Arc::new(move || now.load(Ordering::Relaxed))));
    /// stack.plan(NewFrame::new("Cart"))?;
    /// let slow = stack.claim(NewClaim::new("slow", 500))?.unwrap();
    /// # time.store(2_000, Ordering::Relaxed);
    /// // 1000 milliseconds later
    /// let fast = stack.claim(NewClaim::new("fast", 500))?.unwrap();
    /// assert_eq!((fast.handle, fast.generation), (slow.handle, 2));
    /// let late = stack.with_claim(&slow).pop(slow.handle, PopStatus::Completed, "done");
    /// assert_eq!(late.unwrap_err().code(), "claim_lost");
    /// stack.with_claim(&fast).pop(fast.handle, PopStatus::Completed, "done")?;
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn with_claim(&self, claimed: &ClaimedFrame) -> Stack {
        Self { claim: Some(Arc::new(claimed.clone())), ..self.clone() }
    }

    /// The claim with which the commands of this clone are checked: see [`Stack::with_claim`]. `None`: they are not.
    pub fn own_claim(&self) -> Option<&ClaimedFrame> {
        self.claim.as_deref()
    }

    /// Counts what is left to do for workers: below a frame, or for `None` in the whole stack. If nothing is claimable and
    /// nothing is claimed, nothing becomes claimable unless a person or a host does something.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame), [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame),
    /// [`Error::Broken`](crate::Error::Broken).
    pub fn work_left(&self, below: Option<FrameRef>) -> Result<WorkLeft> {
        let now = (self.inner.clock)();
        self.check_working()?;
        let below = below.map(|below| self.resolve(below)).transpose()?;
        Ok(self.read(|tree| tree.work_left(below, now)))
    }
}

/// The claim among the events of a command.
fn claimed_in(events: &[Event]) -> Option<ClaimedFrame> {
    let of = |event: &Event| match &event.change {
        Change::Claimed { claim } => Some(ClaimedFrame::of(event.handle, claim.clone())),
        _ => None,
    };
    events.iter().find_map(of)
}
