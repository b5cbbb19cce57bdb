//! The first half of a change: whether a command can be done on a tree, and by which events.

use std::collections::{HashMap, HashSet};

use serde_json::Map;

use super::links::Links;
use super::{Command, Tree};
use crate::error::{Error, Result};
use crate::frame::{
    Change, Chunk, Event, Frame, FrameRef, FrameStatus, Handle, NewChunk, NewFrame, Parent, RegisterValues, Registers,
    first_filled, own_log_path,
};

/// Checks a command against a tree and returns the events that carry it out, none if everything
/// is so already. Changes nothing.
///
/// `now` is the time of the events in milliseconds since the epoch.
///
/// # Errors
/// Whatever stands against the command; see [`Error`].
pub fn decide(tree: &Tree, command: Command, now: u64) -> Result<Vec<Event>> {
    let mut events = Events::new(tree, now);
    match command {
        Command::Push(frame) => {
            let frame = new_frame(tree, frame, FrameStatus::InProgress)?;
            let parent = frame.parent_session_id.as_ref().and_then(|parent| tree.by_id(parent));
            let inherited = parent.and_then(|parent| inherited_registers(tree, parent, &frame));
            let handle = events.add(vec![frame])?;
            events.push(handle, Change::ActiveChanged { active: true });
            if let Some(registers) = inherited {
                events.push(handle, Change::RegistersChanged { registers });
            }
        }
        Command::Plan(frame) => {
            events.add(vec![new_frame(tree, frame, FrameStatus::Planned)?])?;
        }
        Command::PlanChildren { parent, caller, children } => {
            let frames = planned_children(tree, &parent, caller.as_deref(), children)?;
            if !frames.is_empty() {
                events.add(frames)?;
            }
        }
        Command::Ensure { session_id, title, parent } => events.ensure(session_id, title, parent)?,
        Command::Identify { frame, identity } => {
            let handle = tree.resolve(&frame)?;
            if !tree.node(handle).record().placeholder {
                return Err(Error::IdentityFixed { handle });
            }
            not_empty("title", &identity.title)?;
            events.push(handle, Change::Identified { identity });
        }
        Command::Activate { frame } => {
            let handle = tree.resolve(&frame)?;
            let from = tree.node(handle).status();
            if from != FrameStatus::Planned {
                return Err(Error::Transition { handle, from, to: FrameStatus::InProgress });
            }
            events.set_status(handle, FrameStatus::InProgress, None, None)?;
            let node = tree.node(handle);
            let inherited = node.parent().and_then(|parent| inherited_registers(tree, parent, node.record()));
            if let Some(registers) = inherited.filter(|_| node.record().registers.is_none()) {
                events.push(handle, Change::RegistersChanged { registers });
            }
        }
        Command::ReplaceId { frame, session_id } => {
            let handle = tree.resolve(&frame)?;
            not_empty("sessionID", &session_id)?;
            match tree.by_id(&session_id) {
                Some(other) if other == handle => {}
                Some(other) => return Err(Error::DuplicateId { session_id, handle: other }),
                None => events.replace_id(handle, session_id),
            }
        }
        Command::SetStatus { frame, status: FrameStatus::Invalidated, results, .. } => {
            events.invalidate(tree.resolve(&frame)?, results.unwrap_or_default())?;
        }
        Command::SetStatus { frame, status, results, results_compacted } => {
            events.set_status(tree.resolve(&frame)?, status, results, results_compacted)?;
        }
        Command::Pop { frame, status, results, results_compacted } => {
            let handle = tree.resolve(&frame)?;
            let returned = returned_registers(tree, handle, &results_compacted, &results);
            events.set_status(handle, status.into(), Some(results), Some(results_compacted))?;
            if let Some((parent, registers)) = returned {
                events.push(parent, Change::RegistersChanged { registers });
            }
        }
        Command::Invalidate { frame, reason } => events.invalidate(tree.resolve(&frame)?, reason)?,
        Command::Summarize { frame, results, results_compacted } => {
            let handle = tree.resolve(&frame)?;
            let status = tree.node(handle).status();
            if !status.is_open() {
                return Err(Error::ResultsFixed { handle, status });
            }
            not_empty("results", &results)?;
            events.push(handle, Change::Summarized { results, results_compacted });
        }
        Command::AddArtifact { frame, artifact } => {
            let handle = tree.resolve(&frame)?;
            not_empty("artifact", &artifact)?;
            if !tree.node(handle).record().artifacts.contains(&artifact) {
                events.push(handle, Change::ArtifactAdded { artifact });
            }
        }
        Command::AddDecision { frame, decision } => {
            let handle = tree.resolve(&frame)?;
            not_empty("decision", &decision)?;
            events.push(handle, Change::DecisionAdded { decision });
        }
        Command::SetActive { frame } => {
            let handle = tree.resolve(&frame)?;
            let status = tree.node(handle).status();
            if !status.is_open() {
                return Err(Error::NotOpen { handle, status });
            }
            events.activate(Some(handle));
        }
        Command::Import { frames } => {
            for frame in &frames {
                check_id(tree, &frame.session_id)?;
            }
            if !frames.is_empty() {
                let first = events.add(frames)?;
                events.push(first, Change::Imported { extra: Map::new() });
            }
        }
        Command::AllocateChunk { frame, chunk } => {
            let handle = tree.resolve(&frame)?;
            check_chunk(tree, handle, &chunk)?;
            let step = tree.step(handle);
            let NewChunk { name, content, description } = chunk;
            let chunk = Chunk {
                name,
                content,
                description,
                allocated_at: now,
                written_at: now,
                allocated_step: step,
                written_step: step,
            };
            events.push(handle, Change::ChunkAllocated { chunk: Box::new(chunk) });
        }
        Command::WriteChunk { frame, name, content } => {
            let handle = tree.resolve(&frame)?;
            let (owner, _) = known_chunk(tree, handle, &name)?;
            not_longer("content", &content, NewChunk::CONTENT_LIMIT)?;
            events.push(owner, Change::ChunkWritten { name, content, step: tree.step(handle) });
        }
        Command::FreeChunk { frame, name } => {
            let (owner, _) = known_chunk(tree, tree.resolve(&frame)?, &name)?;
            events.push(owner, Change::ChunkFreed { name });
        }
        Command::UpdateRegisters { frame, registers } => {
            let handle = tree.resolve(&frame)?;
            let present = tree.node(handle).record().registers.as_deref();
            let mut updated = present.cloned().unwrap_or_default();
            updated.set(&registers);
            let registers = updated.changes_since(present.unwrap_or(&Registers::default()));
            if !registers.is_empty() || present.is_none() {
                events.push(handle, Change::RegistersChanged { registers });
            }
        }
        Command::SetLogPath { frame, log_path } => {
            let handle = tree.resolve(&frame)?;
            not_empty("logPath", &log_path)?;
            if tree.node(handle).record().log_path.as_ref() != Some(&log_path) {
                events.push(handle, Change::LogPathSet { log_path });
            }
        }
    }
    Ok(events.events)
}

