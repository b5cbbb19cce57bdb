//! Runs of whole worlds: through a storm, and until everything that can be done is done; and what is said of a run
//! that fails.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use callstack_core::frame::Holder;
use callstack_core::{
    Error, Finish, FrameEdit, FrameRef, FrameStatus, Handle, NewHold, PopStatus, Results, Stack, StackOptions,
};
use support::{Queries, Random};

use crate::medium::{Calm, Kind, Medium};
use crate::oracle::{Oracle, Violation};
use crate::plans::Plans;
use crate::schedule::{self, ScheduleError, Step};
use crate::setting::{Poison, Setting};
use crate::story::Story;
use crate::world::World;

/// The most rounds in which everything that can go on has to be done, for each frame. A round takes a second.
const ROUNDS: usize = 12;
const ROUND: u64 = 1_000;
/// How often each actor goes on when the storm is over.
const CALM_ROUNDS: usize = 12;
/// The most runs that look for a shorter schedule.
const SHRINKING_RUNS: usize = 1_500;

/// A run that has ended.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Number of commands that stacks have begun to decide.
    pub commands: u64,
    /// A hash of all events, if the story has one: two runs of a schedule have the same.
    pub hash: u64,
    /// The rule that was broken, if one was.
    pub failure: Option<Violation>,
    /// What has happened, if it was told.
    pub story: String,
    /// The steps with what has struck them.
    pub steps: Vec<Step>,
    /// The pairs of commands that have met: the second one began between two calls of the first one.
    pub pairs: BTreeSet<(&'static str, &'static str)>,
}

/// A seed whose world breaks a rule.
#[derive(Debug, Clone)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// True: the world is that of [`Setting::swarm`].
    pub is_swarm: bool,
    /// The broken rule.
    pub failure: Violation,
    /// The shortest schedule that was found.
    pub steps: Vec<Step>,
    /// What happens in it, in words.
    pub story: String,
}

impl Found {
    /// A test that repeats the failure.
    pub fn test(&self) -> String {
        let steps = schedule::written(&self.steps);
        let lines: Vec<String> = steps.lines().map(|line| format!("        {line}")).collect();
        format!(
            "#[test]\nfn seed_{seed}() {{\n    let steps = \"\n{lines}\n    \";\n    let ran = \
             run_again(&Setting::{drawn}({seed}), steps, &plans()).unwrap();\n    assert!(ran.failure.is_none(), \"{{}}\", ran.story);\n}}\n",
            drawn = if self.is_swarm { "swarm" } else { "draw" },
            seed = self.seed,
            lines = lines.join("\n")
        )
    }
}

/// The steps of a seed, without what an adversary adds.
pub fn steps_of(seed: u64, setting: &Setting) -> Vec<Step> {
    let random = &mut Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 1);
    random.next();
    (0..setting.steps).map(|_| Step::draw(random, setting.actors.len(), setting.weather)).collect()
}

/// Runs the world of a seed.
pub fn run(seed: u64, plans: &Plans, story: Story) -> Ran {
    run_in(&Setting::draw(seed), seed, plans, story)
}

/// As [`run`], in another world.
pub fn run_in(setting: &Setting, seed: u64, plans: &Plans, story: Story) -> Ran {
    run_steps(setting, plans, &steps_of(seed, setting), story)
}

/// Runs a world with another schedule, and tells the story. Only the schedule strikes.
///
/// # Errors
/// [`ScheduleError`] if the text is not a schedule.
pub fn run_again(setting: &Setting, steps: &str, plans: &Plans) -> Result<Ran, ScheduleError> {
    Ok(run_steps(&without_adversary(setting), plans, &schedule::read(steps)?, Story::telling()))
}

/// What an adversary has added is in the steps that were carried out.
fn without_adversary(setting: &Setting) -> Setting {
    Setting { is_adversarial: false, ..setting.clone() }
}

