//! The second half of a change: applies an event to a tree. It cannot fail. New events and replayed histories
//! use the same code.

use std::collections::HashSet;
use std::mem;

use serde_json::{Map, Value};

use super::costs::Price;
use super::memory::{Conversation, RunState};
use super::node::{Attempt, Before, Node, push_compact};
use super::{Tree, set};
use crate::error::{Error, Result};
use crate::frame::{
    Change, Event, Frame, FrameEdit, FrameRef, FrameStatus, Handle, Identity, Message, ModelUsage, Origin, Question,
    Release, Released, Target,
};
use crate::steps::step;

impl Tree {
    /// Applies the next event of a history, if it fits the events before it. Replaying a whole history on an
    /// empty tree produces the tree that the history was recorded from.
    ///
    /// ```
    /// use callstack_core::{Command, NewFrame, Tree, decide};
    ///
    /// let events = decide(&Tree::new(), Command::Push(NewFrame::new("Build").id("ses_1")), 1)?.events;
    /// let mut tree = Tree::new();
    /// events.iter().try_for_each(|event| tree.replay(event))?;
    /// assert_eq!(tree.len(), 1);
    /// assert_eq!(tree.replay(&events[0]).unwrap_err().code(), "history");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::History`] if the event has the wrong revision (one is missing or duplicated), names frames
    /// that the tree does not have, or makes a change that no command makes: a transition that
    /// [`FrameStatus::can_become`] does not allow, an active frame that is not open, a dependency on a frame
    /// above or below, a parent below the frame, or another title for a frame that has begun. The tree is
    /// unchanged.
    pub fn replay(&mut self, event: &Event) -> Result<()> {
        self.check_next(event)?;
        self.apply(event);
        Ok(())
    }

    /// Checks that an event can be the next one of the history.
    ///
    /// # Errors
    /// As [`Tree::replay`].
    pub(crate) fn check_next(&self, event: &Event) -> Result<()> {
        match self.misfit(event) {
            Some(message) => Err(Error::History { revision: event.revision, message }),
            None => Ok(()),
        }
    }

    /// The reason why an event cannot be the next one; `None` if it can be.
    fn misfit(&self, event: &Event) -> Option<String> {
        let next = self.revision.saturating_add(1);
        if event.revision != next {
            return Some(format!("event {next} is next"));
        }
        if let Change::Added { frame } = &event.change {
            return self.misfit_of_new(event.handle, frame);
        }
        if matches!(event.change, Change::Imported { .. }) {
            return None;
        }
        let Some(node) = self.nodes.get(event.handle.index()) else {
            return Some(format!("it names `{}`, which is not in the tree", event.handle));
        };
        let transition = |to: FrameStatus| {
            let (handle, from) = (event.handle, node.status());
            (!from.can_become(to)).then(|| format!("it makes {handle} {to}, which is {from}"))
        };
        match &event.change {
            Change::DependenciesAdded { depends_on } => depends_on.iter().find_map(|id| match self.by_id(id) {
                None => Some(format!("it names `{id}`, which is not in the tree")),
                Some(other) => {
                    let is_kin = other == event.handle
                        || self.is_ancestor(other, event.handle)
                        || self.is_ancestor(event.handle, other);
                    is_kin.then(|| format!("it makes {} depend on {other}, which is above or below it", event.handle))
                }
            }),
            Change::IdReplaced { session_id } => {
                let other = self.by_id(session_id).filter(|other| *other != event.handle)?;
                Some(format!("it gives {} the ID of {other}, `{session_id}`", event.handle))
            }
            Change::StatusChanged { status: FrameStatus::Invalidated, .. } => {
                Some("it invalidates a frame without a reason".to_owned())
            }
            Change::StatusChanged { status, .. } => transition(*status),
            Change::Invalidated { .. } => transition(FrameStatus::Invalidated),
            Change::Delivered {} if !node.status().is_finished() || node.parent().is_none() => {
                Some(format!("it delivers results of {}, which is {} or a root", event.handle, node.status()))
            }
            Change::Identified { provisional: true, .. } if !node.record().placeholder => {
                Some(format!("it gives {} a provisional identity, which has one for good", event.handle))
            }
            Change::Summarized { .. } if !node.status().is_open() => {
                Some(format!("it records results so far of {}, which is {}", event.handle, node.status()))
            }
            Change::Asked { .. } if node.status() != FrameStatus::Blocked => {
                Some(format!("it records what {} waits for, which is {}", event.handle, node.status()))
            }
            Change::Answered { .. } if node.status() != FrameStatus::Blocked => {
                Some(format!("it answers {}, which is {}", event.handle, node.status()))
            }
            Change::Held { holder } => {
                let last = node.record().holder.as_ref().map_or(0, |last| last.generation);
                let (handle, status, generation) = (event.handle, node.status(), holder.generation);
                match () {
                    () if generation < last => Some(format!("it gives {handle} to an old generation, {generation}")),
                    () if generation > last && status != FrameStatus::InProgress => {
                        Some(format!("it gives {handle} to a holder, which is {status}"))
                    }
                    () => None,
                }
            }
            Change::Released { .. } if node.record().holder.is_none() => {
                Some(format!("it releases {}, which has had no holder", event.handle))
            }
            Change::Edited { edit, was } => self.misfit_of_edit(event.handle, edit, was.is_some()),
            Change::Reopened { .. } if node.status() != FrameStatus::Completed => {
                Some(format!("it reopens {}, which is {}", event.handle, node.status()))
            }
            Change::Restored { values, .. } | Change::Reimported { values, .. }
                if node.record().with_values(values).is_none() =>
            {
                Some(format!("it gives {} values that cannot be", event.handle))
            }
            Change::Restored { edit: Some(edit), .. } | Change::Reimported { edit: Some(edit), .. } => {
                self.misfit_of_place(event.handle, edit)
            }
            Change::Commanded { before, .. } => {
                let frames = before.iter().flat_map(|before| before.frames.iter().map(|before| before.frame));
                let named = frames.chain(before.iter().flat_map(|before| before.added.into_iter().flatten()));
                let unknown = { named }.find(|frame| frame.index() >= self.len());
                unknown.map(|unknown| format!("it names {unknown}, which is not in the tree"))
            }
            Change::ActiveChanged { active: true } if !node.status().is_open() => {
                Some(format!("it makes {} the active frame, which is {}", event.handle, node.status()))
            }
            _ => None,
        }
    }

