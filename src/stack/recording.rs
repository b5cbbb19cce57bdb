//! Commands that record what the work on a frame brings and costs, and which conversations know its results.

use super::Stack;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::{Event, FrameRef, ModelRequest, Results};
use crate::tree::{Command, Records};

impl Stack {
    /// Records a file or another resource that the frame's work produced. Returns false if the frame already
    /// has it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the artifact is blank.
    pub fn add_artifact(&self, frame: impl Into<FrameRef>, artifact: impl Into<String>) -> Result<bool> {
        let records = Records::of_artifacts(vec![artifact.into()]);
        self.record(frame, records).map(|events| !events.is_empty())
    }

    /// Records a decision that was made during the frame's work.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the decision is blank.
    pub fn add_decision(&self, frame: impl Into<FrameRef>, decision: impl Into<String>) -> Result<()> {
        self.record(frame, Records { decisions: vec![decision.into()], ..Records::default() }).map(drop)
    }

    /// Records the results so far of an open frame, for example before its conversation is compacted. The
    /// frame's own context shows them. Frames below it see them from the next push or change of a status.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::ResultsFixed`] if the frame is neither
    /// in_progress nor blocked; [`Error::Empty`] if the full results are blank.
    pub fn summarize(&self, frame: impl Into<FrameRef>, results: impl Into<Results>) -> Result<()> {
        self.record(frame, Records::of_results(results)).map(drop)
    }

    /// Records what a frame has made and decided, and its results so far, in one commit. Returns the events;
    /// an empty list if everything was recorded already.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Records, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let cart = stack.push(NewFrame::new("Cart"))?;
    /// let made = Records::of_artifacts(vec!["src/cart.rs".into(), "src/mail.rs".into()]);
    /// assert_eq!(stack.record(cart, made)?.len(), 2);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Stack::add_artifact`], [`Stack::add_decision`] and [`Stack::summarize`]. Nothing was
    /// recorded then.
    pub fn record(&self, frame: impl Into<FrameRef>, records: Records) -> Result<Vec<Event>> {
        self.execute(Command::Record { frame: frame.into(), records })
    }

    /// Records that the conversation of the frame's parent has received the results of the frame, for example
    /// as the answer to a tool call. With [`FinishedChildren::Forgotten`](crate::context::FinishedChildren),
    /// the default, the parent's context then does not repeat them until [`Stack::forget`] of the parent. A
    /// stack with a [host](Stack::host) does this itself for the calls that it answers.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let cart = stack.push(NewFrame::new("Shopping cart").below(root))?;
    /// stack.pop(cart, PopStatus::Completed, "Totals are right")?;
    /// let shows_results =
    ///     || stack.context(root, &Settings::default()).map(|context| context.xml.contains("Totals are right"));
    /// assert!(shows_results()?);
    /// stack.deliver(cart)?;
    /// assert!(!shows_results()?);
    /// stack.forget(root)?;
    /// assert!(shows_results()?);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotFinished`] if the frame is neither
    /// completed nor failed.
    pub fn deliver(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Deliver { frame: frame.into() }).map(drop)
    }

    /// Records that the conversation of the frame was compacted or started from the beginning, so that it no
    /// longer holds the results of the frame's children. The frame's context then shows them. A stack with a
    /// [host](Stack::host) does this itself when a session was compacted.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn forget(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Forget { frame: frame.into() }).map(drop)
    }

    /// Records a request to a model, which was made in the frame's session. Contexts do not change. A host
    /// with sessions reports requests with its messages instead
    /// ([`HostEvent::Message`](crate::session::HostEvent::Message)).
    ///
    /// ```
    /// use callstack_core::frame::ModelRequest;
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// for (frame, output) in [(shop, 40), (cart, 100), (cart, 200)] {
    ///     stack.record_usage(frame, ModelRequest { uncached_input: 1_000, output, ..ModelRequest::new("small") })?;
    /// }
    /// let usage = stack.usage(shop)?;
    /// assert_eq!((usage.own[0].requests, usage.own[0].output), (1, 40));
    /// assert_eq!((usage.total[0].requests, usage.total[0].output), (3, 340));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn record_usage(&self, frame: impl Into<FrameRef>, request: ModelRequest) -> Result<()> {
        self.execute(Command::RecordUsage { frame: frame.into(), request: Box::new(request) }).map(drop)
    }
}