/// Finds the shortest schedule with which a world still breaks the rule that it breaks with the steps of a seed.
/// `None`: it breaks none.
pub fn explain(setting: &Setting, seed: u64, plans: &Plans) -> Option<Found> {
    let ran = run_in(setting, seed, plans, Story::default());
    let failure = ran.failure?;
    let setting = &without_adversary(setting);
    let fails = |steps: &[Step]| {
        let found = run_steps(setting, plans, steps, Story::default()).failure;
        found.is_some_and(|found| found.rule == failure.rule)
    };
    let steps = schedule::shrunk(&ran.steps, SHRINKING_RUNS, fails);
    let ran = run_steps(setting, plans, &steps, Story::telling());
    let failure = ran.failure.unwrap_or(failure);
    Some(Found { seed, is_swarm: setting.is_swarm, failure, steps, story: ran.story })
}

/// Runs a world. A panic counts as a broken rule.
pub fn run_steps(setting: &Setting, plans: &Plans, steps: &[Step], story: Story) -> Ran {
    let world = World::new(setting, plans, story);
    let mut carried_out = Vec::new();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        for step in steps {
            carried_out.push(world.step(step));
            if world.failure().is_some() {
                return;
            }
        }
        settle(&world);
    }));
    if let Err(panic) = ran {
        // What the end of a run does follows from its steps.
        carried_out.extend(world.cut_off().filter(|_| world.is_stormy()));
        world.fail(Violation::new("nothing panics", said(&*panic)));
    }
    let (failure, pairs) = (world.failure(), world.pairs());
    Ran { commands: world.commands(), hash: world.hash(), failure, story: world.story(), steps: carried_out, pairs }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// The storm is over: what can go on is done within a bounded number of rounds, and all ways to read the stack say
/// the same.
fn settle(world: &Arc<World>) {
    world.calm_down();
    // First those who are there go on, with all that they know and that may be out of date.
    let random = &mut Random::new(world.commands());
    for _ in 0..CALM_ROUNDS {
        for actor in 0..world.actor_count() {
            world.step(&Step { after: 1_000, actor, choice: random.next() >> 40, strikes: Vec::new() });
        }
    }
    let (stack, other) = (world.alone(), world.alone());
    // What the dead have held is free when their leases are over.
    pass_leases(world);
    if let Some(poison) = world.setting().poison {
        go_on_beside_a_poisoned_frame(world, &stack, poison);
        pass_leases(world);
    }
    let frames = stack.read(|tree| tree.len()).unwrap_or_default();
    let most = ROUNDS * (frames + 8);
    let mut rounds = 0;
    while rounds < most && world.failure().is_none() && round(world, [&stack, &other][rounds % 2]) {
        rounds += 1;
    }
    if world.failure().is_some() {
        return;
    }
    check_done(world, &stack);
    world.end_actors();
    // In some worlds all that is done is compacted before everything is compared.
    if world.setting().is_compacted
        && let Err(error) = stack.history().compact(u64::MAX)
    {
        world.fail(Violation::new("a sound history can be compacted", error.to_string()));
    }
    check_equal(world, &stack);
}

fn pass_leases(world: &World) {
    let now = world.time().now();
    let end = world.with_oracle(|oracle| oracle.last_end(now));
    world.time().pass(end - now + 1);
}

/// Each worker that gets the first frame dies, or puts it back. Others get all frames that do not wait for it.
fn go_on_beside_a_poisoned_frame(world: &Arc<World>, stack: &Stack, poison: Poison) {
    let mut poisoned = None;
    let most = ROUNDS * (stack.read(|tree| tree.len()).unwrap_or_default() + 8);
    for _ in 0..most {
        world.time().pass(ROUND);
        stack.work().note_interruptions();
        // A lease that lasts longer than this.
        let held = stack.work().hold(NewHold::new("a worker", Holder::LONGEST_LEASE));
        if let Err(error) = &held {
            world.fail(Violation::new("a worker can always ask", error.to_string()));
        }
        let Ok(Some(hold)) = held else { break };
        let finish = match poison {
            _ if *poisoned.get_or_insert(hold.handle) != hold.handle => Finish::Done(Results::new(world.mark())),
            Poison::Kills => continue,
            Poison::IsPutBack => Finish::Later { wait: None },
        };
        // What could not be finished is found below.
        let _ = stack.work().finish(&hold, finish);
    }
    world.check_nothing_is_free(stack, poisoned);
}