    fn misfit_of_edit(&self, handle: Handle, edit: &FrameEdit, is_correction: bool) -> Option<String> {
        let node = self.node(handle);
        let is_editable = node.status() == FrameStatus::Planned || is_correction && node.status().is_open();
        if !is_editable && (edit.changes_words() || edit.changes_marks() || edit.depends_on.is_some()) {
            return Some(format!("it edits {handle}, which is {}", node.status()));
        }
        self.misfit_of_place(handle, edit)
    }

    fn misfit_of_place(&self, handle: Handle, edit: &FrameEdit) -> Option<String> {
        let FrameEdit { depends_on, parent, before, .. } = edit;
        let node = self.node(handle);
        let named = depends_on.iter().flatten().chain(parent.iter().flatten()).chain(before.iter().flatten());
        if let Some(unknown) = named.into_iter().find(|reference| self.with_handle(reference).is_none()) {
            return Some(format!("it names `{unknown}`, which is not a handle of the tree"));
        }
        let parent = match parent {
            Some(parent) => parent.as_ref().and_then(|parent| self.with_handle(parent)),
            None => node.parent,
        };
        if let Some(parent) = parent.filter(|parent| self.is_at_or_above(handle, *parent)) {
            return Some(format!("it moves {handle} below {parent}, which is {handle} or below it"));
        }
        let sibling = before.iter().flatten().find_map(|sibling| self.with_handle(sibling));
        if let Some(sibling) = sibling.filter(|sibling| *sibling == handle || self.node(*sibling).parent != parent) {
            return Some(format!("it moves {handle} before {sibling}, which is not beside it"));
        }
        let depends_on: Option<Vec<Handle>> =
            depends_on.as_ref().map(|names| names.iter().filter_map(|name| self.with_handle(name)).collect());
        let (frame, kin) = self.kin_after_edit(handle, parent, depends_on.as_deref())?;
        Some(format!("it makes {frame} depend on {kin}, which is above or below it"))
    }

    /// The frame that an event names by its handle.
    fn with_handle(&self, reference: &FrameRef) -> Option<Handle> {
        match reference.target() {
            Target::Handle(handle) if handle.index() < self.len() => Some(handle),
            _ => None,
        }
    }

    fn misfit_of_new(&self, handle: Handle, frame: &Frame) -> Option<String> {
        let length = self.nodes.len();
        if handle.index() != length {
            return Some(format!("it adds {handle} to a tree of {length} frames"));
        }
        if self.by_id(&frame.session_id).is_some() {
            return Some(format!("it adds a second frame `{}`", frame.session_id));
        }
        let parent = frame.parent_session_id.as_ref();
        if let Some(missing) = parent.into_iter().chain(&frame.depends_on).find(|id| self.by_id(id).is_none()) {
            return Some(format!("it names `{missing}`, which is not in the tree"));
        }
        let parent = parent.and_then(|id| self.by_id(id))?;
        let is_above = |id: &&String| {
            self.by_id(id).is_some_and(|dependency| dependency == parent || self.is_ancestor(dependency, parent))
        };
        let above = frame.depends_on.iter().find(is_above)?;
        Some(format!("it makes {handle} depend on `{above}`, which is above it"))
    }

    /// Applies an event that [`decide`](super::decide) made for this tree at this revision, or the next event
    /// of a history. It checks nothing: use [`Tree::replay`] for events from outside. If the event is about a
    /// frame that the tree does not have, it changes only the tree's revision and its time of the last
    /// change.
    pub fn apply(&mut self, event: &Event) {
        self.begin(event);
        self.change(event);
        self.nodes.end();
    }

