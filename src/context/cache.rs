//! The cache of contexts: up to 50 contexts, each for 30 seconds; the least recently used one is replaced
//! first (specification, "Context Caching").

use std::sync::Arc;

use serde::Serialize;

use super::{Advice, Context, Conversation, Settings};
use crate::frame::Handle;
use crate::tree::Tree;

/// Time for which a cached context is valid, in milliseconds.
const TIME_TO_LIVE: u64 = 30_000;
/// Maximum number of cached contexts.
const CAPACITY: usize = 50;

/// Statistics of the context cache since the stack was opened.
///
/// In JSON: `{"hits": 5, "misses": 2, "entries": 1}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheStatistics {
    /// Number of requests for which the cache had a current context. A request also counts as a hit if the
    /// context is then assembled again because a log that it names no longer exists.
    pub hits: u64,
    /// Number of requests for which the cache had no current context.
    pub misses: u64,
    /// Number of contexts in the cache now, including expired ones that are not replaced yet.
    pub entries: usize,
}

/// Everything that determines a context, except for the time.
pub(crate) struct Key<'a> {
    pub(super) handle: Handle,
    pub(super) settings: &'a Settings,
    pub(super) advice: Advice<'a>,
    /// The newest revision of everything that the context may show ([`Tree::context_revision`]).
    revision: u64,
}

impl<'a> Key<'a> {
    pub(crate) fn new(tree: &Tree, handle: Handle, settings: &'a Settings, advice: Advice<'a>) -> Self {
        let of_base = advice.base.map_or(0, |(base, _)| tree.context_revision(base));
        Self { handle, settings, advice, revision: tree.context_revision(handle).max(of_base) }
    }

    /// The key of the same context of another version of the tree.
    pub(crate) fn of(&self, tree: &Tree) -> Self {
        Self::new(tree, self.handle, self.settings, self.advice)
    }
}

struct Entry {
    handle: Handle,
    settings: Settings,
    suggestions: String,
    planning: bool,
    conversation: Conversation,
    base: Option<(Handle, Conversation)>,
    above: Vec<Handle>,
    news: Vec<(Handle, String)>,
    revision: u64,
    made_at: u64,
    used: u64,
    context: Arc<Context>,
}

impl Entry {
    /// True if this entry is for the same frame and settings.
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
    /// Returns the cached context of a frame if the advice and the revision are the same and it has not
    /// expired.
    pub(super) fn get(&mut self, key: &Key<'_>, now: u64) -> Option<Arc<Context>> {
        self.uses += 1;
        let found = self.entries.iter_mut().find(|entry| entry.is_for(key));
        let fresh = found.filter(|entry| {
            // The check for empty texts avoids a comparison of their dangling pointers, which is slower than
            // the rest.
            let [ours, theirs] = [entry.suggestions.as_str(), key.advice.suggestions];
            let is_same = (ours.is_empty() && theirs.is_empty()) || ours == theirs;
            is_same
                && entry.planning == key.advice.planning
                && entry.conversation == key.advice.conversation
                && entry.base == key.advice.base
                && entry.above == key.advice.above
                && entry.news == key.advice.news
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
        let Key { handle, settings, advice, revision } = *key;
        let Advice { suggestions, planning, conversation, base, above, news } = advice;
        let (settings, suggestions, news, used) = (settings.clone(), suggestions.to_owned(), news.to_vec(), self.uses);
        let above = above.to_vec();
        let entry = Entry {
            handle,
            settings,
            suggestions,
            planning,
            conversation,
            base,
            above,
            news,
            revision,
            made_at: now,
            used,
            context,
        };
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
