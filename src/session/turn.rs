//! One turn: the sessions, the tree and the time that a decision is made with, and the actions decided so far.

use serde_json::Value;

use super::effect::{Action, Effect, LogLevel};
use super::sessions::Sessions;
use crate::frame::Handle;
use crate::tree::{Command, Tree};

/// One look at sessions and tree, and the [`Action`]s that follow from it, in order.
///
/// A turn changes what the sessions remember at once. It never changes the tree: commands are carried out after the
/// turn, by whoever takes its actions.
#[derive(Debug)]
pub struct Turn<'a> {
    /// What is remembered of the sessions.
    pub sessions: &'a mut Sessions,
    /// The tree before the actions.
    pub tree: &'a Tree,
    /// The present time, in milliseconds since the epoch.
    pub now: u64,
    actions: Vec<Action>,
}

impl<'a> Turn<'a> {
    /// A turn without actions.
    pub fn new(sessions: &'a mut Sessions, tree: &'a Tree, now: u64) -> Self {
        Self { sessions, tree, now, actions: Vec::new() }
    }

    /// The actions decided, in the order in which they must be carried out.
    pub fn into_actions(self) -> Vec<Action> {
        self.actions
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(super) fn command(&mut self, command: Command) {
        self.act(Action::Command(command));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.act(Action::Effect(effect));
    }

    pub(super) fn log(&mut self, level: LogLevel, message: &str, data: Value) {
        self.effect(Effect::Log { level, message: message.to_owned(), data });
    }

    /// The frame of a session, if it is open.
    pub(super) fn open_frame(&self, session_id: &str) -> Option<Handle> {
        self.tree.by_id(session_id).filter(|frame| self.tree.node(*frame).status().is_open())
    }
}
