//! From a tree to a prompt: the small XML text that an agent sees of its call stack.
//!
//! A context is made in three steps, each fed by the one before: *consider* (which frames might
//! matter, and how much), *select* (which are shown, on which [`DetailLevel`], within the budget) and
//! *render*. Frames are rendered once and kept, so that a context is made by choosing and copying.
//!
//! # What holds for every context
//! 1. Its tokens, counted on the final escaped text, never exceed the total budget.
//! 2. The same tree, settings and counter give the same bytes.
//! 3. A larger total never drops or shortens anything.
//! 4. The current frame, its parent and its root are always there, at least as stubs; its
//!    dependencies come next.
//! 5. What is left out is counted, and can be reached by handle.
//! 6. It is well-formed XML 1.0, whatever the frames' texts hold.
//! 7. The stable part keeps its bytes until a frame is pushed, activated, popped, blocked,
//!    resumed or invalidated, a chunk that it shows changes, or the settings change. A sibling that
//!    finishes is appended behind
//!    those already shown, as long as the budget has room. (Another ID for a finished sibling
//!    counts as a change if the current frame's criteria name that ID.)
//! 8. A chunk of the heap is shown word for word, or as a line of the index with a note how to read it.
//! 9. It names no tool that is not in [`Settings::tools`].
//!
//! # The specification's helper functions
//!
//! | there | here |
//! |---|---|
//! | estimateTokens | [`TokenCounter::count`] of [`Approx`], or of [`Chars4`] for its own estimate |
//! | truncateToTokenBudget | [`truncate`] |
//! | extractKeywords | [`keywords`] |
//! | escapeXml | [`escape`] |
//! | calculateSiblingOrder | [`sibling_order`](crate::tree::sibling_order) |
//! | generateStateHash | [`Tree::context_revision`] |
//! | scoreAncestor, scoreSibling, selectAncestors, selectSiblings | the [`Report`] of a context |
//! | invalidateAllCache | [`Stack::clear_cache`](crate::Stack::clear_cache) |
//! | formatDuration | [`format_duration`](crate::tree::format_duration) |
//!
//! This floor reads trees and never changes one; it knows no clock and no host, and of the disk only
//! whether a log that it would name is there.

mod cache;
mod considered;
mod fragment;
mod guidance;
mod heap;
mod keys;
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

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde::Serialize;

use crate::error::Result;
use crate::frame::Handle;
use crate::tree::Tree;
use crate::vocabulary::ToolNames;
use cache::{Cache, Key};
use fragment::Fragment;
use keys::KeyMap;
use relevance::{Query, Scored, SiblingIndex};
use skeleton::Costs;
use volatile::Volatile;
use wording::Wording;

pub use crate::keywords::keywords;
pub use cache::CacheStatistics;
pub use fragment::DetailLevel;
pub use heap::{ChunkEntry, Shown};
pub use select::{Entry, Omission, Section};
pub use settings::{Budget, Guidance, Settings};
#[cfg(feature = "tokenizer")]
pub use tokens::O200k;
pub use tokens::{Approx, Chars4, TokenCounter, truncate};
pub use xml::escape;

/// The context of a frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Context {
    /// All of it as one XML document, `stack-context`, the static part first.
    pub xml: String,
    /// The part that seldom changes, a document of its own (`stack-context`): for the system
    /// prompt, where it is cached.
    pub stable: String,
    /// The part that changes often, a document of its own (`stack-now`): for the place behind the
    /// newest message.
    pub volatile: String,
    /// Upper bound of the tokens, of `xml` as well as of `stable` and `volatile` together. Never
    /// more than the total budget.
    pub tokens: usize,
    /// What was considered, and what became of it.
    pub report: Report,
}

impl Context {
    fn names_no_missing_log(&self) -> bool {
        self.report.entries.iter().filter_map(|entry| entry.log.as_ref()).all(|log| Path::new(log).exists())
    }
}

/// What was considered for a context, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The frame whose context it is.
    pub handle: Handle,
    /// Upper bound of the stable part's tokens.
    pub stable_tokens: usize,
    /// Upper bound of the volatile part's tokens.
    pub volatile_tokens: usize,
    /// Every frame considered: the current one, planned children, ancestors from the parent up,
    /// dependencies, siblings in the order shown.
    pub entries: Vec<Entry>,
    /// Every chunk that the frame sees, in the order shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<ChunkEntry>,
}

/// Frames whose renderings are kept at once, at most; past that all are forgotten.
const KEPT_FRAMES: usize = 16_384;
/// Parents whose children are kept indexed at once, at most; past that all are forgotten.
const KEPT_INDEXES: usize = 1_024;
/// Vocabularies beside the default one whose texts are kept at once, at most; past that the oldest is forgotten.
const KEPT_WORDINGS: usize = 8;

/// Makes the contexts of one tree, and keeps what it can use again.
pub(crate) struct Contexts {
    counter: Arc<dyn TokenCounter>,
    /// What the paths of logs are relative to.
    folder: PathBuf,
    costs: Costs,
    /// The texts for the default names of tools.
    wording: Arc<Wording>,
    /// Those for other names, oldest first.
    other_wordings: Mutex<Vec<Arc<Wording>>>,
    kept: RwLock<KeyMap<Handle, Kept>>,
    indexes: Mutex<KeyMap<Handle, Arc<Mutex<SiblingIndex>>>>,
    cache: Mutex<Cache>,
}