/// A worker does one frame. If none is free, a person does what the library says is in the way. Returns false if
/// nothing is left to do.
fn round(world: &Arc<World>, stack: &Stack) -> bool {
    world.time().pass(ROUND);
    stack.work().note_interruptions();
    match stack.work().hold(NewHold::new("the last worker", 60_000)) {
        Ok(Some(hold)) => {
            let finished = stack.work().finish(&hold, Finish::Done(Results::new(world.mark())));
            if let Err(error) = finished {
                let what = format!("{} was held, but its end was refused: {error}", hold.handle);
                world.fail(Violation::new("a worker that has a frame can finish it", what));
            }
            true
        }
        Ok(None) => clear_the_way(world, stack),
        Err(error) => {
            world.fail(Violation::new("a worker can always ask", error.to_string()));
            false
        }
    }
}

/// Does what is in the way. Returns false if nothing is.
fn clear_the_way(world: &Arc<World>, stack: &Stack) -> bool {
    let Ok(way) = stack.read(|tree| tree.in_the_way(None)) else { return false };
    let mut did = false;
    for frame in way.asking {
        did |= stack.answer(frame, "Go on").is_ok();
    }
    for frame in way.answered {
        did |= stack.resume(frame).is_ok();
    }
    // What another attempt has completed keeps nothing from beginning, unless something is left below it.
    let is_done = |frame: &Handle| {
        let has_left = stack.read(|tree| tree.node(*frame).has_unfinished_below()).unwrap_or_default();
        let newest = world.with_oracle(|oracle| oracle.newest(*frame));
        let status = world.with_oracle(|oracle| oracle.frame(newest).map(|plain| plain.status));
        !has_left && status == Some(FrameStatus::Completed)
    };
    if let Some(frame) = way.ended.iter().find(|frame| is_done(frame)) {
        world.fail(Violation::new("what is in the way is not done", format!("{frame} is named, and is done")));
    }
    for frame in way.ended {
        did |= stack.retry(frame, None).is_ok() || take_out(stack, frame);
    }
    if let Some(what) = world.with_oracle(|oracle| oracle.is_no_circle(&way.circle)) {
        world.fail(Violation::new("what is in the way is not done", what));
    }
    for frame in way.circle {
        let mut edit = FrameEdit::default();
        edit.depends_on = Some(Vec::new());
        did |= stack.edit(frame, edit).is_ok();
    }
    // What persons and conversations have begun, they end, the innermost first. Workers have the rest.
    let open = stack.read(|tree| {
        let is_innermost = |frame: &Handle| !tree.node(*frame).has_unfinished_below();
        let open = tree.with_status(FrameStatus::InProgress);
        open.filter(is_innermost).collect::<Vec<_>>()
    });
    let is_by_hand = |frame: &Handle| world.with_oracle(|oracle| !oracle.is_of_worker(*frame));
    let open = open.map(|open| open.into_iter().filter(is_by_hand).collect::<Vec<_>>());
    // If nothing else can be done, their parts wait for them, and are left.
    let by_hand = if did || open.as_ref().is_ok_and(|open| !open.is_empty()) { Vec::new() } else { way.by_hand };
    for frame in open.unwrap_or_default().into_iter().chain(by_hand) {
        did |= stack.pop(frame, PopStatus::Completed, world.mark().as_str()).is_ok();
    }
    did
}

