//! The command that edits a planned frame, or corrects an open one.

use std::collections::HashSet;

use super::adding::{assignee_of, check_parent, check_task, labels_of};
use super::not_empty;
use crate::error::{Error, Result};
use crate::frame::{Change, Frame, FrameEdit, FrameRef, FrameStatus, Handle};
use crate::tree::links::{Fault, reference};
use crate::tree::{Draft, Tree};

impl Draft<'_> {
    /// Edits a planned frame, or lets a person correct the words and the marks of an open one. The event
    /// contains only the changes.
    pub(super) fn edit(&mut self, handle: Handle, edit: FrameEdit) -> Result<()> {
        let (tree, node) = (self.tree, self.tree.node(handle));
        let can_be_edited = match node.status() {
            FrameStatus::Planned => true,
            status => status.is_open() && self.is_person && !edit.changes_plan(),
        };
        if !can_be_edited {
            return Err(Error::NotPlanned { handle, status: node.status() });
        }
        if let Some(title) = &edit.title {
            not_empty("title", title)?;
        }
        edit.task.as_deref().map_or(Ok(()), check_task)?;
        let Place { parent, before, depends_on } = Place::after(tree, handle, &edit)?;
        let above = node.parent();
        let frame = node.record();
        let labels = edit.labels.map(labels_of).transpose()?;
        let assignee = edit.assignee.map(assignee_of).transpose()?;
        let differs = |new: Option<String>, old: &str| new.filter(|new| new != old);
        // Written as texts, because these are equal to the texts that are read from a store.
        let name = |handle: Handle| FrameRef::Text(handle.to_string());
        let change = FrameEdit {
            title: differs(edit.title, &frame.title),
            success_criteria: differs(edit.success_criteria, &frame.success_criteria),
            success_criteria_compacted: differs(edit.success_criteria_compacted, &frame.success_criteria_compacted),
            task: differs(edit.task, &frame.task),
            priority: edit.priority.filter(|new| *new != frame.priority),
            labels: labels.filter(|new| *new != frame.labels),
            assignee: assignee.filter(|new| *new != frame.assignee),
            depends_on: depends_on
                .filter(|new| new != node.dependencies())
                .map(|new| new.into_iter().map(name).collect()),
            parent: (parent != above).then(|| parent.map(name)),
            before: before
                .filter(|before| match parent == above {
                    true => tree.next(handle) != *before,
                    false => before.is_some(),
                })
                .map(|before| before.map(name)),
        };
        if change != FrameEdit::default() {
            let was = (frame.status != FrameStatus::Planned).then(|| Box::new(words_before(frame, &change)));
            self.push(handle, Change::Edited { edit: Box::new(change), was });
        }
        if let Some(parent) = parent.filter(|_| parent != above) {
            self.fix_identity(parent);
        }
        Ok(())
    }
}

/// The place of a frame after an edit, and the frames that it depends on.
pub(super) struct Place {
    parent: Option<Handle>,
    /// The sibling before which the frame moves; the inner `None` if it moves to the end. `None`: it does not
    /// move.
    before: Option<Option<Handle>>,
    /// All frames that the frame depends on. `None`: the frames that it depends on now.
    depends_on: Option<Vec<Handle>>,
}

impl Place {
    /// # Errors
    /// If the frame cannot be at this place, or cannot depend on these frames.
    pub(super) fn after(tree: &Tree, handle: Handle, edit: &FrameEdit) -> Result<Self> {
        Self::linked(tree, handle, edit, Self::below_open)
    }

    /// Same as [`Place::after`], but with another check of the new parent.
    fn linked(
        tree: &Tree,
        handle: Handle,
        edit: &FrameEdit,
        check: impl FnOnce(&Tree, Handle) -> Result<()>,
    ) -> Result<Self> {
        let find = |reference: &FrameRef| tree.resolve_near(reference, Some(handle));
        let above = tree.node(handle).parent();
        let parent = match &edit.parent {
            Some(parent) => parent.as_ref().map(find).transpose()?,
            None => above,
        };
        if parent != above {
            check_new_parent(tree, handle, parent)?;
            parent.map_or(Ok(()), |parent| check(tree, parent))?;
        }
        let before = match &edit.before {
            Some(Some(sibling)) => Some(Some(find(sibling)?)),
            Some(None) => Some(None),
            None => None,
        };
        if let Some(Some(sibling)) = before
            && (sibling == handle || tree.node(sibling).parent() != parent)
        {
            return Err(Error::NotSibling { handle, before: sibling });
        }
        let depends_on = match &edit.depends_on {
            Some(depends_on) => Some(distinct(tree, depends_on.iter().map(find))?),
            None => None,
        };
        check_dependencies(tree, handle, parent, depends_on.as_deref())?;
        Ok(Self { parent, before, depends_on })
    }

