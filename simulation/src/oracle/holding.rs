//! The rules of holds: who has a frame and until when, who gets it next, and what is free.

use std::sync::Arc;

use callstack_core::frame::Holder;
use callstack_core::{Change, Event, Frame, FrameStatus, Handle, Hold, HolderKind};

use super::{Oracle, Plain, Violation};

impl Oracle {
    /// The rule that an actor breaks by taking this frame: a frame has one holder, and it waits for what it needs.
    pub(super) fn broken_by_hold(&self, event: &Event, holder: &Holder, together: &[Arc<Event>]) -> Option<Violation> {
        let (handle, revision) = (event.handle, event.revision);
        let plain = self.frames.get(&handle)?;
        let last = plain.holder.as_ref();
        if let Some(last) = last.filter(|last| last.generation == holder.generation) {
            return self.broken_by_renewal(plain, last, holder, event);
        }
        let begins = |what: String| {
            let what = format!("{handle} has begun at event {revision}, but {what}");
            Violation::new("nothing begins before what it needs", what)
        };
        let goes_on = |what: String| {
            let what = format!("{handle} goes on at event {revision}, but {what}");
            Violation::new("nothing goes on before what it needs", what)
        };
        let broken = match (holder.kind, plain.status) {
            // A conversation and a host can begin a frame before its parts, and work on them in it. A
            // conversation begins the planned frames above with it. What a host begins was ready when it asked
            // for a session.
            (HolderKind::Conversation, FrameStatus::Planned) => self.needs_in_the_way(handle).map(begins),
            (HolderKind::Host, FrameStatus::Planned) => self.not_open_above(handle).map(begins),
            (HolderKind::Worker, FrameStatus::Planned) => self.in_the_way(handle).map(begins),
            (HolderKind::Worker, FrameStatus::InProgress | FrameStatus::Blocked) => {
                self.in_the_way_of_more(handle).map(goes_on)
            }
            (HolderKind::Worker, status) => Some(goes_on(format!("it is {status}"))),
            _ => None,
        };
        // A frame that a worker has is not taken.
        let is_released_now =
            |other: &Arc<Event>| other.handle == handle && matches!(other.change, Change::Released { .. });
        let has_it = |last: &&Holder| {
            let is_held = plain.status == FrameStatus::InProgress && plain.let_go.is_none();
            is_held && last.kind == HolderKind::Worker && !has_ended(last, event.time)
        };
        let taken = last.filter(has_it).filter(|_| !together.iter().any(is_released_now)).map(|last| {
            let what = format!(
                "{handle} went from {} to {} at {}, before the end of the lease at {:?}",
                last.name, holder.name, event.time, last.until
            );
            Violation::new("a frame has one holder", what)
        });
        broken.or(taken)
    }

    /// The rule that a holder breaks by renewing its lease: it must still have the frame. An interrupted holder may renew
    /// it as long as no other actor has taken the frame.
    fn broken_by_renewal(&self, plain: &Plain, last: &Holder, holder: &Holder, event: &Event) -> Option<Violation> {
        let (handle, generation) = (event.handle, last.generation);
        if last.name != holder.name {
            let what = format!("{handle} has {} and {} in generation {generation}", last.name, holder.name);
            return Some(Violation::new("a frame has one holder", what));
        }
        let is_let_go = plain.let_go.is_some_and(|let_go| !let_go.is_interrupted);
        let is_over = holder.kind == HolderKind::Worker && (is_let_go || plain.status != FrameStatus::InProgress);
        let what = || format!("{} renews {handle} at event {}: {plain:?}", holder.name, event.revision);
        is_over.then(|| Violation::new("only who has a frame renews its lease", what()))
    }

