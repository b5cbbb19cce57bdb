//! Commands that create frames: push, plan, ensure, import; and the identity of placeholder frames.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem;

use serde_json::Map;

use super::limiting::check_limits;
use super::memory::inherited_registers;
use super::{check_length, check_name, not_empty};
use crate::error::{Error, Result};
use crate::frame::{
    Actor, Change, Frame, FrameLimits, FrameRef, FrameStatus, Handle, Holder, HolderKind, Identity, NewFrame, Parent,
    Question, Target, marks,
};
use crate::text::one_line;
use crate::tree::links::Links;
use crate::tree::titles::folded;
use crate::tree::{Draft, Tree};

impl Draft<'_> {
    pub(super) fn push_frame(&mut self, mut frame: NewFrame) -> Result<()> {
        let tree = self.tree;
        self.place_below_own(&mut frame.parent, frame.caller.as_deref());
        let frame = new_frame(tree, frame, FrameStatus::InProgress)?;
        let parent = frame.parent_session_id.as_ref().and_then(|parent| tree.by_id(parent));
        let inherited = parent.and_then(|parent| inherited_registers(tree, parent, &frame));
        let handle = self.add(vec![frame])?;
        self.push(handle, Change::ActiveChanged { active: true });
        self.take_new(handle, parent);
        if let Some(registers) = inherited {
            self.push(handle, Change::RegistersChanged { registers });
        }
        Ok(())
    }

    pub(super) fn plan_frame(&mut self, mut frame: NewFrame) -> Result<()> {
        self.place_below_own(&mut frame.parent, frame.caller.as_deref());
        self.add(vec![new_frame(self.tree, frame, FrameStatus::Planned)?]).map(drop)
    }

    /// Puts a frame that a worker adds without a parent below the frame of that worker.
    fn place_below_own(&self, parent: &mut Parent, caller: Option<&str>) {
        let own = self.actor.as_ref().and_then(Actor::frame).filter(|_| caller.is_none());
        if let (Parent::Auto, Some(own)) = (&parent, own) {
            *parent = Parent::Frame(own.into());
        }
    }

    pub(super) fn plan_children(
        &mut self,
        mut parent: Parent,
        caller: Option<&str>,
        children: Vec<NewFrame>,
    ) -> Result<()> {
        self.place_below_own(&mut parent, caller);
        let frames = planned_children(self.tree, &parent, caller, children)?;
        if !frames.is_empty() {
            self.add(frames)?;
        }
        Ok(())
    }

    /// Retries a frame: makes a planned sibling for the same work. From then on the sibling counts instead of
    /// the frame. `note`: what the new attempt must do differently. `is_interrupted`: no worker or agent
    /// works on the frame any more, so it may be in_progress.
    pub(super) fn retry(
        &mut self,
        handle: Handle,
        session_id: String,
        note: Option<String>,
        is_interrupted: bool,
    ) -> Result<()> {
        let (tree, node) = (self.tree, self.tree.node(handle));
        let (frame, status) = (node.record(), node.status());
        let newest = node.retried_as().map(|_| tree.newest_attempt(handle));
        let can_be_retried = match status {
            FrameStatus::Failed | FrameStatus::Blocked => newest.is_none(),
            FrameStatus::InProgress => is_interrupted || frame.is_interrupted(),
            _ => false,
        };
        let held = match can_be_retried {
            // A host may not have noticed yet that it was stopped. The work that its session has done is not
            // recorded.
            true => frame.host(),
            false => tree.holder(handle, self.now).filter(|holder| holder.kind == HolderKind::Worker),
        };
        if let Some(holder) = held {
            return Err(Error::Held { handle, by: holder.described(), until: holder.until });
        }
        if !can_be_retried {
            return Err(Error::NotRetriable { handle, status, newest });
        }
        check_id(tree, &session_id)?;
        if let Some(parent) = node.parent() {
            check_parent(tree, parent, FrameStatus::Planned)?;
        }
        let asked = frame.current_question().filter(|asked| asked.answer.is_none() && !asked.interruption);
        let questions = note.filter(|note| !note.trim().is_empty()).map(|note| Question {
            question: asked
                .map_or(format!("What must be done differently than in {handle}?"), |asked| asked.question.clone()),
            asked_at: self.now,
            answer: Some(note),
            answered_at: Some(self.now),
            ..Question::default()
        });
        let id = |handle: Handle| tree.node(handle).session_id().to_owned();
        let next = Frame {
            session_id,
            parent_session_id: node.parent().map(id),
            title: frame.title.clone(),
            success_criteria: frame.success_criteria.clone(),
            success_criteria_compacted: frame.success_criteria_compacted.clone(),
            task: frame.task.clone(),
            priority: frame.priority,
            labels: frame.labels.clone(),
            assignee: frame.assignee.clone(),
            limits: frame.limits.clone(),
            depends_on: node.dependencies().iter().copied().map(id).collect(),
            questions: questions.into_iter().collect(),
            retry_of: Some(id(handle)),
            ..Frame::default()
        };
        self.fail_for_retry(handle)?;
        let next = self.add(vec![next])?;
        for below in tree.unbegun_below(handle) {
            self.push(below, Change::Invalidated { reason: format!("{handle} was retried as {next}") });
        }
        Ok(())
    }

    pub(super) fn ensure(&mut self, session_id: String, title: Option<String>, parent: Option<FrameRef>) -> Result<()> {
        if self.tree.by_id(&session_id).is_some() {
            return Ok(());
        }
        check_name("sessionID", &session_id, Frame::LONGEST_ID)?;
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
        self.take_new(handle, parent);
        Ok(())
    }

    pub(super) fn identify(&mut self, handle: Handle, identity: Identity, provisional: bool) -> Result<()> {
        let frame = self.tree.node(handle).record();
        if !frame.placeholder {
            return Err(Error::IdentityFixed { handle });
        }
        not_empty("title", &identity.title)?;
        if !provisional || identity != frame.identity() {
            self.push(handle, Change::Identified { identity, provisional });
        }
        Ok(())
    }

    /// Sets the identity of a placeholder for good, because a frame is added below it on purpose: frames
    /// below it are made for its present task. A placeholder without criteria has no task yet, so it gets its
    /// identity later.
    pub(super) fn fix_identity(&mut self, handle: Handle) {
        let frame = self.tree.node(handle).record();
        if frame.placeholder && !frame.success_criteria.trim().is_empty() {
            self.push(handle, Change::Identified { identity: frame.identity(), provisional: false });
        }
    }

    pub(crate) fn import(&mut self, mut frames: Vec<Frame>) -> Result<()> {
        for frame in &mut frames {
            check_id(self.tree, &frame.session_id)?;
            // The logs stay in the place from which the frames come. Here the path would name another file,
            // or no file.
            frame.log_path = None;
        }
        if let Some(link) = Links::new(self.tree, &frames).bad_attempts().into_iter().next() {
            return Err(link.into_error(self.tree, &frames));
        }
        if !frames.is_empty() {
            let first = self.add(frames)?;
            self.push(first, Change::Imported { extra: Map::new() });
        }
        Ok(())
    }

    /// Adds one or more frames and returns the handle of the first one. Their links are IDs of frames of the
    /// tree or of the list. Frames without a time of creation get the time of the command.
    fn add(&mut self, mut frames: Vec<Frame>) -> Result<Handle> {
        let tree = self.tree;
        let full = || Error::Full { limit: Handle::LIMIT };
        let first = Handle::from_index(tree.len()).ok_or_else(full)?;
        let last = frames.len() - 1;
        Handle::from_index(tree.len() + last).ok_or_else(full)?;
        let mut late = Vec::new();
        let mut parents = BTreeSet::new();
        // The IDs of the list that frames later in the list may depend on.
        let mut added = HashSet::new();
        for (position, index) in order(tree, &frames)?.into_iter().enumerate() {
            let handle = Handle::from_index(tree.len() + position).expect("checked above");
            let mut frame = std::mem::take(&mut frames[index]);
            check_task(&frame.task)?;
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
            if position < last {
                added.insert(frame.session_id.clone());
            }
            // A placeholder was not added on purpose.
            if !frame.placeholder {
                parents.extend(frame.parent_session_id.as_deref().and_then(|parent| tree.by_id(parent)));
            }
            self.push(handle, Change::Added { frame: Box::new(frame) });
        }
        for (handle, depends_on) in late {
            self.push(handle, Change::DependenciesAdded { depends_on });
        }
        parents.into_iter().for_each(|parent| self.fix_identity(parent));
        Ok(first)
    }
}

