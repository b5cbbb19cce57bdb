//! A world: one stack, the machines and processes that use it, and the actors in them. Everything happens in one
//! thread, in the order of a [schedule](crate::schedule).

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use callstack_core::{Context, Error, Event, Handle, LogQuery, Settings, Stack, StackOptions};
use parking_lot::Mutex;
use support::Random;

use crate::actors::{Actor, Kind as ActorKind, judge};
use crate::clock::{MachineClock, Time, spans, time_of_day};
use crate::medium::{Call, Fate, Kind, Medium, Outcome};
use crate::oracle::{Oracle, Violation};
use crate::plans::Plans;
use crate::schedule::{Blow, Step, Strike};
use crate::story::Story;

/// How many steps of others may be inside of each other.
const DEEPEST: usize = 3;

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The medium of the stack.
    pub kind: Kind,
    /// True: each commit is synced, so that a power loss takes nothing.
    pub is_durable: bool,
    /// The actors, each with the number of its machine.
    pub actors: Vec<(ActorKind, usize)>,
    /// By how much the clock of each machine is wrong, in milliseconds. `None`: it stands still.
    pub clocks: Vec<Option<i64>>,
    /// True: the medium forgets some of the commits that it has acknowledged.
    pub is_forgetful: bool,
    /// The seed of the plan with which it begins.
    pub plan: u64,
    /// The most frames of that plan.
    pub size: usize,
}

impl Setting {
    /// Draws a setting.
    pub fn draw(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        random.next();
        let machines = 1 + random.below(4);
        let is_wrong = random.once_in(3);
        let clock = |random: &mut Random| match random.below(if is_wrong { 5 } else { 1 }) {
            0 | 1 => Some(0),
            2 => Some(random.below(120_000) as i64 - 60_000),
            3 => Some(random.below(86_400_000) as i64 - 43_200_000),
            _ => None,
        };
        let workers = 1 + random.below(5);
        let mut actors = vec![ActorKind::Worker; workers];
        let others =
            [ActorKind::Person, ActorKind::Conversation, ActorKind::Importer, ActorKind::Keeper, ActorKind::Host];
        for kind in others {
            let count = random.below(3);
            actors.extend(std::iter::repeat_n(kind, count));
        }
        Self {
            kind: if random.once_in(2) { Kind::Folder } else { Kind::Server },
            is_durable: random.once_in(2),
            actors: actors.into_iter().map(|kind| (kind, random.below(machines))).collect(),
            is_forgetful: false,
            clocks: (0..machines).map(|_| clock(random)).collect(),
            plan: random.next(),
            size: [4, 12, 40, 120][random.below(4)],
        }
    }
}

/// A world.
pub struct World {
    setting: Setting,
    medium: Arc<Medium>,
    time: Arc<Time>,
    machines: Vec<Arc<MachineClock>>,
    actors: Vec<Mutex<Option<Box<dyn Actor>>>>,
    /// What happens to the processes that have the stack open, by their actors.
    fates: Mutex<BTreeMap<usize, Arc<ProcessFate>>>,
    /// The steps that are under way, the innermost last.
    running: Mutex<Vec<Running>>,
    oracle: Mutex<Oracle>,
    /// All events that were committed and not lost, also those that a compaction has removed.
    events: Mutex<Vec<Arc<Event>>>,
    story: Mutex<Story>,
    failure: Mutex<Option<Violation>>,
    /// The lines of logs that were acknowledged and not lost, with their frames.
    logged: Mutex<Vec<(Handle, String)>>,
    /// False: nothing goes wrong any more.
    is_stormy: AtomicBool,
    /// How often events were lost with the power.
    losses: AtomicUsize,
    /// Number of steps of actors.
    steps: AtomicU64,
    /// Number of commands that a stack has begun to decide.
    commands: AtomicU64,
    marks: AtomicU64,
}

/// A step that is under way.
struct Running {
    actor: usize,
    calls: usize,
    strikes: Vec<Strike>,
}