/// Events as they come to be, to follow those that a tree has seen.
pub(crate) struct Events<'a> {
    pub(crate) tree: &'a Tree,
    now: u64,
    pub(crate) events: Vec<Event>,
}

impl<'a> Events<'a> {
    pub(crate) fn new(tree: &'a Tree, now: u64) -> Self {
        Self { tree, now, events: Vec::new() }
    }

    /// The events of a command, with room for more behind them.
    pub(crate) fn of(tree: &'a Tree, command: Command, now: u64) -> Result<Self> {
        Ok(Self { tree, now, events: decide(tree, command, now)? })
    }

    pub(crate) fn push(&mut self, handle: Handle, change: Change) {
        let revision = self.tree.revision() + 1 + self.events.len() as u64;
        self.events.push(Event { revision, time: self.now, handle, change });
    }

    /// Adds frames whose links are IDs, of the tree or of each other, and returns the handle of
    /// the first. Frames without times get the time of the command.
    fn add(&mut self, mut frames: Vec<Frame>) -> Result<Handle> {
        let tree = self.tree;
        let full = || Error::Full { limit: Handle::LIMIT };
        let parent_is_known =
            |frame: &Frame| frame.parent_session_id.as_deref().is_none_or(|id| tree.by_id(id).is_some());
        let first = Handle::from_index(tree.len()).ok_or_else(full)?;
        Handle::from_index(tree.len() + frames.len() - 1).ok_or_else(full)?;
        let order = match &frames[..] {
            // The usual case: one frame, below one of the tree or none, can stand in no circle.
            [alone] if alone.depends_on.is_empty() && parent_is_known(alone) => vec![0],
            _ => check_links(tree, &frames)?,
        };
        let mut late = Vec::new();
        let mut added = HashSet::new();
        for (position, index) in order.into_iter().enumerate() {
            let handle = Handle::from_index(tree.len() + position).expect("checked above");
            let mut frame = std::mem::take(&mut frames[index]);
            frame.separate_extra_keys();
            if frame.created_at == 0 {
                frame.created_at = self.now;
            }
            frame.updated_at = frame.updated_at.max(frame.created_at);
            if !frame.depends_on.is_empty() {
                let mut seen = HashSet::new();
                frame.depends_on.retain(|id| seen.insert(id.clone()));
                if frame.depends_on.iter().any(|id| !added.contains(id) && tree.by_id(id).is_none()) {
                    late.push((handle, std::mem::take(&mut frame.depends_on)));
                }
            }
            added.insert(frame.session_id.clone());
            self.push(handle, Change::Added { frame: Box::new(frame) });
        }
        for (handle, depends_on) in late {
            self.push(handle, Change::DependenciesAdded { depends_on });
        }
        Ok(first)
    }

