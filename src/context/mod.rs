//! Contexts: the XML text that shows an agent its call stack, within a token budget.
//!
//! A context is assembled in three steps: *consider* finds the frames that might matter and scores them,
//! *select* chooses the frames to show and the [`DetailLevel`] of each within the budget, and *render* writes
//! the XML. Frames are rendered once and cached, so that assembling a context only chooses and copies texts.
//!
//! # Guarantees of every context
//! 1. Neither the number of tokens nor that of bytes, counted on the final escaped text, exceeds the budget.
//! 2. The same tree, settings and token counter give the same bytes.
//! 3. A larger total budget never omits or shortens anything that a smaller one shows.
//! 4. The current frame, its parent and its root are always shown, at least as stubs. Then come finished
//!    dependencies of the frame, the criteria of its ancestors within their quota, and what the ancestors
//!    depend on.
//! 5. Omitted frames are counted, and can be reached by handle.
//! 6. The context is well-formed XML 1.0 for any text in the frames. No text becomes an element or an
//!    attribute, neither for a reader of XML nor for one of HTML.
//! 7. The bytes of the stable part change only if a frame is pushed, activated, popped, blocked, resumed,
//!    retried or invalidated, if a chunk that it shows changes, if the results of a finished child are
//!    delivered to the frame's conversation or forgotten there ([`Tree::is_held`]), if the frame or an
//!    ancestor is planned and was edited, or if the settings change. In particular, results so far of an
//!    ancestor appear only with the next push or change of a status. A sibling that finishes is appended
//!    after those already shown, if the budget has room, and so is a sibling of an ancestor or a child, in
//!    its section. (A new ID of a finished sibling also changes the stable part if the current frame's
//!    criteria contain that ID.)
//! 8. A chunk of the heap is shown as a whole, or as an entry of the index with a note on how to read it, or
//!    it is counted as omitted. A reader of XML gets its content verbatim, except for line ends, which are
//!    line feeds, and characters that XML forbids, which a note counts.
//! 9. The context mentions only tools that are in [`Settings::tools`].
//! 10. A run of more than 32 blank, control or invisible characters in a text of a frame is shortened to 32,
//!     and the
//!     attribute `omitted-blanks` of the element says how many are missing. Chunks are not shortened.
//!
//! # The specification's helper functions
//!
//! | specification | this crate |
//! |---|---|
//! | estimateTokens | [`TokenCounter::count`] of [`Approx`], or of [`Chars4`] for the specification's own estimate |
//! | truncateToTokenBudget | [`truncate`] |
//! | extractKeywords | [`keywords`] |
//! | escapeXml | [`escape`] |
//! | calculateSiblingOrder | [`sibling_order`](crate::tree::sibling_order) |
//! | generateStateHash | [`Tree::context_revision`] |
//! | scoreAncestor, scoreSibling, selectAncestors, selectSiblings | the [`Report`] of a context |
//! | invalidateAllCache | [`Upkeep::clear_cache`](crate::stack::Upkeep::clear_cache) |
//! | formatDuration | [`format_duration`](crate::tree::format_duration) |
//!
//! This layer reads trees and never changes them. It uses no clock and no host, and accesses the disk only to
//! check whether a log exists before a context names it.

mod approx;
mod cache;
mod changes;
mod considered;
mod cost;
mod counter;
mod counts;
mod fragment;
#[cfg(test)]
mod growth_tests;
mod guidance;
mod heap;
mod recent;
mod relevance;
mod render;
mod select;
mod settings;
mod skeleton;
mod spending;
mod tokens;
mod volatile;
mod wording;
mod xml;

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde::Serialize;

use crate::error::Result;
use crate::frame::Handle;
use crate::tree::Tree;
use crate::vocabulary::ToolNames;
use cache::Cache;
pub(crate) use cache::Key;
use considered::Considered;
use cost::Cost;
use counts::Counts;
use fragment::Fragment;
#[cfg(feature = "tools")]
pub(crate) use guidance::initial_planning;
use recent::Recent;
use relevance::{Extent, Query, Scored, SiblingIndex, Standpoint, WordCounts};
use skeleton::Costs;
use volatile::Volatile;
use wording::Wording;

pub use crate::keywords::keywords;
pub use approx::Approx;
pub use cache::CacheStatistics;
pub use changes::changes;
pub use counter::counter;
pub use fragment::DetailLevel;
pub use heap::{ChunkEntry, Shown};
pub use select::{Entry, Omission, Section};
pub use settings::{Budget, FinishedChildren, Form, Guidance, Settings};
#[cfg(feature = "tokenizer")]
pub use tokens::O200k;
pub use tokens::{Chars4, TokenCounter, truncate};
pub use xml::escape;

