//! Who holds which frame. Workers on one stack share its frames: each frame belongs to one worker at a time.
//! Each command has an actor.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Stack;
use crate::error::Result;
use crate::frame::{
    Actor, Change, Event, Finish, Finished, FrameRef, FrameStatus, Handle, Hold, NewHold, Release, WorkLeft,
};
use crate::tree::{Command, Tree};
use crate::work::{Resumption, Standing};

/// The work on the frames of a stack, for workers and hosts: who holds which frame, and what is left to do.
/// [`Stack::work`] returns it.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Work<'a> {
    pub(super) stack: &'a Stack,
}

impl Stack {
    /// Returns the methods for workers, and for hosts that resume work.
    ///
    /// ```
    /// use callstack_core::{Finish, NewFrame, NewHold, Results, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.plan(NewFrame::new("Shop"))?;
    /// let work = stack.work();
    /// while let Some(hold) = work.hold(NewHold::new("worker 1", 60_000))? {
    ///     work.finish(&hold, Finish::Done(Results::new("Shop in src/shop.rs")))?;
    /// }
    /// assert_eq!(work.left(None)?.free, 0);
    /// assert_eq!(stack.frame(shop)?.results.as_deref(), Some("Shop in src/shop.rs"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn work(&self) -> Work<'_> {
        Work { stack: self }
    }
}