    fn below_open(tree: &Tree, parent: Handle) -> Result<()> {
        check_parent(tree, parent, FrameStatus::Planned)
    }
}

impl Tree {
    /// Checks that a frame can be at the place to which an edit moves it, and can depend on the frames that
    /// the edit names. Its parent can have ended.
    ///
    /// # Errors
    /// As [`Place::after`], except [`Error::ParentClosed`].
    pub(crate) fn check_place(&self, handle: Handle, edit: &FrameEdit) -> Result<()> {
        Place::linked(self, handle, edit, |_, _| Ok(())).map(drop)
    }
}

/// The edit that restores the words and the marks of a frame to their values before an edit.
fn words_before(frame: &Frame, edit: &FrameEdit) -> FrameEdit {
    let before = |new: &Option<String>, old: &String| new.as_ref().map(|_| old.clone());
    FrameEdit {
        title: before(&edit.title, &frame.title),
        success_criteria: before(&edit.success_criteria, &frame.success_criteria),
        success_criteria_compacted: before(&edit.success_criteria_compacted, &frame.success_criteria_compacted),
        task: before(&edit.task, &frame.task),
        priority: edit.priority.map(|_| frame.priority),
        labels: edit.labels.as_ref().map(|_| frame.labels.clone()),
        assignee: edit.assignee.as_ref().map(|_| frame.assignee.clone()),
        ..FrameEdit::default()
    }
}

/// The frames in the same order. Each work is listed once.
fn distinct(tree: &Tree, frames: impl Iterator<Item = Result<Handle>>) -> Result<Vec<Handle>> {
    let mut seen = HashSet::new();
    let mut distinct = frames.collect::<Result<Vec<_>>>()?;
    distinct.retain(|frame| seen.insert(tree.first_attempt(*frame)));
    Ok(distinct)
}

/// Checks that a planned frame can move below a parent.
fn check_new_parent(tree: &Tree, handle: Handle, parent: Option<Handle>) -> Result<()> {
    if let Some(attempt) = tree.node(handle).retry_of() {
        let (frame, attempt) = (reference(tree, handle), reference(tree, attempt));
        let reason = "attempts at the same work have one parent; invalidate this one and plan a new frame there";
        return Err(Error::RetryLink { frame, attempt, reason });
    }
    let Some(parent) = parent else { return Ok(()) };
    if tree.is_at_or_above(handle, parent) {
        return Err(Error::ParentCircle { frame: reference(tree, handle), parent: reference(tree, parent) });
    }
    Ok(())
}

/// Checks the dependencies after an edit: no frame depends on itself, or on a frame above or below it, and no
/// two frames depend on each other.
fn check_dependencies(
    tree: &Tree,
    handle: Handle,
    parent: Option<Handle>,
    depends_on: Option<&[Handle]>,
) -> Result<()> {
    let refuse = |frame: Handle, dependency: Handle, fault: Fault| {
        let (frame, dependency) = (reference(tree, frame), reference(tree, dependency));
        Err(Error::Dependency { frame, dependency, reason: fault.reason() })
    };
    if let Some((frame, dependency)) = tree.kin_after_edit(handle, parent, depends_on) {
        return refuse(frame, dependency, Fault::DependsOnKin);
    }
    let can_wait_for_it = !tree.dependents(handle).is_empty();
    let depends_on = depends_on.filter(|_| can_wait_for_it).unwrap_or_default();
    match depends_on.iter().find(|dependency| tree.depends_on(**dependency, handle)) {
        Some(dependency) => refuse(handle, *dependency, Fault::DependencyCircle),
        None => Ok(()),
    }
}
