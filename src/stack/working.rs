//! Commands that begin, block, resume, stop and finish frames.

use super::Stack;
#[cfg(doc)]
use super::Work;
use super::results::{Popped, first_handle, frames_with, unfinished_below};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::{Change, FrameRef, FrameStatus, Handle, PopStatus, Results};
use crate::tree::Command;

impl Stack {
    /// Starts a planned frame: its status becomes in_progress, and it becomes the active frame. Neither its
    /// parent nor its dependencies are checked: [`Stack::begin`] does that.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is not planned;
    /// [`Error::NotReady`] if it is not work.
    pub fn activate(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Activate { frame: frame.into() }).map(drop)
    }

    /// Starts a planned frame that has what it needs. It is [`Stack::activate`] for callers that must not
    /// begin a frame that has to wait.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let cart = stack.plan(NewFrame::new("Cart"))?;
    /// let pay = stack.plan(NewFrame::new("Pay").depends_on(cart))?;
    /// assert_eq!(stack.begin(pay).unwrap_err().code(), "not_ready");
    /// stack.begin(cart)?;
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Stack::activate`]; [`Error::NotReady`] if something prevents its beginning
    /// ([`Tree::check_ready`](crate::Tree::check_ready)).
    pub fn begin(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Begin { frame: frame.into() }).map(drop)
    }

    /// Makes an open frame the active frame.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotOpen`] if the frame is neither
    /// in_progress nor blocked.
    pub fn set_active(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::SetActive { frame: frame.into() }).map(drop)
    }

    /// Resumes an open frame. A blocked frame becomes in_progress again. The frame becomes the active one,
    /// and the caller becomes its holder: if the frame's worker has let the lease end, no worker gets the
    /// frame any more. Commands of the frame's own worker do not change its holder.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is neither
    /// in_progress nor blocked; [`Error::Held`].
    ///
    /// ```
    /// use callstack_core::{FrameStatus, NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let tax = stack.push(NewFrame::new("Taxes"))?;
    /// stack.block(tax, "Which rate?", None)?;
    /// stack.resume(tax)?;
    /// assert_eq!(stack.frame(tax)?.status, FrameStatus::InProgress);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn resume(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Resume { frame: frame.into() }).map(drop)
    }

    /// Finishes a frame with results, or blocks it. If it is blocked, the results are what it waits for, as
    /// in [`Stack::block`] without a question. If the active frame is this frame or a frame below it, the
    /// nearest open ancestor becomes the active frame. A root can be popped too: that finishes its task.
    ///
    /// If the frame and its parent use registers, the parent's registers are updated.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Results, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(root))?;
    /// let results = Results::new("Cart with totals in src/cart.rs, 9 tests").compacted("src/cart.rs: Cart::total()");
    /// let popped = stack.pop(cart, PopStatus::Completed, results)?;
    /// assert_eq!(popped.active, Some(root));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is neither
    /// in_progress nor blocked.
    pub fn pop(&self, frame: impl Into<FrameRef>, status: PopStatus, results: impl Into<Results>) -> Result<Popped> {
        self.ended(Command::Pop { frame: frame.into(), status, results: results.into() })
    }

    /// Pops a frame, and begins a planned frame in the same command: `next`, or with `None` the first planned
    /// sibling that can begin after the pop. Without such a sibling it only pops.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(root))?;
    /// let pay = stack.plan(NewFrame::new("Pay").below(root).depends_on(cart))?;
    /// let popped = stack.pop_and_begin(cart, PopStatus::Completed, "Totals are right", None)?;
    /// assert_eq!((popped.next, stack.active()), (Some(pay), Some(pay)));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Stack::pop`]; for `next` [`Error::Transition`] if it is not planned, and
    /// [`Error::NotReady`] if it depends on a frame that is not completed after the pop. After an error
    /// nothing has changed.
    pub fn pop_and_begin(
        &self,
        frame: impl Into<FrameRef>,
        status: PopStatus,
        results: impl Into<Results>,
        next: Option<FrameRef>,
    ) -> Result<Popped> {
        self.ended(Command::PopAndBegin { frame: frame.into(), status, results: results.into(), next })
    }

    /// Completes a frame whose work is done, and begins a planned frame in the same command. It is
    /// [`Stack::pop`] with [`PopStatus::Completed`] for callers that must not overlook what is left below the
    /// frame.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop"))?;
    /// let cart = stack.plan(NewFrame::new("Cart").below(root))?;
    /// assert_eq!(stack.complete(root, "The shop is open", None).unwrap_err().code(), "parts_left");
    /// stack.activate(cart)?;
    /// stack.complete(cart, "Totals are right", None)?;
    /// stack.complete(root, "The shop is open", None)?;
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Stack::pop`] and [`Stack::pop_and_begin`]; [`Error::PartsLeft`] if frames below it are open
    /// or planned. After an error nothing has changed.
    pub fn complete(
        &self,
        frame: impl Into<FrameRef>,
        results: impl Into<Results>,
        next: Option<FrameRef>,
    ) -> Result<Popped> {
        self.ended(Command::Complete { frame: frame.into(), results: results.into(), next })
    }

    /// Blocks a frame: it waits for something from outside. `question` says what the frame needs, and who can
    /// give it. `results` are the results so far; `None` keeps those that the frame has. With an empty
    /// question the results say what the frame needs. The results so far that the frame has are kept in that
    /// case too.
    ///
    /// The context of the parent, of the siblings and of the frames that depend on it show the question, and
    /// so does [`outline`](crate::tree::outline). [`Stack::answer`] answers it.
    ///
    /// ```
    /// use callstack_core::{FrameStatus, NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let tax = stack.push(NewFrame::new("Taxes").below(root))?;
    /// stack.block(tax, "Which VAT rate? The user knows", Some("Totals without VAT work".into()))?;
    /// let context = stack.context(root, &Settings::default())?;
    /// assert!(context.xml.contains("Child f2 (Taxes) is blocked: Which VAT rate? The user knows"));
    /// stack.answer(tax, "20 %")?;
    /// stack.resume(tax)?;
    /// let context = stack.context(tax, &Settings::default())?;
    /// assert!(context.xml.contains("<answer>20 %</answer>"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stack::pop`].
    pub fn block(
        &self,
        frame: impl Into<FrameRef>,
        question: impl Into<String>,
        results: Option<Results>,
    ) -> Result<Popped> {
        self.ended(Command::Block {
            frame: frame.into(),
            question: Some(question.into()),
            results,
            interruption: false,
        })
    }

    /// Executes a command that finishes or blocks a frame.
    fn ended(&self, command: Command) -> Result<Popped> {
        let events = self.execute(command)?;
        let is_begun =
            |change: &Change| matches!(change, Change::StatusChanged { status: FrameStatus::InProgress, .. });
        let next = events.iter().find(|event| is_begun(&event.change)).map(|event| event.handle);
        let handle = first_handle(events);
        let tree = self.inner.tree.read();
        let below = |is| unfinished_below(&tree, handle, is);
        Ok(Popped {
            handle,
            parent: tree.node(handle).parent(),
            active: tree.active(),
            still_open: below(FrameStatus::is_open),
            still_planned: below(|status| status == FrameStatus::Planned),
            next,
        })
    }

    /// Answers a blocked frame. The frame stays blocked until it is resumed: by `Stack::host` in a process
    /// that runs the frame's session, by the agent's tool `stack_frame_activate`, or by [`Stack::resume`].
    /// The command that resumes it succeeds only once, so of several processes only one resumes the frame. If
    /// the process ends in between, the answer is still there.
    ///
    /// The answer is shown in the contexts of the frame until the frame is finished. A second answer to one
    /// question is added to the first.
    ///
    /// A frame that has waited to begin ([`Frame::waits_to_begin`](crate::Frame::waits_to_begin)), as an
    /// import leaves it, is planned after the answer, and can begin. If it is not work, it is completed, with
    /// the answer as its results.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotBlocked`] if the frame is not blocked;
    /// [`Error::Empty`] if the answer is blank.
    pub fn answer(&self, frame: impl Into<FrameRef>, answer: impl Into<String>) -> Result<()> {
        self.execute(Command::Answer { frame: frame.into(), answer: answer.into() }).map(drop)
    }

    /// Answers a blocked frame and resumes it, in one step: [`Stack::answer`] and [`Stack::resume`]. If
    /// another actor was faster, the answer is not recorded either.
    ///
    /// # Errors
    /// Those of [`Stack::answer`]; [`Error::Held`] if another actor works on the frame.
    ///
    /// ```
    /// use callstack_core::{FrameStatus, NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let tax = stack.push(NewFrame::new("Taxes"))?;
    /// stack.block(tax, "Which rate?", None)?;
    /// stack.answer_and_resume(tax, "20 %")?;
    /// assert_eq!(stack.frame(tax)?.status, FrameStatus::InProgress);
    /// assert_eq!(stack.answer_and_resume(tax, "19 %").unwrap_err().code(), "not_blocked");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn answer_and_resume(&self, frame: impl Into<FrameRef>, answer: impl Into<String>) -> Result<()> {
        self.execute(Command::AnswerAndResume { frame: frame.into(), answer: answer.into() }).map(drop)
    }

    /// Stops the frames that hosts run, or that [workers](Work::hold) have, from this one downwards, also
    /// those of other processes. They become blocked, and the reason is what they wait for. A running host
    /// notices the stop at its next poll, within a second: it aborts the sessions of the frames, adds the
    /// last words of these sessions as results so far, and answers the callers. A worker notices the stop
    /// when it renews its hold, which is refused. Each frame can be resumed like any other blocked frame;
    /// workers can have it when it was answered. Frames that hosts have queued there do not begin. If
    /// everything there has ended, nothing is recorded. Returns the stopped frames.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the reason is blank;
    /// [`Error::Held`] if another actor works itself in the frame or below it.
    pub fn stop(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Vec<Handle>> {
        self.stopped(Some(frame.into()), reason.into())
    }

    /// Stops all frames that hosts run or workers have: see [`Stack::stop`]. The frames in which other actors
    /// work themselves stay as they are, if an actor with a name gives the command.
    ///
    /// # Errors
    /// [`Error::Empty`] if the reason is blank.
    pub fn stop_all(&self, reason: impl Into<String>) -> Result<Vec<Handle>> {
        self.stopped(None, reason.into())
    }

    fn stopped(&self, frame: Option<FrameRef>, reason: String) -> Result<Vec<Handle>> {
        let events = self.execute(Command::Stop { frame, reason })?;
        Ok(frames_with(&events, |change| matches!(change, Change::StatusChanged { .. })))
    }
}
