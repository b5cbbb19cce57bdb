//! How frames of the model change their status, and how they are retried.

use callstack_core::{FrameStatus, HolderKind};

use super::holders::Who;
use super::holding::holds;
use super::{Answer, Model, Plain};

impl Model {
    pub(super) fn change(&mut self, frame: usize, status: FrameStatus, who: Who, now: u64) -> Answer {
        use FrameStatus::*;
        let legal = match self.frames[frame].status {
            Planned => vec![InProgress, Invalidated],
            InProgress => vec![Completed, Failed, Blocked, Invalidated],
            Blocked => vec![InProgress, Completed, Failed, Blocked, Invalidated],
            Completed | Failed => vec![Invalidated],
            Invalidated => vec![],
        };
        if !legal.contains(&status) {
            return Err("transition");
        }
        self.check_actor(frame, who, now)?;
        let from = self.frames[frame].status;
        self.frames[frame].was_planned |= from == Planned && status == InProgress;
        if let Who::Worker(proof) = who
            && (proof.frame, from, status) == (frame, Blocked, InProgress)
        {
            return Err("not_free");
        }
        self.frames[frame].status = status;
        self.frames[frame].held = false;
        self.goes_on(frame);
        if status == InProgress {
            self.take(frame, from, who, now);
            self.active = Some(frame);
            return Ok(());
        }
        self.leave(frame, who, now);
        if self
            .active
            .is_some_and(|active| active == frame || status != Invalidated && self.above(active).contains(&frame))
        {
            self.active = self.above(frame).into_iter().find(|above| self.is_open(*above));
        }
        Ok(())
    }

    /// If a frame was blocked without a question, its results say what it waits for. They become its
    /// question.
    pub(super) fn keep_reason(&mut self, frame: usize) {
        let frame = &mut self.frames[frame];
        if frame.status == FrameStatus::Blocked && frame.questions.is_empty() {
            frame.questions.extend(frame.results.take().map(|reason| (reason, None)));
        }
    }

    /// Blocks a frame with a question, results so far, or both.
    pub(super) fn block(&mut self, frame: usize, question: &str, results: Option<&str>, who: Who, now: u64) -> Answer {
        let plain = &self.frames[frame];
        let was_blocked = plain.status == FrameStatus::Blocked;
        let has_partial = plain.results.is_some() && !(was_blocked && plain.questions.is_empty());
        let has_own_texts = self.is_open(frame) && has_partial || !plain.questions.is_empty();
        let mut after = self.clone();
        after.change(frame, FrameStatus::Blocked, who, now)?;
        let is_asked = !question.is_empty() || has_own_texts;
        let results = results.filter(|results| !results.is_empty() || !is_asked);
        let replaces = results.is_some() && (!question.is_empty() || !has_own_texts);
        if was_blocked && !replaces {
            after.keep_reason(frame);
        }
        let plain = &mut after.frames[frame];
        if replaces {
            plain.results = results.map(str::to_owned);
        }
        let asked = if question.is_empty() { results.unwrap_or_default() } else { question };
        let is_known = asked.is_empty() && was_blocked;
        if is_asked && !is_known {
            plain.questions.pop_if(|(_, answer)| answer.is_none());
            plain.questions.push((asked.to_owned(), None));
        }
        *self = after;
        Ok(())
    }

    pub(super) fn pop(&mut self, frame: usize, status: FrameStatus, who: Who, now: u64) -> Answer {
        self.change(frame, status, who, now)?;
        self.frames[frame].results = Some("done".into());
        self.end_registers(frame, "d");
        Ok(())
    }

    pub(super) fn invalidate(&mut self, frame: usize, reason: &str, who: Who, now: u64) -> Answer {
        if reason.is_empty() {
            return Err("empty");
        }
        self.change(frame, FrameStatus::Invalidated, who, now)?;
        self.frames[frame].reason = Some(reason.into());
        for below in 0..self.frames.len() {
            if self.above(below).contains(&frame) && self.frames[below].status == FrameStatus::Planned {
                self.frames[below].status = FrameStatus::Invalidated;
                self.frames[below].reason = Some(reason.into());
            }
        }
        Ok(())
    }

    /// Resumes a completed frame.
    pub(super) fn reopen(&mut self, frame: usize, reason: &str, who: Who, now: u64) -> Answer {
        self.there(frame)?;
        if self.frames[frame].status != FrameStatus::Completed {
            return Err("transition");
        }
        if reason.is_empty() {
            return Err("empty");
        }
        match self.above(frame).into_iter().find(|above| !self.is_open(*above)) {
            Some(above) if self.frames[above].status == FrameStatus::Planned => return Err("parent_planned"),
            Some(_) => return Err("parent_closed"),
            None => {}
        }
        self.check_free(frame, who, now)?;
        let plain = &mut self.frames[frame];
        (plain.status, plain.held) = (FrameStatus::InProgress, false);
        plain.questions.push(("It was completed and reopened. What is wrong?".into(), Some(reason.into())));
        self.take(frame, FrameStatus::Completed, who, now);
        self.active = Some(frame);
        Ok(())
    }

    /// Retries a frame.
    pub(super) fn retry(
        &mut self,
        frame: usize,
        id: &str,
        note: Option<&str>,
        is_interrupted: bool,
        who: Who,
        now: u64,
    ) -> Answer {
        let old = self.frames[frame].clone();
        match old.status {
            FrameStatus::Failed | FrameStatus::Blocked if !self.is_retried(frame) => {}
            FrameStatus::InProgress if is_interrupted || self.is_interrupted(frame) => {}
            _ if self.worker(frame).is_some_and(|worker| holds(worker, now)) => return Err("held"),
            _ => return Err("not_retriable"),
        }
        if old.holder.as_ref().is_some_and(|holder| holder.kind == HolderKind::Host && holder.released.is_none()) {
            return Err("held");
        }
        self.free(id)?;
        if let Some(parent) = old.parent {
            self.takes(parent, FrameStatus::Planned)?;
            self.fix_identity(parent);
        }
        if old.status != FrameStatus::Failed {
            self.change(frame, FrameStatus::Failed, who, now)?;
        }
        if old.status == FrameStatus::InProgress {
            let so_far = old.results.as_deref().unwrap_or("It left no results.");
            self.frames[frame].results = Some(format!("[interrupted, and retried] {so_far}"));
        }
        self.frames[frame].held = false;
        // A stop of a frame does not count as a question.
        let asks = |question: &str, answer: &Option<String>| {
            old.status == FrameStatus::Blocked && answer.is_none() && !question.starts_with("It was stopped")
        };
        let open = old.questions.last().filter(|(question, answer)| asks(question, answer));
        let question = match open {
            Some((question, _)) => question.clone(),
            None => format!("What must be done differently than in f{}?", frame + 1),
        };
        let note = note.filter(|note| !note.is_empty());
        let new = self.frames.len();
        self.frames.push(Plain {
            id: id.into(),
            parent: old.parent,
            title: old.title,
            criteria: old.criteria,
            priority: old.priority,
            depends_on: old.depends_on,
            questions: note.map(|note| (question, Some(note.to_owned()))).into_iter().collect(),
            retry_of: Some(frame),
            ..Plain::default()
        });
        let place = self.order.iter().position(|other| *other == frame).unwrap();
        self.order.insert(place + 1, new);
        for below in 0..new {
            if self.above(below).contains(&frame) && self.frames[below].status == FrameStatus::Planned {
                self.frames[below].status = FrameStatus::Invalidated;
                self.frames[below].reason = Some(format!("f{} was retried as f{}", frame + 1, new + 1));
            }
        }
        Ok(())
    }
}
