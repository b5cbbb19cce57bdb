//! What a frame was before a command of a person, so that the command can be taken back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Change, Frame, FrameEdit, FrameStatus, Handle};

/// What a frame was before a command: the part that the command has changed.
///
/// In JSON: `{"frame": "f3", "values": {"status": "in_progress", "results": null}}`; `edit` is left out if
/// there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FrameBefore {
    /// The frame.
    pub frame: Handle,
    /// Keys of the frame's record with the values that they had before the command; null for a key that it
    /// did not have. Entries are only added to `artifacts` and `decisions`, so these keys have the number of
    /// their entries as value.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// The edit that gives the frame its former place and dependencies back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Box<FrameEdit>>,
}

/// What a command of a person has changed, so that it can be taken back.
///
/// In JSON: `{"frames": [{"frame": "f3", "values": {"status": "in_progress"}}], "added": ["f7", "f9"],
/// "active": "f3"}`. Empty parts are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TreeBefore {
    /// The frames that existed before the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameBefore>,
    /// The first and the last of the frames that the command has added. They are invalidated when it is taken
    /// back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<[Handle; 2]>,
    /// The frame that was active, if the command has made another frame or no frame active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<Handle>,
}

impl TreeBefore {
    /// The frames that the command has added.
    pub(crate) fn added(&self) -> impl Iterator<Item = Handle> + use<> {
        let range = self.added.map(|[first, last]| first.index()..last.index() + 1);
        range.into_iter().flatten().filter_map(Handle::from_index)
    }
}

impl FrameBefore {
    /// The status of the frame before, if the command may have changed it.
    pub(crate) fn status(&self) -> Option<FrameStatus> {
        status_in(&self.values)
    }
}

/// The status in such values.
pub(crate) fn status_in(values: &Map<String, Value>) -> Option<FrameStatus> {
    values.get("status")?.as_str()?.parse().ok()
}

/// The keys of a frame's record that the commands of persons change.
const KEYS: &[&str] = &[
    "status",
    "begunAt",
    "results",
    "resultsCompacted",
    "questions",
    "invalidationReason",
    "invalidatedAt",
    "deliveredAt",
    "summaryRequest",
    "holder",
    "title",
    "successCriteria",
    "successCriteriaCompacted",
    "task",
    "priority",
    "labels",
    "assignee",
    "placeholder",
    "correctedAt",
    "registers",
    "artifacts",
    "decisions",
    "limits",
    "noWork",
    "origin",
];

/// The keys that an import of a changed file can change.
const REIMPORTED: &[&str] = &[
    "status",
    "begunAt",
    "results",
    "resultsCompacted",
    "questions",
    "invalidationReason",
    "invalidatedAt",
    "title",
    "successCriteria",
    "successCriteriaCompacted",
    "task",
    "priority",
    "labels",
    "assignee",
    "noWork",
    "origin",
];

/// The keys that a change can change. `None`: the change cannot be taken back.
pub(crate) fn changed_keys(change: &Change) -> Option<&'static [&'static str]> {
    Some(match change {
        Change::StatusChanged { .. } => &[
            "status",
            "begunAt",
            "results",
            "resultsCompacted",
            "questions",
            "deliveredAt",
            "summaryRequest",
            // A frame that was interrupted is not interrupted any more.
            "holder",
        ],
        Change::Invalidated { .. } => &["status", "invalidationReason", "invalidatedAt", "summaryRequest", "holder"],
        Change::Reopened { .. } => &["status", "questions", "deliveredAt", "summaryRequest", "holder"],
        Change::Asked { .. } | Change::Summarized { .. } => &["results", "resultsCompacted", "questions"],
        Change::Answered { .. } => &["results", "resultsCompacted", "questions", "holder"],
        Change::Edited { .. } | Change::Identified { .. } => &[
            "title",
            "successCriteria",
            "successCriteriaCompacted",
            "task",
            "priority",
            "labels",
            "assignee",
            "placeholder",
            "correctedAt",
        ],
        Change::Held { .. } | Change::Released { .. } => &["holder"],
        Change::RegistersChanged { .. } => &["registers"],
        Change::ArtifactAdded { .. } => &["artifacts"],
        Change::DecisionAdded { .. } => &["decisions"],
        Change::LimitsSet { .. } => &["limits"],
        Change::Reimported { .. } => REIMPORTED,
        Change::ActiveChanged { .. } => &[],
        _ => return None,
    })
}

/// The keys of lists to which entries are only added.
const GROWING: [&str; 2] = ["artifacts", "decisions"];

/// The value of a key of a record in the form in which it is kept, so that it can be restored. For a list
/// that only grows, this is its length, so that a history does not repeat the list with each entry.
fn kept(record: &Map<String, Value>, key: &str) -> Value {
    match record.get(key) {
        Some(Value::Array(entries)) if GROWING.contains(&key) => entries.len().into(),
        value => value.cloned().unwrap_or_default(),
    }
}

impl Frame {
    /// The values of keys of the frame's record; null for a key that it does not have.
    pub(crate) fn values<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Map<String, Value> {
        let Ok(Value::Object(record)) = serde_json::to_value(self) else { return Map::new() };
        keys.into_iter().map(|key| (key.to_owned(), kept(&record, key))).collect()
    }

    /// The record with other values of some keys. `None`: a value is not possible, or a key is not one that
    /// commands of persons change.
    pub(crate) fn with_values(&self, values: &Map<String, Value>) -> Option<Self> {
        let Ok(Value::Object(mut record)) = serde_json::to_value(self) else { return None };
        for (key, value) in values {
            if !KEYS.contains(&&**key) {
                return None;
            }
            match value {
                Value::Null => drop(record.remove(key)),
                Value::Number(number) if GROWING.contains(&key.as_str()) => {
                    let entries = record.get_mut(key).and_then(Value::as_array_mut)?;
                    entries.truncate(usize::try_from(number.as_u64()?).ok()?);
                }
                value => drop(record.insert(key.clone(), value.clone())),
            }
        }
        serde_json::from_value(Value::Object(record)).ok()
    }
}
