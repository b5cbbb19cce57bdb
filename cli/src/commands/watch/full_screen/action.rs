//! The changes that the person can make: the same as with the commands, with the same refusals.

use callstack_core::tree::decide_as;
use callstack_core::{
    Actor, Change, Command, Event, FrameEdit, FrameRef, FrameStatus, Handle, HolderKind, NewFrame, Parent, Results,
    Stack, Tree,
};

use crate::clock::now;
use crate::commands::{activate, answer, invalidate, plan, pop, retry, stop, undo};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::{DatabaseFile, StackFolder};
use crate::output::{Lines, Page, Report};

/// Maximum wait for other processes, in milliseconds. The screen does not change during the wait.
const PATIENCE: u64 = 400;

/// A change of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// With the question that the person has seen.
    Answer(Handle, Waiting),
    Stop(Handle),
    Retry(Handle),
    Invalidate(Handle),
    Complete(Handle),
    Begin(Handle),
    /// A new frame below this one.
    Plan(Handle),
    /// With the title that the person has seen.
    Edit(Handle, String),
    /// Takes back the last command of a person, no matter which frame is selected.
    Undo(Handle),
}

/// The question of a blocked frame, and its answer so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    pub question: String,
    pub answer: Option<String>,
    /// `None` for a frame that was blocked without a question.
    asked_at: Option<u64>,
}

/// The stack that is on the screen.
pub struct Shown<'a> {
    pub stack: &'a Stack,
    pub folder: &'a StackFolder,
    pub file: DatabaseFile,
}

/// The state of a frame before an action, and the effects of the action in addition to the change of the
/// frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    status: FrameStatus,
    /// Number of planned frames below the frame that become invalidated.
    pub invalidated: usize,
    /// Number of frames that hosts run, or workers have, and that become blocked.
    pub stopped: usize,
    /// True if the frame becomes failed.
    pub fails: bool,
}

impl Waiting {
    pub fn of(tree: &Tree, frame: Handle) -> Self {
        let record = tree.node(frame).record();
        Self {
            question: record.waits_for().to_owned(),
            answer: record.pending_answer().map(str::to_owned),
            asked_at: record.current_question().map(|question| question.asked_at),
        }
    }

    /// Checks that the frame still waits for the same. If a frame is not blocked any more, the stack decides.
    fn check(&self, tree: &Tree, frame: Handle) -> Result<(), Failure> {
        let current = Self::of(tree, frame);
        if current == *self || tree.node(frame).status() != FrameStatus::Blocked {
            return Ok(());
        }
        let is_same_question = (&current.question, current.asked_at) == (&self.question, self.asked_at);
        let (code, message, step) = match is_same_question {
            true => ("already_answered", "was answered meanwhile", "Enter adds your text to the answer above"),
            false => ("question_changed", "waits for something else now", "Enter answers the question above"),
        };
        Err(Failure::new(Exit::Refused, code, format!("{frame} {message}")).next(step))
    }
}

impl Effects {
    fn of(frame: Handle, status: FrameStatus, events: &[Event]) -> Self {
        let mut effects = Self { status, invalidated: 0, stopped: 0, fails: false };
        for Event { handle, change, .. } in events {
            match change {
                Change::Invalidated { .. } if *handle != frame => effects.invalidated += 1,
                Change::StatusChanged { status: FrameStatus::Blocked, .. } => effects.stopped += 1,
                Change::StatusChanged { status: FrameStatus::Failed, .. } if *handle == frame => effects.fails = true,
                _ => {}
            }
        }
        effects
    }

    /// Checks that an action has the effects that the person has seen.
    ///
    /// # Errors
    /// If the effects are different now.
    pub fn check(self, frame: Handle, current: Self) -> Result<(), Failure> {
        if current == self {
            return Ok(());
        }
        let message = match current.status == self.status {
            true => format!("the frames at or below {frame} have changed meanwhile"),
            false => format!("{frame} has become {} meanwhile", current.status),
        };
        Err(Failure::new(Exit::Refused, "state_changed", message).next("the question shows the effects now"))
    }
}

impl Action {
    pub fn frame(&self) -> Handle {
        match self {
            Self::Answer(frame, _) | Self::Edit(frame, _) => *frame,
            Self::Stop(frame) | Self::Retry(frame) | Self::Invalidate(frame) | Self::Complete(frame) => *frame,
            Self::Begin(frame) | Self::Plan(frame) | Self::Undo(frame) => *frame,
        }
    }

    /// True if it is done without a text of the person. The person confirms it.
    pub fn needs_no_text(&self) -> bool {
        matches!(self, Self::Stop(_) | Self::Begin(_) | Self::Undo(_))
    }

