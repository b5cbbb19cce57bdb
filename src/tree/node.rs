//! A node of the tree: the frame's record, its links to other frames, and its revisions.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::Conversation;
use super::child_index::{ChildIndex, Need};
use super::derived::Derived;
use crate::frame::{
    Chunk, ConversationCost, Frame, FrameStatus, Handle, Identity, ModelUsage, add_usage, first_filled,
};
use crate::steps::step;

/// The length up to which a list of the record is searched through. Longer lists have an index.
const SEARCHED: usize = 16;

/// A node of a [`Tree`](super::Tree): the frame's record, its links to other frames, and its revisions.
///
/// The link fields of the record (parent, dependencies, planned children) are empty, because the node keeps
/// links as handles. [`Tree::frame`](super::Tree::frame) returns a record with these fields.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) frame: Frame,
    pub(super) parent: Option<Handle>,
    pub(super) children: Vec<Handle>,
    /// Boxed, because most frames have none, and these should not use memory for its size.
    waits: Option<Box<Waits>>,
    /// The place of the frame among the attempts at the same work, if there are several attempts.
    pub(super) attempt: Option<Box<Attempt>>,
    /// Finished children by the place of their finish in the tree's sequence.
    pub(super) finished_children: BTreeMap<u64, Handle>,
    /// Number of finished children whose results the frame's conversation holds.
    pub(super) held_children: u32,
    /// Number of children that have not ended, or that have a frame below them that has not ended.
    pub(super) busy_children: u32,
    /// Number of ancestors.
    pub(super) depth: u32,
    /// An ancestor further up than the parent, or the frame itself if it is a root. Jumps make the way up to
    /// any ancestor logarithmic.
    pub(super) jump: Handle,
    /// Key of the frame's place among its siblings: higher keys come later.
    pub(super) order: u64,
    /// True if the children are, or were, in an order other than that of their creation.
    pub(super) is_reordered: bool,
    /// Boxed, because few frames have long lists.
    indexes: Option<Box<Indexes>>,
    /// Places of the start and of the finish in the tree's sequence; 0: not yet.
    pub(super) started: u64,
    pub(super) finished: u64,
    /// Revisions of the last change of the frame, of its settled view, and of any child.
    pub(super) revision: u64,
    pub(super) settled_revision: u64,
    pub(super) children_revision: u64,
    /// Revision of the last change of the part of the finished children that contexts show.
    pub(super) finished_revision: u64,
    /// Revision of the last change of anything in this node.
    pub(super) changed: u64,
    /// The old values of fields that have changed since the last status change in the tree; see [`Settled`].
    pub(super) before: Option<Box<Before>>,
    pub(super) conversation: Option<Box<Conversation>>,
    pub(super) child_index: Derived<ChildIndex>,
}

/// Where entries are in long lists of a record.
#[derive(Debug, Clone, Default)]
struct Indexes {
    artifacts: Option<HashSet<String>>,
    /// The places of the models in the usage.
    models: Option<HashMap<String, usize>>,
    chunks: Option<ChunkNumbers>,
}

/// The chunks of a heap by their names. A chunk keeps its number when chunks before it are freed.
#[derive(Debug, Clone, Default)]
struct ChunkNumbers {
    /// In the order of the heap, ascending.
    numbers: Vec<u64>,
    /// Several chunks can have one name in an imported tree; the last one counts.
    names: HashMap<String, Vec<u64>>,
}

impl ChunkNumbers {
    fn of(heap: &[Chunk]) -> Self {
        let mut chunks = Self::default();
        heap.iter().for_each(|chunk| chunks.add(&chunk.name));
        chunks
    }

    fn add(&mut self, name: &str) {
        let number = self.numbers.last().map_or(0, |last| last + 1);
        self.numbers.push(number);
        self.names.entry(name.to_owned()).or_default().push(number);
    }

    fn place(&self, name: &str) -> Option<usize> {
        step();
        let number = self.names.get(name)?.last()?;
        self.numbers.binary_search(number).ok()
    }

    fn remove(&mut self, name: &str, place: usize) {
        self.numbers.remove(place);
        if let Some(numbers) = self.names.get_mut(name) {
            numbers.pop();
            if numbers.is_empty() {
                self.names.remove(name);
            }
        }
    }
}

/// Adds a text to a list. Most lists of frames have one entry, so space is reserved only for the first one.
pub(super) fn push_compact(texts: &mut Vec<String>, text: &str) {
    if texts.is_empty() {
        texts.reserve_exact(1);
    }
    texts.push(text.to_owned());
}

