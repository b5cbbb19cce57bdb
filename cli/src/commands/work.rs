//! `callstack work`: runs a command for each frame that can begin, one after the other. Any number of such workers share a
//! stack.

mod process;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufWriter};
use std::process::{ExitStatus, id};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::context::FinishedChildren;
use callstack_core::frame::{Finished, Release, WorkLeft};
use callstack_core::work::InTheWay;
use callstack_core::{
    Budget, Error, ErrorClass, Finish, FrameRef, FrameStatus, Guidance, Handle, Hold, NewHold, PopStatus, Results,
    Settings, Stack, ToolNames,
};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use self::process::{NotStarted, Process, Written};
use super::changed::{ChangedFrame, list, next};
use super::context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::holding::HOLD_VARIABLES;
use crate::output::{Medium, Output, Page, Report, count};
use crate::same_stack::SameStack;

/// The exit status of a command that cannot be carried out now (EX_TEMPFAIL of sysexits.h).
const LATER: i32 = 75;
/// The exit status of a command that may not go on by itself (EX_NOPERM of sysexits.h).
const BLOCKED: i32 = 77;
/// A frame whose command could not be started so often by this worker is blocked, unless `--tries` says how often.
const STARTS: u64 = 3;
/// A worker whose machine could start no command so often in a row ends.
const MACHINE_STARTS: u32 = 4;
/// How long a worker waits after the machine could not start a command, and twice as long after each further time in a row. The frames
/// are free meanwhile.
const MACHINE_PAUSE: Duration = Duration::from_millis(500);
/// How often the stack is looked at while nothing can be hold: soon after a change, and then more seldom.
const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How often the frame of a running command is looked at: somebody may have stopped it.
const NOTICE: Duration = Duration::from_secs(1);
/// How long a command may run on after its frame has ended: it can have ended the frame itself.
const TIDYING: Duration = Duration::from_secs(5);
/// How often the running command is looked at: soon after its start, and then more seldom.
const CHECKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));
/// Results with more characters get their last paragraph as their compacted form.
const COMPACT: usize = 1_000;

#[derive(Args)]
pub struct Arguments {
    /// Only frames below this one.
    #[arg(long, value_name = "FRAME")]
    below: Option<FrameRef>,
    /// The name of this worker, different from those of other workers. Default: the name of the machine and the number of the process.
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How long a frame stays with this worker after it was last heard of, in seconds. It renews that while the command runs.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
    /// A frame that was begun so often without an end is blocked, because its command may kill the workers. A command that could not be
    /// started counts too. Put-backs, interruptions and what was before an answer do not count. Default: no limit, but 3 for commands
    /// that could not be started.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    tries: Option<u64>,
    /// Maximum number of frames, also of those that were put back; then the program ends.
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Wait for new frames when nothing is left to do, until the program is interrupted.
    #[arg(long)]
    wait: bool,
    /// The command, with its arguments. It is not given to a shell: sh -c '…' does that.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The work of this worker, and the frames that are left.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worked {
    /// The name of the worker.
    worker: String,
    /// Number of frames that the command has completed.
    completed: usize,
    /// Number of frames that it has failed.
    failed: usize,
    /// Number of frames that it has blocked.
    blocked: usize,
    /// Number of times that it has put a frame back for later.
    later: usize,
    /// Number of times that a command could not be started, and its frame was not blocked for it.
    not_started: usize,
    /// Number of times that a frame was taken from this worker, stopped, begun anew or invalidated.
    lost: usize,
    /// The frames that are left.
    left: WorkLeft,
    /// The frames that have ended, and keep the work from being whole: failed roots and failed parts of what is unfinished, invalidated
    /// frames that others need, and ended ones above planned frames.
    in_the_way: Vec<Handle>,
    /// The planned frames on which a person or a host works now.
    by_hand: Vec<Handle>,
    #[serde(skip)]
    steps: Steps,
    #[serde(skip)]
    same_stack: SameStack,
}

