//! Requests for a summary of a frame's conversation.

use serde::{Deserialize, Serialize};

/// The reason for a compaction. In JSON a name such as `"frame_completion"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionType {
    /// The host compacts because the model's context is full. The frame remains open.
    #[default]
    Overflow,
    /// The frame is being ended. The summary becomes its results.
    FrameCompletion,
    /// A checkpoint was requested. The frame remains open.
    ManualSummary,
}

/// A summary of a frame's conversation that was requested and does not exist yet. It outlives the process.
///
/// In JSON: `{"type": "manual_summary", "note": "the failing test", "requestedAt": 1795293106903}`. The keys
/// `note` and `blockedBecause` are optional.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The reason.
    #[serde(rename = "type")]
    pub compaction_type: CompactionType,
    /// A request for the content of the summary. It is added to the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Only for [`CompactionType::FrameCompletion`]: why the frame is blocked with the summary. `None`: it is
    /// completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_because: Option<String>,
    /// Time of the request, in milliseconds since the Unix epoch.
    pub requested_at: u64,
}

impl SummaryRequest {
    /// Creates a request of this type.
    pub fn new(compaction_type: CompactionType, note: Option<String>, requested_at: u64) -> Self {
        Self { compaction_type, note, blocked_because: None, requested_at }
    }
}