/// Which frames a frame waits for, and which frames wait for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits {
    pub(super) dependencies: Vec<Handle>,
    /// The frames that depend on this frame or on another attempt at the same work, if this frame is the
    /// first attempt. Otherwise none.
    pub(super) dependents: Vec<Handle>,
    /// The numbers of the dependencies that are not completed, and of those that have ended without it.
    pub(super) left: Derived<[u32; 2]>,
    /// How the work of this first attempt stands, as the numbers of its dependents count it.
    pub(super) counted: Derived<Need>,
}

/// The place of a frame among the attempts at the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub(super) first: Handle,
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) previous: Option<Handle>,
    pub(super) next: Option<Handle>,
    /// The newest attempt. It is kept up to date in the first attempt.
    pub(super) newest: Handle,
}

/// The settled view of a frame: its fields as they were at the last push or status change in the tree.
///
/// The stable part of a context shows this view. An artifact that is recorded in an ancestor therefore does
/// not invalidate the prompt cache.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Settled<'a> {
    /// Short name.
    pub title: &'a str,
    /// Success criteria: checkable conditions for the completion of the frame.
    pub success_criteria: &'a str,
    /// Compacted success criteria; can be empty.
    pub success_criteria_compacted: &'a str,
    /// Files and other resources that the work produced.
    pub artifacts: &'a [String],
    /// Decisions made during the work, oldest first.
    pub decisions: &'a [String],
    /// Full results: the results so far if the frame is open.
    pub results: Option<&'a str>,
    /// Compacted results: the results so far if the frame is open.
    pub results_compacted: Option<&'a str>,
    /// True if the frame is open and its results are its results so far: [`Frame::has_partial_results`].
    pub has_partial_results: bool,
}

impl<'a> Settled<'a> {
    /// The compacted results, or the full results if there are no compacted ones. Empty if there are no
    /// results.
    pub fn dense_results(&self) -> &'a str {
        first_filled(self.results_compacted.unwrap_or_default(), self.results.unwrap_or_default())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) artifacts: usize,
    pub(super) decisions: usize,
    pub(super) identity: Option<Identity>,
    /// The full and the compacted results, and whether they were results so far, if these values have
    /// changed.
    pub(super) results: Option<([Option<String>; 2], bool)>,
}

impl Node {
    /// Creates the node of a frame. `depth` and `jump` give its way up.
    pub(super) fn new(frame: Frame, parent: Option<Handle>, depth: u32, jump: Handle) -> Self {
        let mut node = Self {
            frame,
            parent,
            depth,
            jump,
            order: 0,
            is_reordered: false,
            held_children: 0,
            busy_children: 0,
            indexes: None,
            children: Vec::new(),
            waits: None,
            attempt: None,
            finished_children: BTreeMap::new(),
            started: 0,
            finished: 0,
            revision: 0,
            settled_revision: 0,
            children_revision: 0,
            finished_revision: 0,
            changed: 0,
            before: None,
            conversation: None,
            child_index: Derived::default(),
        };
        node.index();
        node
    }

    /// True if the frame has this artifact.
    pub(super) fn has_artifact(&self, artifact: &str) -> bool {
        match self.indexes.as_ref().and_then(|indexes| indexes.artifacts.as_ref()) {
            Some(index) => index.contains(artifact),
            None => self.frame.artifacts.iter().inspect(|_| step()).any(|known| known == artifact),
        }
    }

    pub(super) fn add_artifact(&mut self, artifact: &str) {
        push_compact(&mut self.frame.artifacts, artifact);
        match self.indexes.as_mut().and_then(|indexes| indexes.artifacts.as_mut()) {
            Some(index) => drop(index.insert(artifact.to_owned())),
            None => self.index(),
        }
    }

    /// Adds the sums of requests to one model.
    pub(super) fn add_usage(&mut self, usage: &ModelUsage) {
        let Some(index) = self.indexes.as_mut().and_then(|indexes| indexes.models.as_mut()) else {
            add_usage(&mut self.frame.usage, usage);
            return self.index();
        };
        step();
        match index.get(&usage.model) {
            Some(place) => self.frame.usage[*place].add(usage),
            None => {
                index.insert(usage.model.clone(), self.frame.usage.len());
                self.frame.usage.push(usage.clone());
            }
        }
    }

