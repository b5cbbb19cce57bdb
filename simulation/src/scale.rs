//! Scale: how much work stacks in one server take, from the library's own commands on a simulated server.
//!
//! Commands are carried out in the order in which they get the lock of their stack, each whole, at the time at which
//! it gets the lock. So nothing about them is a guess: which frame a worker gets, when a lease has ended, what a late
//! result is told. Only the times are: of the network, of the server's cores, and of its disk.
//!
//! All workers of a stack share one [`Stack`]. That is the same as one for each, because a command reads all that
//! others have committed before it decides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callstack_core::{Error, Event, Finish, Frame, FrameStatus, Hold, NewHold, Results, Stack, StackOptions};
use parking_lot::Mutex;
use support::Random;

use crate::clock::{MachineClock, Time, spans, time_of_day};
use crate::medium::{Call, Calm, Fate, Kind, Medium, Outcome};
use crate::plans::Plans;

/// A second, in microseconds.
const SECOND: u64 = 1_000_000;
/// How long a worker that has got nothing waits, and one that has died is away.
const PAUSE: u64 = 2 * SECOND;
/// From this many commands of others on, the library follows them before it asks for the lock. A command has about two
/// events.
const MANY: u64 = 16;
/// Round trips of a look at what others have done: whether there is news, the news, and whether there is a snapshot.
const LOOKS: u64 = 3;
/// How long a machine sleeps.
pub const FREEZE: u64 = 120 * SECOND;

/// A server, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// Of one core for a command, half of it until the lock is given, and half for the commit.
    pub command: u64,
    /// Of the disk, for all commits that wait for it together.
    pub sync: u64,
    /// Number of cores.
    pub cores: usize,
}

/// What is asked of a server.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The server.
    pub server: Server,
    /// From a request to its answer, in microseconds.
    pub round_trip: u64,
    /// For each command that others have committed since a worker's last one: how long the worker takes to follow it,
    /// in microseconds. If there are many, it follows them before it asks for the lock, and then only those that
    /// came while it waited for the lock.
    pub follow: u64,
    /// Number of machines, with a worker each.
    pub machines: usize,
    /// Number of stacks. The machines are spread over them.
    pub stacks: usize,
    /// Number of frames of each stack.
    pub frames: usize,
    /// True: all frames can begin at once. Else they are below and before each other as in real plans.
    pub is_wide: bool,
    /// Mean time of the work on a frame, in milliseconds. It is as often short as long: the times are exponential.
    pub work: u64,
    /// The lease, in milliseconds. A worker renews it after half of it.
    pub lease: u64,
    /// Of a thousand frames: how often the worker dies over them.
    pub deaths: usize,
    /// Of a thousand frames: how often the worker stands still over them for [`FREEZE`], as a machine that sleeps.
    pub freezes: usize,
    /// Of a thousand commits: how often the answer is lost.
    pub lost: usize,
    /// How long it is measured at most, in simulated seconds. It ends when all frames are done.
    pub seconds: u64,
}

/// What came of a load.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// How long it took, in microseconds.
    pub span: u64,
    /// Number of commands that were answered in that time.
    pub commands: usize,
    /// How long each command took for its worker, in microseconds, sorted.
    pub times: Vec<u64>,
    /// Number of frames that were finished.
    pub finished: usize,
    /// How long workers have worked on frames, in microseconds.
    pub worked: u64,
    /// The part of that time whose results were lost, because the worker has died or another one had the frame.
    pub wasted: u64,
    /// Number of results that were refused, because another worker had the frame.
    pub refused: usize,
    /// Number of commands that were given again, because it was not known what had become of them.
    pub repeated: usize,
    /// Number of times when a worker asked for a frame and none was free.
    pub empty: usize,
}

impl Measured {
    /// Commands in a second.
    pub fn rate(&self) -> f64 {
        self.commands as f64 * SECOND as f64 / self.span.max(1) as f64
    }

    /// The mean time of a command, in microseconds.
    pub fn mean(&self) -> u64 {
        self.times.iter().sum::<u64>() / self.times.len().max(1) as u64
    }

