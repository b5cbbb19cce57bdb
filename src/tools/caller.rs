//! The session that calls a tool, and functions that several tools share.

use super::Reply;
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, Parent};
use crate::session::calls::{self, CallOptions};
use crate::session::{Effect, Turn};
use crate::stack::{Stack, Turns};
use crate::tree::{OutlineOptions, Tree};
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

    /// Returns the frame that an argument names. Of several frames with a title, one in the tree of the calling session is
    /// meant.
    ///
    /// # Errors
    /// As [`Stack::resolve`].
    pub(super) fn resolve(&self, name: &str) -> Result<Handle> {
        self.stack.resolve_near(name, self.own())
    }

    /// Returns the frame that an argument names; without an argument, the frame of the calling session.
    ///
    /// # Errors
    /// As [`Stack::resolve`]; [`Error::NoFrame`] if the session has no frame.
    pub(super) fn named_or_own(&self, name: Option<&str>) -> Result<Handle> {
        match name {
            Some(name) => self.resolve(name),
            None => self.own().ok_or_else(|| Error::NoFrame { session_id: self.session_id.to_owned() }),
        }
    }

    /// Returns the frame for which the calling session works: its own, or if it has none, that of the nearest session above
    /// it that has one.
    pub(super) fn served(&mut self) -> Option<Handle> {
        let session_id = self.session_id;
        self.turn(|turn| turn.sessions.served(session_id, turn.tree))
    }

    /// Returns the default parent of a new frame: the nearest open frame of those from which the calling session works. `None`:
    /// the new frame is a root.
    ///
    /// # Errors
    /// [`Error::ParentClosed`] if all of them are closed: the task of this session is over.
    pub(super) fn parent(&mut self) -> Result<Option<Handle>> {
        let Some(served) = self.served() else { return Ok(None) };
        let parent = |tree: &Tree| match tree.nearest_open(served) {
            Some(open) => Ok(Some(open)),
            None => Err(Error::ParentClosed { handle: served, status: tree.node(served).status() }),
        };
        self.stack.read(parent)
    }

    /// Returns the parent that an argument names; without an argument, the default one.
    ///
    /// # Errors
    /// As [`Caller::resolve`] and [`Caller::parent`].
    pub(super) fn named_parent(&mut self, name: Option<String>) -> Result<Parent> {
        let found = |parent: Option<Handle>| parent.map_or(Parent::Root, |parent| Parent::Frame(parent.into()));
        match name {
            Some(name) => self.resolve(&name).map(Some),
            None => self.parent(),
        }
        .map(found)
    }

    /// Returns the outline of the caller's tree with the caller's mark, and one line that counts the other trees; with
    /// `all`, or if the caller works for no frame, the outline of all trees.
    ///
    /// # Errors
    /// As [`Stack::outline`].
    pub(super) fn outline(&mut self, all: bool, options: OutlineOptions) -> Result<String> {
        let Some(own) = self.served() else { return self.stack.outline(&options) };
        let (root, others) = self.stack.read(|tree| {
            let root = tree.root(own);
            let mut others = tree.root_statuses();
            others[tree.node(root).status() as usize] -= 1;
            (root, others)
        });
        let number: usize = others.iter().sum();
        let is_whole_tree = options.root.is_none() && !all;
        let shown = if is_whole_tree { Some(root.into()) } else { options.root.clone() };
        let mut text = self.stack.outline(&options.root(shown).own(Some(own.into())))?;
        if is_whole_tree && number > 0 {
            let counted = FrameStatus::ALL.iter().zip(others).filter(|(_, count)| *count > 0);
            let counts = counted.map(|(status, count)| format!("{count} {status}")).collect::<Vec<_>>().join(", ");
            let see = ["stack_status", "stack_tree"].into_iter().find_map(self.naming());
            let see = see.map_or(String::new(), |tool| format!("; {tool} with \"all\": true shows them"));
            text.push_str(&format!("Trees of other sessions: {number} ({counts}){see}.\n"));
        }
        Ok(text)
    }

    /// Returns the handle and title of a frame, such as `f1 (Shop)`.
    pub(super) fn name(&self, handle: Handle) -> String {
        self.stack.read(|tree| calls::name(tree, handle))
    }

    /// The options of a call by this session.
    pub(super) fn options(&self, background: bool, time_limit: Option<u64>) -> CallOptions {
        CallOptions::new(self.session_id).background(background).time_limit(time_limit)
    }

    /// Runs a frame in its own session.
    ///
    /// # Errors
    /// As [`Turn::call`].
    pub(super) fn call(&mut self, handle: Handle, options: CallOptions) -> Result<Reply> {
        let background = options.background;
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
    pub(super) fn finished(&mut self, frames: &[Handle]) {
        let own = self.session_id;
        self.turn(|turn| {
            for frame in frames {
                let session_id = turn.tree.node(*frame).session_id();
                turn.finished(session_id, session_id == own);
            }
        });
    }
}
