//! The effect of each command on the model.

use callstack_core::frame::{Holder, Release};
use callstack_core::{FrameStatus, HolderKind, PopStatus};

use super::asks::Ask;
use super::holders::Who;
use super::holding::holds;
use super::{Answer, Model, Plain};

impl Model {
    /// Executes a command on the model. After an error, the state of the model is not defined.
    pub(super) fn carry_out(&mut self, ask: &Ask, who: Who, now: u64) -> Answer {
        if let Who::Worker(proof) = who {
            self.check_hold(proof)?;
        }
        self.execute(ask, who, now)?;
        self.order.extend(self.order.len()..self.frames.len());
        Ok(())
    }

    fn execute(&mut self, ask: &Ask, who: Who, now: u64) -> Answer {
        let end_of = |lease: u64| match lease {
            1..=Holder::LONGEST_LEASE => Ok(now + lease),
            _ => Err("setting"),
        };
        match ask {
            Ask::Hold { worker, lease, below, frame } => {
                if worker.is_empty() {
                    return Err("empty");
                }
                let until = end_of(*lease)?;
                below.iter().chain(frame).try_for_each(|frame| self.there(*frame))?;
                self.hold(worker, until, *below, *frame, now)?;
            }
            Ask::Renew { proof, lease } => {
                let until = end_of(*lease)?;
                self.check_hold(*proof)?;
                self.check_in_progress(proof.frame)?;
                let holder = self.frames[proof.frame].holder.as_mut().unwrap();
                match holder.released.as_ref().map(|released| &released.how) {
                    None | Some(Release::Interrupted {}) => (holder.until, holder.released) = (Some(until), None),
                    Some(_) => return Err("not_free"),
                }
            }
            Ask::Release { proof } => {
                self.check_hold(*proof)?;
                self.released(proof.frame, Release::Ended {}, now);
            }
            Ask::Finish { proof, finish } => self.finish(*proof, *finish, now)?,
            Ask::Interrupt { frame } => {
                self.there(*frame)?;
                if self.frames[*frame].holder.as_ref().is_some_and(|holder| !holds(holder, now)) {
                    self.released(*frame, Release::Interrupted {}, now);
                }
            }
            Ask::BeginCall { frame, host, lease } => {
                self.there(*frame)?;
                self.begin_call(*frame, host, *lease, now)?;
            }
            Ask::EndCall { frame, host, interrupted } => {
                self.there(*frame)?;
                let is_own = |holder: &Holder| holder.kind == HolderKind::Host && holder.name == *host;
                if self.frames[*frame].holder.as_ref().is_some_and(is_own) {
                    let how = if *interrupted { Release::Interrupted {} } else { Release::Ended {} };
                    self.released(*frame, how, now);
                }
            }
            Ask::Stop { frame } => {
                frame.map_or(Ok(()), |frame| self.there(frame))?;
                self.stop(*frame, who, now)?;
            }
            Ask::Edit { frame, edit } => self.edit(*frame, edit, who)?,
            Ask::Reopen { frame, reason } => self.reopen(*frame, reason, who, now)?,
            Ask::Add { id, parent, status, depends_on } => {
                if let Some(parent) = parent {
                    self.takes(*parent, *status)?;
                }
                for dependency in depends_on {
                    self.there(*dependency)?;
                }
                self.free(id)?;
                let mut above: Vec<usize> = parent.iter().copied().collect();
                above.extend(parent.map(|parent| self.above(parent)).unwrap_or_default());
                let is_above =
                    |dependency: &usize| above.contains(dependency) || above.contains(&self.newest(*dependency));
                if depends_on.iter().any(is_above) {
                    return Err("dependency");
                }
                let once = self.once(depends_on);
                let frame =
                    Plain { id: id.clone(), parent: *parent, status: *status, title: "New".into(), ..Plain::default() };
                self.frames.push(Plain { depends_on: once, ..frame });
                parent.iter().for_each(|parent| self.fix_identity(*parent));
                if *status == FrameStatus::InProgress {
                    let new = self.frames.len() - 1;
                    self.active = Some(new);
                    if let Who::Named(..) = who {
                        self.take(new, FrameStatus::InProgress, who, now);
                    }
                    self.begin_registers(new);
                }
            }
            Ask::PlanChildren { parent, ids, depends_on } => {
                self.takes(*parent, FrameStatus::Planned)?;
                ids.iter().try_for_each(|id| self.free(id))?;
                if (1..ids.len()).any(|index| ids[..index].contains(&ids[index])) {
                    return Err("duplicate_id");
                }
                if !ids.is_empty() {
                    self.fix_identity(*parent);
                }
                let first = self.frames.len();
                self.frames.extend(ids.iter().map(|id| Plain {
                    id: id.clone(),
                    parent: Some(*parent),
                    title: "New".into(),
                    ..Plain::default()
                }));
                for (child, dependency) in depends_on {
                    let known = &mut self.frames[first + child].depends_on;
                    if !known.contains(&(first + dependency)) {
                        known.push(first + dependency);
                    }
                }
                if (first..self.frames.len()).any(|child| self.waits(child, child)) {
                    return Err("dependency");
                }
            }
            Ask::Ensure { id, .. } if self.frames.iter().any(|frame| frame.id == *id) => {}
            Ask::Ensure { id, parent } => {
                self.free(id)?;
                parent.map_or(Ok(()), |parent| self.there(parent))?;
                self.frames.push(Plain {
                    id: id.clone(),
                    parent: *parent,
                    status: FrameStatus::InProgress,
                    title: format!("Session {}", &id[..id.len().min(8)]),
                    placeholder: true,
                    ..Plain::default()
                });
                self.active = self.active.or(Some(self.frames.len() - 1));
                if let Who::Named(..) = who {
                    self.take(self.frames.len() - 1, FrameStatus::InProgress, who, now);
                }
            }
            Ask::Identify { frame, title, criteria, provisional } => {
                self.there(*frame)?;
                let frame = &mut self.frames[*frame];
                match (frame.placeholder, title.is_empty()) {
                    (false, _) => return Err("identity_fixed"),
                    (_, true) => return Err("empty"),
                    _ => {
                        (frame.title, frame.criteria) = (title.clone(), criteria.clone());
                        frame.placeholder = *provisional;
                    }
                }
            }
            Ask::Activate { frame } => {
                self.there(*frame)?;
                if self.frames[*frame].status != FrameStatus::Planned {
                    return Err("transition");
                }
                self.change(*frame, FrameStatus::InProgress, who, now)?;
                if self.frames[*frame].registers.is_none() {
                    self.begin_registers(*frame);
                }
            }
            Ask::ReplaceId { frame, id } => {
                self.there(*frame)?;
                if self.frames[*frame].id != *id {
                    self.free(id)?;
                    let plain = &mut self.frames[*frame];
                    if plain.log == Some(format!("logs/{}.jsonl", plain.id)) {
                        plain.log = Some(format!("logs/{id}.jsonl"));
                    }
                    plain.id = id.clone();
                    if self.is_open(*frame) {
                        self.forget(*frame);
                    }
                }
            }
            Ask::SetStatus { frame, status: FrameStatus::Invalidated } => {
                self.there(*frame)?;
                self.invalidate(*frame, "because", who, now)?;
            }
            Ask::SetStatus { frame, status: FrameStatus::Blocked } => {
                self.there(*frame)?;
                self.block(*frame, "", Some("because"), who, now)?;
            }
            Ask::Block { frame, question, results } => {
                self.there(*frame)?;
                self.block(*frame, question, results.as_deref(), who, now)?;
                if let Some(results) = results.as_ref().filter(|results| !results.is_empty() && !question.is_empty()) {
                    self.end_registers(*frame, results);
                }
            }
            Ask::Answer { frame, answer } => {
                self.there(*frame)?;
                match (self.frames[*frame].status, answer.is_empty()) {
                    (FrameStatus::Blocked, false) => {}
                    (FrameStatus::Blocked, true) => return Err("empty"),
                    _ => return Err("not_blocked"),
                }
                self.keep_reason(*frame);
                if let Some(holder) = &mut self.frames[*frame].holder {
                    (holder.tries, holder.put_backs) = (0, 0);
                }
                let questions = &mut self.frames[*frame].questions;
                if questions.is_empty() {
                    questions.push((String::new(), None));
                }
                let last = &mut questions.last_mut().unwrap().1;
                *last = Some(last.take().map_or(answer.clone(), |earlier| format!("{earlier}\n{answer}")));
            }
            Ask::SetStatus { frame, status } => {
                self.there(*frame)?;
                let goes_on =
                    (*status, self.frames[*frame].status) == (FrameStatus::InProgress, FrameStatus::InProgress);
                if goes_on && (self.worker(*frame).is_some() || who != Who::Unnamed) {
                    self.check_free(*frame, who, now)?;
                    self.take(*frame, FrameStatus::InProgress, who, now);
                    self.active = Some(*frame);
                    return Ok(());
                }
                let mut after = self.clone();
                if *status == FrameStatus::InProgress {
                    after.keep_reason(*frame);
                }
                after.change(*frame, *status, who, now)?;
                *self = after;
                self.frames[*frame].results = Some("because".into());
            }
            Ask::Pop { frame, status: PopStatus::Blocked } => {
                self.there(*frame)?;
                self.block(*frame, "", Some("done"), who, now)?;
                self.end_registers(*frame, "d");
            }
            Ask::Pop { frame, status } => {
                self.there(*frame)?;
                self.pop(*frame, (*status).into(), who, now)?;
            }
            Ask::Invalidate { frame, reason } => {
                self.there(*frame)?;
                self.invalidate(*frame, reason, who, now)?;
            }
            Ask::AddArtifact { frame, artifact: text } | Ask::AddDecision { frame, decision: text } => {
                self.there(*frame)?;
                if text.is_empty() {
                    return Err("empty");
                }
                let is_artifact = matches!(ask, Ask::AddArtifact { .. });
                let list = match is_artifact {
                    true => &mut self.frames[*frame].artifacts,
                    false => &mut self.frames[*frame].decisions,
                };
                if !is_artifact || !list.contains(text) {
                    list.push(text.clone());
                }
            }
            Ask::Summarize { frame, results } => {
                self.there(*frame)?;
                match (self.is_open(*frame), results.is_empty()) {
                    (false, _) => return Err("results_fixed"),
                    (_, true) => return Err("empty"),
                    _ => {
                        self.keep_reason(*frame);
                        self.frames[*frame].results = Some(results.clone());
                    }
                }
            }
            Ask::Deliver { frame } => {
                self.there(*frame)?;
                let is_retried = self.is_retried(*frame);
                let plain = &mut self.frames[*frame];
                if !plain.status.is_finished() {
                    return Err("not_finished");
                }
                plain.held = plain.parent.is_some() && !is_retried;
            }
            Ask::Forget { frame } => {
                self.there(*frame)?;
                self.forget(*frame);
            }
            Ask::Retry { frame, id, note, is_interrupted } => {
                self.there(*frame)?;
                self.retry(*frame, id, note.as_deref(), *is_interrupted, who, now)?;
            }
            Ask::SetActive { frame } => {
                self.there(*frame)?;
                if !self.is_open(*frame) {
                    return Err("not_open");
                }
                self.active = Some(*frame);
            }
            Ask::SetLogPath { frame, log_path } => {
                self.there(*frame)?;
                if log_path.is_empty() {
                    return Err("empty");
                }
                self.frames[*frame].log = Some(log_path.clone());
            }
            Ask::AllocateChunk { frame, name, content } => {
                self.there(*frame)?;
                match name.as_str() {
                    "" => return Err("empty"),
                    "tw\no" => return Err("not_one_line"),
                    _ if content.len() > 100_000 => return Err("too_long"),
                    _ => {}
                }
                let is_below = |other: usize| {
                    use FrameStatus::*;
                    self.above(other).contains(frame)
                        && matches!(self.frames[other].status, Planned | InProgress | Blocked)
                        && self.frames[other].chunks.iter().any(|(known, _)| known == name)
                };
                if self.owner(*frame, name).is_some() || (0..self.frames.len()).any(is_below) {
                    return Err("chunk_exists");
                }
                self.frames[*frame].chunks.push((name.clone(), content.clone()));
            }
            Ask::WriteChunk { frame, name, content } => {
                self.there(*frame)?;
                let owner = self.owner(*frame, name).ok_or("unknown_chunk")?;
                if content.len() > 100_000 {
                    return Err("too_long");
                }
                let chunk = self.frames[owner].chunks.iter_mut().find(|(other, _)| other == name);
                chunk.unwrap().1.clone_from(content);
            }
            Ask::FreeChunk { frame, name } => {
                self.there(*frame)?;
                let owner = self.owner(*frame, name).ok_or("unknown_chunk")?;
                self.frames[owner].chunks.retain(|(other, _)| other != name);
            }
            Ask::UpdateRegisters { frame, register, value } => {
                self.there(*frame)?;
                let limit = [240, 980, 200, 60, 720, 480, 600, 300][*register];
                self.frames[*frame].registers.get_or_insert_default()[*register] = value.chars().take(limit).collect();
            }
        }
        Ok(())
    }
}