    /// The time that this many of a thousand commands do not exceed, in microseconds.
    pub fn within(&self, thousandths: usize) -> u64 {
        self.times.get(self.times.len().saturating_sub(1) * thousandths / 1_000).copied().unwrap_or_default()
    }

    /// The share of the work that was lost.
    pub fn wasted_share(&self) -> f64 {
        self.wasted as f64 / self.worked.max(1) as f64
    }
}

/// A time of the cores, in microseconds.
const SLICE: u64 = 1_000;

/// What is taken of the cores and of the disk of a server. Commands of several stacks ask for times in any order,
/// because each stack has a queue of its own.
struct Machine {
    server: Server,
    /// For each slice of time: how much of it all cores together have given away.
    taken: BTreeMap<u64, u64>,
    /// The end of each sync, by the span in which it has begun. Spans are as long as a sync.
    syncs: BTreeMap<u64, u64>,
    random: Random,
}

impl Machine {
    fn new(server: Server) -> Self {
        Self { server, taken: BTreeMap::new(), syncs: BTreeMap::new(), random: Random::new(17) }
    }

    /// When half of a command is done that comes at a time.
    fn computed(&mut self, time: u64) -> u64 {
        let (half, all) = (self.server.command / 2, SLICE * self.server.cores as u64);
        let mut slice = time / SLICE;
        while self.taken.get(&slice).is_some_and(|taken| taken + half > all) {
            slice += 1;
        }
        *self.taken.entry(slice).or_default() += half;
        time.max(slice * SLICE) + half
    }

    /// When a commit is on the disk that comes at a time. All that come during a sync share the next one.
    fn on_disk(&mut self, time: u64) -> u64 {
        let sync = self.server.sync.max(1);
        let span = time / sync;
        let before = self.syncs.range(span.saturating_sub(1)..=span).next_back();
        // It begins now, or at the end of the one that is under way.
        let begins = before.map_or(time, |(_, end)| time.max(*end));
        *self.syncs.entry(begins / sync).or_insert(begins + sync)
    }
}

/// The way of the commands of one stack to the server.
struct Line {
    time: Arc<Time>,
    machine: Arc<Mutex<Machine>>,
    round_trip: u64,
    /// How long the worker that has the lock takes to follow what others have done, in microseconds.
    news: Arc<AtomicU64>,
    lost: usize,
}

impl Fate for Line {
    fn strike(&self, call: Call) -> Outcome {
        let mut machine = self.machine.lock();
        let now = self.time.passed_finely();
        match call {
            // The answer goes to the worker, and its next request comes back, while the stack is locked.
            Call::Begin => {
                let followed = self.news.load(Ordering::Relaxed);
                self.time.set(machine.computed(now) + self.round_trip + followed);
            }
            Call::Commit => {
                let computed = machine.computed(now);
                self.time.set(machine.on_disk(computed));
                if machine.random.below(1_000) < self.lost {
                    return Outcome::DoneAndFails(Error::disconnected("the server", "the answer is lost", true));
                }
            }
            _ => {}
        }
        Outcome::Done
    }

    fn wait(&self, _: Duration) {}

    fn committed(&self, _: &[Arc<Event>]) {}
}

/// A worker, and what it does next.
enum Doing {
    /// It asks for a frame.
    Asking,
    /// It works.
    Working(Task),
}

impl Doing {
    fn is_working(&self) -> bool {
        matches!(self, Self::Working(_))
    }
}

/// The work on a frame. Times are in microseconds.
struct Task {
    hold: Hold,
    since: u64,
    /// The end of the work, or of the worker.
    until: u64,
    dies: bool,
    /// The worker stands still from the next renewal on.
    freezes: bool,
    /// The result was sent, and it is not known what has become of it.
    is_unknown: bool,
}

/// A load under way.
struct Run<'a> {
    load: &'a Load,
    time: Arc<Time>,
    stacks: Vec<Stack>,
    /// When the lock of each stack is free.
    free: Vec<u64>,
    /// The times at which the commands of each stack were done, and how many of them each worker has seen.
    given: Vec<Vec<u64>>,
    seen: Vec<u64>,
    /// The number of the last command of each worker, and whether there were many between it and the one before.
    last: Vec<u64>,
    is_busy: Vec<bool>,
    news: Arc<AtomicU64>,
    workers: Vec<Doing>,
    /// Number of frames that can be done.
    frames: usize,
    random: Random,
    measured: Measured,
}

