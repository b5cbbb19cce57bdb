//! A person: answers questions, stops and edits frames, tries failed ones again, and takes commands back.

use std::cell::RefCell;

use callstack_core::{Actor as Giver, Error, FrameEdit, FrameStatus, Handle, HolderKind, NewFrame, Stack};
use support::{Queries, Random};

use super::{Actor, attempt, attempt_marked};
use crate::oracle::{Oracle, Plain};
use crate::process::Process;

/// The refusals that a person can meet, because others act too.
const REFUSALS: [&str; 17] = [
    "unknown_frame",
    "transition",
    "parent_closed",
    "parent_planned",
    "dependency",
    "parent_circle",
    "not_open",
    "held",
    "not_blocked",
    "not_planned",
    "not_sibling",
    "not_ready",
    "wait_circle",
    "not_retriable",
    "retry_link",
    "nothing_to_undo",
    "not_undone",
];

pub(crate) struct Person;

impl Person {
    /// Does one thing with a frame that looks as if it could be done.
    fn decide(process: &mut Process, random: &mut Random) -> Result<(), Error> {
        let stack = process.stack()?;
        // Some decide on what they have seen a while ago.
        if !random.once_in(4) {
            process.refresh(&stack)?;
        }
        let own = stack.as_actor(Giver::new(HolderKind::Person, process.name()));
        let pick = |random: &mut Random, status: FrameStatus| -> Option<Handle> {
            let found = stack.with_status(status).ok()?;
            (!found.is_empty()).then(|| found[random.below(found.len())])
        };
        let (planned, open) = (pick(random, FrameStatus::Planned), pick(random, FrameStatus::InProgress));
        let (blocked, failed) = (pick(random, FrameStatus::Blocked), pick(random, FrameStatus::Failed));
        let done = pick(random, FrameStatus::Completed);
        // Some requests come twice, as from a person who has seen no answer.
        let is_twice = random.once_in(10);
        let act = |process: &mut Process, command, run: Run<'_>, missing: Missing<'_>| {
            let moment = process.world().moment();
            let mut answer = attempt(process, command, &REFUSALS, run);
            if is_twice && process.is_open() {
                answer = attempt(process, command, &REFUSALS, run);
            }
            answer.is_ok().then(|| process.world().check_effect(moment, missing));
            answer
        };
        let other = pick(random, FrameStatus::Planned);
        // Nothing but the command itself has made a new event since.
        let before = process.world().with_oracle(Oracle::revision);
        let is_recorded = |oracle: &Oracle| (oracle.revision() == before).then(|| "it has made no event".to_owned());
        match (random.below(15), planned, open) {
            (0..=2, ..) => blocked.map(|frame| act(process, "answer", &|| own.answer(frame, "Go on"), &is_recorded)),
            (3 | 4, ..) => failed.map(|frame| {
                let run = || own.retry(frame, None).map(drop);
                act(process, "retry", &run, &|oracle| {
                    oracle.unless(frame, "retried", |plain| plain.retried_as.is_some())
                })
            }),
            (5, _, Some(frame)) => {
                let stopped = RefCell::default();
                let run = || own.stop(frame, "Something else comes first").map(|frames| drop(stopped.replace(frames)));
                let missing = |oracle: &Oracle| {
                    let is_blocked = |frame: &Handle| oracle.unless_status(*frame, FrameStatus::Blocked);
                    stopped.borrow().iter().find_map(is_blocked)
                };
                Some(act(process, "stop", &run, &missing))
            }
            (6, Some(frame), _) => {
                let run = || own.edit(frame, FrameEdit::default().title("Another title"));
                let is_titled = |plain: &Plain| plain.title == "Another title";
                Some(act(process, "edit", &run, &|oracle| oracle.unless(frame, "titled anew", is_titled)))
            }
            (7, Some(frame), Some(parent)) => {
                let run = || own.edit(frame, FrameEdit::default().below(parent));
                let is_below = |plain: &Plain| plain.parent == Some(parent);
                Some(act(process, "move", &run, &|oracle| oracle.unless(frame, "moved", is_below)))
            }
            (8, Some(frame), _) => {
                let run = || own.invalidate(frame, "Not needed").map(drop);
                let missing = |oracle: &Oracle| oracle.unless_status(frame, FrameStatus::Invalidated);
                Some(act(process, "invalidate", &run, &missing))
            }
            (9, ..) => done.map(|frame| {
                let run = || own.reopen(frame, "It is wrong").map(drop);
                act(process, "reopen", &run, &|oracle| oracle.unless_status(frame, FrameStatus::InProgress))
            }),
            (10, ..) => Some(act(process, "undo", &|| own.undo().map(drop), &is_recorded)),
            (11, ..) => Some(plan(process, &own, open.or(planned))),
            (12, ..) => blocked.or(open).map(|frame| {
                let missing = |oracle: &Oracle| oracle.unless_status(frame, FrameStatus::InProgress);
                act(process, "resume", &|| own.resume(frame), &missing)
            }),
            (13, Some(frame), _) => done.map(|other| {
                let needs_it = |plain: &Plain| plain.depends_on == [other];
                let missing = |oracle: &Oracle| oracle.unless(frame, "made to wait", needs_it);
                act(process, "depend", &|| depend(&own, frame, other), &missing)
            }),
            (14, Some(frame), _) => other.filter(|other| *other != frame).map(|other| {
                let run = || own.edit(frame, FrameEdit::default().before(other));
                act(process, "move before", &run, &|oracle| oracle.unless_before(frame, other))
            }),
            _ => None,
        }
        .unwrap_or(Ok(()))
    }
}

/// Runs a command.
type Run<'a> = &'a dyn Fn() -> Result<(), Error>;
/// Says what of a command is not in effect.
type Missing<'a> = &'a dyn Fn(&Oracle) -> Option<String>;

fn plan(process: &mut Process, stack: &Stack, parent: Option<Handle>) -> Result<(), Error> {
    let world = process.world();
    let id = world.mark();
    let new = NewFrame::new("A wish").id(id.clone());
    let new = match parent {
        Some(parent) => new.below(parent),
        None => new.root(),
    };
    let moment = world.moment();
    let planned = attempt(process, "plan", &REFUSALS, || stack.plan(new))?;
    let is_there = |plain: &Plain| plain.id == id && plain.parent == parent;
    world.check_effect(moment, |oracle| oracle.unless(planned, "planned", is_there));
    let Some(parent) = parent else { return Ok(()) };
    let mark = world.mark();
    attempt_marked(process, "decide", &mark, &REFUSALS, || stack.add_decision(parent, &mark))
}

fn depend(stack: &Stack, frame: Handle, other: Handle) -> Result<(), Error> {
    let mut edit = FrameEdit::default();
    edit.depends_on = Some(vec![other.into()]);
    stack.edit(frame, edit)
}

impl Actor for Person {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        // A person looks at what was said, and decides again later.
        let _ = Self::decide(process, random);
    }
}
