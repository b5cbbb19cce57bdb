//! Commands that correct what went wrong: frames are retried, reopened or taken out of the plan, and commands
//! are taken back.

use super::Stack;
use super::results::{Invalidated, Reopened, Retried, Undone, frames_with, unfinished_below, unfinished_dependents};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::{Change, FrameRef, FrameStatus, Handle};
use crate::tree::Command;

impl Stack {
    /// Retries a failed or blocked frame: creates a planned frame beside it, with the same title, criteria
    /// and dependencies, as its next attempt. `note` says what must be done differently, or answers what the
    /// frame waits for.
    ///
    /// A blocked frame becomes failed; its results and its question stay. The planned frames below it are
    /// invalidated. The context of the new frame shows the earlier attempts: why they failed, their artifacts
    /// and decisions. All other contexts show only the newest attempt, directly after the place of the
    /// attempt before it. Frames that depend on any attempt wait for the newest one. A retry does not undo
    /// what the earlier attempt has done to files.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let tax = stack.push(NewFrame::new("Taxes").below(root))?;
    /// let totals = stack.plan(NewFrame::new("Totals").below(root).depends_on(tax))?;
    /// stack.pop(tax, PopStatus::Failed, "The rate table is out of date")?;
    /// let again = stack.retry(tax, Some("Take the rates from the office's site".into()))?.handle;
    /// stack.activate(again)?;
    /// assert!(stack.context(again, &Settings::default())?.xml.contains("The rate table is out of date"));
    /// stack.pop(again, PopStatus::Completed, "Rates of this year in src/tax.rs")?;
    /// assert_eq!(stack.read(|tree| tree.ready().collect::<Vec<_>>())?, [totals]);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotRetriable`] if the frame is neither
    /// failed nor blocked, or was retried already; [`Error::ParentClosed`] if its parent is completed, failed
    /// or invalidated; [`Error::Full`]; [`Error::Held`] if a host still runs it. A frame that is in_progress
    /// can be retried if it was interrupted; otherwise pop it as failed first.
    pub fn retry(&self, frame: impl Into<FrameRef>, note: Option<String>) -> Result<Retried> {
        let frame = frame.into();
        let events = self.execute_made(|| {
            let session_id = self.planned_id();
            Command::Retry { frame, session_id, note, is_interrupted: false }
        })?;
        let handle = frames_with(&events, |change| matches!(change, Change::Added { .. }))[0];
        let tree = self.inner.tree.read();
        let node = tree.node(handle);
        let previous = node.retry_of().unwrap_or(handle);
        Ok(Retried {
            handle,
            attempt: node.attempt(),
            invalidated: frames_with(&events, |change| matches!(change, Change::Invalidated { .. })),
            still_open: unfinished_below(&tree, previous, FrameStatus::is_open),
        })
    }

