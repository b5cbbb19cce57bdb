//! `callstack work`: runs a command for each frame that can begin, one after the other, or several at the
//! same time. Any number of such workers share a stack.

mod ending;
mod process;
mod report;
mod worker;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::process::id;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use callstack_core::context::FinishedChildren;
use callstack_core::work::InTheWay;
use callstack_core::{FrameRef, FrameStatus, Guidance, Handle, Settings, ToolNames, Tree};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};

use self::report::Steps;
pub use self::report::Worked;
use self::worker::{LOOKS, Outcome, Worker};
use super::context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Output, count};

/// If this worker could not start the command of a frame this number of times, the frame is blocked, unless
/// `--tries` gives another number.
const STARTS: u64 = 3;
/// If the machine of a worker could start no command this number of times in a row, the worker ends.
const MACHINE_STARTS: u32 = 4;
/// How long a worker waits after the machine could not start a command. It waits twice as long after each
/// further time in a row. The frames are free meanwhile.
const MACHINE_PAUSE: Duration = Duration::from_millis(500);

#[derive(Args)]
pub struct Arguments {
    /// Only frames below this one.
    #[arg(long, value_name = "FRAME")]
    below: Option<FrameRef>,
    /// The name of this worker, different from those of other workers. Default: the name of the machine and
    /// the number of the process.
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How long a frame stays with this worker after the worker was last heard of, in seconds. The worker
    /// renews this time while the command runs.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
    /// A frame that was begun this number of times without an end is blocked, because its command may kill
    /// the workers. A command that could not be started counts too. Put-backs, interruptions and what was
    /// before an answer do not count. Default: no limit, but 3 for commands that could not be started.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    tries: Option<u64>,
    /// How many frames are worked on at the same time. The second worker of the program is called NAME-2, and
    /// so on.
    #[arg(long, short, value_name = "JOBS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Maximum number of frames, including those that were put back; then the program ends.
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Wait for new frames when nothing is left to do, until the program is interrupted.
    #[arg(long)]
    wait: bool,
    /// The command, with its arguments. It is not given to a shell: use sh -c '…' for that.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, is_interrupted.clone())?;
    }
    process::check(&arguments.command)
        .map_err(|error| Failure::of_file("run", arguments.command[0].to_string_lossy(), &error))?;
    let stack = folder.open_to_write()?;
    if let (Some(own), None) = (stack.actor().and_then(|actor| actor.hold.as_ref()), &arguments.below) {
        let message = format!("this program works on {} for a worker already, which waits for it", own.handle);
        return Err(Failure::new(Exit::Refused, "within_worker", message)
            .next(r#"name the frames that it may do: callstack work --below "$CALLSTACK_FRAME" -- COMMAND"#));
    }
    let below = arguments.below.clone().map(|below| stack.resolve(below)).transpose()?;
    if let Some(below) = below
        && !arguments.wait
        && stack.read(|tree| tree.children(below).is_empty())?
    {
        let message = format!("there is no frame below {below}, and --below means those below it");
        let is_over = !stack.read(|tree| tree.node(below).status().is_unfinished())?;
        let plan = format!(", or plan frames there: callstack plan --below {below} TITLE");
        return Err(Failure::new(Exit::Refused, "nothing_below", message)
            .next(format!("leave --below out{}", if is_over { "" } else { &plan })));
    }
    let worker = Worker {
        stack: &stack,
        name: arguments.worker.clone().unwrap_or_else(own_name),
        lease: Duration::from_secs(arguments.lease),
        below,
        command: &arguments.command,
        // The command's documentation tells it what to do, and it has no conversation that would hold
        // results.
        settings: Settings::default()
            .budget(context::budget(None)?)
            .guidance(Guidance::None)
            .tools(ToolNames::none())
            .finished_children(FinishedChildren::All),
        place: folder.variables()?,
        is_interrupted,
    };
    let mut worked = Worked { worker: worker.name.clone(), same_stack: folder.same_stack(), ..Worked::default() };
    work_together(&worker, arguments, &mut worked)?;
    look_back(&worker, &mut worked)?;
    // If a reader has read enough, this does not change how the work has ended.
    output.report(&worked).or_else(|failure| if failure.is_closed_pipe() { Ok(()) } else { Err(failure) })?;
    Ok(match worker.is_interrupted() {
        true => Exit::Interrupted,
        // Work that waits for a frame is not done if no worker works on that frame.
        false if worked.failed > 0 || worked.is_stuck() => Exit::Failed,
        false => Exit::Done,
    })
}

/// Works with as many workers as were asked for. If one of them fails, the others end their current work.
fn work_together(worker: &Worker<'_>, arguments: &Arguments, worked: &mut Worked) -> Result<(), Failure> {
    let shared = Shared { frames: AtomicU64::new(0), limit: arguments.limit, is_over: AtomicBool::new(false) };
    let results: Vec<_> = thread::scope(|scope| {
        let jobs = (1..=arguments.jobs).map(|job| {
            let name = if job == 1 { worker.name.clone() } else { format!("{}-{job}", worker.name) };
            let (worker, shared) = (worker.named(name), &shared);
            scope.spawn(move || {
                let mut own = Worked::default();
                let result = work(&worker, arguments, shared, &mut own);
                shared.is_over.fetch_or(result.is_err(), Ordering::Relaxed);
                (own, result)
            })
        });
        let jobs: Vec<_> = jobs.collect();
        jobs.into_iter().map(|job| job.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    for (own, result) in results {
        worked.add(&own);
        result?;
    }
    Ok(())
}

/// What the workers of this program share.
struct Shared {
    /// Number of frames that were begun.
    frames: AtomicU64,
    limit: Option<u64>,
    /// True: one of them has failed.
    is_over: AtomicBool,
}

impl Shared {
    /// Takes one of the frames that the limit allows. False: there is none left.
    fn take(&self) -> bool {
        let next = |frames: u64| self.limit.is_none_or(|limit| frames < limit).then_some(frames + 1);
        self.frames.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Gives a frame back that was not begun.
    fn give_back(&self) {
        self.frames.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Works until nothing is left to do, the limit is reached, or a person interrupts the program.
fn work(worker: &Worker<'_>, arguments: &Arguments, shared: &Shared, worked: &mut Worked) -> Result<(), Failure> {
    let mut pause = LOOKS.0;
    let mut not_started: BTreeMap<Handle, u64> = BTreeMap::new();
    let mut machine_failures = 0;
    while !worker.is_interrupted() && !shared.is_over.load(Ordering::Relaxed) && shared.take() {
        let Some(hold) = worker.hold()? else {
            shared.give_back();
            let left = worker.left()?;
            if left.free + left.held + left.later == 0 && !arguments.wait {
                break;
            }
            worker.stack.upkeep().poll();
            thread::sleep(pause);
            pause = LOOKS.1.min(pause * 2);
            continue;
        };
        pause = LOOKS.0;
        let mut outcome = match arguments.tries {
            Some(tries) if hold.tries > tries => {
                worker.give_up(&hold, &format!("begun {} without a result", count(tries as usize, "time")))?
            }
            _ => worker.work_on(&hold)?,
        };
        // A frame that was begun, or given up, has a new count.
        let starts = not_started.remove(&hold.handle).unwrap_or(0) + 1;
        match &outcome {
            Outcome::NotStarted(why) if starts >= arguments.tries.unwrap_or(STARTS) => {
                let tried = count(starts as usize, "time");
                outcome = worker.give_up(&hold, &format!("tried {tried}, and could not be started: {why}"))?;
            }
            Outcome::NotStarted(_) => drop(not_started.insert(hold.handle, starts)),
            Outcome::MachineFailed(_) if starts > 1 => drop(not_started.insert(hold.handle, starts - 1)),
            _ => {}
        }
        machine_failures = if let Outcome::MachineFailed(_) = outcome { machine_failures + 1 } else { 0 };
        outcome = match outcome {
            Outcome::MachineFailed(failure) if machine_failures >= MACHINE_STARTS => return Err(failure),
            outcome => outcome,
        };
        worker.say(hold.handle, &outcome);
        if !worked.count(&outcome) {
            break;
        }
        if machine_failures > 0 {
            worker.rest(MACHINE_PAUSE * 2_u32.pow(machine_failures - 1));
        }
    }
    Ok(())
}

/// Finds out what is left, and what keeps it from being done.
fn look_back(worker: &Worker<'_>, worked: &mut Worked) -> Result<(), Failure> {
    worked.left = worker.left()?;
    let below = worker.below;
    let is_blocked = |tree: &Tree| below.is_some_and(|below| tree.node(below).status() == FrameStatus::Blocked);
    worked.left.blocked += usize::from(worker.stack.read(is_blocked)?);
    let InTheWay { ended, failed, completed, by_hand, asking, answered, circle, .. } =
        worker.stack.read(|tree| tree.in_the_way(below))?;
    (worked.in_the_way, worked.by_hand) = ([ended, circle].concat(), by_hand);
    worked.steps = Steps { failed, completed, asks: !asking.is_empty(), answered: answered.first().copied() };
    Ok(())
}

/// A name that no other worker has, neither on another machine nor on this one at the same time.
fn own_name() -> String {
    #[cfg(unix)]
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let host = std::env::var("COMPUTERNAME").unwrap_or_else(|_| "worker".to_owned());
    format!("{host}-{}", id())
}
