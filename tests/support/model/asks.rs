//! Random commands of the model, and the commands of the library that they stand for.

use callstack_core::frame::{Holder, NewChunk, Register, Release};
use callstack_core::{
    Command, Finish, FrameEdit, FrameRef, FrameStatus, Identity, NewFrame, NewHold, Parent, PopStatus, Priority,
    Records, Results,
};

use super::Model;
use super::holders::{End, Proof};
use crate::Random;

/// A command of the model. Its frames are indices. An index past the end names a frame that does not exist.
#[derive(Debug, Clone)]
pub(super) enum Ask {
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

/// An edit whose frames are indices.
#[derive(Debug, Clone, Default)]
pub(super) struct Edit {
    pub(super) title: Option<String>,
    pub(super) criteria: Option<String>,
    pub(super) priority: Option<Option<Priority>>,
    pub(super) depends_on: Option<Vec<usize>>,
    pub(super) parent: Option<Option<usize>>,
    pub(super) before: Option<Option<usize>>,
}

pub(super) fn random_ask(random: &mut Random, model: &Model) -> Ask {
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

pub(super) fn command(model: &Model, ask: &Ask) -> Command {
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
            Command::Record { frame: frame(at), records: Records::of_artifacts(vec![artifact.clone()]) }
        }
        Ask::AddDecision { frame: at, decision } => Command::Record {
            frame: frame(at),
            records: Records { decisions: vec![decision.clone()], ..Records::default() },
        },
        Ask::Summarize { frame: at, results } => {
            let results_compacted = "so".into();
            let results = Results { full: results.clone(), compacted: results_compacted };
            Command::Record { frame: frame(at), records: Records::of_results(results) }
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

/// A reference for an index: at random, the handle or the ID.
fn reference(model: &Model, position: usize) -> FrameRef {
    match model.frames.get(position) {
        Some(frame) if position.is_multiple_of(2) => FrameRef::Text(frame.id.clone()),
        _ => FrameRef::Text(format!("f{}", position + 1)),
    }
}