/// The context of a frame: the XML text in two forms, its size in tokens, and a report.
///
/// In JSON: `{"xml": "…", "stable": "…", "volatile": "…", "tokens": 1234, "report": {…}}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Context {
    /// The whole context as one XML document with the root element `stack-context`; the stable part comes
    /// first. For hosts that insert the context in one place.
    pub xml: String,
    /// The part that seldom changes, as a separate XML document (`stack-context`). It belongs in the system
    /// prompt, where prompt caches keep it.
    pub stable: String,
    /// The part that changes often, as a separate XML document (`stack-now`). It belongs after the newest
    /// message. Empty if a conversation that [goes through several
    /// frames](crate::session::calls::CallPlace::Conversation) says all of it itself.
    pub volatile: String,
    /// Upper bound of the number of tokens, both of `xml` and of `stable` plus `volatile`. Never more than
    /// [`Budget::total`]. The number of bytes is never more than [`Budget::bytes`].
    pub tokens: usize,
    /// The frames and chunks that were considered, and how much of each is shown.
    pub report: Report,
}

impl Context {}

/// The frames and chunks that were considered for a context, and how much of each is shown.
///
/// In JSON: `{"handle": "f3", "stableTokens": 900, "volatileTokens": 300, "entries": […], "chunks": […]}`;
/// `chunks` is omitted if it is empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The current frame, that is, the frame whose context this is.
    pub handle: Handle,
    /// Upper bound of the number of tokens of the stable part.
    pub stable_tokens: usize,
    /// Upper bound of the number of tokens of the volatile part.
    pub volatile_tokens: usize,
    /// All considered frames: the current frame, its first 256 planned children, its ancestors from the parent
    /// to the root, its finished dependencies, and its finished siblings in the order of the XML. Of the
    /// siblings that had finished when the frame began, all are considered up to 256; of more, the best 96 of
    /// those that look relevant. Of the siblings that finish later, the first 128 are considered, so that the
    /// stable part keeps its bytes. The context counts the others.
    pub entries: Vec<Entry>,
    /// All chunks that the frame sees, in the order of the XML.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<ChunkEntry>,
}

/// Advice that a context gives in addition to what the tree says.
#[derive(Clone, Copy)]
pub(crate) struct Advice<'a> {
    /// Suggestions to the agent; empty: none.
    pub(crate) suggestions: &'a str,
    /// Whether a root without children is advised to plan.
    pub(crate) planning: bool,
    /// The state of the frame's conversation, which decides what the context leaves out.
    pub(crate) conversation: Conversation,
    /// The frame whose stable part the context has, with the state of its conversation. It is a frame above
    /// the current one, which is in the same conversation. `None`: the current frame itself.
    pub(crate) base: Option<(Handle, Conversation)>,
    /// Frames between these two, and the base, whose criteria the conversation does not have any more: the
    /// volatile part shows them.
    pub(crate) above: &'a [Handle],
    /// Children that have ended in the background, and about which the agent does not know yet, or that could
    /// not be started, with the reason: the volatile part shows them.
    pub(crate) news: &'a [(Handle, String)],
}

impl Default for Advice<'_> {
    fn default() -> Self {
        let conversation = Conversation::default();
        Self { suggestions: "", planning: true, conversation, base: None, above: &[], news: &[] }
    }
}

/// What is known about the conversation of a frame's session. The context does not repeat what the
/// conversation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Conversation {
    /// It was begun by a call of the frame: the caller decides what comes after the frame.
    pub(crate) is_called: bool,
    /// It still has the frame's criteria, word for word.
    pub(crate) has_criteria: bool,
    /// It says itself in which frame it is, by the answers of the calls with which it has moved there.
    pub(crate) says_place: bool,
}

/// Number of frames with cached renderings, and of parents with a cached index of their children. Up to twice
/// as many are cached, and those that are not used for the longest time are removed first.
const KEPT_FRAMES: usize = 8_192;
const KEPT_INDEXES: usize = 1_024;
/// Maximum number of frames between a frame and its ancestor whose words count for the ancestor's siblings,
/// the nearest ones.
const FRAMES_BETWEEN: usize = 8;
/// How many finished siblings of a frame are scored. Most plans have fewer, so that all of them are.
const OWN_SIBLINGS: Extent = Extent { all: 256, best: 96, later: 128 };
/// How many finished siblings of one ancestor are scored.
const SIBLINGS_OF_ANCESTOR: Extent = Extent { all: 24, best: 24, later: 8 };
/// Maximum number of cached wordings besides the default one. If it is exceeded, the oldest is removed.
const KEPT_WORDINGS: usize = 8;