/// The order in which frames can be added: parents before their children.
fn order(tree: &Tree, frames: &[Frame]) -> Result<Vec<usize>> {
    let parent_is_known = |frame: &Frame| frame.parent_session_id.as_deref().is_none_or(|id| tree.by_id(id).is_some());
    match frames {
        // Shortcut for the usual case: a single frame with a known parent, or none, cannot be part of a
        // circle.
        [alone] if alone.depends_on.is_empty() && parent_is_known(alone) => Ok(vec![0]),
        _ => check_links(tree, frames),
    }
}

/// Checks the links of several frames, and returns the order in which they can be added.
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
        Some(link) => Err(link.into_error(tree, frames)),
        None => Ok(links.parents_first()),
    }
}

fn new_frame(tree: &Tree, mut new: NewFrame, status: FrameStatus) -> Result<Frame> {
    let parent = open_parent(tree, &new.parent, new.caller.as_deref(), status)?;
    let depends_on = new
        .depends_on
        .iter()
        .map(|dependency| Ok(tree.node(tree.resolve_near(dependency, parent)?).session_id().to_owned()))
        .collect::<Result<Vec<_>>>()?;
    check_new(tree, &mut new)?;
    check_new_limits(tree, &new, parent)?;
    Ok(record(tree, new, parent, depends_on, status))
}