    fn ensure(&mut self, session_id: String, title: Option<String>, parent: Option<FrameRef>) -> Result<()> {
        if self.tree.by_id(&session_id).is_some() {
            return Ok(());
        }
        not_empty("sessionID", &session_id)?;
        let parent = parent.map(|parent| self.tree.resolve(&parent)).transpose()?;
        let title = title.filter(|title| !title.trim().is_empty());
        let frame = Frame {
            title: title.unwrap_or_else(|| format!("Session {}", session_id.chars().take(8).collect::<String>())),
            session_id,
            parent_session_id: parent.map(|parent| self.tree.node(parent).session_id().to_owned()),
            status: FrameStatus::InProgress,
            placeholder: true,
            ..Frame::default()
        };
        let handle = self.add(vec![frame])?;
        if self.tree.active().is_none() {
            self.push(handle, Change::ActiveChanged { active: true });
        }
        Ok(())
    }

    /// The frame's own log goes along: its file is named after the ID.
    fn replace_id(&mut self, handle: Handle, session_id: String) {
        let frame = self.tree.node(handle).record();
        let own_log = own_log_path(&frame.session_id, handle);
        let new_log = own_log_path(&session_id, handle);
        self.push(handle, Change::IdReplaced { session_id });
        if frame.log_path.as_ref() == Some(&own_log) && new_log != own_log {
            self.push(handle, Change::LogPathSet { log_path: new_log });
        }
    }

    fn set_status(
        &mut self,
        handle: Handle,
        status: FrameStatus,
        results: Option<String>,
        results_compacted: Option<String>,
    ) -> Result<()> {
        let from = self.tree.node(handle).status();
        if !from.can_become(status) {
            return Err(Error::Transition { handle, from, to: status });
        }
        self.push(handle, Change::StatusChanged { status, results, results_compacted });
        if status == FrameStatus::InProgress {
            self.activate(Some(handle));
        } else {
            let at_or_below = |active: Handle| active == handle || self.tree.is_ancestor(handle, active);
            if self.tree.active().is_some_and(at_or_below) {
                self.return_above(handle);
            }
        }
        Ok(())
    }

