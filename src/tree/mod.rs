//! The tree of frames: its queries, and the two halves of every change.
//!
//! [`decide`] checks a command and returns events, but changes nothing. [`Tree::apply`] applies an event and
//! cannot fail.
//!
//! This layer knows only frames and errors: no tokens, no XML, no clock, no disk.

mod apply;
mod archive;
mod brief;
mod child_index;
mod command;
mod commit;
mod comparison;
mod costs;
mod decide;
mod dependency_order;
mod derived;
#[cfg(test)]
mod derived_tests;
mod given;
#[cfg(test)]
mod growth_tests;
mod heap_usage;
mod holding;
mod ids;
mod image;
mod links;
mod memory;
mod node;
mod nodes;
mod outline;
mod packed;
mod places;
mod ready;
mod relations;
mod roots;
mod scan;
mod sibling_order;
mod snapshot;
mod state;
mod titles;
mod transcripts;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::iter;
use std::slice;

use serde_json::{Map, Value};

use crate::archive::ArchiveQuery;
use crate::error::{Error, Result};
use crate::frame::{
    Frame, FrameRef, FrameStatus, FrameUsage, Handle, HolderKind, ModelUsage, Target, add_usage, reference_to_id, shown,
};
use crate::keys::KeyMap;
use crate::steps::step;
use crate::text::one_line;

/// The length from which the beginning of a title names a frame, in characters.
const LEAST_BEGINNING: usize = 3;
/// The length up to which titles are compared with a text that does not name a frame, and the number of
/// titles that are compared.
const LONGEST_COMPARED: usize = 64;
const MOST_COMPARED: usize = 4_096;
/// The least similarity of a title to such a text, from 0 to 1.
const LEAST_LIKENESS: f64 = 0.75;
/// Maximum number of frames that an error lists.
const LISTED: usize = 8;

use brief::Brief;
pub(crate) use child_index::Kind;
pub use command::{Command, Records, TranscriptRead};
pub(crate) use commit::Draft;
pub use commit::{Commit, LogAppend};
pub(crate) use comparison::{Compared, Comparison, is_of_data};
use costs::Cost;
#[cfg(feature = "session")]
pub(crate) use decide::decide_each;
#[cfg(test)]
pub(crate) use decide::execute;
pub use decide::{MOST_TAKEN_BACK, decide, decide_as};
pub(crate) use decide::{TAKEN_BACK, decide_all, decide_together, known_chunk};
use dependency_order::DependencyOrder;
use derived::Derived;
pub use heap_usage::HeapUsage;
use ids::Ids;
pub use memory::{Conversation, RunState};
pub use node::{Node, Settled};
use nodes::Nodes;
#[cfg(feature = "tools")]
pub(crate) use outline::{Outline, drawn};
pub use outline::{OutlineOptions, OutlineStyle, format_duration, outline};
use ready::{ClearAbove, NextFrames, WorkerTimes};
pub use ready::{Obstacle, Parts};
use roots::Roots;
pub(crate) use scan::Scan;
pub use sibling_order::{SiblingOrder, sibling_order};
use titles::Titles;

/// Maximum number of earlier attempts that a context shows. It shows the newest ones.
pub(crate) const SHOWN_ATTEMPTS: usize = 8;