    fn change(&mut self, event: &Event) {
        let (handle, time) = (event.handle, event.time);
        let is_known = handle.index() < self.nodes.len();
        if is_known {
            self.count_need(handle);
        }
        match &event.change {
            Change::Added { frame } => self.added(handle, (**frame).clone()),
            Change::Imported { extra } => {
                self.sequence_by_time(handle);
                let roots = self.handles().skip(handle.index()).filter(|frame| self.node(*frame).parent.is_none());
                roots.collect::<Vec<_>>().into_iter().for_each(|root| self.note_end(root));
                self.extra.extend(extra.clone());
            }
            _ if !is_known => {}
            // This event is part of the frame's creation, so the frame's times do not change.
            Change::DependenciesAdded { depends_on } => {
                self.link_dependencies(handle, depends_on);
                self.touch(handle);
            }
            // The frame itself has not changed.
            Change::ActiveChanged { active } => self.active = active.then_some(handle),
            Change::Edited { edit, was } => self.edited(handle, edit, was.is_some(), time),
            Change::Identified { identity, provisional } => {
                set_identity(self.remember(handle, true), identity, *provisional);
                self.note_title(handle);
                self.touch_at(handle, time);
            }
            Change::StatusChanged { status, results, results_compacted } => {
                self.status_changed(handle, *status, results.as_ref(), results_compacted.as_ref(), time);
                self.touch_at(handle, time);
                self.touch_dependents(handle);
                self.settle();
            }
            Change::Invalidated { reason } => {
                self.invalidated(handle, reason, time);
                self.touch_at(handle, time);
                self.touch_dependents(handle);
                self.settle();
            }
            Change::Reopened { reason } => {
                self.reopened(handle, reason, time);
                self.touch_at(handle, time);
                self.touch_dependents(handle);
                self.settle();
            }
            Change::Restored { values, edit } | Change::Reimported { values, edit } => {
                self.restored(handle, values, edit.as_deref(), time);
                self.touch_at(handle, time);
                self.touch_dependents(handle);
                self.settle();
            }
            Change::LimitsSet { limits } => {
                self.nodes[handle.index()].frame.limits = Some(limits.clone());
                self.touch_at(handle, time);
            }
            Change::CostRecorded { conversation, cost_micro_usd } => {
                let before = Price::of(self.node(handle).record());
                self.nodes[handle.index()].record_cost(conversation, *cost_micro_usd);
                self.price.replace(before, Price::of(self.nodes[handle.index()].record()));
            }
            Change::TranscriptRead { conversation, position } => self.note_transcript(handle, conversation, position),
            Change::Commanded { .. } => self.remember_command(event),
            Change::Undone { commanded, .. } => self.forget_command(*commanded),
            Change::IdReplaced { session_id } => {
                self.id_replaced(handle, session_id, time);
                self.touch_at(handle, time);
                // The computation of relevance looks for the ID, also while other changes of the frame are
                // not settled.
                self.nodes[handle.index()].settled_revision = self.revision;
                self.touch_parent(handle, true);
            }
            Change::LogPathSet { log_path } | Change::LogMoved { log_path } => {
                self.nodes[handle.index()].frame.log_path = Some(log_path.clone());
                self.touch_at(handle, time);
            }
            Change::ArtifactAdded { artifact } => {
                self.remember(handle, false);
                self.nodes[handle.index()].add_artifact(artifact);
                self.touch_at(handle, time);
            }
            Change::DecisionAdded { decision } => {
                push_compact(&mut self.remember(handle, false).decisions, decision);
                self.touch_at(handle, time);
            }
            Change::Summarized { results, results_compacted } => {
                self.remember(handle, false);
                let Node { frame, before, .. } = &mut self.nodes[handle.index()];
                let were_partial = frame.has_partial_results();
                // Without this, the new results would replace the text that says what the frame waits for.
                keep_reason(frame);
                let (results, compacted) = (Some(results.clone()), Some(results_compacted.clone()));
                let old =
                    [mem::replace(&mut frame.results, results), mem::replace(&mut frame.results_compacted, compacted)];
                if let Some(before) = before {
                    before.results.get_or_insert((old, were_partial));
                }
                self.touch_at(handle, time);
            }
            Change::Asked { question, interruption } => {
                self.asked(handle, question, *interruption, time);
                self.touch_at(handle, time);
            }
            Change::Answered { answer, becomes } => {
                self.answered(handle, answer, *becomes, time);
                self.touch_at(handle, time);
            }
            Change::Held { holder } => {
                let last = self.node(handle).record().held_by();
                let is_renewed = last.is_some_and(|last| last.generation == holder.generation);
                self.leave_way(handle);
                let before = self.frame_mut(handle).holder.replace(holder.clone());
                self.note_holder(handle);
                self.note_place(handle, before.as_deref());
                // Contexts show which actor works on a child, but not until when.
                if !is_renewed {
                    self.touch_holder(handle);
                }
            }
            Change::Released { release } => {
                if matches!(release, Release::Stopped { .. })
                    && let Some(lost) = self.node(handle).record().holder.clone()
                {
                    self.note_loss(handle, &lost);
                }
                self.released(handle, release, time);
                self.note_holder(handle);
                self.touch_holder(handle);
            }
            Change::Stopped { reason } => drop(self.stops.insert(handle, (self.revision, reason.clone()))),
            Change::SummaryRequested { request } => {
                self.frame_mut(handle).summary_request.clone_from(request);
                self.nodes[handle.index()].revision = self.revision;
            }
            Change::Delivered {} => {
                self.delivered(handle, time);
                self.touch_delivery(handle);
            }
            Change::Forgotten {} => {
                self.forgotten(handle, time);
                self.nodes[handle.index()].revision = self.revision;
            }
            // Contexts do not show this change, so no revision changes.
            Change::UsageRecorded { model_request } => {
                self.nodes[handle.index()].add_usage(&ModelUsage::from(&**model_request));
            }
            Change::ChunkAllocated { chunk } => {
                self.nodes[handle.index()].add_chunk((**chunk).clone());
                self.chunks += 1;
                self.note_chunk_owner(handle, &chunk.name);
                self.touch_memory(handle, time);
            }
            Change::ChunkWritten { name, content, step } => {
                self.chunk_written(handle, name, content, *step, time);
                self.touch_memory(handle, time);
            }
            Change::ChunkFreed { name } => {
                self.chunk_freed(handle, name);
                self.touch_memory(handle, time);
            }
            Change::RegistersChanged { registers } => {
                self.frame_mut(handle).registers.get_or_insert_default().set(registers);
                self.touch_memory(handle, time);
            }
            Change::RunStarted { run, tools } => {
                let conversation = self.conversation_mut(handle);
                conversation.run = Some(RunState { settings: *run, steps: 0 });
                conversation.tools.clone_from(tools);
            }
            Change::Called { call } => self.conversation_mut(handle).call = Some(call.clone()),
            Change::MessagesAdded { messages } => self.messages_added(handle, messages),
        }
    }

    /// Same as [`Tree::apply`], without copying the record of a new frame.
    pub(crate) fn apply_owned(&mut self, event: Event) {
        self.begin(&event);
        match event.change {
            Change::Added { frame } => self.added(event.handle, *frame),
            _ => self.change(&event),
        }
        self.nodes.end();
    }

    fn begin(&mut self, event: &Event) {
        self.revision = event.revision;
        self.nodes.begin(event.revision);
        self.updated_at = event.time;
    }

