//! A worker of `callstack work`: begins a frame, runs the command on it, keeps the frame meanwhile, and
//! records how it has ended.

use std::ffi::OsString;
use std::io::{self, BufWriter};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::frame::WorkLeft;
use callstack_core::work::Standing;
use callstack_core::{
    Budget, Error, ErrorClass, Finish, FrameRef, FrameStatus, Handle, Hold, NewHold, PopStatus, Settings, Stack,
};

use super::ending;
use super::process::{self, NotStarted, Process, Written};
use crate::commands::changed::ChangedFrame;
use crate::failure::Failure;
use crate::holding::HOLD_VARIABLES;
use crate::output::{Medium, Page};

/// How often the stack is looked at while nothing can be hold: soon after a change, and then more seldom.
pub(super) const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How often the frame of a running command is looked at: a person may have stopped it.
const NOTICE: Duration = Duration::from_secs(1);
/// How long a command may continue to run after its frame has ended: it can have ended the frame itself.
const TIDYING: Duration = Duration::from_secs(5);
/// How often the running command is looked at: soon after its start, and then more seldom.
const CHECKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));
/// Maximum length of the title that a command finds in its environment, in characters.
const LONGEST_TITLE: usize = 1_000;

/// How the work on a frame has ended for this worker.
pub(super) enum Outcome {
    /// The command has ended, and so has the frame.
    Ended(PopStatus),
    /// The frame waits for another try.
    Later,
    /// The command could not be started on this frame. The frame waits until its lease ends, as after a
    /// worker that was killed. Therefore this counts as a try.
    NotStarted(String),
    /// This machine could not start the command, no matter which frame it was. The frame was released.
    MachineFailed(Failure),
    /// Another holder has the frame now, or has ended it.
    Lost(Error),
    /// A person or a program has stopped the frame, or it was taken out of the plan.
    Stopped,
    /// A person has interrupted the program, and the frame was released.
    Interrupted,
}

impl Outcome {
    /// The outcome of an end with this status, or of a put-back.
    fn ended(status: FrameStatus) -> Self {
        match status {
            FrameStatus::Completed => Self::Ended(PopStatus::Completed),
            FrameStatus::Failed => Self::Ended(PopStatus::Failed),
            FrameStatus::Blocked => Self::Ended(PopStatus::Blocked),
            _ => Self::Later,
        }
    }

    /// The outcome for a worker whose frame is not held any more.
    fn of(standing: Standing) -> Self {
        match standing {
            Standing::Ended { status } => Self::ended(status),
            Standing::PutBack => Self::Later,
            _ => Self::Stopped,
        }
    }
}

/// A worker, with all that it needs for a frame.
#[derive(Clone)]
pub(super) struct Worker<'a> {
    pub(super) stack: &'a Stack,
    pub(super) name: String,
    pub(super) lease: Duration,
    pub(super) below: Option<Handle>,
    pub(super) command: &'a [OsString],
    pub(super) settings: Settings,
    /// The variables with which the command finds the stack, if this program was told where it is.
    pub(super) place: Vec<(&'static str, OsString)>,
    pub(super) is_interrupted: Arc<AtomicBool>,
}

