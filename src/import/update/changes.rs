//! The events that bring the frames of a plan up to date.
//!
//! They are checked one by one on a copy of the tree, so each is possible after those before it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::known::Known;
use super::merge::{Here, PARENT, Verdict, WAIT, begun_here, said_by, status_verdict, verdict};
use super::order;
use super::{Becomes, PlanChange, PlanConflict, PlanField, PlanUpdate};
use crate::error::{Error, Result};
use crate::frame::{Change, Event, Frame, FrameEdit, FrameRef, FrameStatus, Handle, Origin};
use crate::import::Imported;
use crate::text::{beginning, one_line};
use crate::tree::{Draft, Tree};

/// The reason with which a frame is invalidated that the file does not have any more.
const REMOVED: &str = "The plan does not have it any more.";
/// Maximum length of a value in a conflict, in characters.
const SHOWN: usize = 120;

/// The fields with checksums, in their order.
const FIELDS: [PlanField; 7] = [
    PlanField::Title,
    PlanField::Criteria,
    PlanField::Task,
    PlanField::Priority,
    PlanField::DependsOn,
    PlanField::Parent,
    PlanField::Results,
];

/// What becomes of one frame that was there.
struct Merge<'a> {
    handle: Handle,
    file: &'a Frame,
    values: Map<String, Value>,
    depends_on: Option<Vec<Handle>>,
    parent: Option<Option<Handle>>,
    fields: Vec<PlanField>,
    becomes: Option<FrameStatus>,
    origin: Origin,
}

/// Makes the events.
pub(super) struct Updater<'a, 'tree> {
    draft: &'a mut Draft<'tree>,
    /// The tree after the events so far.
    tree: Tree,
    plan: &'a Imported,
    /// Where the top of the plan is: below a given frame, or beside what was imported before.
    top: Option<Handle>,
    known: Known,
    /// The frames of the file by their IDs in it.
    file: HashMap<&'a str, &'a Frame>,
    /// The IDs of the frames in the plan.
    ids: HashMap<Handle, String>,
    outcome: PlanUpdate,
}

impl<'a, 'tree> Updater<'a, 'tree> {
    pub(super) fn new(draft: &'a mut Draft<'tree>, known: Known, plan: &'a Imported, below: Option<Handle>) -> Self {
        let tree = draft.tree.clone();
        let file: HashMap<&str, &Frame> = plan.frames.iter().map(|frame| (frame.session_id.as_str(), frame)).collect();
        let ids = known.handles.iter().map(|(id, handle)| (*handle, id.clone())).collect();
        let top = below.or_else(|| top_before(&tree, plan, &known, &file));
        Self { draft, tree, plan, top, known, file, ids, outcome: PlanUpdate::default() }
    }

    pub(super) fn update(mut self) -> Result<PlanUpdate> {
        let was_known: HashSet<Handle> = self.known.handles.values().copied().collect();
        let orders = order::in_file(self.plan);
        let reordered = order::reordered(&self.tree, &self.known.handles, &orders);
        let added = self.add(&orders)?;
        let plan = self.plan;
        let mut merges = Vec::new();
        for file in &plan.frames {
            let handle = self.known.handles.get(&file.session_id).copied();
            if let Some(handle) = handle.filter(|handle| was_known.contains(handle)) {
                let is_unordered = reordered.conflicts.contains(&self.level_of(file));
                merges.push(self.merge(handle, file, &orders, is_unordered));
            }
        }
        self.drop_dependencies(&merges);
        self.move_below_parents(&mut merges);
        merges.into_iter().for_each(|merge| self.apply(merge));
        self.link(&added)?;
        self.put_in_order(&added, &orders, reordered);
        self.remove()?;
        self.go_on_with_groups();
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

    /// Adds an event, unless it cannot be after those before it.
    fn push(&mut self, handle: Handle, change: Change) -> Result<()> {
        let revision = self.tree.revision().saturating_add(1);
        let event = Event { revision, time: self.draft.now, handle, change };
        self.tree.check_next(&event)?;
        self.tree.apply(&event);
        self.draft.push(handle, event.change);
        Ok(())
    }

    /// The parent of a frame within the file. `None`: it is at the top of the plan.
    fn parent_in_file(&self, frame: &Frame) -> Option<&'a Frame> {
        frame.parent_session_id.as_deref().and_then(|parent| self.file.get(parent)).copied()
    }

