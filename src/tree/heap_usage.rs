//! How full a heap is, in words for the agent that fills it.

use std::fmt;

use super::Tree;
use crate::frame::Handle;

/// How full a heap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapUsage {
    /// How many chunks are visible.
    pub chunks: usize,
    /// How many characters they have together.
    pub characters: usize,
    /// Characters past which the agent is warned.
    pub ceiling: usize,
}

impl HeapUsage {
    /// That of the chunks that a frame sees.
    pub fn of(tree: &Tree, handle: Handle, ceiling: usize) -> Self {
        let chunks = tree.chunks(handle);
        let characters = chunks.iter().map(|(_, chunk)| chunk.content.chars().count()).sum();
        Self { chunks: chunks.len(), characters, ceiling }
    }

    /// The same after chunks and characters have come and gone.
    #[must_use]
    pub fn changed(self, chunks: isize, gone: &str, come: &str) -> Self {
        let characters = self.characters.saturating_sub(gone.chars().count()) + come.chars().count();
        Self { chunks: self.chunks.saturating_add_signed(chunks), characters, ..self }
    }

    /// How much of the ceiling so many characters are, in percent.
    pub fn share(&self, characters: usize) -> usize {
        characters.saturating_mul(100) / self.ceiling.max(1)
    }

    /// What to say if the heap is past its ceiling.
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
