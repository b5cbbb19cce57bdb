//! Contexts kept for a while: 30 seconds, 50 entries, least recently used out first
//! (specification, "Context Caching").

use std::sync::Arc;

use serde::Serialize;

use super::{Context, Settings};
use crate::frame::Handle;

/// How long a context is kept, in milliseconds.
const TIME_TO_LIVE: u64 = 30_000;
/// How many are kept.
const CAPACITY: usize = 50;

/// How the context cache has done since the stack was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheStatistics {
    /// Contexts answered from the cache.
    pub hits: u64,
    /// Contexts that had to be made.
    pub misses: u64,
    /// Contexts in the cache now.
    pub entries: usize,
}

/// What a context is made of, but for the time.
pub(super) struct Key<'a> {
    pub(super) handle: Handle,
    pub(super) settings: &'a Settings,
    pub(super) suggestions: &'a str,
    /// That of everything it may show.
    pub(super) revision: u64,
}

struct Entry {
    handle: Handle,
    settings: Settings,
    suggestions: String,
    revision: u64,
    made_at: u64,
    used: u64,
    context: Arc<Context>,
}

impl Entry {
    /// True if this is where a context of that frame and those settings is kept.
    fn is_for(&self, key: &Key<'_>) -> bool {
        self.handle == key.handle && self.settings == *key.settings
    }
}

#[derive(Default)]
pub(super) struct Cache {
    entries: Vec<Entry>,
    uses: u64,
    hits: u64,
    misses: u64,
}

impl Cache {
    /// The context of a frame, if it was made of the same, and is not too old.
    pub(super) fn get(&mut self, key: &Key<'_>, now: u64) -> Option<Arc<Context>> {
        self.uses += 1;
        let found = self.entries.iter_mut().find(|entry| entry.is_for(key));
        let fresh = found.filter(|entry| {
            // Empty texts point nowhere, and comparing what is there costs more than everything else here.
            let [ours, theirs] = [entry.suggestions.as_str(), key.suggestions];
            let is_same = (ours.is_empty() && theirs.is_empty()) || ours == theirs;
            is_same
                && entry.revision == key.revision
                && now.checked_sub(entry.made_at).is_some_and(|age| age < TIME_TO_LIVE)
        });
        let Some(entry) = fresh else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        entry.used = self.uses;
        Some(entry.context.clone())
    }

    pub(super) fn put(&mut self, key: &Key<'_>, now: u64, context: Arc<Context>) {
        let place = self.entries.iter().position(|entry| entry.is_for(key)).or_else(|| {
            let full = self.entries.len() >= CAPACITY;
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
            oldest.filter(|_| full).map(|(place, _)| place)
        });
        let Key { handle, settings, suggestions, revision } = *key;
        let (settings, suggestions) = (settings.clone(), suggestions.to_owned());
        let entry = Entry { handle, settings, suggestions, revision, made_at: now, used: self.uses, context };
        match place {
            Some(place) => self.entries[place] = entry,
            None => self.entries.push(entry),
        }
    }

    pub(super) fn clear(&mut self, handle: Option<Handle>) {
        self.entries.retain(|entry| handle.is_some_and(|handle| entry.handle != handle));
    }

    pub(super) fn statistics(&self) -> CacheStatistics {
        CacheStatistics { hits: self.hits, misses: self.misses, entries: self.entries.len() }
    }
}
