//! Those who act in a world: each is a process of a machine that uses the library as a program does.

mod conversation;
mod host;
mod importer;
mod keeper;
mod person;
mod worker;

use std::fmt::Display;

use callstack_core::Error;
use support::Random;

use crate::oracle::Violation;
use crate::process::Process;

/// The codes of errors of a store.
const STORAGE: [&str; 4] = ["busy", "io", "disk_full", "disconnected"];

/// The kinds of actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Holds a frame, works on it, and finishes it.
    Worker,
    /// Answers, stops, edits, retries, and takes commands back.
    Person,
    /// An agent that works on all its frames in one conversation, which is folded.
    Conversation,
    /// A host whose agents work in sessions.
    Host,
    /// Brings a plan up to date with its file.
    Importer,
    /// Makes snapshots, compacts the history, and looks whether it is sound.
    Keeper,
}

impl Kind {
    /// The name in stories.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Person => "person",
            Self::Conversation => "conversation",
            Self::Host => "host",
            Self::Importer => "importer",
            Self::Keeper => "keeper",
        }
    }

    /// An actor of this kind. `name`: that of its process.
    pub(crate) fn actor(self, name: &str) -> Box<dyn Actor> {
        match self {
            Self::Worker => Box::new(worker::Worker::default()),
            Self::Person => Box::new(person::Person),
            Self::Conversation => Box::new(conversation::Conversation::default()),
            Self::Host => Box::new(host::Host::new(name)),
            Self::Importer => Box::new(importer::Importer::default()),
            Self::Keeper => Box::new(keeper::Keeper),
        }
    }
}

/// An actor.
pub(crate) trait Actor: Send {
    /// Makes one step. The random numbers are those of the step.
    fn act(&mut self, process: &mut Process, random: &mut Random);
    /// All frames are done. It does what it still has to do.
    fn end(&mut self, _: &mut Process, _: &mut Random) {}
    /// Its process opens the stack again, which has lost events.
    fn reopen(&mut self) {}
    /// Its process has died, and with it what was only in its memory.
    fn die(&mut self) {}
}

/// Gives a command, tells its answer, and checks that an error is one that this actor may meet. `refusals`: the codes
/// with which the command may be refused at any time, because others act too.
pub(crate) fn attempt<T>(
    process: &mut Process,
    command: &'static str,
    refusals: &[&str],
    run: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    give(process, Command::begin(process, command, None), refusals, run)
}

/// As [`attempt`], for a command that records a marked text.
pub(crate) fn attempt_marked<T>(
    process: &mut Process,
    command: &'static str,
    mark: &str,
    refusals: &[&str],
    run: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    give(process, Command::begin(process, command, Some(mark.to_owned())), refusals, run)
}

fn give<T>(
    process: &Process,
    command: Command,
    refusals: &[&str],
    run: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let result = run();
    command.end(process, &Answered::of(&result));
    process.tell(|| match &result {
        Ok(_) => format!("{}: done", command.name),
        Err(error) => format!("{}: {} ({error})", command.name, error.code()),
    });
    if let Err(error) = &result {
        judge(process, command.name, error.code(), error, refusals);
    }
    result
}

/// A command that is under way. If it is refused, it has committed nothing. If it records a marked text, this is kept
/// once.
pub(crate) struct Command {
    name: &'static str,
    /// The text, which a command before may have recorded, and how often it was recorded.
    mark: Option<(String, usize)>,
    /// Number of events that its process had committed before. `None`: not counted, because the process commits
    /// other commands beside this one.
    own_events: Option<usize>,
    losses: usize,
}

impl Command {
    /// Before the command. `mark`: the text that it records.
    pub(crate) fn begin(process: &Process, name: &'static str, mark: Option<String>) -> Self {
        process.begin_command(name);
        let world = process.world();
        let counted = |mark: String| {
            let before = world.with_oracle(|oracle| oracle.count(&mark));
            (mark, before)
        };
        Self { name, mark: mark.map(counted), own_events: Some(process.own_events()), losses: world.losses() }
    }

    /// As [`Command::begin`], if the process commits other commands beside this one: a host notes in the same turn what
    /// others have done.
    pub(crate) fn begin_uncounted(process: &Process, name: &'static str, mark: Option<String>) -> Self {
        Self { own_events: None, ..Self::begin(process, name, mark) }
    }

    /// After the command.
    pub(crate) fn end(&self, process: &Process, answered: &Answered) {
        let world = process.world();
        if world.losses() != self.losses || process.has_died() {
            return;
        }
        let committed = self.own_events.map_or(0, |before| process.own_events() - before);
        if let Answered::Refused(why) = answered
            && committed > 0
        {
            let what = format!("{} was refused with {why}, and has committed {committed} events", self.name);
            world.fail(Violation::new("what is refused is not kept", what));
        }
        let Some((mark, before)) = &self.mark else { return };
        let count = world.with_oracle(|oracle| oracle.count(mark));
        let (rule, said) = match answered {
            Answered::Done if count != before + 1 => ("what is acknowledged is kept once", "acknowledged"),
            Answered::Unknown if count > before + 1 => ("what is acknowledged is kept once", "sent once"),
            Answered::Refused(_) if count != *before => ("what is refused is not kept", "refused"),
            _ => return,
        };
        world.fail(Violation::new(rule, format!("`{mark}` was {said}, and is there {count} times")));
    }
}

/// The outcome of a command, as its answer tells it.
pub(crate) enum Answered {
    /// It was carried out.
    Done,
    /// It was not, for this reason.
    Refused(String),
    /// It is not known.
    Unknown,
}

impl Answered {
    fn of<T>(result: &Result<T, Error>) -> Self {
        match result {
            Ok(_) => Self::Done,
            Err(error) if error.is_outcome_known() => Self::Refused(error.to_string()),
            Err(_) => Self::Unknown,
        }
    }
}

/// Checks that an error is one that a process may meet: because something has struck it, because others act too, or
/// because events are lost. `text`: its message.
pub(crate) fn judge(process: &Process, command: &str, code: &str, text: &dyn Display, refusals: &[&str]) {
    let world = process.world();
    if code == "replaced" {
        process.note_replaced();
    }
    let is_expected = match code {
        _ if process.has_died() || refusals.contains(&code) => true,
        "replaced" => world.losses() > 0,
        _ => STORAGE.contains(&code) && process.is_struck(),
    };
    if !is_expected {
        let what = format!("{command} of {} fails with {code}: {text}", process.name());
        world.fail(Violation::new("no actor meets an unexpected error", what));
    }
}
