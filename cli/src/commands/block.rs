//! `callstack block`: blocks a frame. The only words say what the frame waits for.

use clap::Args;

use super::pop::{self, Popped};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;

#[derive(Args)]
#[command(override_usage = "callstack block [FRAME] QUESTION")]
pub struct Arguments {
    /// The frame. Default: the active one, unless a session of an agent works on it.
    #[arg(value_name = "FRAME or QUESTION")]
    first: String,
    /// What it needs, and who can give it. `-` reads the standard input.
    #[arg(value_name = "QUESTION")]
    second: Option<String>,
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Popped, Failure> {
    let (frame, question) = input::frame_and_text(arguments.first, arguments.second, "the question")?;
    pop::run(pop::Arguments::blocking(frame, question), folder)
}