/// A tree of frames. It can have several roots (then it is a forest); each root is a task.
///
/// Frames are never removed, so a [`Handle`] (a position in the list of all frames) never becomes invalid. A
/// tree changes only by [`Tree::apply`] and [`Tree::replay`]. A clone shares the records of its frames with
/// the original, until one of the two changes them.
///
/// ```
/// use callstack_core::{Command, NewFrame, Tree, decide};
///
/// let mut tree = Tree::new();
/// let push = Command::Push(NewFrame::new("Build").id("ses_1"));
/// let commit = decide(&tree, push.clone(), 1_700_000_000_000)?;
/// assert!(tree.is_empty(), "deciding changes nothing");
/// commit.events.iter().for_each(|event| tree.apply(event));
/// assert_eq!(tree.len(), 1);
/// assert_eq!(decide(&tree, push, 1_700_000_000_001).unwrap_err().code(), "duplicate_id");
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # The specification's operations
///
/// The methods of the specification's `FrameStateManager`, the methods of [`Stack`](crate::Stack), and the
/// commands and queries of a tree that is used without a stack:
///
/// | `FrameStateManager` | with a stack | with a tree |
/// |---|---|---|
/// | createFrame | [`Stack::push`](crate::Stack::push) | [`Command::Push`] |
/// | updateFrameStatus | [`Stack::execute`](crate::Stack::execute) | [`Command::SetStatus`] |
/// | completeFrame | [`Stack::pop`](crate::Stack::pop) | [`Command::Pop`] |
/// | getFrame | [`Stack::frame`](crate::Stack::frame) | [`Tree::resolve`], [`Tree::frame`] |
/// | getActiveFrame, setActiveFrame | [`Stack::active`](crate::Stack::active), [`Stack::set_active`](crate::Stack::set_active) | [`Tree::active`], [`Command::SetActive`] |
/// | getAncestors | [`Stack::read`](crate::Stack::read) | [`Tree::ancestors`] |
/// | getCompletedSiblings | [`Stack::read`](crate::Stack::read) | [`Tree::completed_siblings`] |
/// | getAllSiblings | [`Stack::read`](crate::Stack::read) | [`Tree::siblings`] |
/// | getChildren, getAllChildren | [`Stack::read`](crate::Stack::read) | [`Tree::children`] |
/// | getAllFrames | [`Stack::read`](crate::Stack::read) | [`Tree::state`] |
/// | loadState, loadFrame | `Stack::open` imports their files | [`StackState::from_json`](crate::StackState::from_json) |
/// | saveState, saveFrame | written by polls, or by commands on request, of a stack in a folder | [`StackState::to_json`](crate::StackState::to_json) |
/// | ensureFrame | [`Stack::ensure`](crate::Stack::ensure) | [`Command::Ensure`] |
/// | createPlannedFrame | [`Stack::plan`](crate::Stack::plan) | [`Command::Plan`] |
/// | createPlannedChildren | [`Stack::plan_children`](crate::Stack::plan_children) | [`Command::PlanChildren`] |
/// | activateFrame | [`Stack::activate`](crate::Stack::activate) | [`Command::Activate`] |
/// | replaceFrameID | [`Stack::replace_id`](crate::Stack::replace_id) | [`Command::ReplaceId`] |
/// | invalidateFrame | [`Stack::invalidate`](crate::Stack::invalidate) | [`Command::Invalidate`] |
/// | getFramesByStatus | [`Stack::read`](crate::Stack::read) | [`Tree::with_status`] |
///
/// The specification distinguishes children from all children by their status. Here one query returns all
/// children, and [`Node::status`] tells their status.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    nodes: Nodes,
    ids: Ids,
    titles: Titles,
    roots: Roots,
    /// The number of roots with each status, in the order of [`FrameStatus::ALL`].
    root_statuses: [usize; FrameStatus::ALL.len()],
    active: Option<Handle>,
    revision: u64,
    /// Revision of the last change of dependencies and of the places of frames, which decide which frame
    /// waits for which.
    plan_revision: u64,
    updated_at: u64,
    /// Counts pushes, activations and finishes. It gives each of them its place in their order.
    sequence: u64,
    /// Frames with changes that the stable part of contexts does not show yet.
    unsettled: Vec<Handle>,
    /// Number of chunks in the heaps of all frames.
    chunks: usize,
    /// The unfinished frames that own a chunk, by the chunk's name.
    chunk_owners: HashMap<String, BTreeSet<Handle>>,
    /// The frames that have not ended: planned, in_progress or blocked.
    unfinished: BTreeSet<Handle>,
    /// The unfinished frames that have a priority of their own.
    prioritized: BTreeSet<Handle>,
    /// The unfinished frames that wait to begin: blocked before they have begun.
    waiting: BTreeSet<Handle>,
    /// The unfinished frames that are not work.
    no_work: BTreeSet<Handle>,
    /// The roots whose trees have something unfinished, by the keys of their places.
    busy_roots: BTreeSet<(u64, Handle)>,
    /// The frames that have a holder.
    held: BTreeSet<Handle>,
    /// The open frames of workers.
    with_workers: BTreeSet<Handle>,
    /// When the frames of workers are free.
    worker_times: WorkerTimes,
    next: Derived<NextFrames>,
    dependency_order: Derived<DependencyOrder>,
    clear_above: ClearAbove,
    /// The frames that a conversation or a person holds, by its name. They include frames whose holder was
    /// silent for too long.
    ways: HashMap<(HolderKind, String), BTreeSet<Handle>>,
    /// Where each conversation is.
    places: BTreeMap<String, holding::Place>,
    /// How far the transcripts of conversations were read.
    transcripts: BTreeMap<String, transcripts::Transcript>,
    /// The frames at or below which running frames were stopped, with the revision and the reason of the last
    /// time.
    stops: BTreeMap<Handle, (u64, String)>,
    /// The last commands of persons.
    given: VecDeque<given::Given>,
    /// The cost of the requests of conversations.
    price: costs::Price,
    extra: Map<String, Value>,
}