    /// The ID of the parent within the file; empty at the top.
    fn level_of(&self, frame: &Frame) -> String {
        self.parent_in_file(frame).map(|parent| parent.session_id.clone()).unwrap_or_default()
    }

    /// What the file says of a frame.
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

    /// Adds the frames that are new, without what they need of others.
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
        let status = status_verdict(&here, file, said.checksums[WAIT]);
        let is_settled = here.record.status == file.status && !file.status.is_unfinished();
        for (place, field) in FIELDS.into_iter().enumerate() {
            // Where the top of the plan is, the file does not say.
            let is_placed_here = field == PlanField::Parent && is_top && here.base(place).is_none_or(|base| base == 0);
            if is_placed_here || (field == PlanField::Results && !is_settled) {
                continue;
            }
            match verdict(here.base(place), said.checksums[place], here.checksums[place]) {
                Verdict::Same | Verdict::Here => continue,
                Verdict::File if !here.is_own => {}
                _ => {
                    origin.checksums[place] = here.base(place).unwrap_or_default();
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
                origin.checksums[WAIT] = here.base(WAIT).unwrap_or_default();
                conflicts.push(self.conflict(handle, file, PlanField::Status, here.is_own));
            }
        }
        self.outcome.conflicts.extend(conflicts);
        Merge { handle, file, values, depends_on, parent, fields, becomes, origin }
    }

    /// What a frame and the file do not agree about.
    fn conflict(&self, handle: Handle, file: &Frame, field: PlanField, is_own: bool) -> PlanConflict {
        let record = self.tree.node(handle).record();
        let names = |ids: &[String]| if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        let own_ids: Vec<String> = { self.tree.node(handle).dependencies().iter() }
            .map(|other| self.ids.get(other).cloned().unwrap_or_else(|| other.to_string()))
            .collect();
        let parent = self.tree.node(handle).parent();
        let parent = parent.map(|parent| self.ids.get(&parent).cloned().unwrap_or_else(|| parent.to_string()));
        let priority =
            |frame: &Frame| frame.priority.map_or_else(|| "none".to_owned(), |priority| priority.to_string());
        let text = |text: &str| beginning(&one_line(text), SHOWN).to_owned();
        let (said, own) = match field {
            PlanField::Title => (text(&file.title), text(&record.title)),
            PlanField::Criteria => (text(&file.success_criteria), text(&record.success_criteria)),
            PlanField::Task => (text(&file.task), text(&record.task)),
            PlanField::Priority => (priority(file), priority(record)),
            PlanField::DependsOn => (names(&file.depends_on), names(&own_ids)),
            PlanField::Parent => {
                (file.parent_session_id.clone().unwrap_or_default(), parent.unwrap_or_else(|| "none".to_owned()))
            }
            PlanField::Results => {
                (text(file.results.as_deref().unwrap_or_default()), text(record.results.as_deref().unwrap_or_default()))
            }
            PlanField::Status | PlanField::Order => (file.status.to_string(), record.status.to_string()),
        };
        let advice = match (field, is_own) {
            (PlanField::Status, _) if !record.status.is_unfinished() => {
                "it has ended here: reopen it or begin it anew for what the file says, or say in the file that it has ended"
            }
            (PlanField::Status, true) => {
                "it was begun here: end it with what the file says, or let the file say that it goes on"
            }
            (_, true) => "it was begun here: correct the frame, or take the change of the file back",
            (_, false) => {
                "both have changed it: change the frame to what the file says, or the file to what the stack says"
            }
        };
        PlanConflict {
            frame: handle,
            id: self.ids.get(&handle).cloned().unwrap_or_default(),
            title: record.title.clone(),
            field,
            file: said,
            stack: own,
            advice: advice.to_owned(),
        }
    }

