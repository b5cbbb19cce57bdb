//! The exit codes of the program. Scripts rely on them: a code never changes its meaning.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it was asked to do.
    Done = 0,
    /// Something outside of the request failed: a file, a disk, a damaged stack, a missing stack.
    Failed = 1,
    /// The command line cannot be understood, or has a value that no stack takes.
    Usage = 2,
    /// A limit was reached, such as the number of steps of an agent.
    Limit = 3,
    /// The request was refused, by the stack or because of what a given file contains, and nothing was
    /// changed.
    Refused = 4,
    /// Other processes used the stack for too long. It is not known whether the request was carried out.
    Unknown = 5,
    /// A person interrupted the program.
    Interrupted = 130,
}

impl Exit {
    /// The table of `--help`.
    pub const HELP: &str = "\
Exit codes:
  0    done
  1    a failure: files, a damaged stack, or no stack
  2    wrong arguments
  3    a limit was reached
  4    refused, by the stack or for the content of a given file; nothing was changed
  5    the stack was busy; the outcome is unknown
  130  interrupted";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