impl Tree {
    /// Creates a tree without frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of frames of all statuses.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there is no frame.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The revision of the tree: the number of events that were applied to it.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// All handles, in creation order.
    pub fn handles(&self) -> impl DoubleEndedIterator<Item = Handle> + ExactSizeIterator + Clone + use<> {
        (0..self.nodes.len()).map(|index| Handle::from_index(index).expect("the arena never grows past the limit"))
    }

    /// The frame with this handle and its links.
    ///
    /// # Panics
    /// Panics if the tree has no frame with this handle. Use [`Tree::resolve`] to check handles from outside.
    pub fn node(&self, handle: Handle) -> &Node {
        &self.nodes[handle.index()]
    }

    /// The complete record of a frame, with parent, dependencies and planned children.
    ///
    /// # Panics
    /// As [`Tree::node`].
    pub fn frame(&self, handle: Handle) -> Frame {
        let node = self.node(handle);
        let id = |handle: &Handle| self.node(*handle).session_id().to_owned();
        let planned: Vec<String> =
            node.children.iter().filter(|child| self.node(**child).status() == FrameStatus::Planned).map(id).collect();
        let is_reordered = node.is_reordered && !node.children.is_sorted();
        Frame {
            parent_session_id: node.parent.as_ref().map(id),
            child_order: if is_reordered { node.children.iter().map(id).collect() } else { Vec::new() },
            depends_on: node.dependencies().iter().map(id).collect(),
            planned_children: (!planned.is_empty() || node.status() == FrameStatus::Planned).then_some(planned),
            retry_of: node.retry_of().as_ref().map(id),
            ..node.frame.clone()
        }
    }

    /// Finds the frame that a reference names.
    ///
    /// [`FrameRef`] says how a text is read.
    ///
    /// # Errors
    /// - [`Error::UnknownFrame`] if no frame matches.
    /// - [`Error::AmbiguousFrame`] if the text is the beginning of several IDs, or the title of several
    ///   frames. The error lists up to eight of them.
    /// - The errors of the store, if the frame is in a finished tree that must be read from there.
    pub fn resolve(&self, reference: &FrameRef) -> Result<Handle> {
        self.resolve_near(reference, None)
    }

    /// True if the frame that a reference names can be found in memory, and the frame is in memory.
    pub(crate) fn holds(&self, reference: &FrameRef) -> bool {
        let found = match reference.target() {
            Target::Handle(handle) => Some(handle),
            Target::Id(id) | Target::Name(id) => self.ids.in_memory(id, &self.nodes),
            Target::Nothing => None,
        };
        !self.has_archive() || found.is_some_and(|handle| self.is_in_memory(handle))
    }

    /// Finds the frame that a reference names, in the same way as [`Tree::resolve`]. If several frames have a
    /// title, it means those in the tree of `near`, because other trees are other tasks.
    ///
    /// # Errors
    /// As [`Tree::resolve`].
    pub fn resolve_near(&self, reference: &FrameRef, near: Option<Handle>) -> Result<Handle> {
        // A frame whose search has failed is not an unknown frame.
        let found = self.checked(|tree| tree.named(reference, near))??;
        if self.has_archive() {
            self.nodes.hold(found)?;
            self.nodes.note_use(self.root(found));
        }
        Ok(found)
    }