    fn added(&mut self, handle: Handle, frame: Frame) {
        if handle.index() != self.nodes.len() {
            return;
        }
        let status = frame.status;
        self.add(frame);
        self.touch(handle);
        // A frame that was retried leaves the stable parts.
        if status != FrameStatus::Planned || self.nodes[handle.index()].retry_of().is_some() {
            self.settle();
        }
    }

    /// Adds a frame at the end of the arena. Links to frames that do not exist are omitted.
    pub(super) fn add(&mut self, mut frame: Frame) {
        let Some(handle) = Handle::from_index(self.nodes.len()) else { return };
        let status = frame.status;
        let parent = frame.parent_session_id.take().and_then(|id| self.by_id(&id));
        let previous = frame.retry_of.take().and_then(|id| self.by_id(&id));
        let depends_on = mem::take(&mut frame.depends_on);
        frame.planned_children = None;
        frame.child_order = Vec::new();
        frame.artifacts.shrink_to_fit();
        frame.decisions.shrink_to_fit();
        // Only results can have been delivered.
        frame.delivered_at = frame.delivered_at.filter(|_| !status.is_unfinished());
        let chunks: Vec<String> = frame.heap.iter().map(|chunk| chunk.name.clone()).collect();
        let (depth, jump) = self.way_up(handle, parent);
        self.ids.insert(&frame.session_id, handle);
        self.chunks += frame.heap.len();
        self.price.replace(Price::default(), Price::of(&frame));
        self.nodes.push(Node::new(frame, parent, depth, jump));
        self.note_title(handle);
        self.note_unfinished(handle);
        self.enter(handle, None);
        self.note_holder(handle);
        self.note_place(handle, None);
        chunks.iter().for_each(|chunk| self.note_chunk_owner(handle, chunk));
        self.tell_ancestors(handle, false);
        self.note_root(handle);
        if let Some(previous) = previous {
            self.link_attempt(previous, handle);
            self.place_attempt(handle);
        }
        self.link_dependencies(handle, &depends_on);
        self.record_progress(handle, status);
        if let Some(parent) = parent.filter(|_| self.is_held(handle)) {
            self.nodes[parent.index()].held_children += 1;
        }
    }

    /// The depth of a new frame, and the ancestor to which it jumps. If the two jumps before it are equally
    /// long, the jump is as long as both together; otherwise it is one step. (Myers 1983, "An applicative
    /// random-access stack".)
    pub(super) fn way_up(&self, handle: Handle, parent: Option<Handle>) -> (u32, Handle) {
        let Some(parent) = parent else { return (0, handle) };
        let above = self.node(parent);
        let first = self.node(above.jump);
        let second = self.node(first.jump);
        let is_even = above.depth - first.depth == first.depth - second.depth;
        (above.depth + 1, if is_even { first.jump } else { parent })
    }

    /// Makes a new frame the next attempt of another frame. No frame depends on the new frame yet. Nothing
    /// happens unless the other frame is a sibling that has failed and has no next attempt yet.
    pub(super) fn link_attempt(&mut self, previous: Handle, handle: Handle) {
        let old = self.node(previous);
        let has_failed = matches!(old.status(), FrameStatus::Failed | FrameStatus::Invalidated);
        let is_sibling = previous != handle && old.parent == self.node(handle).parent;
        if !(has_failed && is_sibling && old.retried_as().is_none()) {
            return;
        }
        let (first, number) = (self.first_attempt(previous), old.attempt() + 1);
        self.count_need(previous);
        let was_held = self.is_held(previous);
        self.leave_finished(previous, was_held);
        let alone = Attempt { first: previous, number: 1, previous: None, next: None, newest: handle };
        self.nodes[previous.index()].attempt.get_or_insert_with(|| Box::new(alone)).next = Some(handle);
        let next = Attempt { first, number, previous: Some(previous), next: None, newest: handle };
        self.nodes[handle.index()].attempt = Some(Box::new(next));
        if let Some(attempt) = &mut self.nodes[first.index()].attempt {
            attempt.newest = handle;
        }
        self.note_title(previous);
        self.touch(previous);
        self.touch_dependents(previous);
    }

    /// Moves an attempt directly after the one before it.
    pub(super) fn place_attempt(&mut self, handle: Handle) {
        let parent = self.node(handle).parent;
        let behind = self.node(handle).retry_of().and_then(|previous| self.next(previous));
        if behind.is_some_and(|behind| behind != handle) {
            self.move_to(handle, parent, behind);
        }
    }

    /// Removes a frame from the finished children of its parent, if it is one of them. `was_held`: the
    /// conversation of the parent held its results.
    fn leave_finished(&mut self, handle: Handle, was_held: bool) {
        let (revision, node) = (self.revision, self.node(handle));
        let finished = node.finished;
        if let Some(parent) = node.parent.filter(|_| finished > 0) {
            let parent = &mut self.nodes[parent.index()];
            parent.finished_children.remove(&finished);
            parent.held_children -= u32::from(was_held);
            parent.finished_revision = revision;
        }
    }

    /// Adds dependencies to a frame. Three kinds of IDs are omitted: IDs that no frame has, dependencies that
    /// the frame already has in any attempt, and attempts at the frame's own work.
    pub(super) fn link_dependencies(&mut self, handle: Handle, ids: &[String]) {
        if ids.is_empty() {
            return;
        }
        let known = self.node(handle).dependencies().iter().copied().chain([handle]);
        let mut known: HashSet<Handle> = known.map(|dependency| self.first_attempt(dependency)).collect();
        for id in ids {
            let Some(dependency) = self.by_id(id) else { continue };
            let first = self.first_attempt(dependency);
            if known.insert(first) {
                self.plan_revision = self.revision;
                let dependents = &mut self.nodes[first.index()].waits_mut().dependents;
                let place = dependents.partition_point(|dependent| *dependent < handle);
                dependents.insert(place, handle);
                self.nodes[handle.index()].waits_mut().dependencies.push(dependency);
                self.note_dependency(handle, dependency);
            }
        }
        self.forget_needs(handle);
    }

