//! The start of `callstack agent`.

use super::{AgentArguments, run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::runtime::runtime;

/// Runs the command on a runtime of its own.
pub fn start(arguments: &AgentArguments, output: Output) -> Result<Exit, Failure> {
    runtime("agent")?.block_on(run(arguments, output))
}
