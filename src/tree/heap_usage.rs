//! Heap usage: number of chunks, size, and the warning shown to the agent.

use std::fmt;

use super::Tree;
use crate::frame::Handle;

/// The usage of a heap: number of chunks, size, and the size above which the agent is warned.
///
/// `Display` writes it for agents: `2 chunks, 1200 of 5000 characters (24%)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapUsage {
    /// Number of visible chunks.
    pub chunks: usize,
    /// Total size of their contents, in characters.
    pub characters: usize,
    /// Size above which the agent is warned, in characters.
    pub ceiling: usize,
}

impl HeapUsage {
    /// The usage of the heap that a frame sees. `ceiling` is in characters.
    pub fn of(tree: &Tree, handle: Handle, ceiling: usize) -> Self {
        let chunks = tree.chunks(handle);
        let characters = chunks.iter().map(|(_, chunk)| chunk.content.chars().count()).sum();
        Self { chunks: chunks.len(), characters, ceiling }
    }

    /// The usage after a change: `chunks` is added to the number of chunks, `gone` is the removed content,
    /// and `come` the added content.
    #[must_use]
    pub(crate) fn changed(self, chunks: isize, gone: &str, come: &str) -> Self {
        let characters = self.characters.saturating_sub(gone.chars().count()) + come.chars().count();
        Self { chunks: self.chunks.saturating_add_signed(chunks), characters, ..self }
    }

    /// The share of the ceiling that a number of characters is, in percent, rounded down.
    pub fn share(&self, characters: usize) -> usize {
        characters.saturating_mul(100) / self.ceiling.max(1)
    }

    /// The warning for the agent, if the heap is larger than its ceiling.
    pub fn warning(&self) -> Option<String> {
        let Self { characters, ceiling, .. } = self;
        (characters > ceiling).then(|| {
            format!(
                "WARNING: the heap is {} characters past its ceiling. Free chunks that no later step needs, or write \
                 them shorter.",
                characters - ceiling
            )
        })
    }
}

impl fmt::Display for HeapUsage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chunks, characters, ceiling } = self;
        let noun = if *chunks == 1 { "chunk" } else { "chunks" };
        write!(formatter, "{chunks} {noun}, {characters} of {ceiling} characters ({}%)", self.share(*characters))
    }
}
