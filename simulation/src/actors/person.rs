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

/// Runs a command.
type Run<'a> = &'a dyn Fn() -> Result<(), Error>;
/// Says what of a command is not in effect.
type Missing<'a> = &'a dyn Fn(&Oracle) -> Option<String>;

/// Commands that always make an event when they are accepted.
const RECORDED: [&str; 2] = ["answer", "undo"];

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
            let answer = give_once(process, command, run, missing);
            if is_twice && process.is_open() { give_once(process, command, run, missing) } else { answer }
        };
        let other = pick(random, FrameStatus::Planned);
        let nothing_more = |_: &Oracle| None;
        match (random.below(15), planned, open) {
            (0..=2, ..) => blocked.map(|frame| act(process, "answer", &|| own.answer(frame, "Go on"), &nothing_more)),
            (3 | 4, ..) => failed.map(|frame| {
                let run = || own.retry(frame, None).map(drop);
                act(process, "retry", &run, &|oracle| {
                    oracle.contradiction(frame, "retried", |plain| plain.retried_as.is_some())
                })
            }),
            (5, _, Some(frame)) => {
                let stopped = RefCell::default();
                let run = || own.stop(frame, "Something else comes first").map(|frames| drop(stopped.replace(frames)));
                let missing = |oracle: &Oracle| {
                    let is_blocked = |frame: &Handle| oracle.contradicts_status(*frame, FrameStatus::Blocked);
                    stopped.borrow().iter().find_map(is_blocked)
                };
                Some(act(process, "stop", &run, &missing))
            }
            (6, Some(frame), _) => {
                let title = process.world().mark();
                let run = || own.edit(frame, FrameEdit::default().title(title.clone()));
                let has_it = |plain: &Plain| plain.title == title;
                Some(act(process, "edit", &run, &|oracle| oracle.contradiction(frame, "renamed", has_it)))
            }
            (7, Some(frame), Some(parent)) => {
                let run = || own.edit(frame, FrameEdit::default().below(parent));
                let is_below = |plain: &Plain| plain.parent == Some(parent);
                Some(act(process, "move", &run, &|oracle| oracle.contradiction(frame, "moved", is_below)))
            }
            (8, Some(frame), _) => {
                let run = || own.invalidate(frame, "Not needed").map(drop);
                let missing = |oracle: &Oracle| oracle.contradicts_status(frame, FrameStatus::Invalidated);
                Some(act(process, "invalidate", &run, &missing))
            }
            (9, ..) => done.map(|frame| {
                let run = || own.reopen(frame, "It is wrong").map(drop);
                act(process, "reopen", &run, &|oracle| oracle.contradicts_status(frame, FrameStatus::InProgress))
            }),
            (10, ..) => Some(act(process, "undo", &|| own.undo().map(drop), &nothing_more)),
            (11, ..) => Some(plan(process, &own, open.or(planned))),
            (12, ..) => blocked.or(open).map(|frame| {
                let missing = |oracle: &Oracle| oracle.contradicts_status(frame, FrameStatus::InProgress);
                act(process, "resume", &|| own.resume(frame), &missing)
            }),
            (13, Some(frame), _) => done.map(|other| {
                let needs_it = |plain: &Plain| plain.depends_on == [other];
                let missing = |oracle: &Oracle| oracle.contradiction(frame, "made to wait", needs_it);
                act(process, "depend", &|| depend(&own, frame, other), &missing)
            }),
            (14, Some(frame), _) => other.filter(|other| *other != frame).map(|other| {
                let run = || own.edit(frame, FrameEdit::default().before(other));
                act(process, "move before", &run, &|oracle| oracle.contradicts_place(frame, other))
            }),
            _ => None,
        }
        .unwrap_or(Ok(()))
    }
}

/// Gives a command once, and checks that it is in effect if it says so.
fn give_once(process: &mut Process, command: &'static str, run: Run<'_>, missing: Missing<'_>) -> Result<(), Error> {
    let world = process.world();
    let (moment, before) = (world.moment(), process.own_events());
    attempt(process, command, &REFUSALS, run)?;
    world.check_effect(moment, missing);
    let is_missing = RECORDED.contains(&command) && process.own_events() == before;
    world.check_effect(moment, |_| is_missing.then(|| format!("{command} was accepted, and has made no event")));
    Ok(())
}

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
    world.check_effect(moment, |oracle| oracle.contradiction(planned, "planned", is_there));
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