    /// Changes a frame. The change is seen at once, also in the settled view. Either the frame is planned, so
    /// that no prompt cache has it, or a person has corrected words that are wrong.
    fn edited(&mut self, handle: Handle, edit: &FrameEdit, is_correction: bool, time: u64) {
        if let Some(priority) = edit.priority {
            self.nodes[handle.index()].frame.priority = priority;
            self.note_unfinished(handle);
        }
        let frame = &mut self.nodes[handle.index()].frame;
        edit.labels.iter().for_each(|labels| frame.labels.clone_from(labels));
        edit.assignee.iter().for_each(|assignee| frame.assignee.clone_from(assignee));
        if edit.changes_words() {
            let node = &mut self.nodes[handle.index()];
            if let Some(before) = &mut node.before {
                before.identity = None;
            }
            let frame = &mut node.frame;
            let was_placeholder = mem::take(&mut frame.placeholder);
            if is_correction && !was_placeholder {
                frame.corrected_at = Some(time);
            }
            for (text, new) in [
                (&mut frame.success_criteria, &edit.success_criteria),
                (&mut frame.success_criteria_compacted, &edit.success_criteria_compacted),
                (&mut frame.task, &edit.task),
            ] {
                new.iter().for_each(|new| text.clone_from(new));
            }
            if let Some(title) = &edit.title {
                frame.title.clone_from(title);
                self.note_title(handle);
            }
        }
        if let Some(depends_on) = &edit.depends_on {
            self.set_dependencies(handle, depends_on);
        }
        if edit.moves() {
            let named = |reference: &FrameRef| self.with_handle(reference);
            let parent = match &edit.parent {
                Some(parent) => parent.as_ref().and_then(named),
                None => self.node(handle).parent,
            };
            let is_beside = |sibling: &Handle| *sibling != handle && self.node(*sibling).parent == parent;
            let before = edit.before.iter().flatten().find_map(named).filter(is_beside);
            if parent.is_none_or(|parent| !self.is_at_or_above(handle, parent)) {
                self.move_to(handle, parent, before);
                self.plan_revision = self.revision;
            }
        }
        // The place of a frame is not a part of its content, so a move alone does not change its times.
        if edit.changes_words() || edit.changes_marks() || edit.depends_on.is_some() {
            self.touch_at(handle, time);
        } else {
            self.touch(handle);
        }
        self.nodes[handle.index()].settled_revision = self.revision;
    }

    /// Replaces all dependencies of a frame.
    fn set_dependencies(&mut self, handle: Handle, depends_on: &[FrameRef]) {
        self.plan_revision = self.revision;
        for dependency in mem::take(&mut self.nodes[handle.index()].waits_mut().dependencies) {
            step();
            let first = self.first_attempt(dependency);
            let dependents = &mut self.nodes[first.index()].waits_mut().dependents;
            if let Ok(place) = dependents.binary_search(&handle) {
                dependents.remove(place);
            }
        }
        self.forget_needs(handle);
        let id = |dependency: Handle| self.node(dependency).session_id().to_owned();
        let ids: Vec<String> = depends_on.iter().filter_map(|other| self.with_handle(other)).map(id).collect();
        self.link_dependencies(handle, &ids);
    }

    /// Tells the ancestors of a frame whether it has ended, if that has changed for the branch below any of
    /// them.
    fn tell_ancestors(&mut self, handle: Handle, was_busy: bool) {
        let node = self.node(handle);
        if node.is_busy() != was_busy {
            self.count_branch(node.parent, node.is_busy());
        }
    }

    /// Sets the status of a frame, and all values that follow from the status.
    fn set_status(&mut self, handle: Handle, status: FrameStatus) {
        let was_held = self.is_held(handle);
        let node = &mut self.nodes[handle.index()];
        let (was, was_busy) = (node.status(), node.is_busy());
        node.frame.status = status;
        // An interrupted frame is resumed, or has ended.
        if let Some(released) = node.frame.holder.as_mut().and_then(|holder| holder.released.as_mut())
            && released.how == (Release::Interrupted {})
        {
            released.how = Release::Ended {};
            self.note_holder(handle);
        }
        let node = &mut self.nodes[handle.index()];
        if status != FrameStatus::InProgress {
            node.frame.summary_request = None;
        }
        self.tell_ancestors(handle, was_busy);
        self.leave_finished(handle, was_held);
        if !status.is_open() {
            self.with_workers.remove(&handle);
            self.active = self.active.filter(|active| *active != handle);
        }
        self.note_unfinished(handle);
        if [status, was].contains(&FrameStatus::Invalidated) {
            self.note_title(handle);
        }
        if status.is_unfinished() && !was.is_unfinished() {
            self.nodes[handle.index()].finished = 0;
            let names: Vec<String> = self.node(handle).frame.heap.iter().map(|chunk| chunk.name.clone()).collect();
            names.iter().for_each(|name| self.note_chunk_owner(handle, name));
        }
        if !status.is_unfinished() {
            let names: Vec<String> = self.node(handle).frame.heap.iter().map(|chunk| chunk.name.clone()).collect();
            names.iter().for_each(|name| self.forget_chunk_owner(handle, name));
            self.forget_conversation(handle);
            self.note_end(handle);
        }
        self.note_root(handle);
        self.forget_stops(handle);
        if self.node(handle).parent.is_none() {
            self.root_statuses[was as usize] = self.root_statuses[was as usize].saturating_sub(1);
            self.root_statuses[status as usize] += 1;
        }
    }

