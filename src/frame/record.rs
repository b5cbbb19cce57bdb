//! The record of a frame, under the documented JSON names, and what a caller gives to make one.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{Chunk, FrameRef, FrameStatus, Registers};

/// How the IDs begin of frames that have no session yet.
pub(crate) const PLANNED_PREFIX: &str = "plan-";

/// Everything there is to know about a frame, with the JSON names of the specification
/// (`FrameMetadata` in its implementation document).
///
/// Times are milliseconds since the Unix epoch. Keys that are no part of the specification
/// (`dependsOn`, `placeholder`, `heap`, `registers`) are left out when empty; keys that this version does not know are
/// kept in [`Frame::extra`] and written back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Frame {
    /// The frame's ID: the host's session, or `plan-…` until the frame is activated.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// ID of the parent; absent for a root.
    #[serde(rename = "parentSessionID", skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Where the frame is in its life.
    pub status: FrameStatus,
    /// Short name, two to five words.
    pub title: String,
    /// What must be true when the frame is done, in terms that can be checked.
    pub success_criteria: String,
    /// The same, dense, for prompts.
    pub success_criteria_compacted: String,
    /// What was achieved, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// The same, dense, for the prompts of parents and siblings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_compacted: Option<String>,
    /// When the frame was made, in milliseconds since the epoch.
    pub created_at: u64,
    /// When the frame last changed, in milliseconds since the epoch.
    pub updated_at: u64,
    /// Files and other resources that the work produced, each once.
    pub artifacts: Vec<String>,
    /// Decisions taken on the way, in order.
    pub decisions: Vec<String>,
    /// IDs of the frames whose results this one needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Path of the frame's full log, if one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_path: Option<String>,
    /// Why the frame was invalidated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidation_reason: Option<String>,
    /// When the frame was invalidated, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidated_at: Option<u64>,
    /// IDs of the children that are still planned. Derived from the tree; as the original writes
    /// it, present on planned frames even if empty, and elsewhere only if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_children: Option<Vec<String>>,
    /// Made only because a session appeared: title and criteria may still be given, once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub placeholder: bool,
    /// Its chunks on the heap, in the order in which they were allocated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heap: Vec<Chunk>,
    /// Its registers, if it uses any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<Box<Registers>>,
    /// Keys of the file that this version does not know. A documented key among them is renamed when
    /// the frame enters a tree: `status` becomes `status (unreadable)`. A value nested more than
    /// 100 levels deep, which JSON readers would refuse, is left out, and a text says so.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The documented keys of a frame in JSON.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "sessionID", "parentSessionID", "status", "title", "successCriteria", "successCriteriaCompacted", "results",
    "resultsCompacted", "createdAt", "updatedAt", "artifacts", "decisions", "dependsOn", "logPath",
    "invalidationReason", "invalidatedAt", "plannedChildren", "placeholder", "heap", "registers",
];

impl Frame {
    /// The compacted criteria, or the full ones if there are none.
    pub fn dense_criteria(&self) -> &str {
        first_filled(&self.success_criteria_compacted, &self.success_criteria)
    }

    /// The compacted results, or the full ones if there are none; empty before there are any.
    pub fn dense_results(&self) -> &str {
        let [compacted, full] =
            [&self.results_compacted, &self.results].map(|text| text.as_deref().unwrap_or_default());
        first_filled(compacted, full)
    }

    /// Renames extra keys that are documented ones, or the JSON would have the key twice and could
    /// not be read again.
    pub(crate) fn separate_extra_keys(&mut self) {
        if self.extra.is_empty() {
            return;
        }
        leave_out_too_deep(&mut self.extra);
        for key in KEYS {
            if let Some(value) = self.extra.remove(*key) {
                self.extra.insert(format!("{key} (unreadable)"), value);
            }
        }
    }
}

/// Levels of arrays and objects that a value may have: readers of JSON stop at 128, and a record
/// stands a few levels down in what is stored.
const DEEPEST: usize = 100;

/// True if a value could not be read again. Needs no stack, however deep the value is.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    let mut pending = vec![(value, 0)];
    while let Some((value, depth)) = pending.pop() {
        if depth > DEEPEST {
            return true;
        }
        match value {
            Value::Array(values) => pending.extend(values.iter().map(|value| (value, depth + 1))),
            Value::Object(entries) => pending.extend(entries.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

/// Puts a text in the place of values that could not be read again.
pub(crate) fn leave_out_too_deep(entries: &mut Map<String, Value>) {
    for value in entries.values_mut().filter(|value| is_too_deep(value)) {
        *value = format!("nested more than {DEEPEST} levels deep; left out").into();
    }
}

/// The first text, unless it is blank.
pub(crate) fn first_filled<'a>(first: &'a str, second: &'a str) -> &'a str {
    if first.trim().is_empty() { second } else { first }
}

impl Default for FrameStatus {
    /// A record that does not say is of a plan.
    fn default() -> Self {
        FrameStatus::Planned
    }
}

/// The immutable part of a frame: what it is called and when it is done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Short name, two to five words.
    pub title: String,
    /// What must be true when the frame is done.
    #[serde(default)]
    pub success_criteria: String,
    /// The same, dense, for prompts. Empty: the full criteria serve.
    #[serde(default)]
    pub success_criteria_compacted: String,
}

/// Under which frame a new one goes. In JSON the name of the frame; null for a root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Parent {
    /// The calling session's open frame; if there is none the active frame; else a root.
    #[default]
    Auto,
    /// None: the frame starts a tree of its own.
    Root,
    /// This frame.
    Frame(FrameRef),
}

impl<'de> Deserialize<'de> for Parent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parent = Option::<FrameRef>::deserialize(deserializer)?;
        Ok(parent.map_or(Parent::Root, Parent::Frame))
    }
}