    /// Takes dependencies away that the file does not have any more, before others are added: two tasks may have changed their places.
    fn drop_dependencies(&mut self, merges: &[Merge<'a>]) {
        if merges.iter().any(|merge| merge.parent.is_some()) {
            // What leaves the plan is in nobody's way.
            for handle in self.gone().into_iter().map(|(handle, _)| handle).collect::<Vec<_>>() {
                if !self.stays(self.tree.node(handle).record()) {
                    self.keep_dependencies(handle, &[]);
                }
            }
        }
        let is_moved = |merge: &&Merge<'_>| merge.depends_on.is_some() || merge.parent.is_some();
        if merges.iter().filter(is_moved).count() < 2 {
            return;
        }
        for merge in merges {
            if let Some(new) = &merge.depends_on {
                self.keep_dependencies(merge.handle, new);
            }
        }
    }

    /// Takes all dependencies away but some.
    fn keep_dependencies(&mut self, handle: Handle, kept: &[Handle]) {
        let old = self.tree.node(handle).dependencies();
        let kept: HashSet<&Handle> = kept.iter().collect();
        let left: Vec<Handle> = old.iter().filter(|other| kept.contains(other)).copied().collect();
        if left.len() < old.len() {
            let edit = Some(Box::new(FrameEdit::default().depends_on(left.into_iter().map(named))));
            // Less dependencies are always possible.
            let _ = self.push(handle, Change::Reimported { values: Map::new(), edit });
        }
    }

    /// Moves frames below their new parents, as far as they can be there. One that cannot yet may be when others have moved.
    fn move_below_parents(&mut self, merges: &mut [Merge<'a>]) {
        let mut has_moved = true;
        while std::mem::take(&mut has_moved) {
            for merge in merges.iter_mut() {
                let Some(parent) = merge.parent else { continue };
                let edit = FrameEdit { parent: Some(parent.map(named)), ..FrameEdit::default() };
                if self.check_place(merge.handle, merge.file, &edit, parent).is_ok() {
                    let change = Change::Reimported { values: Map::new(), edit: Some(Box::new(edit)) };
                    if self.push(merge.handle, change).is_ok() {
                        merge.parent = None;
                        has_moved = true;
                    }
                }
            }
        }
    }

    /// Checks that a frame can be where an edit takes it. The parent can only have ended if the file says so.
    fn check_place(&self, handle: Handle, file: &Frame, edit: &FrameEdit, parent: Option<Handle>) -> Result<()> {
        self.tree.check_place(handle, edit)?;
        // The others go on as the file says.
        let has_ended = |parent: &Handle| {
            let record = self.tree.node(*parent).record();
            !record.status.is_unfinished() && begun_here(record)
        };
        let is_open_in_file = self.parent_in_file(file).is_none_or(|parent| parent.status.is_unfinished());
        match parent.filter(has_ended) {
            Some(handle) if is_open_in_file && file.status.is_unfinished() => {
                Err(Error::ParentClosed { handle, status: self.tree.node(handle).status() })
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, merge: Merge<'a>) {
        let Merge { handle, file, mut values, depends_on, parent, mut fields, becomes, mut origin } = merge;
        let edit = FrameEdit {
            depends_on: depends_on.map(|others| others.into_iter().map(named).collect()),
            parent: parent.map(|parent| parent.map(named)),
            ..FrameEdit::default()
        };
        let mut edit = Some(edit).filter(|edit| *edit != FrameEdit::default());
        if let Some(Err(error)) = edit.as_ref().map(|edit| self.check_place(handle, file, edit, parent.flatten())) {
            let before = self.tree.node(handle).record().origin.clone();
            for (place, field) in [(4, PlanField::DependsOn), (5, PlanField::Parent)] {
                if fields.contains(&field) {
                    origin.checksums[place] = before.as_ref().map_or(0, |before| before.checksums[place]);
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
        if !values.is_empty() || edit.is_some() {
            let edit = edit.map(Box::new);
            if let Err(error) = self.push(handle, Change::Reimported { values, edit }) {
                debug_assert!(false, "{error}");
            }
        }
    }

    /// Gives new frames their dependencies on frames that were there.
    ///
    /// # Errors
    /// [`Error::Dependency`] if a new frame would wait for itself, because of what was changed here.
    fn link(&mut self, added: &[Handle]) -> Result<()> {
        for handle in added {
            let Some(file) = self.ids.get(handle).and_then(|id| self.file.get(id.as_str())).copied() else { continue };
            let all = file.depends_on.iter().filter_map(|id| self.known.handles.get(id)).copied();
            let old: Vec<Handle> = all.clone().filter(|other| other.index() < self.draft.tree.len()).collect();
            if old.is_empty() {
                continue;
            }
            self.tree.check_place(*handle, &FrameEdit::default().depends_on(all.map(named)))?;
            let depends_on = old.iter().map(|other| self.tree.node(*other).session_id().to_owned()).collect();
            self.push(*handle, Change::DependenciesAdded { depends_on })?;
        }
        Ok(())
    }

    /// Puts the frames below each parent into the order of the file.
    fn put_in_order(&mut self, added: &[Handle], orders: &order::Orders<'_>, reordered: order::Reordered) {
        let added: HashSet<Handle> = added.iter().copied().collect();
        for id in &reordered.conflicts {
            let Some(handle) = self.known.handles.get(id).copied() else { continue };
            let record = self.tree.node(handle).record();
            self.outcome.conflicts.push(PlanConflict {
                frame: handle,
                id: id.clone(),
                title: record.title.clone(),
                field: PlanField::Order,
                file: "another order of what is below it".to_owned(),
                stack: "an order that was changed here".to_owned(),
                advice: "put the frames below it, or the entries of the file, into the other order".to_owned(),
            });
        }
        for (parent, children) in orders.levels() {
            let is_reordered = reordered.parents.contains(parent.unwrap_or_default());
            let handles: Vec<Handle> = children.iter().filter_map(|id| self.known.handles.get(*id)).copied().collect();
            let all_new = handles.iter().all(|handle| added.contains(handle));
            if all_new || !(is_reordered || handles.iter().any(|handle| added.contains(handle))) {
                continue;
            }
            let mut moved = 0;
            for (place, handle) in handles.iter().copied().enumerate() {
                let is_new = added.contains(&handle);
                if !(is_reordered || is_new) {
                    continue;
                }
                let above = self.tree.node(handle).parent();
                let beside = |other: &&Handle| self.tree.node(**other).parent() == above;
                let before = match handles[..place].iter().rev().find(beside) {
                    Some(previous) => self.tree.next(*previous),
                    None => match handles[place + 1..].iter().find(beside) {
                        Some(next) => Some(*next),
                        None => continue,
                    },
                };
                if before == Some(handle) || self.tree.next(handle) == before {
                    continue;
                }
                let edit = FrameEdit { before: Some(before.map(named)), ..FrameEdit::default() };
                let is_moved =
                    self.push(handle, Change::Reimported { values: Map::new(), edit: Some(Box::new(edit)) }).is_ok();
                moved += usize::from(is_moved && !is_new);
            }
            let Some(above) = parent.and_then(|parent| self.known.handles.get(parent)).copied() else { continue };
            if moved > 0 && !added.contains(&above) {
                self.note_order(above);
            }
        }
    }

    /// Notes that what is below a frame has another order.
    fn note_order(&mut self, handle: Handle) {
        if let Some(change) = self.outcome.changes.iter_mut().find(|change| change.frame == handle) {
            change.fields.push(PlanField::Order);
            return;
        }
        self.outcome.unchanged = self.outcome.unchanged.saturating_sub(1);
        self.outcome.changes.push(PlanChange {
            frame: handle,
            id: self.ids.get(&handle).cloned().unwrap_or_default(),
            title: self.tree.node(handle).title().to_owned(),
            becomes: Becomes::Edited,
            fields: vec![PlanField::Order],
        });
    }

    /// The frames that the file does not have any more, with their IDs.
    fn gone(&self) -> Vec<(Handle, String)> {
        let mut gone: Vec<(Handle, String)> = { self.known.handles.iter() }
            .filter(|(id, _)| !self.file.contains_key(id.as_str()))
            .map(|(id, handle)| (*handle, id.clone()))
            .collect();
        gone.sort_unstable();
        gone
    }

    /// True if a frame stays although the file does not have it any more: it was begun here, or may be in what could not be read.
    fn stays(&self, record: &Frame) -> bool {
        self.plan.is_incomplete || begun_here(record) && record.status != FrameStatus::Invalidated
    }

    /// Takes out of the plan what the file does not have any more.
    fn remove(&mut self) -> Result<()> {
        for (handle, id) in self.gone() {
            let record = self.tree.node(handle).record();
            let Some(origin) = record.origin.as_deref().filter(|origin| !origin.gone).cloned() else { continue };
            let title = record.title.clone();
            if self.stays(record) {
                let (advice, file) = match self.plan.is_incomplete {
                    true => ("parts of the file cannot be read; repair the file", "it is not in what could be read"),
                    false => ("it was begun here: invalidate it, or put it back into the file", "it is removed"),
                };
                self.outcome.conflicts.push(PlanConflict {
                    frame: handle,
                    id,
                    title,
                    field: PlanField::Status,
                    file: file.to_owned(),
                    stack: record.status.to_string(),
                    advice: advice.to_owned(),
                });
                continue;
            }
            let is_unfinished = record.status.is_unfinished();
            let holds_others = record.no_work.is_some() && self.has_left(handle);
            let gone = json!({ "origin": Origin { gone: true, ..origin } });
            let Value::Object(values) = gone else { continue };
            self.push(handle, Change::Reimported { values, edit: None })?;
            if is_unfinished && !holds_others {
                self.invalidate(handle)?;
            }
            self.outcome.changes.push(PlanChange {
                frame: handle,
                id,
                title,
                becomes: Becomes::Removed,
                fields: Vec::new(),
            });
        }
        Ok(())
    }

    /// True if something below a frame is unfinished, and the file has it.
    fn has_left(&self, handle: Handle) -> bool {
        let is_left = |below: Handle| self.ids.get(&below).is_none_or(|id| self.file.contains_key(id.as_str()));
        self.tree.unfinished_below(handle).any(is_left)
    }

    /// Invalidates a frame, and what was planned below it here.
    fn invalidate(&mut self, handle: Handle) -> Result<()> {
        let is_unbegun = |frame: &Handle| {
            let record = self.tree.node(*frame).record();
            record.origin.is_none() && (record.status == FrameStatus::Planned || record.waits_to_begin())
        };
        let below: Vec<Handle> = self.tree.unfinished_below(handle).filter(is_unbegun).collect();
        for frame in [handle].into_iter().chain(below) {
            self.push(frame, Change::Invalidated { reason: REMOVED.to_owned() })?;
        }
        Ok(())
    }

    /// What holds others together goes on if these do. Other frames that have ended keep what is new below them waiting.
    fn go_on_with_groups(&mut self) {
        let before = self.draft.tree.len();
        let is_new = |child: &Handle| child.index() >= before;
        for file in self.plan.frames.iter().rev() {
            let Some(handle) = self.known.handles.get(&file.session_id).copied() else { continue };
            let record = self.tree.node(handle).record();
            let has_ended = !record.status.is_unfinished();
            // What was completed over open work stays so.
            let was_open = handle.index() < before && self.draft.tree.unfinished_below(handle).next().is_some();
            if !has_ended || was_open || self.tree.unfinished_below(handle).next().is_none() {
                continue;
            }
            if record.no_work.is_some() {
                let values = Map::from_iter([
                    ("status".to_owned(), json!(FrameStatus::InProgress)),
                    ("invalidationReason".to_owned(), Value::Null),
                    ("invalidatedAt".to_owned(), Value::Null),
                ]);
                let _ = self.push(handle, Change::Reimported { values, edit: None });
            } else if begun_here(record) && self.tree.children(handle).iter().any(is_new) {
                let conflict = self.conflict(handle, file, PlanField::Status, true);
                let known =
                    self.outcome.conflicts.iter().any(|known| known.frame == handle && known.field == conflict.field);
                if !known {
                    let advice = "it has ended here, so what is below it waits until it is reopened".to_owned();
                    self.outcome.conflicts.push(PlanConflict { advice, ..conflict });
                }
            }
        }
    }
}

/// The frame below which the top of a plan was.
fn top_before(tree: &Tree, plan: &Imported, known: &Known, file: &HashMap<&str, &Frame>) -> Option<Handle> {
    let is_top = |frame: &&Frame| frame.parent_session_id.as_deref().is_none_or(|parent| !file.contains_key(parent));
    let was_top = |handle: &Handle| {
        let origin = tree.node(*handle).record().origin.as_ref();
        origin.is_some_and(|origin| origin.checksums[PARENT] == 0)
    };
    let mut tops = plan.frames.iter().filter(is_top).filter_map(|frame| known.handles.get(&frame.session_id).copied());
    tree.node(tops.find(was_top)?).parent()
}

/// A frame by its handle, as a text: equal to what is read from a store.
fn named(handle: Handle) -> FrameRef {
    FrameRef::Text(handle.to_string())
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