impl World {
    /// A world before its first step. `story`: what happens is told there.
    pub fn new(setting: &Setting, plans: &Plans, story: Story) -> Arc<Self> {
        let machines: Vec<Arc<MachineClock>> = setting.clocks.iter().map(|_| Arc::default()).collect();
        let time = Arc::new(Time::default());
        for (machine, wrong) in machines.iter().zip(&setting.clocks) {
            match wrong {
                Some(ahead) => machine.jump(*ahead),
                None => machine.stop(&time),
            }
        }
        let world = Arc::new_cyclic(|weak: &Weak<Self>| {
            let process = |(number, (kind, machine)): (usize, &(ActorKind, usize))| {
                let process = Process {
                    world: weak.clone(),
                    number,
                    name: format!("{}-{number}", kind.name()),
                    machine: *machine,
                    open: None,
                };
                Mutex::new(Some(kind.actor(process)))
            };
            Self {
                setting: setting.clone(),
                medium: Medium::new(setting.kind),
                time,
                machines,
                actors: setting.actors.iter().enumerate().map(process).collect(),
                fates: Mutex::default(),
                running: Mutex::default(),
                oracle: Mutex::default(),
                events: Mutex::default(),
                story: Mutex::new(story),
                failure: Mutex::default(),
                logged: Mutex::default(),
                is_stormy: AtomicBool::new(true),
                losses: AtomicUsize::new(0),
                steps: AtomicU64::new(0),
                commands: AtomicU64::new(0),
                marks: AtomicU64::new(0),
            }
        });
        world.found(plans);
        world
    }

    /// Makes the plan with which the world begins.
    fn found(self: &Arc<Self>, plans: &Plans) {
        plans.make(&self.alone(), &mut Random::new(self.setting.plan), self.setting.size);
        self.medium.sync();
    }

    pub(crate) fn options(&self, machine: usize) -> StackOptions {
        let random = self.marks.fetch_add(1, Ordering::Relaxed);
        let drawn = Mutex::new(Random::new(random));
        StackOptions::default()
            .clock(time_of_day(&self.time, &self.machines[machine]))
            .monotonic_clock(Some(spans(&self.time)))
            .random(Arc::new(move || drawn.lock().next()))
            .finished_frames(16)
    }

    /// Carries a step out. Nothing happens if its actor is in the midst of another step.
    pub fn step(self: &Arc<Self>, step: &Step) {
        self.time.pass(step.after);
        let number = step.actor % self.actors.len();
        let depth = self.running.lock().len();
        let Some(mut actor) = (depth <= DEEPEST).then(|| self.actors[number].lock().take()).flatten() else { return };
        let strikes = if self.is_stormy.load(Ordering::Relaxed) { step.strikes.clone() } else { Vec::new() };
        // The power may have failed since.
        if actor.process().has_died() {
            actor.die();
        }
        if let Some(fate) = self.fates.lock().get(&number) {
            fate.is_struck.store(false, Ordering::Relaxed);
        }
        self.running.lock().push(Running { actor: number, calls: 0, strikes });
        self.steps.fetch_add(1, Ordering::Relaxed);
        actor.act(&mut Random::new(step.choice));
        self.running.lock().pop();
        if actor.process().has_died() {
            self.tell(number, &|| "the process has died".to_owned());
            actor.die();
        }
        *self.actors[number].lock() = Some(actor);
    }

    /// Tells what an actor has done.
    pub(crate) fn tell(&self, actor: usize, what: &dyn Fn() -> String) {
        let depth = self.running.lock().len().saturating_sub(1);
        let kind = self.setting.actors.get(actor).map_or("the world", |(kind, _)| kind.name());
        self.story.lock().tell(self.time.passed(), depth, &format!("{kind} {actor}"), what);
    }

    /// Notes that a rule was broken. The first one counts.
    pub(crate) fn fail(&self, violation: Violation) {
        self.story.lock().tell(self.time.passed(), 0, "BROKEN", &|| format!("{}: {}", violation.rule, violation.what));
        self.failure.lock().get_or_insert(violation);
    }

    /// The first rule that was broken.
    pub fn failure(&self) -> Option<Violation> {
        self.failure.lock().clone()
    }

