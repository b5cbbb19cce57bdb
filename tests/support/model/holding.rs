//! The meaning of holds for frames of the model: which actors may begin, end and take held frames, and when
//! the frames are free again.

use callstack_core::frame::{Holder, Release, Released};
use callstack_core::{FrameStatus, HolderKind};

use super::holders::{End, Proof, Who};
use super::{Answer, Model};

fn lasts(until: u64, now: u64) -> bool {
    until > now && until <= now + Holder::LONGEST_LEASE + 3_600_000
}

/// True if a holder has a frame at this time.
pub(super) fn holds(holder: &Holder, now: u64) -> bool {
    holder.released.is_none() && holder.until.is_none_or(|until| lasts(until, now))
}

impl Model {
    /// The last holder of a frame, if it was a worker.
    pub(super) fn worker(&self, frame: usize) -> Option<&Holder> {
        self.frames[frame].holder.as_ref().filter(|holder| holder.kind == HolderKind::Worker)
    }

    /// True if a worker can have a frame at this time.
    fn is_free(&self, frame: usize, now: u64) -> bool {
        let plain = &self.frames[frame];
        let is_put_back = |holder: &Holder| match holder.released {
            Some(Released { how: Release::PutBack { until }, .. }) => lasts(until, now),
            _ => false,
        };
        let is_planned = |frame: &usize| self.frames[*frame].status == FrameStatus::Planned;
        let begun = self.above(frame).into_iter().find(|above| !is_planned(above));
        let is_wanted = begun.is_none_or(|begun| self.is_open(begun));
        match (plain.status, self.worker(frame)) {
            (FrameStatus::Planned, _) => self.can_begin(frame),
            (FrameStatus::InProgress | FrameStatus::Blocked, Some(_)) if !is_wanted => false,
            (FrameStatus::InProgress, Some(holder)) => {
                !holds(holder, now) && !is_put_back(holder) && !self.has_part_for_workers(frame)
            }
            (FrameStatus::Blocked, Some(_)) => {
                plain.questions.last().is_some_and(|(_, answer)| answer.is_some()) && !self.has_part_for_workers(frame)
            }
            _ => false,
        }
    }

    /// True if workers have something left to do below a frame, including below the open frames there.
    fn has_part_for_workers(&self, frame: usize) -> bool {
        (0..self.frames.len()).filter(|child| self.frames[*child].parent == Some(frame)).any(|child| {
            let status = &self.frames[child].status;
            let is_left = match status {
                FrameStatus::Planned => true,
                FrameStatus::Failed | FrameStatus::InProgress | FrameStatus::Blocked => self.frames[child].was_planned,
                FrameStatus::Completed | FrameStatus::Invalidated => false,
            };
            let is_own = !is_left && self.is_open(child);
            is_left && !self.is_retried(child) || is_own && self.has_part_for_workers(child)
        })
    }

    /// Checks whether an actor may begin, end or take a frame.
    pub(super) fn check_free(&self, frame: usize, who: Who, now: u64) -> Answer {
        let Some(holder) = self.frames[frame].holder.as_ref().filter(|holder| holds(holder, now)) else {
            return Ok(());
        };
        let runs = matches!(holder.kind, HolderKind::Host | HolderKind::Worker);
        let takes = match who {
            Who::Unnamed => !runs,
            Who::Named(_, _, takes_over) => takes_over && !runs,
            Who::Worker(_) | Who::Host(_) => false,
        };
        if takes || who.is(frame, holder) || holder.name.is_empty() { Ok(()) } else { Err("held") }
    }

    /// As above, but for actions that a caller with the stack itself may always perform.
    pub(super) fn check_actor(&self, frame: usize, who: Who, now: u64) -> Answer {
        if who == Who::Unnamed { Ok(()) } else { self.check_free(frame, who, now) }
    }