    /// The place of the chunk with this name in the heap.
    pub(super) fn chunk_place(&self, name: &str) -> Option<usize> {
        match self.indexes.as_ref().and_then(|indexes| indexes.chunks.as_ref()) {
            Some(chunks) => chunks.place(name),
            None => self.frame.heap.iter().inspect(|_| step()).rposition(|chunk| chunk.name == name),
        }
    }

    pub(super) fn add_chunk(&mut self, chunk: Chunk) {
        match self.indexes.as_mut().and_then(|indexes| indexes.chunks.as_mut()) {
            Some(chunks) => {
                chunks.add(&chunk.name);
                self.frame.heap.push(chunk);
            }
            None => {
                self.frame.heap.push(chunk);
                self.index();
            }
        }
    }

    pub(super) fn remove_chunk(&mut self, name: &str) -> Option<Chunk> {
        let place = self.chunk_place(name)?;
        if let Some(chunks) = self.indexes.as_mut().and_then(|indexes| indexes.chunks.as_mut()) {
            chunks.remove(name, place);
        }
        Some(self.frame.heap.remove(place))
    }

    /// Makes the indexes of the lists that have become long.
    fn index(&mut self) {
        let Frame { artifacts, usage, heap, .. } = &self.frame;
        if [artifacts.len(), usage.len(), heap.len()].iter().all(|length| *length <= SEARCHED) {
            return;
        }
        let indexes = self.indexes.get_or_insert_default();
        if artifacts.len() > SEARCHED {
            indexes.artifacts.get_or_insert_with(|| artifacts.iter().cloned().collect());
        }
        if usage.len() > SEARCHED {
            let models = || usage.iter().map(|usage| usage.model.clone()).zip(0..).collect();
            indexes.models.get_or_insert_with(models);
        }
        if heap.len() > SEARCHED {
            indexes.chunks.get_or_insert_with(|| ChunkNumbers::of(heap));
        }
    }

    /// True if the frame has not ended, or a frame below it has not.
    pub(super) fn is_busy(&self) -> bool {
        self.frame.status.is_unfinished() || self.has_unfinished_below()
    }

    /// Number of ancestors; 0 for a root.
    pub fn depth(&self) -> usize {
        self.depth as usize
    }

    /// The frame's ID: the ID of the host's session, or `plan-…`.
    pub fn session_id(&self) -> &str {
        &self.frame.session_id
    }

    /// The status.
    pub fn status(&self) -> FrameStatus {
        self.frame.status
    }

    /// Short name.
    pub fn title(&self) -> &str {
        &self.frame.title
    }

    /// The record without its link fields. [`Tree::frame`](super::Tree::frame) returns the complete record.
    pub fn record(&self) -> &Frame {
        &self.frame
    }

    /// The parent; `None` for a root.
    pub fn parent(&self) -> Option<Handle> {
        self.parent
    }

    /// The children in their order. That is the order of their creation, except that a new attempt comes
    /// directly after the one before it, and that some children were moved.
    pub fn children(&self) -> &[Handle] {
        &self.children
    }

