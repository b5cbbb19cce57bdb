//! The counts of the small texts around the frames, which are the same in most contexts of a tree. The counts
//! of frames are kept with their fragments.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::tokens::TokenCounter;

/// Maximum length of all texts with kept counts, in bytes. If it would be exceeded, all are removed.
const KEPT_BYTES: usize = 1 << 20;

/// A counter that keeps what another one has counted.
pub(super) struct Counts {
    counter: Arc<dyn TokenCounter>,
    kept: RwLock<Kept>,
}

#[derive(Default)]
struct Kept {
    counts: HashMap<Box<str>, usize>,
    bytes: usize,
}

impl Counts {
    pub(super) fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, kept: RwLock::default() }
    }
}

impl TokenCounter for Counts {
    fn count(&self, text: &str) -> usize {
        if let Some(count) = self.kept.read().counts.get(text) {
            return *count;
        }
        // Not while the lock is held, because a counter of the host may ask for a context.
        let count = self.counter.count(text);
        if text.len() <= KEPT_BYTES {
            let mut kept = self.kept.write();
            if kept.bytes + text.len() > KEPT_BYTES {
                *kept = Kept::default();
            }
            kept.bytes += text.len();
            kept.counts.insert(text.into(), count);
        }
        count
    }
}