impl Work<'_> {
    /// Gives a frame to a worker, for the length of its lease. `None` if no frame is free now;
    /// [`Work::left`] says whether that can change. If several workers ask at the same time, in any
    /// processes, each worker gets another frame.
    ///
    /// First come the frames whose worker let its lease end or released them. Of these, the frame that has
    /// waited longest comes first. Then come planned frames in the order of the plan. **A planned frame is
    /// free** under three conditions. Its dependencies and those of the planned frames above it are
    /// completed. Its children are completed or invalidated, so the work of a frame with children is to put
    /// their results together. The frame above it has not ended. A failed child or dependency prevents this
    /// until it is retried ([`Stack::retry`]) or invalidated. **A blocked frame** that a worker has begun is
    /// free when it was answered. A frame below which its worker has planned children comes after these
    /// children, too, no matter which worker does them. Frames that a person, a conversation or a host has
    /// begun belong to that actor. So do frames that such an actor resumes ([`Stack::resume`]) after a worker
    /// has blocked them or has let its lease end.
    ///
    /// The frame becomes in_progress; the active frame of the stack stays. Each holder of a frame has a
    /// generation, and only the newest generation counts. Give it with everything that the worker records
    /// ([`Stack::as_actor`]), so that a worker that was given up changes nothing. The time is that of the
    /// stack's [`Clock`](super::Clock). A wrong clock can therefore end the lease of another worker too
    /// early, which costs work but no results.
    ///
    /// ```
    /// use callstack_core::{Finish, NewFrame, NewHold, Results, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.plan(NewFrame::new("Shop"))?;
    /// let cart = stack.plan(NewFrame::new("Cart").below(shop))?;
    /// let hold = stack.work().hold(NewHold::new("worker 1", 60_000))?.expect("something is free");
    /// assert_eq!((hold.handle, hold.generation), (cart, 1));
    /// let other = stack.work().hold(NewHold::new("worker 2", 60_000))?;
    /// assert_eq!(other, None, "the shop comes after the cart");
    ///
    /// stack.work().finish(&hold, Finish::Done(Results::new("Cart in src/cart.rs")))?;
    /// assert_eq!(stack.work().hold(NewHold::new("worker 2", 60_000))?.map(|hold| hold.handle), Some(shop));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`](crate::Error::Empty) if the name of the worker is blank,
    /// [`Error::TooLong`](crate::Error::TooLong) if it has more than
    /// [`Holder::LONGEST_NAME`](crate::frame::Holder::LONGEST_NAME) characters;
    /// [`Error::Setting`](crate::Error::Setting) if the lease is 0 or longer than
    /// [`Holder::LONGEST_LEASE`](crate::frame::Holder::LONGEST_LEASE);
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame); [`Error::NotFree`](crate::Error::NotFree),
    /// with the reason, if [`NewHold::frame`] is not free.
    pub fn hold(&self, hold: NewHold) -> Result<Option<Hold>> {
        self.stack.end_waits();
        Ok(held_in(&self.stack.execute(Command::Hold(hold))?))
    }

    /// Gives a holder more time: the lease ends the given number of milliseconds from now. Returns the hold
    /// with its new end. A holder renews long before the end, for example after a third of its lease. A lease
    /// that has ended can be renewed as long as no other actor holds the frame.
    ///
    /// # Errors
    /// [`Error::HoldLost`](crate::Error::HoldLost) if another actor has held the frame since;
    /// [`Error::NotFree`](crate::Error::NotFree) if the holder has released it, or if it is not in_progress
    /// any more because another actor has finished, blocked or invalidated it: in all cases the holder should
    /// stop. [`Error::Setting`](crate::Error::Setting) for the lease;
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame).
    pub fn renew(&self, hold: &Hold, lease: u64) -> Result<Hold> {
        let events = self.stack.execute(Command::Renew { hold: hold.clone(), lease })?;
        Ok(held_in(&events).unwrap_or_else(|| hold.clone()))
    }

    /// Whether a holder still has its frame, and if not, why. A worker asks regularly, for example each
    /// second, and stops what it runs when it does not hold the frame any more.
    ///
    /// ```
    /// # use callstack_core::{NewFrame, NewHold, Stack};
    /// use callstack_core::work::Standing;
    ///
    /// # let stack = Stack::in_memory();
    /// let shop = stack.plan(NewFrame::new("Shop"))?;
    /// let hold = stack.work().hold(NewHold::new("worker 1", 60_000))?.expect("something is free");
    /// assert_eq!(stack.work().standing(&hold)?, Standing::Held);
    /// stack.stop(shop, "The interface changes first")?;
    /// assert_eq!(stack.work().standing(&hold)?, Standing::Stopped);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::HoldLost`](crate::Error::HoldLost) if another actor has held the frame since;
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); those of [`Stack::refresh`].
    pub fn standing(&self, hold: &Hold) -> Result<Standing> {
        self.stack.refresh()?;
        self.stack.read(|tree| tree.standing(hold))?
    }

    /// Releases a frame, so that another worker can have it at once. The frame stays in_progress, and the
    /// time with this worker does not count as a try. Nothing happens if the frame was released already.
    ///
    /// # Errors
    /// [`Error::HoldLost`](crate::Error::HoldLost); [`Error::UnknownFrame`](crate::Error::UnknownFrame).
    pub fn release(&self, hold: &Hold) -> Result<()> {
        self.stack.execute(Command::Release { hold: hold.clone(), release: Release::Ended {} }).map(drop)
    }

    /// Ends the work of a holder on its frame in one commit: the frame is completed, has failed, is blocked
    /// with a question, or is put back for later. Because it is one commit, what a person stops or plans at
    /// this moment is not lost.
    ///
    /// ```
    /// # use callstack_core::{Finish, FrameStatus, NewFrame, NewHold, Results, Stack};
    /// # let stack = Stack::in_memory();
    /// let shop = stack.plan(NewFrame::new("Shop"))?;
    /// let hold = stack.work().hold(NewHold::new("worker 1", 60_000))?.expect("something is free");
    /// // The worker splits its work.
    /// stack.plan(NewFrame::new("Cart").below(shop))?;
    /// let finished = stack.work().finish(&hold, Finish::Done(Results::new("The cart is planned")))?;
    /// assert_eq!(finished.status, FrameStatus::InProgress, "it comes after its parts, with what it says as its results so far");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFree`](crate::Error::NotFree) if the frame has ended or is blocked;
    /// [`Error::HoldLost`](crate::Error::HoldLost); [`Error::Setting`](crate::Error::Setting) for a time that
    /// is too long; the errors of [`Stack::pop`] and [`Stack::block`].
    pub fn finish(&self, hold: &Hold, finish: Finish) -> Result<Finished> {
        let events = self.stack.execute(Command::Finish { hold: hold.clone(), finish })?;
        let status = events.iter().find_map(|event| match &event.change {
            Change::StatusChanged { status, .. } if event.handle == hold.handle => Some(*status),
            _ => None,
        });
        let until = events.iter().find_map(|event| match &event.change {
            Change::Released { release: Release::PutBack { until } } => Some(*until),
            _ => None,
        });
        Ok(Finished { status: status.unwrap_or(FrameStatus::InProgress), until })
    }

    /// Records that the frames whose holders have let their leases end were interrupted. Returns these
    /// frames. Hosts do this at their polls and tool calls; a program without sessions can do it before it
    /// looks at what runs. A record that is refused is tried again by the next look.
    pub fn note_interruptions(&self) -> Vec<Handle> {
        // The command that follows reports an error of the store.
        let _ = self.stack.refresh();
        self.stack.note_lapses()
    }

    /// The frames that are in_progress although the host or the conversation that worked on them gave no sign
    /// of life until the end of its lease, in creation order. Each can be run again, in the session that it
    /// has.
    pub fn interrupted(&self) -> Vec<Handle> {
        let now = self.stack.now();
        self.stack.look(|tree| {
            let is_interrupted = |handle: &Handle| {
                let record = tree.node(*handle).record();
                record.worker().is_none()
                    && (record.is_interrupted() || record.held_by().is_some_and(|holder| !holder.holds(now)))
            };
            tree.with_status(FrameStatus::InProgress).filter(is_interrupted).collect()
        })
    }

    /// How a host resumes frames whose work was interrupted, stopped or answered: which of them it begins
    /// now, and what it waits for. Each frame comes after the frames below it, so that it finds their
    /// results. A host asks again when something that it waits for has ended. `frames`: the frames that it
    /// resumes; `None`: all open frames.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// for frame in [shop, cart] {
    ///     stack.block(frame, "Shall I continue?", None)?;
    ///     stack.answer(frame, "Yes.")?;
    /// }
    /// let resumption = stack.work().resumption(None)?;
    /// assert_eq!((resumption.now, resumption.later), (vec![cart], vec![shop]));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
    pub fn resumption(&self, frames: Option<Vec<FrameRef>>) -> Result<Resumption> {
        let frames =
            frames.map(|frames| frames.into_iter().map(|frame| self.stack.resolve(frame)).collect::<Result<Vec<_>>>());
        let frames = frames.transpose()?;
        self.stack.read(|tree| match frames {
            Some(frames) => tree.resumption(frames),
            None => tree.resumption(tree.unfinished()),
        })
    }

    /// Counts the work that is left for workers: below a frame, or for `None` in the whole stack. If nothing
    /// is free, held or put back for later, nothing becomes free unless a person or a host does something.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::Broken`](crate::Error::Broken).
    pub fn left(&self, below: Option<FrameRef>) -> Result<WorkLeft> {
        self.left_of(None, below)
    }

    /// As [`Work::left`], for the worker of this name: frames that are assigned to it are free.
    ///
    /// # Errors
    /// As [`Work::left`].
    pub fn left_for(&self, worker: &str, below: Option<FrameRef>) -> Result<WorkLeft> {
        self.left_of(Some(worker), below)
    }

    fn left_of(&self, worker: Option<&str>, below: Option<FrameRef>) -> Result<WorkLeft> {
        let now = self.stack.now();
        self.stack.check_working()?;
        let below = below.map(|below| self.stack.resolve(below)).transpose()?;
        self.stack.read(|tree| tree.work_left(worker, below, now))
    }
}