/// Takes a frame that has ended out of the needs of others, and what is left below it out of the plan.
fn take_out(stack: &Stack, ended: Handle) -> bool {
    let found = stack.read(|tree| {
        let planned = |frame: &Handle| tree.node(*frame).status() == FrameStatus::Planned;
        let is_left = |frame: &Handle| tree.node(*frame).status().is_unfinished();
        let below: Vec<Handle> = tree.descendants(ended).filter(is_left).collect();
        let dependents: Vec<Handle> = tree.handles().filter(planned).collect();
        let needs = |frame: &Handle| {
            let kept: Vec<Handle> = tree.node(*frame).dependencies().to_vec();
            let left: Vec<Handle> = kept.iter().copied().filter(|other| tree.newest_attempt(*other) != ended).collect();
            (left.len() < kept.len()).then_some((*frame, left))
        };
        (below, dependents.iter().filter_map(needs).collect::<Vec<_>>())
    });
    let Ok((below, dependents)) = found else { return false };
    let mut did = false;
    for frame in below {
        did |= stack.invalidate(frame, "What is above it has ended").is_ok();
    }
    for (frame, left) in dependents {
        let mut edit = FrameEdit::default();
        edit.depends_on = Some(left.into_iter().map(FrameRef::from).collect());
        did |= stack.edit(frame, edit).is_ok();
    }
    did
}

/// No frame is stuck.
fn check_done(world: &Arc<World>, stack: &Stack) {
    if let Err(error) = stack.refresh() {
        return world.fail(Violation::new("no actor meets an unexpected error", error.to_string()));
    }
    let left = stack
        .read(|tree| tree.handles().filter(|frame| tree.node(*frame).status().is_unfinished()).collect::<Vec<_>>());
    let Ok(left) = left else { return };
    if let Some(first) = left.first() {
        let stands = |frame: &Handle| world.with_oracle(|oracle| oracle.stands(*frame));
        let stand: Vec<String> = left.iter().map(stands).collect();
        let what = format!("{first} is not done, and {:?}: {}", stack.work().left(None), stand.join("; "));
        world.fail(Violation::new("what can go on is done", what));
    }
}

/// Another stack, made of the history of a stack.
fn rebuilt(stack: &Stack) -> Result<Stack, Error> {
    let mut history = Vec::new();
    stack.history().export(&mut history)?;
    let store = Medium::new(Kind::Folder).store(Arc::new(Calm));
    Stack::rebuild_in_store(store, &history[..], StackOptions::default())
}

/// The tree in memory, a new open, the replay, a stack made of the exported history, and the model are the same.
fn check_equal(world: &Arc<World>, stack: &Stack) {
    let rule = "snapshot, replay and memory are equal";
    match stack.history().check() {
        Ok(found) if found.is_empty() => {}
        Ok(found) => return world.fail(Violation::new(rule, found.join("; "))),
        Err(error) => return world.fail(Violation::new(rule, error.to_string())),
    }
    if let Some(what) = world.wrong_line(stack) {
        return world.fail(Violation::new("logs are complete", what));
    }
    let again = world.alone();
    for (what, other) in [("a new open", Ok(again.clone())), ("a stack made of the history", rebuilt(stack))] {
        match (stack.state(), other.and_then(|other| other.state())) {
            (Ok(one), Ok(other)) if one == other => {}
            (Ok(_), Ok(_)) => return world.fail(Violation::new(rule, format!("{what} shows another tree"))),
            (Err(error), _) | (_, Err(error)) => {
                return world.fail(Violation::new(rule, format!("{what}: {error}")));
            }
        }
    }
    let (known, committed) = (again.read(|tree| tree.revision()), world.with_oracle(Oracle::revision));
    if known != Ok(committed) {
        world.fail(Violation::new(rule, format!("a new open is at event {known:?} of {committed}")));
    }
    world.check_tree(&again);
}