    /// The frame that a reference names.
    fn named(&self, reference: &FrameRef, near: Option<Handle>) -> Result<Handle> {
        let unknown = || Error::UnknownFrame { reference: reference.to_string(), handle: None, similar: Vec::new() };
        let text = match reference.target() {
            Target::Handle(handle) if handle.index() < self.len() => return Ok(handle),
            Target::Handle(_) | Target::Nothing => {
                let reference = reference.to_string();
                return Err(Error::UnknownFrame { handle: self.by_id(&reference), reference, similar: Vec::new() });
            }
            Target::Id(id) => return self.by_id(id).ok_or_else(unknown),
            Target::Name(text) if text.trim().is_empty() => return Err(unknown()),
            Target::Name(text) => text,
        };
        if let Some(handle) = self.by_id(text) {
            return Ok(handle);
        }
        let mut fitting = self.ids.beginning_with(text, LISTED, &self.nodes);
        let titled = self.titled(text, near);
        // If several IDs begin with a text that is also a title, the text can only mean the title.
        if fitting.len() > 1 && !titled.is_empty() {
            fitting.clear();
        }
        let titled = match fitting.is_empty() && titled.is_empty() {
            true => self.with_title_beginning(text, near),
            false => titled,
        };
        let is_beginning = |handle: &Handle| fitting.contains(handle);
        let titled: Vec<Handle> = titled.into_iter().filter(|handle| !is_beginning(handle)).take(LISTED).collect();
        match (&fitting[..], &titled[..]) {
            ([], []) => Err(match unknown() {
                Error::UnknownFrame { reference, handle, .. } => {
                    Error::UnknownFrame { reference, handle, similar: self.similar_titles(text) }
                }
                other => other,
            }),
            ([only], []) | ([], [only]) => Ok(*only),
            _ => {
                let by_id = fitting.iter().map(|handle| reference_to_id(self.node(*handle).session_id()).into_owned());
                let by_id = fitting.iter().zip(by_id).map(|(handle, id)| format!("{handle} ({id})"));
                let by_title = titled.iter().map(|handle| self.by_title(*handle));
                Err(Error::AmbiguousFrame {
                    reference: text.to_owned(),
                    candidates: by_id.chain(by_title).take(LISTED).collect(),
                })
            }
        }
    }

    /// The first planned frame with a title below a parent, or among the roots.
    pub fn planned_with_title(&self, title: &str, parent: Option<Handle>) -> Option<Handle> {
        let is_planned_there = |handle: &Handle| {
            let node = self.node(*handle);
            node.parent() == parent && node.status() == FrameStatus::Planned
        };
        let root = parent.map(|parent| self.root(parent));
        self.titles.all(self, title, root).filter(is_planned_there).min()
    }

    /// The text with which errors name a frame for its title.
    fn by_title(&self, handle: Handle) -> String {
        let node = self.node(handle);
        format!("{handle} ({}, {})", shown(&one_line(node.title())), node.status())
    }

    /// The unfinished frames whose titles begin with a text of at least three characters. If there are
    /// several, the same ones are preferred as in [`Tree::titled`]. A frame that has ended is named by its
    /// whole title, because the result must not depend on which finished frames are in memory.
    fn with_title_beginning(&self, text: &str, near: Option<Handle>) -> Vec<Handle> {
        if text.trim().chars().count() < LEAST_BEGINNING {
            return Vec::new();
        }
        let begins = |handle: &Handle| {
            step();
            let mut title = titles::folded(self.node(*handle).title());
            titles::folded(text).all(|character| title.next() == Some(character))
        };
        self.preferred(self.unfinished().filter(begins).collect(), text, near)
    }

    /// Up to three frames in memory whose titles are similar to a text, each with its title.
    fn similar_titles(&self, text: &str) -> Vec<String> {
        let wanted: String = titles::folded(text).take(LONGEST_COMPARED).collect();
        if wanted.chars().count() < LEAST_BEGINNING {
            return Vec::new();
        }
        let likeness = |handle: Handle| {
            step();
            let title: String = titles::folded(self.node(handle).title()).take(LONGEST_COMPARED).collect();
            let likeness = if title.contains(&wanted) { 1.0 } else { strsim::jaro(&title, &wanted) };
            (likeness >= LEAST_LIKENESS).then_some((likeness, handle))
        };
        let is_in_plan = |handle: &Handle| self.status(*handle) != FrameStatus::Invalidated;
        let mut like: Vec<(f64, Handle)> =
            self.nodes.all_in_memory().filter(is_in_plan).take(MOST_COMPARED).filter_map(likeness).collect();
        like.sort_by(|one, other| other.0.total_cmp(&one.0));
        like.into_iter().take(3).map(|(_, handle)| self.by_title(handle)).collect()
    }

