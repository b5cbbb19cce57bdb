//! The commands that look at a stack and change it: a file for each. A command reads its arguments, calls the library, and
//! returns a [`Report`](crate::output::Report).

mod push;
pub mod runs;
mod tree;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::Output;

#[derive(clap::Subcommand)]
pub enum StackCommand {
    /// Shows the frames as a tree.
    Tree(tree::Arguments),
    /// Begins a frame.
    Push(push::Arguments),
}

/// Runs a command and writes its report.
pub fn run(command: StackCommand, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    match command {
        StackCommand::Tree(arguments) => output.report(&tree::run(&arguments, folder)?)?,
        StackCommand::Push(arguments) => output.report(&push::run(arguments, folder)?)?,
    }
    Ok(Exit::Done)
}