    pub(super) fn check_hold(&self, proof: Proof) -> Answer {
        self.there(proof.frame)?;
        let holder = self.frames[proof.frame].holder.as_ref();
        let is_own = holder.is_some_and(|holder| {
            (holder.kind, &*holder.name, holder.generation) == (HolderKind::Worker, proof.worker, proof.generation)
        });
        if is_own { Ok(()) } else { Err("hold_lost") }
    }

    pub(super) fn check_in_progress(&self, frame: usize) -> Answer {
        if self.frames[frame].status == FrameStatus::InProgress { Ok(()) } else { Err("not_free") }
    }

    /// Gives a frame to another holder.
    fn held(&mut self, frame: usize, new: Holder, now: u64) {
        let tries = self.worker(frame).map_or(0, |last| last.tries);
        let plain = &mut self.frames[frame];
        plain.holder = Some(Holder {
            generation: plain.holder.as_ref().map_or(1, |last| last.generation + 1),
            since: new.since.max(now),
            tries: tries + u64::from(new.kind == HolderKind::Worker),
            put_backs: plain.holder.as_ref().map_or(0, |last| last.put_backs),
            ..new
        });
    }

    /// The holder of a frame releases it.
    pub(super) fn released(&mut self, frame: usize, how: Release, now: u64) {
        let plain = &mut self.frames[frame];
        let is_left = plain.status == FrameStatus::InProgress;
        let puts_back = matches!(how, Release::PutBack { .. });
        let Some(holder) = plain.holder.as_mut().filter(|holder| puts_back || holder.released.is_none()) else {
            return;
        };
        let how = if how == (Release::Interrupted {}) && !is_left { Release::Ended {} } else { how };
        let before = holder.released.as_ref().map(|released| &released.how);
        let was_put_back = matches!(before, Some(Release::PutBack { .. }));
        let was_left = was_put_back || is_left && before == Some(&Release::Ended {});
        if (puts_back || how == (Release::Ended {}) && is_left) && !was_left {
            holder.tries = holder.tries.saturating_sub(1);
        }
        holder.put_backs += u64::from(puts_back && !was_put_back);
        holder.released = Some(Released { at: now, how });
    }

    /// A frame is no longer in progress. Its host has it until the host's call is over.
    pub(super) fn leave(&mut self, frame: usize, who: Who, now: u64) {
        let status = self.frames[frame].status;
        let holder = self.frames[frame].holder.clone().filter(|holder| holder.released.is_none());
        let Some(holder) = holder.filter(|holder| holder.kind != HolderKind::Host) else { return };
        let is_own = if who == Who::Unnamed { holder.kind == HolderKind::Person } else { who.is(frame, &holder) };
        let stopped = Release::Stopped { reason: status.to_string() };
        self.released(frame, if is_own { Release::Ended {} } else { stopped }, now);
    }

    /// A frame that was interrupted continues, or has ended.
    pub(super) fn goes_on(&mut self, frame: usize) {
        let released = self.frames[frame].holder.as_mut().and_then(|holder| holder.released.as_mut());
        if let Some(released) = released.filter(|released| released.how == Release::Interrupted {}) {
            released.how = Release::Ended {};
        }
    }

    /// The frames whose last holder was a conversation, each with the time. The frame that it has entered
    /// last comes first.
    fn on_the_way(&self, name: &str) -> Vec<(u64, usize)> {
        let is_of = |holder: &&Holder| holder.kind == HolderKind::Conversation && holder.name == name;
        let holders = self.frames.iter().enumerate().filter_map(|(frame, plain)| Some((frame, plain.holder.as_ref()?)));
        let own = holders.filter(|(_, holder)| is_of(holder));
        let mut entered: Vec<(u64, usize)> = own.map(|(frame, holder)| (holder.since, frame)).collect();
        entered.sort_unstable_by(|one, other| other.cmp(one));
        entered
    }

