//! What can go wrong in a command: a code and a message, what to do next, and the exit code.

use std::fmt::Display;
use std::io;

use callstack_core::{Error, ErrorClass, Stack};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Exit;
use crate::same_stack::SameStack;

/// A failed command. With `--json` it is written to the standard error as an envelope of the kind `error`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// A short name for programs, such as `unknown_frame`. It never changes.
    code: String,
    /// What went wrong, for people.
    message: String,
    /// What to do next, if the message does not say it: a command, or a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

impl Failure {
    pub fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), next_step: None, exit }
    }

    /// Says what to do next.
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next_step = Some(step.into());
        self
    }

    /// The failure of a command that had changed nothing yet.
    pub fn before_change(self) -> Self {
        match self.exit {
            Exit::Unknown => self.next("nothing was changed; repeat the command"),
            _ => self,
        }
    }

    /// The failure to write the output of a command that had made its change.
    pub fn after_change(mut self) -> Self {
        self.message = format!("the command was carried out, but {}", self.message);
        self
    }

    /// The failure as a command reports it: what to do next names the stack of the command.
    pub fn of_stack(mut self, same_stack: &SameStack) -> Self {
        self.next_step = self.next_step.map(|step| same_stack.named_in(&step));
        self
    }

    /// The failure of an operation on a file that is not part of a stack.
    pub fn of_file(action: &str, path: impl Display, error: &io::Error) -> Self {
        Self::new(Exit::Failed, "io", format!("cannot {action} {path}: {error}"))
    }

    /// The message and what to do next, for an agent.
    pub fn for_agents(&self) -> String {
        match &self.next_step {
            Some(step) => format!("{}; {step}", self.message),
            None => self.message.clone(),
        }
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn next_step(&self) -> Option<&str> {
        self.next_step.as_deref()
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// True if the reader of the output has gone, which is not a failure.
    pub fn is_closed_pipe(&self) -> bool {
        self.code == CLOSED_PIPE
    }
}

const CLOSED_PIPE: &str = "closed_pipe";

impl From<io::Error> for Failure {
    /// The failure of the standard output.
    fn from(error: io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::BrokenPipe { CLOSED_PIPE } else { "io" };
        Self::new(Exit::Failed, code, format!("cannot write the output: {error}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::new(exit_of(&error), error.code(), error.to_string());
        match next_step(&error) {
            Some(step) => failure.next(step),
            None => failure,
        }
    }
}

/// The failures of files, disks and histories are not caused by the request.
fn exit_of(error: &Error) -> Exit {
    match error.class() {
        _ if !error.is_outcome_known() => Exit::Unknown,
        ErrorClass::Usage => Exit::Usage,
        ErrorClass::Refused => Exit::Refused,
        _ => Exit::Failed,
    }
}

/// The command that helps, if the message cannot name it because the message is for all hosts.
fn next_step(error: &Error) -> Option<&'static str> {
    match error {
        Error::Child { error, .. } => next_step(error),
        Error::UnknownFrame { .. } | Error::AmbiguousFrame { .. } => {
            Some("`callstack tree --all` lists the frames with their handles")
        }
        _ if !error.is_outcome_known() => {
            Some("`callstack history` shows whether the change was made, as a whole; if it was not, repeat the command")
        }
        Error::Replaced { path, .. } if Stack::is_url(path) => {
            Some("`callstack postgres stacks URL` lists the existing stacks")
        }
        Error::Version { .. } => None,
        _ if error.class() == ErrorClass::Damaged => {
            Some("`callstack doctor` says what is damaged and what can be saved")
        }
        // The message says what is wrong with a server.
        Error::Io { path, .. } if Stack::is_url(path) => None,
        Error::ReadOnly { path, .. } if Stack::is_url(path) => Some(
            "this role may only read it; the owner of the database lets it write: `callstack postgres grant URL ROLE --tenant TENANT`",
        ),
        Error::Io { .. } => {
            Some("look at the rights of the folder; if it is read-only, copy it, and name the copy with --stack")
        }
        Error::ReadOnly { .. } => Some("change the rights of the folder, or work on a copy of it with --stack"),
        _ => None,
    }
}