    pub fn verb(&self) -> &'static str {
        match self {
            Self::Answer(..) => "Answer",
            Self::Stop(_) => "Stop",
            Self::Retry(_) => "Retry",
            Self::Invalidate(_) => "Invalidate",
            Self::Complete(_) => "Complete",
            Self::Begin(_) => "Begin",
            Self::Plan(_) => "Plan below",
            Self::Edit(..) => "Edit the title of",
            Self::Undo(_) => "Undo, while you look at",
        }
    }

    /// Looks at the frame again because the frame has changed.
    pub fn look_again(&mut self, tree: &Tree) {
        if let Self::Answer(frame, waiting) = self {
            *waiting = Waiting::of(tree, *frame);
        }
    }

    /// The effects that it would have now. `text`: the text of the person; any other text before it is typed.
    ///
    /// # Errors
    /// The refusal of the stack.
    pub fn effects(&self, stack: &Stack, text: &str) -> Result<Effects, Failure> {
        let (handle, text) = (self.frame(), text.to_owned());
        let frame = FrameRef::from(handle);
        let command = match self {
            Self::Answer(..) => Command::Answer { frame, answer: text },
            Self::Stop(_) => Command::Stop { frame: Some(frame), reason: stop::REASON.to_owned() },
            Self::Invalidate(_) => Command::Invalidate { frame, reason: text },
            Self::Complete(_) => Command::Complete { frame, results: Results::new(text), next: None },
            Self::Begin(_) => Command::Begin { frame },
            Self::Plan(_) => Command::Plan(NewFrame::new(text).id(stack.planned_id()).below(frame)),
            Self::Edit(..) => Command::Edit { frame, edit: FrameEdit::default().title(text) },
            Self::Undo(_) => Command::Undo,
            // The retry itself finds out whether a host still runs it.
            Self::Retry(_) => {
                let is_interrupted = stack.read(|tree| tree.node(handle).record().host().is_some())?;
                Command::Retry { frame, session_id: stack.planned_id(), note: None, is_interrupted }
            }
        };
        stack.read(|tree| {
            let person = Actor::new(HolderKind::Person, "");
            let commit = decide_as(tree, Some(&person), command, now())?;
            Ok(Effects::of(handle, tree.node(handle).status(), &commit.events))
        })?
    }

    /// Does it, and returns the first line of what the command would say. `seen`: the effects that the person
    /// has agreed to.
    ///
    /// # Errors
    /// The errors of the command; if the folder contains another stack; if the frame or the effects differ
    /// from what the person has seen.
    pub fn carry_out(&self, text: &str, seen: Effects, shown: &Shown<'_>) -> Result<String, Failure> {
        let same_stack = shown.folder.same_stack();
        let typed = text.to_owned();
        shown.folder.change_once(PATIENCE, shown.file, |stack| {
            check_same_frame(stack, shown.stack, self.frame())?;
            seen.check(self.frame(), self.effects(stack, text)?)?;
            match self {
                Self::Answer(frame, waiting) => {
                    stack.read(|tree| waiting.check(tree, *frame))??;
                    said(&answer::answer_frame(stack, *frame, typed, same_stack)?)
                }
                Self::Stop(frame) => said(&stop::stop(stack, Some(*frame), stop::REASON.to_owned(), same_stack)?),
                Self::Retry(frame) => {
                    let note = Some(typed).filter(|note| !note.trim().is_empty());
                    said(&retry::retry(stack, *frame, note, same_stack)?)
                }
                Self::Complete(frame) => said(&pop::complete(stack, *frame, Results::new(typed), same_stack)?),
                Self::Begin(frame) => said(&activate::activate(stack, *frame, false, same_stack)?),
                Self::Plan(frame) => {
                    said(&plan::planned(stack, Parent::Frame((*frame).into()), vec![NewFrame::new(typed)], same_stack)?)
                }
                Self::Edit(frame, _) => {
                    stack.edit(*frame, FrameEdit::default().title(typed))?;
                    Ok(format!("edited {frame}"))
                }
                Self::Undo(_) => said(&undo::undo(stack, same_stack)?),
                Self::Invalidate(frame) => said(&invalidate::invalidate(stack, &[*frame], typed, false, same_stack)?),
            }
        })
    }
}

/// Checks that a handle names the frame that the person has seen: the folder can contain another stack
/// meanwhile.
fn check_same_frame(stack: &Stack, seen: &Stack, handle: Handle) -> Result<(), Failure> {
    stack.resolve(handle)?;
    let id = |stack: &Stack| stack.read(|tree| tree.node(handle).session_id().to_owned());
    if id(stack)? == id(seen)? {
        return Ok(());
    }
    let message = format!("{handle} is another frame now");
    Err(Failure::new(Exit::Refused, "other_frame", message)
        .next("quit, and look at the stack again: `callstack watch`"))
}

/// The first line of a report.
fn said(report: &impl Report) -> Result<String, Failure> {
    let mut lines = Lines::at_most(usize::MAX);
    report.write(&mut Page::collecting(&mut lines, usize::MAX))?;
    Ok(lines.lines.first().into_iter().flat_map(|line| line.parts()).map(|(_, text)| text).collect())
}