    fn invalidate(&mut self, handle: Handle, reason: String) -> Result<()> {
        let tree = self.tree;
        not_empty("reason", &reason)?;
        let from = tree.node(handle).status();
        if !from.can_become(FrameStatus::Invalidated) {
            return Err(Error::Transition { handle, from, to: FrameStatus::Invalidated });
        }
        for frame in tree.subtree(handle) {
            if frame == handle || tree.node(frame).status() == FrameStatus::Planned {
                self.push(frame, Change::Invalidated { reason: reason.clone() });
            }
        }
        if tree.active() == Some(handle) {
            self.return_above(handle);
        }
        Ok(())
    }

    /// Makes the nearest open frame above `handle` active, or none.
    fn return_above(&mut self, handle: Handle) {
        let above = self.tree.node(handle).parent().and_then(|parent| self.tree.nearest_open(parent));
        self.activate(above);
    }

    fn activate(&mut self, frame: Option<Handle>) {
        match (frame, self.tree.active()) {
            (Some(frame), Some(active)) if frame == active => {}
            (Some(frame), _) => self.push(frame, Change::ActiveChanged { active: true }),
            (None, Some(active)) => self.push(active, Change::ActiveChanged { active: false }),
            (None, None) => {}
        }
    }
}

/// The order in which frames can be added.
fn check_links(tree: &Tree, frames: &[Frame]) -> Result<Vec<usize>> {
    let links = Links::new(tree, frames);
    let mut seen = HashMap::new();
    for (index, frame) in frames.iter().enumerate() {
        if let Some(first) = seen.insert(frame.session_id.as_str(), index) {
            let handle = Handle::from_index(tree.len() + first).expect("checked by the caller");
            return Err(Error::DuplicateId { session_id: frame.session_id.clone(), handle });
        }
    }
    let bad = links.bad_parents().into_iter().next().or_else(|| links.bad_dependencies().into_iter().next());
    match bad {
        Some(link) => Err(link.into_error(frames)),
        None => Ok(links.parents_first()),
    }
}

fn new_frame(tree: &Tree, new: NewFrame, status: FrameStatus) -> Result<Frame> {
    let parent = resolve_parent(tree, &new.parent, new.caller.as_deref())?;
    if let Some(parent) = parent {
        check_parent(tree, parent, status)?;
    }
    let depends_on = new
        .depends_on
        .iter()
        .map(|dependency| Ok(tree.node(tree.resolve(dependency)?).session_id().to_owned()))
        .collect::<Result<Vec<_>>>()?;
    record(tree, new, parent, depends_on, status)
}

/// Children may name each other before any of them is in the tree.
fn planned_children(tree: &Tree, parent: &Parent, caller: Option<&str>, children: Vec<NewFrame>) -> Result<Vec<Frame>> {
    let parent = resolve_parent(tree, parent, caller)?;
    if let Some(parent) = parent {
        check_parent(tree, parent, FrameStatus::Planned)?;
    }
    let ids: Vec<Option<String>> = children.iter().map(|child| child.session_id.clone()).collect();
    let resolve = |dependency: &FrameRef| match dependency {
        FrameRef::Id(text) | FrameRef::Text(text) if ids.iter().any(|id| id.as_ref() == Some(text)) => Ok(text.clone()),
        other => Ok(tree.node(tree.resolve(other)?).session_id().to_owned()),
    };
    children
        .into_iter()
        .map(|child| {
            let depends_on = child.depends_on.iter().map(resolve).collect::<Result<Vec<_>>>()?;
            record(tree, child, parent, depends_on, FrameStatus::Planned)
        })
        .collect()
}

fn record(
    tree: &Tree,
    new: NewFrame,
    parent: Option<Handle>,
    depends_on: Vec<String>,
    status: FrameStatus,
) -> Result<Frame> {
    let session_id = new.session_id.unwrap_or_default();
    check_id(tree, &session_id)?;
    not_empty("title", &new.identity.title)?;
    Ok(Frame {
        session_id,
        parent_session_id: parent.map(|parent| tree.node(parent).session_id().to_owned()),
        status,
        title: new.identity.title,
        success_criteria: new.identity.success_criteria,
        success_criteria_compacted: new.identity.success_criteria_compacted,
        depends_on,
        ..Frame::default()
    })
}

