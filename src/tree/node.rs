//! A node of the tree: the frame's record, its links to other frames, and its revisions.

use super::Conversation;
use crate::frame::{Frame, FrameStatus, Handle, Identity};

/// A node of a [`Tree`](super::Tree): the frame's record, its links to other frames, and its revisions.
///
/// The link fields of the record (parent, dependencies, planned children) are empty, because the node keeps links as
/// handles. [`Tree::frame`](super::Tree::frame) returns a record with these fields.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) frame: Frame,
    pub(super) parent: Option<Handle>,
    pub(super) children: Vec<Handle>,
    pub(super) dependencies: Vec<Handle>,
    pub(super) dependents: Vec<Handle>,
    /// Finished children, in the order in which they finished.
    pub(super) finished_children: Vec<Handle>,
    /// Places of the start and of the finish in the tree's sequence; 0: not yet.
    pub(super) started: u64,
    pub(super) finished: u64,
    /// Revisions of the last change of the frame, of its settled view, and of any child.
    pub(super) revision: u64,
    pub(super) settled_revision: u64,
    pub(super) children_revision: u64,
    /// The old values of fields that have changed since the last status change in the tree; see [`Settled`].
    pub(super) before: Option<Box<Before>>,
    pub(super) conversation: Option<Box<Conversation>>,
}

/// The settled view of a frame: its fields as they were at the last push or status change in the tree.
///
/// The stable part of a context shows this view. An artifact that is recorded in an ancestor therefore does not
/// invalidate the prompt cache.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Settled<'a> {
    /// Short name.
    pub title: &'a str,
    /// Success criteria: checkable conditions for the completion of the frame.
    pub success_criteria: &'a str,
    /// Compacted success criteria; can be empty.
    pub success_criteria_compacted: &'a str,
    /// Files and other resources that the work produced.
    pub artifacts: &'a [String],
    /// Decisions made during the work, oldest first.
    pub decisions: &'a [String],
    /// Path of the full log, relative to the stack's folder or absolute.
    pub log_path: Option<&'a str>,
}

#[derive(Debug, Clone)]
pub(super) struct Before {
    pub(super) artifacts: usize,
    pub(super) decisions: usize,
    pub(super) log_path: Option<String>,
    pub(super) identity: Option<Identity>,
}

impl Node {
    pub(super) fn new(frame: Frame, parent: Option<Handle>) -> Self {
        Self {
            frame,
            parent,
            children: Vec::new(),
            dependencies: Vec::new(),
            dependents: Vec::new(),
            finished_children: Vec::new(),
            started: 0,
            finished: 0,
            revision: 0,
            settled_revision: 0,
            children_revision: 0,
            before: None,
            conversation: None,
        }
    }

    /// The frame's ID: the ID of the host's session, or `plan-…`.
    pub fn session_id(&self) -> &str {
        &self.frame.session_id
    }

    /// The status.
    pub fn status(&self) -> FrameStatus {
        self.frame.status
    }

    /// Short name.
    pub fn title(&self) -> &str {
        &self.frame.title
    }

    /// The record without its link fields. [`Tree::frame`](super::Tree::frame) returns the complete record.
    pub fn record(&self) -> &Frame {
        &self.frame
    }

    /// The parent; `None` for a root.
    pub fn parent(&self) -> Option<Handle> {
        self.parent
    }

    /// The children in creation order.
    pub fn children(&self) -> &[Handle] {
        &self.children
    }

    /// The children that are completed or failed, in the order in which they finished.
    pub fn finished_children(&self) -> &[Handle] {
        &self.finished_children
    }

    /// The frames whose results this one needs.
    pub fn dependencies(&self) -> &[Handle] {
        &self.dependencies
    }

    /// The frames that need this one's results.
    pub fn dependents(&self) -> &[Handle] {
        &self.dependents
    }

    /// Place of the frame's start (push or activation) in the tree's sequence of starts and finishes, from 1. `None` if
    /// the frame has not started.
    pub fn started(&self) -> Option<u64> {
        (self.started > 0).then_some(self.started)
    }

    /// Place of the frame's finish in the tree's sequence of starts and finishes, from 1. `None` if the frame
    /// has not finished.
    pub fn finished(&self) -> Option<u64> {
        (self.finished > 0).then_some(self.finished)
    }

    /// Revision of the frame's last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Revision of the last change of the settled view.
    pub fn settled_revision(&self) -> u64 {
        self.settled_revision
    }

    /// Revision of the last change of any child.
    pub fn children_revision(&self) -> u64 {
        self.children_revision
    }

    /// The conversation of the frame, if it belongs to a run.
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversation.as_deref()
    }

    /// The settled view of the frame: its fields as they were at the last push or status change in the tree.
    /// The stable part of a context shows this view.
    pub fn settled(&self) -> Settled<'_> {
        let frame = &self.frame;
        let mut settled = Settled {
            title: &frame.title,
            success_criteria: &frame.success_criteria,
            success_criteria_compacted: &frame.success_criteria_compacted,
            artifacts: &frame.artifacts,
            decisions: &frame.decisions,
            log_path: frame.log_path.as_deref(),
        };
        if let Some(before) = &self.before {
            settled.artifacts = &frame.artifacts[..before.artifacts];
            settled.decisions = &frame.decisions[..before.decisions];
            settled.log_path = before.log_path.as_deref();
            if let Some(identity) = &before.identity {
                settled.title = &identity.title;
                settled.success_criteria = &identity.success_criteria;
                settled.success_criteria_compacted = &identity.success_criteria_compacted;
            }
        }
        settled
    }
}
