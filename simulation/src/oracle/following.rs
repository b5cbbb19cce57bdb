//! Makes the frames of the model from events.

use callstack_core::frame::Holder;
use callstack_core::{Change, Event, Frame, FrameEdit, FrameRef, FrameStatus, Handle};
use serde_json::{Map, Value};

use super::{Oracle, Plain, Violation};

impl Oracle {
    pub(super) fn apply(&mut self, event: &Event) {
        let handle = event.handle;
        match &event.change {
            Change::Added { frame } => return self.add(handle, frame),
            Change::DecisionAdded { decision } => {
                *self.marks.entry(decision.clone()).or_default() += 1;
                self.change(handle, |plain| plain.decisions.push(decision.clone()));
            }
            Change::StatusChanged { results: Some(results), .. } | Change::Summarized { results, .. } => {
                *self.marks.entry(results.clone()).or_default() += 1;
                self.change(handle, |plain| plain.results = Some(results.clone()));
            }
            _ => {}
        }
        match &event.change {
            Change::DependenciesAdded { depends_on } => {
                let more: Vec<Handle> = depends_on.iter().filter_map(|id| self.ids.get(id).copied()).collect();
                self.change(handle, |plain| plain.depends_on.extend(more));
            }
            Change::StatusChanged { status, .. } => self.change_status(event, *status),
            Change::Invalidated { .. } => self.change(handle, |plain| plain.status = FrameStatus::Invalidated),
            Change::Reopened { .. } => self.change(handle, |plain| plain.take_status(FrameStatus::InProgress)),
            Change::Answered { becomes: Some(status), .. } => self.change(handle, |plain| plain.take_status(*status)),
            Change::Identified { identity, .. } => self.change(handle, |plain| plain.title.clone_from(&identity.title)),
            Change::Held { holder } => self.change(handle, |plain| plain.take_holder(Some((**holder).clone()))),
            Change::Released { release } => self.change(handle, |plain| plain.release(event.time, release)),
            Change::IdReplaced { session_id } => {
                if let Some(plain) = self.frames.get(&handle) {
                    self.ids.remove(&plain.id);
                }
                self.ids.insert(session_id.clone(), handle);
                self.change(handle, |plain| plain.id.clone_from(session_id));
            }
            Change::Edited { edit, .. } => self.edit(handle, edit),
            Change::Restored { values, edit } | Change::Reimported { values, edit } => {
                self.set(handle, values);
                edit.iter().for_each(|edit| self.edit(handle, edit));
            }
            _ => {}
        }
    }

    fn change(&mut self, handle: Handle, change: impl FnOnce(&mut Plain)) {
        if let Some(plain) = self.frames.get_mut(&handle) {
            change(plain);
        }
    }

    fn add(&mut self, handle: Handle, frame: &Frame) {
        let named = |id: &String| self.ids.get(id).copied();
        let parent = frame.parent_session_id.as_ref().and_then(named);
        let depends_on = frame.depends_on.iter().filter_map(named).collect();
        let earlier = frame.retry_of.as_ref().and_then(named);
        if let Some(other) = self.ids.insert(frame.session_id.clone(), handle) {
            let what = format!("{other} and {handle} have the ID {}", frame.session_id);
            self.violations.push(Violation::new("an ID means one frame", what));
        }
        parent.into_iter().for_each(|parent| {
            self.change(parent, |plain| {
                // A new attempt comes directly after the one before it.
                let before = plain.children.iter().position(|child| Some(*child) == earlier);
                plain.children.insert(before.map_or(plain.children.len(), |place| place + 1), handle);
            });
        });
        earlier.into_iter().for_each(|earlier| self.change(earlier, |plain| plain.retried_as = Some(handle)));
        frame.decisions.iter().chain(&frame.results).for_each(|mark| *self.marks.entry(mark.clone()).or_default() += 1);
        let mut plain = Plain {
            id: frame.session_id.clone(),
            parent,
            status: frame.status,
            depends_on,
            results: frame.results.clone(),
            title: frame.title.clone(),
            decisions: frame.decisions.clone(),
            holder: None,
            let_go: None,
            retried_as: None,
            children: Vec::new(),
            was_planned: frame.begun_at.is_some(),
            is_work: frame.no_work.is_none(),
        };
        plain.take_holder(frame.holder.as_deref().cloned());
        self.frames.insert(handle, plain);
    }

    fn change_status(&mut self, event: &Event, status: FrameStatus) {
        let handle = event.handle;
        let before = self.status_of(handle);
        if status == FrameStatus::Completed && before == Some(FrameStatus::Completed) {
            let what = format!("{handle} is completed a second time, at event {}", event.revision);
            self.violations.push(Violation::new("each result comes once", what));
        }
        self.change(handle, |plain| plain.take_status(status));
    }

    fn edit(&mut self, handle: Handle, edit: &FrameEdit) {
        edit.title.iter().for_each(|title| self.change(handle, |plain| plain.title.clone_from(title)));
        let named = |reference: &FrameRef| match reference {
            FrameRef::Handle(handle) => Some(*handle),
            FrameRef::Id(text) | FrameRef::Text(text) => text.parse().ok().or_else(|| self.ids.get(text).copied()),
            _ => None,
        };
        let depends_on = edit.depends_on.as_ref().map(|others| others.iter().filter_map(named).collect::<Vec<_>>());
        let old = self.frames.get(&handle).and_then(|plain| plain.parent);
        let parent = edit.parent.as_ref().map_or(old, |parent| parent.as_ref().and_then(named));
        let before = edit.before.iter().flatten().find_map(named);
        if let Some(depends_on) = depends_on {
            self.change(handle, |plain| plain.depends_on = depends_on);
        }
        if edit.parent.is_some() || edit.before.is_some() {
            self.place(handle, old, parent, before);
        }
    }

    /// Moves a frame, before a sibling or to the end.
    fn place(&mut self, handle: Handle, old: Option<Handle>, parent: Option<Handle>, before: Option<Handle>) {
        old.into_iter().for_each(|old| self.change(old, |plain| plain.children.retain(|child| *child != handle)));
        parent.into_iter().for_each(|parent| {
            self.change(parent, |plain| {
                let place = plain.children.iter().position(|child| Some(*child) == before);
                plain.children.insert(place.unwrap_or(plain.children.len()), handle);
            });
        });
        self.change(handle, |plain| plain.parent = parent);
    }

    /// Sets keys of a record, as a command that was taken back and an import do.
    fn set(&mut self, handle: Handle, values: &Map<String, Value>) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        for (key, value) in values {
            match key.as_str() {
                "status" => {
                    let status = text(value).and_then(|status| status.parse().ok());
                    status.into_iter().for_each(|status| self.change(handle, |plain| plain.take_status(status)));
                }
                "begunAt" => self.change(handle, |plain| plain.was_planned = !value.is_null()),
                "title" => text(value).into_iter().for_each(|title| self.change(handle, |plain| plain.title = title)),
                // A list that has only grown is cut to its former length.
                "decisions" => self.change(handle, |plain| match value.as_u64() {
                    Some(length) => plain.decisions.truncate(length as usize),
                    None => plain.decisions = serde_json::from_value(value.clone()).unwrap_or_default(),
                }),
                "results" => {
                    text(value).into_iter().for_each(|mark| *self.marks.entry(mark).or_default() += 1);
                    self.change(handle, |plain| plain.results = text(value));
                }
                "holder" => {
                    let holder: Option<Holder> = serde_json::from_value(value.clone()).ok();
                    self.change(handle, |plain| plain.take_holder(holder));
                }
                _ => {}
            }
        }
    }
}
