//! `callstack done`: completes a frame. The only words are its results.

use clap::Args;

use super::pop::{self, Popped};
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
    let (frame, results) = input::frame_and_text(first, second, "the results")?;
    pop::run(pop::Arguments::completing(frame, results, anyway), folder)
}
