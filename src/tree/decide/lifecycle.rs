//! Commands for the status of a frame (activate, pop, invalidate), and for the active frame.

use std::collections::{HashMap, HashSet};
use std::iter;

use super::memory::{inherited_registers, returned_registers};
use super::not_empty;
use crate::error::{Error, Result};
use crate::frame::{Actor, Change, FrameStatus, Handle, PopStatus, Results, status_in};
use crate::tree::{Draft, Parts};

/// The number of unfinished frames that a refusal names.
const LEFT_NAMED: usize = 12;

impl Draft<'_> {
    /// Starts a planned frame.
    pub(super) fn begin(&mut self, handle: Handle) -> Result<()> {
        let from = self.tree.node(handle).status();
        if from != FrameStatus::Planned {
            return Err(Error::Transition { handle, from, to: FrameStatus::InProgress });
        }
        self.set_status(handle, FrameStatus::InProgress, None, None)?;
        self.inherit_registers(handle);
        Ok(())
    }

    /// Starts a planned frame that has what it needs.
    pub(super) fn begin_ready(&mut self, handle: Handle) -> Result<()> {
        self.check_transition(handle, FrameStatus::InProgress)?;
        self.tree.check_ready(handle)?;
        self.begin(handle)
    }

    /// Begins a planned frame, or resumes a blocked one. The active frame does not change.
    pub(super) fn begin_unseen(&mut self, handle: Handle) {
        let status = FrameStatus::InProgress;
        self.push(handle, Change::StatusChanged { status, results: None, results_compacted: None });
        if self.tree.node(handle).status() == FrameStatus::Planned {
            self.inherit_registers(handle);
        }
    }

    /// Gives a frame that begins the registers of its parent, unless it has its own.
    fn inherit_registers(&mut self, handle: Handle) {
        let node = self.tree.node(handle);
        let inherited = node.parent().and_then(|parent| inherited_registers(self.tree, parent, node.record()));
        if let Some(registers) = inherited.filter(|_| node.record().registers.is_none()) {
            self.push(handle, Change::RegistersChanged { registers });
        }
    }

    pub(super) fn pop(&mut self, handle: Handle, status: PopStatus, results: Results) -> Result<()> {
        let returned = returned_registers(self.tree, handle, &results);
        let Results { full, compacted } = results;
        self.set_status(handle, status.into(), Some(full), Some(compacted))?;
        if let Some((parent, registers)) = returned {
            self.push(parent, Change::RegistersChanged { registers });
        }
        Ok(())
    }

    /// Pops a frame, and begins a planned one: the given frame, or the first sibling that can begin after the
    /// pop, if there is one.
    pub(super) fn pop_and_begin(
        &mut self,
        handle: Handle,
        status: PopStatus,
        results: Results,
        next: Option<Handle>,
    ) -> Result<()> {
        self.pop(handle, status, results)?;
        let tree = self.tree;
        // The next frame can use the results of the popped frame.
        let completed = (status == PopStatus::Completed).then_some(handle);
        let Some(next) = next.or_else(|| tree.ready_children(tree.node(handle).parent()?, completed).next()) else {
            return Ok(());
        };
        if tree.can_begin_after(next, Parts::Within, completed).is_err() {
            tree.check_ready(next)?;
        }
        self.begin(next)
    }

    /// Completes a frame below which nothing is left to do, and begins another frame.
    pub(super) fn complete(&mut self, handle: Handle, results: Results, next: Option<Handle>) -> Result<()> {
        self.check_transition(handle, FrameStatus::Completed)?;
        let left: Vec<Handle> = self.tree.unfinished_below(handle).take(LEFT_NAMED).collect();
        if !left.is_empty() {
            return Err(Error::PartsLeft { handle, left });
        }
        match next {
            Some(next) => self.pop_and_begin(handle, PopStatus::Completed, results, Some(next)),
            None => self.pop(handle, PopStatus::Completed, results),
        }
    }

    pub(super) fn block(
        &mut self,
        handle: Handle,
        question: Option<String>,
        results: Option<Results>,
        interruption: bool,
    ) -> Result<()> {
        let Some(question) = question.filter(|question| !question.trim().is_empty()) else {
            let (full, compacted) = results.map(|results| (results.full, results.compacted)).unzip();
            return self.set_status(handle, FrameStatus::Blocked, full, compacted);
        };
        let results = results.filter(|results| !results.dense().trim().is_empty());
        let returned = results.as_ref().and_then(|results| returned_registers(self.tree, handle, results));
        let (full, compacted) = results.map(|results| (results.full, results.compacted)).unzip();
        self.change_status(handle, FrameStatus::Blocked, full, compacted)?;
        self.push(handle, Change::Asked { question, interruption });
        if let Some((parent, registers)) = returned {
            self.push(parent, Change::RegistersChanged { registers });
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, handle: Handle, answer: String) -> Result<()> {
        let status = self.tree.node(handle).status();
        if status != FrameStatus::Blocked {
            return Err(Error::NotBlocked { handle, status });
        }
        not_empty("answer", &answer)?;
        self.push(handle, Change::Answered { answer, becomes: self.tree.after_wait(handle) });
        Ok(())
    }

    /// Answers a blocked frame, and resumes it. A frame that has waited to begin is begun.
    pub(super) fn answer_and_resume(&mut self, handle: Handle, answer: String) -> Result<()> {
        self.tree.check_is_work(handle)?;
        self.answer(handle, answer)?;
        self.set_status(handle, FrameStatus::InProgress, None, None)
    }

    /// Answers the frames that have waited to begin until a time, if that time has come. Also completes the
    /// frames that hold others together and need not wait any longer because the set of frames that they hold
    /// together has changed.
    pub(super) fn end_waits(&mut self) {
        for (handle, _) in self.tree.ended_waits(self.now) {
            let answer = "The time until which it was to wait has come.".to_owned();
            self.push(handle, Change::Answered { answer, becomes: self.tree.after_wait(handle) });
        }
    }

    /// Completes the frames that are not work and only hold others together, once this command ends the last
    /// frame that they hold together: their parts, and the frames that they depend on.
    pub(crate) fn finish_groups(&mut self, are_all_looked_at: bool) {
        let tree = self.tree;
        if !tree.has_groups() {
            return;
        }
        let mut ended = HashMap::new();
        for event in self.events().iter().filter(|event| event.handle.index() < tree.len()) {
            match &event.change {
                Change::StatusChanged { status, .. } => ended.insert(event.handle, *status),
                Change::Invalidated { .. } => ended.insert(event.handle, FrameStatus::Invalidated),
                Change::Answered { becomes: Some(next), .. } => ended.insert(event.handle, *next),
                Change::Restored { values, .. } => {
                    status_in(values).and_then(|status| ended.insert(event.handle, status))
                }
                _ => None,
            };
        }
        let mut pending: Vec<Handle> = ended.keys().copied().collect();
        pending.sort_unstable();
        let mut others: Vec<Handle> = if are_all_looked_at { tree.groups().collect() } else { Vec::new() };
        while let Some(handle) = pending.pop().or_else(|| others.pop()) {
            let around = tree.node(handle).parent().into_iter().chain(tree.dependents(handle).iter().copied());
            let around = around.chain(tree.is_group(handle).then_some(handle));
            for group in around.filter(|group| tree.is_group_done(*group, &ended)).collect::<Vec<_>>() {
                let now = ended.get(&group).copied().unwrap_or(tree.node(group).status());
                let is_planned = now == FrameStatus::Planned;
                ended.insert(group, FrameStatus::Completed);
                let begun = is_planned.then_some(FrameStatus::InProgress);
                for status in begun.into_iter().chain([FrameStatus::Completed]) {
                    self.push(group, Change::StatusChanged { status, results: None, results_compacted: None });
                }
                pending.push(group);
            }
        }
    }

    /// Resumes an open frame.
    pub(super) fn resume(&mut self, handle: Handle) -> Result<()> {
        match self.tree.node(handle).status() {
            FrameStatus::InProgress if self.takes_by_resuming(handle) => self.go_on(handle),
            FrameStatus::InProgress => self.set_active(handle),
            FrameStatus::Blocked => self.set_status(handle, FrameStatus::InProgress, None, None),
            from => {
                if from == FrameStatus::Planned {
                    self.tree.check_is_work(handle)?;
                }
                Err(Error::Transition { handle, from, to: FrameStatus::InProgress })
            }
        }
    }

    /// True if the actor becomes the holder of a frame that it resumes: an actor with a name does, and
    /// everyone but a frame's own worker takes a worker's frame.
    fn takes_by_resuming(&self, handle: Handle) -> bool {
        let has_name = |actor: &Actor| !actor.kind.is_running() && !actor.name.is_empty();
        let works_on = |actor: &Actor| actor.frame() == Some(handle) && self.tree.check_hold(actor).is_ok();
        let actor = self.actor.as_ref();
        let is_of_worker = self.tree.node(handle).record().worker().is_some();
        actor.is_some_and(has_name) || (is_of_worker && !actor.is_some_and(works_on))
    }

    /// Changes the status. Texts for a blocked frame say what it waits for; they do not replace its results
    /// so far.
    pub(super) fn set_status(
        &mut self,
        handle: Handle,
        status: FrameStatus,
        results: Option<String>,
        results_compacted: Option<String>,
    ) -> Result<()> {
        let frame = self.tree.node(handle).record();
        let goes_on = (frame.status, status) == (FrameStatus::InProgress, FrameStatus::InProgress);
        if goes_on && (frame.worker().is_some() || self.actor.is_some()) {
            return self.go_on(handle);
        }
        let has_own_texts = frame.has_partial_results() || !frame.questions.is_empty();
        if status != FrameStatus::Blocked || !has_own_texts {
            return self.change_status(handle, status, results, results_compacted);
        }
        let [full, compacted] = [results, results_compacted].map(Option::unwrap_or_default);
        let question = if full.trim().is_empty() { compacted } else { full };
        let is_known = question.trim().is_empty() && frame.current_question().is_some();
        self.change_status(handle, status, None, None)?;
        if !is_known {
            self.push(handle, Change::Asked { question, interruption: false });
        }
        Ok(())
    }

    fn change_status(
        &mut self,
        handle: Handle,
        status: FrameStatus,
        results: Option<String>,
        results_compacted: Option<String>,
    ) -> Result<()> {
        self.check_transition(handle, status)?;
        let record = self.tree.node(handle).record();
        if status == FrameStatus::InProgress && (record.status == FrameStatus::Planned || record.waits_to_begin()) {
            self.tree.check_is_work(handle)?;
        }
        self.check_actor(handle)?;
        self.check_goes_on(handle, self.tree.node(handle).status(), status)?;
        self.push(handle, Change::StatusChanged { status, results, results_compacted });
        if status == FrameStatus::InProgress {
            self.take(handle);
            self.activate(Some(handle));
        } else {
            self.leave(handle, status);
            let at_or_below = |active: Handle| active == handle || self.tree.is_ancestor(handle, active);
            if self.tree.active().is_some_and(at_or_below) {
                self.return_above(handle);
            }
        }
        Ok(())
    }

    /// Makes a frame that is retried failed, if it is open. It keeps its results and what it waits for.
    pub(super) fn fail_for_retry(&mut self, handle: Handle) -> Result<()> {
        let frame = self.tree.node(handle).record();
        match frame.status {
            FrameStatus::InProgress => {
                let marked = |so_far: &str| format!("[interrupted, and retried] {so_far}");
                let full = marked(frame.results.as_deref().unwrap_or("It left no results."));
                let compacted = frame.results_compacted.as_deref().filter(|text| !text.trim().is_empty()).map(marked);
                self.change_status(handle, FrameStatus::Failed, Some(full), compacted)
            }
            FrameStatus::Blocked => self.change_status(handle, FrameStatus::Failed, None, None),
            _ => Ok(()),
        }
    }

    pub(super) fn invalidate(&mut self, handle: Handle, reason: String) -> Result<()> {
        self.invalidate_all(&[handle], &reason, false)
    }

    /// Invalidates frames and the planned frames below them; with `open_too` also the open ones.
    pub(super) fn invalidate_all(&mut self, frames: &[Handle], reason: &str, open_too: bool) -> Result<()> {
        let tree = self.tree;
        not_empty("reason", reason)?;
        if frames.is_empty() {
            return Err(Error::Empty { field: "frames" });
        }
        let mut gone = HashSet::new();
        for handle in frames.iter().copied() {
            if gone.contains(&handle) {
                continue;
            }
            self.check_transition(handle, FrameStatus::Invalidated)?;
            let below: Vec<Handle> = match open_too {
                true => tree.unfinished_below(handle).collect(),
                false => tree.unbegun_below(handle).collect(),
            };
            for frame in iter::once(handle).chain(below) {
                if !gone.insert(frame) {
                    continue;
                }
                self.check_actor(frame)?;
                self.push(frame, Change::Invalidated { reason: reason.to_owned() });
                if frame == handle || tree.node(frame).status().is_open() {
                    self.leave(frame, FrameStatus::Invalidated);
                }
            }
        }
        if let Some(active) = tree.active().filter(|active| gone.contains(active)) {
            let above =
                tree.ancestors(active).find(|above| tree.node(*above).status().is_open() && !gone.contains(above));
            self.activate(above);
        }
        Ok(())
    }

    pub(super) fn set_active(&mut self, handle: Handle) -> Result<()> {
        let status = self.tree.node(handle).status();
        if !status.is_open() {
            return Err(Error::NotOpen { handle, status });
        }
        self.activate(Some(handle));
        Ok(())
    }

    /// Resumes by hand a frame that is in_progress.
    pub(super) fn go_on(&mut self, handle: Handle) -> Result<()> {
        self.check_free(handle)?;
        self.take(handle);
        self.activate(Some(handle));
        Ok(())
    }

    fn check_transition(&self, handle: Handle, to: FrameStatus) -> Result<()> {
        let from = self.tree.node(handle).status();
        if from.can_become(to) { Ok(()) } else { Err(Error::Transition { handle, from, to }) }
    }

    /// Makes the nearest open ancestor of `handle` the active frame, or no frame if there is none.
    pub(super) fn return_above(&mut self, handle: Handle) {
        let above = self.tree.node(handle).parent().and_then(|parent| self.tree.nearest_open(parent));
        self.activate(above);
    }

    pub(super) fn activate(&mut self, frame: Option<Handle>) {
        match (frame, self.tree.active()) {
            (Some(frame), Some(active)) if frame == active => {}
            (Some(frame), _) => self.push(frame, Change::ActiveChanged { active: true }),
            (None, Some(active)) => self.push(active, Change::ActiveChanged { active: false }),
            (None, None) => {}
        }
    }
}
