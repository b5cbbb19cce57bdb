//! A worker: it holds a frame, reads its context, works, and finishes it.

use callstack_core::{Error, Finish, FrameStatus, Hold, NewFrame, NewHold, Results, Settings, Stack};
use serde_json::json;
use support::Random;

use super::{Actor, attempt, attempt_marked, judge};
use crate::oracle::{Plain, Violation};
use crate::process::Process;

/// With these a worker has lost its frame. A frame that events have made that are lost is unknown.
const LOST: [&str; 3] = ["hold_lost", "not_free", "unknown_frame"];

/// With these a worker gets no context. Some frames need more than the smallest budgets.
const NO_CONTEXT: [&str; 2] = ["unknown_frame", "budget_too_small"];

#[derive(Default)]
pub(crate) struct Worker {
    task: Option<Task>,
}

/// The work that a worker is doing.
struct Task {
    hold: Hold,
    /// How often events were lost before it was held.
    losses: usize,
    lease: u64,
    /// When the work is done.
    due: u64,
    finish: Finish,
    /// The results, or the question.
    mark: String,
}

impl Worker {
    fn hold(&mut self, process: &mut Process, random: &mut Random) -> Result<(), Error> {
        let lease = 1_000 + random.below(60_000) as u64;
        let stack = process.stack()?;
        let world = process.world();
        let moment = world.moment();
        let new = NewHold::new(process.name(), lease);
        let held = attempt(process, "hold", &[], || stack.work().hold(new))?;
        let Some(hold) = held else {
            if moment == world.moment() {
                world.check_nothing_is_free(&stack, None);
            }
            return Ok(());
        };
        world.check_effect(moment, |oracle| {
            (!oracle.has_it(&hold)).then(|| format!("{} was handed out, and is not held", hold.handle))
        });
        process.tell(|| format!("holds {} in generation {}", hold.handle, hold.generation));
        self.check_context(process, &stack, &hold, random);
        let mark = world.mark();
        let results = Results::new(mark.clone());
        let finish = match random.below(24) {
            0 => Finish::Failed(results),
            1 => Finish::Asks { question: mark.clone(), results: None },
            2 => Finish::Later { wait: None },
            _ => Finish::Done(results),
        };
        let due = world.time().now() + random.below(3 * lease as usize) as u64;
        self.task = Some(Task { hold, losses: moment.losses, lease, due, finish, mark });
        Ok(())
    }

    /// The context has the results of what the frame needs, and keeps to its budget.
    fn check_context(&self, process: &Process, stack: &Stack, hold: &Hold, random: &mut Random) {
        let mut settings = Settings::default();
        let is_small = random.once_in(3);
        if is_small {
            settings.budget.total = 150 + random.below(400);
        }
        let world = process.world();
        let context = match stack.context(hold.handle, &settings) {
            Ok(context) => context,
            Err(error) => return judge(process, "context", error.code(), &error, &NO_CONTEXT),
        };
        world.check_budget(&hold.handle, &context, &settings);
        let Ok(revision) = stack.read(|tree| tree.revision()) else { return };
        if is_small {
            return;
        }
        let missing = world.with_oracle(|oracle| {
            // Another one may have acted meanwhile.
            let frame = oracle.frame(hold.handle).filter(|_| oracle.revision() == revision)?;
            let needed: Vec<_> = frame.depends_on.iter().map(|other| oracle.newest(*other)).collect();
            let few = needed.iter().take(4).filter_map(|other| Some((other, oracle.frame(*other)?)));
            // One that is open again, or was taken out, has no results that count.
            let done = few.filter(|(_, frame)| frame.status == FrameStatus::Completed);
            let mut results = done.filter_map(|(other, frame)| Some((other, frame.results.as_ref()?)));
            let (other, results) = results.find(|(_, results)| !context.xml.contains(results.trim()))?;
            Some(format!("{} needs {other}, but its context has no `{results}`", hold.handle))
        });
        missing.into_iter().for_each(|what| world.fail(Violation::new("a context has what the frame needs", what)));
    }

    /// Does a part of the work, or ends it. Returns true if the worker has the frame no more.
    fn work(&mut self, process: &mut Process, random: &mut Random) -> Result<bool, Error> {
        let stack = process.stack()?;
        let Some(task) = &self.task else { return Ok(true) };
        let result = if process.world().time().now() < task.due {
            Self::do_a_part(process, &stack, task, random).map(|()| false)
        } else {
            Self::finish(process, &stack, task, random).map(|()| true)
        };
        if let Err(error) = &result
            && LOST.contains(&error.code())
        {
            process.world().check_lost(&task.hold, task.losses);
            return Ok(true);
        }
        result
    }