    /// Notes in the indexes whether a frame has ended, has a priority of its own, waits to begin, or is not
    /// work.
    pub(super) fn note_unfinished(&mut self, handle: Handle) {
        let frame = self.node(handle).record();
        let (is_unfinished, has_priority) = (frame.status.is_unfinished(), frame.priority.is_some());
        let (waits, is_no_work) = (frame.waits_to_begin(), frame.no_work.is_some());
        set(&mut self.unfinished, handle, is_unfinished);
        // The frames below have the priority of the nearest frame with one.
        let taken = match has_priority || self.prioritized.contains(&handle) {
            true => self.take_next(handle),
            false => Vec::new(),
        };
        set(&mut self.prioritized, handle, is_unfinished && has_priority);
        set(&mut self.waiting, handle, waits);
        set(&mut self.no_work, handle, is_unfinished && is_no_work);
        self.put_next(taken);
    }

    /// Forgets the stops in the tree of a frame, if nothing in the tree is unfinished.
    fn forget_stops(&mut self, handle: Handle) {
        let root = self.root(handle);
        if self.stops.is_empty() || self.node(root).is_busy() {
            return;
        }
        let within = |frame: &Handle| self.root(*frame) == root;
        let ended: Vec<Handle> = self.stops.keys().copied().filter(within).collect();
        ended.iter().for_each(|frame| drop(self.stops.remove(frame)));
    }

    /// Notes that the tree of a frame can leave the memory, if nothing in the tree is unfinished.
    pub(super) fn note_end(&mut self, handle: Handle) {
        let root = self.root(handle);
        if self.nodes.shelf().is_some() && !self.node(root).is_busy() {
            let frames = self.subtree(root).count();
            self.nodes.note_end(root, frames);
        }
    }

    /// Gives a frame of a copy another origin, with which a plan is compared. There is no event for this.
    pub(crate) fn set_origin(&mut self, handle: Handle, origin: Origin) {
        self.frame_mut(handle).origin = Some(Box::new(origin));
    }

    fn frame_mut(&mut self, handle: Handle) -> &mut Frame {
        &mut self.nodes[handle.index()].frame
    }

    fn conversation_mut(&mut self, handle: Handle) -> &mut Conversation {
        self.nodes[handle.index()].conversation.get_or_insert_default()
    }

    fn status_changed(
        &mut self,
        handle: Handle,
        status: FrameStatus,
        results: Option<&String>,
        results_compacted: Option<&String>,
        time: u64,
    ) {
        let record = self.node(handle).record();
        let waits = record.waits_to_begin();
        if (record.status == FrameStatus::Planned && status.is_open()) || (waits && status == FrameStatus::InProgress) {
            self.frame_mut(handle).begun_at = Some(time);
        }
        if let Some(question) = self.frame_mut(handle).questions.last_mut().filter(|_| waits) {
            question.unbegun = false;
        }
        let is_replaced = status == FrameStatus::Blocked && (results.is_some() || results_compacted.is_some());
        if status.is_open() && !is_replaced {
            // The text that says what the frame has waited for is not a result of the work that is resumed.
            keep_reason(self.frame_mut(handle));
        }
        self.set_status(handle, status);
        let frame = self.frame_mut(handle);
        if let Some(results) = results {
            frame.results = Some(results.clone());
        }
        if let Some(compacted) = results_compacted {
            frame.results_compacted = Some(compacted.clone());
        }
        self.record_progress(handle, status);
        // The answer to the tool call that pushed the frame holds the results.
        let is_called = self.node(handle).conversation.as_ref().is_some_and(|own| own.call.is_some());
        if is_called && status.is_finished() {
            self.delivered(handle, time);
        }
    }

    /// Records what a blocked frame waits for. A question without an answer is replaced.
    fn asked(&mut self, handle: Handle, question: &str, interruption: bool, time: u64) {
        let questions = &mut self.frame_mut(handle).questions;
        if questions.last().is_some_and(|last| last.answer.is_none()) {
            questions.pop();
        }
        questions.push(Question { question: question.to_owned(), interruption, asked_at: time, ..Question::default() });
    }

    /// Records that the holder of a frame has let it go.
    fn released(&mut self, handle: Handle, release: &Release, time: u64) {
        let frame = self.frame_mut(handle);
        let is_left = frame.status == FrameStatus::InProgress;
        let Some(holder) = frame.holder.as_mut() else { return };
        let how = match release {
            // The frame can only be resumed if it is in progress.
            Release::Interrupted {} if !is_left => Release::Ended {},
            release => release.clone(),
        };
        let is_no_try = |how: &Release| match how {
            Release::PutBack { .. } => true,
            Release::Ended {} => is_left,
            Release::Interrupted {} | Release::Stopped { .. } => false,
        };
        // A frame that was let go before can still be put back: its holder was silent for too long, or
        // repeats that it puts the frame back.
        let was_none = holder.released.as_ref().is_some_and(|before| is_no_try(&before.how));
        let was_put_back = holder.released.as_ref().is_some_and(|before| matches!(before.how, Release::PutBack { .. }));
        holder.tries = holder.tries.saturating_sub(u64::from(is_no_try(&how) && !was_none));
        holder.put_backs += u64::from(matches!(how, Release::PutBack { .. }) && !was_put_back);
        holder.released = Some(Released { at: time, how });
    }

