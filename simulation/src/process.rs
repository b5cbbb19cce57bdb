//! A process of a machine, which has the stack open, and what happens to its calls.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use callstack_core::frame::Release;
use callstack_core::{Change, Error, Event, Stack};

use crate::actors::judge;
use crate::medium::{Call, Fate, Outcome};
use crate::oracle::{Oracle, Violation};
use crate::schedule::Blow;
use crate::world::World;

/// A process of a machine, which has the stack open.
pub struct Process {
    world: Weak<World>,
    number: usize,
    name: String,
    machine: usize,
    open: Option<(Stack, Arc<ProcessFate>)>,
}

impl Process {
    /// A process that has not opened the stack yet.
    pub(crate) fn new(world: Weak<World>, number: usize, name: String, machine: usize) -> Self {
        Self { world, number, name, machine, open: None }
    }

    /// The world in which it runs.
    pub(crate) fn world(&self) -> Arc<World> {
        self.world.upgrade().expect("a process ends before its world")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The stack, which is opened if it is not open.
    ///
    /// # Errors
    /// Those of [`Stack::with_store`].
    pub(crate) fn stack(&mut self) -> Result<Stack, Error> {
        if let Some((stack, _)) = &self.open {
            return Ok(stack.clone());
        }
        let world = self.world();
        let fate = Arc::new(ProcessFate {
            world: self.world.clone(),
            number: self.number,
            is_dead: AtomicBool::new(false),
            is_struck: AtomicBool::new(false),
            is_replaced: AtomicBool::new(false),
            session: AtomicU64::new(0),
            own_events: AtomicUsize::new(0),
        });
        let store = world.medium().store(fate.clone());
        fate.session.store(store.number(), Ordering::Relaxed);
        world.starts(self.number, fate.clone());
        let opened = Stack::with_store(store, world.options(self.machine));
        self.open = opened.as_ref().ok().map(|stack| (stack.clone(), fate.clone()));
        if let Err(error) = &opened
            && !fate.is_dead.load(Ordering::Relaxed)
        {
            judge(self, "open", error.code(), error, &[]);
        }
        opened
    }

    /// Looks at what others have done. Afterwards its tree shows everything that was committed.
    ///
    /// # Errors
    /// Those of [`Stack::refresh`].
    pub(crate) fn refresh(&self, stack: &Stack) -> Result<(), Error> {
        let world = self.world();
        let moment = world.moment();
        if let Err(error) = stack.refresh() {
            judge(self, "refresh", error.code(), &error, &[]);
            return Err(error);
        }
        if moment == world.moment() {
            let committed = world.with_oracle(Oracle::revision);
            let known = stack.read(|tree| tree.revision())?;
            if known < committed {
                let what = format!("{} is at event {known} after a refresh, of {committed}", self.name);
                world.fail(Violation::new("a refresh shows what was committed", what));
            }
        }
        Ok(())
    }

    /// Number of events that it has committed since it has opened the stack, without the interruptions of others.
    pub(crate) fn own_events(&self) -> usize {
        self.open.as_ref().map_or(0, |(_, fate)| fate.own_events.load(Ordering::Relaxed))
    }

    /// True if something has struck its present step.
    pub(crate) fn is_struck(&self) -> bool {
        self.world().has_struck(self.number)
    }

    /// True if it has the stack open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the stack without a word, as a process does that ends.
    pub(crate) fn close(&mut self) {
        if let Some((_, fate)) = self.open.take() {
            fate.die();
        }
    }

    /// It was told that events that it knows are lost.
    pub(crate) fn note_replaced(&self) {
        self.open.iter().for_each(|(_, fate)| fate.is_replaced.store(true, Ordering::Relaxed));
    }

    /// True if it was told so.
    pub(crate) fn is_replaced(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, fate)| fate.is_replaced.load(Ordering::Relaxed))
    }

    /// True if it has died, and its actor does not know that yet.
    pub(crate) fn has_died(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, fate)| fate.is_dead.load(Ordering::Relaxed))
    }

    /// Its actor gives a command.
    pub(crate) fn begin_command(&self, command: &'static str) {
        self.world().begin_command(command);
    }

    /// Tells what its actor does.
    pub(crate) fn tell(&self, what: impl Fn() -> String) {
        self.world().tell(self.number, &what);
    }
}

