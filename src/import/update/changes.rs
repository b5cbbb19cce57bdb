//! The events that bring the frames of a plan up to date.
//!
//! They are checked one by one on a copy of the tree, so each event is possible after the events before it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::conflicts::{Sides, advice};
use super::merge::{FIELDS, Here, Verdict, begun_here, said_by, status_verdict, verdict};
use super::order;
use super::updater::{Updater, named};
use super::{Becomes, PlanChange, PlanConflict, PlanField, PlanUpdate};
use crate::error::Result;
use crate::frame::{Change, Event, Frame, FrameEdit, FrameStatus, Handle, Origin};
use crate::import::collector::is_made;
use crate::tree::Draft;

/// What happens to one frame that was there.
pub(super) struct Merge<'a> {
    pub(super) handle: Handle,
    pub(super) file: &'a Frame,
    values: Map<String, Value>,
    pub(super) depends_on: Option<Vec<Handle>>,
    pub(super) parent: Option<Option<Handle>>,
    fields: Vec<PlanField>,
    becomes: Option<FrameStatus>,
    origin: Origin,
}

impl<'a> Updater<'a, '_> {
    pub(super) fn update(mut self) -> Result<PlanUpdate> {
        self.doubt = self.doubt();
        let was_known: HashSet<Handle> = self.known.handles.values().copied().collect();
        let orders = order::in_file(&self.plan.frames);
        let reordered = order::reordered(&self.tree, &self.known.handles, &orders);
        let added = self.add(&orders)?;
        let plan = self.plan;
        let mut merges = Vec::new();
        for file in &plan.frames {
            let handle = self.known.handles.get(&file.session_id).copied();
            if let Some(handle) = handle.filter(|handle| was_known.contains(handle)) {
                let is_unordered = reordered.conflicts.contains(self.level_of(file));
                merges.push(self.merge(handle, file, &orders, is_unordered));
            }
        }
        self.drop_dependencies(&merges)?;
        self.move_below_parents(&mut merges)?;
        merges.into_iter().try_for_each(|merge| self.apply(merge))?;
        self.link(&added)?;
        self.put_in_order(&added, &orders, &reordered)?;
        self.remove()?;
        self.go_on_with_groups()?;
        let mut ends = Draft::new(&self.tree, self.draft.now);
        ends.finish_groups(true);
        for Event { handle, change, .. } in ends.finish().events {
            self.draft.push(handle, change);
        }
        let new = |handle: &Handle| PlanChange {
            frame: *handle,
            id: self.ids.get(handle).cloned().unwrap_or_default(),
            title: self.tree.node(*handle).title().to_owned(),
            becomes: Becomes::Added,
            fields: Vec::new(),
        };
        self.outcome.added = added.iter().map(new).collect();
        for conflict in &mut self.outcome.conflicts {
            self.tree.node(conflict.frame).title().clone_into(&mut conflict.title);
        }
        Ok(self.outcome)
    }

    /// The ID of the parent within the file; empty at the top.
    fn level_of(&self, frame: &Frame) -> &'a str {
        self.parent_in_file(frame).map_or("", |parent| &parent.session_id)
    }

    /// What the file says about a frame.
    fn origin(&self, frame: &Frame, orders: &order::Orders<'_>) -> Origin {
        let parent = self.parent_in_file(frame).map(|parent| parent.session_id.as_str());
        Origin {
            plan: self.known.plan.clone(),
            id: frame.session_id.clone(),
            after: orders.after(&frame.session_id).map(str::to_owned),
            gone: false,
            status: frame.status,
            checksums: said_by(frame, parent),
        }
    }

    /// Adds the frames that are new, without their dependencies on others.
    fn add(&mut self, orders: &order::Orders<'_>) -> Result<Vec<Handle>> {
        let is_new = |frame: &&&Frame| !self.known.handles.contains_key(&frame.session_id);
        let new: Vec<&Frame> = { self.plan.frames.iter() }.filter(|frame| is_new(&frame)).collect();
        let top = self.top.map(|top| self.tree.node(top).session_id().to_owned());
        let ids: HashSet<&str> = new.iter().map(|frame| frame.session_id.as_str()).collect();
        let mut frames = Vec::new();
        for frame in &new {
            let parent = match self.parent_in_file(frame) {
                Some(parent) => match self.known.handles.get(&parent.session_id) {
                    Some(handle) => Some(self.tree.node(*handle).session_id().to_owned()),
                    None => Some(parent.session_id.clone()),
                },
                None => top.clone(),
            };
            let mut added = (*frame).clone();
            added.parent_session_id = parent;
            added.depends_on.retain(|id| ids.contains(id.as_str()));
            added.origin = Some(Box::new(self.origin(frame, orders)));
            frames.push(added);
        }
        if frames.is_empty() {
            return Ok(Vec::new());
        }
        self.draft.import(frames)?;
        self.draft.events().iter().for_each(|event| self.tree.apply(event));
        for frame in &new {
            let id = &frame.session_id;
            if let Some(handle) = self.tree.by_id(id) {
                self.known.handles.insert(id.clone(), handle);
                self.ids.insert(handle, id.clone());
            }
        }
        Ok(self.tree.handles().skip(self.draft.tree.len()).collect())
    }

    /// Compares a frame that was there with the file.
    /// `is_unordered`: the order of the file is not taken over.
    fn merge(&mut self, handle: Handle, file: &'a Frame, orders: &order::Orders<'_>, is_unordered: bool) -> Merge<'a> {
        let said = self.origin(file, orders);
        let here = Here::of(&self.tree, handle, &self.ids);
        let mut origin = said.clone();
        if let Some(before) = here.origin.filter(|_| is_unordered) {
            origin.after.clone_from(&before.after);
        }
        let (mut values, mut fields, mut conflicts) = (Map::new(), Vec::new(), Vec::new());
        let (mut depends_on, mut parent, mut becomes) = (None, None, None);
        let is_top = self.parent_in_file(file).is_none();
        let handles = &self.known.handles;
        // The stack had at that time what an export has written.
        let is_adopted = self.known.adopted.contains(&handle);
        let base = if is_adopted { Some(said.checksums) } else { here.base() };
        let status = match is_adopted && here.record.status == file.status {
            true => Verdict::Same,
            false => status_verdict(&here, file, said.checksums.wait),
        };
        let is_settled = here.record.status == file.status && !file.status.is_unfinished();
        for field in FIELDS {
            let base = base.map(|base| base.of(field));
            // The file does not say where the top of the plan is.
            let is_placed_here = field == PlanField::Parent && is_top && base.is_none_or(|base| base == 0);
            // The actor that has completed a frame here knows best what was to be done and what came of it.
            let is_settled_here = here.is_own || here.record.no_work.is_some();
            let is_known_here = match field {
                PlanField::Results => is_settled_here && here.record.status == FrameStatus::Completed,
                // Task Master keeps the results in the place of the task.
                PlanField::Task => is_settled_here && file.status == FrameStatus::Completed,
                _ => false,
            };
            if is_placed_here || is_known_here || (field == PlanField::Results && !is_settled) {
                continue;
            }
            match verdict(base, said.checksums.of(field), here.checksums.of(field)) {
                Verdict::Same | Verdict::Here => continue,
                Verdict::File if !here.is_own => {}
                _ => {
                    origin.checksums.take(field, &here.base().unwrap_or_default());
                    conflicts.push(self.conflict(handle, file, field, here.is_own));
                    continue;
                }
            }
            fields.push(field);
            match field {
                PlanField::Title => drop(values.insert("title".into(), json!(file.title))),
                PlanField::Criteria => {
                    values.insert("successCriteria".into(), json!(file.success_criteria));
                    values.insert("successCriteriaCompacted".into(), json!(file.success_criteria_compacted));
                }
                PlanField::Task => {
                    let task = Some(&file.task).filter(|task| !task.is_empty());
                    values.insert("task".into(), json!(task));
                }
                PlanField::Priority => drop(values.insert("priority".into(), json!(file.priority))),
                PlanField::Labels => {
                    let labels = Some(&file.labels).filter(|labels| !labels.is_empty());
                    values.insert("labels".into(), json!(labels));
                }
                PlanField::Assignee => drop(values.insert("assignee".into(), json!(file.assignee))),
                PlanField::DependsOn => {
                    depends_on = Some(file.depends_on.iter().filter_map(|id| handles.get(id)).copied().collect());
                }
                PlanField::Parent => {
                    let above = file.parent_session_id.as_ref().filter(|_| !is_top);
                    parent = Some(above.map_or(self.top, |id| handles.get(id).copied()));
                }
                _ => put_results(&mut values, file),
            }
        }
        if file.no_work != here.record.no_work && !here.is_own {
            values.insert("noWork".into(), json!(file.no_work));
        }
        match status {
            Verdict::Same | Verdict::Here => {}
            Verdict::File if !here.is_own => {
                becomes = Some(file.status);
                fields.push(PlanField::Status);
                put_status(&mut values, here.record, file, self.draft.now);
            }
            _ => {
                origin.status = here.origin.map_or(FrameStatus::Planned, |origin| origin.status);
                origin.checksums.take(PlanField::Status, &here.base().unwrap_or_default());
                conflicts.push(self.conflict(handle, file, PlanField::Status, here.is_own));
            }
        }
        self.outcome.conflicts.extend(conflicts);
        Merge { handle, file, values, depends_on, parent, fields, becomes, origin }
    }

    /// What a frame and the file do not agree about.
    pub(super) fn conflict(&self, handle: Handle, file: &Frame, field: PlanField, is_own: bool) -> PlanConflict {
        let record = self.tree.node(handle).record();
        let sides = Sides { tree: &self.tree, ids: &self.ids, handle, file, record };
        sides.conflict(field, advice(field, record, is_own).to_owned())
    }

    fn apply(&mut self, merge: Merge<'a>) -> Result<()> {
        let Merge { handle, file, mut values, depends_on, parent, mut fields, becomes, mut origin } = merge;
        let edit = FrameEdit {
            depends_on: depends_on.map(|others| others.into_iter().map(named).collect()),
            parent: parent.map(|parent| parent.map(named)),
            ..FrameEdit::default()
        };
        let mut edit = Some(edit).filter(|edit| *edit != FrameEdit::default());
        if let Some(Err(error)) = edit.as_ref().map(|edit| self.check_place(handle, file, edit, parent.flatten())) {
            let before = self.tree.node(handle).record().origin.as_ref().map(|origin| origin.checksums);
            for field in [PlanField::DependsOn, PlanField::Parent] {
                if fields.contains(&field) {
                    origin.checksums.take(field, &before.unwrap_or_default());
                    let conflict = self.conflict(handle, file, field, false);
                    self.outcome.conflicts.push(PlanConflict { advice: error.to_string(), ..conflict });
                }
            }
            fields.retain(|field| !matches!(field, PlanField::DependsOn | PlanField::Parent));
            edit = None;
        }
        if self.tree.node(handle).record().origin.as_deref() != Some(&origin) {
            values.insert("origin".to_owned(), json!(origin));
        }
        fields.sort_unstable();
        if fields.is_empty() && values.keys().all(|key| key == "origin") {
            self.outcome.unchanged += 1;
        } else {
            self.outcome.changes.push(PlanChange {
                frame: handle,
                id: file.session_id.clone(),
                title: file.title.clone(),
                becomes: becomes.map_or(Becomes::Edited, Becomes::of),
                fields,
            });
        }
        match values.is_empty() && edit.is_none() {
            true => Ok(()),
            false => self.push(handle, Change::Reimported { values, edit: edit.map(Box::new) }),
        }
    }

    /// A frame that holds others together continues if these do, and waits if it needs more. Other frames
    /// that have ended make the frames of the file below them wait.
    fn go_on_with_groups(&mut self) -> Result<()> {
        let of_status = self.outcome.conflicts.iter().filter(|conflict| conflict.field == PlanField::Status);
        let reported: HashSet<Handle> = of_status.map(|conflict| conflict.frame).collect();
        for file in self.plan.frames.iter().rev() {
            let Some(handle) = self.known.handles.get(&file.session_id).copied() else { continue };
            let record = self.tree.node(handle).record();
            if record.no_work.is_some() {
                if let Some(status) = self.group_goes_on(handle, file) {
                    let values = Map::from_iter([
                        ("status".to_owned(), json!(status)),
                        ("invalidationReason".to_owned(), Value::Null),
                        ("invalidatedAt".to_owned(), Value::Null),
                    ]);
                    self.push(handle, Change::Reimported { values, edit: None })?;
                }
            } else if begun_here(record)
                && !record.status.is_unfinished()
                && file.status.is_unfinished()
                && !reported.contains(&handle)
                && self.tree.children(handle).iter().any(|child| self.waits_in_file(*child))
            {
                let advice = "it has ended here, so what is below it waits until it is reopened".to_owned();
                let conflict = self.conflict(handle, file, PlanField::Status, true);
                self.outcome.conflicts.push(PlanConflict { advice, ..conflict });
            }
        }
        Ok(())
    }

    /// True if the file has a frame, and the frame was not begun here.
    fn waits_in_file(&self, handle: Handle) -> bool {
        let record = self.tree.node(handle).record();
        let is_unbegun = record.status == FrameStatus::Planned || record.waits_to_begin();
        is_unbegun && self.ids.get(&handle).is_some_and(|id| self.file.contains_key(id.as_str()))
    }

    /// What becomes of a frame that only holds others together, after these or what it needs have changed.
    /// `None`: it stays as it is.
    fn group_goes_on(&self, handle: Handle, file: &Frame) -> Option<FrameStatus> {
        let old = &self.draft.tree;
        let status = self.tree.node(handle).status();
        // The file says that it is over.
        if !is_made(file) && !file.status.is_unfinished() {
            return None;
        }
        let is_old = |frame: Handle| frame.index() < old.len() && handle.index() < old.len();
        let was_open = |frame: Handle| is_old(frame) && old.node(frame).status().is_unfinished();
        // A frame that was completed over open work stays completed, until more comes.
        let is_more = |below: Handle| !(was_open(below) && old.is_ancestor(handle, below));
        let is_needed = |other: Handle| !(was_open(other) && old.node(handle).dependencies().contains(&other));
        let has_ended = !status.is_unfinished();
        let needs = self.tree.unfinished_dependencies(handle).any(|other| !has_ended || is_needed(other));
        match status {
            FrameStatus::Planned if !needs && file.status == FrameStatus::InProgress => Some(FrameStatus::InProgress),
            FrameStatus::Blocked | FrameStatus::Planned => None,
            _ if needs => Some(FrameStatus::Planned),
            _ if has_ended && self.tree.unfinished_below(handle).any(is_more) => Some(FrameStatus::InProgress),
            _ => None,
        }
    }
}

