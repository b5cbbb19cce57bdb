//! What a frame was before a command of a person, so that the command can be taken back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Change, Frame, FrameEdit, FrameStatus, Handle};

/// The keys of a frame's record that the commands of persons change, besides its title and its place.
const STATE: &[&str] = &[
    "status",
    "begunAt",
    "results",
    "resultsCompacted",
    "questions",
    "invalidationReason",
    "invalidatedAt",
    "deliveredAt",
    "summaryRequest",
];
const WORDS: &[&str] =
    &["title", "successCriteria", "successCriteriaCompacted", "task", "priority", "placeholder", "correctedAt"];
const HOLDER: &[&str] = &["holder"];
const REGISTERS: &[&str] = &["registers"];
const ARTIFACTS: &[&str] = &["artifacts"];
const DECISIONS: &[&str] = &["decisions"];

/// What a frame was before a command: the part that the command has changed.
///
/// In JSON: `{"frame": "f3", "values": {"status": "in_progress", "results": null}}`; `isNew` and `edit` are left out if they say nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FrameBefore {
    /// The frame.
    pub frame: Handle,
    /// True: the command has added the frame. It is invalidated when the command is taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// Keys of its record with their values before; null for a key that it did not have.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// The edit that takes it back to its place and its dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Box<FrameEdit>>,
}

impl FrameBefore {
    /// Of this frame, of which nothing has changed.
    pub(crate) fn new(frame: Handle) -> Self {
        Self { frame, is_new: false, values: Map::new(), edit: None }
    }

    /// Its status before, if the command may have changed it.
    pub(crate) fn status(&self) -> Option<FrameStatus> {
        self.values.get("status")?.as_str()?.parse().ok()
    }
}

/// The keys of its frame's record that a change can change. `None`: it cannot be taken back.
pub(crate) fn changed_keys(change: &Change) -> Option<&'static [&'static str]> {
    Some(match change {
        Change::StatusChanged { .. }
        | Change::Invalidated { .. }
        | Change::Asked { .. }
        | Change::Answered { .. }
        | Change::Reopened { .. }
        | Change::Summarized { .. } => STATE,
        Change::Edited { .. } | Change::Identified { .. } => WORDS,
        Change::Held { .. } | Change::Released { .. } => HOLDER,
        Change::RegistersChanged { .. } => REGISTERS,
        Change::ArtifactAdded { .. } => ARTIFACTS,
        Change::DecisionAdded { .. } => DECISIONS,
        Change::ActiveChanged { .. } => &[],
        _ => return None,
    })
}

impl Frame {
    /// The values of keys of its record; null for a key that it does not have.
    pub(crate) fn values(&self, keys: &[&str]) -> Map<String, Value> {
        let Ok(Value::Object(record)) = serde_json::to_value(self) else { return Map::new() };
        keys.iter().map(|key| ((*key).to_owned(), record.get(*key).cloned().unwrap_or_default())).collect()
    }

    /// The present values of the same keys.
    pub(crate) fn with_same_keys(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let Ok(Value::Object(record)) = serde_json::to_value(self) else { return Map::new() };
        values.keys().map(|key| (key.clone(), record.get(key).cloned().unwrap_or_default())).collect()
    }

    /// The record with other values of some keys. `None`: a value cannot be, or its key is none that commands of persons change.
    pub(crate) fn with_values(&self, values: &Map<String, Value>) -> Option<Self> {
        let known = [STATE, WORDS, HOLDER, REGISTERS, ARTIFACTS, DECISIONS].concat();
        let Ok(Value::Object(mut record)) = serde_json::to_value(self) else { return None };
        for (key, value) in values {
            if !known.contains(&&**key) {
                return None;
            }
            match value {
                Value::Null => drop(record.remove(key)),
                value => drop(record.insert(key.clone(), value.clone())),
            }
        }
        serde_json::from_value(Value::Object(record)).ok()
    }
}