/// Assembles the contexts of one tree, and caches everything that can be reused.
pub(crate) struct Contexts {
    counter: Arc<dyn TokenCounter>,
    /// The same counter, for texts that are in most contexts.
    counts: Counts,
    /// The folder to which the paths of logs are relative.
    folder: PathBuf,
    /// The paths of logs that the host has named in this process, with the frames.
    logs_of_host: Mutex<HashSet<(Handle, PathBuf)>>,
    costs: Costs,
    /// The texts with the default names of tools.
    wording: Arc<Wording>,
    /// The texts with other names of tools, oldest first.
    other_wordings: Mutex<Vec<Arc<Wording>>>,
    kept: RwLock<Recent<Handle, Kept>>,
    indexes: Mutex<Recent<Handle, Arc<Mutex<SiblingIndex>>>>,
    /// Kept, because it is large and remembers words. `None` while a thread uses it; another one makes its own.
    words: Mutex<Option<WordCounts>>,
    cache: Mutex<Cache>,
}

/// The cached values of a frame, each with the state from which it was made: a revision, and what else it
/// depends on.
#[derive(Default)]
struct Kept {
    settled: Option<(u64, Arc<Fragment>)>,
    /// Also made from whether its log exists, and from its conversation.
    current: Option<((u64, bool, Conversation), Arc<Fragment>)>,
    query: Option<(u64, Arc<Query>)>,
    considered: Option<((u64, FinishedChildren), Arc<Considered>)>,
}

impl Contexts {
    pub(crate) fn new(counter: Arc<dyn TokenCounter>, folder: PathBuf) -> Self {
        Self {
            costs: Costs::of(&*counter),
            wording: Arc::new(Wording::of(&ToolNames::default(), &*counter)),
            other_wordings: Mutex::default(),
            counts: Counts::new(counter.clone()),
            counter,
            folder,
            logs_of_host: Mutex::default(),
            kept: RwLock::new(Recent::new(KEPT_FRAMES)),
            indexes: Mutex::new(Recent::new(KEPT_INDEXES)),
            words: Mutex::default(),
            cache: Mutex::default(),
        }
    }

    /// The cost of a text in tokens and bytes.
    fn cost(&self, text: &str) -> Cost {
        Cost::of(text, &self.counts)
    }

    /// Assembles the context of a frame without the cache.
    pub(crate) fn assemble(
        &self,
        tree: &Tree,
        handle: Handle,
        settings: &Settings,
        advice: Advice<'_>,
    ) -> Result<Context> {
        settings.check()?;
        let wording = self.wording(&settings.tools);
        let (base, conversation) = advice.base.unwrap_or((handle, advice.conversation));
        let mut considered = self.considered(tree, base, settings.finished_children);
        if !advice.news.is_empty() {
            // The volatile part shows them first, so that the stable part keeps its bytes until the agent has
            // seen them.
            Arc::make_mut(&mut considered).children.retain(|child| advice.news.iter().all(|(other, _)| other != child));
        }
        let mut volatile = Volatile::new(self, wording.clone(), tree, base, conversation);
        let stable = select::select(self, &wording, tree, &considered, settings, Some(volatile.cost))?;
        if advice.base.is_none() {
            volatile.fill(self, tree, &considered, settings, advice, stable.left);
            return Ok(render::render(self, &wording, &considered, stable, volatile));
        }
        let mut own = Volatile::new(self, wording.clone(), tree, handle, advice.conversation);
        // With little room nothing is said, because the conversation says itself where it is.
        volatile.says_nothing = true;
        if own.cost.fits(stable.left) {
            let considered = self.considered(tree, handle, settings.finished_children);
            own.fill(self, tree, &considered, settings, advice, stable.left);
            volatile = own;
        }
        Ok(render::render(self, &wording, &considered, stable, volatile))
    }

    /// Returns what surrounds a frame, for a prompt that has the frame itself and its chunks elsewhere: the
    /// stable part of its context without advice and chunks, in at most `total` tokens. It is empty if
    /// nothing surrounds the frame, or if the budget is too small for the stubs of its parent and root.
    pub(crate) fn surroundings(&self, tree: &Tree, handle: Handle, total: usize) -> String {
        let settings = Settings::of_surroundings(total);
        let considered = self.considered(tree, handle, settings.finished_children);
        let selected = select::select(self, &self.wording, tree, &considered, &settings, None);
        selected.map(|selected| render::render_alone(&self.wording, &considered, &selected)).unwrap_or_default()
    }

