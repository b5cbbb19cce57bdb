//! The section of a run's prompt that shows the heap.

use std::fmt::Write;

use super::section::{cell, fence};
use crate::frame::{Chunk, Handle};
use crate::text::one_line;
use crate::tree::HeapUsage;

/// Writes the section of the heap: the index, every chunk verbatim between two lines of hyphens, and a
/// warning if the heap has more than `ceiling` characters. Writes nothing if there are no chunks.
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
            "| {} | {size} | {share}% | step {allocated_step} | step {written_step} | {age} | {} |",
            cell(name),
            cell(description)
        );
    }
    for (_, chunk) in chunks {
        let fence = fence(&chunk.content);
        let _ = write!(out, "\n{fence} {} {fence}\n{}\n{fence}\n", one_line(&chunk.name), chunk.content);
    }
    if let Some(warning) = usage.warning() {
        let _ = write!(out, "\n{warning}\n");
    }
}
