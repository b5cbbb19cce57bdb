//! What a file and a stack do not agree about, in words.

use std::collections::HashMap;

use super::{PlanConflict, PlanField};
use crate::frame::{Frame, Handle};
use crate::text::{beginning, one_line};
use crate::tree::Tree;

/// Maximum length of a value in a conflict, in characters.
const SHOWN: usize = 120;

/// The two sides of a conflict.
pub(in crate::import) struct Sides<'a> {
    pub(in crate::import) tree: &'a Tree,
    /// The IDs of the frames in the plan.
    pub(in crate::import) ids: &'a HashMap<Handle, String>,
    pub(in crate::import) handle: Handle,
    /// What the file says.
    pub(in crate::import) file: &'a Frame,
    /// What the stack says: the frame, or a newer attempt at its work.
    pub(in crate::import) record: &'a Frame,
}

impl Sides<'_> {
    pub(in crate::import) fn conflict(&self, field: PlanField, advice: String) -> PlanConflict {
        let (file, stack) = self.said(field);
        PlanConflict {
            frame: self.handle,
            id: self.file.session_id.clone(),
            title: self.record.title.clone(),
            field,
            file,
            stack,
            advice,
        }
    }

    /// What the file and the stack say about a field.
    fn said(&self, field: PlanField) -> (String, String) {
        let Self { tree, file, record, .. } = self;
        let node = tree.node(self.handle);
        let id = |other: &Handle| self.ids.get(other).cloned().unwrap_or_else(|| other.to_string());
        let none = || "none".to_owned();
        let text = |text: &str| beginning(&one_line(text), SHOWN).to_owned();
        let names = |ids: &[String]| if ids.is_empty() { none() } else { text(&ids.join(", ")) };
        let priority = |frame: &Frame| frame.priority.map_or_else(none, |priority| priority.to_string());
        let assignee = |frame: &Frame| frame.assignee.as_deref().map_or_else(none, text);
        let results = |frame: &Frame| text(frame.results.as_deref().unwrap_or_default());
        match field {
            PlanField::Title => (text(&file.title), text(&record.title)),
            PlanField::Criteria => (text(&file.success_criteria), text(&record.success_criteria)),
            PlanField::Task => (text(&file.task), text(&record.task)),
            PlanField::Priority => (priority(file), priority(record)),
            PlanField::Labels => (names(&file.labels), names(&record.labels)),
            PlanField::Assignee => (assignee(file), assignee(record)),
            PlanField::DependsOn => {
                (names(&file.depends_on), names(&node.dependencies().iter().map(id).collect::<Vec<_>>()))
            }
            PlanField::Parent => {
                (file.parent_session_id.clone().unwrap_or_default(), node.parent().as_ref().map_or_else(none, id))
            }
            PlanField::Results => (results(file), results(record)),
            PlanField::Status | PlanField::Order => (file.status.to_string(), record.status.to_string()),
        }
    }
}

/// What can be done about a field if an import does not take over what the file says. `is_own`: the frame was
/// begun here.
pub(super) fn advice(field: PlanField, record: &Frame, is_own: bool) -> &'static str {
    match (field, is_own) {
        (PlanField::Status, _) if !record.status.is_unfinished() => {
            "it has ended here: reopen or retry it for what the file says, or say in the file that it has ended"
        }
        (PlanField::Status, true) => {
            "it was begun here: end it with what the file says, or let the file say that it continues"
        }
        (_, true) => "it was begun here: correct the frame, or take the change of the file back",
        (_, false) => {
            "both have changed it: change the frame to what the file says, or the file to what the stack says"
        }
    }
}
