//! The runtime of `callstack agent`. No other command starts one.

use std::process::ExitCode;

use super::{AgentArguments, run};

/// Runs the command on a runtime of its own.
pub fn start(arguments: &AgentArguments) -> ExitCode {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(arguments)),
        Err(error) => {
            eprintln!("callstack: the runtime of the agent cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}