    /// Reopens a completed frame that turned out to be wrong. The frame is in_progress again and becomes the
    /// active frame. Its results become its results so far, and its context shows the reason. Planned frames
    /// that depend on it wait again; frames that depend on it and have begun are reported.
    ///
    /// ```
    /// use callstack_core::{FrameStatus, NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// let checkout = stack.plan(NewFrame::new("Checkout").below(shop).depends_on(cart))?;
    /// stack.pop(cart, PopStatus::Completed, "Totals in src/cart.rs")?;
    /// assert_eq!(stack.read(|tree| tree.ready().collect::<Vec<_>>())?, [checkout]);
    /// let reopened = stack.reopen(cart, "The totals are wrong in yen")?;
    /// assert_eq!(reopened.waiting, [checkout]);
    /// assert!(stack.read(|tree| tree.ready().next().is_none())?);
    /// assert_eq!(stack.frame(cart)?.status, FrameStatus::InProgress);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is not
    /// completed, or belongs to a run; [`Error::Empty`] if the reason is blank; [`Error::ParentClosed`] if a
    /// frame above it has ended, [`Error::ParentPlanned`] if one is planned; [`Error::Held`].
    pub fn reopen(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Reopened> {
        let events = self.execute(Command::Reopen { frame: frame.into(), reason: reason.into() })?;
        let handle = events[0].handle;
        let tree = self.inner.tree.read();
        let dependents = tree.dependents(handle).iter().copied();
        let unfinished = dependents.filter(|dependent| tree.node(*dependent).status() != FrameStatus::Invalidated);
        let (waiting, begun) = unfinished.partition(|frame| tree.node(*frame).status() == FrameStatus::Planned);
        Ok(Reopened { handle, waiting, begun })
    }

    /// Invalidates a frame and all planned frames below it: they are removed from the plan. Frames below it
    /// that are in_progress or blocked do not change.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the reason is blank;
    /// [`Error::Transition`] if the frame is already invalidated.
    pub fn invalidate(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Invalidated> {
        self.invalidated(Command::Invalidate { frame: frame.into(), reason: reason.into() })
    }

    /// Invalidates several frames for one reason, all or none, and all planned frames below them; with
    /// `open_too` also the frames below them that are in_progress or blocked.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let [mail, fax] = ["Mail", "Fax"].map(|title| stack.plan(NewFrame::new(title).below(shop)).unwrap());
    /// assert_eq!(stack.invalidate_all([mail, fax], "Not needed", false)?.invalidated, [mail, fax]);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stack::invalidate`], for any of the frames; [`Error::Empty`] without frames; [`Error::Held`].
    pub fn invalidate_all<F: Into<FrameRef>>(
        &self,
        frames: impl IntoIterator<Item = F>,
        reason: impl Into<String>,
        open_too: bool,
    ) -> Result<Invalidated> {
        let frames: Vec<FrameRef> = frames.into_iter().map(Into::into).collect();
        self.invalidated(Command::InvalidateAll { frames, reason: reason.into(), open_too })
    }

    /// Executes a command that invalidates frames, and returns which other frames it concerns.
    fn invalidated(&self, command: Command) -> Result<Invalidated> {
        let events = self.execute(command)?;
        let invalidated = frames_with(&events, |change| matches!(change, Change::Invalidated { .. }));
        let tree = self.inner.tree.read();
        let dependents = unfinished_dependents(&tree, &invalidated);
        let mut still_open: Vec<Handle> =
            invalidated.iter().flat_map(|frame| unfinished_below(&tree, *frame, FrameStatus::is_open)).collect();
        still_open.sort_unstable();
        still_open.dedup();
        Ok(Invalidated { invalidated, still_open, dependents })
    }

    /// Takes back the last command of the person who gives this one, if nothing that the command has changed
    /// has changed since. [`Stack::as_actor`] says who the person is; without a name, it is the last command
    /// of the persons without a name. The last 20 commands of persons are remembered. What the command has
    /// added is invalidated.
    ///
    /// ```
    /// use callstack_core::{Actor, FrameStatus, HolderKind, NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Person, "ann"));
    /// let cart = stack.push(NewFrame::new("Cart"))?;
    /// stack.pop(cart, PopStatus::Completed, "done")?;
    /// let undone = stack.undo()?;
    /// assert_eq!((undone.command.as_str(), undone.frames), ("pop", vec![cart]));
    /// assert_eq!(stack.frame(cart)?.status, FrameStatus::InProgress);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NothingToUndo`]; [`Error::NotUndone`], which says why.
    pub fn undo(&self) -> Result<Undone> {
        let mut undone = Undone::default();
        for event in self.execute(Command::Undo)? {
            match event.change {
                Change::Undone { command, .. } => undone.command = command,
                Change::Restored { .. } => undone.frames.push(event.handle),
                Change::Invalidated { .. } => undone.removed.push(event.handle),
                _ => {}
            }
        }
        Ok(undone)
    }
}