    /// An actor begins or resumes a frame. A conversation or a person then holds it. `status`: the status
    /// before that.
    pub(super) fn take(&mut self, frame: usize, status: FrameStatus, who: Who, now: u64) {
        let Who::Named(kind, name, _) = who else {
            let is_part = status == FrameStatus::Planned
                && self.frames[frame].parent.is_some_and(|parent| self.worker(parent).is_some());
            let has_it =
                |holder: &Holder| holder.released.is_none() && matches!(who, Who::Worker(_)) && who.is(frame, holder);
            let is_own = matches!(who, Who::Host(_)) || self.frames[frame].holder.as_ref().is_some_and(has_it);
            if !is_own && (is_part || self.worker(frame).is_some()) {
                self.held(frame, Holder::default(), now);
            }
            return;
        };
        let mut since = now;
        if kind == HolderKind::Conversation {
            let mut way = self.on_the_way(name);
            if let Some(newest) = self.entered.get(name) {
                since = now.max(newest + 1);
            }
            self.entered.insert(name.into(), since);
            way.retain(|(_, place)| {
                self.frames[*place].holder.as_ref().is_some_and(|holder| holder.released.is_none())
            });
            let before = way.iter().position(|(_, place)| *place == frame).unwrap_or(0);
            for (place, (_, left)) in way.into_iter().enumerate() {
                if place < before || self.above(left).contains(&frame) {
                    self.released(left, Release::Ended {}, now);
                }
            }
        }
        let until = Some(now + Holder::LONGEST_LEASE);
        match self.frames[frame].holder.as_mut().filter(|own| own.kind == kind && own.name == name) {
            Some(own) => (own.since, own.until, own.released) = (since, until, None),
            None => {
                let new = Holder { kind, name: name.into(), until, since, ..Holder::default() };
                self.held(frame, new, now);
            }
        }
    }

    pub(super) fn hold(
        &mut self,
        worker: &str,
        until: u64,
        below: Option<usize>,
        frame: Option<usize>,
        now: u64,
    ) -> Answer {
        let is_meant =
            |at: &usize| below.is_none_or(|below| self.above(*at).contains(&below)) && self.is_free(*at, now);
        if frame.is_some_and(|frame| !is_meant(&frame)) {
            return Err("not_free");
        }
        let begun = |at: &usize| self.frames[*at].status != FrameStatus::Planned;
        let free_since = |at: &usize| {
            let holder = self.frames[*at].holder.as_ref().unwrap();
            match &holder.released {
                Some(Released { how: Release::PutBack { until }, .. }) => *until,
                Some(Released { at, .. }) => holder.until.map_or(*at, |until| until.min(*at)),
                None => holder.until.unwrap(),
            }
        };
        let left = (0..self.frames.len()).filter(is_meant).filter(begun).min_by_key(free_since);
        let first = frame.or(left).or_else(|| self.most_urgent_first().into_iter().find(is_meant));
        let Some(first) = first else { return Ok(()) };
        let is_planned = !begun(&first);
        self.frames[first].was_planned |= is_planned;
        if is_planned && self.frames[first].registers.is_none() {
            self.begin_registers(first);
        }
        self.goes_on(first);
        self.frames[first].status = FrameStatus::InProgress;
        let (kind, name, until) = (HolderKind::Worker, worker.to_owned(), Some(until));
        self.held(first, Holder { kind, name, until, ..Holder::default() }, now);
        Ok(())
    }

