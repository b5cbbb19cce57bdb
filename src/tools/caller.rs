//! The session that calls a tool, and functions that several tools share.

use super::Reply;
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::session::calls::{self, CallOptions};
use crate::session::{Effect, Turn};
use crate::stack::{Stack, Turns};
use crate::vocabulary::{ToolNames, ToolRole};

/// The session that calls a tool, and the effects that the host must carry out.
pub(super) struct Caller<'a> {
    pub(super) stack: &'a Stack,
    pub(super) session_id: &'a str,
    turns: &'a Turns<'a>,
    effects: Vec<Effect>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(turns: &'a Turns<'a>, session_id: &'a str) -> Self {
        Self { stack: turns.stack, session_id, turns, effects: Vec::new() }
    }

    /// Returns the effects for the host. Log lines that were added in the meantime are last.
    pub(super) fn into_effects(mut self) -> Vec<Effect> {
        self.turn(|_| ());
        self.effects
    }

    /// Runs `decide` with a turn, carries out the actions of the turn, and keeps the effects for the host.
    pub(super) fn turn<T>(&mut self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> T {
        let (value, effects) = self.turns.turn(decide);
        self.effects.extend(effects);
        value
    }

    /// Returns the host's names of the tools that it offers.
    pub(super) fn tools(&mut self) -> ToolNames {
        self.turn(|turn| turn.sessions.tools.clone())
    }

    /// Returns a function from the name of a tool in this library to the host's name; `None` if the host does not offer
    /// the tool.
    pub(super) fn naming(&self) -> impl Fn(&str) -> Option<String> {
        let settings = self.stack.host().settings();
        move |tool| settings.tools.contains(tool).then(|| settings.context.tools.of_tool(tool)).flatten()
    }

    /// Returns the frame of the calling session, if it has one.
    pub(super) fn own(&self) -> Option<Handle> {
        self.stack.read(|tree| tree.by_id(self.session_id))
    }

    /// Returns the frame that an argument names; without an argument, the frame of the calling session.
    ///
    /// # Errors
    /// As [`Stack::resolve`]; [`Error::NoFrame`] if the session has no frame.
    pub(super) fn named_or_own(&self, name: Option<&str>) -> Result<Handle> {
        match name {
            Some(name) => self.stack.resolve(name),
            None => self.own().ok_or_else(|| Error::NoFrame { session_id: self.session_id.to_owned() }),
        }
    }

    /// Returns the default parent of a new frame: the frame of the calling session if it is open, otherwise the active
    /// frame.
    pub(super) fn parent(&self) -> Option<Handle> {
        let own = self.own();
        self.stack.read(|tree| own.filter(|own| tree.node(*own).status().is_open()).or(tree.active()))
    }

    /// Returns the handle and title of a frame, such as `f1 (Shop)`.
    pub(super) fn name(&self, handle: Handle) -> String {
        self.stack.read(|tree| calls::name(tree, handle))
    }

    /// Runs a frame in its own session.
    ///
    /// # Errors
    /// As [`Turn::call`].
    pub(super) fn call(&mut self, handle: Handle, background: bool, time_limit: Option<u64>) -> Result<Reply> {
        let options = CallOptions { caller: self.session_id.to_owned(), background, time_limit };
        let call = self.turn(|turn| turn.call(handle, options))?;
        if !background {
            return Ok(Reply::Later(call));
        }
        let look = match self.tools().get(ToolRole::Details) {
            Some(details) => format!("; {details} {handle} shows its progress"),
            None => String::new(),
        };
        Ok(Reply::Text(format!("{} is being started in the background{look}.", self.name(handle))))
    }

    /// Reports that frames were finished or invalidated; [`Turn::finished`] reports one frame.
    pub(super) fn finished(&mut self, frames: &[Handle], is_invalidated: bool) {
        self.turn(|turn| {
            for frame in frames {
                turn.finished(turn.tree.node(*frame).session_id(), is_invalidated);
            }
        });
    }
}

/// Returns handles as a list separated by commas.
pub(super) fn listed(frames: &[Handle]) -> String {
    frames.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
