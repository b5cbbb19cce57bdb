//! A world: one stack, the machines and processes that use it, and the actors in them. Everything happens in one
//! thread, in the order of a [schedule](crate::schedule).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use callstack_core::tree::Parts;
use callstack_core::{Context, Event, Handle, Hold, LogQuery, Settings, Stack, StackOptions};
use parking_lot::Mutex;
use support::Random;

use crate::actors::{Actor, Kind as ActorKind};
use crate::adversary::{Adversary, DEEPEST};
use crate::clock::{MachineClock, Time, spans, time_of_day};
use crate::medium::{Call, Fate, Kind, Medium, Outcome};
use crate::oracle::{Oracle, Violation};
use crate::plans::Plans;
use crate::process::{Process, ProcessFate};
use crate::schedule::{Blow, Step, Strike};
use crate::setting::Setting;
use crate::story::Story;

/// An actor with its process. `None`: it is in the midst of a step.
type Place = Mutex<Option<(Process, Box<dyn Actor>)>>;

/// A world.
pub struct World {
    setting: Setting,
    medium: Arc<Medium>,
    time: Arc<Time>,
    machines: Vec<Arc<MachineClock>>,
    actors: Vec<Place>,
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
    adversary: Option<Mutex<Adversary>>,
    /// The pairs of commands that have met: the second one began between two calls of the first one.
    pairs: Mutex<BTreeSet<(&'static str, &'static str)>>,
    /// More than 0: the world looks at a stack, and nothing strikes its calls.
    quiet: AtomicUsize,
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

/// A moment: as long as it is the present one, no other actor has acted, and no events were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    steps: u64,
    /// How often events were lost before it.
    pub(crate) losses: usize,
}

/// A step that is under way.
struct Running {
    actor: usize,
    step: Step,
    /// The command that its actor gives.
    command: &'static str,
    calls: usize,
    /// What is to strike its calls.
    strikes: Vec<Strike>,
    /// What has struck them.
    struck: Vec<Strike>,
}

