//! The question of a blocked frame, which a host can put to the person. The frame is blocked before the
//! person is asked, so nothing is lost if no person answers: the question stays with the frame.

use std::fmt;

use super::caller::indented;
use super::{Called, Conversation, Refusal};
use crate::error::Result;
use crate::frame::{FrameStatus, Handle, Holder};
use crate::session::calls;
use crate::stack::Stack;

/// A question with which a frame was blocked. As text, such as `f3/1`, it passes through a host that repeats
/// a call with the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    frame: Handle,
    /// The number of the question among the frame's questions: it may have been answered, and another one
    /// asked, in the meantime.
    number: usize,
}

impl fmt::Display for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.frame, self.number)
    }
}

impl Question {
    /// Reads such a text. `None`: it is not a question.
    pub fn read(text: &str) -> Option<Self> {
        let (frame, number) = text.split_once('/')?;
        Some(Self { frame: frame.parse().ok()?, number: number.parse().ok()? })
    }

    /// The question of a blocked frame that has no answer yet.
    pub(super) fn of(stack: &Stack, frame: Handle) -> Option<Self> {
        stack.look(|tree| {
            let record = tree.node(frame).record();
            let is_open = record.status == FrameStatus::Blocked && record.pending_answer().is_none();
            (is_open && !record.waits_for().trim().is_empty()).then_some(Self { frame, number: record.questions.len() })
        })
    }

    /// True if the frame still waits for the answer to it.
    fn is_open(&self, stack: &Stack) -> bool {
        Self::of(stack, self.frame).as_ref() == Some(self)
    }

    /// The text that the host shows to the person.
    pub fn message(&self, stack: &Stack) -> String {
        stack.look(|tree| {
            let waits_for = tree.node(self.frame).record().waits_for();
            format!("{} waits for an answer:{}", calls::name(tree, self.frame), indented(waits_for))
        })
    }

    /// Notes an answer that comes after the call has ended, unless the question was answered already.
    ///
    /// # Errors
    /// As [`Stack::answer`].
    pub fn note(&self, stack: &Stack, answer: String) -> Result<()> {
        let is_current = stack.refresh().is_ok() && self.is_open(stack);
        if is_current { stack.answer(self.frame, answer) } else { Ok(()) }
    }
}

impl Conversation<'_> {
    /// Resumes the frame of a question with the person's answer. `None`: the person gave no answer, and the
    /// frame is not resumed.
    pub fn answered(&self, question: &Question, answer: Option<&str>) -> Called {
        self.resume(question, answer).unwrap_or_else(Refusal::into)
    }

    fn resume(&self, question: &Question, answer: Option<&str>) -> std::result::Result<Called, Refusal> {
        // The host may name any frame.
        let frame = self.resolve(&question.frame.to_string())?;
        let name = self.name(frame);
        let status = self.stack.look(|tree| tree.node(frame).status());
        let Some(answer) = answer else {
            let text = format!(
                "{name} is {status}. No answer has come from the person, who may not have seen the question; activate {{\"frame\": \"{frame}\", \"answer\": \"…\"}} \
                 resumes it with an answer."
            );
            return Ok(self.answer_from(self.place(), text));
        };
        if !question.is_open(self.stack) {
            let answer = indented(answer);
            let text = format!("{name} is {status} in the meantime, so the person's answer was not used:{answer}");
            return Ok(self.answer_from(self.place(), text));
        }
        let is_last = |caller: &str| {
            let is_caller = |holder: &Holder| holder.name == caller;
            self.stack.look(|tree| tree.node(frame).record().holder.as_deref().is_some_and(is_caller))
        };
        if !self.caller.is_none_or(is_last) {
            // Another conversation asked: with the answer, the frame waits for that conversation.
            self.stack.answer(frame, answer)?;
            let text = format!("{name} has its answer from the person; its conversation can activate it now.");
            return Ok(self.answer_from(self.place(), text));
        }
        self.stack.answer_and_resume(frame, answer)?;
        let text = format!("{name} is in progress again: continue it. The person has answered:{}", indented(answer));
        Ok(self.answer_from(Some(frame), text))
    }
}