    /// Returns the context of a frame from the cache; `None` if it is not cached or not current, or names a
    /// log that no longer exists. `now` is in milliseconds since the Unix epoch.
    pub(crate) fn find(&self, key: &Key<'_>, now: u64) -> Option<Arc<Context>> {
        let cached = self.cache.lock().get(key, now);
        cached.filter(|context| {
            // The first entry is that of the current frame, the only one with a log.
            let log = context.report.entries.first().and_then(|current| current.log.as_ref());
            log.is_none_or(|log| self.existing_log(key.handle, Some(log)).is_some())
        })
    }

    /// Assembles the context of a frame and adds it to the cache. `tree` is the tree of the key. `now` is in
    /// milliseconds since the Unix epoch.
    pub(crate) fn make(&self, tree: &Tree, key: &Key<'_>, now: u64) -> Result<Arc<Context>> {
        let context = Arc::new(self.assemble(tree, key.handle, key.settings, key.advice)?);
        self.cache.lock().put(key, now, context.clone());
        Ok(context)
    }

    pub(crate) fn cache_statistics(&self) -> CacheStatistics {
        self.cache.lock().statistics()
    }

    pub(crate) fn clear_cache(&self, handle: Option<Handle>) {
        self.cache.lock().clear(handle);
        match handle {
            Some(handle) => self.kept.write().remove(handle),
            None => {
                self.kept.write().clear();
                self.indexes.lock().clear();
            }
        }
    }

    /// Returns the texts with these names of tools, from the cache if they are there.
    fn wording(&self, tools: &ToolNames) -> Arc<Wording> {
        if tools.is_default() {
            return self.wording.clone();
        }
        if let Some(kept) = self.other_wordings.lock().iter().find(|wording| wording.is_for(tools)) {
            return kept.clone();
        }
        let made = Arc::new(Wording::of(tools, &*self.counter));
        let mut others = self.other_wordings.lock();
        if others.len() >= KEPT_WORDINGS {
            others.remove(0);
        }
        others.push(made.clone());
        made
    }

    /// Returns the path of a frame's log with the folder prepended, if the file exists and an agent may read
    /// it: below the folder without a link, or a file that the host has named in this process. The history,
    /// the state and the folder may come from a stranger.
    pub(crate) fn existing_log(&self, handle: Handle, path: Option<&str>) -> Option<String> {
        let path = self.folder.join(path?);
        let is_of_host = || self.logs_of_host.lock().contains(&(handle, path.clone()));
        let exists = path.is_file() && (self.is_below_folder(&path) || is_of_host());
        exists.then(|| path.to_string_lossy().into_owned())
    }

    /// True if a path leads below the folder, and not through a link there. If there is no folder, no path is
    /// below it.
    fn is_below_folder(&self, path: &Path) -> bool {
        if self.folder.as_os_str().is_empty() {
            return false;
        }
        let Ok(below) = path.strip_prefix(&self.folder) else { return false };
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let is_link = |path: &Path| path != self.folder && path.starts_with(&self.folder) && path.is_symlink();
        is_plain && !path.ancestors().any(is_link)
    }

    /// Allows contexts to name a log of a frame outside of the folder, because the host of this process has
    /// named it.
    pub(crate) fn allow_log(&self, handle: Handle, path: &str) {
        if self.logs_of_host.lock().insert((handle, self.folder.join(path))) {
            // Contexts that were made before do not name it, also if the frame has had this path already.
            self.clear_cache(None);
        }
    }

    /// Not inlined, because its many registers and its stack would burden callers that seldom call it.
    #[inline(never)]
    fn fragment(&self, tree: &Tree, handle: Handle) -> Arc<Fragment> {
        let node = tree.node(handle);
        let make = || Fragment::settled(handle, node, &*self.counter);
        self.keep(handle, node.settled_revision(), |kept| &mut kept.settled, |kept| &kept.settled, make)
    }

    fn current_fragment(&self, tree: &Tree, handle: Handle, conversation: Conversation) -> Arc<Fragment> {
        let node = tree.node(handle);
        let log = self.existing_log(handle, node.record().log_path.as_deref());
        let made_from = (node.revision(), log.is_some(), conversation);
        let make = || Fragment::current(handle, node, log, conversation, &*self.counter);
        self.keep(handle, made_from, |kept| &mut kept.current, |kept| &kept.current, make)
    }

