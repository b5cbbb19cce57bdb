//! Labels and the assignee of frames: options that set and change them, options by which lists are filtered,
//! and how lists show them.

use callstack_core::text::one_line;
use callstack_core::{Frame, Handle, NewFrame, Tree};
use clap::Args;

use super::changed::quoted;
use crate::exit::Exit;
use crate::failure::Failure;

/// Sets the marks of new frames.
#[derive(Args)]
pub struct Marks {
    /// A label of the frame, such as `backend`. Can be repeated.
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// The person or agent that does the work. Workers of other names leave the frame to them.
    #[arg(long, value_name = "NAME", value_parser = name)]
    assignee: Option<String>,
}

impl Marks {
    pub fn are_given(&self) -> bool {
        !self.labels.is_empty() || self.assignee.is_some()
    }

    /// The frame with these marks.
    pub fn of(&self, mut frame: NewFrame) -> NewFrame {
        frame.labels.extend(self.labels.iter().cloned());
        frame.assignee = self.assignee.clone().or(frame.assignee);
        frame
    }
}

/// Changes the labels of frames.
#[derive(Args)]
pub struct LabelChanges {
    /// A label that it gets. Can be repeated.
    #[arg(long = "add-label", value_name = "LABEL", alias = "label")]
    added: Vec<String>,
    /// A label that it loses. Can be repeated.
    #[arg(long = "remove-label", value_name = "LABEL")]
    removed: Vec<String>,
}

impl LabelChanges {
    pub fn are_given(&self) -> bool {
        !self.added.is_empty() || !self.removed.is_empty()
    }

    /// All labels of a frame after the change. `None`: they stay.
    ///
    /// # Errors
    /// If it does not have a label that it is to lose.
    pub fn of(&self, handle: Handle, frame: &Frame) -> Result<Option<Vec<String>>, Failure> {
        if let Some(missing) = self.removed.iter().find(|label| !frame.has_label(label)) {
            let message = format!("{handle} does not have the label `{}`", one_line(missing));
            return Err(Failure::new(Exit::Refused, "no_label", message).next(format!("callstack show {handle}")));
        }
        let is_kept =
            |label: &&String| !self.removed.iter().any(|removed| removed.to_lowercase() == label.to_lowercase());
        let labels = || frame.labels.iter().filter(is_kept).chain(&self.added).cloned().collect();
        Ok(self.are_given().then(labels))
    }
}

/// The word of a filter for frames without an assignee. It is not a name.
const NONE: &str = "none";

/// The name of an assignee.
pub fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        NONE => Err("`none` is not a name; without an assignee anyone can do the work".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Chooses frames by their marks.
#[derive(Args, Default)]
pub struct Marked {
    /// Only frames with this label. If it is repeated, with all of them.
    #[arg(long = "label", short = 'l', value_name = "LABEL")]
    labels: Vec<String>,
    /// Only frames that are assigned to this name; `none`: those without an assignee.
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
}

impl Marked {
    /// The words for a message that no frame was found: empty, or that the marks have restricted the search.
    pub fn restriction(&self) -> &'static str {
        if self.labels.is_empty() && self.assignee.is_none() { "" } else { " with these marks" }
    }

    /// The options on a command line, each after a blank.
    pub fn options(&self) -> String {
        let labels = self.labels.iter().map(|label| format!(" --label {}", quoted(label)));
        labels.chain(self.assignee.iter().map(|name| format!(" --assignee {}", quoted(name)))).collect()
    }

    /// True if a frame has all these marks.
    pub fn fits(&self, tree: &Tree, handle: Handle) -> bool {
        // Without marks no record has to be read.
        if self.assignee.is_none() && self.labels.is_empty() {
            return true;
        }
        let record = tree.node(handle).record();
        let is_assigned = match self.assignee.as_deref() {
            None => true,
            Some(NONE) => record.assignee.as_deref().is_none_or(|name| name == NONE),
            Some(name) => record.is_assigned_to(name),
        };
        is_assigned && self.labels.iter().all(|label| record.has_label(label))
    }
}

/// The marks of a frame on one line, such as `@anna #backend`. Can be empty.
pub fn shown(assignee: Option<&str>, labels: &[String]) -> String {
    let assignee = assignee.map(|name| format!("@{name}"));
    assignee.into_iter().chain(labels.iter().map(|label| format!("#{label}"))).collect::<Vec<_>>().join(" ")
}
