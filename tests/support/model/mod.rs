//! A simple model of trees, and random commands that compare it with the library. Tests and fuzz targets
//! share it.

mod asks;
mod checks;
mod execute;
mod holders;
mod holding;
mod memory;
mod plan;
mod statuses;
mod undo;

use std::collections::BTreeMap;

use callstack_core::frame::{Holder, Release};
use callstack_core::{FrameStatus, Priority};

pub use self::checks::check;
#[cfg(feature = "tools")]
pub use self::checks::check_in_store;

/// A frame of the model. Links are indices.
#[derive(Debug, Clone, PartialEq, Default)]
struct Plain {
    id: String,
    parent: Option<usize>,
    status: FrameStatus,
    title: String,
    results: Option<String>,
    /// The questions that the frame has waited for, with the answers.
    questions: Vec<(String, Option<String>)>,
    artifacts: Vec<String>,
    decisions: Vec<String>,
    depends_on: Vec<usize>,
    reason: Option<String>,
    placeholder: bool,
    criteria: String,
    priority: Option<Priority>,
    /// True if the frame was planned before it was begun.
    was_planned: bool,
    log: Option<String>,
    chunks: Vec<(String, String)>,
    registers: Option<[String; 8]>,
    /// True if the conversation of the parent holds the results.
    held: bool,
    /// The attempt before this frame.
    retry_of: Option<usize>,
    /// The last holder.
    holder: Option<Holder>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Model {
    frames: Vec<Plain>,
    active: Option<usize>,
    /// All frames. Siblings are in their order.
    order: Vec<usize>,
    /// For each conversation, the time at which it has entered a frame last.
    entered: BTreeMap<String, u64>,
}

type Answer = Result<(), &'static str>;

impl Model {
    fn there(&self, frame: usize) -> Answer {
        if frame < self.frames.len() { Ok(()) } else { Err("unknown_frame") }
    }

    fn is_open(&self, frame: usize) -> bool {
        matches!(self.frames[frame].status, FrameStatus::InProgress | FrameStatus::Blocked)
    }

    fn above(&self, frame: usize) -> Vec<usize> {
        let mut above = Vec::new();
        let mut next = self.frames[frame].parent;
        while let Some(frame) = next {
            above.push(frame);
            next = self.frames[frame].parent;
        }
        above
    }

    /// The children of a frame, or the roots, in their order.
    fn level(&self, parent: Option<usize>) -> Vec<usize> {
        self.order.iter().copied().filter(|frame| self.frames[*frame].parent == parent).collect()
    }

    /// The model with an order that depends only on the orders of siblings.
    fn settled(&self) -> Self {
        let levels = std::iter::once(None).chain((0..self.frames.len()).map(Some)).map(|parent| self.level(parent));
        Self { order: levels.flatten().collect(), entered: BTreeMap::new(), ..self.clone() }
    }

    fn is_retried(&self, frame: usize) -> bool {
        self.frames.iter().any(|other| other.retry_of == Some(frame))
    }

    fn newest(&self, frame: usize) -> usize {
        let next = self.frames.iter().position(|other| other.retry_of == Some(frame));
        next.map_or(frame, |next| self.newest(next))
    }

    fn first(&self, frame: usize) -> usize {
        self.frames[frame].retry_of.map_or(frame, |earlier| self.first(earlier))
    }

    fn is_interrupted(&self, frame: usize) -> bool {
        let plain = &self.frames[frame];
        let released = plain.holder.as_ref().and_then(|holder| holder.released.as_ref());
        plain.status == FrameStatus::InProgress
            && released.is_some_and(|released| released.how == Release::Interrupted {})
    }

    fn free(&self, id: &str) -> Answer {
        match (id.is_empty(), self.frames.iter().any(|frame| frame.id == id)) {
            (true, _) => Err("empty"),
            (_, true) => Err("duplicate_id"),
            _ => Ok(()),
        }
    }

    fn takes(&self, parent: usize, child: FrameStatus) -> Answer {
        self.there(parent)?;
        match self.frames[parent].status {
            FrameStatus::Planned if child == FrameStatus::Planned => Ok(()),
            FrameStatus::Planned => Err("parent_planned"),
            FrameStatus::InProgress | FrameStatus::Blocked => Ok(()),
            _ => Err("parent_closed"),
        }
    }

    /// A placeholder with criteria keeps its identity when it gets a child on purpose.
    fn fix_identity(&mut self, frame: usize) {
        self.frames[frame].placeholder &= self.frames[frame].criteria.is_empty();
    }
}