/// Lets machines work for a time.
pub fn measure(load: &Load, plans: &Plans) -> Measured {
    let time = Arc::new(Time::default());
    let machine = Arc::new(Mutex::new(Machine::new(load.server)));
    let news = Arc::new(AtomicU64::new(0));
    let stack = |number: usize| {
        let Load { round_trip, lost, .. } = *load;
        let line = Line { time: time.clone(), machine: machine.clone(), round_trip, news: news.clone(), lost };
        let medium = Medium::new(Kind::Server);
        let drawn = Mutex::new(Random::new(number as u64 + 1));
        let options = StackOptions::default()
            .clock(time_of_day(&time, &Arc::new(MachineClock::default())))
            .monotonic_clock(Some(spans(&time)))
            .random(Arc::new(move || drawn.lock().next()));
        let calm = Stack::with_store(medium.store(Arc::new(Calm)), options.clone()).expect("the stack opens");
        if load.is_wide {
            let frame = |number| Frame {
                session_id: format!("task-{number}"),
                title: format!("Task {number}"),
                status: FrameStatus::Planned,
                ..Frame::default()
            };
            calm.import((0..load.frames).map(frame).collect()).expect("the plan is sound");
        } else {
            plans.make(&calm, &mut Random::new(number as u64 + 1), load.frames);
        }
        Stack::with_store(medium.store(Arc::new(line)), options).expect("the stack opens")
    };
    let stacks: Vec<Stack> = (0..load.stacks).map(stack).collect();
    let frames = stacks.iter().map(|stack| stack.read(|tree| tree.len()).unwrap_or_default()).sum();
    let mut run = Run {
        load,
        time: time.clone(),
        stacks,
        news,
        free: vec![0; load.stacks],
        given: vec![Vec::new(); load.stacks],
        seen: vec![0; load.machines],
        last: vec![0; load.machines],
        is_busy: vec![false; load.machines],
        frames,
        workers: (0..load.machines).map(|_| Doing::Asking).collect(),
        random: Random::new(load.machines as u64),
        measured: Measured::default(),
    };
    run.go();
    run.measured.times.sort_unstable();
    run.measured
}

