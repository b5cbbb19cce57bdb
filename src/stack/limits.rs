//! What frames may do and spend.

use super::{Stack, Work};
use crate::error::Result;
use crate::frame::{FrameLimits, FrameRef};
use crate::tree::Command;
use crate::work::{Allowance, Overspent};

impl Stack {
    /// Sets what a frame may do and spend. Limits that are not given stay as they are.
    ///
    /// ```
    /// use callstack_core::frame::{FrameLimits, ModelRequest};
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop").limits(FrameLimits::default().tools(Some(vec!["Read".into()]))))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// stack.set_limits(shop, FrameLimits::default().max_tokens(Some(1_000)))?;
    /// assert_eq!(stack.work().allowance(cart)?.tools, Some(vec!["Read".to_owned()]));
    /// let more = stack.set_limits(cart, FrameLimits::default().tools(Some(vec!["Read".into(), "Bash".into()])));
    /// assert_eq!(more.unwrap_err().code(), "tools_exceed");
    /// stack.record_usage(cart, ModelRequest { output: 1_200, ..ModelRequest::new("small") })?;
    /// assert_eq!(stack.work().overspent(cart)?.map(|overspent| overspent.frame), Some(shop));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame); [`Error::Setting`](crate::Error::Setting) for
    /// a limit of 0; [`Error::ToolsExceed`](crate::Error::ToolsExceed) for tools that the frames above do not
    /// have.
    pub fn set_limits(&self, frame: impl Into<FrameRef>, limits: FrameLimits) -> Result<()> {
        self.execute(Command::SetLimits { frame: frame.into(), limits }).map(drop)
    }

    /// Records what a conversation of a frame has cost so far, in millionths of a US dollar. It is for hosts
    /// that learn the costs of conversations, and not of requests. It replaces what was recorded of the
    /// conversation before. Until the next record, [`Stack::usage`] estimates the costs of the requests that
    /// come.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame); [`Error::Empty`](crate::Error::Empty) if the
    /// ID of the conversation is blank.
    pub fn record_cost(
        &self,
        frame: impl Into<FrameRef>,
        conversation: impl Into<String>,
        cost_micro_usd: u64,
    ) -> Result<()> {
        let (frame, conversation) = (frame.into(), conversation.into());
        self.execute(Command::RecordCost { frame, conversation, cost_micro_usd }).map(drop)
    }

    /// The limits of roots without limits of their own. Only hosts with sessions have such settings.
    #[cfg(not(feature = "session"))]
    fn root_limits(&self) -> FrameLimits {
        FrameLimits::default()
    }
}

impl Work<'_> {
    /// What a frame may do and spend now, with the limits of all frames above it. A root without limits of
    /// its own has those of the host's settings (`calls.limits`).
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
    pub fn allowance(&self, frame: impl Into<FrameRef>) -> Result<Allowance> {
        let roots = self.stack.root_limits();
        self.stack.query(frame, |tree, handle| tree.allowance(handle, &roots))
    }

    /// The first frame, from this one upwards, that has spent what it may spend, together with all frames
    /// below it. `None`: there is no such frame.
    ///
    /// # Errors
    /// As [`Work::allowance`].
    pub fn overspent(&self, frame: impl Into<FrameRef>) -> Result<Option<Overspent>> {
        let roots = self.stack.root_limits();
        self.stack.query(frame, |tree, handle| tree.overspent(handle, &roots))
    }
}
