//! The comparison of a frame: what the file said, what it says, and what the stack has.

use std::collections::HashMap;

use super::PlanField;
use crate::frame::{Checksums, Frame, FrameStatus, Handle, Origin, Question, checksum};
use crate::import::collector::is_made;
use crate::tree::{TAKEN_BACK, Tree};

/// The fields that have checksums of their own. The status has the checksum of what the frame waits for, and
/// the order has none.
pub(super) const FIELDS: [PlanField; 9] = [
    PlanField::Title,
    PlanField::Criteria,
    PlanField::Task,
    PlanField::Priority,
    PlanField::Labels,
    PlanField::Assignee,
    PlanField::DependsOn,
    PlanField::Parent,
    PlanField::Results,
];

impl Checksums {
    /// The checksum of a field.
    pub(in crate::import) fn of(&self, field: PlanField) -> u64 {
        match field {
            PlanField::Title => self.title,
            PlanField::Criteria => self.criteria,
            PlanField::Task => self.task,
            PlanField::Priority => self.priority,
            PlanField::Labels => self.labels,
            PlanField::Assignee => self.assignee,
            PlanField::DependsOn => self.depends_on,
            PlanField::Parent => self.parent,
            PlanField::Results => self.results,
            PlanField::Status => self.wait,
            PlanField::Order => 0,
        }
    }

    /// Takes the checksum of a field from others.
    pub(in crate::import) fn take(&mut self, field: PlanField, other: &Checksums) {
        match field {
            PlanField::Title => self.title = other.title,
            PlanField::Criteria => self.criteria = other.criteria,
            PlanField::Task => self.task = other.task,
            PlanField::Priority => self.priority = other.priority,
            PlanField::Labels => self.labels = other.labels,
            PlanField::Assignee => self.assignee = other.assignee,
            PlanField::DependsOn => self.depends_on = other.depends_on,
            PlanField::Parent => self.parent = other.parent,
            PlanField::Results => self.results = other.results,
            PlanField::Status => self.wait = other.wait,
            PlanField::Order => {}
        }
    }
}

/// Which side has changed something since the last import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum Verdict {
    /// Both say the same.
    Same,
    /// The stack.
    Here,
    /// The file.
    File,
    /// Both, or it is not known.
    Both,
}

/// Compares three versions of a value. `base`: what the file said; `None`: that is not known.
pub(in crate::import) fn verdict<T: PartialEq>(base: Option<T>, file: T, here: T) -> Verdict {
    match base {
        _ if file == here => Verdict::Same,
        Some(base) if base == file => Verdict::Here,
        Some(base) if base == here => Verdict::File,
        _ => Verdict::Both,
    }
}

fn wait_of(question: Option<&Question>) -> u64 {
    question.map_or(0, |question| checksum(&format!("{}{:?}", question.question, question.until)))
}

fn checksums(frame: &Frame, depends_on: &[String], parent: &str, wait: u64) -> Checksums {
    let priority = frame.priority.map(|priority| format!("{priority:?}")).unwrap_or_default();
    Checksums {
        title: checksum(&frame.title),
        criteria: checksum(&frame.success_criteria),
        task: checksum(&frame.task),
        priority: checksum(&priority),
        labels: checksum(&frame.labels.join("\n")),
        assignee: checksum(frame.assignee.as_deref().unwrap_or_default()),
        depends_on: checksum(&depends_on.join("\n")),
        parent: checksum(parent),
        results: checksum(frame.results.as_deref().unwrap_or_default()),
        wait,
    }
}

/// The checksums of what the file says about a frame. `parent`: its parent within the file.
pub(in crate::import) fn said_by(frame: &Frame, parent: Option<&str>) -> Checksums {
    let question = frame.questions.last().filter(|_| frame.status == FrameStatus::Blocked);
    checksums(frame, &frame.depends_on, parent.unwrap_or_default(), wait_of(question))
}

/// The checksums of what the file said about a frame at the last import.
pub(super) fn said_of(record: &Frame) -> Checksums {
    record.origin.as_ref().map_or_else(Checksums::default, |origin| origin.checksums)
}

/// What the stack has for a frame of a plan.
pub(in crate::import) struct Here<'a> {
    pub(in crate::import) record: &'a Frame,
    pub(in crate::import) origin: Option<&'a Origin>,
    /// Its checksums, in the terms of the file.
    pub(in crate::import) checksums: Checksums,
    /// True if it was begun or ended here.
    pub(in crate::import) is_own: bool,
}

