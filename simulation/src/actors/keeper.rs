//! A keeper: it polls, syncs, makes snapshots again, compacts the history, and looks whether it is sound.

use callstack_core::Error;
use support::Random;

use super::{Actor, answered};
use crate::oracle::Violation;
use crate::world::Process;

pub(crate) struct Keeper {
    process: Process,
}

impl Keeper {
    pub(crate) fn new(process: Process) -> Self {
        Self { process }
    }

    fn keep(&mut self, random: &mut Random) -> Result<(), Error> {
        let stack = self.process.stack()?;
        let (what, result) = match random.below(60) {
            0..=23 => {
                let refreshed = self.process.refresh(&stack);
                if refreshed.is_ok() {
                    self.process.world().check_tree(&stack);
                }
                ("refresh", refreshed)
            }
            24..=35 => {
                let world = self.process.world();
                let acted = world.steps();
                let flushed = stack.files().flush();
                if flushed.is_ok() && acted == world.steps() && world.unsynced() > 0 {
                    let what = format!("{} events are not on the disk after a flush", world.unsynced());
                    world.fail(Violation::new("what was synced is kept", what));
                }
                ("flush", flushed)
            }
            36 => ("compact", stack.history().compact(u64::MAX).map(drop)),
            37 => ("repair", stack.upkeep().repair().map(drop)),
            38 => {
                let found = stack.history().check();
                if let Ok(found) = &found
                    && !found.is_empty()
                {
                    let violation = Violation::new("snapshot and replay are equal", found.join("; "));
                    self.process.world().fail(violation);
                }
                ("check", found.map(drop))
            }
            39..=44 => {
                stack.work().note_interruptions();
                return Ok(());
            }
            _ => {
                stack.upkeep().poll();
                return Ok(());
            }
        };
        answered(&mut self.process, what, result, &[])
    }
}

impl Actor for Keeper {
    fn act(&mut self, random: &mut Random) {
        // What fails is done again.
        let _ = self.keep(random);
    }

    fn process(&self) -> &Process {
        &self.process
    }

    fn die(&mut self) {
        self.process.close();
    }
}
