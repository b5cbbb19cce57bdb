//! A worker: it holds a frame, reads its context, works, and finishes it.

use callstack_core::{Error, Finish, FrameStatus, Hold, NewFrame, NewHold, Results, Settings, Stack};
use serde_json::json;
use support::Random;

use super::{Actor, Marked, answered};
use crate::oracle::Violation;
use crate::world::Process;

/// With these a worker has lost its frame.
const LOST: [&str; 2] = ["hold_lost", "not_free"];

pub(crate) struct Worker {
    process: Process,
    task: Option<Task>,
}

/// The work that a worker is doing.
struct Task {
    hold: Hold,
    lease: u64,
    /// When the work is done.
    due: u64,
    finish: Finish,
    /// The results, or the question.
    mark: String,
}

impl Worker {
    pub(crate) fn new(process: Process) -> Self {
        Self { process, task: None }
    }

    fn hold(&mut self, random: &mut Random) -> Result<(), Error> {
        let lease = 1_000 + random.below(60_000) as u64;
        let stack = self.process.stack()?;
        let held = stack.work().hold(NewHold::new(self.process.name(), lease));
        let Some(hold) = answered(&mut self.process, "hold", held, &[])? else { return Ok(()) };
        self.process.tell(|| format!("holds {} in generation {}", hold.handle, hold.generation));
        self.check_context(&stack, &hold, random);
        let world = self.process.world();
        let mark = world.mark();
        let results = Results::new(mark.clone());
        let finish = match random.below(24) {
            0 => Finish::Failed(results),
            1 => Finish::Asks { question: mark.clone(), results: None },
            2 => Finish::Later { wait: None },
            _ => Finish::Done(results),
        };
        let due = world.time().now() + random.below(3 * lease as usize) as u64;
        self.task = Some(Task { hold, lease, due, finish, mark });
        Ok(())
    }

    /// The context has the results of what the frame needs, and keeps to its budget.
    fn check_context(&self, stack: &Stack, hold: &Hold, random: &mut Random) {
        let mut settings = Settings::default();
        let is_small = random.once_in(3);
        if is_small {
            settings.budget.total = 150 + random.below(400);
        }
        let Ok(context) = stack.context(hold.handle, &settings) else { return };
        let world = self.process.world();
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
    fn work(&mut self, random: &mut Random) -> Result<bool, Error> {
        let stack = self.process.stack()?;
        let Some(task) = &self.task else { return Ok(true) };
        let own = stack.as_actor(&task.hold);
        let now = self.process.world().time().now();
        if now < task.due {
            let result = match random.below(5) {
                4 => {
                    let (world, frame, mark) = (self.process.world(), task.hold.handle, self.process.world().mark());
                    let losses = world.losses();
                    let result = own.log(frame).append(&[json!({"mark": mark})]);
                    if result.is_ok() && losses == world.losses() {
                        world.logged(frame, mark);
                    }
                    answered(&mut self.process, "log", result, &LOST)
                }
                0 => {
                    let marked = Marked::begin(&self.process, self.process.world().mark());
                    let result = own.add_decision(task.hold.handle, &marked.mark);
                    marked.end(&self.process, &result);
                    answered(&mut self.process, "decision", result, &LOST)
                }
                1 => {
                    let planned = own.plan(NewFrame::new("Part").below(task.hold.handle)).map(drop);
                    answered(&mut self.process, "plan a part", planned, &["hold_lost", "not_free", "parent_closed"])
                }
                2 => answered(&mut self.process, "standing", stack.work().standing(&task.hold).map(drop), &LOST),
                _ => {
                    let renewed = stack.work().renew(&task.hold, task.lease).map(drop);
                    answered(&mut self.process, "renew", renewed, &LOST)
                }
            };
            return Ok(result.is_err_and(|error| LOST.contains(&error.code())));
        }
        let (hold, finish) = (task.hold.clone(), task.finish.clone());
        let is_done = matches!(finish, Finish::Done(_));
        let marked = is_done.then(|| Marked::begin(&self.process, task.mark.clone()));
        let world = self.process.world();
        let acted = world.steps();
        let status = world.with_oracle(|oracle| oracle.frame(hold.handle).map(|plain| plain.status));
        let finished = stack.work().finish(&hold, finish);
        if finished.is_ok() && status != Some(FrameStatus::InProgress) && acted == world.steps() {
            let what = format!("{} was {status:?} when it was finished", hold.handle);
            world.fail(Violation::new("what was stopped is not finished", what));
        }
        marked.iter().for_each(|marked| marked.end(&self.process, &finished));
        if let Ok(finished) = &finished
            && finished.status == FrameStatus::Completed
        {
            self.check_finished(&hold);
        }
        let finished = answered(&mut self.process, &format!("finish {}", hold.handle), finished, &LOST);
        Ok(match finished {
            Ok(_) => true,
            Err(error) => LOST.contains(&error.code()),
        })
    }

    /// Only the result of the newest holder counts, and what a worker completes has no planned part left.
    fn check_finished(&self, hold: &Hold) {
        let world = self.process.world();
        if let Some(part) = world.with_oracle(|oracle| oracle.part_left(hold.handle)) {
            let what = format!("{} is completed, but {part} below it is not done", hold.handle);
            world.fail(Violation::new("a frame comes after its parts", what));
        }
        let newest = world.with_oracle(|oracle| {
            oracle.frame(hold.handle).and_then(|plain| plain.holder.as_ref()).map(|holder| holder.generation)
        });
        if newest.is_some_and(|newest| newest > hold.generation) && world.losses() == 0 {
            let what =
                format!("{} was finished in generation {}, but {newest:?} holds it", hold.handle, hold.generation);
            world.fail(Violation::new("only the newest holder counts", what));
        }
    }
}

impl Actor for Worker {
    fn act(&mut self, random: &mut Random) {
        let is_free = match self.task {
            None => self.hold(random).map(|()| false),
            Some(_) => self.work(random),
        };
        // A process that was started again has no task.
        if is_free == Ok(true) || !self.process.is_open() {
            self.task = None;
        }
    }

    fn process(&self) -> &Process {
        &self.process
    }

    fn die(&mut self) {
        self.process.close();
        self.task = None;
    }
}