    /// A text that no other command uses.
    pub(crate) fn mark(&self) -> String {
        format!("mark {}.", self.marks.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn with_oracle<T>(&self, look: impl FnOnce(&Oracle) -> T) -> T {
        look(&self.oracle.lock())
    }

    /// Notes that a line of a log was acknowledged.
    pub(crate) fn logged(&self, frame: Handle, mark: String) {
        self.logged.lock().push((frame, mark));
    }

    /// A line that was acknowledged, and that the log of its frame does not have once.
    pub(crate) fn wrong_line(&self, stack: &Stack) -> Option<String> {
        self.logged.lock().iter().find_map(|(frame, mark)| {
            let lines = stack.log(*frame).read(&LogQuery::default()).map(|page| page.lines).unwrap_or_default();
            let count = lines.iter().filter(|line| line.entry["mark"] == mark.as_str()).count();
            (count != 1).then(|| format!("the log of {frame} has `{mark}` {count} times"))
        })
    }

    /// Checks that a stack shows what its events say.
    pub(crate) fn check_tree(&self, stack: &Stack) {
        let different = self.with_oracle(|oracle| oracle.difference(stack));
        different.into_iter().for_each(|what| self.fail(Violation::new("a tree is what its events say", what)));
    }

    /// Checks that a context keeps to its budget. `of`: the frame or the session.
    pub(crate) fn check_budget(&self, of: &dyn Display, context: &Context, settings: &Settings) {
        if context.tokens > settings.budget.total {
            let what = format!("the context of {of} has {} tokens", context.tokens);
            self.fail(Violation::new("a context keeps to its budget", what));
        }
    }

    /// How often events were lost with the power.
    pub(crate) fn losses(&self) -> usize {
        self.losses.load(Ordering::Relaxed)
    }

    /// Number of events that a power loss would take.
    pub(crate) fn unsynced(&self) -> u64 {
        self.medium.unsynced()
    }

    /// Number of commands that stacks have begun to decide.
    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// Number of steps that actors have made.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// A hash of everything that was committed.
    pub fn hash(&self) -> u64 {
        self.story.lock().hash()
    }

    /// What has happened, in words.
    pub fn story(&self) -> String {
        self.story.lock().text()
    }

    pub(crate) fn time(&self) -> &Arc<Time> {
        &self.time
    }

    pub(crate) fn actor_count(&self) -> usize {
        self.actors.len()
    }

    /// From now on nothing goes wrong, and all clocks are right.
    pub(crate) fn calm_down(&self) {
        self.is_stormy.store(false, Ordering::Relaxed);
        self.machines.iter().for_each(|machine| machine.set_right());
    }

    /// Opens the stack for the world itself, which nothing strikes.
    pub(crate) fn alone(self: &Arc<Self>) -> Stack {
        let calm = Arc::new(Watching(Arc::downgrade(self)));
        Stack::with_store(self.medium.store(calm), self.options(0)).expect("the stack opens")
    }

    /// A command begins with a transaction.
    fn count(&self, call: Call) {
        self.commands.fetch_add(u64::from(call == Call::Begin), Ordering::Relaxed);
    }

    fn committed(&self, events: &[Arc<Event>]) {
        let mut oracle = self.oracle.lock();
        oracle.follow(events);
        let broken = oracle.take_violations();
        drop(oracle);
        self.events.lock().extend(events.iter().cloned());
        let mut story = self.story.lock();
        events.iter().for_each(|event| story.mix(&**event));
        drop(story);
        broken.into_iter().for_each(|violation| self.fail(violation));
    }

    /// The power fails: what was not synced is lost. All processes of a folder die with it.
    fn lose_power(&self) {
        let lost = self.medium.lose_power();
        if self.setting.is_durable && lost > 0 {
            let what = format!("{lost} events that were synced are lost");
            self.fail(Violation::new("what was synced is kept", what));
        }
        let left = self.medium.newest();
        let mut events = self.events.lock();
        events.retain(|event| event.revision <= left);
        *self.oracle.lock() = Oracle::of(&events);
        drop(events);
        self.losses.fetch_add(1, Ordering::Relaxed);
        // It is not known which of the lines were synced.
        self.logged.lock().clear();
        self.story
            .lock()
            .tell(self.time.passed(), 0, "the world", &|| format!("the power fails, {lost} events are lost"));
    }
}

/// Tells the world of commits, and lets nothing go wrong.
struct Watching(Weak<World>);

impl Fate for Watching {
    fn strike(&self, call: Call) -> Outcome {
        self.0.upgrade().into_iter().for_each(|world| world.count(call));
        Outcome::Done
    }

    fn wait(&self, _: Duration) {}

    fn committed(&self, events: &[Arc<Event>]) {
        self.0.upgrade().into_iter().for_each(|world| world.committed(events));
    }
}

/// A process of a machine, which has the stack open.
pub struct Process {
    world: Weak<World>,
    number: usize,
    name: String,
    machine: usize,
    open: Option<(Stack, Arc<ProcessFate>)>,
}

impl Process {
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
            session: AtomicU64::new(0),
        });
        let store = world.medium.store(fate.clone());
        fate.session.store(store.number(), Ordering::Relaxed);
        world.fates.lock().insert(self.number, fate.clone());
        let opened = Stack::with_store(store, world.options(self.machine));
        self.open = opened.as_ref().ok().map(|stack| (stack.clone(), fate.clone()));
        if let Err(error) = &opened
            && !fate.is_dead.load(Ordering::Relaxed)
        {
            judge(self, "open", error, &[]);
        }
        opened
    }

    /// Looks at what others have done. Afterwards its tree shows everything that was committed.
    ///
    /// # Errors
    /// Those of [`Stack::refresh`].
    pub(crate) fn refresh(&self, stack: &Stack) -> Result<(), Error> {
        let world = self.world();
        let acted = world.steps();
        if let Err(error) = stack.refresh() {
            judge(self, "refresh", &error, &[]);
            return Err(error);
        }
        if acted == world.steps() {
            let committed = world.with_oracle(Oracle::revision);
            let known = stack.read(|tree| tree.revision())?;
            if known < committed {
                let what = format!("{} is at event {known} after a refresh, of {committed}", self.name);
                world.fail(Violation::new("a refresh shows what was committed", what));
            }
        }
        Ok(())
    }

    /// True if something has struck its present step.
    pub(crate) fn is_struck(&self) -> bool {
        let fates = self.world();
        let fate = fates.fates.lock().get(&self.number).cloned();
        fate.is_some_and(|fate| fate.is_struck.load(Ordering::Relaxed))
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

    /// True if it has died, and its actor does not know that yet.
    pub(crate) fn has_died(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, fate)| fate.is_dead.load(Ordering::Relaxed))
    }

    /// Tells what its actor does.
    pub(crate) fn tell(&self, what: impl Fn() -> String) {
        self.world().tell(self.number, &what);
    }
}

