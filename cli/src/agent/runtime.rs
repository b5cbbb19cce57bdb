//! The runtime of `callstack agent`. No other command starts one.

use super::{AgentArguments, run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Runs the command on a runtime of its own.
pub fn start(arguments: &AgentArguments, output: Output) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::new(Exit::Failed, "io", format!("the runtime of the agent cannot be started: {error}"))
    })?;
    runtime.block_on(run(arguments, output))
}