    /// The frames that a title can mean, at most one more than [`LISTED`]: the frames that were not retried if
    /// there are any, of these the frames that are not invalidated if there are any, of these the frames in
    /// the tree of `near` if there are any, and of these the frames with the same case if there are any.
    fn titled(&self, title: &str, near: Option<Handle>) -> Vec<Handle> {
        let archived = self.titles.archived(self, title);
        let near_root = near.map(|near| self.root(near));
        let mut found = self.titles.meant(self, title, near_root, LISTED + 1);
        if !archived.is_empty() {
            found.extend(archived);
            found.sort_unstable();
            found.dedup();
            found = self.preferred(found, title, near);
        }
        found
    }

    /// Among several frames that a title finds, the frames that the title means.
    fn preferred(&self, mut found: Vec<Handle>, title: &str, near: Option<Handle>) -> Vec<Handle> {
        let mut prefer = |is_preferred: &dyn Fn(&Handle) -> bool| {
            if found.len() > 1 && found.iter().any(is_preferred) {
                found.retain(is_preferred);
            }
        };
        prefer(&|handle| self.node(*handle).retried_as().is_none());
        prefer(&|handle| self.node(*handle).status() != FrameStatus::Invalidated);
        if let Some(root) = near.map(|near| self.root(near)) {
            prefer(&|handle| *handle == root || self.is_ancestor(root, *handle));
        }
        prefer(&|handle| self.node(*handle).title().trim() == title.trim());
        found
    }

    /// The frame that has exactly this ID.
    pub fn by_id(&self, session_id: &str) -> Option<Handle> {
        self.ids.get(session_id, &self.nodes)
    }

    /// The frames without a parent, in their order. That is the order of their creation, except that a new
    /// attempt comes directly after the one before it, and that some roots were moved.
    pub fn roots(&self) -> &[Handle] {
        self.roots.list(&self.nodes)
    }

    /// The active frame: the frame that is being worked on. `None` if no frame is active.
    pub fn active(&self) -> Option<Handle> {
        self.active
    }

    /// The parent, its parent, and so on up to the root.
    pub fn ancestors(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        let parent = |handle: Handle| self.brief(handle).parent();
        iter::successors(parent(handle), move |ancestor| parent(*ancestor)).inspect(|_| step())
    }

    /// True if `ancestor` is a parent, grandparent, … of `handle`.
    pub fn is_ancestor(&self, ancestor: Handle, handle: Handle) -> bool {
        self.ancestor_at(handle, self.brief(ancestor).depth()) == ancestor && handle != ancestor
    }

    /// The children of all statuses, in their order. That is the order of their creation, except that a new
    /// attempt comes directly after the one before it, and that some children were moved.
    pub fn children(&self, handle: Handle) -> &[Handle] {
        self.brief(handle).children()
    }

    /// The other children of the parent, of all statuses, in their order. Roots have no siblings, because
    /// each root is a separate task.
    pub fn siblings(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        let children = self.brief(handle).parent().map_or(&[][..], |parent| self.children(parent));
        children.iter().copied().filter(move |sibling| *sibling != handle)
    }

    /// The siblings that were completed, in their order.
    pub fn completed_siblings(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.siblings(handle).filter(|sibling| self.status(*sibling) == FrameStatus::Completed)
    }

    /// The newest attempt at the work of this frame: the frame itself if it was not retried. The frames that
    /// depend on any of the attempts wait for the newest one.
    pub fn newest_attempt(&self, handle: Handle) -> Handle {
        let first = self.node_with(self.first_attempt(handle), |row| row.has_attempts);
        match first.and_then(|first| first.attempt.as_ref()) {
            Some(attempt) => attempt.newest,
            None => handle,
        }
    }

    /// The first attempt at the work of this frame. It keeps the newest attempt and the dependents for all
    /// attempts.
    pub(crate) fn first_attempt(&self, handle: Handle) -> Handle {
        let node = self.node_with(handle, |row| row.has_attempts);
        node.and_then(|node| node.attempt.as_ref()).map_or(handle, |attempt| attempt.first)
    }

    /// The attempts before this frame, newest first.
    pub fn earlier_attempts(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        iter::successors(self.node(handle).retry_of(), |attempt| self.node(*attempt).retry_of()).inspect(|_| step())
    }