impl World {
    /// A world before its first step. `story`: what happens is told there.
    pub fn new(setting: &Setting, plans: &Plans, story: Story) -> Arc<Self> {
        let machines: Vec<Arc<MachineClock>> = setting.clocks.iter().map(|_| Arc::default()).collect();
        let time = Arc::new(Time::default());
        for (machine, wrong) in machines.iter().zip(&setting.clocks) {
            match wrong {
                Some(ahead) => machine.jump(*ahead, &time),
                None => machine.stop(&time),
            }
        }
        let world = Arc::new_cyclic(|weak: &Weak<Self>| {
            let process = |(number, (kind, machine)): (usize, &(ActorKind, usize))| {
                let process = Process::new(weak.clone(), number, format!("{}-{number}", kind.name()), *machine);
                let actor = kind.actor(process.name());
                Mutex::new(Some((process, actor)))
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
                adversary: setting.is_adversarial.then(|| Mutex::new(Adversary::new(setting.plan))),
                pairs: Mutex::default(),
                quiet: AtomicUsize::new(0),
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
        let stack = self.alone();
        plans.make(&stack, &mut Random::new(self.setting.plan), self.setting.size);
        stack.upkeep().repair().expect("a new stack is sound");
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

    /// Carries a step out, and returns it with what has struck it. Nothing happens if its actor is in the midst of
    /// another step.
    pub fn step(self: &Arc<Self>, step: &Step) -> Step {
        self.time.pass(step.after);
        let number = step.actor % self.actors.len();
        let depth = self.running.lock().len();
        let taken = (depth <= DEEPEST).then(|| self.actors[number].lock().take()).flatten();
        let Some((mut process, mut actor)) = taken else { return step.clone() };
        if let Some(adversary) = self.adversary.as_ref().filter(|_| depth == 0) {
            adversary.lock().begin_step();
        }
        let strikes = if self.is_stormy() { step.strikes.clone() } else { Vec::new() };
        // The power may have failed since.
        if process.has_died() {
            process.close();
            actor.die();
        }
        if let Some(fate) = self.fates.lock().get(&number) {
            fate.begin_step();
        }
        let running =
            Running { actor: number, step: step.clone(), command: "open", calls: 0, strikes, struck: Vec::new() };
        self.running.lock().push(running);
        self.steps.fetch_add(1, Ordering::Relaxed);
        actor.act(&mut process, &mut Random::new(step.choice));
        let struck = self.running.lock().pop().map(|ended| ended.struck).unwrap_or_default();
        if process.has_died() {
            self.tell(number, &|| "the process has died".to_owned());
            process.close();
            actor.die();
        } else if process.is_replaced() {
            // As the error advises, it opens the stack again.
            process.close();
            actor.reopen();
        }
        *self.actors[number].lock() = Some((process, actor));
        Step { strikes: struck, ..step.clone() }
    }

    /// All frames are done: each actor does what it still has to do.
    pub(crate) fn end_actors(&self) {
        for place in &self.actors {
            if let Some((process, actor)) = &mut *place.lock() {
                actor.end(process, &mut Random::new(self.commands()));
            }
        }
    }

    /// The step that a panic has cut off, with what has struck it.
    pub(crate) fn cut_off(&self) -> Option<Step> {
        let running = std::mem::take(&mut *self.running.lock());
        running.into_iter().rev().fold(None, |inner, mut outer| {
            let call = outer.calls.saturating_sub(1);
            let inner = inner.map(|inner| Strike { call, blow: Blow::Meanwhile(Box::new(inner)) });
            outer.struck.extend(inner);
            Some(Step { strikes: outer.struck, ..outer.step })
        })
    }

    /// The actor that acts gives a command.
    pub(crate) fn begin_command(&self, command: &'static str) {
        let mut running = self.running.lock();
        if let Some(step) = running.last_mut() {
            step.command = command;
        }
        if let [.., outer, _] = &running[..] {
            self.pairs.lock().insert((outer.command, command));
        }
    }

    /// What strikes the next call of an actor, with the number of the call, if the actor is the one that acts.
    pub(crate) fn next_blow(&self, actor: usize, call: Call) -> Option<(usize, Blow)> {
        let mut running = self.running.lock();
        let depth = running.len();
        let step = running.last_mut().filter(|step| step.actor == actor)?;
        let number = step.calls;
        step.calls += 1;
        // What cannot happen at this call waits for one at which it can.
        let kind = self.setting.kind;
        let strikes = |strike: &Strike| strike.call <= number && strike.blow.can_strike(call, kind);
        if let Some(place) = step.strikes.iter().position(strikes) {
            return Some((number, step.strikes.remove(place).blow));
        }
        let command = step.command;
        drop(running);
        let mut adversary = self.adversary.as_ref().filter(|_| self.is_stormy())?.lock();
        let deepest = adversary.deepest();
        let others = || {
            let is_free = |number: &usize| depth <= deepest && self.actors[*number].lock().is_some();
            let all = self.setting.actors.iter().enumerate().filter(|(number, _)| is_free(number));
            all.map(|(number, (kind, _))| (number, *kind)).collect()
        };
        adversary.choose((command, call), kind, others).map(|blow| (number, blow))
    }

    /// Notes what has struck a call of the step that is under way.
    pub(crate) fn struck(&self, call: usize, blow: Blow) {
        if let Some(step) = self.running.lock().last_mut() {
            step.struck.push(Strike { call, blow });
        }
    }

    /// True as long as something can go wrong.
    pub(crate) fn is_stormy(&self) -> bool {
        self.is_stormy.load(Ordering::Relaxed)
    }

    /// True while the world itself looks at a stack.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed) > 0
    }

    /// The pairs of commands that have met: the second one began between two calls of the first one.
    pub fn pairs(&self) -> BTreeSet<(&'static str, &'static str)> {
        self.pairs.lock().clone()
    }

    pub(crate) fn setting(&self) -> &Setting {
        &self.setting
    }

    pub(crate) fn medium(&self) -> &Arc<Medium> {
        &self.medium
    }

    /// What happens to the calls of a process that was started.
    pub(crate) fn starts(&self, actor: usize, fate: Arc<ProcessFate>) {
        self.fates.lock().insert(actor, fate);
    }

    /// True if something has struck the present step of an actor.
    pub(crate) fn has_struck(&self, actor: usize) -> bool {
        self.fates.lock().get(&actor).is_some_and(|fate| fate.is_struck())
    }

    /// The clock of the machine of an actor.
    pub(crate) fn clock_of(&self, actor: usize) -> &MachineClock {
        &self.machines[self.setting.actors[actor].1]
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

    /// Asks the model. Nothing strikes meanwhile.
    pub(crate) fn with_oracle<T>(&self, look: impl FnOnce(&Oracle) -> T) -> T {
        self.quiet.fetch_add(1, Ordering::Relaxed);
        let found = look(&self.oracle.lock());
        self.quiet.fetch_sub(1, Ordering::Relaxed);
        found
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

    /// A worker got no frame, or always this one: no other is free, as the events say.
    pub(crate) fn check_nothing_is_free(&self, stack: &Stack, other: Option<Handle>) {
        let known = stack.read(|tree| tree.revision()).unwrap_or_default();
        let find = |oracle: &Oracle| (oracle.revision() == known).then(|| oracle.free_frame(other)).flatten();
        self.with_oracle(find).into_iter().for_each(|frame| {
            let why = stack.read(|tree| tree.can_begin(frame, Parts::First));
            let got = other.map_or("nothing".to_owned(), |other| format!("always {other}"));
            let what = format!("a worker got {got}, but {frame} can begin: {why:?}");
            self.fail(Violation::new("what can begin is handed out", what));
        });
    }

    /// A command was acknowledged. `before`: the moment before it; if another actor has acted since, what the
    /// command has done may be changed again. `missing`: what of it is not in effect.
    pub(crate) fn check_effect(&self, before: Moment, missing: impl FnOnce(&Oracle) -> Option<String>) {
        if before == self.moment() {
            let fail = |what| self.fail(Violation::new("what is acknowledged is in effect", what));
            self.with_oracle(missing).into_iter().for_each(fail);
        }
    }

    /// A worker was told that it has lost its frame. `losses`: how often events were lost before it got the frame.
    pub(crate) fn check_lost(&self, hold: &Hold, losses: usize) {
        let has_it = self.losses() == losses && self.with_oracle(|oracle| oracle.has_it(hold));
        if has_it {
            let what = format!("{} has it in generation {}", hold.handle, hold.generation);
            self.fail(Violation::new("only who has lost a frame is refused", what));
        }
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

    /// The present moment.
    pub(crate) fn moment(&self) -> Moment {
        Moment { steps: self.steps.load(Ordering::Relaxed), losses: self.losses() }
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
    pub(crate) fn count(&self, call: Call) {
        self.commands.fetch_add(u64::from(call == Call::Begin), Ordering::Relaxed);
    }

    pub(crate) fn committed(&self, events: &[Arc<Event>]) {
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

    /// The power fails: what was not synced is lost. All processes of a folder die with it, and the connections of a
    /// server break.
    pub(crate) fn lose_power(&self) {
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
        self.losses.fetch_add(usize::from(lost > 0), Ordering::Relaxed);
        if !self.setting.is_durable {
            // It is not known which of the lines were synced.
            self.logged.lock().clear();
        }
        if self.setting.kind == Kind::Folder {
            self.fates.lock().values().for_each(|fate| fate.die());
        }
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
