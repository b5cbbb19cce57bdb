//! What a worker says at its end: what it has done, what is left, and what a person can do about it.

use std::io;

use callstack_core::frame::WorkLeft;
use callstack_core::{Handle, PopStatus};
use schemars::JsonSchema;
use serde::Serialize;

use super::worker::Outcome;
use crate::commands::changed::{list, next};
use crate::output::{Page, Report, count};
use crate::same_stack::SameStack;

/// The work of this worker, and the frames that are left.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worked {
    /// The name of the worker.
    pub(super) worker: String,
    /// Number of frames that the command has completed.
    pub(super) completed: usize,
    /// Number of frames that it has failed.
    pub(super) failed: usize,
    /// Number of frames that it has blocked.
    pub(super) blocked: usize,
    /// Number of times that it has put a frame back for later.
    pub(super) later: usize,
    /// Number of times that a command could not be started, and its frame was not blocked for it.
    pub(super) not_started: usize,
    /// Number of times that a frame was taken from this worker, stopped, retried or invalidated.
    pub(super) lost: usize,
    /// The frames that are left.
    pub(super) left: WorkLeft,
    /// The frames that have ended, and keep the work from being complete: failed roots and failed parts of
    /// what is unfinished, invalidated frames that others need, and ended frames above planned frames.
    pub(super) in_the_way: Vec<Handle>,
    /// The planned frames on which a person or a host works now.
    pub(super) by_hand: Vec<Handle>,
    #[serde(skip)]
    pub(super) steps: Steps,
    #[serde(skip)]
    pub(super) same_stack: SameStack,
}

/// The frames for which the report advises a next command.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The first failed frame that is in the way.
    pub(super) failed: Option<Handle>,
    /// The first completed frame that is in the way.
    pub(super) completed: Option<Handle>,
    /// True if a blocked frame waits for an answer.
    pub(super) asks: bool,
    /// The first blocked frame that is answered and that no worker resumes.
    pub(super) answered: Option<Handle>,
}

impl Worked {
    /// Counts how the work on a frame has ended. False: a person has interrupted the program.
    pub(super) fn count(&mut self, outcome: &Outcome) -> bool {
        *match outcome {
            Outcome::Ended(PopStatus::Completed) => &mut self.completed,
            Outcome::Ended(PopStatus::Failed) => &mut self.failed,
            Outcome::Ended(PopStatus::Blocked) => &mut self.blocked,
            Outcome::Later => &mut self.later,
            Outcome::NotStarted(_) | Outcome::MachineFailed(_) => &mut self.not_started,
            Outcome::Lost(_) | Outcome::Stopped => &mut self.lost,
            Outcome::Interrupted => return false,
        } += 1;
        true
    }

    /// Adds what another worker of the program has done.
    pub(super) fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.blocked += other.blocked;
        self.later += other.later;
        self.not_started += other.not_started;
        self.lost += other.lost;
    }

    /// True if frames are left and none of them can begin: they wait for frames that are blocked, that
    /// persons or hosts have or are assigned to, or that have ended without completion.
    pub(super) fn is_stuck(&self) -> bool {
        let WorkLeft { free, held, later, waiting, blocked, assigned, .. } = self.left;
        let is_left = blocked + waiting + assigned + self.by_hand.len() + self.in_the_way.len() > 0;
        free + held + later == 0 && is_left
    }
}

impl Report for Worked {
    const KIND: &'static str = "worked";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let mut done = count(self.completed, "frame") + " completed";
        let WorkLeft { free, held, later, waiting, begun, blocked, assigned, .. } = self.left;
        let add = |text: &mut String, parts: &[(usize, &str)]| {
            for (number, what) in parts.iter().filter(|(number, _)| *number > 0) {
                let separator = if text.is_empty() { "" } else { ", " };
                text.push_str(&format!("{separator}{number} {what}"));
            }
        };
        add(
            &mut done,
            &[
                (self.failed, "failed"),
                (self.blocked, "blocked"),
                (self.later, "put back for later"),
                (self.not_started, "not started"),
                (self.lost, "lost to others, or stopped"),
            ],
        );
        page.text(0, &done)?;
        let mut left = String::new();
        add(
            &mut left,
            &[
                (free, "can begin"),
                (held, "with workers"),
                (later, "put back for later"),
                (waiting, "waiting for others"),
                (begun, "begun by persons or hosts"),
                (blocked, "blocked"),
                (assigned, "assigned to others"),
            ],
        );
        match left.is_empty() {
            false => page.text(0, &format!("left: {left}"))?,
            true if self.in_the_way.is_empty() => page.text(0, "nothing is left")?,
            true => {}
        }
        list(page, "in the way", &self.in_the_way)?;
        list(page, "in progress by hand", &self.by_hand)?;
        let Steps { failed, completed, asks, answered } = self.steps;
        if let Some(failed) = failed {
            let steps = format!("`callstack retry {failed} --note TEXT`, or `callstack invalidate {failed} REASON`");
            next(page, &self.same_stack, steps)?;
        }
        if let Some(completed) = completed {
            next(page, &self.same_stack, format_args!("callstack reopen {completed} REASON"))?;
        }
        if failed.or(completed).is_none() && !self.in_the_way.is_empty() {
            let steps =
                "`callstack edit FRAME` for what it needs and where it is, or `callstack invalidate FRAME REASON`";
            next(page, &self.same_stack, steps)?;
        }
        if asks {
            next(page, &self.same_stack, "callstack answer")?;
        }
        if let Some(answered) = answered {
            next(page, &self.same_stack, format_args!("callstack activate {answered}"))?;
        }
        match self.by_hand.first() {
            Some(first) => next(page, &self.same_stack, format_args!("callstack pop {first} --results TEXT")),
            None => Ok(()),
        }
    }
}