fn put_results(values: &mut Map<String, Value>, file: &Frame) {
    values.insert("results".to_owned(), json!(file.results));
    values.insert("resultsCompacted".to_owned(), json!(file.results_compacted));
}

/// The values of a frame whose status becomes that of the file.
fn put_status(values: &mut Map<String, Value>, here: &Frame, file: &Frame, now: u64) {
    values.insert("status".to_owned(), json!(file.status));
    let mut questions = here.questions.clone();
    if let Some(last) = questions.last_mut().filter(|last| last.answer.is_none()) {
        last.answer = Some("The file of the plan says so.".to_owned());
        last.answered_at = Some(now);
    }
    if file.status == FrameStatus::Blocked {
        questions.extend(file.questions.iter().cloned());
    }
    if questions != here.questions {
        values.insert("questions".to_owned(), json!(questions));
    }
    if file.status.is_finished() || here.results.is_some() {
        put_results(values, file);
    }
    let is_invalidated = file.status == FrameStatus::Invalidated;
    if is_invalidated || here.invalidated_at.is_some() || here.invalidation_reason.is_some() {
        let at = is_invalidated.then_some(now);
        values.insert("invalidationReason".to_owned(), json!(file.invalidation_reason));
        values.insert("invalidatedAt".to_owned(), json!(at));
    }
    if file.status == FrameStatus::Planned && here.begun_at.is_some() {
        values.insert("begunAt".to_owned(), Value::Null);
    }
}