    fn do_a_part(process: &mut Process, stack: &Stack, task: &Task, random: &mut Random) -> Result<(), Error> {
        let own = stack.as_actor(&task.hold);
        let (world, frame) = (process.world(), task.hold.handle);
        let mark = world.mark();
        let moment = world.moment();
        match random.below(5) {
            4 => {
                attempt(process, "log", &LOST, || own.log(frame).append(&[json!({"mark": mark})]))?;
                if moment.losses == world.losses() {
                    world.logged(frame, mark);
                }
                Ok(())
            }
            0 => attempt_marked(process, "decide", &mark, &LOST, || own.add_decision(frame, &mark)),
            1 => {
                let part = NewFrame::new("Part").below(frame);
                let refusals = ["hold_lost", "not_free", "unknown_frame", "parent_closed"];
                let planned = attempt(process, "plan a part", &refusals, || own.plan(part))?;
                world.check_effect(moment, |oracle| {
                    oracle.contradiction(planned, "a part", |plain| plain.parent == Some(frame))
                });
                Ok(())
            }
            2 => attempt(process, "standing", &LOST, || stack.work().standing(&task.hold)).map(drop),
            _ => {
                let renewed = attempt(process, "renew", &LOST, || stack.work().renew(&task.hold, task.lease))?;
                let has_time =
                    |plain: &Plain| plain.holder.as_ref().is_some_and(|holder| holder.until == Some(renewed.until));
                world.check_effect(moment, |oracle| oracle.contradiction(frame, "held for longer", has_time));
                Ok(())
            }
        }
    }

    /// Ends the work. Some requests come twice, as from a program that tries again whatever the answer was.
    fn finish(process: &mut Process, stack: &Stack, task: &Task, random: &mut Random) -> Result<(), Error> {
        let Task { hold, finish, mark, .. } = task;
        let world = process.world();
        let moment = world.moment();
        let status = world.with_oracle(|oracle| oracle.frame(hold.handle).map(|plain| plain.status));
        process.tell(|| format!("finishes {} in generation {}", hold.handle, hold.generation));
        let run = || stack.work().finish(hold, finish.clone());
        let finished = match finish {
            Finish::Done(_) => attempt_marked(process, "finish", mark, &LOST, run)?,
            _ => attempt(process, "finish", &LOST, run)?,
        };
        world.check_effect(moment, |oracle| oracle.contradicts_status(hold.handle, finished.status));
        if status != Some(FrameStatus::InProgress) && moment == world.moment() {
            let what = format!("{} was {status:?} when it was finished", hold.handle);
            world.fail(Violation::new("what was stopped is not finished", what));
        }
        if finished.status == FrameStatus::Completed {
            Self::check_finished(process, task);
        }
        if random.once_in(6) {
            let again = attempt(process, "finish again", &LOST, run);
            if again.is_ok() && world.losses() == task.losses {
                let what = format!("{} was finished twice in generation {}", hold.handle, hold.generation);
                world.fail(Violation::new("each result comes once", what));
            }
        }
        Ok(())
    }

    /// Only the result of the newest holder counts, and what a worker completes has no planned part left.
    fn check_finished(process: &Process, task: &Task) {
        let (world, hold) = (process.world(), &task.hold);
        if let Some(part) = world.with_oracle(|oracle| oracle.part_left(hold.handle)) {
            let what = format!("{} is completed, but {part} below it is not done", hold.handle);
            world.fail(Violation::new("a frame comes after its parts", what));
        }
        let newest = world.with_oracle(|oracle| {
            oracle.frame(hold.handle).and_then(|plain| plain.holder.as_ref()).map(|holder| holder.generation)
        });
        if newest.is_some_and(|newest| newest > hold.generation) && world.losses() == task.losses {
            let what =
                format!("{} was finished in generation {}, but {newest:?} holds it", hold.handle, hold.generation);
            world.fail(Violation::new("only the newest holder counts", what));
        }
    }
}

impl Actor for Worker {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        let is_free = match self.task {
            None => self.hold(process, random).map(|()| false),
            Some(_) => self.work(process, random),
        };
        // A process that was started again has no task.
        if is_free == Ok(true) || !process.is_open() {
            self.task = None;
        }
    }

    fn die(&mut self) {
        self.task = None;
    }
}
