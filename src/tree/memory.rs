//! Agent memory in a tree: the chunks that a frame sees, and the runs with their conversations.

use std::collections::HashSet;
use std::sync::Arc;

use super::Tree;
use crate::archive::ArchiveQuery;
use crate::frame::{Chunk, Handle, Message, RunSettings};
use crate::steps::step;

/// The conversation of a frame that belongs to a run. The conversation of the root frame also has the run
/// itself.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Vec<Arc<Message>>,
    /// Place of the newest message of the model.
    reply: Option<usize>,
    pub(super) run: Option<RunState>,
    pub(super) tools: String,
    pub(super) call: Option<String>,
}

impl Conversation {
    /// Makes a conversation from its parts; `run` is the settings of the run and the number of its steps.
    pub(super) fn of_parts(
        messages: impl Iterator<Item = Message>,
        run: Option<(RunSettings, u64)>,
        tools: String,
        call: Option<String>,
    ) -> Self {
        let messages: Vec<Arc<Message>> = messages.map(Arc::new).collect();
        let reply = messages.iter().rposition(|message| matches!(**message, Message::Assistant { .. }));
        Self { messages, reply, run: run.map(|(settings, steps)| RunState { settings, steps }), tools, call }
    }

    /// The messages, oldest first. They are dropped when the frame is finished or invalidated; its log keeps
    /// them.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The newest message of the model, and the messages after it: first the answers to its tool calls, then
    /// messages of the user. `None` if the model has not replied yet.
    pub fn last_reply(&self) -> Option<(&Message, &[Arc<Message>])> {
        let reply = self.reply?;
        Some((&self.messages[reply], &self.messages[reply + 1..]))
    }

    /// Adds a message. The answer to a tool call goes before the messages that the user has sent since the
    /// call, because providers refuse a message between a call and its answer.
    pub(super) fn add(&mut self, message: Message) {
        let is_of_user = |message: &&Arc<Message>| matches!(***message, Message::User { .. });
        let waiting = match message {
            Message::Tool { .. } => self.messages.iter().rev().take_while(is_of_user).count(),
            _ => 0,
        };
        if matches!(message, Message::Assistant { .. }) {
            self.reply = Some(self.messages.len());
        }
        self.messages.insert(self.messages.len() - waiting, Arc::new(message));
    }

    pub(super) fn forget_messages(&mut self) {
        (self.messages, self.reply) = (Vec::new(), None);
    }

    /// The run, if the frame is the root frame of a run.
    pub fn run(&self) -> Option<&RunState> {
        self.run.as_ref()
    }

    /// The host's description of the agent's other tools, if the frame is the root of a run.
    pub fn tools(&self) -> &str {
        &self.tools
    }

    /// ID of the tool call that pushed the frame. The model of the parent made the call, and the results of
    /// the frame answer it.
    pub fn call(&self) -> Option<&str> {
        self.call.as_deref()
    }
}

/// A run: an agent that works on a task and manages its own memory. [`crate::memory`] describes runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunState {
    /// The settings that the run was started with.
    pub settings: RunSettings,
    /// Number of steps, that is, of replies of a model.
    pub steps: u64,
}

impl Tree {
    /// The chunks that a frame sees, each with the frame that owns it; the chunks of the root come first. An
    /// imported tree can have several chunks with the same name; then only the chunk of the nearest frame is
    /// listed.
    pub fn chunks(&self, handle: Handle) -> Vec<(Handle, &Chunk)> {
        if self.chunks == 0 {
            return Vec::new();
        }
        let own = |owner: Handle| self.node(owner).record().heap.iter().rev().map(move |chunk| (owner, chunk));
        let mut chunks: Vec<(Handle, &Chunk)> = self.lineage(handle).flat_map(own).collect();
        let mut seen = HashSet::new();
        chunks.retain(|(_, chunk)| seen.insert(chunk.name.as_str()));
        chunks.reverse();
        chunks
    }

    /// The chunk with this name that a frame sees, and the frame that owns it.
    pub fn chunk(&self, handle: Handle, name: &str) -> Option<(Handle, &Chunk)> {
        self.lineage(handle).find_map(|owner| Some((owner, self.own_chunk(owner, name)?)))
    }

    pub(super) fn own_chunk(&self, owner: Handle, name: &str) -> Option<&Chunk> {
        let node = self.node(owner);
        node.chunk_place(name).map(|place| &node.record().heap[place])
    }

    /// An unfinished frame below this frame that owns a chunk with this name. Looks in turn at the owners of
    /// such chunks and at the frames below this frame, until one of the two sets has been looked at
    /// completely. Each set can be large, but seldom both are.
    pub(super) fn unfinished_owner_below(&self, handle: Handle, name: &str) -> Option<Handle> {
        let owns = |frame: Handle| self.own_chunk(frame, name).is_some();
        let mut below = self.unfinished_below(handle);
        for owner in self.chunk_owners.get(name)? {
            step();
            if self.is_ancestor(handle, *owner) {
                return Some(*owner);
            }
            match below.next() {
                None => return None,
                Some(frame) if owns(frame) => return Some(frame),
                Some(_) => {}
            }
        }
        None
    }

    /// The run that a frame belongs to, with its root frame.
    pub fn run(&self, handle: Handle) -> Option<(Handle, &RunState)> {
        self.lineage(handle).find_map(|frame| Some((frame, self.node(frame).conversation()?.run.as_ref()?)))
    }

    /// The root frames of all runs, finished or not, in creation order.
    pub fn runs(&self) -> impl Iterator<Item = Handle> + '_ {
        self.found(ArchiveQuery::Runs, |frame| frame.is_run()).into_iter()
    }

    /// The number of steps of a frame's run; 0 if the frame does not belong to a run.
    pub(crate) fn step(&self, handle: Handle) -> u64 {
        self.run(handle).map_or(0, |(_, run)| run.steps)
    }

    /// The frame itself, its parent, and so on up to the root.
    pub fn lineage(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        std::iter::once(handle).chain(self.ancestors(handle))
    }

    /// The root of the tree that contains the frame. A root returns itself.
    pub fn root(&self, handle: Handle) -> Handle {
        let mut place = handle;
        while self.brief(place).parent().is_some() {
            step();
            place = self.brief(place).jump();
        }
        place
    }
}