    pub(super) fn finish(&mut self, proof: Proof, finish: End, now: u64) -> Answer {
        self.check_hold(proof)?;
        self.check_in_progress(proof.frame)?;
        let released = self.frames[proof.frame].holder.as_ref().and_then(|holder| holder.released.as_ref());
        if released.is_some_and(|released| released.how != Release::Interrupted {}) {
            return Err("not_free");
        }
        let (frame, who) = (proof.frame, Who::Worker(proof));
        let put_backs = self.frames[frame].holder.as_ref().map_or(0, |holder| holder.put_backs);
        let pause = 60_000.min(1_000 << put_backs.min(16));
        match finish {
            End::Later(Some(wait)) if wait > Holder::LONGEST_LEASE => return Err("setting"),
            End::Later(wait) => self.released(frame, Release::PutBack { until: now + wait.unwrap_or(pause) }, now),
            End::Done if self.has_part_for_workers(frame) => {
                self.frames[frame].results = Some("done".into());
                self.released(frame, Release::PutBack { until: now + pause }, now);
            }
            End::Done => self.pop(frame, FrameStatus::Completed, who, now)?,
            End::Failed => self.pop(frame, FrameStatus::Failed, who, now)?,
            End::Asks => self.block(frame, "which?", None, who, now)?,
        }
        Ok(())
    }

    pub(super) fn begin_call(&mut self, frame: usize, host: &'static str, lease: u64, now: u64) -> Answer {
        let (who, from) = (Who::Host(host), self.frames[frame].status);
        self.check_free(frame, who, now)?;
        if let Some(parent) = self.frames[frame].parent.filter(|_| from == FrameStatus::Planned) {
            self.takes(parent, FrameStatus::InProgress)?;
        }
        match from {
            FrameStatus::InProgress => self.active = Some(frame),
            _ => {
                let mut after = self.clone();
                after.keep_reason(frame);
                after.change(frame, FrameStatus::InProgress, who, now)?;
                *self = after;
            }
        }
        if from == FrameStatus::Planned && self.frames[frame].registers.is_none() {
            self.begin_registers(frame);
        }
        let until = match lease {
            1..=Holder::LONGEST_LEASE => Some(now + lease),
            _ => return Err("setting"),
        };
        let (kind, name, caller) = (HolderKind::Host, host.to_owned(), "caller".to_owned());
        self.held(frame, Holder { kind, name, caller, until, ..Holder::default() }, now);
        Ok(())
    }

    pub(super) fn stop(&mut self, top: Option<usize>, who: Who, now: u64) -> Answer {
        let is_stopped = |frame: &usize| {
            let plain = &self.frames[*frame];
            let is_held = plain
                .holder
                .as_ref()
                .is_some_and(|holder| holder.released.is_none() && holder.kind != HolderKind::Person);
            let is_below = top.is_none_or(|top| *frame == top || self.above(*frame).contains(&top));
            is_below && plain.status == FrameStatus::InProgress && (is_held || self.worker(*frame).is_some())
        };
        let mut stopped: Vec<usize> = (0..self.frames.len()).filter(is_stopped).collect();
        let check = |frame: usize| {
            let holder = self.frames[frame].holder.as_ref().filter(|holder| holds(holder, now));
            let runs = |holder: &Holder| matches!(holder.kind, HolderKind::Host | HolderKind::Worker);
            if holder.is_some_and(|holder| !runs(holder)) { self.check_actor(frame, who, now) } else { Ok(()) }
        };
        match top {
            Some(_) => stopped.iter().try_for_each(|frame| check(*frame))?,
            None => stopped.retain(|frame| check(*frame).is_ok()),
        }
        for frame in &stopped {
            let plain = &mut self.frames[*frame];
            plain.status = FrameStatus::Blocked;
            plain.questions.pop_if(|(_, answer)| answer.is_none());
            plain.questions.push(("It was stopped: why".into(), None));
            self.goes_on(*frame);
            if self.frames[*frame].holder.as_ref().is_some_and(|holder| holder.kind != HolderKind::Host) {
                self.released(*frame, Release::Stopped { reason: "why".into() }, now);
            }
        }
        let Some(active) = self.active else { return Ok(()) };
        let mut lineage = std::iter::once(active).chain(self.above(active));
        if let Some(highest) = lineage.rfind(|frame| stopped.contains(frame)) {
            // As the frames were before the stop: frames that are now stopped count as open, too.
            self.active = self.above(highest).into_iter().find(|above| self.is_open(*above));
        }
        Ok(())
    }
}