impl Stack {
    /// The same stack for an actor: its commands, and those of its clones, are checked for the actor in their
    /// own transactions.
    ///
    /// - **What other actors hold is theirs.** A command that begins, resumes, ends, blocks or invalidates a
    ///   frame that another actor holds is refused. [`Actor::taking_over`] takes frames from persons and
    ///   conversations. What a worker or a host runs has to be stopped first ([`Stack::stop`]).
    /// - **The actor holds what it begins**, if it is a conversation or a person with a name: what it pushes,
    ///   activates or resumes. It holds the frame until it ends the frame, goes back to a frame in which it
    ///   was before, or lets its lease of a day end.
    /// - **With a [`Hold`]**, each command is refused if another actor has held that frame since, no matter
    ///   which frame the command changes. A lease that has ended is not a reason for a refusal as long as no
    ///   other actor has held the frame.
    ///
    /// Commands of `self` work as before: a caller that has the stack itself may end, block and invalidate
    /// everything.
    ///
    /// ```
    /// # use callstack_core::{Actor, HolderKind, NewFrame, NewHold, PopStatus, Stack, StackOptions};
    /// # use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
    /// # let time = Arc::new(AtomicU64::new(1_000));
    /// # let now = time.clone();
    /// # let stack = Stack::with_options(StackOptions::default().clock(Arc::new(move || now.load(Ordering::Relaxed))));
    /// stack.plan(NewFrame::new("Cart"))?;
    /// let slow = stack.work().hold(NewHold::new("slow", 500))?.unwrap();
    /// # time.store(2_000, Ordering::Relaxed);
    /// // 1000 milliseconds later
    /// let fast = stack.work().hold(NewHold::new("fast", 500))?.unwrap();
    /// assert_eq!((fast.handle, fast.generation), (slow.handle, 2));
    /// let late = stack.as_actor(&slow).pop(slow.handle, PopStatus::Completed, "done");
    /// assert_eq!(late.unwrap_err().code(), "hold_lost");
    /// let other = stack.as_actor(Actor::new(HolderKind::Conversation, "codex/1"));
    /// assert_eq!(other.pop(fast.handle, PopStatus::Completed, "done").unwrap_err().code(), "held");
    /// stack.as_actor(&fast).pop(fast.handle, PopStatus::Completed, "done")?;
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn as_actor(&self, actor: impl Into<Actor>) -> Stack {
        Self { actor: Some(Arc::new(actor.into())), ..self.clone() }
    }