    /// True if the frame is among the finished children of its parent: it is finished, and was not retried.
    pub(crate) fn is_finished_child(&self, handle: Handle) -> bool {
        let node = self.node(handle);
        node.parent.is_some() && node.status().is_finished() && node.retried_as().is_none()
    }

    /// The frames that a frame depends on: its dependencies, each in its newest attempt.
    pub fn newest_dependencies(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.brief(handle).dependencies().iter().map(|dependency| self.newest_attempt(*dependency))
    }

    /// The frames that depend on this frame or on another attempt at its work.
    pub fn dependents(&self, handle: Handle) -> &[Handle] {
        self.brief(self.first_attempt(handle)).dependents()
    }

    /// True if the conversation of the frame's parent holds the results of the frame: the results were
    /// delivered there, and the conversation was not compacted or started again since. False for a frame that
    /// was retried.
    pub fn is_held(&self, handle: Handle) -> bool {
        let node = self.node(handle);
        let Some(parent) = node.parent.filter(|_| self.is_finished_child(handle)) else { return false };
        let forgotten_at = self.node(parent).frame.forgotten_at;
        node.frame.delivered_at.is_some_and(|time| forgotten_at.is_none_or(|forgotten| time > forgotten))
    }

    /// The frames that are worked on in the conversation of a session in addition to the session's own frame,
    /// the outermost one first: see [`Frame::conversation`](crate::Frame::conversation).
    pub fn in_conversation(&self, session_id: &str) -> Vec<Handle> {
        let is_here = |frame: &Handle| self.node(*frame).record().conversation() == Some(session_id);
        let mut frames: Vec<Handle> = self.with_status(FrameStatus::InProgress).filter(is_here).collect();
        frames.sort_by_key(|frame| (self.node(*frame).depth(), *frame));
        frames
    }

