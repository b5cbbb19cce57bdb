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

use crate::medium::Kind as Medium;
use crate::oracle::Violation;
use crate::process::Process;

/// The codes of errors of a store.
const STORAGE: [&str; 3] = ["busy", "io", "disk_full"];

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
    process.begin_command(command);
    let result = run();
    answered(process, command, result, refusals)
}

/// As [`attempt`], for a command that records a marked text.
pub(crate) fn attempt_marked<T>(
    process: &mut Process,
    command: &'static str,
    mark: &str,
    refusals: &[&str],
    run: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    process.begin_command(command);
    let marked = Marked::begin(process, mark.to_owned());
    let result = run();
    marked.end(process, &Answered::of(&result));
    answered(process, command, result, refusals)
}

/// A command that records a marked text. It is checked that the text is kept once if the command says so, and not
/// at all if it is refused.
pub(crate) struct Marked {
    pub(crate) mark: String,
    losses: usize,
    before: usize,
}

impl Marked {
    /// Before the command. `mark`: the text, which a command before may have recorded.
    pub(crate) fn begin(process: &Process, mark: String) -> Self {
        let world = process.world();
        let before = world.with_oracle(|oracle| oracle.count(&mark));
        Self { losses: world.losses(), before, mark }
    }

    /// After the command.
    pub(crate) fn end(&self, process: &Process, answered: &Answered) {
        let world = process.world();
        let count = world.with_oracle(|oracle| oracle.count(&self.mark));
        let has_died = process.has_died();
        if world.losses() != self.losses || has_died {
            return;
        }
        match answered {
            Answered::Done if count != self.before + 1 => {
                let what = format!("`{}` was acknowledged, and is there {count} times", self.mark);
                world.fail(Violation::new("what is acknowledged is kept once", what));
            }
            Answered::Unknown if count > self.before + 1 => {
                let what = format!("`{}` was sent once, and is there {count} times", self.mark);
                world.fail(Violation::new("what is acknowledged is kept once", what));
            }
            Answered::Refused(why) if count != self.before => {
                let what = format!("`{}` was refused with {why}, and is there {count} times", self.mark);
                world.fail(Violation::new("what is refused is not kept", what));
            }
            _ => {}
        }
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

/// Looks at the answer of a command.
fn answered<T>(process: &Process, command: &str, result: Result<T, Error>, refusals: &[&str]) -> Result<T, Error> {
    process.tell(|| match &result {
        Ok(_) => format!("{command}: done"),
        Err(error) => format!("{command}: {} ({error})", error.code()),
    });
    if let Err(error) = &result {
        judge(process, command, error.code(), error, refusals);
    }
    result
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
        // A server ends the transaction of a silent process, and its failover breaks connections.
        "disconnected" => process.is_struck() || world.setting().kind == Medium::Server,
        _ => STORAGE.contains(&code) && process.is_struck(),
    };
    if !is_expected {
        let what = format!("{command} of {} fails with {code}: {text}", process.name());
        world.fail(Violation::new("no actor meets an unexpected error", what));
    }
}
