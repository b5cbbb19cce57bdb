//! What the file said of a frame that was imported from the file.

use serde::{Deserialize, Serialize};

use super::FrameStatus;
use crate::text::fnv_of;

/// What the file of a plan said of a frame at the last import or export. With it, changes in the file since
/// then can be told from changes that were made here.
///
/// In JSON: `{"plan": "beads", "id": "app-2", "after": "app-1", "status": "planned", "checksums": {"title":
/// 4, "parent": 8}}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Origin {
    /// The plan: the ID of the first frame of its first import.
    pub plan: String,
    /// The ID that the frame has in the plan. The frame's own ID can be the ID of a session by now.
    pub id: String,
    /// The ID of the entry before it, among those with the same parent. Absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// True: the file does not have the frame any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// The status in the file.
    pub status: FrameStatus,
    /// Checksums of what the file says of the frame.
    pub checksums: Checksums,
}

/// The largest checksum: numbers in JSON are exact up to it in every language.
const LARGEST: u64 = (1 << 53) - 1;

/// The checksum of a text; 0 for an empty one.
pub(crate) fn checksum(text: &str) -> u64 {
    let sum = fnv_of(text);
    if text.is_empty() { 0 } else { (sum ^ (sum >> 53)) & LARGEST | 1 }
}

/// Checksums of what the file of a plan said of a frame. Each is less than 2^53. It is 0, and absent in JSON,
/// for a value that the file does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Checksums {
    /// Of the title.
    #[serde(skip_serializing_if = "is_none")]
    pub title: u64,
    /// Of the success criteria.
    #[serde(skip_serializing_if = "is_none")]
    pub criteria: u64,
    /// Of the full instruction.
    #[serde(skip_serializing_if = "is_none")]
    pub task: u64,
    /// Of the priority.
    #[serde(skip_serializing_if = "is_none")]
    pub priority: u64,
    /// Of the labels.
    #[serde(skip_serializing_if = "is_none")]
    pub labels: u64,
    /// Of the name of the assignee.
    #[serde(skip_serializing_if = "is_none")]
    pub assignee: u64,
    /// Of the IDs of the frames that it depends on.
    #[serde(skip_serializing_if = "is_none")]
    pub depends_on: u64,
    /// Of the ID of its parent; 0 at the top of the plan.
    #[serde(skip_serializing_if = "is_none")]
    pub parent: u64,
    /// Of the results.
    #[serde(skip_serializing_if = "is_none")]
    pub results: u64,
    /// Of what it waits for.
    #[serde(skip_serializing_if = "is_none")]
    pub wait: u64,
}

impl Checksums {
    /// The checksums of unknown texts. They are not equal to the checksum of any text.
    pub(crate) const UNKNOWN: Self = Self {
        title: LARGEST - 1,
        criteria: LARGEST - 1,
        task: LARGEST - 1,
        priority: LARGEST - 1,
        labels: LARGEST - 1,
        assignee: LARGEST - 1,
        depends_on: LARGEST - 1,
        parent: LARGEST - 1,
        results: LARGEST - 1,
        wait: LARGEST - 1,
    };
}

fn is_none(checksum: &u64) -> bool {
    *checksum == 0
}