    /// All frames with this status, in creation order. For a status of unfinished frames, only unfinished
    /// frames are looked at.
    pub fn with_status(&self, status: FrameStatus) -> impl Iterator<Item = Handle> + '_ {
        let (unfinished, all) = match status.is_unfinished() {
            true => (Some(self.unfinished.iter().copied()), None),
            false => {
                let has_status = move |frame: Brief<'_>| frame.status() == status;
                (None, Some(self.found(ArchiveQuery::Status(status), has_status)))
            }
        };
        let unfinished = unfinished.into_iter().flatten().inspect(|_| step());
        unfinished.filter(move |handle| self.status(*handle) == status).chain(all.into_iter().flatten())
    }

    /// The frames for which `is` is true, in creation order: frames in memory, and frames that a query finds
    /// in the archive. The latter are not loaded.
    fn found(&self, query: ArchiveQuery<'_>, is: impl Fn(Brief<'_>) -> bool) -> BTreeSet<Handle> {
        let is = |handle: Handle| is(self.brief(handle));
        let mut found: BTreeSet<Handle> = self.nodes.archived_with(query, is).into_iter().collect();
        found.extend(self.nodes.all_in_memory().inspect(|_| step()).filter(|handle| is(*handle)));
        found
    }

    /// The frames that are planned, in progress or blocked, in creation order.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = Handle> + '_ {
        self.unfinished.iter().copied()
    }

    /// The number of roots with each status, in the order of [`FrameStatus::ALL`].
    pub fn root_statuses(&self) -> [usize; FrameStatus::ALL.len()] {
        self.root_statuses
    }

    /// The roots of the trees that have something unfinished, in their order.
    pub(crate) fn unfinished_roots(&self) -> Vec<Handle> {
        self.busy_roots.iter().map(|(_, root)| *root).collect()
    }

    /// The frames that are planned, in progress or blocked, in the order of the plan: the roots in their
    /// order, each before the frames below it.
    pub(crate) fn unfinished_in_order(&self) -> impl Iterator<Item = Handle> + '_ {
        self.busy_roots.iter().flat_map(|(_, root)| {
            step();
            let root = *root;
            iter::once(root).filter(|root| self.status(*root).is_unfinished()).chain(self.unfinished_below(root))
        })
    }

    /// The reason for which the running frames at this frame or above it were stopped since a revision.
    #[cfg(feature = "session")]
    pub(crate) fn stop_since(&self, handle: Handle, revision: u64) -> Option<&str> {
        let is_later = |(stopped, _): &&(u64, String)| *stopped > revision;
        self.stops.values().find(is_later)?;
        let stops = self.lineage(handle).filter_map(|frame| self.stops.get(&frame));
        stops.filter(is_later).map(|(_, reason)| reason.as_str()).next()
    }

    /// The frame itself if it is open, else its nearest open ancestor.
    pub fn nearest_open(&self, handle: Handle) -> Option<Handle> {
        self.lineage(handle).find(|frame| self.status(*frame).is_open())
    }

    /// The frame and its [`Tree::descendants`].
    pub fn subtree(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        iter::once(handle).chain(self.descendants(handle))
    }

    /// All frames below a frame: parents before children, siblings in their order. Iterative, so a deep tree
    /// cannot overflow the thread's stack.
    pub fn descendants(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.walk(handle, Brief::children)
    }

    /// The frames below a frame that have not ended: planned, in_progress or blocked. They have the order of
    /// [`Tree::descendants`], but branches in which all frames have ended are not walked through.
    pub fn unfinished_below(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        let walk = self.walk(handle, |frame| if frame.has_unfinished_below() { frame.children() } else { &[] });
        walk.filter(|frame| self.status(*frame).is_unfinished())
    }

    /// The frames below a frame that have not begun: planned frames, and frames that wait to begin.
    pub fn unbegun_below(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.unfinished_below(handle).filter(|below| self.is_unbegun(*below))
    }

    /// Planned frames that can never begin, because a frame above them has ended. Those below a frame, or all
    /// of them. In creation order.
    pub fn leftovers(&self, below: Option<Handle>) -> Vec<Handle> {
        let is_meant = |handle: &Handle| below.is_none_or(|below| self.is_ancestor(below, *handle));
        // Whether a frame, or one above it, has ended. The frames of a deep plan share what is above them.
        let mut known: KeyMap<Handle, bool> = KeyMap::default();
        let mut is_over = |handle: Handle| {
            let (mut path, mut place) = (Vec::new(), Some(handle));
            let answer = loop {
                step();
                let Some(frame) = place else { break false };
                if let Some(answer) = known.get(&frame) {
                    break *answer;
                }
                path.push(frame);
                if !self.status(frame).is_unfinished() {
                    break true;
                }
                place = self.brief(frame).parent();
            };
            known.extend(path.into_iter().map(|frame| (frame, answer)));
            answer
        };
        let unbegun = self.unfinished().filter(|handle| self.is_unbegun(*handle));
        unbegun.filter(is_meant).filter(|handle| is_over(*handle)).collect()
    }

    /// True for a planned frame, and for one that waits to begin.
    fn is_unbegun(&self, handle: Handle) -> bool {
        self.status(handle) == FrameStatus::Planned || self.waiting.contains(&handle)
    }

    /// True for a frame that is out of the plan and has nothing unfinished below it. Views of a tree for
    /// people leave such a frame out, unless they ask for it.
    pub fn is_out_of_sight(&self, handle: Handle) -> bool {
        let frame = self.brief(handle);
        frame.status() == FrameStatus::Invalidated && !frame.has_unfinished_below()
    }

    /// The frames below a frame that `children` leads to, parents before children. They are taken one by one,
    /// so a search that ends early does not pay for the others.
    fn walk<'a>(
        &'a self,
        handle: Handle,
        children: impl Fn(Brief<'a>) -> &'a [Handle] + 'a,
    ) -> impl Iterator<Item = Handle> + 'a {
        let mut levels: Vec<slice::Iter<'_, Handle>> = Vec::new();
        let mut entered = Some(handle);
        iter::from_fn(move || {
            let below = entered.take().map_or(&[][..], |handle| children(self.brief(handle)));
            if !below.is_empty() {
                levels.push(below.iter());
            }
            while let Some(level) = levels.last_mut() {
                if let Some(next) = level.next() {
                    step();
                    entered = Some(*next);
                    return Some(*next);
                }
                levels.pop();
            }
            None
        })
    }

    /// The sums of the requests of all frames, with an entry for each model.
    pub fn usage_of_all(&self) -> Vec<ModelUsage> {
        let (mut sums, mut scan) = (Vec::new(), Scan::of(self));
        for handle in self.handles() {
            let with_usage = scan.at(handle).node_with(handle, |row| row.has_usage);
            with_usage.into_iter().flat_map(|node| &node.frame.usage).for_each(|usage| add_usage(&mut sums, usage));
        }
        sums
    }

    /// The sums of the requests to models: of a frame, and of the frame and everything below it.
    pub fn usage(&self, handle: Handle) -> FrameUsage {
        let mut total = Vec::new();
        let with_usage = self.subtree(handle).filter_map(|frame| self.node_with(frame, |row| row.has_usage));
        let all = with_usage.flat_map(|node| &node.record().usage);
        all.for_each(|usage| add_usage(&mut total, usage));
        let record = self.node(handle).record();
        FrameUsage {
            own: record.usage.clone(),
            total,
            own_cost_micro_usd: self.estimated(Cost::of(record)),
            total_cost_micro_usd: self.cost_below(handle),
        }
    }

    /// [`Tree::usage`] of all frames in one pass, in the order of their handles: the usage of f1 is the first
    /// one.
    pub fn usage_by_frame(&self) -> Vec<FrameUsage> {
        let of_frame = |node: &Node| {
            let (own, cost) = (node.record().usage.clone(), Cost::of(node.record()));
            let own_cost_micro_usd = self.estimated(cost);
            (FrameUsage { total: own.clone(), own, own_cost_micro_usd, total_cost_micro_usd: 0 }, cost)
        };
        let totals = self.totals(of_frame, |(usage, cost), (below, cost_below)| {
            below.total.iter().for_each(|below| add_usage(&mut usage.total, below));
            *cost = cost.and(*cost_below);
        });
        let with_cost = |(usage, cost)| FrameUsage { total_cost_micro_usd: self.estimated(cost), ..usage };
        totals.into_iter().map(with_cost).collect()
    }

    /// The sums over all models of the requests of each frame and of everything below it, in the order of the
    /// handles: the sums of f1 come first.
    pub fn usage_sums_by_frame(&self) -> Vec<ModelUsage> {
        self.totals(|node| node.record().usage.iter().sum(), ModelUsage::add)
    }

    /// The total of each frame: its own value, and the totals of its children added to it, in their order.
    fn totals<T: Clone + Default>(&self, own: impl Fn(&Node) -> T, add: impl Fn(&mut T, &T)) -> Vec<T> {
        let mut totals: Vec<T> = vec![T::default(); self.len()];
        let mut scan = Scan::of(self);
        // The frames from a root down to the current one. When a frame leaves the path, its total is
        // complete.
        let mut path: Vec<Handle> = Vec::new();
        let leave = |path: &mut Vec<Handle>, totals: &mut Vec<T>| {
            if let (Some(left), Some(parent)) = (path.pop(), path.last()) {
                let below = totals[left.index()].clone();
                add(&mut totals[parent.index()], &below);
            }
        };
        for root in self.roots() {
            let tree = scan.at(*root);
            for handle in tree.subtree(*root) {
                let node = tree.node(handle);
                while path.len() > node.depth() {
                    leave(&mut path, &mut totals);
                }
                totals[handle.index()] = own(node);
                path.push(handle);
            }
            while !path.is_empty() {
                leave(&mut path, &mut totals);
            }
        }
        totals
    }

    /// The revision of the last change of dependencies and of the places of frames, which decide which frame
    /// waits for which.
    pub(crate) fn plan_revision(&self) -> u64 {
        self.plan_revision
    }

    /// The newest revision among all frames that a context of this frame may show. While it is unchanged, the
    /// context is unchanged too.
    pub fn context_revision(&self, handle: Handle) -> u64 {
        let newest = |handle: Handle| {
            let node = self.node(handle);
            let dependencies = self.newest_dependencies(handle).map(|dependency| self.node(dependency).revision);
            dependencies.fold(node.revision.max(node.children_revision), u64::max)
        };
        let attempts = self.earlier_attempts(handle).take(SHOWN_ATTEMPTS).map(|attempt| self.node(attempt).revision);
        // A part can begin although a dependency of a frame above it is not completed, if that dependency
        // waits for the part in turn. The frames between the two can be far away. Therefore each change
        // counts.
        let waits = self.needs(handle).next().is_some();
        let plan = waits.then_some(self.revision);
        self.lineage(handle).map(newest).chain(attempts).chain(plan).fold(0, u64::max)
    }
}

/// Puts a frame into an index, or takes it out.
fn set(frames: &mut BTreeSet<Handle>, handle: Handle, is_in: bool) {
    if is_in {
        frames.insert(handle);
    } else {
        frames.remove(&handle);
    }
}
