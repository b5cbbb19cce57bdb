//! Chunks: named texts on a frame's heap. Prompts show them until they are freed.

use serde::{Deserialize, Serialize};

/// A named text on the heap of a frame. It is visible in the frame and in all frames below it until it is
/// freed.
///
/// In JSON: `{"name": "api-spec", "content": "add(a, b) -> int", "description": "signatures", "allocatedAt":
/// 1795293106903, "writtenAt": 1795293106903, "allocatedStep": 3, "writtenStep": 5}`; an empty description
/// and steps of 0 are omitted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Chunk {
    /// The name, unique among the chunks that a frame sees.
    pub name: String,
    /// The text, verbatim.
    pub content: String,
    /// A short summary for the index of the heap. Empty: no summary.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Time of the allocation, in milliseconds since the Unix epoch.
    pub allocated_at: u64,
    /// Time of the last write, in milliseconds since the Unix epoch.
    pub written_at: u64,
    /// The step of the run in which the chunk was allocated; 0 outside runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub allocated_step: u64,
    /// The step of the run in which the chunk was last written; 0 outside runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub written_step: u64,
}

fn is_zero(step: &u64) -> bool {
    *step == 0
}

/// The parameters of a chunk to allocate: see [`Heap::allocate`](crate::stack::Heap::allocate).
///
/// In JSON: `{"name": "api-spec", "content": "add(a, b) -> int", "description": "signatures"}`. The
/// description is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct NewChunk {
    /// The name: 1 to 100 characters on one line.
    pub name: String,
    /// The text: up to 100,000 characters.
    pub content: String,
    /// A short summary for the index of the heap: up to 300 characters on one line. Default: empty.
    #[serde(default)]
    pub description: String,
}

impl NewChunk {
    /// Maximum length of a name, in characters.
    pub const NAME_LIMIT: usize = 100;
    /// Maximum length of a content, in characters.
    pub const CONTENT_LIMIT: usize = 100_000;
    /// Maximum length of a description, in characters.
    pub const DESCRIPTION_LIMIT: usize = 300;

    /// Creates a chunk with an empty content and description.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets the content.
    #[must_use]
    pub fn content(mut self, content: impl Into<String>) -> Self {
        self.content = content.into();
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }
}
