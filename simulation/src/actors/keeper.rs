//! A keeper: it polls, syncs, makes snapshots again, compacts the history, and looks whether it is sound.

use callstack_core::Error;
use support::Random;

use super::{Actor, attempt};
use crate::oracle::Violation;
use crate::process::Process;

pub(crate) struct Keeper;

impl Keeper {
    fn keep(process: &mut Process, random: &mut Random) -> Result<(), Error> {
        let stack = process.stack()?;
        let world = process.world();
        let mut act = |command, run: &dyn Fn() -> Result<(), Error>| attempt(process, command, &[], run);
        match random.below(60) {
            0..=23 => {
                process.begin_command("refresh");
                let losses = world.losses();
                process.refresh(&stack)?;
                // Who has read events that are lost meanwhile is told so at the next call.
                if losses == world.losses() {
                    world.check_tree(&stack);
                }
                Ok(())
            }
            24..=35 => {
                let moment = world.moment();
                act("flush", &|| stack.files().flush())?;
                if moment == world.moment() && world.unsynced() > 0 {
                    let what = format!("{} events are not on the disk after a flush", world.unsynced());
                    world.fail(Violation::new("what was synced is kept", what));
                }
                Ok(())
            }
            36 => act("compact", &|| stack.history().compact(u64::MAX).map(drop)),
            37 => act("repair", &|| stack.upkeep().repair().map(drop)),
            38 => {
                let found = attempt(process, "check", &[], || stack.history().check())?;
                if !found.is_empty() && !process.has_died() {
                    world.fail(Violation::new("snapshot and replay are equal", found.join("; ")));
                }
                Ok(())
            }
            39..=44 => {
                process.begin_command("note interruptions");
                stack.work().note_interruptions();
                Ok(())
            }
            _ => {
                process.begin_command("poll");
                stack.upkeep().poll();
                Ok(())
            }
        }
    }
}

impl Actor for Keeper {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        // What fails is done again.
        let _ = Self::keep(process, random);
    }
}
