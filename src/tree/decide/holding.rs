//! Commands for the holders of frames.

use super::{check_name, not_empty};
use crate::error::{Error, Result};
use crate::frame::{
    Actor, Change, Finish, FrameStatus, Handle, Hold, Holder, HolderKind, NewHold, PopStatus, Release, Told,
};
use crate::tree::{Draft, Obstacle};

/// The caller of a task that a conversation without a name hands over.
const ANONYMOUS: &str = "a conversation";

/// How long a frame that was put back waits after the first time, and at most. The time is twice as long
/// after each further time.
const PUT_BACK: (u64, u64) = (1_000, 60_000);

impl Draft<'_> {
    /// Gives a frame to a holder. If no frame is free, nothing happens; but a frame that is named and is not
    /// free is refused.
    pub(super) fn hold(&mut self, new: NewHold) -> Result<()> {
        let (tree, now) = (self.tree, self.now);
        let NewHold { name, lease, below, frame } = new;
        check_name("name", &name, Holder::LONGEST_NAME)?;
        let until = self.end_of_lease(lease)?;
        let below = below.map(|below| tree.resolve(&below)).transpose()?;
        let named = frame.map(|frame| tree.resolve(&frame)).transpose()?;
        if let Some(handle) = named {
            let outside = below.filter(|below| !tree.is_ancestor(*below, handle)).map(Obstacle::NotBelow);
            if let Some(obstacle) = outside.or_else(|| tree.can_hold(handle, now).err()) {
                return Err(tree.not_free(handle, obstacle));
            }
        }
        if let Some(handle) = named.or_else(|| tree.free_for_workers(&name, below, now)) {
            if tree.node(handle).status() != FrameStatus::InProgress {
                self.begin_unseen(handle);
            }
            let until = Some(until);
            self.held(handle, Holder { kind: HolderKind::Worker, name, until, ..Holder::default() });
        }
        Ok(())
    }

    /// Gives the lease of a holder another end. A host can also keep a frame that has ended, until its call
    /// is over.
    pub(super) fn renew(&mut self, hold: &Hold, lease: u64) -> Result<()> {
        let until = self.end_of_lease(lease)?;
        self.tree.check_holds(hold)?;
        let record = self.tree.node(hold.handle).record();
        if let Some(holder) = record.holder.as_deref() {
            let was_interrupted =
                holder.released.as_ref().is_none_or(|released| released.how == Release::Interrupted {});
            if holder.kind != HolderKind::Host || !was_interrupted {
                self.check_in_progress(hold.handle)?;
            }
            if !was_interrupted {
                return Err(let_go_before(hold.handle));
            }
            let holder = Holder { until: Some(until), released: None, ..holder.clone() };
            self.push(hold.handle, Change::Held { holder: Box::new(holder) });
        }
        Ok(())
    }

    /// Lets a frame go.
    pub(super) fn release(&mut self, hold: &Hold, release: Release) -> Result<()> {
        self.tree.check_holds(hold)?;
        self.let_go(hold.handle, release);
        Ok(())
    }

    /// Lets a frame go, unless this command has done so already. A frame that has no holder any more can only
    /// be put back.
    pub(super) fn let_go(&mut self, handle: Handle, release: Release) {
        let record = self.tree.node(handle).record();
        let can_be = match release {
            Release::PutBack { .. } => record.holder.is_some(),
            _ => record.held_by().is_some(),
        };
        if can_be && !self.has_let_go(handle) {
            self.push(handle, Change::Released { release });
        }
    }

    /// Records what the holder of a frame was told. The contexts of other frames that it was told before are
    /// no longer the last ones.
    pub(super) fn tell(&mut self, handle: Handle, told: Told) {
        let tree = self.tree;
        let Some(holder) = tree.node(handle).record().held_by() else { return };
        let mut own = holder.clone();
        match told {
            Told::StillOpen => own.reminded = true,
            Told::Context(text) => own.told = text,
            Told::Advice(advice) if own.advised.iter().any(|given| given == advice) => {}
            Told::Advice(advice) => own.advised.push(advice.to_owned()),
        }
        let is_theirs =
            |other: &Holder| other.kind == holder.kind && other.name == holder.name && !other.told.is_empty();
        let is_context = own.told != holder.told;
        let others = tree.held().filter(|other| is_context && *other != handle);
        let others =
            others.filter_map(|other| Some((other, tree.node(other).record().held_by().filter(|by| is_theirs(by))?)));
        let forgotten = others.map(|(other, by)| (other, Holder { told: String::new(), ..by.clone() }));
        let own = (own != *holder).then_some((handle, own));
        for (frame, holder) in own.into_iter().chain(forgotten.collect::<Vec<_>>()) {
            self.push(frame, Change::Held { holder: Box::new(holder) });
        }
    }

    /// Extends the leases of all frames that an actor holds, and of those whose lease has ended because the
    /// actor was silent for too long.
    pub(super) fn renew_all(&mut self) {
        let Some(actor) = self.actor.clone() else { return };
        let until = Some(self.now.saturating_add(Holder::LONGEST_LEASE));
        for handle in self.tree.due_renewals(&actor, self.now) {
            if let Some(holder) = self.last_holder(handle) {
                let holder = Holder { until, released: None, ..holder.clone() };
                self.push(handle, Change::Held { holder: Box::new(holder) });
            }
        }
    }

    /// Records that the lease of a frame's holder has ended, if it has ended.
    pub(super) fn interrupt(&mut self, handle: Handle) {
        let holder = self.tree.node(handle).record().held_by();
        if holder.is_some_and(|holder| !holder.holds(self.now)) {
            self.let_go(handle, Release::Interrupted {});
        }
    }

    /// Ends the work of a holder on its frame.
    pub(super) fn finish_hold(&mut self, hold: &Hold, finish: Finish) -> Result<()> {
        self.tree.check_holds(hold)?;
        let handle = hold.handle;
        self.check_in_progress(handle)?;
        if self.last_holder(handle).is_some_and(|holder| !holder.is_on_it()) {
            return Err(let_go_before(handle));
        }
        let actor = Actor::from(hold);
        let outer = self.actor.replace(actor);
        let ended = match finish {
            Finish::Done(results) if self.tree.part_for_workers(handle).is_some() => {
                if results.dense().trim().is_empty() {
                    self.put_back(handle, None)
                } else {
                    self.summarize(handle, results).and_then(|()| self.put_back(handle, None))
                }
            }
            Finish::Done(results) => self.pop(handle, PopStatus::Completed, results),
            Finish::Failed(results) => self.pop(handle, PopStatus::Failed, results),
            Finish::Asks { question, results } => {
                not_empty("question", &question).and_then(|()| self.block(handle, Some(question), results, false))
            }
            Finish::Later { wait } => self.put_back(handle, wait),
        };
        self.actor = outer;
        ended
    }

    fn put_back(&mut self, handle: Handle, wait: Option<u64>) -> Result<()> {
        let (first, longest) = PUT_BACK;
        let doublings = self.last_holder(handle).map_or(0, |last| last.put_backs).min(16) as u32;
        let wait = match wait {
            Some(wait @ 0..=Holder::LONGEST_LEASE) => wait,
            Some(wait) => return Err(wrong_lease("wait", wait, "a time of at most 86400000 milliseconds")),
            None => longest.min(first * 2_u64.pow(doublings)),
        };
        self.let_go(handle, Release::PutBack { until: self.now.saturating_add(wait) });
        Ok(())
    }

    /// The last holder of a frame; `None` also for a frame that this command adds.
    fn last_holder(&self, handle: Handle) -> Option<&Holder> {
        let is_new = handle.index() >= self.tree.len();
        if is_new { None } else { self.tree.node(handle).record().holder.as_deref() }
    }

    /// Gives a frame to another holder.
    fn held(&mut self, handle: Handle, new: Holder) {
        let last = self.last_holder(handle);
        let is_worker = new.kind == HolderKind::Worker;
        let tries = last.filter(|last| last.kind == HolderKind::Worker).map_or(0, |last| last.tries);
        let holder = Holder {
            generation: last.map_or(0, |last| last.generation).saturating_add(1),
            since: new.since.max(self.now),
            tries: if is_worker { tries.saturating_add(1) } else { tries },
            put_backs: last.map_or(0, |last| last.put_backs),
            ..new
        };
        self.push(handle, Change::Held { holder: Box::new(holder) });
    }

    /// Makes a host the holder of a frame that it runs by a call.
    pub(super) fn held_by_host(&mut self, handle: Handle, host: String, caller: String, lease: u64) -> Result<()> {
        let until = Some(self.end_of_lease(lease)?);
        self.held(handle, Holder { kind: HolderKind::Host, name: host, caller, until, ..Holder::default() });
        Ok(())
    }

    /// Notes who has a frame that is begun or resumed. A conversation or a person with a name holds it. An
    /// actor without a name does not; then the frame is marked if it is a worker's frame, or a planned part
    /// of a worker's frame. No worker gets a marked frame any more, and the worker's frame above it comes
    /// after it.
    pub(super) fn take(&mut self, handle: Handle) {
        let holder = self.tree.node(handle).record().held_by();
        let is_own = |actor: &Actor| holder.is_some_and(|holder| actor.is(handle, holder));
        // The actor's call holds the frame, or the actor has the frame already.
        let is_held = |actor: &Actor| self.is_call || (actor.kind == HolderKind::Worker && is_own(actor));
        if self.actor.as_ref().is_some_and(is_held) {
            return;
        }
        let node = self.tree.node(handle);
        let is_of_worker = |frame: Handle| self.tree.node(frame).record().worker().is_some();
        let is_part = node.status() == FrameStatus::Planned && node.parent().is_some_and(is_of_worker);
        match self.entering(Some(handle), Some(handle)) {
            Some(actor) => self.enter_as(handle, &actor),
            None if is_part || is_of_worker(handle) => self.held(handle, Holder::default()),
            None => {}
        }
    }

    /// Notes who has a frame that this command pushes below another one.
    pub(super) fn take_new(&mut self, handle: Handle, parent: Option<Handle>) {
        if let Some(actor) = self.entering(parent, None) {
            self.enter_as(handle, &actor);
        }
    }

    /// The actor of this command, if it holds the frame that it begins at or below `frame`. `known`: the
    /// frame that is begun, if this command does not add it.
    fn entering(&self, frame: Option<Handle>, known: Option<Handle>) -> Option<Actor> {
        let has_name = |actor: &&Actor| !actor.name.is_empty() || actor.hands_over;
        let actor = self.actor.as_ref().filter(|actor| !actor.kind.is_running()).filter(has_name)?;
        let is_for_others = frame.is_some_and(|frame| self.works_for_others(frame, known, actor));
        (!is_for_others).then(|| actor.clone())
    }

    /// True if an actor does not hold a frame that it begins at or below `handle`, because it works there for
    /// a holder. Then it is a part of that holder, or cannot be distinguished from it. A conversation with a
    /// name that works for a worker holds the frames that it begins below the worker's frame.
    fn works_for_others(&self, handle: Handle, known: Option<Handle>, actor: &Actor) -> bool {
        let is_for_actor = |frame: Handle| {
            let holder = self.tree.node(frame).record().held_by();
            let is_unnamed = |holder: &&Holder| holder.kind == HolderKind::Conversation && holder.name.is_empty();
            let holder = holder.filter(is_unnamed);
            holder.is_some_and(|holder| holder.caller == actor.name)
        };
        let is_named = actor.kind == HolderKind::Conversation && !actor.name.is_empty();
        let is_own_hold = |frame: Handle| actor.frame() == Some(frame) && (!is_named || known == Some(frame));
        self.tree.lineage(handle).any(|frame| is_for_actor(frame) || is_own_hold(frame))
    }

    /// Lets a conversation or a person enter a frame. The actor leaves the frames that it has entered since
    /// it was in this frame before, and the frames below it.
    fn enter_as(&mut self, handle: Handle, actor: &Actor) {
        let tree = self.tree;
        let way = tree.way_back(&actor.name);
        let before = way.iter().position(|place| *place == handle).unwrap_or(0);
        let is_known = handle.index() < tree.len();
        let is_left =
            |(place, frame): &(usize, &Handle)| *place < before || (is_known && tree.is_ancestor(handle, **frame));
        if actor.kind == HolderKind::Conversation && !actor.hands_over {
            for (_, frame) in way.iter().enumerate().filter(is_left) {
                self.let_go(*frame, Release::Ended {});
            }
        }
        let last = self.last_holder(handle).cloned();
        let newest = tree.last_entry(&actor.name).filter(|_| actor.kind == HolderKind::Conversation);
        let since = newest.map_or(self.now, |newest| self.now.max(newest.saturating_add(1)));
        let until = Some(self.now.saturating_add(Holder::LONGEST_LEASE));
        if actor.hands_over {
            let caller = if actor.name.is_empty() { ANONYMOUS } else { &actor.name }.to_owned();
            self.held(handle, Holder { kind: actor.kind, caller, until, ..Holder::default() });
            return;
        }
        match last {
            Some(own) if own.kind == actor.kind && own.name == actor.name => {
                let holder = Holder { until, since, released: None, ..own };
                self.push(handle, Change::Held { holder: Box::new(holder) });
            }
            last => {
                // If the frame was handed over to an actor whose name was not known, the actor that handed it
                // over has given it to this actor.
                let given_by = last.filter(|last| last.released.is_none() && last.is_delegated());
                // A frame that an actor enters when it holds no other frame is its task.
                let own = if way.is_empty() { actor.caller.clone() } else { String::new() };
                let (kind, name) = (actor.kind, actor.name.clone());
                let caller = match given_by {
                    // The actor has taken its own task back.
                    Some(last) if last.kind == kind && last.caller == name => String::new(),
                    Some(last) => last.caller,
                    None => own,
                };
                self.held(handle, Holder { kind, name, caller, until, since, ..Holder::default() });
            }
        }
    }

    /// Notes that the holder does not work any more on a frame whose status is no longer in_progress. A host
    /// has the frame until its call is over.
    pub(super) fn leave(&mut self, handle: Handle, status: FrameStatus) {
        let record = self.tree.node(handle).record();
        let Some(holder) = record.held_by() else { return };
        if holder.kind == HolderKind::Host {
            return;
        }
        let is_own = match &self.actor {
            Some(actor) => actor.is(handle, holder),
            // The host of a session ends frames in the name of the session.
            None => holder.kind == HolderKind::Person || record.conversation() == Some(&holder.name),
        };
        let awaits_subagent = holder.kind == HolderKind::Conversation && holder.name.is_empty();
        let release = match is_own || awaits_subagent {
            true => Release::Ended {},
            false => Release::Stopped { reason: status.to_string() },
        };
        self.let_go(handle, release);
    }

    /// Checks that the actor of this command may begin, end or take a frame.
    pub(super) fn check_free(&self, handle: Handle) -> Result<()> {
        self.tree.check_free(handle, self.actor.as_ref(), self.now)
    }

    /// Same as [`Draft::check_free`], for commands that a caller that uses the stack directly may always
    /// give.
    pub(super) fn check_actor(&self, handle: Handle) -> Result<()> {
        if self.actor.is_some() { self.check_free(handle) } else { Ok(()) }
    }

    /// Refuses to let a worker resume its frame while the frame is blocked: the worker was stopped, or has
    /// asked a question. The worker that holds the frame next resumes it.
    pub(super) fn check_goes_on(&self, handle: Handle, from: FrameStatus, to: FrameStatus) -> Result<()> {
        let is_own = self.actor.as_ref().and_then(Actor::frame) == Some(handle);
        match (from, to) {
            (FrameStatus::Blocked, FrameStatus::InProgress) if is_own => {
                Err(self.tree.not_free(handle, Obstacle::Blocked))
            }
            _ => Ok(()),
        }
    }

    /// Each command of an actor extends the leases of the frames that it holds, when half of the lease is
    /// over.
    pub(super) fn renew_beside(&mut self) {
        let Some(actor) = self.actor.clone().filter(|actor| !actor.kind.is_running()) else { return };
        let until = Some(self.now.saturating_add(Holder::LONGEST_LEASE));
        for handle in self.tree.due_renewals(&actor, self.now) {
            let Some(holder) = self.tree.node(handle).record().held_by() else { continue };
            let lasts_half =
                holder.until.is_some_and(|until| until.saturating_sub(self.now) > Holder::LONGEST_LEASE / 2);
            if !lasts_half && !self.changes_holder(handle) {
                let holder = Holder { until, ..holder.clone() };
                self.push(handle, Change::Held { holder: Box::new(holder) });
            }
        }
    }

    /// Refuses a frame that is not in progress: a frame that a person has finished, blocked or invalidated
    /// has no holder any more.
    fn check_in_progress(&self, handle: Handle) -> Result<()> {
        match self.tree.node(handle).status() {
            FrameStatus::InProgress => Ok(()),
            FrameStatus::Blocked => Err(self.tree.not_free(handle, Obstacle::Blocked)),
            _ => Err(self.tree.not_free(handle, Obstacle::Ended)),
        }
    }

    /// The end of a lease of this length.
    fn end_of_lease(&self, lease: u64) -> Result<u64> {
        match lease {
            1..=Holder::LONGEST_LEASE => Ok(self.now.saturating_add(lease)),
            _ => Err(wrong_lease("lease", lease, "a time of at least 1 and at most 86400000 milliseconds")),
        }
    }
}

fn let_go_before(handle: Handle) -> Error {
    Error::NotFree { handle, reason: "its holder has released it".into() }
}

fn wrong_lease(name: &str, value: u64, expected: &'static str) -> Error {
    Error::Setting { name: name.into(), value: value.to_string(), expected }
}