/// The frames for which the report advises a next command.
#[derive(Debug, Default)]
struct Steps {
    /// The first failed frame that is in the way.
    failed: Option<Handle>,
    /// The first completed frame that is in the way.
    completed: Option<Handle>,
    /// True if a blocked frame waits for an answer.
    asks: bool,
    /// The first blocked frame that is answered, and with which no worker goes on.
    answered: Option<Handle>,
}

/// Maximum length of the title that a command finds in its environment, in characters.
const LONGEST_TITLE: usize = 1_000;

/// How the work on a frame has ended for this worker.
enum Outcome {
    /// The command has ended, and so has the frame.
    Ended(PopStatus),
    /// The frame waits for another try.
    Later,
    /// The command could not be started on this frame. The frame waits until its lease ends, as after a worker that was killed, so this is
    /// a try.
    NotStarted(String),
    /// This machine could not start the command, whatever the frame is. The frame was released.
    MachineFailed(Failure),
    /// Somebody else has the frame now, or has ended it.
    Lost(Error),
    /// Somebody has stopped the frame, or does not want it any more.
    Stopped,
    /// The user has interrupted the program, and the frame was released.
    Interrupted,
}

impl Outcome {
    /// The outcome of the end that was recorded.
    fn of(finished: Finished) -> Self {
        match finished.status {
            FrameStatus::Completed => Self::Ended(PopStatus::Completed),
            FrameStatus::Failed => Self::Ended(PopStatus::Failed),
            FrameStatus::Blocked => Self::Ended(PopStatus::Blocked),
            _ => Self::Later,
        }
    }
}

/// How a frame stands while its command runs.
enum Standing {
    /// It is with this worker.
    Held,
    /// It has ended.
    Ended,
    /// Its command is to be stopped.
    Gone(Outcome),
}

/// A worker, with all that it needs for a frame.
struct Worker<'a> {
    stack: &'a Stack,
    name: String,
    lease: Duration,
    below: Option<Handle>,
    command: &'a [OsString],
    settings: Settings,
    /// The variables with which the command finds the stack, if this program was told where it is.
    place: Vec<(&'static str, OsString)>,
    is_interrupted: Arc<AtomicBool>,
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
    if let Some(below) = below.filter(|below| !arguments.wait && stack.read(|tree| tree.children(*below).is_empty())) {
        let message = format!("there is no frame below {below}, and --below means those below it");
        let is_over = !stack.read(|tree| tree.node(below).status().is_unfinished());
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
        // The command is told by its documentation what to do, and has no conversation that would hold results.
        settings: Settings::default()
            .budget(context::budget(None)?)
            .guidance(Guidance::None)
            .tools(ToolNames::none())
            .finished_children(FinishedChildren::All),
        place: folder.variables()?,
        is_interrupted,
    };
    let mut worked = Worked {
        worker: worker.name.clone(),
        completed: 0,
        failed: 0,
        blocked: 0,
        later: 0,
        not_started: 0,
        lost: 0,
        left: WorkLeft::default(),
        in_the_way: Vec::new(),
        by_hand: Vec::new(),
        steps: Steps::default(),
        same_stack: folder.same_stack(),
    };
    worker.work(arguments, &mut worked)?;
    worker.look_back(&mut worked)?;
    // A reader who has enough does not change how the work has ended.
    output.report(&worked).or_else(|failure| if failure.is_closed_pipe() { Ok(()) } else { Err(failure) })?;
    Ok(match worker.is_interrupted() {
        true => Exit::Interrupted,
        // What waits for a frame that nobody works on is not done.
        false if worked.failed > 0 || worked.is_stuck() => Exit::Failed,
        false => Exit::Done,
    })
}