    /// Records an answer to a blocked frame. It does not replace an earlier answer, which may come from
    /// another person. A frame that has waited to begin can begin now.
    fn answered(&mut self, handle: Handle, answer: &str, becomes: Option<FrameStatus>, time: u64) {
        let frame = self.frame_mut(handle);
        keep_reason(frame);
        if let Some(holder) = &mut frame.holder {
            (holder.tries, holder.put_backs) = (0, 0);
        }
        if frame.questions.is_empty() {
            frame.questions.push(Question { asked_at: frame.updated_at, ..Question::default() });
        }
        if let Some(last) = frame.questions.last_mut() {
            match &mut last.answer {
                Some(earlier) => {
                    earlier.push('\n');
                    earlier.push_str(answer);
                }
                None => last.answer = Some(answer.to_owned()),
            }
            last.answered_at = Some(time);
        }
        if let Some(status) = becomes {
            self.set_status(handle, status);
            let results = (status == FrameStatus::Completed).then(|| answer.to_owned());
            let frame = self.frame_mut(handle);
            frame.results = results.or_else(|| frame.results.take());
            self.record_progress(handle, status);
            self.touch_dependents(handle);
            self.settle();
        }
    }

    /// Notes that the parent's conversation holds the results of a finished frame.
    fn delivered(&mut self, handle: Handle, time: u64) {
        let is_new = self.node(handle).status().is_finished() && !self.is_held(handle);
        let Some(parent) = self.node(handle).parent.filter(|_| is_new) else { return };
        // The time is after the moment of forgetting even if both are the same, or if the clock was set back.
        let after = self.node(parent).frame.forgotten_at.map_or(0, |forgotten| forgotten.saturating_add(1));
        self.frame_mut(handle).delivered_at = Some(time.max(after));
        if self.is_held(handle) {
            self.nodes[parent.index()].held_children += 1;
        }
    }

    /// Notes that the frame's conversation no longer holds the results of the children.
    fn forgotten(&mut self, handle: Handle, time: u64) {
        let node = self.node(handle);
        let deliveries = node.finished_children.values().filter_map(|child| self.node(*child).frame.delivered_at);
        let forgotten_at = deliveries.fold(time, u64::max);
        let revision = self.revision;
        let node = &mut self.nodes[handle.index()];
        node.frame.forgotten_at = Some(forgotten_at);
        node.held_children = 0;
        node.finished_revision = revision;
    }

    fn invalidated(&mut self, handle: Handle, reason: &str, time: u64) {
        self.set_status(handle, FrameStatus::Invalidated);
        let frame = self.frame_mut(handle);
        frame.invalidation_reason = Some(reason.to_owned());
        frame.invalidated_at = Some(time);
    }

    /// Reopens a completed frame. Its context shows the reason as an answer.
    fn reopened(&mut self, handle: Handle, reason: &str, time: u64) {
        self.set_status(handle, FrameStatus::InProgress);
        let frame = self.frame_mut(handle);
        frame.delivered_at = None;
        frame.questions.push(Question {
            question: Question::REOPENED.to_owned(),
            asked_at: time,
            answer: Some(reason.to_owned()),
            answered_at: Some(time),
            ..Question::default()
        });
    }

    /// Restores a frame to its state before a command, or changes it to what the file of its plan says.
    fn restored(&mut self, handle: Handle, values: &Map<String, Value>, edit: Option<&FrameEdit>, time: u64) {
        // The settled view relies on lists that only grow.
        self.settle();
        let Some(mut record) = self.node(handle).record().with_values(values) else { return };
        let words = FrameEdit::default().title(record.title.clone()).priority(record.priority);
        self.edited(handle, &words, false, time);
        if let Some(edit) = edit {
            self.edited(handle, edit, false, time);
        }
        let (was, status) = (self.node(handle).status(), record.status);
        self.leave_way(handle);
        match was == status {
            // It is counted whether the parent holds the results of the frame.
            true => record.delivered_at = self.node(handle).record().delivered_at,
            false => self.set_status(handle, status),
        }
        self.nodes[handle.index()].set_record(record);
        if was != status {
            if status == FrameStatus::Planned {
                self.nodes[handle.index()].started = 0;
            }
            self.record_progress(handle, status);
            if let Some(parent) = self.node(handle).parent.filter(|_| self.is_held(handle)) {
                self.nodes[parent.index()].held_children += 1;
            }
        }
        self.note_holder(handle);
        self.note_unfinished(handle);
    }

    /// Gives a frame another ID. An open frame then works in another session, which has a new conversation.
    fn id_replaced(&mut self, handle: Handle, session_id: &str, time: u64) {
        let node = self.node(handle);
        if node.status().is_open() && node.held_children > 0 {
            self.forgotten(handle, time);
        }
        let old = mem::replace(&mut self.frame_mut(handle).session_id, session_id.to_owned());
        self.ids.remove(&old);
        self.ids.insert(session_id, handle);
    }

    fn chunk_written(&mut self, handle: Handle, name: &str, content: &str, step: u64, time: u64) {
        let Some(place) = self.node(handle).chunk_place(name) else { return };
        if let Some(chunk) = self.frame_mut(handle).heap.get_mut(place) {
            content.clone_into(&mut chunk.content);
            (chunk.written_at, chunk.written_step) = (time, step);
        }
    }

    fn chunk_freed(&mut self, handle: Handle, name: &str) {
        if self.nodes[handle.index()].remove_chunk(name).is_some() {
            self.chunks -= 1;
            if self.own_chunk(handle, name).is_none() {
                self.forget_chunk_owner(handle, name);
            }
        }
    }

    pub(super) fn note_chunk_owner(&mut self, handle: Handle, name: &str) {
        if self.node(handle).status().is_unfinished() {
            self.chunk_owners.entry(name.to_owned()).or_default().insert(handle);
        }
    }

    fn forget_chunk_owner(&mut self, handle: Handle, name: &str) {
        if let Some(owners) = self.chunk_owners.get_mut(name) {
            owners.remove(&handle);
            if owners.is_empty() {
                self.chunk_owners.remove(name);
            }
        }
    }

    /// Marks the frame as changed at this time.
    fn touch_at(&mut self, handle: Handle, time: u64) {
        let frame = self.frame_mut(handle);
        frame.updated_at = frame.updated_at.max(time);
        self.touch(handle);
    }

