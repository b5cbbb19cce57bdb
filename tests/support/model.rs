//! A simple model of trees, and random commands that compare it with the library. Tests and fuzz targets share it.

use std::collections::BTreeMap;
#[cfg(feature = "tools")]
use std::sync::Arc;
#[cfg(feature = "tools")]
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::{Holder, NewChunk, Register, Release, Released};
use callstack_core::tree::decide_as;
use callstack_core::{
    Actor, Change, Command, Error, Event, Finish, FrameEdit, FrameRef, FrameStatus, Handle, Hold, HolderKind, Identity,
    NewFrame, NewHold, Parent, PopStatus, Priority, Results, Tree,
};
#[cfg(feature = "tools")]
use callstack_core::{Stack, StackOptions};

use crate::Random;
#[cfg(feature = "tools")]
use crate::options_at;

/// A frame of the model. Links are indices.
#[derive(Debug, Clone, PartialEq, Default)]
struct Plain {
    id: String,
    parent: Option<usize>,
    status: FrameStatus,
    title: String,
    results: Option<String>,
    /// What it has waited for, with the answers.
    questions: Vec<(String, Option<String>)>,
    artifacts: Vec<String>,
    decisions: Vec<String>,
    depends_on: Vec<usize>,
    reason: Option<String>,
    placeholder: bool,
    criteria: String,
    priority: Option<Priority>,
    /// True if it was planned before it was begun.
    was_planned: bool,
    log: Option<String>,
    chunks: Vec<(String, String)>,
    registers: Option<[String; 8]>,
    /// True if the conversation of the parent holds the results.
    held: bool,
    /// The attempt before it.
    retry_of: Option<usize>,
    /// The last holder.
    holder: Option<Holder>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Model {
    frames: Vec<Plain>,
    active: Option<usize>,
    /// All frames; siblings stand in their order.
    order: Vec<usize>,
    /// When each conversation has entered a frame last.
    entered: BTreeMap<String, u64>,
}

/// A command of the model, with frames as indices. An index past the end names a frame that does not exist.
#[derive(Debug, Clone)]
enum Ask {
    Add { id: String, parent: Option<usize>, status: FrameStatus, depends_on: Vec<usize> },
    PlanChildren { parent: usize, ids: Vec<String>, depends_on: Vec<(usize, usize)> },
    Edit { frame: usize, edit: Edit },
    Ensure { id: String, parent: Option<usize> },
    Identify { frame: usize, title: String, criteria: String, provisional: bool },
    Activate { frame: usize },
    ReplaceId { frame: usize, id: String },
    SetStatus { frame: usize, status: FrameStatus },
    Pop { frame: usize, status: PopStatus },
    Block { frame: usize, question: String, results: Option<String> },
    Answer { frame: usize, answer: String },
    Invalidate { frame: usize, reason: String },
    AddArtifact { frame: usize, artifact: String },
    AddDecision { frame: usize, decision: String },
    Summarize { frame: usize, results: String },
    Deliver { frame: usize },
    Forget { frame: usize },
    SetActive { frame: usize },
    SetLogPath { frame: usize, log_path: String },
    AllocateChunk { frame: usize, name: String, content: String },
    WriteChunk { frame: usize, name: String, content: String },
    FreeChunk { frame: usize, name: String },
    UpdateRegisters { frame: usize, register: usize, value: String },
    Retry { frame: usize, id: String, note: Option<String>, is_interrupted: bool },
    Hold { worker: &'static str, lease: u64, below: Option<usize>, frame: Option<usize> },
    Renew { proof: Proof, lease: u64 },
    Release { proof: Proof },
    Finish { proof: Proof, finish: End },
    Interrupt { frame: usize },
    BeginCall { frame: usize, host: &'static str, lease: u64 },
    EndCall { frame: usize, host: &'static str, interrupted: bool },
    Stop { frame: Option<usize> },
    Reopen { frame: usize, reason: String },
}

/// What a holder names to prove that a frame is its own.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Proof {
    frame: usize,
    worker: &'static str,
    generation: u64,
}

impl Proof {
    /// Mostly that of the worker that has held the frame last, also if it is a while ago; else any.
    fn random(random: &mut Random, model: &Model, frame: usize) -> Self {
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

    fn hold(self) -> Hold {
        let Proof { frame, worker, generation } = self;
        let handle = Handle::from_index(frame).unwrap();
        Hold { handle, kind: HolderKind::Worker, name: worker.into(), generation, until: 0, tries: 0 }
    }
}

/// How a holder ends its work.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Done,
    Failed,
    Asks,
    Later(Option<u64>),
}

/// Who gives a command.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Who {
    /// Whoever has the stack itself.
    Nobody,
    /// A conversation or a person, and whether it takes over what others hold.
    Named(HolderKind, &'static str, bool),
    Worker(Proof),
    Host(&'static str),
}

impl Who {
    fn random(random: &mut Random, model: &Model) -> Self {
        match random.below(12) {
            0..6 => Who::Nobody,
            6..10 => Who::Named(HolderKind::Conversation, ["c1", "c2"][random.below(2)], random.once_in(4)),
            10 => Who::Named(HolderKind::Person, "ann", random.once_in(2)),
            _ => {
                let frame = random.below(model.frames.len() + 1);
                Who::Worker(Proof::random(random, model, frame))
            }
        }
    }

    fn actor(self) -> Option<Actor> {
        match self {
            Who::Nobody | Who::Host(_) => None,
            Who::Named(kind, name, takes_over) => Some(Actor::new(kind, name).taking_over(takes_over)),
            Who::Worker(proof) => Some(Actor::from(&proof.hold())),
        }
    }

    /// True if the holder of a frame is this one.
    fn is(self, frame: usize, holder: &Holder) -> bool {
        match self {
            Who::Nobody => false,
            Who::Named(kind, name, _) => holder.kind == kind && holder.name == name,
            Who::Worker(proof) => proof.is(frame, holder),
            Who::Host(name) => holder.kind == HolderKind::Host && holder.name == name,
        }
    }
}

/// An edit with frames as indices.
#[derive(Debug, Clone, Default)]
struct Edit {
    title: Option<String>,
    criteria: Option<String>,
    priority: Option<Option<Priority>>,
    depends_on: Option<Vec<usize>>,
    parent: Option<Option<usize>>,
    before: Option<Option<usize>>,
}

fn random_edit(random: &mut Random, count: usize) -> Edit {
    let frame = |random: &mut Random| random.below(count + 1);
    Edit {
        title: random.once_in(5).then(|| ["", "New", "Edited"][random.below(3)].to_owned()),
        criteria: random.once_in(5).then(|| ["", "It works"][random.below(2)].to_owned()),
        priority: random.once_in(4).then(|| Priority::new(random.below(6) as u64)),
        depends_on: random.once_in(3).then(|| (0..random.below(3)).map(|_| frame(random)).collect()),
        parent: random.once_in(2).then(|| (!random.once_in(5)).then(|| frame(random))),
        before: random.once_in(3).then(|| (!random.once_in(3)).then(|| frame(random))),
    }
}

fn random_ask(random: &mut Random, model: &Model) -> Ask {
    let count = model.frames.len();
    let frame = random.below(count + 1);
    let id = |random: &mut Random| match random.below(10) {
        0 => String::new(),
        1 => format!("s{}", random.below(count + 1)),
        _ => format!("s{}", count + random.below(1_000)),
    };
    let status = FrameStatus::ALL[random.below(6)];
    let name = |random: &mut Random| ["", "one", "two", "three", "tw\no"][random.below(5)].to_owned();
    let content = |random: &mut Random| "x".repeat([0, 5, 100_000, 100_001][random.below(4)]);
    let worker = |random: &mut Random| ["", "one", "two", "two"][random.below(4)];
    let lease = |random: &mut Random| [0, 2, 20, 20, Holder::LONGEST_LEASE, Holder::LONGEST_LEASE + 1][random.below(6)];
    let proof = |random: &mut Random| Proof::random(random, model, frame);
    let host = |random: &mut Random| ["h1", "h2"][random.below(2)];
    match random.below(69) {
        44..51 => Ask::Hold {
            worker: worker(random),
            lease: lease(random),
            below: random.once_in(4).then_some(frame),
            frame: random.once_in(3).then(|| random.below(count + 1)),
        },
        51..54 => Ask::Renew { proof: proof(random), lease: lease(random) },
        54 => Ask::Release { proof: proof(random) },
        55..58 => {
            let wait = [None, Some(5), Some(Holder::LONGEST_LEASE + 1)][random.below(3)];
            let finish = [End::Done, End::Done, End::Failed, End::Asks, End::Later(wait)][random.below(5)];
            Ask::Finish { proof: proof(random), finish }
        }
        58..60 => Ask::Interrupt { frame },
        60..63 => Ask::BeginCall { frame, host: host(random), lease: lease(random) },
        63..65 => Ask::EndCall { frame, host: host(random), interrupted: random.once_in(2) },
        65 => Ask::Stop { frame: random.once_in(2).then_some(frame) },
        66..69 => Ask::Reopen { frame, reason: ["", "wrong", "wrong"][random.below(3)].into() },
        33..37 => Ask::Retry {
            frame,
            id: id(random),
            note: random.once_in(2).then(|| ["", "use the other one"][random.below(2)].to_owned()),
            is_interrupted: random.once_in(3),
        },
        37..44 => Ask::Edit { frame, edit: random_edit(random, count) },
        29..31 => {
            let [question, results] = [["", "which?"], ["", "half"]].map(|texts| texts[random.below(2)].to_owned());
            Ask::Block { frame, question, results: (!random.once_in(3)).then_some(results) }
        }
        31..33 => Ask::Answer { frame, answer: ["", "that one"][random.below(2)].into() },
        26..28 => Ask::Deliver { frame },
        28 => Ask::Forget { frame },
        20..22 => Ask::AllocateChunk { frame, name: name(random), content: content(random) },
        22 => Ask::WriteChunk { frame, name: name(random), content: content(random) },
        23 => Ask::FreeChunk { frame, name: name(random) },
        24..26 => Ask::UpdateRegisters {
            frame,
            register: random.below(8),
            value: ["", "ä", "note"][random.below(3)].repeat(random.below(1_000)),
        },
        0..4 => Ask::Add {
            id: id(random),
            parent: (count > 0 && !random.once_in(8)).then_some(frame),
            status: if random.once_in(2) { FrameStatus::Planned } else { FrameStatus::InProgress },
            depends_on: (0..random.below(3)).map(|_| random.below(count + 1)).collect(),
        },
        4 => {
            let ids: Vec<String> = (0..random.below(4)).map(|_| id(random)).collect();
            let links = if ids.is_empty() { 0 } else { random.below(3) };
            let depends_on = (0..links).map(|_| (random.below(ids.len()), random.below(ids.len()))).collect();
            Ask::PlanChildren { parent: frame, ids, depends_on }
        }
        5 => Ask::Ensure { id: id(random), parent: random.once_in(2).then_some(frame) },
        6 => Ask::Identify {
            frame,
            title: ["", "Named", "Renamed"][random.below(3)].into(),
            criteria: ["", "It works"][random.below(2)].into(),
            provisional: random.once_in(2),
        },
        7..9 => Ask::Activate { frame },
        9 => Ask::ReplaceId { frame, id: id(random) },
        10..12 => Ask::SetStatus { frame, status },
        12..14 => {
            Ask::Pop { frame, status: [PopStatus::Completed, PopStatus::Failed, PopStatus::Blocked][random.below(3)] }
        }
        14 => Ask::Invalidate { frame, reason: ["", "changed"][random.below(2)].into() },
        15 => Ask::AddArtifact { frame, artifact: ["", "a.rs", "b.rs"][random.below(3)].into() },
        16 => Ask::AddDecision { frame, decision: ["", "so be it"][random.below(2)].into() },
        17 => Ask::SetActive { frame },
        18 => Ask::Summarize { frame, results: ["", "so far"][random.below(2)].into() },
        _ => {
            let own = format!("logs/s{}.jsonl", random.below(count + 1));
            Ask::SetLogPath { frame, log_path: ["", "elsewhere.jsonl", &own, &own][random.below(4)].into() }
        }
    }
}

/// The reference of an index: randomly the handle or the ID.
fn reference(model: &Model, position: usize) -> FrameRef {
    match model.frames.get(position) {
        Some(frame) if position.is_multiple_of(2) => FrameRef::Text(frame.id.clone()),
        _ => FrameRef::Text(format!("f{}", position + 1)),
    }
}

fn command(model: &Model, ask: &Ask) -> Command {
    let frame = |position: &usize| reference(model, *position);
    let parent = |parent: &Option<usize>| parent.as_ref().map_or(Parent::Root, |parent| Parent::Frame(frame(parent)));
    let new = |id: &String, parent: Parent, depends_on: &[usize]| {
        let mut new = NewFrame::new("New").id(id.clone());
        new.parent = parent;
        new.depends_on = depends_on.iter().map(frame).collect();
        new
    };
    match ask {
        Ask::Add { id, parent: above, status: FrameStatus::Planned, depends_on } => {
            Command::Plan(new(id, parent(above), depends_on))
        }
        Ask::Add { id, parent: above, depends_on, .. } => Command::Push(new(id, parent(above), depends_on)),
        Ask::PlanChildren { parent: above, ids, depends_on } => {
            let mut children: Vec<NewFrame> = ids.iter().map(|id| new(id, Parent::Auto, &[])).collect();
            for (child, dependency) in depends_on {
                children[*child].depends_on.push(FrameRef::Id(ids[*dependency].clone()));
            }
            Command::PlanChildren { parent: Parent::Frame(frame(above)), caller: None, children }
        }
        Ask::Edit { frame: at, edit } => {
            let Edit { title, criteria, priority, depends_on, parent, before } = edit.clone();
            let mut edit = FrameEdit::default();
            (edit.title, edit.success_criteria, edit.priority) = (title, criteria, priority);
            edit.depends_on = depends_on.map(|others| others.iter().map(frame).collect());
            edit.parent = parent.map(|parent| parent.as_ref().map(frame));
            edit.before = before.map(|sibling| sibling.as_ref().map(frame));
            Command::Edit { frame: frame(at), edit }
        }
        Ask::Ensure { id, parent } => {
            Command::Ensure { session_id: id.clone(), title: None, parent: parent.as_ref().map(frame) }
        }
        Ask::Identify { frame: at, title, criteria, provisional } => {
            let (title, success_criteria) = (title.clone(), criteria.clone());
            let identity = Identity { title, success_criteria, ..Identity::default() };
            Command::Identify { frame: frame(at), identity, provisional: *provisional }
        }
        Ask::Activate { frame: at } => Command::Activate { frame: frame(at) },
        Ask::ReplaceId { frame: at, id } => Command::ReplaceId { frame: frame(at), session_id: id.clone() },
        Ask::SetStatus { frame: at, status } => Command::SetStatus {
            frame: frame(at),
            status: *status,
            results: Some("because".into()),
            results_compacted: None,
        },
        Ask::Pop { frame: at, status } => {
            Command::Pop { frame: frame(at), status: *status, results: Results::new("done").compacted("d") }
        }
        Ask::Block { frame: at, question, results } => Command::Block {
            frame: frame(at),
            question: Some(question.clone()),
            results: results.clone().map(Results::new),
            interruption: false,
        },
        Ask::Answer { frame: at, answer } => Command::Answer { frame: frame(at), answer: answer.clone() },
        Ask::Invalidate { frame: at, reason } => Command::Invalidate { frame: frame(at), reason: reason.clone() },
        Ask::AddArtifact { frame: at, artifact } => {
            Command::AddArtifact { frame: frame(at), artifact: artifact.clone() }
        }
        Ask::AddDecision { frame: at, decision } => {
            Command::AddDecision { frame: frame(at), decision: decision.clone() }
        }
        Ask::Summarize { frame: at, results } => {
            let results_compacted = "so".into();
            Command::Summarize {
                frame: frame(at),
                results: Results { full: results.clone(), compacted: results_compacted },
            }
        }
        Ask::Deliver { frame: at } => Command::Deliver { frame: frame(at) },
        Ask::Forget { frame: at } => Command::Forget { frame: frame(at) },
        Ask::SetActive { frame: at } => Command::SetActive { frame: frame(at) },
        Ask::SetLogPath { frame: at, log_path } => Command::SetLogPath { frame: frame(at), log_path: log_path.clone() },
        Ask::AllocateChunk { frame: at, name, content } => {
            Command::AllocateChunk { frame: frame(at), chunk: NewChunk::new(name).content(content) }
        }
        Ask::WriteChunk { frame: at, name, content } => {
            Command::WriteChunk { frame: frame(at), name: name.clone(), content: content.clone() }
        }
        Ask::FreeChunk { frame: at, name } => Command::FreeChunk { frame: frame(at), name: name.clone() },
        Ask::UpdateRegisters { frame: at, register, value } => {
            Command::UpdateRegisters { frame: frame(at), registers: [(Register::ALL[*register], value.clone())].into() }
        }
        Ask::Retry { frame: at, id, note, is_interrupted } => Command::Retry {
            frame: frame(at),
            session_id: id.clone(),
            note: note.clone(),
            is_interrupted: *is_interrupted,
        },
        Ask::Hold { worker, lease, below, frame: at } => {
            let mut hold = NewHold::new(*worker, *lease);
            (hold.below, hold.frame) = (below.as_ref().map(frame), at.as_ref().map(frame));
            Command::Hold(hold)
        }
        Ask::Renew { proof, lease } => Command::Renew { hold: proof.hold(), lease: *lease },
        Ask::Release { proof } => Command::Release { hold: proof.hold(), release: Release::Ended {} },
        Ask::Finish { proof, finish } => {
            let results = Results::new("done").compacted("d");
            let finish = match *finish {
                End::Done => Finish::Done(results),
                End::Failed => Finish::Failed(results),
                End::Asks => Finish::Asks { question: "which?".into(), results: None },
                End::Later(wait) => Finish::Later { wait },
            };
            Command::Finish { hold: proof.hold(), finish }
        }
        Ask::Interrupt { frame: at } => Command::Interrupt { frame: frame(at) },
        Ask::BeginCall { frame: at, host, lease } => {
            let (frame, host) = (frame(at), (*host).to_owned());
            Command::BeginCall {
                frame,
                session_id: None,
                caller: "caller".into(),
                host,
                lease: *lease,
                limits: Box::default(),
            }
        }
        Ask::EndCall { frame: at, host, interrupted } => {
            Command::EndCall { frame: frame(at), host: (*host).to_owned(), interrupted: *interrupted }
        }
        Ask::Stop { frame: at } => Command::Stop { frame: at.as_ref().map(frame), reason: "why".into() },
        Ask::Reopen { frame: at, reason } => Command::Reopen { frame: frame(at), reason: reason.clone() },
    }
}

type Answer = Result<(), &'static str>;

fn lasts(until: u64, now: u64) -> bool {
    until > now && until <= now + Holder::LONGEST_LEASE + 3_600_000
}

/// True if somebody has a frame at this time.
fn holds(holder: &Holder, now: u64) -> bool {
    holder.released.is_none() && holder.until.is_none_or(|until| lasts(until, now))
}

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

    /// Begins a frame anew.
    fn retry(
        &mut self,
        frame: usize,
        id: &str,
        note: Option<&str>,
        is_interrupted: bool,
        who: Who,
        now: u64,
    ) -> Answer {
        let old = self.frames[frame].clone();
        match old.status {
            FrameStatus::Failed | FrameStatus::Blocked if !self.is_retried(frame) => {}
            FrameStatus::InProgress if is_interrupted || self.is_interrupted(frame) => {}
            _ if self.worker(frame).is_some_and(|worker| holds(worker, now)) => return Err("held"),
            _ => return Err("not_retriable"),
        }
        if old.holder.as_ref().is_some_and(|holder| holder.kind == HolderKind::Host && holder.released.is_none()) {
            return Err("held");
        }
        self.free(id)?;
        if let Some(parent) = old.parent {
            self.takes(parent, FrameStatus::Planned)?;
            self.fix_identity(parent);
        }
        if old.status != FrameStatus::Failed {
            self.change(frame, FrameStatus::Failed, who, now)?;
        }
        if old.status == FrameStatus::InProgress {
            let so_far = old.results.as_deref().unwrap_or("It left no results.");
            self.frames[frame].results = Some(format!("[interrupted, and begun anew] {so_far}"));
        }
        self.frames[frame].held = false;
        // Who has stopped it has asked nothing.
        let asks = |question: &str, answer: &Option<String>| {
            old.status == FrameStatus::Blocked && answer.is_none() && !question.starts_with("It was stopped")
        };
        let open = old.questions.last().filter(|(question, answer)| asks(question, answer));
        let question = match open {
            Some((question, _)) => question.clone(),
            None => format!("What must be done differently than in f{}?", frame + 1),
        };
        let note = note.filter(|note| !note.is_empty());
        let new = self.frames.len();
        self.frames.push(Plain {
            id: id.into(),
            parent: old.parent,
            title: old.title,
            criteria: old.criteria,
            priority: old.priority,
            depends_on: old.depends_on,
            questions: note.map(|note| (question, Some(note.to_owned()))).into_iter().collect(),
            retry_of: Some(frame),
            ..Plain::default()
        });
        let place = self.order.iter().position(|other| *other == frame).unwrap();
        self.order.insert(place + 1, new);
        for below in 0..new {
            if self.above(below).contains(&frame) && self.frames[below].status == FrameStatus::Planned {
                self.frames[below].status = FrameStatus::Invalidated;
                self.frames[below].reason = Some(format!("f{} was begun anew as f{}", frame + 1, new + 1));
            }
        }
        Ok(())
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

    /// The conversation of a frame loses the results of the children.
    fn forget(&mut self, frame: usize) {
        self.frames.iter_mut().filter(|child| child.parent == Some(frame)).for_each(|child| child.held = false);
    }

    fn change(&mut self, frame: usize, status: FrameStatus, who: Who, now: u64) -> Answer {
        use FrameStatus::*;
        let legal = match self.frames[frame].status {
            Planned => vec![InProgress, Invalidated],
            InProgress => vec![Completed, Failed, Blocked, Invalidated],
            Blocked => vec![InProgress, Completed, Failed, Blocked, Invalidated],
            Completed | Failed => vec![Invalidated],
            Invalidated => vec![],
        };
        if !legal.contains(&status) {
            return Err("transition");
        }
        self.check_actor(frame, who, now)?;
        let from = self.frames[frame].status;
        self.frames[frame].was_planned |= from == Planned && status == InProgress;
        if let Who::Worker(proof) = who
            && (proof.frame, from, status) == (frame, Blocked, InProgress)
        {
            return Err("not_free");
        }
        self.frames[frame].status = status;
        self.frames[frame].held = false;
        self.goes_on(frame);
        if status == InProgress {
            self.take(frame, from, who, now);
            self.active = Some(frame);
            return Ok(());
        }
        self.leave(frame, who, now);
        if self
            .active
            .is_some_and(|active| active == frame || status != Invalidated && self.above(active).contains(&frame))
        {
            self.active = self.above(frame).into_iter().find(|above| self.is_open(*above));
        }
        Ok(())
    }

    /// The results of a frame that was blocked without a question say what it waits for: they become its question.
    fn keep_reason(&mut self, frame: usize) {
        let frame = &mut self.frames[frame];
        if frame.status == FrameStatus::Blocked && frame.questions.is_empty() {
            frame.questions.extend(frame.results.take().map(|reason| (reason, None)));
        }
    }

    /// Blocks a frame with a question, results so far, or both.
    fn block(&mut self, frame: usize, question: &str, results: Option<&str>, who: Who, now: u64) -> Answer {
        let plain = &self.frames[frame];
        let was_blocked = plain.status == FrameStatus::Blocked;
        let has_partial = plain.results.is_some() && !(was_blocked && plain.questions.is_empty());
        let has_own_texts = self.is_open(frame) && has_partial || !plain.questions.is_empty();
        let mut after = self.clone();
        after.change(frame, FrameStatus::Blocked, who, now)?;
        let is_asked = !question.is_empty() || has_own_texts;
        let results = results.filter(|results| !results.is_empty() || !is_asked);
        let replaces = results.is_some() && (!question.is_empty() || !has_own_texts);
        if was_blocked && !replaces {
            after.keep_reason(frame);
        }
        let plain = &mut after.frames[frame];
        if replaces {
            plain.results = results.map(str::to_owned);
        }
        let asked = if question.is_empty() { results.unwrap_or_default() } else { question };
        let is_known = asked.is_empty() && was_blocked;
        if is_asked && !is_known {
            plain.questions.pop_if(|(_, answer)| answer.is_none());
            plain.questions.push((asked.to_owned(), None));
        }
        *self = after;
        Ok(())
    }

    fn invalidate(&mut self, frame: usize, reason: &str, who: Who, now: u64) -> Answer {
        if reason.is_empty() {
            return Err("empty");
        }
        self.change(frame, FrameStatus::Invalidated, who, now)?;
        self.frames[frame].reason = Some(reason.into());
        for below in 0..self.frames.len() {
            if self.above(below).contains(&frame) && self.frames[below].status == FrameStatus::Planned {
                self.frames[below].status = FrameStatus::Invalidated;
                self.frames[below].reason = Some(reason.into());
            }
        }
        Ok(())
    }

    /// True if one frame is the other one, or above it.
    fn is_kin(&self, one: usize, other: usize) -> bool {
        one == other || self.above(one).contains(&other) || self.above(other).contains(&one)
    }

    /// True if a frame waits for another one, however many frames are between the two.
    fn waits(&self, frame: usize, other: usize) -> bool {
        let dependencies = |at: usize| self.frames[at].depends_on.iter().map(|dependency| self.newest(*dependency));
        let mut reached: Vec<usize> = dependencies(frame).collect();
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            for dependency in dependencies(at) {
                if !reached.contains(&dependency) {
                    reached.push(dependency);
                }
            }
            next += 1;
        }
        reached.contains(&other)
    }

    /// Dependencies, each work once.
    fn once(&self, depends_on: &[usize]) -> Vec<usize> {
        let mut once: Vec<usize> = Vec::new();
        depends_on.iter().for_each(|dependency| {
            if !once.iter().any(|known| self.first(*known) == self.first(*dependency)) {
                once.push(*dependency);
            }
        });
        once
    }

    fn edit(&mut self, frame: usize, edit: &Edit, who: Who) -> Answer {
        self.there(frame)?;
        let Edit { depends_on, parent, before, .. } = edit;
        let is_person = matches!(who, Who::Named(HolderKind::Person, ..));
        let is_correction = depends_on.is_none() && parent.is_none() && before.is_none() && is_person;
        if self.frames[frame].status != FrameStatus::Planned && !(self.is_open(frame) && is_correction) {
            return Err("not_planned");
        }
        if edit.title.as_deref() == Some("") {
            return Err("empty");
        }
        let old = self.frames[frame].parent;
        let parent = edit.parent.unwrap_or(old);
        parent.filter(|_| edit.parent.is_some()).map_or(Ok(()), |parent| self.there(parent))?;
        if parent != old && self.frames[frame].retry_of.is_some() {
            return Err("retry_link");
        }
        if let Some(parent) = parent.filter(|_| parent != old) {
            if parent == frame || self.above(parent).contains(&frame) {
                return Err("parent_circle");
            }
            self.takes(parent, FrameStatus::Planned)?;
        }
        if let Some(Some(sibling)) = edit.before {
            self.there(sibling)?;
            if sibling == frame || self.frames[sibling].parent != parent {
                return Err("not_sibling");
            }
        }
        edit.depends_on.iter().flatten().try_for_each(|dependency| self.there(*dependency))?;
        let once = edit.depends_on.as_ref().map(|depends_on| self.once(depends_on));
        let plain = &mut self.frames[frame];
        let is_named = edit.title.as_ref().is_some_and(|title| *title != plain.title)
            || edit.criteria.as_ref().is_some_and(|criteria| *criteria != plain.criteria);
        plain.placeholder &= !is_named;
        edit.title.iter().for_each(|title| plain.title.clone_from(title));
        edit.criteria.iter().for_each(|criteria| plain.criteria.clone_from(criteria));
        edit.priority.iter().for_each(|priority| plain.priority = *priority);
        plain.parent = parent;
        once.into_iter().for_each(|once| plain.depends_on = once);
        // Any frame may have new kin now.
        for one in (0..self.frames.len()).filter(|_| parent != old || edit.depends_on.is_some()) {
            let is_kin = |other: &usize| self.is_kin(one, *other) || self.is_kin(one, self.newest(*other));
            if self.frames[one].depends_on.iter().any(is_kin) {
                return Err("dependency");
            }
        }
        if edit.depends_on.is_some() && self.waits(frame, frame) {
            return Err("dependency");
        }
        if let Some(parent) = parent.filter(|_| parent != old) {
            self.fix_identity(parent);
        }
        let before = if parent == old { edit.before } else { Some(edit.before.flatten()) };
        if let Some(before) = before {
            self.order.retain(|other| *other != frame);
            let place = before.and_then(|before| self.order.iter().position(|other| *other == before));
            self.order.insert(place.unwrap_or(self.order.len()), frame);
        }
        Ok(())
    }

    /// True if a planned frame has what it and the planned ones above it need, is not below one that has ended, and has no parts left.
    fn can_begin(&self, frame: usize) -> bool {
        // A part does not wait for what waits for it.
        let has_what_it_needs = |whole: usize| {
            let mut dependencies = self.frames[whole].depends_on.iter().map(|dependency| self.newest(*dependency));
            dependencies.all(|dependency| {
                self.frames[dependency].status == FrameStatus::Completed
                    || whole != frame && self.all_behind(frame, whole).contains(&dependency)
            })
        };
        let is_planned = |frame: &usize| self.frames[*frame].status == FrameStatus::Planned;
        let above = self.above(frame);
        let planned: Vec<usize> = above.iter().copied().take_while(is_planned).collect();
        let begun = above.get(planned.len());
        let mut children = (0..self.frames.len()).filter(|child| self.frames[*child].parent == Some(frame));
        is_planned(&frame)
            && has_what_it_needs(frame)
            && planned.into_iter().all(has_what_it_needs)
            && begun.is_none_or(|begun| self.is_open(*begun))
            && children.all(|child| {
                self.is_retried(child)
                    || matches!(self.frames[child].status, FrameStatus::Completed | FrameStatus::Invalidated)
            })
    }

    /// All frames that come after a part of another one: who depends on it, with all below that, and what is above it within the whole.
    fn all_behind(&self, part: usize, whole: usize) -> Vec<usize> {
        let mut behind = vec![part];
        let mut next = 0;
        while let Some(frame) = behind.get(next).copied() {
            next += 1;
            let depends = |other: &usize| {
                let plain = &self.frames[*other];
                let is_on_it = |dependency: &usize| self.first(*dependency) == self.first(frame);
                plain.status == FrameStatus::Planned && plain.depends_on.iter().any(is_on_it)
            };
            let dependents: Vec<usize> = (0..self.frames.len()).filter(depends).collect();
            let is_below = |other: &usize| {
                let is_left = self.frames[*other].status == FrameStatus::Planned || self.is_open(*other);
                is_left && self.above(*other).iter().any(|above| dependents.contains(above))
            };
            let below = (0..self.frames.len()).filter(is_below);
            let above = self.above(frame).into_iter();
            let above = above.take_while(|above| *above != whole && !self.above(whole).contains(above));
            let found: Vec<usize> = dependents.iter().copied().chain(below).chain(above).collect();
            for other in found {
                if !behind.contains(&other) {
                    behind.push(other);
                }
            }
        }
        behind
    }

    /// All frames in the order of the plan: each before what is below it.
    fn in_plan_order(&self, below: Option<usize>) -> Vec<usize> {
        let with_parts = |frame| std::iter::once(frame).chain(self.in_plan_order(Some(frame)));
        self.level(below).into_iter().flat_map(with_parts).collect()
    }

    /// All frames in the order in which they are next.
    fn most_urgent_first(&self) -> Vec<usize> {
        let mut frames = self.in_plan_order(None);
        let own = |frame: usize| self.frames[frame].priority;
        frames.sort_by_key(|frame| {
            own(*frame).or_else(|| self.above(*frame).into_iter().find_map(own)).unwrap_or_default()
        });
        frames
    }

    /// Lets a completed frame go on.
    fn reopen(&mut self, frame: usize, reason: &str, who: Who, now: u64) -> Answer {
        self.there(frame)?;
        if self.frames[frame].status != FrameStatus::Completed {
            return Err("transition");
        }
        if reason.is_empty() {
            return Err("empty");
        }
        let above = self.frames[frame].parent.map(|parent| self.frames[parent].status);
        if above.is_some_and(|above| !above.is_unfinished()) {
            return Err("parent_closed");
        }
        self.check_free(frame, who, now)?;
        let plain = &mut self.frames[frame];
        (plain.status, plain.held) = (FrameStatus::InProgress, false);
        plain.questions.push(("It was completed, and goes on. What is wrong?".into(), Some(reason.into())));
        self.take(frame, FrameStatus::Completed, who, now);
        self.active = Some(frame);
        Ok(())
    }

    /// The last holder of a frame, if it was a worker.
    fn worker(&self, frame: usize) -> Option<&Holder> {
        self.frames[frame].holder.as_ref().filter(|holder| holder.kind == HolderKind::Worker)
    }

    /// True if a worker can have a frame at this time.
    fn is_free(&self, frame: usize, now: u64) -> bool {
        let plain = &self.frames[frame];
        let is_put_back = |holder: &Holder| match holder.released {
            Some(Released { how: Release::PutBack { until }, .. }) => lasts(until, now),
            _ => false,
        };
        let is_planned = |frame: &usize| self.frames[*frame].status == FrameStatus::Planned;
        let begun = self.above(frame).into_iter().find(|above| !is_planned(above));
        let is_wanted = begun.is_none_or(|begun| self.is_open(begun));
        match (plain.status, self.worker(frame)) {
            (FrameStatus::Planned, _) => self.can_begin(frame),
            (FrameStatus::InProgress | FrameStatus::Blocked, Some(_)) if !is_wanted => false,
            (FrameStatus::InProgress, Some(holder)) => {
                !holds(holder, now) && !is_put_back(holder) && !self.has_part_for_workers(frame)
            }
            (FrameStatus::Blocked, Some(_)) => {
                plain.questions.last().is_some_and(|(_, answer)| answer.is_some()) && !self.has_part_for_workers(frame)
            }
            _ => false,
        }
    }

    /// True if workers have something left to do below a frame, also below what is open there.
    fn has_part_for_workers(&self, frame: usize) -> bool {
        (0..self.frames.len()).filter(|child| self.frames[*child].parent == Some(frame)).any(|child| {
            let status = &self.frames[child].status;
            let is_left = match status {
                FrameStatus::Planned => true,
                FrameStatus::Failed | FrameStatus::InProgress | FrameStatus::Blocked => self.frames[child].was_planned,
                FrameStatus::Completed | FrameStatus::Invalidated => false,
            };
            let is_own = !is_left && self.is_open(child);
            is_left && !self.is_retried(child) || is_own && self.has_part_for_workers(child)
        })
    }

    /// Whether somebody may begin, end or take a frame.
    fn check_free(&self, frame: usize, who: Who, now: u64) -> Answer {
        let Some(holder) = self.frames[frame].holder.as_ref().filter(|holder| holds(holder, now)) else {
            return Ok(());
        };
        let runs = matches!(holder.kind, HolderKind::Host | HolderKind::Worker);
        let takes = match who {
            Who::Nobody => !runs,
            Who::Named(_, _, takes_over) => takes_over && !runs,
            Who::Worker(_) | Who::Host(_) => false,
        };
        if takes || who.is(frame, holder) || holder.name.is_empty() { Ok(()) } else { Err("held") }
    }

    /// As above, for what whoever has the stack itself may always do.
    fn check_actor(&self, frame: usize, who: Who, now: u64) -> Answer {
        if who == Who::Nobody { Ok(()) } else { self.check_free(frame, who, now) }
    }

    fn check_hold(&self, proof: Proof) -> Answer {
        self.there(proof.frame)?;
        let holder = self.frames[proof.frame].holder.as_ref();
        let is_own = holder.is_some_and(|holder| {
            (holder.kind, &*holder.name, holder.generation) == (HolderKind::Worker, proof.worker, proof.generation)
        });
        if is_own { Ok(()) } else { Err("hold_lost") }
    }

    fn check_in_progress(&self, frame: usize) -> Answer {
        if self.frames[frame].status == FrameStatus::InProgress { Ok(()) } else { Err("not_free") }
    }

    /// Gives a frame to another holder.
    fn held(&mut self, frame: usize, new: Holder, now: u64) {
        let tries = self.worker(frame).map_or(0, |last| last.tries);
        let plain = &mut self.frames[frame];
        plain.holder = Some(Holder {
            generation: plain.holder.as_ref().map_or(1, |last| last.generation + 1),
            since: new.since.max(now),
            tries: tries + u64::from(new.kind == HolderKind::Worker),
            put_backs: plain.holder.as_ref().map_or(0, |last| last.put_backs),
            ..new
        });
    }

    /// The holder of a frame lets it go.
    fn released(&mut self, frame: usize, how: Release, now: u64) {
        let plain = &mut self.frames[frame];
        let is_left = plain.status == FrameStatus::InProgress;
        let puts_back = matches!(how, Release::PutBack { .. });
        let Some(holder) = plain.holder.as_mut().filter(|holder| puts_back || holder.released.is_none()) else {
            return;
        };
        let how = if how == (Release::Interrupted {}) && !is_left { Release::Ended {} } else { how };
        let before = holder.released.as_ref().map(|released| &released.how);
        let was_put_back = matches!(before, Some(Release::PutBack { .. }));
        let was_left = was_put_back || is_left && before == Some(&Release::Ended {});
        if (puts_back || how == (Release::Ended {}) && is_left) && !was_left {
            holder.tries = holder.tries.saturating_sub(1);
        }
        holder.put_backs += u64::from(puts_back && !was_put_back);
        holder.released = Some(Released { at: now, how });
    }

    /// A frame is not in progress any more. Its host has it until its call is over.
    fn leave(&mut self, frame: usize, who: Who, now: u64) {
        let status = self.frames[frame].status;
        let holder = self.frames[frame].holder.clone().filter(|holder| holder.released.is_none());
        let Some(holder) = holder.filter(|holder| holder.kind != HolderKind::Host) else { return };
        let is_own = if who == Who::Nobody { holder.kind == HolderKind::Person } else { who.is(frame, &holder) };
        let stopped = Release::Stopped { reason: status.to_string() };
        self.released(frame, if is_own { Release::Ended {} } else { stopped }, now);
    }

    /// The frames of which a conversation was the last holder, the one that it has entered last first, each with the time.
    fn on_the_way(&self, name: &str) -> Vec<(u64, usize)> {
        let is_of = |holder: &&Holder| holder.kind == HolderKind::Conversation && holder.name == name;
        let holders = self.frames.iter().enumerate().filter_map(|(frame, plain)| Some((frame, plain.holder.as_ref()?)));
        let own = holders.filter(|(_, holder)| is_of(holder));
        let mut entered: Vec<(u64, usize)> = own.map(|(frame, holder)| (holder.since, frame)).collect();
        entered.sort_unstable_by(|one, other| other.cmp(one));
        entered
    }

    /// Somebody begins a frame, or goes on with it: a conversation and a person hold it. `status`: before that.
    fn take(&mut self, frame: usize, status: FrameStatus, who: Who, now: u64) {
        let Who::Named(kind, name, _) = who else {
            let is_part = status == FrameStatus::Planned
                && self.frames[frame].parent.is_some_and(|parent| self.worker(parent).is_some());
            let has_it =
                |holder: &Holder| holder.released.is_none() && matches!(who, Who::Worker(_)) && who.is(frame, holder);
            let is_own = matches!(who, Who::Host(_)) || self.frames[frame].holder.as_ref().is_some_and(has_it);
            if !is_own && (is_part || self.worker(frame).is_some()) {
                self.held(frame, Holder::default(), now);
            }
            return;
        };
        let mut since = now;
        if kind == HolderKind::Conversation {
            let mut way = self.on_the_way(name);
            if let Some(newest) = self.entered.get(name) {
                since = now.max(newest + 1);
            }
            self.entered.insert(name.into(), since);
            way.retain(|(_, place)| {
                self.frames[*place].holder.as_ref().is_some_and(|holder| holder.released.is_none())
            });
            let before = way.iter().position(|(_, place)| *place == frame).unwrap_or(0);
            for (place, (_, left)) in way.into_iter().enumerate() {
                if place < before || self.above(left).contains(&frame) {
                    self.released(left, Release::Ended {}, now);
                }
            }
        }
        let until = Some(now + Holder::LONGEST_LEASE);
        match self.frames[frame].holder.as_mut().filter(|own| own.kind == kind && own.name == name) {
            Some(own) => (own.since, own.until, own.released) = (since, until, None),
            None => {
                let new = Holder { kind, name: name.into(), until, since, ..Holder::default() };
                self.held(frame, new, now);
            }
        }
    }

    fn hold(&mut self, worker: &str, until: u64, below: Option<usize>, frame: Option<usize>, now: u64) -> Answer {
        let is_meant =
            |at: &usize| below.is_none_or(|below| self.above(*at).contains(&below)) && self.is_free(*at, now);
        if frame.is_some_and(|frame| !is_meant(&frame)) {
            return Err("not_free");
        }
        let begun = |at: &usize| self.frames[*at].status != FrameStatus::Planned;
        let free_since = |at: &usize| {
            let holder = self.frames[*at].holder.as_ref().unwrap();
            match &holder.released {
                Some(Released { how: Release::PutBack { until }, .. }) => *until,
                Some(Released { at, .. }) => holder.until.map_or(*at, |until| until.min(*at)),
                None => holder.until.unwrap(),
            }
        };
        let left = (0..self.frames.len()).filter(is_meant).filter(begun).min_by_key(free_since);
        let first = frame.or(left).or_else(|| self.most_urgent_first().into_iter().find(is_meant));
        let Some(first) = first else { return Ok(()) };
        let is_planned = !begun(&first);
        self.frames[first].was_planned |= is_planned;
        if is_planned && self.frames[first].registers.is_none() {
            self.begin_registers(first);
        }
        self.goes_on(first);
        self.frames[first].status = FrameStatus::InProgress;
        let (kind, name, until) = (HolderKind::Worker, worker.to_owned(), Some(until));
        self.held(first, Holder { kind, name, until, ..Holder::default() }, now);
        Ok(())
    }

    /// What was interrupted goes on, or has ended.
    fn goes_on(&mut self, frame: usize) {
        let released = self.frames[frame].holder.as_mut().and_then(|holder| holder.released.as_mut());
        if let Some(released) = released.filter(|released| released.how == Release::Interrupted {}) {
            released.how = Release::Ended {};
        }
    }

    fn finish(&mut self, proof: Proof, finish: End, now: u64) -> Answer {
        self.check_hold(proof)?;
        self.check_in_progress(proof.frame)?;
        let released = self.frames[proof.frame].holder.as_ref().and_then(|holder| holder.released.as_ref());
        if released.is_some_and(|released| released.how != Release::Interrupted {}) {
            return Err("not_free");
        }
        let (frame, who) = (proof.frame, Who::Worker(proof));
        let put_backs = self.frames[frame].holder.as_ref().map_or(0, |holder| holder.put_backs);
        let pause = 60_000.min(1_000 << put_backs.min(16));
        match finish {
            End::Later(Some(wait)) if wait > Holder::LONGEST_LEASE => return Err("setting"),
            End::Later(wait) => self.released(frame, Release::PutBack { until: now + wait.unwrap_or(pause) }, now),
            End::Done if self.has_part_for_workers(frame) => {
                self.frames[frame].results = Some("done".into());
                self.released(frame, Release::PutBack { until: now + pause }, now);
            }
            End::Done => self.pop(frame, FrameStatus::Completed, who, now)?,
            End::Failed => self.pop(frame, FrameStatus::Failed, who, now)?,
            End::Asks => self.block(frame, "which?", None, who, now)?,
        }
        Ok(())
    }

    fn pop(&mut self, frame: usize, status: FrameStatus, who: Who, now: u64) -> Answer {
        self.change(frame, status, who, now)?;
        self.frames[frame].results = Some("done".into());
        self.end_registers(frame, "d");
        Ok(())
    }

    fn begin_call(&mut self, frame: usize, host: &'static str, lease: u64, now: u64) -> Answer {
        let (who, from) = (Who::Host(host), self.frames[frame].status);
        self.check_free(frame, who, now)?;
        match from {
            FrameStatus::InProgress => self.active = Some(frame),
            _ => {
                let mut after = self.clone();
                after.keep_reason(frame);
                after.change(frame, FrameStatus::InProgress, who, now)?;
                *self = after;
            }
        }
        if from == FrameStatus::Planned && self.frames[frame].registers.is_none() {
            self.begin_registers(frame);
        }
        let until = match lease {
            1..=Holder::LONGEST_LEASE => Some(now + lease),
            _ => return Err("setting"),
        };
        let (kind, name, caller) = (HolderKind::Host, host.to_owned(), "caller".to_owned());
        self.held(frame, Holder { kind, name, caller, until, ..Holder::default() }, now);
        Ok(())
    }

    fn stop(&mut self, top: Option<usize>, who: Who, now: u64) -> Answer {
        let is_stopped = |frame: &usize| {
            let plain = &self.frames[*frame];
            let is_held = plain
                .holder
                .as_ref()
                .is_some_and(|holder| holder.released.is_none() && holder.kind != HolderKind::Person);
            let is_below = top.is_none_or(|top| *frame == top || self.above(*frame).contains(&top));
            is_below && plain.status == FrameStatus::InProgress && (is_held || self.worker(*frame).is_some())
        };
        let stopped: Vec<usize> = (0..self.frames.len()).filter(is_stopped).collect();
        for frame in &stopped {
            let holder = self.frames[*frame].holder.as_ref().filter(|holder| holds(holder, now));
            let runs = |holder: &Holder| matches!(holder.kind, HolderKind::Host | HolderKind::Worker);
            if holder.is_some_and(|holder| !runs(holder)) {
                self.check_actor(*frame, who, now)?;
            }
        }
        for frame in &stopped {
            let plain = &mut self.frames[*frame];
            plain.status = FrameStatus::Blocked;
            plain.questions.pop_if(|(_, answer)| answer.is_none());
            plain.questions.push(("It was stopped: why".into(), None));
            self.goes_on(*frame);
            if self.frames[*frame].holder.as_ref().is_some_and(|holder| holder.kind != HolderKind::Host) {
                self.released(*frame, Release::Stopped { reason: "why".into() }, now);
            }
        }
        let Some(active) = self.active else { return Ok(()) };
        let mut lineage = std::iter::once(active).chain(self.above(active));
        if let Some(highest) = lineage.rfind(|frame| stopped.contains(frame)) {
            // As the frames were before: those that are stopped are open too.
            self.active = self.above(highest).into_iter().find(|above| self.is_open(*above));
        }
        Ok(())
    }

    /// The children of a frame, or the roots, in their order.
    fn level(&self, parent: Option<usize>) -> Vec<usize> {
        self.order.iter().copied().filter(|frame| self.frames[*frame].parent == parent).collect()
    }

    /// The model with an order that only depends on the orders of siblings.
    fn settled(&self) -> Self {
        let levels = std::iter::once(None).chain((0..self.frames.len()).map(Some)).map(|parent| self.level(parent));
        Self { order: levels.flatten().collect(), entered: BTreeMap::new(), ..self.clone() }
    }

    /// The frame that owns the chunk with this name that a frame sees: itself, or the nearest ancestor.
    fn owner(&self, frame: usize, name: &str) -> Option<usize> {
        let mut lineage = vec![frame];
        lineage.extend(self.above(frame));
        lineage.into_iter().find(|owner| self.frames[*owner].chunks.iter().any(|(other, _)| other == name))
    }

    fn begin_registers(&mut self, frame: usize) {
        let Some(parent) = self.frames[frame].parent else { return };
        let Some(inherited) = self.frames[parent].registers.clone() else { return };
        let Plain { title, criteria, .. } = self.frames[frame].clone();
        let goal = if criteria.is_empty() { title.clone() } else { criteria };
        let [_, plan, _, _, constraints, assumptions, questions, _] = inherited;
        let status = "Entered sub-frame. Starting.".into();
        let phase = format!("entering: {title}");
        self.frames[frame].registers =
            Some([goal, plan, String::new(), phase, constraints, assumptions, questions, status]);
    }

    fn end_registers(&mut self, frame: usize, result: &str) {
        let Plain { parent: Some(parent), registers: Some(child), title, .. } = &self.frames[frame] else { return };
        let (parent, child, title) = (*parent, child.clone(), title.clone());
        if let Some([_, _, next, phase, _, _, questions, status]) = &mut self.frames[parent].registers {
            next.clear();
            *phase = format!("returned from: {title}");
            questions.clone_from(&child[6]);
            *status = result.to_owned();
        }
    }

    /// A placeholder with criteria keeps its identity when it gets a child on purpose.
    fn fix_identity(&mut self, frame: usize) {
        self.frames[frame].placeholder &= self.frames[frame].criteria.is_empty();
    }

    /// Executes a command on the model. After an error the model is in no defined state.
    fn carry_out(&mut self, ask: &Ask, who: Who, now: u64) -> Answer {
        if let Who::Worker(proof) = who {
            self.check_hold(proof)?;
        }
        self.execute(ask, who, now)?;
        self.order.extend(self.order.len()..self.frames.len());
        Ok(())
    }

    fn execute(&mut self, ask: &Ask, who: Who, now: u64) -> Answer {
        let end_of = |lease: u64| match lease {
            1..=Holder::LONGEST_LEASE => Ok(now + lease),
            _ => Err("setting"),
        };
        match ask {
            Ask::Hold { worker, lease, below, frame } => {
                if worker.is_empty() {
                    return Err("empty");
                }
                let until = end_of(*lease)?;
                below.iter().chain(frame).try_for_each(|frame| self.there(*frame))?;
                self.hold(worker, until, *below, *frame, now)?;
            }
            Ask::Renew { proof, lease } => {
                let until = end_of(*lease)?;
                self.check_hold(*proof)?;
                self.check_in_progress(proof.frame)?;
                let holder = self.frames[proof.frame].holder.as_mut().unwrap();
                match holder.released.as_ref().map(|released| &released.how) {
                    None | Some(Release::Interrupted {}) => (holder.until, holder.released) = (Some(until), None),
                    Some(_) => return Err("not_free"),
                }
            }
            Ask::Release { proof } => {
                self.check_hold(*proof)?;
                self.released(proof.frame, Release::Ended {}, now);
            }
            Ask::Finish { proof, finish } => self.finish(*proof, *finish, now)?,
            Ask::Interrupt { frame } => {
                self.there(*frame)?;
                if self.frames[*frame].holder.as_ref().is_some_and(|holder| !holds(holder, now)) {
                    self.released(*frame, Release::Interrupted {}, now);
                }
            }
            Ask::BeginCall { frame, host, lease } => {
                self.there(*frame)?;
                self.begin_call(*frame, host, *lease, now)?;
            }
            Ask::EndCall { frame, host, interrupted } => {
                self.there(*frame)?;
                let is_own = |holder: &Holder| holder.kind == HolderKind::Host && holder.name == *host;
                if self.frames[*frame].holder.as_ref().is_some_and(is_own) {
                    let how = if *interrupted { Release::Interrupted {} } else { Release::Ended {} };
                    self.released(*frame, how, now);
                }
            }
            Ask::Stop { frame } => {
                frame.map_or(Ok(()), |frame| self.there(frame))?;
                self.stop(*frame, who, now)?;
            }
            Ask::Edit { frame, edit } => self.edit(*frame, edit, who)?,
            Ask::Reopen { frame, reason } => self.reopen(*frame, reason, who, now)?,
            Ask::Add { id, parent, status, depends_on } => {
                if let Some(parent) = parent {
                    self.takes(*parent, *status)?;
                }
                for dependency in depends_on {
                    self.there(*dependency)?;
                }
                self.free(id)?;
                let mut above: Vec<usize> = parent.iter().copied().collect();
                above.extend(parent.map(|parent| self.above(parent)).unwrap_or_default());
                let is_above =
                    |dependency: &usize| above.contains(dependency) || above.contains(&self.newest(*dependency));
                if depends_on.iter().any(is_above) {
                    return Err("dependency");
                }
                let once = self.once(depends_on);
                let frame =
                    Plain { id: id.clone(), parent: *parent, status: *status, title: "New".into(), ..Plain::default() };
                self.frames.push(Plain { depends_on: once, ..frame });
                parent.iter().for_each(|parent| self.fix_identity(*parent));
                if *status == FrameStatus::InProgress {
                    let new = self.frames.len() - 1;
                    self.active = Some(new);
                    if let Who::Named(..) = who {
                        self.take(new, FrameStatus::InProgress, who, now);
                    }
                    self.begin_registers(new);
                }
            }
            Ask::PlanChildren { parent, ids, depends_on } => {
                self.takes(*parent, FrameStatus::Planned)?;
                ids.iter().try_for_each(|id| self.free(id))?;
                if (1..ids.len()).any(|index| ids[..index].contains(&ids[index])) {
                    return Err("duplicate_id");
                }
                if !ids.is_empty() {
                    self.fix_identity(*parent);
                }
                let first = self.frames.len();
                self.frames.extend(ids.iter().map(|id| Plain {
                    id: id.clone(),
                    parent: Some(*parent),
                    title: "New".into(),
                    ..Plain::default()
                }));
                for (child, dependency) in depends_on {
                    let known = &mut self.frames[first + child].depends_on;
                    if !known.contains(&(first + dependency)) {
                        known.push(first + dependency);
                    }
                }
                if (first..self.frames.len()).any(|child| self.waits(child, child)) {
                    return Err("dependency");
                }
            }
            Ask::Ensure { id, .. } if self.frames.iter().any(|frame| frame.id == *id) => {}
            Ask::Ensure { id, parent } => {
                self.free(id)?;
                parent.map_or(Ok(()), |parent| self.there(parent))?;
                self.frames.push(Plain {
                    id: id.clone(),
                    parent: *parent,
                    status: FrameStatus::InProgress,
                    title: format!("Session {}", &id[..id.len().min(8)]),
                    placeholder: true,
                    ..Plain::default()
                });
                self.active = self.active.or(Some(self.frames.len() - 1));
                if let Who::Named(..) = who {
                    self.take(self.frames.len() - 1, FrameStatus::InProgress, who, now);
                }
            }
            Ask::Identify { frame, title, criteria, provisional } => {
                self.there(*frame)?;
                let frame = &mut self.frames[*frame];
                match (frame.placeholder, title.is_empty()) {
                    (false, _) => return Err("identity_fixed"),
                    (_, true) => return Err("empty"),
                    _ => {
                        (frame.title, frame.criteria) = (title.clone(), criteria.clone());
                        frame.placeholder = *provisional;
                    }
                }
            }
            Ask::Activate { frame } => {
                self.there(*frame)?;
                if self.frames[*frame].status != FrameStatus::Planned {
                    return Err("transition");
                }
                self.change(*frame, FrameStatus::InProgress, who, now)?;
                if self.frames[*frame].registers.is_none() {
                    self.begin_registers(*frame);
                }
            }
            Ask::ReplaceId { frame, id } => {
                self.there(*frame)?;
                if self.frames[*frame].id != *id {
                    self.free(id)?;
                    let plain = &mut self.frames[*frame];
                    if plain.log == Some(format!("logs/{}.jsonl", plain.id)) {
                        plain.log = Some(format!("logs/{id}.jsonl"));
                    }
                    plain.id = id.clone();
                    if self.is_open(*frame) {
                        self.forget(*frame);
                    }
                }
            }
            Ask::SetStatus { frame, status: FrameStatus::Invalidated } => {
                self.there(*frame)?;
                self.invalidate(*frame, "because", who, now)?;
            }
            Ask::SetStatus { frame, status: FrameStatus::Blocked } => {
                self.there(*frame)?;
                self.block(*frame, "", Some("because"), who, now)?;
            }
            Ask::Block { frame, question, results } => {
                self.there(*frame)?;
                self.block(*frame, question, results.as_deref(), who, now)?;
                if let Some(results) = results.as_ref().filter(|results| !results.is_empty() && !question.is_empty()) {
                    self.end_registers(*frame, results);
                }
            }
            Ask::Answer { frame, answer } => {
                self.there(*frame)?;
                match (self.frames[*frame].status, answer.is_empty()) {
                    (FrameStatus::Blocked, false) => {}
                    (FrameStatus::Blocked, true) => return Err("empty"),
                    _ => return Err("not_blocked"),
                }
                self.keep_reason(*frame);
                if let Some(holder) = &mut self.frames[*frame].holder {
                    (holder.tries, holder.put_backs) = (0, 0);
                }
                let questions = &mut self.frames[*frame].questions;
                if questions.is_empty() {
                    questions.push((String::new(), None));
                }
                let last = &mut questions.last_mut().unwrap().1;
                *last = Some(last.take().map_or(answer.clone(), |earlier| format!("{earlier}\n{answer}")));
            }
            Ask::SetStatus { frame, status } => {
                self.there(*frame)?;
                let goes_on =
                    (*status, self.frames[*frame].status) == (FrameStatus::InProgress, FrameStatus::InProgress);
                if goes_on && (self.worker(*frame).is_some() || who != Who::Nobody) {
                    self.check_free(*frame, who, now)?;
                    self.take(*frame, FrameStatus::InProgress, who, now);
                    self.active = Some(*frame);
                    return Ok(());
                }
                let mut after = self.clone();
                if *status == FrameStatus::InProgress {
                    after.keep_reason(*frame);
                }
                after.change(*frame, *status, who, now)?;
                *self = after;
                self.frames[*frame].results = Some("because".into());
            }
            Ask::Pop { frame, status: PopStatus::Blocked } => {
                self.there(*frame)?;
                self.block(*frame, "", Some("done"), who, now)?;
                self.end_registers(*frame, "d");
            }
            Ask::Pop { frame, status } => {
                self.there(*frame)?;
                self.pop(*frame, (*status).into(), who, now)?;
            }
            Ask::Invalidate { frame, reason } => {
                self.there(*frame)?;
                self.invalidate(*frame, reason, who, now)?;
            }
            Ask::AddArtifact { frame, artifact: text } | Ask::AddDecision { frame, decision: text } => {
                self.there(*frame)?;
                if text.is_empty() {
                    return Err("empty");
                }
                let is_artifact = matches!(ask, Ask::AddArtifact { .. });
                let list = match is_artifact {
                    true => &mut self.frames[*frame].artifacts,
                    false => &mut self.frames[*frame].decisions,
                };
                if !is_artifact || !list.contains(text) {
                    list.push(text.clone());
                }
            }
            Ask::Summarize { frame, results } => {
                self.there(*frame)?;
                match (self.is_open(*frame), results.is_empty()) {
                    (false, _) => return Err("results_fixed"),
                    (_, true) => return Err("empty"),
                    _ => {
                        self.keep_reason(*frame);
                        self.frames[*frame].results = Some(results.clone());
                    }
                }
            }
            Ask::Deliver { frame } => {
                self.there(*frame)?;
                let is_retried = self.is_retried(*frame);
                let plain = &mut self.frames[*frame];
                if !plain.status.is_finished() {
                    return Err("not_finished");
                }
                plain.held = plain.parent.is_some() && !is_retried;
            }
            Ask::Forget { frame } => {
                self.there(*frame)?;
                self.forget(*frame);
            }
            Ask::Retry { frame, id, note, is_interrupted } => {
                self.there(*frame)?;
                self.retry(*frame, id, note.as_deref(), *is_interrupted, who, now)?;
            }
            Ask::SetActive { frame } => {
                self.there(*frame)?;
                if !self.is_open(*frame) {
                    return Err("not_open");
                }
                self.active = Some(*frame);
            }
            Ask::SetLogPath { frame, log_path } => {
                self.there(*frame)?;
                if log_path.is_empty() {
                    return Err("empty");
                }
                self.frames[*frame].log = Some(log_path.clone());
            }
            Ask::AllocateChunk { frame, name, content } => {
                self.there(*frame)?;
                match name.as_str() {
                    "" => return Err("empty"),
                    "tw\no" => return Err("not_one_line"),
                    _ if content.len() > 100_000 => return Err("too_long"),
                    _ => {}
                }
                let is_below = |other: usize| {
                    use FrameStatus::*;
                    self.above(other).contains(frame)
                        && matches!(self.frames[other].status, Planned | InProgress | Blocked)
                        && self.frames[other].chunks.iter().any(|(known, _)| known == name)
                };
                if self.owner(*frame, name).is_some() || (0..self.frames.len()).any(is_below) {
                    return Err("chunk_exists");
                }
                self.frames[*frame].chunks.push((name.clone(), content.clone()));
            }
            Ask::WriteChunk { frame, name, content } => {
                self.there(*frame)?;
                let owner = self.owner(*frame, name).ok_or("unknown_chunk")?;
                if content.len() > 100_000 {
                    return Err("too_long");
                }
                let chunk = self.frames[owner].chunks.iter_mut().find(|(other, _)| other == name);
                chunk.unwrap().1.clone_from(content);
            }
            Ask::FreeChunk { frame, name } => {
                self.there(*frame)?;
                let owner = self.owner(*frame, name).ok_or("unknown_chunk")?;
                self.frames[owner].chunks.retain(|(other, _)| other != name);
            }
            Ask::UpdateRegisters { frame, register, value } => {
                self.there(*frame)?;
                let limit = [240, 980, 200, 60, 720, 480, 600, 300][*register];
                self.frames[*frame].registers.get_or_insert_default()[*register] = value.chars().take(limit).collect();
            }
        }
        Ok(())
    }
}

/// Converts a tree to the model.
fn view(tree: &Tree) -> Model {
    let frames = tree.handles().map(|handle| {
        let (node, frame) = (tree.node(handle), tree.frame(handle));
        Plain {
            id: frame.session_id,
            parent: node.parent().map(|parent| parent.index()),
            status: frame.status,
            title: frame.title,
            results: frame.results,
            questions: frame.questions.into_iter().map(|asked| (asked.question, asked.answer)).collect(),
            artifacts: frame.artifacts,
            decisions: frame.decisions,
            depends_on: node.dependencies().iter().map(|dependency| dependency.index()).collect(),
            reason: frame.invalidation_reason,
            placeholder: frame.placeholder,
            criteria: frame.success_criteria,
            priority: frame.priority,
            was_planned: frame.begun_at.is_some(),
            log: frame.log_path,
            chunks: frame.heap.into_iter().map(|chunk| (chunk.name, chunk.content)).collect(),
            registers: frame
                .registers
                .map(|file| std::array::from_fn(|index| file.get(Register::ALL[index]).to_owned())),
            held: tree.is_held(handle),
            retry_of: node.retry_of().map(|earlier| earlier.index()),
            holder: frame.holder.map(|holder| *holder),
        }
    });
    let children = tree.handles().flat_map(|handle| tree.children(handle));
    let order = tree.roots().iter().chain(children).map(|handle| handle.index()).collect();
    let active = tree.active().map(|active| active.index());
    // Of the last entries, those that can still be told.
    Model { frames: frames.collect(), active, order, entered: BTreeMap::new() }
}

/// A command that the person ann has given, with the model before and after it.
struct Given {
    before: Model,
    after: Model,
    is_reversible: bool,
}

/// The commands of ann that can still be taken back, or are at least remembered.
#[derive(Default)]
struct Commands(Vec<Given>);

impl Commands {
    /// Notes a command if its events say that ann has given it.
    fn note(&mut self, events: &[Event], before: &Model, after: &Model) {
        let commanded = events.iter().find_map(|event| match &event.change {
            Change::Commanded { before, .. } => Some(before.is_some()),
            _ => None,
        });
        if let Some(is_reversible) = commanded {
            self.0.push(Given { before: before.clone(), after: after.clone(), is_reversible });
            if self.0.len() > 20 {
                self.0.remove(0);
            }
        }
    }

    /// Checks what has become of the taking back of the last command: what it had changed is as before it, what it had added is
    /// invalidated, and all else is as it was. Or it was refused because something has happened since, or for its kind.
    fn check_undone(&mut self, undone: Result<(), Error>, model: &mut Model, view: Model) {
        let message = undone.as_ref().err().map(ToString::to_string).unwrap_or_default();
        match undone.map_err(|error| error.code()) {
            Err("nothing_to_undo") => assert_eq!(self.0.len(), 0, "there is a command to take back"),
            Err("not_undone") => {
                let last = self.0.last().expect("a command that cannot be taken back");
                let has_changed = *model != last.after;
                assert!(!last.is_reversible || has_changed, "nothing has happened since, but: {message}");
            }
            Err(other) => panic!("undo is refused: {other}"),
            Ok(()) => {
                let Given { before, after, .. } = self.0.pop().expect("a command that was taken back");
                for (at, found) in view.frames.iter().enumerate() {
                    let now = &model.frames[at];
                    match (before.frames.get(at), after.frames.get(at)) {
                        (Some(before), Some(after)) => {
                            let expected = undone_frame(before, after, now);
                            assert_eq!(found.chunks, expected.chunks, "the chunks of f{}", at + 1);
                            let [found, expected] =
                                [found.clone(), expected].map(|frame| Plain { chunks: Vec::new(), ..frame });
                            assert_eq!(found, expected, "f{} after undo", at + 1);
                        }
                        (None, Some(_)) => assert_eq!(found.status, FrameStatus::Invalidated, "f{}", at + 1),
                        _ => assert_eq!(found, now, "f{} was added since", at + 1),
                    }
                }
                let entered = std::mem::take(&mut model.entered);
                *model = Model { entered, ..view };
            }
        }
    }
}

/// The frame after a command was taken back: where the command has changed it, it is as before.
fn undone_frame(before: &Plain, after: &Plain, now: &Plain) -> Plain {
    fn choose<T: PartialEq + Clone>(before: &T, after: &T, now: &T) -> T {
        if before == after { now.clone() } else { before.clone() }
    }
    macro_rules! each {
        ($($field:ident),*) => { Plain { $($field: choose(&before.$field, &after.$field, &now.$field),)* ..now.clone() } };
    }
    each!(
        parent,
        status,
        title,
        results,
        questions,
        artifacts,
        decisions,
        depends_on,
        reason,
        placeholder,
        criteria,
        priority,
        was_planned,
        registers,
        held,
        holder
    )
}

/// Compares the queries of the tree with the model.
fn check_queries(tree: &Tree, model: &Model) {
    let mut ready = model.most_urgent_first();
    ready.retain(|frame| model.can_begin(*frame));
    let found: Vec<usize> = tree.ready().map(|handle| handle.index()).collect();
    assert_eq!(found, ready, "what can begin, the most urgent first");
    for handle in tree.handles() {
        let (at, node) = (handle.index(), tree.node(handle));
        let positions = |handles: &mut dyn Iterator<Item = callstack_core::Handle>| {
            handles.map(|handle| handle.index()).collect::<Vec<_>>()
        };
        let where_ = |is: &dyn Fn(usize, &Plain) -> bool| {
            model.order.iter().copied().filter(|other| is(*other, &model.frames[*other])).collect::<Vec<_>>()
        };
        let parent = model.frames[at].parent;
        assert_eq!(positions(&mut tree.ancestors(handle)), model.above(at));
        assert_eq!(positions(&mut node.children().iter().copied()), where_(&|_, frame| frame.parent == Some(at)));
        let siblings = where_(&|other, frame| parent.is_some() && frame.parent == parent && other != at);
        assert_eq!(positions(&mut tree.siblings(handle)), siblings);
        let completed = |other: &usize| model.frames[*other].status == FrameStatus::Completed;
        assert_eq!(
            positions(&mut tree.completed_siblings(handle)),
            siblings.into_iter().filter(completed).collect::<Vec<_>>()
        );
        let mut finished =
            where_(&|other, frame| frame.parent == Some(at) && frame.status.is_finished() && !model.is_retried(other));
        let mut in_order = positions(&mut node.finished_children());
        assert!(node.finished_children().is_sorted_by_key(|child| tree.node(child).finished()));
        in_order.sort_unstable();
        finished.sort_unstable();
        assert_eq!(in_order, finished, "finished children of {handle}");
        let held = where_(&|_, frame| frame.parent == Some(at) && frame.held);
        assert_eq!(node.held_children(), held.len(), "held children of {handle}");
        assert_eq!(tree.newest_attempt(handle).index(), model.newest(at));
        let mut dependents =
            where_(&|_, frame| frame.depends_on.iter().any(|other| model.first(*other) == model.first(at)));
        dependents.sort_unstable();
        assert_eq!(positions(&mut tree.dependents(handle).iter().copied()), dependents, "dependents of {handle}");
        assert_eq!(tree.resolve(&FrameRef::Text(model.frames[at].id.clone())), Ok(handle));
        for (owner, chunk) in tree.chunks(handle) {
            assert_eq!(model.owner(at, &chunk.name), Some(owner.index()), "who owns {} for {handle}", chunk.name);
        }
    }
}

/// The person whose commands are taken back.
fn ann() -> Actor {
    Actor::new(HolderKind::Person, "ann")
}

/// Executes random commands on a tree and on the model, and checks that they agree after each; that a refused command
/// changes nothing; and that a replay of the events gives the same tree.
pub fn check(random: &mut Random, length: usize) {
    let (mut tree, mut model) = (Tree::new(), Model::default());
    let mut commands = Commands::default();
    let mut history: Vec<Event> = Vec::new();
    for now in 1..=length as u64 {
        if random.once_in(25) {
            let decided = decide_as(&tree, Some(&ann()), Command::Undo, now);
            let events = decided.as_ref().map_or(&[][..], |commit| &commit.events);
            events.iter().for_each(|event| tree.apply(event));
            history.extend_from_slice(events);
            commands.check_undone(decided.map(drop), &mut model, view(&tree));
        }
        let ask = random_ask(random, &model);
        let who = Who::random(random, &model);
        let before = tree.state();
        let decided = decide_as(&tree, who.actor().as_ref(), command(&model, &ask), now);
        assert_eq!(tree.state(), before, "deciding changed the tree");
        let events = decided.as_ref().map_or(&[][..], |commit| &commit.events);
        events.iter().for_each(|event| tree.apply(event));
        history.extend_from_slice(events);

        let mut expected = model.clone();
        let answer = expected.carry_out(&ask, who, now);
        if answer.is_ok() {
            commands.note(events, &model, &expected);
            model = expected;
        }
        assert_eq!(decided.map(drop).map_err(|error| error.code()), answer, "{who:?}: {ask:?}");
        assert_eq!(view(&tree), model.settled(), "after {who:?}: {ask:?}");
    }
    check_queries(&tree, &model);

    // The same history, through JSON, gives the same tree.
    let lines: Vec<String> = history.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let mut replayed = Tree::new();
    for (revision, line) in (1..).zip(&lines) {
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(event.revision, revision, "revisions are consecutive");
        replayed.replay(&event).unwrap();
    }
    assert_eq!(replayed.state(), tree.state());
    assert_eq!(view(&replayed), model.settled());

    // The state, through JSON, gives the same tree too.
    let (read, repairs) = callstack_core::StackState::from_json(&tree.state().to_json()).unwrap();
    let (again, more) = Tree::from_state(read);
    assert_eq!(again.state(), tree.state());
    assert_eq!(view(&again).order, model.settled().order);
    assert_eq!(repairs.len() + more.len(), 0, "{repairs:?} {more:?}");
}

/// Executes random commands on the model and on a stack that `opened` opens, again and again, and that keeps at most this number of
/// frames of finished trees in memory. Snapshots are made often, so finished trees leave the memory; now and then the stack is opened
/// again, made anew of its events, or its history compacted. Both must agree after each command.
#[cfg(feature = "tools")]
pub fn check_in_store(
    random: &mut Random,
    length: usize,
    finished_frames: usize,
    opened: &dyn Fn(StackOptions) -> Stack,
) {
    let now = Arc::new(AtomicU64::new(1));
    let open = || opened(options_at(&now).mirror(false).finished_frames(finished_frames));
    let (mut stack, mut model) = (open(), Model::default());
    let mut commands = Commands::default();
    // Another user of the same stack, who is often behind.
    let other = open();
    for time in 1..=length as u64 {
        // The clock can be set back.
        now.store(if random.once_in(20) { time / 2 } else { time }, Ordering::Relaxed);
        if random.once_in(25) {
            drop(stack);
            stack = open();
            assert_eq!(stack.repairs(), []);
        }
        match random.below(80) {
            // Makes a snapshot, and removes no event.
            0..16 => drop(stack.compact_history(0).unwrap()),
            16 | 17 => drop(stack.compact_history(random.below(length) as u64).unwrap()),
            18 => drop(stack.repair().unwrap()),
            _ => {}
        }
        if random.once_in(25) {
            let undone = stack.as_actor(ann()).undo().map(drop);
            commands.check_undone(undone, &mut model, stack.read(view));
        }
        let ask = random_ask(random, &model);
        let user = if random.once_in(8) { &other } else { &stack };
        let who = Who::random(random, &model);
        let user = who.actor().map_or_else(|| user.clone(), |actor| user.as_actor(actor));
        let done = user.execute(command(&model, &ask));
        let mut expected = model.clone();
        let answer = expected.carry_out(&ask, who, now.load(Ordering::Relaxed));
        if answer.is_ok() {
            commands.note(done.as_deref().unwrap_or_default(), &model, &expected);
            model = expected;
        }
        assert_eq!(done.map(drop).map_err(|error| error.code()), answer, "{who:?}: {ask:?}");
        if random.once_in(4) {
            stack.refresh().unwrap();
            assert_eq!(stack.read(view), model.settled(), "after {who:?}: {ask:?}");
        }
    }
    for user in [&stack, &other] {
        user.refresh().unwrap();
        user.read(|tree| check_queries(tree, &model));
        assert_eq!(user.read(view), model.settled());
    }
    let places = |stack: &Stack| {
        stack.read(|tree| ["c1", "c2"].map(|conversation| (tree.place_of(conversation), tree.lost_place(conversation))))
    };
    assert_eq!(places(&open()), places(&stack), "where the conversations are, read from the store");
    assert_eq!(stack.check_history().unwrap(), [""; 0]);
    if let Ok(health) = stack.health() {
        assert!(health.is_sound(), "{health:?}");
    }
    assert_eq!(open().state(), stack.state());
    check_export(&stack, &options_at(&now).finished_frames(finished_frames));
}

/// Checks that the exported history makes the same stack again, also if it was compacted.
#[cfg(feature = "tools")]
fn check_export(stack: &Stack, options: &StackOptions) {
    let exported = |stack: &Stack| {
        let mut text = Vec::new();
        stack.export_history(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let text = exported(stack);
    let folder = tempfile::tempdir().unwrap();
    let copy = Stack::rebuild(folder.path(), text.as_bytes(), options.clone()).unwrap();
    assert_eq!(copy.state(), stack.state());
    assert_eq!(exported(&copy), text);
    assert_eq!(copy.check_history().unwrap(), [""; 0]);
    copy.close().unwrap();
    let copy = Stack::open(folder.path(), options.clone()).unwrap();
    assert_eq!((copy.state(), copy.repairs()), (stack.state(), &[][..]));
    let health = copy.health().unwrap();
    assert!(health.is_sound(), "{health:?}");
}