    /// Scores the finished siblings of a frame.
    fn sibling_scores(&self, tree: &Tree, handle: Handle) -> Vec<Scored> {
        self.with_siblings(tree, handle, |index| {
            index.scores(&Standpoint::new(tree, handle, handle), &self.query(tree, handle), OWN_SIBLINGS)
        })
    }

    /// Scores the finished siblings of an ancestor of a frame, and returns the best of them in the order in
    /// which they finished.
    fn scores_beside(&self, tree: &Tree, handle: Handle, ancestor: Handle) -> Vec<Scored> {
        self.with_siblings(tree, ancestor, |index| {
            let between = tree.ancestors(handle).take_while(|other| *other != ancestor).take(FRAMES_BETWEEN);
            let above: Vec<_> = between.chain([ancestor]).map(|other| self.query(tree, other)).collect();
            let query = Query::beside(&self.query(tree, handle), &above);
            index.scores(&Standpoint::new(tree, handle, ancestor), &query, SIBLINGS_OF_ANCESTOR)
        })
    }

    /// Returns the frames considered for a context, from the cache if nothing on which they depend has
    /// changed since.
    fn considered(&self, tree: &Tree, handle: Handle, finished_children: FinishedChildren) -> Arc<Considered> {
        let made_from = (considered::revision(tree, handle), finished_children);
        if let Some(kept) = self.kept(handle, &made_from, |kept| &kept.considered) {
            return kept;
        }
        let made = Arc::new(considered::consider(self, tree, handle, finished_children));
        if made.is_small() {
            self.put(handle, |kept| kept.considered = Some((made_from, made.clone())));
        }
        made
    }

    fn query(&self, tree: &Tree, handle: Handle) -> Arc<Query> {
        let node = tree.node(handle);
        let make = || self.with_words(|words| Query::of(node, words));
        self.keep(handle, node.settled_revision(), |kept| &mut kept.query, |kept| &kept.query, make)
    }

    /// Counts words with the memory that is kept for it.
    fn with_words<T>(&self, count: impl FnOnce(&mut WordCounts) -> T) -> T {
        let mut words = self.words.lock().take().unwrap_or_default();
        let counted = count(&mut words);
        *self.words.lock() = Some(words);
        counted
    }

    /// Scores the finished siblings of a frame with the index of its parent's finished children, which is
    /// held until the scores are made: another thread may bring it to another version of the tree. Nothing if
    /// there is no such sibling.
    fn with_siblings(
        &self,
        tree: &Tree,
        handle: Handle,
        score: impl FnOnce(&mut SiblingIndex) -> Vec<Scored>,
    ) -> Vec<Scored> {
        let node = tree.node(handle);
        let Some(parent) = node.parent() else { return Vec::new() };
        if tree.node(parent).finished_children().len() == usize::from(tree.is_finished_child(handle)) {
            return Vec::new();
        }
        let index = self.indexes.lock().entry(parent).clone();
        let mut index = index.lock();
        self.with_words(|words| index.update(tree, parent, words));
        score(&mut index)
    }

    fn keep<M: PartialEq, T>(
        &self,
        handle: Handle,
        made_from: M,
        place: impl FnOnce(&mut Kept) -> &mut Option<(M, Arc<T>)>,
        look: impl FnOnce(&Kept) -> &Option<(M, Arc<T>)>,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some(kept) = self.kept(handle, &made_from, look) {
            return kept;
        }
        let made = Arc::new(make());
        self.put(handle, |kept| *place(kept) = Some((made_from, made.clone())));
        made
    }

    /// Returns a cached value of a frame if it was made from this state.
    fn kept<M: PartialEq, T>(
        &self,
        handle: Handle,
        made_from: &M,
        look: impl FnOnce(&Kept) -> &Option<(M, Arc<T>)>,
    ) -> Option<Arc<T>> {
        let kept = self.kept.read();
        if let Some(young) = kept.young(handle) {
            return current(look(young), made_from);
        }
        if !kept.has_old(handle) {
            return None;
        }
        drop(kept);
        current(look(self.kept.write().entry(handle)), made_from)
    }

    /// Stores a cached value of a frame.
    fn put(&self, handle: Handle, store: impl FnOnce(&mut Kept)) {
        store(self.kept.write().entry(handle));
    }
}

/// A cached value, if it was made from this state.
fn current<M: PartialEq, T>(cached: &Option<(M, Arc<T>)>, made_from: &M) -> Option<Arc<T>> {
    let (from, made) = cached.as_ref()?;
    (from == made_from).then(|| made.clone())
}