/// The fate of one process: it decides what each call of its store comes to.
pub(crate) struct ProcessFate {
    world: Weak<World>,
    /// The number of its actor.
    number: usize,
    is_dead: AtomicBool,
    /// True if something has struck the present step, so that its commands may fail.
    is_struck: AtomicBool,
    /// True if events that the process knows are lost.
    is_replaced: AtomicBool,
    session: AtomicU64,
    /// Number of events that it has committed, without the interruptions of others.
    own_events: AtomicUsize,
}

impl ProcessFate {
    /// The process dies, and with it what it has locked.
    pub(crate) fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        if let Some(world) = self.world.upgrade() {
            world.medium().release(self.session.load(Ordering::Relaxed));
        }
    }

    /// Nothing has struck the next step yet.
    pub(crate) fn begin_step(&self) {
        self.is_struck.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_struck(&self) -> bool {
        self.is_struck.load(Ordering::Relaxed)
    }

    fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    /// Lets something happen at a call.
    fn happen(&self, world: &Arc<World>, call: Call, blow: &Blow) -> Outcome {
        let lost = |message, is_unknown| Error::disconnected("the simulated server", message, is_unknown);
        match blow {
            Blow::Crash => {
                self.die();
                dead()
            }
            Blow::CrashAfter => {
                // The lock of a folder falls with the process, after the call.
                self.is_dead.store(true, Ordering::Relaxed);
                Outcome::DoneAndFails(died())
            }
            Blow::Busy => Outcome::Fails(Error::Busy { path: "the stack".into(), waited: 10_000 }),
            Blow::Full => Outcome::Fails(Error::disk_full("the stack")),
            Blow::Lost => Outcome::Fails(lost("the connection is lost", call == Call::Commit)),
            Blow::AnswerLost => Outcome::DoneAndFails(lost("the answer is lost", true)),
            Blow::Freeze(span) => {
                world.time().pass(*span);
                Outcome::Done
            }
            Blow::Clock(by) => {
                world.clock_of(self.number).jump(*by, world.time());
                Outcome::Done
            }
            Blow::ClockStops => {
                world.clock_of(self.number).stop(world.time());
                Outcome::Done
            }
            Blow::Power => {
                world.lose_power();
                if self.is_dead() { dead() } else { Outcome::Done }
            }
            // The world carries out the step of another actor.
            Blow::Meanwhile(_) => Outcome::Done,
        }
    }
}

fn died() -> Error {
    Error::io("reach", "the stack", "the process has died")
}

/// The outcome of each call of a process that has died.
fn dead() -> Outcome {
    Outcome::Fails(died())
}

impl Fate for ProcessFate {
    fn strike(&self, call: Call) -> Outcome {
        let Some(world) = self.world.upgrade().filter(|_| !self.is_dead()) else { return dead() };
        if world.is_quiet() {
            return Outcome::Done;
        }
        world.count(call);
        let setting = world.setting();
        world.time().pass_finely(setting.network.time_of(call, setting.kind, setting.is_durable));
        let Some((number, blow)) = world.next_blow(self.number, call) else { return Outcome::Done };
        if let Blow::Meanwhile(step) = &blow {
            let step = world.step(step);
            world.struck(number, Blow::Meanwhile(Box::new(step)));
            return if self.is_dead() { dead() } else { Outcome::Done };
        }
        world.tell(self.number, &|| format!("[{blow} at {call:?}]"));
        let outcome = self.happen(&world, call, &blow);
        if !matches!(outcome, Outcome::Done) {
            self.is_struck.store(true, Ordering::Relaxed);
        }
        world.struck(number, blow);
        outcome
    }

    fn keeps(&self) -> bool {
        let is_forgetful = |world: &Arc<World>| world.setting().is_forgetful && world.commands().is_multiple_of(7);
        !self.world.upgrade().as_ref().is_some_and(is_forgetful)
    }

    fn breaks(&self) {
        self.is_struck.store(true, Ordering::Relaxed);
    }

    fn wait(&self, span: Duration) {
        self.is_struck.store(true, Ordering::Relaxed);
        self.world.upgrade().into_iter().for_each(|world| world.time().pass(span.as_millis() as u64));
    }

    fn committed(&self, events: &[Arc<Event>]) {
        let Some(world) = self.world.upgrade() else { return };
        world.committed(events);
        // A process notes the interruptions of others beside its own commands.
        let is_own =
            |event: &&Arc<Event>| !matches!(event.change, Change::Released { release: Release::Interrupted {} });
        self.own_events.fetch_add(events.iter().filter(is_own).count(), Ordering::Relaxed);
        if world.setting().is_durable {
            world.medium().sync();
        }
    }
}
