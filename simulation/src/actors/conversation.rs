//! The conversation of an agent: it pushes frames for sub-tasks, records decisions, and pops them with results. It
//! may come back to a frame that is not its own any more.

use callstack_core::{Actor as Giver, Error, FrameStatus, Handle, HolderKind, NewFrame, PopStatus};
use support::{Queries, Random};

use super::{Actor, Marked, answered};
use crate::world::Process;

/// The refusals that an agent can meet, because others act too.
const REFUSALS: [&str; 9] = [
    "unknown_frame",
    "transition",
    "parent_closed",
    "parent_planned",
    "not_open",
    "held",
    "not_ready",
    "parts_left",
    "hold_lost",
];

pub(crate) struct Conversation {
    process: Process,
    /// The frames that it has entered, the innermost last.
    entered: Vec<Handle>,
}

impl Conversation {
    pub(crate) fn new(process: Process) -> Self {
        Self { process, entered: Vec::new() }
    }

    fn go_on(&mut self, random: &mut Random) -> Result<(), Error> {
        let stack = self.process.stack()?;
        self.process.refresh(&stack)?;
        let own = stack.as_actor(Giver::new(HolderKind::Conversation, self.process.name()));
        let current = self.entered.last().copied();
        match (current, random.below(8)) {
            (None, 0..=3) | (Some(_), 0) => {
                let new = NewFrame::new("Sub-task");
                let new = current.map_or_else(|| new.clone().root(), |current| new.clone().below(current));
                let pushed = answered(&mut self.process, "push", own.push(new), &REFUSALS)?;
                self.entered.push(pushed);
            }
            (None, _) | (Some(_), 1) => {
                let planned = stack.with_status(FrameStatus::Planned)?;
                if planned.is_empty() {
                    return Ok(());
                }
                let frame = planned[random.below(planned.len())];
                answered(&mut self.process, &format!("begin {frame}"), own.begin(frame), &REFUSALS)?;
                self.entered.push(frame);
            }
            (Some(current), 2 | 3) => {
                let marked = Marked::begin(&self.process, self.process.world().mark());
                let result = own.add_decision(current, &marked.mark);
                marked.end(&self.process, &result);
                answered(&mut self.process, "decision", result, &REFUSALS)?;
            }
            (Some(current), 4) => {
                let planned = own.plan(NewFrame::new("Part").below(current)).map(drop);
                answered(&mut self.process, "plan a part", planned, &REFUSALS)?;
            }
            (Some(_), 5) => {
                // It goes to a frame above, as after a rewind.
                self.entered.truncate(1 + random.below(self.entered.len()));
            }
            (Some(current), _) => {
                let marked = Marked::begin(&self.process, self.process.world().mark());
                let status = if random.once_in(8) { PopStatus::Failed } else { PopStatus::Completed };
                let result = own.pop(current, status, marked.mark.as_str()).map(drop);
                marked.end(&self.process, &result);
                let result = answered(&mut self.process, &format!("pop {current}"), result, &REFUSALS);
                if result.is_ok() || result.is_err_and(|error| REFUSALS.contains(&error.code())) {
                    self.entered.pop();
                }
            }
        }
        Ok(())
    }
}

impl Actor for Conversation {
    fn act(&mut self, random: &mut Random) {
        if self.go_on(random).is_err_and(|error| REFUSALS.contains(&error.code())) && random.once_in(2) {
            self.entered.pop();
        }
        if !self.process.is_open() {
            // The frames may be lost.
            self.entered.clear();
        }
    }

    fn process(&self) -> &Process {
        &self.process
    }

    fn die(&mut self) {
        // The transcript of the conversation stays: it goes on in another process.
        self.process.close();
    }
}