fn check_id(tree: &Tree, session_id: &str) -> Result<()> {
    not_empty("sessionID", session_id)?;
    match tree.by_id(session_id) {
        Some(handle) => Err(Error::DuplicateId { session_id: session_id.to_owned(), handle }),
        None => Ok(()),
    }
}

fn not_empty(field: &'static str, text: &str) -> Result<()> {
    if text.trim().is_empty() { Err(Error::Empty { field }) } else { Ok(()) }
}

fn not_longer(field: &'static str, text: &str, limit: usize) -> Result<()> {
    match text.chars().count() {
        length if length > limit => Err(Error::TooLong { field, length, limit }),
        _ => Ok(()),
    }
}

/// A chunk can be allocated if no other of its name is in sight: of its frame, or of a frame below that is not
/// finished and would see two.
fn check_chunk(tree: &Tree, handle: Handle, chunk: &NewChunk) -> Result<()> {
    not_empty("name", &chunk.name)?;
    for (field, text, limit) in
        [("name", &chunk.name, NewChunk::NAME_LIMIT), ("description", &chunk.description, NewChunk::DESCRIPTION_LIMIT)]
    {
        not_longer(field, text, limit)?;
        if text.chars().any(char::is_control) {
            return Err(Error::NotOneLine { field });
        }
    }
    not_longer("content", &chunk.content, NewChunk::CONTENT_LIMIT)?;
    let above = tree.chunk(handle, &chunk.name).map(|(owner, _)| owner);
    let would_see_two =
        |frame: &Handle| tree.own_chunk(*frame, &chunk.name).is_some() && tree.node(*frame).status().is_unfinished();
    let below = || tree.subtree(handle).skip(1).find(would_see_two);
    match above.or_else(below) {
        Some(owner) => Err(Error::ChunkExists { name: chunk.name.clone(), handle: owner }),
        None => Ok(()),
    }
}

/// The chunk that a frame sees under a name.
pub(crate) fn known_chunk<'a>(tree: &'a Tree, handle: Handle, name: &str) -> Result<(Handle, &'a Chunk)> {
    tree.chunk(handle, name).ok_or_else(|| Error::UnknownChunk {
        name: name.to_owned(),
        handle,
        known: tree.chunks(handle).into_iter().map(|(_, chunk)| chunk.name.clone()).collect(),
    })
}

/// The registers of a frame that is about to begin, if those of its parent are in use.
fn inherited_registers(tree: &Tree, parent: Handle, child: &Frame) -> Option<RegisterValues> {
    let registers = tree.node(parent).record().registers.as_deref()?;
    let objective = first_filled(child.dense_criteria(), &child.title);
    Some(registers.pushed(&child.title, objective).changes_since(&Registers::default()))
}

/// The parent of a frame that is about to be popped, and its registers afterwards, if both use any.
fn returned_registers(tree: &Tree, handle: Handle, dense: &str, full: &str) -> Option<(Handle, RegisterValues)> {
    let child = tree.node(handle).record();
    let parent = tree.node(handle).parent()?;
    let present = tree.node(parent).record().registers.as_deref()?;
    let returned = present.popped(child.registers.as_deref()?, &child.title, first_filled(dense, full));
    Some((parent, returned.changes_since(present)))
}

/// Explicit, else the calling session's open frame, else the active frame.
fn resolve_parent(tree: &Tree, parent: &Parent, caller: Option<&str>) -> Result<Option<Handle>> {
    match parent {
        Parent::Frame(reference) => tree.resolve(reference).map(Some),
        Parent::Root => Ok(None),
        Parent::Auto => {
            let own = caller.and_then(|caller| tree.by_id(caller));
            Ok(own.filter(|frame| tree.node(*frame).status().is_open()).or(tree.active()))
        }
    }
}

fn check_parent(tree: &Tree, parent: Handle, child: FrameStatus) -> Result<()> {
    match tree.node(parent).status() {
        FrameStatus::Planned if child == FrameStatus::Planned => Ok(()),
        FrameStatus::Planned => Err(Error::ParentPlanned { handle: parent }),
        status if status.is_open() => Ok(()),
        status => Err(Error::ParentClosed { handle: parent, status }),
    }
}
