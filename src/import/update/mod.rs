//! A plan that was imported before, and has changed since: what happens to the frames of the stack.
//!
//! Each field is compared in three versions: what the file said at the last import
//! ([`Origin`](crate::frame::Origin)), what it says now, and what the stack has. A change that only the file
//! has made is taken over, unless the frame was begun here. What was changed here stays. A field that both
//! have changed is a conflict, and stays as it is here until one of them is changed.

mod changes;
mod conflicts;
mod known;
mod leaving;
mod links;
mod merge;
mod order;
mod updater;

use serde::Serialize;

pub(super) use self::conflicts::Sides;
pub(super) use self::known::Known;
pub(super) use self::merge::{Here, Verdict, begun_here, said_by, status_verdict, verdict};
pub(super) use self::order::in_file;
use self::updater::Updater;
use super::{Imported, plan_file};
use crate::error::Result;
use crate::frame::{FrameStatus, Handle};
use crate::tree::{Draft, Tree};

/// What the import of a plan does to a stack.
///
/// In JSON: `{"added": [{"frame": "f7", "id": "app-9", "title": "Taxes", "becomes": "added", "fields": []}],
/// "changes": [{"frame": "f3", "id": "app-2", "title": "Cart", "becomes": "finished", "fields": ["title"]}],
/// "conflicts": [{"frame": "f4", "id": "app-3", "title": "Totals", "field": "status", "file": "completed",
/// "stack": "in_progress", "advice": "…"}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanUpdate {
    /// The new frames. Before they are added, they have the handles that they would get.
    pub added: Vec<PlanChange>,
    /// The frames that were there, and that change.
    pub changes: Vec<PlanChange>,
    /// The fields on which the stack and the file differ: they keep the values of the stack.
    pub conflicts: Vec<PlanConflict>,
    /// Number of frames that were there, and that do not change.
    pub unchanged: usize,
}

/// The change of a frame of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanChange {
    /// The frame.
    pub frame: Handle,
    /// Its ID in the plan.
    pub id: String,
    /// Its title in the file; for a removed frame, its title here.
    pub title: String,
    /// What happens to it.
    pub becomes: Becomes,
    /// What the file has changed.
    pub fields: Vec<PlanField>,
}

/// The change of a frame when its plan is brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Becomes {
    /// It is new.
    Added,
    /// Its status stays; its words, its links or its place change.
    Edited,
    /// It is planned: it waits no longer, or is open again.
    Planned,
    /// It waits for a person, or for a time.
    Waiting,
    /// It was begun elsewhere.
    Begun,
    /// It is completed, or has failed, with what the file says.
    Finished,
    /// The file takes it out of the plan.
    Invalidated,
    /// The file does not have it any more; it leaves the plan.
    Removed,
}

impl Becomes {
    /// What happens to a frame with another status.
    pub(super) fn of(status: FrameStatus) -> Self {
        match status {
            FrameStatus::Planned => Becomes::Planned,
            FrameStatus::InProgress => Becomes::Begun,
            FrameStatus::Blocked => Becomes::Waiting,
            FrameStatus::Completed | FrameStatus::Failed => Becomes::Finished,
            FrameStatus::Invalidated => Becomes::Invalidated,
        }
    }
}

/// A part of a frame that a file can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PlanField {
    /// The title.
    Title,
    /// The success criteria.
    Criteria,
    /// The full instruction.
    Task,
    /// The priority.
    Priority,
    /// The labels.
    Labels,
    /// The person or agent that does the work.
    Assignee,
    /// The frames whose results it needs.
    DependsOn,
    /// The frame above it.
    Parent,
    /// The results.
    Results,
    /// The status.
    Status,
    /// The order of the frames below it; for an entry at the top, also the order of the top.
    Order,
}

impl PlanField {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            PlanField::Title => "title",
            PlanField::Criteria => "criteria",
            PlanField::Task => "task",
            PlanField::Priority => "priority",
            PlanField::Labels => "labels",
            PlanField::Assignee => "assignee",
            PlanField::DependsOn => "dependencies",
            PlanField::Parent => "parent",
            PlanField::Results => "results",
            PlanField::Status => "status",
            PlanField::Order => "order",
        }
    }
}

/// A part of a frame about which the file and the stack say different things. Both stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanConflict {
    /// The frame.
    pub frame: Handle,
    /// Its ID in the plan.
    pub id: String,
    /// Its title here.
    pub title: String,
    /// The field about which they do not agree.
    pub field: PlanField,
    /// What the file says.
    pub file: String,
    /// What the stack says.
    pub stack: String,
    /// What can be done.
    pub advice: String,
}

/// What the import of a plan would do to a tree. Nothing changes.
///
/// # Errors
/// The same as for [`Stack::bring_up_to_date`](crate::Stack::bring_up_to_date).
pub fn compare(tree: &Tree, plan: &Imported, below: Option<Handle>) -> Result<PlanUpdate> {
    bring_up_to_date(&mut Draft::new(tree, 0), plan, below)
}

/// Adds events to a draft. They bring the frames of a plan up to date, or add the frames of a new plan.
pub(crate) fn bring_up_to_date(draft: &mut Draft<'_>, plan: &Imported, below: Option<Handle>) -> Result<PlanUpdate> {
    let tree = match &plan.plan_file {
        Some(last) => plan_file::with_origins(draft.tree, plan, last),
        None => draft.tree.clone(),
    };
    let known = Known::of(&tree, plan)?;
    Updater::new(draft, tree, known, plan, below).update()
}