impl<'a> Here<'a> {
    /// `ids`: the IDs of the frames in the plan.
    pub(in crate::import) fn of(tree: &'a Tree, handle: Handle, ids: &HashMap<Handle, String>) -> Self {
        let node = tree.node(handle);
        let record = node.record();
        let id = |other: Handle| {
            let first = tree.first_attempt(other);
            ids.get(&other).or_else(|| ids.get(&first)).map_or_else(|| tree.node(other).session_id(), String::as_str)
        };
        let depends_on: Vec<String> = node.dependencies().iter().map(|other| id(*other).to_owned()).collect();
        // The file does not say where the top of the plan was put.
        let was_top = record.origin.as_ref().is_some_and(|origin| origin.checksums.parent == 0);
        let is_placed = |parent: &Handle| was_top && !ids.contains_key(parent);
        let parent = node.parent().filter(|parent| !is_placed(parent)).map(id).unwrap_or_default();
        let question = record.questions.last().filter(|_| record.waits_to_begin());
        let checksums = checksums(record, &depends_on, parent, wait_of(question));
        let origin = record.origin.as_deref();
        Self { record, origin, checksums, is_own: begun_here(record) }
    }

    /// What the file said. `None`: it is not known.
    pub(in crate::import) fn base(&self) -> Option<Checksums> {
        // A frame that has come back is as the file says.
        self.origin.map(|origin| if origin.gone { self.checksums } else { origin.checksums })
    }
}

/// True if a frame was begun or ended here.
pub(in crate::import) fn begun_here(record: &Frame) -> bool {
    let status_in_file = record.origin.as_ref().map(|origin| origin.status);
    let has_begun = match record.status {
        FrameStatus::Planned | FrameStatus::Invalidated => false,
        FrameStatus::Blocked if record.waits_to_begin() => false,
        // It continues where it was begun, because its time has come.
        FrameStatus::InProgress if record.holder.is_none() && record.has_waited_long_enough() => false,
        status => {
            let is_held = record.holder.is_some() || record.begun_at.is_some();
            is_held || status_in_file != Some(status)
        }
    };
    has_begun && record.no_work.is_none()
}

/// Which side has changed the status of a frame.
pub(in crate::import) fn status_verdict(here: &Here<'_>, file: &Frame, file_wait: u64) -> Verdict {
    use FrameStatus::*;
    let record = here.record;
    let holds_others = |status: FrameStatus| matches!(status, Planned | InProgress | Completed);
    // A frame that is not a task of the file ends, and continues, together with the tasks below it.
    let is_group = record.no_work.is_some() && file.no_work.is_some();
    if is_group && is_made(file) && holds_others(record.status) && holds_others(file.status) {
        return Verdict::Same;
    }
    // This also holds for an entry of the file that has ended here with its parts. What the file says about
    // the entry apart from its parts counts.
    let base = here.origin.map(|origin| (origin.status, origin.checksums.wait));
    if is_group && record.status == Completed && file.status.is_unfinished() {
        let is_as_before = base.is_none_or(|base| base == (file.status, file_wait));
        return if is_as_before || holds_others(file.status) { Verdict::Same } else { Verdict::File };
    }
    if is_group && matches!((record.status, file.status), (Planned, InProgress) | (InProgress, Planned)) {
        return Verdict::Same;
    }
    // What was done here goes further than what was begun elsewhere.
    if here.is_own && file.status == InProgress && record.status != InProgress {
        return Verdict::Here;
    }
    if here.is_own && (record.status, file.status) == (Blocked, Blocked) {
        return Verdict::Same;
    }
    if record.status == Invalidated && file.status != Invalidated {
        let is_taken_back = record.invalidation_reason.as_deref() == Some(TAKEN_BACK);
        if is_taken_back || here.origin.is_some_and(|origin| origin.gone) {
            return Verdict::File;
        }
    }
    // A wait that is over because its time has come is not a change here. It is not a change in the file
    // either, while the file still names it.
    let over = record.has_waited_long_enough().then(|| wait_of(record.questions.last()));
    let now =
        |(status, wait)| if status == Blocked && over == Some(wait) { (record.status, 0) } else { (status, wait) };
    verdict(base.map(now), now((file.status, file_wait)), (record.status, here.checksums.wait))
}
