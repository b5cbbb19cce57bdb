//! A person: answers questions, stops and edits frames, tries failed ones again, and takes commands back.

use callstack_core::{Actor as Giver, Error, FrameEdit, FrameStatus, Handle, HolderKind, NewFrame, Stack};
use support::{Queries, Random};

use super::{Actor, Marked, answered};
use crate::world::Process;

/// The refusals that a person can meet, because others act too.
const REFUSALS: [&str; 16] = [
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
    "not_ready",
    "wait_circle",
    "not_retriable",
    "retry_link",
    "nothing_to_undo",
    "not_undone",
];

pub(crate) struct Person {
    process: Process,
}

impl Person {
    pub(crate) fn new(process: Process) -> Self {
        Self { process }
    }

    /// Does one thing with a frame that looks as if it could be done.
    fn decide(&mut self, random: &mut Random) -> Result<(), Error> {
        let stack = self.process.stack()?;
        self.process.refresh(&stack)?;
        let own = stack.as_actor(Giver::new(HolderKind::Person, self.process.name()));
        let pick = |random: &mut Random, status: FrameStatus| -> Option<Handle> {
            let found = stack.with_status(status).ok()?;
            (!found.is_empty()).then(|| found[random.below(found.len())])
        };
        let (planned, open) = (pick(random, FrameStatus::Planned), pick(random, FrameStatus::InProgress));
        let (blocked, failed) = (pick(random, FrameStatus::Blocked), pick(random, FrameStatus::Failed));
        let done = pick(random, FrameStatus::Completed);
        let (what, result) = match random.below(14) {
            0..=2 => ("answer", blocked.map(|frame| own.answer(frame, "Go on"))),
            3 | 4 => ("retry", failed.map(|frame| own.retry(frame, None).map(drop))),
            5 => ("stop", open.map(|frame| own.stop(frame, "Something else comes first").map(drop))),
            6 => ("edit", planned.map(|frame| own.edit(frame, FrameEdit::default().title("Another title")))),
            7 => ("move", planned.zip(open).map(|(frame, parent)| own.edit(frame, FrameEdit::default().below(parent)))),
            8 => ("invalidate", planned.map(|frame| own.invalidate(frame, "Not needed").map(drop))),
            9 => ("reopen", done.map(|frame| own.reopen(frame, "It is wrong").map(drop))),
            10 => ("undo", Some(own.undo().map(drop))),
            11 => ("plan", Some(self.plan(&own, open.or(planned)))),
            12 => ("resume", blocked.map(|frame| own.resume(frame))),
            _ => ("depend", planned.zip(done).map(|(frame, other)| depend(&own, frame, other))),
        };
        let Some(result) = result else { return Ok(()) };
        answered(&mut self.process, what, result, &REFUSALS)
    }

    fn plan(&self, stack: &Stack, parent: Option<Handle>) -> Result<(), Error> {
        let mark = self.process.world().mark();
        let new = NewFrame::new("A wish").id(mark);
        stack.plan(match parent {
            Some(parent) => new.below(parent),
            None => new.root(),
        })?;
        let Some(parent) = parent else { return Ok(()) };
        let marked = Marked::begin(&self.process, self.process.world().mark());
        let result = stack.add_decision(parent, &marked.mark);
        marked.end(&self.process, &result);
        result
    }
}

fn depend(stack: &Stack, frame: Handle, other: Handle) -> Result<(), Error> {
    let mut edit = FrameEdit::default();
    edit.depends_on = Some(vec![other.into()]);
    stack.edit(frame, edit)
}

impl Actor for Person {
    fn act(&mut self, random: &mut Random) {
        // A person looks at what was said, and decides again later.
        let _ = self.decide(random);
    }

    fn process(&self) -> &Process {
        &self.process
    }

    fn die(&mut self) {
        self.process.close();
    }
}
