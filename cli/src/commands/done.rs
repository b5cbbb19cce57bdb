//! `callstack done`: completes a frame, with its results as the only words.

use callstack_core::FrameRef;
use clap::Args;

use super::pop::{self, Popped};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;

#[derive(Args)]
#[command(override_usage = "callstack done [FRAME] RESULTS")]
pub struct Arguments {
    /// The frame. Default: the active one, unless a session of an agent works on it.
    #[arg(value_name = "FRAME or RESULTS")]
    first: String,
    /// What exists now, where, and how it is used. `-` reads the standard input.
    #[arg(value_name = "RESULTS")]
    second: Option<String>,
    /// Complete the frame although frames below it are open or planned.
    #[arg(long)]
    anyway: bool,
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Popped, Failure> {
    let Arguments { first, second, anyway } = arguments;
    let (frame, results) = match second {
        Some(results) => (Some(FrameRef::from(first)), results),
        None => (None, first),
    };
    input::check_not_forgotten(frame.as_ref(), &results, "the results")?;
    if results.trim().is_empty() {
        let message = "the results are empty";
        return Err(Failure::new(Exit::Refused, "empty", message)
            .next("say what exists now, where, and how it is used: callstack done [FRAME] RESULTS"));
    }
    pop::run(pop::Arguments::completing(frame, results, anyway), folder)
}