impl Run<'_> {
    fn go(&mut self) {
        // The machines start within the time of a frame, so that they do not all ask at once.
        let within = PAUSE.min(self.load.work * 1_000) as usize;
        let start = |random: &mut Random| random.below(within.max(1)) as u64;
        let mut next: BinaryHeap<Reverse<(u64, usize)>> =
            (0..self.load.machines).map(|worker| Reverse((start(&mut self.random), worker))).collect();
        while let Some(Reverse((now, worker))) = next.pop() {
            let is_done = self.measured.finished >= self.frames && !self.workers.iter().any(Doing::is_working);
            if now > self.load.seconds * SECOND || is_done {
                break;
            }
            self.measured.span = now;
            if let Some(later) = self.refreshes(worker, now) {
                next.push(Reverse((later, worker)));
                continue;
            }
            next.push(Reverse((self.act(worker, now), worker)));
        }
    }

    /// A worker whose stack is busy follows what others have done before it gives a command. Returns the time at which
    /// it has.
    fn refreshes(&mut self, worker: usize, now: u64) -> Option<u64> {
        if !std::mem::take(&mut self.is_busy[worker]) {
            return None;
        }
        let given = &self.given[worker % self.load.stacks];
        let done = given.partition_point(|time| *time <= now) as u64;
        let news = done.saturating_sub(self.seen[worker]);
        self.seen[worker] = done.max(self.seen[worker]);
        Some(now + LOOKS * self.load.round_trip + news * self.load.follow)
    }

    /// A worker acts. Returns the time at which it acts again.
    fn act(&mut self, worker: usize, now: u64) -> u64 {
        match std::mem::replace(&mut self.workers[worker], Doing::Asking) {
            Doing::Asking => self.ask(worker, now),
            Doing::Working(task) if now < task.until => self.renew(worker, task, now),
            Doing::Working(task) if task.dies => {
                self.measured.worked += now - task.since;
                self.measured.wasted += now - task.since;
                now + PAUSE
            }
            Doing::Working(task) => self.finish(worker, task, now),
        }
    }

    fn ask(&mut self, worker: usize, now: u64) -> u64 {
        let new = NewHold::new(format!("machine-{worker}-"), self.load.lease);
        let (held, now) = self.command(worker, now, |stack| stack.work().hold(new));
        let Ok(Some(hold)) = held else {
            self.measured.empty += usize::from(held.is_ok());
            self.measured.repeated += usize::from(held.is_err());
            return now + if held.is_ok() { PAUSE } else { 0 };
        };
        // The same frame takes the same time, whatever else is varied.
        let place = (worker % self.load.stacks) as u64;
        let mut random = Random::new((place << 40) ^ ((hold.handle.index() as u64) << 8) ^ hold.generation);
        random.next();
        let share = (1 + random.below(1_000_000)) as f64 / 1e6;
        let until = now + (-share.ln() * self.load.work as f64 * 1e3) as u64;
        let dies = random.below(1_000) < self.load.deaths;
        let freezes = random.below(1_000) < self.load.freezes;
        self.wait(worker, Task { hold, since: now, until, dies, freezes, is_unknown: false }, now)
    }

    /// The worker works until it renews its lease, or until the end.
    fn wait(&mut self, worker: usize, mut task: Task, now: u64) -> u64 {
        let mut next = task.until.min(now + self.load.lease * 500);
        if std::mem::take(&mut task.freezes) {
            next += FREEZE;
            task.until += FREEZE;
        }
        self.workers[worker] = Doing::Working(task);
        next
    }

    fn renew(&mut self, worker: usize, task: Task, now: u64) -> u64 {
        let (hold, lease) = (&task.hold, self.load.lease);
        let (renewed, now) = self.command(worker, now, |stack| stack.work().renew(hold, lease));
        match renewed {
            Err(error) if error.is_outcome_known() => return self.lost(&task, now),
            Err(_) => self.measured.repeated += 1,
            Ok(_) => {}
        }
        self.wait(worker, task, now)
    }

    fn finish(&mut self, worker: usize, mut task: Task, now: u64) -> u64 {
        let results = Results::new("It is done. The tests pass.");
        let hold = &task.hold;
        let (finished, end) = self.command(worker, now, |stack| stack.work().finish(hold, Finish::Done(results)));
        match finished {
            Err(error) if !error.is_outcome_known() => {
                task.is_unknown = true;
                self.measured.repeated += 1;
                self.workers[worker] = Doing::Working(task);
                end
            }
            // The first result was kept.
            Err(_) if !task.is_unknown => self.lost(&task, now).max(end),
            _ => {
                self.measured.finished += 1;
                self.measured.worked += task.until - task.since;
                end
            }
        }
    }

    /// Another worker has the frame.
    fn lost(&mut self, task: &Task, now: u64) -> u64 {
        self.measured.refused += 1;
        self.measured.worked += now - task.since;
        self.measured.wasted += now - task.since;
        now
    }

    /// Gives a command, and returns its answer and the time at which the worker has it.
    fn command<T>(&mut self, worker: usize, now: u64, run: impl FnOnce(&Stack) -> T) -> (T, u64) {
        let stack = worker % self.load.stacks;
        let arrives = now + self.load.round_trip / 2;
        self.time.set(arrives.max(self.free[stack]));
        let given = self.given[stack].len() as u64;
        self.news.store((given - self.seen[worker]) * self.load.follow, Ordering::Relaxed);
        self.is_busy[worker] = given - self.last[worker] >= MANY;
        self.seen[worker] = given + 1;
        self.last[worker] = given + 1;
        let answer = run(&self.stacks[stack]);
        self.free[stack] = self.time.passed_finely();
        self.given[stack].push(self.free[stack]);
        let end = self.free[stack] + self.load.round_trip / 2;
        self.measured.commands += usize::from(end <= self.load.seconds * SECOND);
        self.measured.times.push(end - now);
        (answer, end)
    }
}
