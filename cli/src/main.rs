//! The program `callstack`: reads the command line and runs the command.

mod agent;
mod arguments;
mod commands;
mod driver;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Subcommand};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().command {
        Subcommand::Agent(arguments) => agent::run(&arguments).await,
    }
}
