//! `callstack block`: blocks a frame, with what it waits for as the only words.

use callstack_core::FrameRef;
use clap::Args;

use super::pop::{self, Popped};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;

#[derive(Args)]
#[command(override_usage = "callstack block [FRAME] QUESTION")]
pub struct Arguments {
    /// The frame. Default: the active one, unless a session of an agent works on it.
    #[arg(value_name = "FRAME or QUESTION")]
    first: String,
    /// What it needs, and from whom. `-` reads the standard input.
    #[arg(value_name = "QUESTION")]
    second: Option<String>,
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Popped, Failure> {
    let (frame, question) = match arguments {
        Arguments { first, second: Some(question) } => (Some(FrameRef::from(first)), question),
        Arguments { first, second: None } => (None, first),
    };
    input::check_not_forgotten(frame.as_ref(), &question, "the question")?;
    if question.trim().is_empty() {
        let message = "the question is empty";
        return Err(Failure::new(Exit::Refused, "empty", message)
            .next("say what the frame needs, and from whom: callstack block [FRAME] QUESTION"));
    }
    pop::run(pop::Arguments::blocking(frame, question), folder)
}