    /// Marks the frame as changed by its chunks or registers. Its cached renderings stay valid, because they
    /// contain neither chunks nor registers. Therefore the revisions of its settled view and of its parent's
    /// children do not change.
    fn touch_memory(&mut self, handle: Handle, time: u64) {
        let node = &mut self.nodes[handle.index()];
        node.frame.updated_at = node.frame.updated_at.max(time);
        node.revision = self.revision;
    }

    /// Marks a frame and its parent as changed by the delivery of the frame's results. The settled view does
    /// not change.
    fn touch_delivery(&mut self, handle: Handle) {
        self.nodes[handle.index()].revision = self.revision;
        self.touch_parent(handle, true);
    }

    /// Marks a frame and its parent as changed by the actor that works on the frame. The settled view does
    /// not show this actor.
    fn touch_holder(&mut self, handle: Handle) {
        self.nodes[handle.index()].revision = self.revision;
        self.touch_parent(handle, false);
    }

    /// Drops the messages of a frame that has ended.
    fn forget_conversation(&mut self, handle: Handle) {
        if let Some(conversation) = &mut self.nodes[handle.index()].conversation {
            conversation.forget_messages();
        }
    }

    fn messages_added(&mut self, handle: Handle, messages: &[Message]) {
        let conversation = self.conversation_mut(handle);
        messages.iter().cloned().for_each(|message| conversation.add(message));
        let replies = messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count() as u64;
        let root = self.run(handle).map(|(root, _)| root);
        if let Some(run) = root
            .and_then(|root| self.nodes[root.index()].conversation.as_mut())
            .and_then(|conversation| conversation.run.as_mut())
        {
            run.steps += replies;
        }
    }

    /// Records starts and finishes in the tree's sequence.
    fn record_progress(&mut self, handle: Handle, status: FrameStatus) {
        if status == FrameStatus::Planned || status == FrameStatus::Invalidated {
            return;
        }
        let node = &mut self.nodes[handle.index()];
        if node.started == 0 {
            self.sequence += 1;
            node.started = self.sequence;
        }
        if status.is_finished() {
            self.sequence += 1;
            node.finished = self.sequence;
            if let Some(parent) = node.parent.filter(|_| node.retried_as().is_none()) {
                let parent = &mut self.nodes[parent.index()];
                parent.finished_children.insert(self.sequence, handle);
                parent.finished_revision = self.revision;
            }
        }
    }

    fn touch(&mut self, handle: Handle) {
        let revision = self.revision;
        let node = &mut self.nodes[handle.index()];
        node.revision = revision;
        let is_settled = node.before.is_none();
        if is_settled {
            node.settled_revision = revision;
        }
        self.touch_parent(handle, is_settled);
    }

    /// Marks the parents of the frames that depend on a frame, or on another attempt at its work, as changed.
    /// Which of their children can begin depends on the status of the frame.
    fn touch_dependents(&mut self, handle: Handle) {
        let (revision, handle) = (self.revision, self.first_attempt(handle));
        let has_changed = self.note_need(handle);
        for place in 0..self.node(handle).dependents().len() {
            let dependent = self.node(handle).dependents()[place];
            if let Some(parent) = self.node(dependent).parent {
                self.nodes[parent.index()].children_revision = revision;
            }
            if has_changed {
                self.note_standing(dependent);
            }
        }
    }

    /// Marks the parent of a frame as changed by the frame, and notes the frame in the indexes. `is_settled`: the
    /// settled view of the frame has changed.
    fn touch_parent(&mut self, handle: Handle, is_settled: bool) {
        let (revision, node) = (self.revision, self.node(handle));
        let is_finished = node.status().is_finished();
        if let Some(parent) = node.parent {
            let parent = &mut self.nodes[parent.index()];
            parent.children_revision = revision;
            if is_settled && is_finished {
                parent.finished_revision = revision;
            }
        }
        self.note_standing(handle);
    }

    /// Saves the settled view of a frame before a change that the stable part must not show yet. Returns the
    /// frame for the change.
    fn remember(&mut self, handle: Handle, with_identity: bool) -> &mut Frame {
        let node = &mut self.nodes[handle.index()];
        let frame = &mut node.frame;
        if node.before.is_none() {
            self.unsettled.push(handle);
        }
        let before = node.before.get_or_insert_with(|| {
            Box::new(Before {
                artifacts: frame.artifacts.len(),
                decisions: frame.decisions.len(),
                identity: None,
                results: None,
            })
        });
        if with_identity {
            before.identity.get_or_insert_with(|| frame.identity());
        }
        frame
    }

    /// Updates the settled view of all frames to their current values, after a push or a status change.
    fn settle(&mut self) {
        let revision = self.revision;
        for handle in mem::take(&mut self.unsettled) {
            let node = &mut self.nodes[handle.index()];
            node.before = None;
            node.revision = revision;
            node.settled_revision = revision;
            self.touch_parent(handle, true);
        }
    }
}

/// Turns the results of a frame that was blocked without a question into its question.
fn keep_reason(frame: &mut Frame) {
    if frame.status == FrameStatus::Blocked && frame.questions.is_empty() && frame.results.is_some() {
        let [full, compacted] = [frame.results.take(), frame.results_compacted.take()].map(Option::unwrap_or_default);
        let question = if full.trim().is_empty() { compacted } else { full };
        frame.questions.push(Question { question, asked_at: frame.updated_at, ..Question::default() });
    }
}

fn set_identity(frame: &mut Frame, identity: &Identity, provisional: bool) {
    frame.title.clone_from(&identity.title);
    frame.success_criteria.clone_from(&identity.success_criteria);
    frame.success_criteria_compacted.clone_from(&identity.success_criteria_compacted);
    frame.placeholder &= provisional;
}
