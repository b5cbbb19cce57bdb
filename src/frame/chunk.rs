//! Chunks: named texts on the heap, which stay in every prompt until they are freed.

use serde::{Deserialize, Serialize};

/// A named text on the heap of a frame. It is visible in the frame and in all frames below it until it is freed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Chunk {
    /// Its name, which no other chunk in sight has.
    pub name: String,
    /// The text, word for word.
    pub content: String,
    /// A short summary for the index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// When it was allocated, in milliseconds since the epoch.
    pub allocated_at: u64,
    /// When it was last written, in milliseconds since the epoch.
    pub written_at: u64,
    /// The step of the run in which it was allocated; 0 outside of runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub allocated_step: u64,
    /// The step of the run in which it was last written; 0 outside of runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub written_step: u64,
}

fn is_zero(step: &u64) -> bool {
    *step == 0
}

/// A chunk to be allocated.
///
/// In JSON: `{"name": "api-spec", "content": "add(a, b) -> int", "description": "signatures"}`, the description
/// optional.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewChunk {
    /// Its name: 1 to 100 characters on one line.
    pub name: String,
    /// The text: up to 100,000 characters.
    pub content: String,
    /// A short summary for the index: up to 300 characters on one line.
    #[serde(default)]
    pub description: String,
}

impl NewChunk {
    /// The most characters of a name.
    pub const NAME_LIMIT: usize = 100;
    /// The most characters of a content.
    pub const CONTENT_LIMIT: usize = 100_000;
    /// The most characters of a description.
    pub const DESCRIPTION_LIMIT: usize = 300;

    /// A chunk without a description.
    pub fn new(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { name: name.into(), content: content.into(), description: String::new() }
    }

    /// Sets the description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }
}
