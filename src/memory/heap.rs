//! The heap as a model sees it in a run, and how full it is.

use std::fmt::{self, Write};

use crate::frame::{Chunk, Handle};
use crate::tree::Tree;

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
    pub(super) fn changed(self, chunks: isize, gone: &str, come: &str) -> Self {
        let characters = self.characters - gone.chars().count() + come.chars().count();
        Self { chunks: self.chunks.saturating_add_signed(chunks), characters, ..self }
    }

    /// How much of the ceiling so many characters are, in percent.
    fn share(&self, characters: usize) -> usize {
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

/// The section of the heap: the index, every chunk word for word, and a warning if it is too full. Nothing if there
/// are no chunks.
pub(super) fn write_section(chunks: &[(Handle, &Chunk)], step: u64, ceiling: usize, out: &mut String) {
    if chunks.is_empty() {
        return;
    }
    let sizes: Vec<usize> = chunks.iter().map(|(_, chunk)| chunk.content.chars().count()).collect();
    let usage = HeapUsage { chunks: chunks.len(), characters: sizes.iter().sum(), ceiling };
    let _ = writeln!(out, "\nHEAP MEMORY: {usage}");
    out.push_str(
        "| chunk | characters | share | allocated | written | age | description |\n|---|---|---|---|---|---|---|\n",
    );
    for ((_, chunk), size) in chunks.iter().zip(sizes) {
        let Chunk { name, description, allocated_step, written_step, .. } = chunk;
        let (share, age) = (usage.share(size), step.saturating_sub(*allocated_step));
        let _ = writeln!(
            out,
            "| {name} | {size} | {share}% | step {allocated_step} | step {written_step} | {age} | {description} |"
        );
    }
    for (_, chunk) in chunks {
        let _ = write!(out, "\n--- {} ---\n{}\n", chunk.name, chunk.content);
    }
    if let Some(warning) = usage.warning() {
        let _ = write!(out, "\n{warning}\n");
    }
}
