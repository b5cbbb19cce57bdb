//! The command line of the program `callstack`.

use clap::Parser;

use crate::agent::AgentArguments;

/// A call stack for agents.
#[derive(Parser)]
#[command(name = "callstack", version)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Subcommand,
}

#[derive(clap::Subcommand)]
pub enum Subcommand {
    /// Runs an agent that manages its own memory in a workspace, until its task is done.
    ///
    /// The result is written to the standard output, and the progress to the standard error. Each step is saved in the
    /// folder .callstack of the workspace. The agent runs shell commands with your rights: use a workspace that it may
    /// change, or a container.
    #[command(args_override_self = true)]
    Agent(AgentArguments),
}