impl Worked {
    /// True if something is left of which nothing can begin: it waits for frames that are blocked, that persons or hosts have, or that have
    /// ended without completion.
    fn is_stuck(&self) -> bool {
        let WorkLeft { free, held, later, waiting, blocked, .. } = self.left;
        let is_left = blocked + waiting + self.by_hand.len() + self.in_the_way.len() > 0;
        free + held + later == 0 && is_left
    }
}

impl Worker<'_> {
    /// Works until nothing is left to do, the limit is reached, or the user interrupts the program.
    fn work(&self, arguments: &Arguments, worked: &mut Worked) -> Result<(), Failure> {
        let mut pause = LOOKS.0;
        let mut frames = 0;
        let mut not_started: BTreeMap<Handle, u64> = BTreeMap::new();
        let mut machine_failures = 0;
        while !self.is_interrupted() && arguments.limit.is_none_or(|limit| frames < limit) {
            let Some(hold) = self.hold()? else {
                let left = self.left()?;
                if left.free + left.held + left.later == 0 && !arguments.wait {
                    break;
                }
                thread::sleep(pause);
                pause = LOOKS.1.min(pause * 2);
                continue;
            };
            pause = LOOKS.0;
            frames += 1;
            let mut outcome = match arguments.tries {
                Some(tries) if hold.tries > tries => {
                    self.give_up(&hold, &format!("begun {} without a result", count(tries as usize, "time")))?
                }
                _ => self.work_on(&hold)?,
            };
            // A frame that was begun, or given up, has a new count.
            let starts = not_started.remove(&hold.handle).unwrap_or(0) + 1;
            match &outcome {
                Outcome::NotStarted(why) if starts >= arguments.tries.unwrap_or(STARTS) => {
                    let tried = count(starts as usize, "time");
                    outcome = self.give_up(&hold, &format!("tried {tried}, and could not be started: {why}"))?;
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
            self.say(hold.handle, &outcome);
            *match outcome {
                Outcome::Ended(PopStatus::Completed) => &mut worked.completed,
                Outcome::Ended(PopStatus::Failed) => &mut worked.failed,
                Outcome::Ended(PopStatus::Blocked) => &mut worked.blocked,
                Outcome::Later => &mut worked.later,
                Outcome::NotStarted(_) | Outcome::MachineFailed(_) => &mut worked.not_started,
                Outcome::Lost(_) | Outcome::Stopped => &mut worked.lost,
                Outcome::Interrupted => break,
            } += 1;
            if machine_failures > 0 {
                self.rest(MACHINE_PAUSE * 2_u32.pow(machine_failures - 1));
            }
        }
        Ok(())
    }

    /// Waits, unless the user interrupts the program.
    fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.is_interrupted() {
            thread::sleep(CHECKS.1);
        }
    }

    fn hold(&self) -> Result<Option<Hold>, Failure> {
        let mut hold = NewHold::new(self.name.clone(), milliseconds(self.lease));
        hold.below = self.below.map(FrameRef::from);
        match self.stack.hold(hold) {
            // The next look may succeed. A hold of which nobody knows ends with its lease.
            Err(error) if error.class() == ErrorClass::Passing => Ok(None),
            held => Ok(held?),
        }
    }

    /// Finds out what is left, and what keeps it from being done.
    fn look_back(&self, worked: &mut Worked) -> Result<(), Failure> {
        worked.left = self.left()?;
        let below = self.below;
        let is_blocked = |handle: &Handle| self.stack.read(|tree| tree.node(*handle).status() == FrameStatus::Blocked);
        worked.left.blocked += usize::from(below.is_some_and(|below| is_blocked(&below)));
        let InTheWay { ended, failed, completed, by_hand, asking, answered, .. } =
            self.stack.read(|tree| tree.in_the_way(below));
        (worked.in_the_way, worked.by_hand) = (ended, by_hand);
        worked.steps = Steps { failed, completed, asks: !asking.is_empty(), answered: answered.first().copied() };
        Ok(())
    }

    /// Blocks a frame that was begun too often. `what` has happened to it.
    fn give_up(&self, hold: &Hold, what: &str) -> Result<Outcome, Failure> {
        let question = format!("It was {what}. What is to be done?");
        let asks = || Finish::Asks { question: question.clone(), results: None };
        match self.patiently(|| self.stack.finish(hold, asks())) {
            Ok(_) => Ok(Outcome::Ended(PopStatus::Blocked)),
            Err(error) => lost(error),
        }
    }

    /// Runs the command on a frame, and records how it has ended.
    fn work_on(&self, hold: &Hold) -> Result<Outcome, Failure> {
        let mut process = match self.start(hold) {
            Ok(Ok(process)) => process,
            Ok(Err(outcome @ Outcome::NotStarted(_))) => return Ok(outcome),
            other => {
                // If that fails, the lease ends by itself.
                let _ = self.stack.release(hold);
                return other.map(|started| started.err().unwrap_or(Outcome::Interrupted));
            }
        };
        match self.follow(hold, &mut process)? {
            Ok(status) => self.record(hold, status, process),
            Err(outcome) => {
                process.stop();
                if let Outcome::Interrupted = outcome {
                    // If that fails, the lease ends by itself.
                    let _ = self.stack.release(hold);
                }
                Ok(outcome)
            }
        }
    }

    /// Starts the command. The inner error is why it cannot be started on this frame, or now.
    ///
    /// # Errors
    /// Those that concern all frames and do not pass: of the stack, of the budget, or if there is no such program any more.
    fn start(&self, hold: &Hold) -> Result<Result<Process, Outcome>, Failure> {
        let handle = hold.handle;
        let context = match self.patiently(|| self.stack.context_uncached(handle, &self.settings)) {
            Err(error @ Error::BudgetTooSmall { .. }) => {
                // A frame with room in the default budget is like others: then the one of the environment is wrong.
                let default = self.settings.clone().budget(Budget::default());
                return match self.patiently(|| self.stack.context_uncached(handle, &default)) {
                    Err(Error::BudgetTooSmall { .. }) => Ok(Err(Outcome::NotStarted(error.to_string()))),
                    _ => {
                        Err(Failure::from(error).next("raise STACK_TOKEN_BUDGET_TOTAL in the environment, or unset it"))
                    }
                };
            }
            context => context?,
        };
        let frame = self.patiently(|| self.stack.frame(handle))?;
        let [handle_name, worker_name, generation_name] = HOLD_VARIABLES;
        let mut variables = Vec::from([
            (handle_name, handle.to_string()),
            (worker_name, hold.name.clone()),
            (generation_name, hold.generation.to_string()),
            ("CALLSTACK_SESSION", frame.session_id),
            // The system refuses to start a command with a longer variable than some 100 KB.
            ("CALLSTACK_TITLE", frame.title.chars().take(LONGEST_TITLE).collect()),
        ])
        .into_iter()
        // No variable can hold this character.
        .map(|(name, value)| (name, OsString::from(value.replace('\0', "\u{FFFD}"))))
        .collect::<Vec<_>>();
        variables.extend(self.place.clone());
        let program = self.command[0].to_string_lossy();
        match Process::start(self.command, &context.xml, &variables) {
            Ok(process) => Ok(Ok(process)),
            Err(NotStarted::Frame(error)) => Ok(Err(Outcome::NotStarted(format!("cannot run {program}: {error}")))),
            Err(NotStarted::Machine(error)) => {
                process::check(self.command).map_err(|error| Failure::of_file("run", &program, &error))?;
                Ok(Err(Outcome::MachineFailed(Failure::of_file("run", &program, &error))))
            }
        }
    }

    /// Waits for the end of the command, and keeps the frame meanwhile. Returns why it is not to go on, if so.
    fn follow(&self, hold: &Hold, process: &mut Process) -> Result<Result<ExitStatus, Outcome>, Failure> {
        // The time of the system, not that of the stack: the command takes real time.
        let begun = Instant::now();
        let (mut renew_at, mut look_at, mut ended_at) = (begun + self.lease / 3, begun + NOTICE, None);
        let mut pause = CHECKS.0;
        loop {
            if let Some(status) = process.ended()? {
                return Ok(Ok(status));
            }
            if self.is_interrupted() {
                return Ok(Err(Outcome::Interrupted));
            }
            let now = Instant::now();
            if now >= renew_at && ended_at.is_none() {
                match self.stack.renew(hold, milliseconds(self.lease)) {
                    Ok(_) => renew_at = now + self.lease / 3,
                    // Tried again at the next look.
                    Err(error) if error.class() == ErrorClass::Passing => {}
                    // The frame has ended.
                    Err(Error::NotFree { .. }) => {}
                    Err(error) => return Ok(Err(lost(error)?)),
                }
            }
            if now >= look_at {
                look_at = now + NOTICE;
                let standing = match self.standing(hold) {
                    // While nobody can say, the command goes on.
                    Err(error) if error.class() == ErrorClass::Passing => Standing::Held,
                    standing => standing?,
                };
                match standing {
                    Standing::Held => {}
                    Standing::Ended if *ended_at.get_or_insert(now) + TIDYING > now => {}
                    Standing::Ended => return Ok(Err(self.own_end(hold).map_or(Outcome::Stopped, Outcome::Ended))),
                    Standing::Gone(outcome) => return Ok(Err(outcome)),
                }
            }
            thread::sleep(pause);
            pause = CHECKS.1.min(pause * 2);
        }
    }

    /// How the frame stands now.
    fn standing(&self, hold: &Hold) -> Result<Standing, Error> {
        self.stack.refresh()?;
        Ok(self.stack.read(|tree| {
            if let Err(error) = tree.check_holds(hold) {
                return Standing::Gone(Outcome::Lost(error));
            }
            let frame = tree.node(hold.handle).record();
            let release = frame.holder.as_deref().and_then(|holder| holder.released.as_ref());
            match frame.status {
                // An end of which nobody has heard was recorded.
                FrameStatus::InProgress
                    if release.is_some_and(|release| matches!(release.how, Release::PutBack { .. })) =>
                {
                    Standing::Gone(Outcome::Later)
                }
                FrameStatus::InProgress => Standing::Held,
                FrameStatus::Invalidated => Standing::Gone(Outcome::Stopped),
                _ if tree.node(hold.handle).retried_as().is_some() => Standing::Gone(Outcome::Stopped),
                _ if frame.current_question().is_some_and(|question| question.interruption) => {
                    Standing::Gone(Outcome::Stopped)
                }
                _ => Standing::Ended,
            }
        }))
    }

    /// Ends a frame by the exit status of its command and by what it has written.
    fn record(&self, hold: &Hold, status: ExitStatus, process: Process) -> Result<Outcome, Failure> {
        let written = process.written(self.lease)?;
        let finish = match status.code() {
            Some(0) => Finish::Done(results(&written)),
            Some(LATER) => Finish::Later { wait: None },
            Some(BLOCKED) => asks(&written),
            _ => Finish::Failed(failure(status, &written)),
        };
        if matches!(finish, Finish::Later { .. }) && !written.output.is_empty() {
            // The next try goes on with it. It fails if the frame has ended.
            let _ = self.patiently(|| self.keep_so_far(hold, &written));
        }
        loop {
            match self.patiently(|| self.standing(hold))? {
                Standing::Held => {}
                // The command has ended the frame itself, or somebody else has.
                Standing::Ended => return Ok(self.own_end(hold).map_or(Outcome::Stopped, Outcome::Ended)),
                Standing::Gone(outcome) => {
                    if matches!(outcome, Outcome::Stopped) && status.success() {
                        // Whoever goes on with the frame may use it. It fails if the frame has ended.
                        let _ = self.keep_so_far(hold, &written);
                    }
                    return Ok(outcome);
                }
            }
            match self.stack.finish(hold, finish.clone()) {
                Ok(finished) => return Ok(Outcome::of(finished)),
                // Somebody has stopped the frame in this moment.
                Err(Error::NotFree { .. }) => {}
                // What the command has done must not be lost.
                Err(error) if error.class() == ErrorClass::Passing && !self.is_interrupted() => thread::sleep(LOOKS.1),
                // The frame has ended in this moment, or a try of which nobody knew has ended it.
                Err(error @ (Error::Transition { .. } | Error::ResultsFixed { .. })) => {
                    return self.own_end(hold).map_or_else(|| lost(error), |status| Ok(Outcome::Ended(status)));
                }
                Err(error) => return lost(error),
            }
        }
    }

    /// Keeps what the command has written as the results so far.
    fn keep_so_far(&self, hold: &Hold, written: &Written) -> Result<(), Error> {
        self.stack.as_actor(hold).summarize(hold.handle, results(written))
    }

    /// How the frame has ended, if its newest holder is still this one.
    fn own_end(&self, hold: &Hold) -> Option<PopStatus> {
        self.stack.refresh().ok()?;
        let frame = self.stack.frame(hold.handle).ok()?;
        let is_own = frame.holder.is_some_and(|holder| holder.generation == hold.generation);
        match frame.status {
            FrameStatus::Completed if is_own => Some(PopStatus::Completed),
            FrameStatus::Failed if is_own => Some(PopStatus::Failed),
            FrameStatus::Blocked if is_own => Some(PopStatus::Blocked),
            _ => None,
        }
    }

    fn left(&self) -> Result<WorkLeft, Failure> {
        Ok(self.patiently(|| self.stack.work_left(self.below.map(FrameRef::from)))?)
    }

    /// Asks again while the error may pass, until the user interrupts the program.
    fn patiently<T>(&self, ask: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        loop {
            match ask() {
                Err(error) if error.class() == ErrorClass::Passing && !self.is_interrupted() => thread::sleep(LOOKS.1),
                answer => return answer,
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// Writes a line about a frame to the standard error.
    fn say(&self, handle: Handle, outcome: &Outcome) {
        let frame = self.stack.read(|tree| ChangedFrame::of(tree, handle));
        let mut writer = BufWriter::new(io::stderr().lock());
        let mut page = Page::new(&mut writer, Medium::errors());
        // Fails only if nobody reads it.
        let _ = match outcome {
            Outcome::Ended(_) => page.line(frame.line(frame.status.as_str())),
            Outcome::Later => page.line(frame.line("put back")),
            Outcome::NotStarted(why) => page.notice("not started", &format!("{handle}: {why}")),
            Outcome::MachineFailed(failure) => page.notice("not started", &format!("{handle}: {}", failure.message())),
            Outcome::Lost(error) => page.notice("lost", &error.to_string()),
            Outcome::Stopped => page.line(frame.line("stopped")),
            Outcome::Interrupted => page.line(frame.line("released")),
        };
    }
}

/// The outcome of a refusal: the frame belongs to another worker now.
///
/// # Errors
/// Errors that are no such refusal.
fn lost(error: Error) -> Result<Outcome, Failure> {
    match error {
        Error::HoldLost { .. } | Error::NotFree { .. } | Error::Transition { .. } => Ok(Outcome::Lost(error)),
        other => Err(other.into()),
    }
}

/// A name that no worker has on another machine, or on this one at the same time.
fn own_name() -> String {
    #[cfg(unix)]
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let host = std::env::var("COMPUTERNAME").unwrap_or_else(|_| "worker".to_owned());
    format!("{host}-{}", id())
}

fn milliseconds(time: Duration) -> u64 {
    time.as_millis() as u64
}

/// The results of a completed frame: all that the command has written. Of long ones the last paragraph is for prompts.
fn results(written: &Written) -> Results {
    match written.output.as_str() {
        "" => Results::new("The command has ended without output."),
        output if output.chars().count() > COMPACT => Results::new(output).compacted(last_paragraph(output)),
        output => Results::new(output),
    }
}

/// The last paragraph of a text, or its end.
fn last_paragraph(text: &str) -> &str {
    let paragraph = text.rsplit("\n\n").next().unwrap_or(text).trim();
    let start = paragraph.char_indices().rev().nth(COMPACT - 1).map_or(0, |(start, _)| start);
    &paragraph[start..]
}

/// The question of a command that needs a person: the last paragraph of what it has written. All of it are the results so far.
fn asks(written: &Written) -> Finish {
    let said = [&written.output, &written.errors].into_iter().find(|text| !text.is_empty());
    let question =
        said.map_or("The command needs a person, and has not said why.", |said| last_paragraph(said)).to_owned();
    let has_more = !written.output.is_empty() && written.output.trim() != question;
    Finish::Asks { question, results: has_more.then(|| results(written)) }
}

/// Why the command has failed: how it has ended, and the end of what it has said.
fn failure(status: ExitStatus, written: &Written) -> Results {
    let said = [&written.errors, &written.output].into_iter().find(|text| !text.is_empty());
    let said = said.map_or(String::new(), |said| format!(": {}", said.trim_end()));
    let full = format!("{status}{said}");
    match full.chars().count() > COMPACT {
        true => {
            let compacted = format!("{status}: {}", last_paragraph(&full));
            Results::new(full).compacted(compacted)
        }
        false => Results::new(full),
    }
}

impl Report for Worked {
    const KIND: &'static str = "worked";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let mut done = count(self.completed, "frame") + " completed";
        let WorkLeft { free, held, later, waiting, begun, blocked, .. } = self.left;
        let add = |text: &mut String, parts: &[(usize, &str)]| {
            for (number, what) in parts.iter().filter(|(number, _)| *number > 0) {
                let separator = if text.is_empty() { "" } else { ", " };
                text.push_str(&format!("{separator}{number} {what}"));
            }
        };
        add(
            &mut done,
            &[
                (self.failed, "failed"),
                (self.blocked, "blocked"),
                (self.later, "put back for later"),
                (self.not_started, "not started"),
                (self.lost, "lost to others, or stopped"),
            ],
        );
        page.text(0, &done)?;
        let mut left = String::new();
        add(
            &mut left,
            &[
                (free, "can begin"),
                (held, "with workers"),
                (later, "put back for later"),
                (waiting, "waiting for others"),
                (begun, "begun by persons or hosts"),
                (blocked, "blocked"),
            ],
        );
        match left.is_empty() {
            false => page.text(0, &format!("left: {left}"))?,
            true if self.in_the_way.is_empty() => page.text(0, "nothing is left")?,
            true => {}
        }
        list(page, "in the way", &self.in_the_way)?;
        list(page, "in progress by hand", &self.by_hand)?;
        let Steps { failed, completed, asks, answered } = self.steps;
        if let Some(failed) = failed {
            let steps = format!("`callstack retry {failed} --note TEXT`, or `callstack invalidate {failed} REASON`");
            next(page, &self.same_stack, steps)?;
        }
        if let Some(completed) = completed {
            next(page, &self.same_stack, format_args!("callstack reopen {completed} REASON"))?;
        }
        if failed.or(completed).is_none() && !self.in_the_way.is_empty() {
            let steps =
                "`callstack edit FRAME` for what it needs and where it is, or `callstack invalidate FRAME REASON`";
            next(page, &self.same_stack, steps)?;
        }
        if asks {
            next(page, &self.same_stack, "callstack answer")?;
        }
        if let Some(answered) = answered {
            next(page, &self.same_stack, format_args!("callstack activate {answered}"))?;
        }
        match self.by_hand.first() {
            Some(first) => next(page, &self.same_stack, format_args!("callstack pop {first} --results TEXT")),
            None => Ok(()),
        }
    }
}
