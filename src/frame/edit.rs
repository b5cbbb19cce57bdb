//! The edit of a frame: its changes.

use serde::{Deserialize, Deserializer, Serialize};

use super::{FrameRef, Priority};

/// The changes of a frame. A field that is `None` (in JSON a missing key) keeps its value. In a frame that
/// has begun, only a person can change something, and only its words (title, criteria, task) and its
/// priority, labels and assignee.
///
/// ```
/// use callstack_core::{FrameEdit, NewFrame, Stack};
///
/// let stack = Stack::in_memory();
/// let root = stack.push(NewFrame::new("Build the API").id("ses_1"))?;
/// let routes = stack.plan(NewFrame::new("Routes").below(root))?;
/// let schema = stack.plan(NewFrame::new("Schema").below(root))?;
/// stack.edit(routes, FrameEdit::default().title("API routes").depends_on([schema]))?;
/// stack.edit(schema, FrameEdit::default().before(routes))?;
/// assert_eq!(stack.read(|tree| tree.children(root).to_vec())?, [schema, routes]);
/// assert_eq!(stack.read(|tree| tree.ready().collect::<Vec<_>>())?, [schema]);
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// In JSON (every key is optional, unknown keys are rejected):
///
/// ```json
/// {"title": "API routes", "successCriteria": "CRUD works", "successCriteriaCompacted": "CRUD", "task": "As in docs/api.md",
///  "priority": 1, "labels": ["backend"], "assignee": "anna", "dependsOn": ["Schema"], "parent": "f1", "before": "f4"}
/// ```
///
/// `"priority": null` gives the frame the priority of the frame above it. `"assignee": null` leaves the frame
/// to any person or agent. `"parent": null` makes the frame a root. `"before": null` makes it the last one of
/// its siblings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FrameEdit {
    /// The new title. It must not be blank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new success criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<String>,
    /// The new compacted success criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria_compacted: Option<String>,
    /// The new full instruction ([`Frame::task`](super::Frame::task)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The new priority; `Some(None)`: the priority of the frame above.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub priority: Option<Option<Priority>>,
    /// The new labels. They replace the present ones ([`Frame::labels`](super::Frame::labels)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The person or agent that does the work from now on; `Some(None)`: any person or agent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub assignee: Option<Option<String>>,
    /// All frames whose results the frame needs. They replace the present ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<FrameRef>>,
    /// The new parent; `Some(None)` makes the frame a root. The frames below the frame move with it. The
    /// frame becomes the last child unless [`FrameEdit::before`] says otherwise.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub parent: Option<Option<FrameRef>>,
    /// The sibling before which the frame moves; `Some(None)` makes it the last one.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub before: Option<Option<FrameRef>>,
}

/// Reads a value that may be null, in contrast to a missing key.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl FrameEdit {
    /// Sets the title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the success criteria.
    #[must_use]
    pub fn criteria(mut self, criteria: impl Into<String>) -> Self {
        self.success_criteria = Some(criteria.into());
        self
    }

    /// Sets the compacted success criteria, which prompts show.
    #[must_use]
    pub fn criteria_compacted(mut self, criteria: impl Into<String>) -> Self {
        self.success_criteria_compacted = Some(criteria.into());
        self
    }

    /// Sets the full instruction.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    /// Sets the priority; `None`: the priority of the frame above.
    #[must_use]
    pub fn priority(mut self, priority: Option<Priority>) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets all labels.
    #[must_use]
    pub fn labels(mut self, labels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.labels = Some(labels.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the person or agent that does the work; `None`: any person or agent.
    #[must_use]
    pub fn assignee(mut self, assignee: Option<String>) -> Self {
        self.assignee = Some(assignee);
        self
    }

    /// Sets all dependencies.
    #[must_use]
    pub fn depends_on(mut self, dependencies: impl IntoIterator<Item = impl Into<FrameRef>>) -> Self {
        self.depends_on = Some(dependencies.into_iter().map(Into::into).collect());
        self
    }

    /// Moves the frame below a parent.
    #[must_use]
    pub fn below(mut self, parent: impl Into<FrameRef>) -> Self {
        self.parent = Some(Some(parent.into()));
        self
    }

    /// Makes the frame a root.
    #[must_use]
    pub fn root(mut self) -> Self {
        self.parent = Some(None);
        self
    }

    /// Moves the frame before a sibling.
    #[must_use]
    pub fn before(mut self, sibling: impl Into<FrameRef>) -> Self {
        self.before = Some(Some(sibling.into()));
        self
    }

    /// Makes the frame the last of its siblings.
    #[must_use]
    pub fn last(mut self) -> Self {
        self.before = Some(None);
        self
    }

    /// True if the edit changes the title, the criteria or the task.
    pub(crate) fn changes_words(&self) -> bool {
        let words = [&self.title, &self.success_criteria, &self.success_criteria_compacted, &self.task];
        words.into_iter().any(Option::is_some)
    }

    /// True if the edit changes the priority, the labels or the assignee.
    pub(crate) fn changes_marks(&self) -> bool {
        self.priority.is_some() || self.labels.is_some() || self.assignee.is_some()
    }

    /// True if the edit changes more than the parts that a person can correct in a frame that has begun: its
    /// words and its marks.
    pub(crate) fn changes_plan(&self) -> bool {
        self.depends_on.is_some() || self.moves()
    }

    /// True if the edit changes the place of the frame: its parent, or its order among its siblings.
    pub(crate) fn moves(&self) -> bool {
        self.parent.is_some() || self.before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_not_the_same_as_no_key() {
        let read = |json: &str| serde_json::from_str::<FrameEdit>(json).unwrap();
        assert_eq!(read("{}"), FrameEdit::default());
        assert_eq!(read(r#"{"title": null, "dependsOn": null}"#), FrameEdit::default());
        let moved = read(r#"{"parent": null, "before": null}"#);
        assert_eq!(moved, FrameEdit::default().root().last());
        assert!(moved.moves() && !moved.changes_words());
        let edit = FrameEdit::default().title("A").depends_on(["f2"]).below("f1").before("f3");
        let json = r#"{"title":"A","dependsOn":["f2"],"parent":"f1","before":"f3"}"#;
        assert_eq!(serde_json::to_string(&edit).unwrap(), json);
        assert_eq!(read(json), edit);
        assert_eq!(serde_json::to_string(&moved).unwrap(), r#"{"parent":null,"before":null}"#);
        assert!(serde_json::from_str::<FrameEdit>(r#"{"name": "A"}"#).is_err());
    }
}