/// What is kept of a frame, each with what it was made from.
#[derive(Default)]
struct Kept {
    settled: Option<(MadeFrom, Arc<Fragment>)>,
    current: Option<(MadeFrom, Arc<Fragment>)>,
    query: Option<(MadeFrom, Arc<Query>)>,
}

/// The revision of the frame, and whether its log was there.
type MadeFrom = (u64, bool);

impl Contexts {
    pub(crate) fn new(counter: Arc<dyn TokenCounter>, folder: PathBuf) -> Self {
        Self {
            costs: Costs::of(&*counter),
            wording: Arc::new(Wording::of(&ToolNames::default(), &*counter)),
            other_wordings: Mutex::default(),
            counter,
            folder,
            kept: RwLock::default(),
            indexes: Mutex::default(),
            cache: Mutex::default(),
        }
    }

    /// The context of a frame, made anew. `suggestions`: what is suggested to its agent, if anything is.
    pub(crate) fn assemble(
        &self,
        tree: &Tree,
        handle: Handle,
        settings: &Settings,
        suggestions: &str,
    ) -> Result<Context> {
        settings.check()?;
        let wording = self.wording(&settings.tools);
        let considered = considered::consider(self, tree, handle);
        let mut volatile = Volatile::new(self, wording.clone(), tree, handle);
        let stable = select::select(self, &wording, tree, &considered, settings, volatile.tokens)?;
        volatile.fill(self, tree, &considered, &settings.budget, suggestions, stable.left);
        Ok(render::render(self, &wording, &considered, settings, stable, volatile))
    }

    /// The context of a frame from the cache, unless something in it has changed since.
    pub(crate) fn find(
        &self,
        tree: &Tree,
        handle: Handle,
        settings: &Settings,
        suggestions: &str,
        now: u64,
    ) -> Option<Arc<Context>> {
        let key = Key { handle, settings, suggestions, revision: tree.context_revision(handle) };
        let cached = self.cache.lock().get(&key, now);
        cached.filter(|context| context.names_no_missing_log())
    }

    /// Makes the context of a frame and keeps it in the cache.
    pub(crate) fn make(
        &self,
        tree: &Tree,
        handle: Handle,
        settings: &Settings,
        suggestions: &str,
        now: u64,
    ) -> Result<Arc<Context>> {
        let context = Arc::new(self.assemble(tree, handle, settings, suggestions)?);
        let key = Key { handle, settings, suggestions, revision: tree.context_revision(handle) };
        self.cache.lock().put(&key, now, context.clone());
        Ok(context)
    }

    pub(crate) fn cache_statistics(&self) -> CacheStatistics {
        self.cache.lock().statistics()
    }

    pub(crate) fn clear_cache(&self, handle: Option<Handle>) {
        self.cache.lock().clear(handle);
    }

    /// The texts for one vocabulary.
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

    /// The path of a log as the agent can use it, if the file is there.
    fn existing_log(&self, path: Option<&str>) -> Option<String> {
        let path = self.folder.join(path?);
        path.exists().then(|| path.to_string_lossy().into_owned())
    }

    fn fragment(&self, tree: &Tree, handle: Handle) -> Arc<Fragment> {
        let node = tree.node(handle);
        let log = self.existing_log(node.settled().log_path);
        let made_from = (node.settled_revision(), log.is_some());
        let make = || Fragment::settled(handle, node, log, &*self.counter);
        self.keep(handle, made_from, |kept| &mut kept.settled, |kept| &kept.settled, make)
    }

    fn current_fragment(&self, tree: &Tree, handle: Handle) -> Arc<Fragment> {
        let node = tree.node(handle);
        let log = self.existing_log(node.record().log_path.as_deref());
        let made_from = (node.revision(), log.is_some());
        let make = || Fragment::current(handle, node, log, &*self.counter);
        self.keep(handle, made_from, |kept| &mut kept.current, |kept| &kept.current, make)
    }

    fn sibling_scores(&self, tree: &Tree, handle: Handle) -> Vec<Scored> {
        let node = tree.node(handle);
        let Some(parent) = node.parent() else { return Vec::new() };
        if tree.node(parent).finished_children().is_empty() {
            return Vec::new();
        }
        let make = || Query::of(node);
        let query =
            self.keep(handle, (node.settled_revision(), false), |kept| &mut kept.query, |kept| &kept.query, make);
        let index = {
            let mut indexes = self.indexes.lock();
            if indexes.len() >= KEPT_INDEXES && !indexes.contains_key(&parent) {
                indexes.clear();
            }
            indexes.entry(parent).or_default().clone()
        };
        let mut index = index.lock();
        index.update(tree, parent);
        index.scores(handle, node, &query)
    }

    fn keep<T>(
        &self,
        handle: Handle,
        made_from: MadeFrom,
        place: impl Fn(&mut Kept) -> &mut Option<(MadeFrom, Arc<T>)>,
        look: impl Fn(&Kept) -> &Option<(MadeFrom, Arc<T>)>,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some((kept_from, made)) = self.kept.read().get(&handle).and_then(|kept| look(kept).as_ref())
            && *kept_from == made_from
        {
            return made.clone();
        }
        let made = Arc::new(make());
        let mut kept = self.kept.write();
        if kept.len() >= KEPT_FRAMES && !kept.contains_key(&handle) {
            kept.clear();
        }
        *place(kept.entry(handle).or_default()) = Some((made_from, made.clone()));
        made
    }
}
