//! The commands that look at a stack and change it: a file for each. A command reads its arguments, calls the library, and
//! returns a [`Report`](crate::output::Report).

mod activate;
mod answer;
mod artifact;
mod changed;
mod decide;
mod edit;
mod heap;
mod import;
mod invalidate;
mod plan;
mod pop;
mod push;
mod retry;
mod stop;
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
    /// Plans frames, to be begun later.
    Plan(plan::Arguments),
    /// Changes a planned frame: what it is about, what it needs, or its place.
    Edit(edit::Arguments),
    /// Finishes a frame with results, or blocks it.
    Pop(pop::Arguments),
    /// Begins a planned frame, or goes on with an open one.
    Activate(activate::Arguments),
    /// Answers a blocked frame, or lists the blocked frames.
    Answer(answer::Arguments),
    /// Stops frames that agents work on.
    Stop(stop::Arguments),
    /// Plans the next attempt of a frame that failed or is blocked.
    Retry(retry::Arguments),
    /// Removes a frame from the plan.
    Invalidate(invalidate::Arguments),
    /// Records a decision in a frame.
    Decide(decide::Arguments),
    /// Records in a frame what its work has made.
    Artifact(artifact::Arguments),
    /// Shows and changes the texts on the heap, which are in every request.
    Heap(heap::Arguments),
    /// Adds the plan of another tool, or the frames of a state.
    Import(import::Arguments),
}

/// Runs a command and writes its report.
pub fn run(command: StackCommand, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    match command {
        StackCommand::Tree(arguments) => output.report(&tree::run(&arguments, folder)?)?,
        StackCommand::Push(arguments) => output.report(&push::run(arguments, folder)?)?,
        StackCommand::Plan(arguments) => output.report(&plan::run(arguments, folder)?)?,
        StackCommand::Edit(arguments) => output.report(&edit::run(arguments, folder)?)?,
        StackCommand::Pop(arguments) => output.report(&pop::run(arguments, folder)?)?,
        StackCommand::Activate(arguments) => output.report(&activate::run(arguments, folder)?)?,
        StackCommand::Answer(arguments) => match answer::run(arguments, folder)? {
            answer::Outcome::Answered(answered) => output.report(&answered)?,
            answer::Outcome::Listed(blocked) => output.report(&blocked)?,
        },
        StackCommand::Stop(arguments) => output.report(&stop::run(arguments, folder)?)?,
        StackCommand::Retry(arguments) => output.report(&retry::run(arguments, folder)?)?,
        StackCommand::Invalidate(arguments) => output.report(&invalidate::run(arguments, folder)?)?,
        StackCommand::Decide(arguments) => output.report(&decide::run(arguments, folder)?)?,
        StackCommand::Artifact(arguments) => output.report(&artifact::run(arguments, folder)?)?,
        StackCommand::Heap(arguments) => heap::run(arguments, folder, output)?,
        StackCommand::Import(arguments) => output.report(&import::run(arguments, folder)?)?,
    }
    Ok(Exit::Done)
}