/// The records of planned children. A child may depend on any other child of the list, which is not in the
/// tree yet.
fn planned_children(tree: &Tree, parent: &Parent, caller: Option<&str>, children: Vec<NewFrame>) -> Result<Vec<Frame>> {
    let parent = open_parent(tree, parent, caller, FrameStatus::Planned)?;
    let list = List::of(&children);
    let resolve = |dependency: &FrameRef| match list.find(tree, dependency)? {
        Some(id) => Ok(id),
        None => Ok(tree.node(tree.resolve_near(dependency, parent)?).session_id().to_owned()),
    };
    let depends_on = children.iter().enumerate().map(|(index, child)| {
        let ids = child.depends_on.iter().map(resolve).collect::<Result<Vec<_>>>();
        ids.map_err(|error| in_list(index, &child.identity.title, error))
    });
    let depends_on = depends_on.collect::<Result<Vec<_>>>()?;
    let made = children.into_iter().zip(depends_on).enumerate().map(|(index, (mut child, depends_on))| {
        let title = child.identity.title.clone();
        let refused = |error| in_list(index, &title, error);
        check_new(tree, &mut child).map_err(refused)?;
        check_new_limits(tree, &child, parent).map_err(refused)?;
        Ok(record(tree, child, parent, depends_on, FrameStatus::Planned))
    });
    made.collect()
}

/// The error of a child of a list.
fn in_list(index: usize, title: &str, error: Error) -> Error {
    Error::Child { number: index + 1, title: one_line(title), error: Box::new(error) }
}

/// The children of a list by their IDs and titles.
struct List {
    ids: HashSet<String>,
    /// For each title, the number of a child that has it, its title and its ID.
    titles: HashMap<String, Vec<(usize, String, String)>>,
}

impl List {
    fn of(children: &[NewFrame]) -> Self {
        let named = || children.iter().filter_map(|child| Some((child, child.session_id.clone()?)));
        let mut titles: HashMap<_, Vec<_>> = HashMap::new();
        for (number, (child, id)) in (1..).zip(named()) {
            let title = &child.identity.title;
            titles.entry(folded(title).collect()).or_default().push((number, title.trim().to_owned(), id));
        }
        Self { ids: named().map(|(_, id)| id).collect(), titles }
    }

    /// The ID of the child that a reference names, by its ID or its title. A child is preferred to a frame of
    /// the tree with the same title, but not to a frame whose ID is this text. `None`: the reference does not
    /// name a child.
    fn find(&self, tree: &Tree, reference: &FrameRef) -> Result<Option<String>> {
        let name = match reference.target() {
            Target::Id(id) | Target::Name(id) if self.ids.contains(id) => return Ok(Some(id.to_owned())),
            Target::Name(name) if tree.by_id(name).is_none() => name,
            _ => return Ok(None),
        };
        let Some(titled) = self.titles.get(&folded(name).collect::<String>()) else { return Ok(None) };
        let same_case: Vec<_> = titled.iter().filter(|(_, title, _)| title == name.trim()).collect();
        match if same_case.is_empty() { titled.iter().collect() } else { same_case }[..] {
            [(_, _, id)] => Ok(Some(id.clone())),
            ref several => Err(Error::AmbiguousFrame {
                reference: name.to_owned(),
                candidates: several
                    .iter()
                    .take(8)
                    .map(|(number, title, _)| format!("child {number} ({title})"))
                    .collect(),
            }),
        }
    }
}

