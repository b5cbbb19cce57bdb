//! What the user can do to a frame: the same as with the commands, with the same refusals.

use callstack_core::{Command, FrameRef, Handle, Stack, decide};

use crate::commands::{answer, invalidate, retry, show, stop};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Lines, Page, Report};

/// A change of a frame, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Answer(Handle, String),
    Stop(Handle),
    Retry(Handle, String),
    Invalidate(Handle, String),
}

impl Action {
    pub fn frame(&self) -> Handle {
        match self {
            Self::Answer(frame, _) | Self::Stop(frame) | Self::Retry(frame, _) | Self::Invalidate(frame, _) => *frame,
        }
    }

    pub fn verb(&self) -> &'static str {
        match self {
            Self::Answer(..) => "Answer",
            Self::Stop(_) => "Stop",
            Self::Retry(..) => "Retry",
            Self::Invalidate(..) => "Invalidate",
        }
    }

    pub fn with_text(self, text: &str) -> Self {
        let text = text.to_owned();
        match self {
            Self::Answer(frame, _) => Self::Answer(frame, text),
            Self::Retry(frame, _) => Self::Retry(frame, text),
            Self::Invalidate(frame, _) => Self::Invalidate(frame, text),
            Self::Stop(frame) => Self::Stop(frame),
        }
    }

    /// Checks that the stack would do it, before the user types anything.
    ///
    /// # Errors
    /// The refusal of the stack.
    pub fn check(&self, stack: &Stack) -> Result<(), Failure> {
        let frame = FrameRef::from(self.frame());
        // Any text will do: the one of the user is not typed yet.
        let text = "text".to_owned();
        let command = match self {
            Self::Answer(..) => Command::Answer { frame, answer: text },
            Self::Stop(_) => Command::Stop { frame: Some(frame), reason: text },
            Self::Invalidate(..) => Command::Invalidate { frame, reason: text },
            // Whether a host still runs it is found out when it is done.
            Self::Retry(..) => {
                let is_interrupted = stack.read(|tree| tree.node(self.frame()).record().call.is_some());
                Command::Retry { frame, session_id: stack.planned_id(), note: None, is_interrupted }
            }
        };
        Ok(stack.read(|tree| decide(tree, command, show::now()).map(drop))?)
    }

    /// Does it, and returns what the command would say in its first line.
    ///
    /// # Errors
    /// Those of the command.
    pub fn carry_out(self, folder: &StackFolder) -> Result<String, Failure> {
        let same_stack = folder.same_stack();
        folder.change_once(|stack| match self {
            Self::Answer(frame, text) => said(&answer::answer_frame(stack, frame, text, same_stack)?),
            Self::Stop(frame) => said(&stop::stop(stack, Some(frame), stop::REASON.to_owned(), same_stack)?),
            Self::Retry(frame, note) => {
                let note = Some(note).filter(|note| !note.trim().is_empty());
                said(&retry::retry(stack, frame, note, same_stack)?)
            }
            Self::Invalidate(frame, reason) => said(&invalidate::invalidate(stack, frame, reason, same_stack)?),
        })
    }
}

/// The first line of a report.
fn said(report: &impl Report) -> Result<String, Failure> {
    let mut lines = Lines::at_most(usize::MAX);
    report.write(&mut Page::collecting(&mut lines, usize::MAX))?;
    Ok(lines.lines.first().into_iter().flat_map(|line| line.parts()).map(|(_, text)| text).collect())
}
