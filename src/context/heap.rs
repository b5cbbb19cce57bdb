//! The heap in a context: each chunk as a whole or, if the budget is too small, its entry in the index with a
//! note on how to read it.

use serde::Serialize;

use super::Contexts;
use super::cost::Cost;
use super::spending::Spending;
use super::wording::Wording;
use super::xml::{attribute, escape, verbatim};
use crate::frame::{Chunk, Handle};
use crate::tree::{HeapUsage, Tree};

const CLOSE: &str = "</heap>\n";

/// How much of a chunk is shown. In JSON `"omitted"`, `"index"` or `"whole"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Shown {
    /// The chunk is not shown. The element `truncation` counts it.
    Omitted,
    /// Only its entry in the index: name, frame, size in characters, and description.
    Index,
    /// The whole content, escaped for XML.
    Whole,
}

/// The result for one chunk that the frame sees.
///
/// In JSON: `{"name": "api-spec", "handle": "f1", "shown": "whole", "tokens": 40}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChunkEntry {
    /// The chunk's name.
    pub name: String,
    /// The frame that owns the chunk.
    pub handle: Handle,
    /// How much of the chunk is shown.
    pub shown: Shown,
    /// The cost of showing the chunk, in tokens; 0 if it is omitted.
    pub tokens: usize,
}

/// A chunk in both forms: as an entry of the index, and with its whole content.
struct Item {
    entry: ChunkEntry,
    index: String,
    whole: String,
    /// The costs of the two forms.
    costs: [Cost; 2],
}

/// The chunks that a frame sees, and how much of each is shown. The default has none.
#[derive(Default)]
pub(super) struct Heap {
    items: Vec<Item>,
    open: String,
    note: String,
    warning: String,
    /// Maximum cost of the XML around the chunks.
    around: Cost,
}

impl Heap {
    pub(super) fn of(contexts: &Contexts, wording: &Wording, tree: &Tree, handle: Handle, ceiling: usize) -> Self {
        let count = |text: &str| contexts.cost(text);
        let chunks = tree.chunks(handle);
        if chunks.is_empty() {
            return Self::default();
        }
        let mut usage = HeapUsage { chunks: chunks.len(), characters: 0, ceiling };
        let items = chunks.into_iter().map(|(owner, chunk)| {
            let size = chunk.content.chars().count();
            usage.characters += size;
            let (index, whole) = elements(wording, owner, chunk, size);
            let costs = [count(&index), count(&whole)];
            let entry = ChunkEntry { name: chunk.name.clone(), handle: owner, shown: Shown::Omitted, tokens: 0 };
            Item { entry, index, whole, costs }
        });
        let items: Vec<Item> = items.collect();
        let HeapUsage { chunks, characters, .. } = usage;
        let open = format!("<heap chunks=\"{chunks}\" characters=\"{characters}\" ceiling=\"{ceiling}\">\n");
        let warning = usage.warning().map(|text| format!("<warning>{}</warning>\n", escape(&text))).unwrap_or_default();
        let note = wording.heap_note.clone();
        let around = [&open, &warning, &note, CLOSE].map(count).into_iter().sum();
        Self { items, open, note, warning, around }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Takes all entries of the index, then as many whole chunks as fit into `quota` tokens, small chunks
    /// first. [`Heap::take_rest`] takes the others.
    pub(super) fn take(&mut self, quota: usize, spending: &mut Spending) {
        for (place, item) in self.items.iter_mut().enumerate() {
            let around = if place == 0 { self.around } else { Cost::default() };
            if spending.spend(around + item.costs[0]) {
                (item.entry.shown, item.entry.tokens) = (Shown::Index, item.costs[0].tokens);
            }
        }
        let mut left = quota;
        for place in self.by_size() {
            let more = self.items[place].more().tokens;
            if more > left {
                break;
            }
            left -= more;
            self.items[place].show_whole(spending);
        }
    }

    /// Takes the chunks that are not shown as a whole yet.
    pub(super) fn take_rest(&mut self, spending: &mut Spending) {
        for place in self.by_size() {
            self.items[place].show_whole(spending);
        }
    }

    /// Returns the chunks in ascending order of their size. In this order the most chunks fit.
    fn by_size(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.items.len()).collect();
        places.sort_by_key(|place| self.items[*place].more().tokens);
        places
    }

    /// Returns the number of chunks that are not shown at all.
    pub(super) fn omitted(&self) -> usize {
        self.items.iter().filter(|item| item.entry.shown == Shown::Omitted).count()
    }

    pub(super) fn write(&self, out: &mut String) {
        if self.omitted() == self.len() {
            return;
        }
        out.push_str(&self.open);
        for item in &self.items {
            match item.entry.shown {
                Shown::Omitted => {}
                Shown::Index => out.push_str(&item.index),
                Shown::Whole => out.push_str(&item.whole),
            }
        }
        if self.items.iter().any(|item| item.entry.shown == Shown::Index) {
            out.push_str(&self.note);
        }
        out.push_str(&self.warning);
        out.push_str(CLOSE);
    }

    pub(super) fn into_entries(self) -> Vec<ChunkEntry> {
        self.items.into_iter().map(|item| item.entry).collect()
    }
}

impl Item {
    /// Returns the additional cost of the whole chunk compared with its entry in the index.
    fn more(&self) -> Cost {
        self.costs[1].saturating_sub(self.costs[0])
    }

    fn show_whole(&mut self, spending: &mut Spending) {
        if self.entry.shown == Shown::Index && spending.spend(self.more()) {
            (self.entry.shown, self.entry.tokens) = (Shown::Whole, self.costs[0].max(self.costs[1]).tokens);
        }
    }
}

/// Returns the XML of a chunk in both forms: as an entry of the index, and with its whole content.
fn elements(wording: &Wording, owner: Handle, chunk: &Chunk, size: usize) -> (String, String) {
    let Chunk { name, content, description, .. } = chunk;
    let mut start = format!("<chunk name=\"{}\" frame=\"{owner}\" characters=\"{size}\"", attribute(name));
    if !description.is_empty() {
        start.push_str(&format!(" description=\"{}\"", attribute(description)));
    }
    let (shown, replaced) = verbatim(content);
    let note = wording.chunk_note(shown.contains('&'), replaced);
    (format!("{start}/>\n"), format!("{start}{note}>{shown}</chunk>\n"))
}