fn record(tree: &Tree, new: NewFrame, parent: Option<Handle>, depends_on: Vec<String>, status: FrameStatus) -> Frame {
    Frame {
        session_id: new.session_id.unwrap_or_default(),
        parent_session_id: parent.map(|parent| tree.node(parent).session_id().to_owned()),
        status,
        title: new.identity.title,
        success_criteria: new.identity.success_criteria,
        success_criteria_compacted: new.identity.success_criteria_compacted,
        task: new.task,
        priority: new.priority,
        labels: new.labels,
        assignee: new.assignee,
        limits: (new.limits != FrameLimits::default()).then(|| Box::new(new.limits)),
        depends_on,
        ..Frame::default()
    }
}

/// Checks the texts of a new frame, and brings its labels and its assignee into their form.
fn check_new(tree: &Tree, new: &mut NewFrame) -> Result<()> {
    new.labels = labels_of(mem::take(&mut new.labels))?;
    new.assignee = assignee_of(new.assignee.take())?;
    check_id(tree, new.session_id.as_deref().unwrap_or_default())?;
    not_empty("title", &new.identity.title)
}

fn check_new_limits(tree: &Tree, new: &NewFrame, parent: Option<Handle>) -> Result<()> {
    let handle = parent.or_else(|| Handle::from_index(tree.len()));
    handle.map_or(Ok(()), |handle| check_limits(tree, &new.limits, handle, parent))
}

/// Labels without repetitions, in their order.
pub(super) fn labels_of(labels: Vec<String>) -> Result<Vec<String>> {
    let mut distinct: Vec<String> = Vec::new();
    for label in labels {
        let label = marks::label(&label);
        check_name("label", &label, Frame::LONGEST_LABEL)?;
        if !marks::have(&distinct, &label) {
            distinct.push(label);
        }
    }
    match distinct.len() {
        count if count > Frame::MOST_LABELS => Err(Error::Setting {
            name: "labels".into(),
            value: format!("{count} labels"),
            expected: "at most 50 labels",
        }),
        _ => Ok(distinct),
    }
}

/// The name of the assignee.
pub(super) fn assignee_of(assignee: Option<String>) -> Result<Option<String>> {
    let name = assignee.map(|name| marks::label(&name));
    name.iter().try_for_each(|name| check_name("assignee", name, Holder::LONGEST_NAME))?;
    Ok(name)
}

/// Refuses a task that is too long.
pub(super) fn check_task(task: &str) -> Result<()> {
    check_length("task", task, Frame::LONGEST_TASK)
}

fn check_id(tree: &Tree, session_id: &str) -> Result<()> {
    check_name("sessionID", session_id, Frame::LONGEST_ID)?;
    match tree.by_id(session_id) {
        Some(handle) => Err(Error::DuplicateId { session_id: session_id.to_owned(), handle }),
        None => Ok(()),
    }
}

/// The parent of a new frame. Its status must allow a child with the status `child`.
fn open_parent(tree: &Tree, parent: &Parent, caller: Option<&str>, child: FrameStatus) -> Result<Option<Handle>> {
    let parent = resolve_parent(tree, parent, caller)?;
    if let Some(parent) = parent {
        check_parent(tree, parent, child)?;
    }
    Ok(parent)
}

/// The explicit parent. For [`Parent::Auto`] the open frame of the calling session, or else the nearest open
/// frame above it. For a session without a frame there is no parent. Without a calling session, the active
/// frame is the parent.
fn resolve_parent(tree: &Tree, parent: &Parent, caller: Option<&str>) -> Result<Option<Handle>> {
    match parent {
        Parent::Frame(reference) => tree.resolve(reference).map(Some),
        Parent::Root => Ok(None),
        Parent::Auto => {
            let Some(caller) = caller else { return Ok(tree.active()) };
            // If all frames of the caller's branch are closed, the parent is the caller's own frame, which is
            // an error.
            Ok(tree.by_id(caller).map(|own| tree.nearest_open(own).unwrap_or(own)))
        }
    }
}

pub(super) fn check_parent(tree: &Tree, parent: Handle, child: FrameStatus) -> Result<()> {
    match tree.node(parent).status() {
        FrameStatus::Planned if child == FrameStatus::Planned => Ok(()),
        FrameStatus::Planned => Err(Error::ParentPlanned { handle: parent }),
        status if status.is_open() => Ok(()),
        status => Err(Error::ParentClosed { handle: parent, status }),
    }
}
