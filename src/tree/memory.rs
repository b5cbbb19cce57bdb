//! What the agents of a tree remember: which chunks a frame sees, and the runs with their conversations.

use std::collections::HashSet;
use std::sync::Arc;

use super::Tree;
use crate::frame::{Chunk, Handle, Message, RunSettings};

/// The conversation of a frame in a run, and of its root the run itself.
#[derive(Debug, Default)]
pub struct Conversation {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) run: Option<RunState>,
    pub(super) tools: String,
    pub(super) call: Option<String>,
}

impl Conversation {
    /// The messages, oldest first. They go when the frame is finished; its log keeps them.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The run, if the frame is the root of one.
    pub fn run(&self) -> Option<&RunState> {
        self.run.as_ref()
    }

    /// The host's description of the agent's other tools, if the frame is the root of a run.
    pub fn tools(&self) -> &str {
        &self.tools
    }

    /// ID of the call of the parent's model that pushed the frame, and waits for its results.
    pub fn call(&self) -> Option<&str> {
        self.call.as_deref()
    }
}

/// A run: an agent at work that manages its own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunState {
    /// What it was started with.
    pub settings: RunSettings,
    /// How many times a model has answered.
    pub steps: u64,
}

impl Tree {
    /// The chunks that a frame sees, those of its root first. Of several of one name, which imported trees may have,
    /// the nearest counts.
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

    /// The chunk that a frame sees under a name, and the frame that it belongs to.
    pub fn chunk(&self, handle: Handle, name: &str) -> Option<(Handle, &Chunk)> {
        self.lineage(handle).find_map(|owner| Some((owner, self.own_chunk(owner, name)?)))
    }

    pub(super) fn own_chunk(&self, owner: Handle, name: &str) -> Option<&Chunk> {
        self.node(owner).record().heap.iter().rfind(|chunk| chunk.name == name)
    }

    /// The root of the run that a frame is part of, and the run.
    pub fn run(&self, handle: Handle) -> Option<(Handle, &RunState)> {
        self.lineage(handle).find_map(|frame| Some((frame, self.node(frame).conversation()?.run.as_ref()?)))
    }

    /// The roots of all runs, finished or not, in creation order.
    pub fn runs(&self) -> impl Iterator<Item = Handle> + '_ {
        self.handles().filter(|handle| self.node(*handle).conversation().is_some_and(|own| own.run.is_some()))
    }

    /// The step that a frame's run is at; 0 outside of runs.
    pub(crate) fn step(&self, handle: Handle) -> u64 {
        self.run(handle).map_or(0, |(_, run)| run.steps)
    }

    /// The frame itself, its parent, and so on up to the root.
    pub fn lineage(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        std::iter::once(handle).chain(self.ancestors(handle))
    }

    /// The root above a frame, or the frame itself if it is one.
    pub fn root(&self, handle: Handle) -> Handle {
        self.ancestors(handle).last().unwrap_or(handle)
    }
}
