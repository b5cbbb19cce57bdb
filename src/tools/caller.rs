//! Who calls a tool: a session of a host, and what its tools share.

use super::Reply;
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::session::autonomy::Decision;
use crate::session::calls::{self, CallOptions};
use crate::session::{Action, Effect, Sessions};
use crate::stack::Stack;
use crate::tree::Tree;
use crate::vocabulary::{ToolNames, ToolRole};

/// The session that calls a tool, and what the host is to do because of it.
pub(super) struct Caller<'a> {
    pub(super) stack: &'a Stack,
    pub(super) session_id: &'a str,
    effects: Vec<Effect>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(stack: &'a Stack, session_id: &'a str) -> Self {
        Self { stack, session_id, effects: Vec::new() }
    }

    /// What the host is to do; last of all lines for its log.
    pub(super) fn into_effects(mut self) -> Vec<Effect> {
        self.turn(|_, _, _| ((), Vec::new()));
        self.effects
    }

    /// Lets `turn` look at the sessions, and carries out what it says.
    pub(super) fn turn<T>(&mut self, turn: impl FnOnce(&mut Sessions, &Tree, u64) -> (T, Vec<Action>)) -> T {
        let (value, effects) = self.stack.host_turn(turn);
        self.effects.extend(effects);
        value
    }

    /// Lets `look` look at the sessions.
    pub(super) fn sessions<T>(&mut self, look: impl FnOnce(&mut Sessions, &Tree, u64) -> T) -> T {
        self.turn(|sessions, tree, now| (look(sessions, tree, now), Vec::new()))
    }

    /// The host's names of the tools.
    pub(super) fn tools(&mut self) -> ToolNames {
        self.sessions(|sessions, _, _| sessions.tools.clone())
    }

    /// The frame of the calling session.
    pub(super) fn own(&self) -> Option<Handle> {
        self.stack.read(|tree| tree.by_id(self.session_id))
    }

    /// The frame that an argument names, or else that of the calling session.
    ///
    /// # Errors
    /// Those of [`Stack::resolve`]; [`Error::NoFrame`].
    pub(super) fn named_or_own(&self, name: Option<&str>) -> Result<Handle> {
        match name {
            Some(name) => self.stack.resolve(name),
            None => self.own().ok_or_else(|| Error::NoFrame { session_id: self.session_id.to_owned() }),
        }
    }

    /// Where a new frame goes if no argument says so: below the open frame of the session, or else the active
    /// one.
    pub(super) fn parent(&self) -> Option<Handle> {
        let own = self.own();
        self.stack.read(|tree| own.filter(|own| tree.node(*own).status().is_open()).or(tree.active()))
    }

    /// A frame with its title.
    pub(super) fn name(&self, handle: Handle) -> String {
        self.stack.read(|tree| calls::name(tree, handle))
    }

    /// Runs a frame in a session of its own.
    ///
    /// # Errors
    /// As [`Sessions::call`].
    pub(super) fn call(&mut self, handle: Handle, background: bool, time_limit: Option<u64>) -> Result<Reply> {
        let options = CallOptions { caller: self.session_id.to_owned(), background, time_limit };
        let own = self.own();
        let call = self.turn(|sessions, tree, now| match sessions.call(tree, handle, options, now) {
            Ok((call, actions)) => {
                if let Some(own) = own {
                    sessions.autonomy.suggestions.acted(own, Decision::Push, now);
                }
                (Ok(call), actions)
            }
            Err(error) => (Err(error), Vec::new()),
        })?;
        if !background {
            return Ok(Reply::Later(call));
        }
        let look = match self.tools().get(ToolRole::Details) {
            Some(details) => format!("; {details} {handle} tells how it is doing"),
            None => String::new(),
        };
        Ok(Reply::Text(format!("{} is being started in the background{look}.", self.name(handle))))
    }

    /// What follows when frames are finished or taken out of the plan.
    pub(super) fn finished(&mut self, frames: &[Handle], is_invalidated: bool) {
        self.turn(|sessions, tree, now| {
            let actions = frames.iter().flat_map(|frame| {
                sessions.autonomy.suggestions.acted(*frame, Decision::Pop, now);
                sessions.finished(tree.node(*frame).session_id(), is_invalidated)
            });
            ((), actions.collect())
        });
    }
}

/// Handles in a row.
pub(super) fn listed(frames: &[Handle]) -> String {
    frames.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
