//! [`Turn`]: the inputs of one decision (sessions, tree and time), and the actions decided so far.

use serde_json::Value;

use super::effect::{Action, Effect, LogLevel};
use super::sessions::Sessions;
use super::titles::ReceivedEvent;
use crate::frame::Handle;
use crate::tree::{Command, Tree};

/// One decision about sessions and tree, which collects [`Action`]s in order.
///
/// A turn changes the state of the sessions immediately. It does not change the tree: its commands are
/// executed after the turn, by the caller of [`Turn::into_actions`].
#[derive(Debug)]
#[must_use = "the actions of the turn must be executed"]
pub struct Turn<'a> {
    /// The state of the sessions.
    pub sessions: &'a mut Sessions,
    /// The tree before the actions.
    pub tree: &'a Tree,
    /// The current time in milliseconds, on a clock that never goes back, because time spans are measured
    /// with it. A [`Stack`](crate::Stack) gives the time of day at which it was made, in milliseconds since
    /// the Unix epoch, plus the time that has passed since then on
    /// [`StackOptions::monotonic_clock`](crate::StackOptions::monotonic_clock). So this time differs from the
    /// time of day if the time of day was set, or after a sleep of the machine.
    pub now: u64,
    /// The time of day, in milliseconds since the Unix epoch, which hosts also give to messages.
    /// [`Turn::new`] takes `now`.
    pub time: u64,
    pub(super) actions: Vec<Action>,
    /// Delayed events whose wait is over. They are handled next, in this order.
    pub(super) released: Vec<ReceivedEvent>,
}

impl<'a> Turn<'a> {
    /// Creates a turn without actions.
    pub fn new(sessions: &'a mut Sessions, tree: &'a Tree, now: u64) -> Self {
        Self { sessions, tree, now, time: now, actions: Vec::new(), released: Vec::new() }
    }

    /// The decided actions, in the order in which they must be executed.
    #[must_use = "the actions must be executed"]
    pub fn into_actions(self) -> Vec<Action> {
        self.actions
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(super) fn command(&mut self, command: Command) {
        self.act(Action::Command(Box::new(command)));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.act(Action::Effect(effect));
    }

    pub(super) fn log(&mut self, level: LogLevel, message: &str, data: Value) {
        self.effect(Effect::Log { level, message: message.to_owned(), data });
    }

    /// True if a session has a frame, or gets one by a command of this turn.
    pub(super) fn has_frame(&self, session_id: &str) -> bool {
        let creates = |action: &Action| match action {
            Action::Command(command) => {
                matches!(&**command, Command::Ensure { session_id: id, .. } if id == session_id)
            }
            _ => false,
        };
        self.tree.by_id(session_id).is_some() || self.actions.iter().any(creates)
    }

    /// The frame in which the conversation of a session is, if it is open.
    pub(super) fn open_frame(&self, session_id: &str) -> Option<Handle> {
        self.sessions.place(session_id, self.tree).filter(|frame| self.tree.node(*frame).status().is_open())
    }

    /// The frame of a session, if it is open.
    pub(super) fn own_open_frame(&self, session_id: &str) -> Option<Handle> {
        self.tree.by_id(session_id).filter(|frame| self.tree.node(*frame).status().is_open())
    }
}
