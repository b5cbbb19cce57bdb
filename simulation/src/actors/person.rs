//! A person: answers questions, stops and edits frames, tries failed ones again, and takes commands back.

use callstack_core::{Actor as Giver, Error, FrameEdit, FrameStatus, Handle, HolderKind, NewFrame, Stack};
use support::{Queries, Random};

use super::{Actor, attempt, attempt_marked};
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
        let act = |process: &mut Process, command, run: &dyn Fn() -> Result<(), Error>| {
            let answer = attempt(process, command, &REFUSALS, run);
            if is_twice && process.is_open() { attempt(process, command, &REFUSALS, run) } else { answer }
        };
        let makes = |process: &mut Process, command, frame, status, run: &dyn Fn() -> Result<(), Error>| {
            let acted = process.world().steps();
            act(process, command, run)?;
            process.world().check_status(frame, status, acted);
            Ok(())
        };
        let other = pick(random, FrameStatus::Planned);
        match (random.below(15), planned, open) {
            (0..=2, ..) => blocked.map(|frame| act(process, "answer", &|| own.answer(frame, "Go on"))),
            (3 | 4, ..) => failed.map(|frame| act(process, "retry", &|| own.retry(frame, None).map(drop))),
            (5, _, Some(frame)) => {
                Some(act(process, "stop", &|| own.stop(frame, "Something else comes first").map(drop)))
            }
            (6, Some(frame), _) => {
                Some(act(process, "edit", &|| own.edit(frame, FrameEdit::default().title("Another title"))))
            }
            (7, Some(frame), Some(parent)) => {
                Some(act(process, "move", &|| own.edit(frame, FrameEdit::default().below(parent))))
            }
            (8, Some(frame), _) => {
                let run = || own.invalidate(frame, "Not needed").map(drop);
                Some(makes(process, "invalidate", frame, FrameStatus::Invalidated, &run))
            }
            (9, ..) => done.map(|frame| {
                let run = || own.reopen(frame, "It is wrong").map(drop);
                makes(process, "reopen", frame, FrameStatus::InProgress, &run)
            }),
            (10, ..) => Some(act(process, "undo", &|| own.undo().map(drop))),
            (11, ..) => Some(plan(process, &own, open.or(planned))),
            (12, ..) => blocked
                .or(open)
                .map(|frame| makes(process, "resume", frame, FrameStatus::InProgress, &|| own.resume(frame))),
            (13, Some(frame), _) => done.map(|other| act(process, "depend", &|| depend(&own, frame, other))),
            (14, Some(frame), _) => {
                other.map(|other| act(process, "move before", &|| own.edit(frame, FrameEdit::default().before(other))))
            }
            _ => None,
        }
        .unwrap_or(Ok(()))
    }
}

fn plan(process: &mut Process, stack: &Stack, parent: Option<Handle>) -> Result<(), Error> {
    let world = process.world();
    let new = NewFrame::new("A wish").id(world.mark());
    let new = match parent {
        Some(parent) => new.below(parent),
        None => new.root(),
    };
    attempt(process, "plan", &REFUSALS, || stack.plan(new))?;
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
