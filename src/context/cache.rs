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
pub struct CacheStatistics {
    /// Contexts answered from the cache.
    pub hits: u64,
    /// Contexts that had to be made.
    pub misses: u64,
    /// Contexts in the cache now.
    pub entries: usize,
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

#[derive(Default)]
pub(super) struct Cache {
    entries: Vec<Entry>,
    uses: u64,
    hits: u64,
    misses: u64,
}

impl Cache {
    /// The context of a frame, if it was made with the same settings from the same revision of
    /// what it shows, and is not too old.
    pub(super) fn get(
        &mut self,
        handle: Handle,
        settings: &Settings,
        suggestions: &str,
        revision: u64,
        now: u64,
    ) -> Option<Arc<Context>> {
        self.uses += 1;
        let found = self.entries.iter_mut().find(|entry| entry.handle == handle && entry.settings == *settings);
        let fresh = found.filter(|entry| {
            let is_same = entry.revision == revision && entry.suggestions == suggestions;
            is_same && now.checked_sub(entry.made_at).is_some_and(|age| age < TIME_TO_LIVE)
        });
        let Some(entry) = fresh else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        entry.used = self.uses;
        Some(entry.context.clone())
    }

    pub(super) fn put(
        &mut self,
        handle: Handle,
        settings: &Settings,
        suggestions: &str,
        revision: u64,
        now: u64,
        context: Arc<Context>,
    ) {
        let same = |entry: &Entry| entry.handle == handle && entry.settings == *settings;
        let place = self.entries.iter().position(same).or_else(|| {
            let full = self.entries.len() >= CAPACITY;
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
            oldest.filter(|_| full).map(|(place, _)| place)
        });
        let (settings, suggestions, used) = (*settings, suggestions.to_owned(), self.uses);
        let entry = Entry { handle, settings, suggestions, revision, made_at: now, used, context };
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
