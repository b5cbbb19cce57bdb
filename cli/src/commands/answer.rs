//! `callstack answer`: gives a blocked frame what it waits for, or lists the blocked frames.

use std::io;

use callstack_core::text::one_line;
use callstack_core::{FrameStatus, Handle, Stack, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{ChangedFrame, next};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{Page, Report};
use crate::same_stack::SameStack;

/// Maximum number of blocked frames that an error lists.
const LISTED: usize = 8;

#[derive(Args)]
#[command(override_usage = "callstack answer [FRAME] ANSWER\n       callstack answer")]
pub struct Arguments {
    /// The blocked frame: its handle, its ID, its title, or the beginning of one of these. Default: the only
    /// frame that waits for an answer.
    #[arg(value_name = "FRAME")]
    first: Option<String>,
    /// What the frame needs to know. `-` reads the standard input. Without it, the blocked frames are listed.
    #[arg(value_name = "ANSWER")]
    second: Option<String>,
}

/// The result of the command.
pub enum Outcome {
    Answered(Answered),
    Listed(BlockedFrames),
}

/// The answered frame. It is blocked until its session resumes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    #[serde(flatten)]
    frame: ChangedFrame,
    /// What the frame waited for.
    question: String,
    /// The whole answer. A second answer is added to the first one.
    answer: String,
    /// True if the frame has a session. The host of the session resumes the frame.
    has_session: bool,
    /// True if an agent has worked on it in the conversation of another frame.
    #[serde(skip)]
    is_in_conversation: bool,
    /// True if a worker has begun it.
    #[serde(skip)]
    has_worker: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

/// The blocked frames, in the order of their creation.
#[derive(Serialize, JsonSchema)]
pub struct BlockedFrames {
    frames: Vec<BlockedFrame>,
    #[serde(skip)]
    same_stack: SameStack,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BlockedFrame {
    #[serde(flatten)]
    frame: ChangedFrame,
    waits_for: String,
    /// The answer, if the frame has not been resumed with it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

impl Report for Answered {
    const KIND: &'static str = "answered";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(self.frame.line_with("answered", ""))?;
        match self.has_session {
            true if self.is_in_conversation => {
                page.text(0, "its agent reads the answer with its next request, and can continue the frame")
            }
            true => page.text(0, "its session resumes within a second if its host runs, else when the host runs again"),
            false if self.has_worker => {
                page.text(0, "a worker begins it again; if none runs: callstack work -- COMMAND")
            }
            false => next(page, &self.same_stack, format_args!("callstack activate {}", self.frame.handle)),
        }
    }
}

impl Report for BlockedFrames {
    const KIND: &'static str = "blockedFrames";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.frames.is_empty() {
            return page.text(0, "No frame is blocked.");
        }
        for BlockedFrame { frame, waits_for, answer } in &self.frames {
            page.line(frame.line_with("blocked", ""))?;
            page.text(4, &format!("waits for: {}", one_line(waits_for)))?;
            if let Some(answer) = answer {
                page.text(4, &format!("answered: {}", one_line(answer)))?;
            }
        }
        next(page, &self.same_stack, "callstack answer FRAME TEXT")
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Outcome, Failure> {
    let Some(first) = arguments.first else {
        let stack = folder.open_to_read()?;
        let same_stack = folder.same_stack();
        return Ok(Outcome::Listed(stack.read(|tree| BlockedFrames { frames: blocked(tree).collect(), same_stack })?));
    };
    let (frame, answer) = input::frame_and_text(first, arguments.second, "the answer")?;
    let answer = input::text(answer)?;
    let stack = folder.open_to_write()?;
    let handle = match frame {
        Some(frame) => stack.resolve(frame)?,
        None => only_waiting(&stack)?,
    };
    Ok(Outcome::Answered(answer_frame(&stack, handle, answer, folder.same_stack())?))
}

/// Answers a blocked frame.
pub fn answer_frame(stack: &Stack, handle: Handle, answer: String, same_stack: SameStack) -> Result<Answered, Failure> {
    stack.answer(handle, answer)?;
    Ok(stack.read(|tree| {
        let record = tree.node(handle).record();
        Answered {
            frame: ChangedFrame::of(tree, handle),
            question: record.waits_for().to_owned(),
            answer: record.pending_answer().unwrap_or_default().to_owned(),
            has_session: record.has_session(),
            is_in_conversation: record.conversation().is_some(),
            has_worker: record.worker().is_some(),
            same_stack,
        }
    })?)
}

fn blocked(tree: &Tree) -> impl Iterator<Item = BlockedFrame> {
    tree.with_status(FrameStatus::Blocked).map(|handle| {
        let record = tree.node(handle).record();
        BlockedFrame {
            frame: ChangedFrame::of(tree, handle),
            waits_for: record.waits_for().to_owned(),
            answer: record.pending_answer().map(str::to_owned),
        }
    })
}

/// The only blocked frame that has no answer yet.
fn only_waiting(stack: &Stack) -> Result<Handle, Failure> {
    let waiting: Vec<BlockedFrame> =
        stack.read(|tree| blocked(tree).filter(|frame| frame.answer.is_none()).collect())?;
    match &waiting[..] {
        [only] => Ok(only.frame.handle),
        [] => Err(Failure::new(Exit::Refused, "not_blocked", "no frame waits for an answer").next(
            match stack.read(|tree| blocked(tree).next())? {
                Some(BlockedFrame { frame, .. }) => {
                    format!("`callstack answer {} TEXT` adds to the answer that it has", frame.handle)
                }
                None => "`callstack tree` shows what each frame does".to_owned(),
            },
        )),
        several => {
            let name = |BlockedFrame { frame, .. }: &BlockedFrame| format!("{} ({})", frame.handle, frame.title);
            let listed = several.iter().take(LISTED).map(name).collect::<Vec<_>>().join(", ");
            let message = format!("{} frames wait for an answer: {listed}; name one", several.len());
            Err(Failure::new(Exit::Refused, "ambiguous_frame", message)
                .next("`callstack answer` lists them with what they wait for"))
        }
    }
}
