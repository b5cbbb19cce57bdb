//! The actors that give commands of the model, and the proof by which a holder shows that a frame is its own.

use callstack_core::frame::Holder;
use callstack_core::{Actor, Handle, Hold, HolderKind};

use super::Model;
use crate::Random;

/// The actor that gives a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Who {
    /// A caller that uses the stack directly, without the name of an actor.
    Unnamed,
    /// A conversation or a person. The flag says whether it takes over frames of other holders.
    Named(HolderKind, &'static str, bool),
    Worker(Proof),
    Host(&'static str),
}

impl Who {
    pub(super) fn random(random: &mut Random, model: &Model) -> Self {
        match random.below(12) {
            0..6 => Who::Unnamed,
            6..10 => Who::Named(HolderKind::Conversation, ["c1", "c2"][random.below(2)], random.once_in(4)),
            10 => Who::Named(HolderKind::Person, "ann", random.once_in(2)),
            _ => {
                let frame = random.below(model.frames.len() + 1);
                Who::Worker(Proof::random(random, model, frame))
            }
        }
    }

    pub(super) fn actor(self) -> Option<Actor> {
        match self {
            Who::Unnamed | Who::Host(_) => None,
            Who::Named(kind, name, takes_over) => Some(Actor::new(kind, name).taking_over(takes_over)),
            Who::Worker(proof) => Some(Actor::from(&proof.hold())),
        }
    }

    /// True if the holder of a frame is this actor.
    pub(super) fn is(self, frame: usize, holder: &Holder) -> bool {
        match self {
            Who::Unnamed => false,
            Who::Named(kind, name, _) => holder.kind == kind && holder.name == name,
            Who::Worker(proof) => proof.is(frame, holder),
            Who::Host(name) => holder.kind == HolderKind::Host && holder.name == name,
        }
    }
}

/// The data by which a holder proves that a frame is its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    pub(super) frame: usize,
    pub(super) worker: &'static str,
    pub(super) generation: u64,
}

impl Proof {
    /// In most cases the proof of the worker that has held the frame last, even if that was some time ago.
    /// Otherwise any proof.
    pub(super) fn random(random: &mut Random, model: &Model, frame: usize) -> Self {
        let last = model.frames.get(frame).and_then(|plain| plain.holder.as_ref());
        let generation = match last {
            Some(last) if !random.once_in(4) => last.generation,
            _ => random.below(3) as u64,
        };
        let worker = match last.map(|last| &*last.name) {
            Some("one") if !random.once_in(4) => "one",
            Some("two") if !random.once_in(4) => "two",
            _ => ["", "one", "two"][random.below(3)],
        };
        Self { frame, worker, generation }
    }

    fn is(self, frame: usize, holder: &Holder) -> bool {
        let of = (frame, holder.kind, &*holder.name, holder.generation);
        of == (self.frame, HolderKind::Worker, self.worker, self.generation)
    }

    pub(super) fn hold(self) -> Hold {
        let Proof { frame, worker, generation } = self;
        let handle = Handle::from_index(frame).unwrap();
        Hold { handle, kind: HolderKind::Worker, name: worker.into(), generation, until: 0, tries: 0 }
    }
}

/// How a holder ends its work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    Done,
    Failed,
    Asks,
    Later(Option<u64>),
}