    /// What is unfair in a hold. Among the frames that workers have begun, the one that has waited longest is next; if
    /// there is none, it is the first planned one, in the order of the plan. So no frame waits for ever beside others.
    pub(super) fn passed_over(&self, event: &Event, holder: &Holder, together: &[Arc<Event>]) -> Option<Violation> {
        let (handle, now) = (event.handle, event.time);
        let plain = self.frames.get(&handle)?;
        let is_renewed = plain.holder.as_ref().is_some_and(|last| last.generation == holder.generation);
        // Among many frames only some holds are looked at: each looks at all frames.
        let is_looked_at = self.revision.is_multiple_of(1 + self.frames.len() as u64 / 256);
        if holder.kind != HolderKind::Worker || is_renewed || !is_looked_at {
            return None;
        }
        let unfair = |earlier: Handle| {
            let what = format!("{} got {handle} at event {}, but {earlier} is before it", holder.name, event.revision);
            Violation::new("a free frame is not passed over", what)
        };
        // A planned frame comes after all that has begun.
        let waited = match plain.status {
            FrameStatus::Planned => (u64::MAX, handle),
            _ => (plain.free_since().unwrap_or_default(), handle),
        };
        let is_before = |(other, begun): &(&Handle, &Plain)| {
            let is_longer = |since: u64| !lasts(since, now) && (since, **other) < waited;
            let is_begun = begun.status == FrameStatus::InProgress && begun.free_since().is_some_and(is_longer);
            // What this command itself has released was not free before.
            let is_free = is_begun && !together.iter().any(|event| event.handle == **other);
            is_free && self.in_the_way_of_more(**other).is_none()
        };
        let begun = self.frames.iter().find(is_before).map(|(other, _)| *other);
        let planned = || (plain.status == FrameStatus::Planned).then(|| self.planned_before(handle)).flatten();
        begun.or_else(planned).map(unfair)
    }

    /// A planned frame that is free, and comes before another one of the same tree.
    fn planned_before(&self, handle: Handle) -> Option<Handle> {
        let mut top = handle;
        while let Some(parent) = self.frames.get(&top)?.parent {
            top = parent;
        }
        let mut next = vec![top];
        while let Some(frame) = next.pop().filter(|frame| *frame != handle) {
            let plain = self.frames.get(&frame)?;
            if self.is_free_to_begin(frame, plain) {
                return Some(frame);
            }
            next.extend(plain.children.iter().rev());
        }
        None
    }

    /// The rule that a push breaks: no frame begins below a frame that has ended. A session that a host has made by itself gets a
    /// placeholder wherever it is.
    pub(super) fn broken_by_push(&self, event: &Event, frame: &Frame) -> Option<Violation> {
        let above = self.ids.get(frame.parent_session_id.as_ref().filter(|_| !frame.placeholder)?)?;
        let ended = self.end_above(*above)?;
        let what = format!("{} has begun at event {}, but {ended}", event.handle, event.revision);
        Some(Violation::new("nothing begins before what it needs", what))
    }

    /// The rule that an interruption breaks: a holder is interrupted only after the end of its lease.
    pub(super) fn broken_by_interruption(&self, event: &Event) -> Option<Violation> {
        let holder = self.frames.get(&event.handle)?.holder.as_ref()?;
        let what =
            || format!("{} of {} ends at {:?}, and not at {}", event.handle, holder.name, holder.until, event.time);
        (!has_ended(holder, event.time)).then(|| Violation::new("a lease lasts until its end", what()))
    }

    /// When the last lease, or the last wait of a frame that was put back, is over, as far as they count at this time.
    /// Milliseconds since the Unix epoch.
    pub(crate) fn last_end(&self, now: u64) -> u64 {
        let holders = self.frames.values().filter(|plain| plain.status.is_unfinished());
        let ends = holders.filter_map(Plain::held_until).filter(|until| lasts(*until, now));
        ends.max().unwrap_or(now)
    }

    /// True if the holder of this generation has the frame.
    pub(crate) fn has_it(&self, hold: &Hold) -> bool {
        self.frames.get(&hold.handle).is_some_and(|plain| {
            let is_newest = plain
                .holder
                .as_ref()
                .is_some_and(|holder| (holder.generation, &holder.name) == (hold.generation, &hold.name));
            is_newest && plain.let_go.is_none() && plain.status == FrameStatus::InProgress
        })
    }

    /// True if a worker was the last to hold a frame.
    pub(crate) fn is_of_worker(&self, handle: Handle) -> bool {
        self.frames.get(&handle).is_some_and(Plain::is_of_worker)
    }
}

/// True if the lease of a holder is over at a time.
fn has_ended(holder: &Holder, now: u64) -> bool {
    holder.until.is_some_and(|until| !lasts(until, now))
}

/// False for a time that is over, and for one that is later than the end of any lease that could begin now.
fn lasts(until: u64, now: u64) -> bool {
    until > now && until - now <= Holder::LONGEST_LEASE + Holder::CLOCK_DIFFERENCE
}
