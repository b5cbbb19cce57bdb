//! The conversation of an agent: it pushes frames for sub-tasks, records decisions, and pops them with results. It
//! may come back to a frame that is not its own any more. Its transcript outlives its process.

use callstack_core::{Actor as Giver, Error, FrameStatus, Handle, HolderKind, NewFrame, PopStatus};
use support::{Queries, Random};

use super::{Actor, attempt, attempt_marked};
use crate::process::Process;

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

#[derive(Default)]
pub(crate) struct Conversation {
    /// The frames that it has entered, the innermost last.
    entered: Vec<Handle>,
}

impl Conversation {
    fn go_on(&mut self, process: &mut Process, random: &mut Random) -> Result<(), Error> {
        let stack = process.stack()?;
        process.refresh(&stack)?;
        let own = stack.as_actor(Giver::new(HolderKind::Conversation, process.name()));
        let current = self.entered.last().copied();
        let world = process.world();
        match (current, random.below(8)) {
            (None, 0..=3) | (Some(_), 0) => {
                let new = NewFrame::new("Sub-task");
                let new = current.map_or_else(|| new.clone().root(), |current| new.clone().below(current));
                self.entered.push(attempt(process, "push", &REFUSALS, || own.push(new))?);
            }
            (None, _) | (Some(_), 1) => {
                let planned = stack.with_status(FrameStatus::Planned)?;
                if planned.is_empty() {
                    return Ok(());
                }
                let frame = planned[random.below(planned.len())];
                process.tell(|| format!("begins {frame}"));
                attempt(process, "begin", &REFUSALS, || own.begin(frame))?;
                self.entered.push(frame);
            }
            (Some(current), 2 | 3) => {
                let mark = world.mark();
                attempt_marked(process, "decide", &mark, &REFUSALS, || own.add_decision(current, &mark))?;
            }
            (Some(current), 4) => {
                let part = NewFrame::new("Part").below(current);
                attempt(process, "plan a part", &REFUSALS, || own.plan(part))?;
            }
            (Some(_), 5) => {
                // It goes to a frame above, as after a rewind.
                self.entered.truncate(1 + random.below(self.entered.len()));
            }
            (Some(current), _) => {
                let mark = world.mark();
                let status = if random.once_in(8) { PopStatus::Failed } else { PopStatus::Completed };
                process.tell(|| format!("pops {current}"));
                let result =
                    attempt_marked(process, "pop", &mark, &REFUSALS, || own.pop(current, status, mark.as_str()));
                if result.is_ok() || result.is_err_and(|error| REFUSALS.contains(&error.code())) {
                    self.entered.pop();
                }
            }
        }
        Ok(())
    }
}

impl Actor for Conversation {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        if self.go_on(process, random).is_err_and(|error| REFUSALS.contains(&error.code())) && random.once_in(2) {
            self.entered.pop();
        }
        if !process.is_open() {
            // The frames may be lost.
            self.entered.clear();
        }
    }
}