impl Worker<'_> {
    /// The same worker under another name.
    pub(super) fn named(&self, name: String) -> Self {
        Self { name, ..self.clone() }
    }

    pub(super) fn hold(&self) -> Result<Option<Hold>, Failure> {
        let mut hold = NewHold::new(self.name.clone(), milliseconds(self.lease));
        hold.below = self.below.map(FrameRef::from);
        match self.stack.work().hold(hold) {
            // The next look may succeed. A hold that no worker knows of ends with its lease.
            Err(error) if error.class() == ErrorClass::Passing => Ok(None),
            held => Ok(held?),
        }
    }

    /// Blocks a frame that was begun too often. `what`: what has happened to it.
    pub(super) fn give_up(&self, hold: &Hold, what: &str) -> Result<Outcome, Failure> {
        let question = format!("It was {what}. What is to be done?");
        let asks = || Finish::Asks { question: question.clone(), results: None };
        match self.patiently(|| self.stack.work().finish(hold, asks())) {
            Ok(_) => Ok(Outcome::Ended(PopStatus::Blocked)),
            Err(error) => lost(error),
        }
    }

    /// Runs the command on a frame, and records how it has ended.
    pub(super) fn work_on(&self, hold: &Hold) -> Result<Outcome, Failure> {
        let mut process = match self.start(hold) {
            Ok(Ok(process)) => process,
            Ok(Err(outcome @ Outcome::NotStarted(_))) => return Ok(outcome),
            other => {
                // If that fails, the lease ends automatically.
                let _ = self.stack.work().release(hold);
                return other.map(|started| started.err().unwrap_or(Outcome::Interrupted));
            }
        };
        match self.follow(hold, &mut process)? {
            Ok(status) => self.record(hold, status, process),
            Err(outcome) => {
                process.stop();
                if let Outcome::Interrupted = outcome {
                    // If that fails, the lease ends automatically.
                    let _ = self.stack.work().release(hold);
                }
                Ok(outcome)
            }
        }
    }

    /// Starts the command. The inner error says why the command cannot be started on this frame, or now.
    ///
    /// # Errors
    /// Errors that concern all frames and do not pass: of the stack, of the budget, or if there is no such
    /// program any more.
    fn start(&self, hold: &Hold) -> Result<Result<Process, Outcome>, Failure> {
        let handle = hold.handle;
        let context = match self.patiently(|| self.stack.context_uncached(handle, &self.settings)) {
            Err(error @ Error::BudgetTooSmall { .. }) => {
                // If the frame has room in the default budget, it is like other frames. Then the budget of
                // the environment is wrong.
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

    /// Waits for the end of the command, and keeps the frame meanwhile. If the command is not to continue,
    /// returns the reason.
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
                match self.stack.work().renew(hold, milliseconds(self.lease)) {
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
                match self.stack.work().standing(hold) {
                    Ok(Standing::Held) => {}
                    Ok(Standing::Ended { .. }) if *ended_at.get_or_insert(now) + TIDYING > now => {}
                    Ok(standing) => return Ok(Err(Outcome::of(standing))),
                    // While the stack cannot tell, the command continues.
                    Err(error) if error.class() == ErrorClass::Passing => {}
                    Err(error) => return Ok(Err(lost(error)?)),
                }
            }
            self.stack.upkeep().poll();
            thread::sleep(pause);
            pause = CHECKS.1.min(pause * 2);
        }
    }

    /// Ends a frame by the exit status of its command and by what it has written.
    fn record(&self, hold: &Hold, status: ExitStatus, process: Process) -> Result<Outcome, Failure> {
        let written = process.written(self.lease)?;
        let finish = ending::finish(status, &written);
        if matches!(finish, Finish::Later { .. }) && !written.output.is_empty() {
            // The next try continues with it. This fails if the frame has ended.
            let _ = self.patiently(|| self.keep_so_far(hold, &written));
        }
        loop {
            match self.patiently(|| self.stack.work().standing(hold)) {
                Ok(Standing::Held) => {}
                // The command or another actor has ended the frame.
                Ok(standing) => {
                    if standing == Standing::Stopped && status.success() {
                        // The actor that continues the frame may use it. This fails if the frame has ended.
                        let _ = self.keep_so_far(hold, &written);
                    }
                    return Ok(Outcome::of(standing));
                }
                Err(error) => return lost(error),
            }
            match self.stack.work().finish(hold, finish.clone()) {
                Ok(finished) => return Ok(Outcome::ended(finished.status)),
                // The frame was stopped in this moment.
                Err(Error::NotFree { .. }) => {}
                // What the command has done must not be lost.
                Err(error) if error.class() == ErrorClass::Passing && !self.is_interrupted() => thread::sleep(LOOKS.1),
                // The frame has ended in this moment, or a try that this worker did not know of has ended it.
                Err(error @ (Error::Transition { .. } | Error::ResultsFixed { .. })) => {
                    return match self.stack.work().standing(hold) {
                        Ok(Standing::Ended { status }) => Ok(Outcome::ended(status)),
                        _ => lost(error),
                    };
                }
                Err(error) => return lost(error),
            }
        }
    }

    /// Keeps what the command has written as the results so far.
    fn keep_so_far(&self, hold: &Hold, written: &Written) -> Result<(), Error> {
        self.stack.as_actor(hold).summarize(hold.handle, ending::results(written))
    }

    pub(super) fn left(&self) -> Result<WorkLeft, Failure> {
        Ok(self.patiently(|| self.stack.work().left_for(&self.name, self.below.map(FrameRef::from)))?)
    }

    /// Waits, unless a person interrupts the program.
    pub(super) fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.is_interrupted() {
            thread::sleep(CHECKS.1);
        }
    }

    /// Asks again while the error may pass, until a person interrupts the program.
    fn patiently<T>(&self, ask: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        loop {
            match ask() {
                Err(error) if error.class() == ErrorClass::Passing && !self.is_interrupted() => thread::sleep(LOOKS.1),
                answer => return answer,
            }
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// Writes a line about a frame to the standard error.
    pub(super) fn say(&self, handle: Handle, outcome: &Outcome) {
        let Ok(frame) = self.stack.read(|tree| ChangedFrame::of(tree, handle)) else { return };
        let mut writer = BufWriter::new(io::stderr().lock());
        let mut page = Page::new(&mut writer, Medium::errors());
        // Fails only if no process reads it.
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
/// Errors that are not such a refusal.
fn lost(error: Error) -> Result<Outcome, Failure> {
    match error {
        Error::HoldLost { .. } | Error::NotFree { .. } | Error::Transition { .. } => Ok(Outcome::Lost(error)),
        other => Err(other.into()),
    }
}

fn milliseconds(time: Duration) -> u64 {
    time.as_millis() as u64
}
