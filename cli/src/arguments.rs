//! The command line.

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
    /// Its result goes to the standard output, what it does to the standard error. Everything is saved step by step in
    /// the folder .callstack of the workspace. The agent runs commands with your rights: give it a workspace that it
    /// may change, or a container.
    #[command(args_override_self = true)]
    Agent(AgentArguments),
}
