//! What is noted about the documents of an index while they are scored.

use crate::steps::step;

/// What is noted about documents while a frame's siblings are scored. It is kept with the index, and only
/// what was noted is wiped, so that the work does not grow with the number of documents.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The BM25 score of each document; 0 between two uses.
    pub(super) texts: Vec<f32>,
    /// For each document that is scored, how many of the compared ones were planned before it.
    pub(super) ranks: Vec<u32>,
    /// True for a document that is already found; false between two uses.
    pub(super) is_found: Vec<bool>,
}

impl Notes {
    pub(super) fn grow(&mut self, documents: usize) {
        if self.texts.len() < documents {
            self.texts.resize(documents, 0.0);
            self.ranks.resize(documents, 0);
            self.is_found.resize(documents, false);
        }
    }

    pub(super) fn wipe(&mut self, places: impl Iterator<Item = usize>) {
        for place in places {
            step();
            self.texts[place] = 0.0;
        }
    }
}
