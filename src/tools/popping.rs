//! What a pop asks for, does and tells, whoever calls it: a session of a host, or a conversation without one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::frame::{Handle, PopStatus, Results};
use crate::session::calls::{listed, name};
use crate::stack::{Popped, Stack};
use crate::tree::Tree;

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ended {
    Completed,
    Failed,
    Blocked,
}

impl From<Ended> for PopStatus {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Completed => Self::Completed,
            Ended::Failed => Self::Failed,
            Ended::Blocked => Self::Blocked,
        }
    }
}

/// How a frame ends.
pub(super) struct Ending {
    status: Ended,
    results: Results,
    question: Option<String>,
}

impl Ending {
    /// # Errors
    /// [`Error::Setting`] if there is nothing to tell the frame above, or a question that nobody has to answer.
    pub(super) fn new(status: Ended, results: Results, question: Option<String>) -> Result<Self, Error> {
        let question = question.filter(|question| !question.trim().is_empty());
        let refused = |name: &str, value, expected| Err(Error::Setting { name: name.into(), value, expected });
        match question {
            Some(value) if status != Ended::Blocked => {
                refused("question", value, "left out unless the status is blocked")
            }
            None if results.dense().trim().is_empty() => refused(
                "results",
                String::new(),
                match status {
                    Ended::Blocked => "what exists so far; say in question what the frame waits for",
                    _ => {
                        "what exists now, where, and how it is used; if nothing does, what was tried and why it failed"
                    }
                },
            ),
            question => Ok(Self { status, results, question }),
        }
    }

    /// Pops a frame, and begins another one.
    ///
    /// # Errors
    /// As [`Stack::pop_and_begin`] and [`Stack::block`].
    pub(super) fn carry_out(self, stack: &Stack, frame: Handle, next: Option<Handle>) -> Result<Popped, Error> {
        match (self.question, next) {
            (Some(question), _) => stack.block(frame, question, Some(self.results)),
            (None, Some(next)) => stack.pop_and_begin(frame, self.status.into(), self.results, Some(next.into())),
            (None, None) => stack.pop(frame, self.status.into(), self.results),
        }
    }
}

/// The answer about a popped frame: how it has ended, and what is left below it.
pub(super) fn told(tree: &Tree, popped: &Popped) -> String {
    let mut text = format!("{} is {}.", name(tree, popped.handle), tree.node(popped.handle).status());
    let left = [("Still open below it", &popped.still_open), ("Planned below it and not begun", &popped.still_planned)];
    for (what, frames) in left {
        if !frames.is_empty() {
            text.push_str(&format!(" {what}: {}.", listed(frames)));
        }
    }
    text
}

/// Whether another frame begins when one is popped, and which one.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a handle such as \"f3\", or true")]
pub(super) enum Next {
    First(bool),
    Named(String),
}

impl Default for Next {
    fn default() -> Self {
        Self::First(false)
    }
}

/// Who pops a frame and begins another one in the same call.
pub(super) trait Popper {
    type Refusal: From<Error>;

    fn stack(&self) -> &Stack;

    /// The frame that an argument names.
    fn resolve(&self, name: &str) -> Result<Handle, Self::Refusal>;

    /// Checks that it can begin a frame besides the popped one, as the value of `next` says.
    fn check_goes_on(&mut self, value: &str) -> Result<(), Self::Refusal>;

    /// True if a frame is all of the task of its conversation, which somebody waits for.
    fn is_task(&self, frame: Handle) -> bool;

    /// Checks that nobody keeps it from a frame.
    fn check_begins(&mut self, frame: Handle) -> Result<(), Self::Refusal>;
}

impl Next {
    /// The value, unless no frame is to begin. Models write texts for what is true or false, too.
    pub(super) fn asked(&self) -> Option<&str> {
        match self {
            Self::First(is_asked) => is_asked.then_some("true"),
            Self::Named(name) => {
                Some(name.trim()).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("false"))
            }
        }
    }

    /// The frame that begins when another one is popped. `None`: none was asked for, or none can begin.
    ///
    /// # Errors
    /// [`Error::Setting`] if the conversation cannot begin one; those of the popper.
    pub(super) fn checked<P: Popper>(
        &self,
        popper: &mut P,
        popped: Handle,
        status: Ended,
    ) -> Result<Option<Handle>, P::Refusal> {
        let Some(value) = self.asked() else { return Ok(None) };
        popper.check_goes_on(value)?;
        let is_named = !value.eq_ignore_ascii_case("true");
        let parent = popper.stack().read(|tree| tree.node(popped).parent());
        let expected = match (status, parent) {
            _ if popper.is_task(popped) => "left out: this frame is all of your task, so end your turn",
            (Ended::Blocked, _) => "left out unless the status is completed or failed",
            (_, None) if !is_named => "left out, or the handle of a planned frame: beside a root nothing is planned",
            _ => {
                if is_named {
                    let next = popper.resolve(value)?;
                    return popper.check_begins(next).map(|()| Some(next));
                }
                let completed = (status == Ended::Completed).then_some(popped);
                let ready: Vec<Handle> = popper.stack().read(|tree| {
                    parent.map_or_else(Vec::new, |parent| tree.ready_children(parent, completed).collect())
                });
                // What others have is theirs.
                return Ok(ready.into_iter().find(|next| popper.check_begins(*next).is_ok()));
            }
        };
        Err(Error::Setting { name: "next".into(), value: value.to_owned(), expected }.into())
    }
}