/// What happens to the calls of one process.
struct ProcessFate {
    world: Weak<World>,
    number: usize,
    is_dead: AtomicBool,
    /// True if something has struck the present step, so that its commands may fail.
    is_struck: AtomicBool,
    session: AtomicU64,
}

impl ProcessFate {
    fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        if let Some(world) = self.world.upgrade() {
            world.medium.release(self.session.load(Ordering::Relaxed));
        }
    }

    /// What strikes at this moment, if this process is the one that acts.
    fn blow(&self, world: &World) -> Option<Blow> {
        let mut running = world.running.lock();
        let step = running.last_mut().filter(|step| step.actor == self.number)?;
        let call = step.calls;
        step.calls += 1;
        let place = step.strikes.iter().position(|strike| strike.call == call)?;
        Some(step.strikes.remove(place).blow)
    }
}

impl Fate for ProcessFate {
    fn strike(&self, call: Call) -> Outcome {
        let dead = || Outcome::Fails(Error::io("reach", "the stack", "the process has died"));
        let Some(world) = self.world.upgrade() else { return dead() };
        if self.is_dead.load(Ordering::Relaxed) {
            return dead();
        }
        world.count(call);
        let Some(blow) = self.blow(&world) else { return Outcome::Done };
        if !matches!(blow, Blow::Meanwhile(_)) {
            world.tell(self.number, &|| format!("[{blow} at {call:?}]"));
        }
        self.is_struck.store(true, Ordering::Relaxed);
        let is_server = world.setting.kind == Kind::Server;
        let name = "the simulated server";
        match blow {
            Blow::Crash => {
                self.die();
                dead()
            }
            Blow::CrashAfter => {
                // The lock of a folder falls with the process, after the call.
                self.is_dead.store(true, Ordering::Relaxed);
                Outcome::DoneAndFails(Error::io("reach", "the stack", "the process has died"))
            }
            Blow::Busy if call == Call::Begin => {
                Outcome::Fails(Error::Busy { path: "the stack".into(), waited: 10_000 })
            }
            Blow::Full if matches!(call, Call::Append | Call::Snapshot | Call::Commit) => {
                Outcome::Fails(Error::disk_full("the stack"))
            }
            Blow::Lost if is_server => {
                Outcome::Fails(Error::disconnected(name, "the connection is lost", call == Call::Commit))
            }
            Blow::AnswerLost if is_server && call == Call::Commit => {
                Outcome::DoneAndFails(Error::disconnected(name, "the answer is lost", true))
            }
            Blow::Freeze(span) => {
                world.time.pass(span);
                Outcome::Done
            }
            Blow::Clock(by) => {
                world.machines[world.setting.actors[self.number].1].jump(by);
                Outcome::Done
            }
            Blow::Power => {
                world.lose_power();
                // With the folder's machine all its processes die. A server's processes go on.
                if is_server {
                    return Outcome::Done;
                }
                world.fates.lock().values().for_each(|fate| fate.die());
                dead()
            }
            Blow::Meanwhile(step) => {
                world.step(&step);
                if self.is_dead.load(Ordering::Relaxed) { dead() } else { Outcome::Done }
            }
            _ => Outcome::Done,
        }
    }

    fn keeps(&self) -> bool {
        let is_forgetful = |world: &Arc<World>| world.setting.is_forgetful && world.commands().is_multiple_of(7);
        !self.world.upgrade().as_ref().is_some_and(is_forgetful)
    }

    fn wait(&self, span: Duration) {
        self.is_struck.store(true, Ordering::Relaxed);
        self.world.upgrade().into_iter().for_each(|world| world.time.pass(span.as_millis() as u64));
    }

    fn committed(&self, events: &[Arc<Event>]) {
        let Some(world) = self.world.upgrade() else { return };
        world.committed(events);
        if world.setting.is_durable {
            world.medium.sync();
        }
    }
}