/// A frame to be pushed or planned.
///
/// ```
/// use callstack_core::{NewFrame, Stack};
///
/// let stack = Stack::in_memory();
/// let root = stack.push(NewFrame::new("Build the API").id("ses_1"))?;
/// let routes = stack.plan(NewFrame::new("API routes").criteria("CRUD works").below(root))?;
/// let cache = stack.plan(NewFrame::new("Caching").below(root).depends_on(routes))?;
/// assert_eq!(stack.ready(), [routes]);
/// # let _ = cache;
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// In JSON, every key but `title` optional:
///
/// ```json
/// {"sessionID": "ses_7", "title": "API routes", "successCriteria": "CRUD works", "successCriteriaCompacted": "CRUD",
///  "parent": "f1", "caller": "ses_1", "dependsOn": ["auth"]}
/// ```
///
/// Without `parent` the frame goes where [`Parent::Auto`] says; `"parent": null` makes it a root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "FlatNewFrame")]
pub struct NewFrame {
    /// The frame's ID. `None`: an ID of the form `plan-…` is made.
    pub session_id: Option<String>,
    /// Title and criteria.
    pub identity: Identity,
    /// Where it goes.
    pub parent: Parent,
    /// ID of the session that makes the call; [`Parent::Auto`] starts from its frame.
    pub caller: Option<String>,
    /// The frames whose results this one needs.
    pub depends_on: Vec<FrameRef>,
}

/// A new frame as its JSON stands, title and criteria beside the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FlatNewFrame {
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    title: String,
    #[serde(default)]
    success_criteria: String,
    #[serde(default)]
    success_criteria_compacted: String,
    #[serde(default)]
    parent: Parent,
    caller: Option<String>,
    #[serde(default)]
    depends_on: Vec<FrameRef>,
}

impl From<FlatNewFrame> for NewFrame {
    fn from(frame: FlatNewFrame) -> Self {
        let FlatNewFrame { session_id, title, success_criteria, success_criteria_compacted, .. } = frame;
        let identity = Identity { title, success_criteria, success_criteria_compacted };
        Self { session_id, identity, parent: frame.parent, caller: frame.caller, depends_on: frame.depends_on }
    }
}

impl NewFrame {
    /// A frame of this title, which must not be empty.
    pub fn new(title: impl Into<String>) -> Self {
        Self { identity: Identity { title: title.into(), ..Identity::default() }, ..Self::default() }
    }

    /// Sets the ID: the host's session.
    pub fn id(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Sets the success criteria.
    pub fn criteria(mut self, criteria: impl Into<String>) -> Self {
        self.identity.success_criteria = criteria.into();
        self
    }

    /// Sets the dense form of the success criteria, which prompts show.
    pub fn criteria_compacted(mut self, criteria: impl Into<String>) -> Self {
        self.identity.success_criteria_compacted = criteria.into();
        self
    }

    /// Puts the frame below this one.
    pub fn below(mut self, parent: impl Into<FrameRef>) -> Self {
        self.parent = Parent::Frame(parent.into());
        self
    }

    /// Makes the frame the root of a tree of its own.
    pub fn root(mut self) -> Self {
        self.parent = Parent::Root;
        self
    }

    /// Names the session that makes the call.
    pub fn caller(mut self, session_id: impl Into<String>) -> Self {
        self.caller = Some(session_id.into());
        self
    }

    /// Adds a frame whose results this one needs.
    pub fn depends_on(mut self, dependency: impl Into<FrameRef>) -> Self {
        self.depends_on.push(dependency.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_keys_are_those_of_the_record() {
        let full = Frame {
            parent_session_id: Some(String::new()),
            results: Some(String::new()),
            results_compacted: Some(String::new()),
            depends_on: vec![String::new()],
            log_path: Some(String::new()),
            invalidation_reason: Some(String::new()),
            invalidated_at: Some(1),
            planned_children: Some(Vec::new()),
            placeholder: true,
            heap: vec![Chunk::default()],
            registers: Some(Box::default()),
            ..Frame::default()
        };
        let Ok(Value::Object(written)) = serde_json::to_value(&full) else { panic!("a frame is an object") };
        let mut keys = KEYS.to_vec();
        keys.sort_unstable();
        let mut written: Vec<&str> = written.keys().map(String::as_str).collect();
        written.sort_unstable();
        assert_eq!(written, keys);
    }
}