    /// The actor that gives the commands of this clone: see [`Stack::as_actor`]. `None`: a caller that has
    /// the stack itself.
    pub fn actor(&self) -> Option<&Actor> {
        self.actor.as_deref()
    }

    /// The time of the stack's clock.
    pub(crate) fn now(&self) -> u64 {
        (self.inner.clock)()
    }

    /// As [`Work::note_interruptions`], from what this process knows.
    pub(super) fn note_lapses(&self) -> Vec<Handle> {
        let now = self.now();
        let lapsed: Vec<Handle> = self.look(|tree| {
            let has_lapsed =
                |handle: &Handle| tree.node(*handle).record().held_by().is_some_and(|holder| !holder.holds(now));
            tree.held().filter(has_lapsed).collect()
        });
        let noted = |handle: &Handle| {
            self.execute(Command::Interrupt { frame: (*handle).into() }).is_ok_and(|events| !events.is_empty())
        };
        lapsed.into_iter().filter(noted).collect()
    }

    /// Lets frames begin that have waited to begin until a time, if the time has come. Opening a stack,
    /// [`Stack::refresh`], [`Work::hold`] and [`Stack::import`] do this. A record that is refused is tried
    /// again by the next look.
    pub(super) fn end_waits(&self) {
        // The clock is the host's code, so it is asked only if something waits.
        let now = self.look(|tree| tree.waiting_to_begin().next().is_some()).then(|| self.now());
        let looked_at = self.inner.groups_looked_at.load(Ordering::Relaxed);
        let done = self.look(|tree| tree.plan_with_done_groups(looked_at));
        let has_ended = now.is_some_and(|now| self.look(|tree| tree.ended_waits(now).next().is_some()));
        if has_ended || done.is_some() {
            // The caller that has the stack itself lets them begin, not the actor of this clone.
            let _ = Self { actor: None, ..self.clone() }.execute(Command::EndWaits);
        }
        self.inner.groups_looked_at.store(self.look(Tree::plan_revision), Ordering::Relaxed);
    }
}

/// The hold among the events of a command.
fn held_in(events: &[Event]) -> Option<Hold> {
    let of = |event: &Event| match &event.change {
        Change::Held { holder } => Some(Hold::of(event.handle, holder)),
        _ => None,
    };
    events.iter().find_map(of)
}
