//! The commands that look at a stack and change it: a file for each. A command reads its arguments, calls the library, and
//! returns a [`Report`](crate::output::Report).

mod context;
mod doctor;
mod event_line;
mod export;
mod frame_line;
mod history;
mod log;
mod push;
mod ready;
pub mod runs;
mod schema;
mod shell;
mod show;
mod tree;
mod usage;
mod watch;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::Output;

#[derive(clap::Subcommand)]
pub enum StackCommand {
    /// Shows the frames as a tree.
    Tree(tree::Arguments),
    /// Shows everything about a frame.
    Show(show::Arguments),
    /// Shows what the agent of a frame sees.
    Context(context::Arguments),
    /// Lists the planned frames that can begin.
    Ready(ready::Arguments),
    /// Shows what was said in the session of a frame.
    Log(log::Arguments),
    /// Lists what has happened, event by event.
    History(history::Arguments),
    /// Sums what requests to models have used, and what they cost.
    Usage(usage::Arguments),
    /// Writes every change as it happens.
    Watch(watch::Arguments),
    /// Examines the stack, and says what to do if something is wrong.
    Doctor,
    /// Begins a frame.
    Push(push::Arguments),
    /// Lists the runs of agents, shows one, or ends it.
    Runs(runs::Arguments),
    /// Writes the stack as a file for other programs.
    Export(export::Arguments),
    /// Prints the JSON Schemas of what the commands write with --json.
    Schema(schema::Arguments),
    /// Prints the completions of a shell.
    Completions(shell::CompletionArguments),
    /// Makes man pages.
    Man(shell::ManArguments),
}

/// Runs a command and writes its report.
pub fn run(command: StackCommand, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    match command {
        StackCommand::Tree(arguments) => output.report(&tree::run(&arguments, folder)?)?,
        StackCommand::Show(arguments) => output.report(&show::run(&arguments, folder)?)?,
        StackCommand::Context(arguments) => output.report(&context::run(&arguments, folder)?)?,
        StackCommand::Ready(arguments) => output.report(&ready::run(&arguments, folder)?)?,
        StackCommand::Log(arguments) => output.report(&log::run(arguments, folder)?)?,
        StackCommand::History(arguments) => output.report(&history::run(&arguments, folder)?)?,
        StackCommand::Watch(arguments) => return watch::run(&arguments, folder, output),
        StackCommand::Doctor => return doctor::run(folder, output),
        StackCommand::Usage(arguments) => output.report(&usage::run(&arguments, folder)?)?,
        StackCommand::Push(arguments) => output.report(&push::run(arguments, folder)?)?,
        StackCommand::Runs(arguments) => return runs::run(&arguments, folder, output),
        StackCommand::Export(arguments) => output.report(&export::run(&arguments, folder)?)?,
        StackCommand::Schema(arguments) => output.report(&schema::run(&arguments)?)?,
        StackCommand::Completions(arguments) => output.report(&shell::completions(&arguments))?,
        StackCommand::Man(arguments) => output.report(&shell::man(&arguments)?)?,
    }
    Ok(Exit::Done)
}

/// The schemas of all kinds.
fn schemas() -> Vec<schema::Named> {
    vec![
        schema::of::<Failure>(),
        schema::of::<context::FrameContext>(),
        schema::of::<doctor::Diagnosis>(),
        schema::of::<export::Export>(),
        schema::of::<history::History>(),
        schema::of::<log::Log>(),
        schema::of::<push::Pushed>(),
        schema::of::<ready::Ready>(),
        schema::of::<runs::RunDetails>(),
        schema::of::<runs::RunDropped>(),
        schema::of::<runs::Runs>(),
        schema::of::<schema::Schemas>(),
        schema::of::<shell::Completions>(),
        schema::of::<shell::ManPages>(),
        schema::of::<show::FrameDetails>(),
        schema::of::<tree::FrameTree>(),
        schema::of::<usage::Usage>(),
        watch::schemas(),
    ]
}
