//! What the file said of a frame that was imported from it.

use serde::{Deserialize, Serialize};

use super::FrameStatus;

/// What the file of a plan said of a frame at the last import or export. It tells what has changed in the file since from what has changed
/// here.
///
/// In JSON: `{"plan": "beads", "id": "app-2", "after": "app-1", "status": "planned", "checksums": [4, 8, 0, 0, 0, 0, 0, 0]}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Origin {
    /// The plan: the ID of the first frame of its first import.
    pub plan: String,
    /// The ID that the frame has in the plan. That of the frame can be the ID of a session by now.
    pub id: String,
    /// The ID of the entry before it, among those with the same parent. Absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// True: the file does not have it any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// The status in the file.
    pub status: FrameStatus,
    /// Checksums of the title, the criteria, the task, the priority, the dependencies, the parent, the results, and of what it waits for. Each
    /// is less than 2^53, and 0 for what the file does not have.
    pub checksums: [u64; 8],
}
