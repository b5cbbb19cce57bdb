//! What a pop asks for, does and answers, for every caller: a session of a host, or a conversation without a
//! session.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::frame::{FrameRef, Handle, PopStatus, Results};
use crate::session::call_title;
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
    /// [`Error::Setting`] if there is nothing to tell the frame above, or if there is a question although the
    /// status is not blocked.
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

    /// Pops a frame, and begins another one. `anyway`: also if frames below it are unfinished.
    ///
    /// # Errors
    /// As [`Stack::complete`], [`Stack::pop_and_begin`] and [`Stack::block`].
    pub(super) fn carry_out(
        self,
        stack: &Stack,
        frame: Handle,
        next: Option<Handle>,
        anyway: bool,
    ) -> Result<Popped, Error> {
        let next = next.map(FrameRef::from);
        match (self.question, next) {
            (Some(question), _) => stack.block(frame, question, Some(self.results)),
            (None, next) if self.status == Ended::Completed && !anyway => stack.complete(frame, self.results, next),
            (None, Some(next)) => stack.pop_and_begin(frame, self.status.into(), self.results, Some(next)),
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

/// What people are told about a pop.
pub(super) fn title(tree: &Tree, popped: &Popped) -> String {
    let title = call_title::of_frame(tree, popped.handle);
    popped.next.map_or(title.clone(), |next| format!("{title}; begun: {}", call_title::name(tree, next)))
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

impl Next {
    /// The value, unless no frame is to begin. Models also write texts for true and false.
    pub(super) fn asked(&self) -> Option<&str> {
        match self {
            Self::First(is_asked) => is_asked.then_some("true"),
            Self::Named(name) => {
                Some(name.trim()).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("false"))
            }
        }
    }

    /// The frame that it names. Without a name, the first frame that can begin is meant.
    pub(super) fn name(&self) -> Option<&str> {
        self.asked().filter(|value| !value.eq_ignore_ascii_case("true"))
    }

    /// The frame that begins when another one is popped. `None`: no frame was asked for, or no frame can
    /// begin. `named`: the frame that the value names. `is_task`: the popped frame is the whole task of its
    /// conversation, and another agent waits for its results.
    ///
    /// # Errors
    /// [`Error::Setting`] if the conversation cannot begin a frame; those of `check`, which says whether it
    /// can begin this frame.
    pub(super) fn checked<E: From<Error>>(
        &self,
        stack: &Stack,
        (popped, status, is_task): (Handle, Ended, bool),
        named: Option<Handle>,
        mut check: impl FnMut(Handle) -> Result<(), E>,
    ) -> Result<Option<Handle>, E> {
        let Some(value) = self.asked() else { return Ok(None) };
        let refused = |expected| Err(Error::Setting { name: "next".into(), value: value.to_owned(), expected }.into());
        if is_task {
            return refused("left out: this frame is all of your task; pop it without, then end your turn");
        }
        if status == Ended::Blocked {
            return refused("left out unless the status is completed or failed");
        }
        if let Some(next) = named {
            return check(next).map(|()| Some(next));
        }
        let Some(parent) = stack.look(|tree| tree.node(popped).parent()) else {
            let is_unfinished = |tree: &Tree, below: Handle| tree.node(below).status().is_unfinished();
            // A caller hardly means to leave what is planned below a root.
            return match stack.look(|tree| tree.descendants(popped).any(|below| is_unfinished(tree, below))) {
                true => refused("left out, or the handle of a planned frame: beside a root nothing is planned"),
                false => Ok(None),
            };
        };
        let completed = (status == Ended::Completed).then_some(popped);
        let ready: Vec<Handle> = stack.look(|tree| tree.ready_children(parent, completed).collect());
        // Frames that another actor holds do not begin here.
        Ok(ready.into_iter().find(|next| check(*next).is_ok()))
    }
}