    /// The children that are completed or failed, in the order in which they finished. Children that were
    /// retried are not among them: the newest attempt counts instead.
    pub fn finished_children(&self) -> impl DoubleEndedIterator<Item = Handle> + ExactSizeIterator + '_ {
        self.finished_children.values().copied()
    }

    /// Number of finished children whose results the frame's conversation holds; see
    /// [`Tree::is_held`](super::Tree::is_held).
    pub fn held_children(&self) -> usize {
        self.held_children as usize
    }

    /// The frames whose results this frame needs, as they were named. If one of them was retried,
    /// [`Tree::newest_attempt`](super::Tree::newest_attempt) is needed instead.
    pub fn dependencies(&self) -> &[Handle] {
        self.waits.as_ref().map_or(&[], |waits| &waits.dependencies)
    }

    /// See [`Waits`].
    pub(super) fn dependents(&self) -> &[Handle] {
        self.waits.as_ref().map_or(&[], |waits| &waits.dependents)
    }

    /// Revision of the last change that contexts show, if the frame has begun; otherwise 0.
    pub(super) fn shown_change(&self) -> u64 {
        if self.started > 0 { self.settled_revision } else { 0 }
    }

    /// True if requests to models were recorded, or what they cost.
    pub(super) fn has_usage(&self) -> bool {
        !self.frame.usage.is_empty() || !self.frame.costs.is_empty()
    }

    pub(super) fn waits(&self) -> Option<&Waits> {
        self.waits.as_deref()
    }

    /// What follows from the dependencies of the frame and of its dependents.
    pub(super) fn derived_waits(&mut self) -> Option<&mut Waits> {
        self.waits.as_deref_mut()
    }

    pub(super) fn waits_mut(&mut self) -> &mut Waits {
        self.waits.get_or_insert_default()
    }

    /// The attempt before this frame, if this frame is a retry.
    pub fn retry_of(&self) -> Option<Handle> {
        self.attempt.as_ref()?.previous
    }

    /// The next attempt, if this frame was retried.
    pub fn retried_as(&self) -> Option<Handle> {
        self.attempt.as_ref()?.next
    }

    /// The number of the frame among the attempts at its work, counted from 1.
    pub fn attempt(&self) -> usize {
        self.attempt.as_ref().map_or(1, |attempt| attempt.number)
    }

    /// Key of the frame's place among its siblings, or among the roots: the sibling with the higher key comes
    /// later.
    pub(crate) fn order(&self) -> u64 {
        self.order
    }

    /// True if the children are, or were, in an order other than that of their creation.
    pub(crate) fn is_reordered(&self) -> bool {
        self.is_reordered
    }

    /// Place of the frame's start (push or activation) in the tree's sequence of starts and finishes, from 1.
    /// `None` if the frame has not started.
    pub fn started(&self) -> Option<u64> {
        (self.started > 0).then_some(self.started)
    }

    /// Place of the frame's finish in the tree's sequence of starts and finishes, from 1. `None` if the frame
    /// has not finished.
    pub fn finished(&self) -> Option<u64> {
        (self.finished > 0).then_some(self.finished)
    }

    /// Revision of the frame's last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Revision of the last change of the settled view.
    pub fn settled_revision(&self) -> u64 {
        self.settled_revision
    }

    /// Revision of the last change of any child.
    pub fn children_revision(&self) -> u64 {
        self.children_revision
    }

    /// Revision of the last change of the part of the finished children that contexts show: which children
    /// are finished, the settled view of one of them, or which results the conversation of this frame holds.
    pub fn finished_revision(&self) -> u64 {
        self.finished_revision
    }

    /// True if a frame below this frame is planned, in progress or blocked.
    pub fn has_unfinished_below(&self) -> bool {
        self.busy_children > 0
    }

    /// True if the frame, or a frame below it, is planned, in_progress or blocked.
    pub fn is_unfinished_at_or_below(&self) -> bool {
        self.status().is_unfinished() || self.has_unfinished_below()
    }

    /// The conversation of the frame, if it belongs to a run.
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversation.as_deref()
    }

    /// True if the frame is the root frame of a run.
    pub(super) fn is_run(&self) -> bool {
        self.conversation().is_some_and(|own| own.run.is_some())
    }

    /// Records the cost of a conversation so far.
    pub(super) fn record_cost(&mut self, conversation: &str, cost_micro_usd: u64) {
        let frame = &mut self.frame;
        let weight = frame.usage.iter().fold(0_u64, |sum, usage| sum.saturating_add(usage.weight()));
        let cost = ConversationCost { conversation: conversation.to_owned(), cost_micro_usd, weight };
        match frame.costs.iter_mut().find(|known| known.conversation == conversation) {
            Some(known) => *known = cost,
            None => frame.costs.push(cost),
        }
    }

    /// Replaces the record.
    pub(super) fn set_record(&mut self, record: Frame) {
        self.frame = record;
        self.indexes = None;
        self.index();
    }

    /// The settled view of the frame: its fields as they were at the last push or status change in the tree.
    /// The stable part of a context shows this view.
    pub fn settled(&self) -> Settled<'_> {
        let frame = &self.frame;
        let mut settled = Settled {
            title: &frame.title,
            success_criteria: &frame.success_criteria,
            success_criteria_compacted: &frame.success_criteria_compacted,
            artifacts: &frame.artifacts,
            decisions: &frame.decisions,
            results: frame.results.as_deref(),
            results_compacted: frame.results_compacted.as_deref(),
            has_partial_results: frame.has_partial_results(),
        };
        if let Some(before) = &self.before {
            settled.artifacts = &frame.artifacts[..before.artifacts];
            settled.decisions = &frame.decisions[..before.decisions];
            if let Some((results, are_partial)) = &before.results {
                settled.has_partial_results = *are_partial;
                [settled.results, settled.results_compacted] = results.each_ref().map(Option::as_deref);
            }
            if let Some(identity) = &before.identity {
                settled.title = &identity.title;
                settled.success_criteria = &identity.success_criteria;
                settled.success_criteria_compacted = &identity.success_criteria_compacted;
            }
        }
        settled
    }
}
