//! The contexts of frames, and their cache.

use std::sync::Arc;

use super::Stack;
use crate::context::{Advice, Context, Key, Settings};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::FrameRef;
#[cfg(feature = "tools")]
use crate::frame::Handle;

impl Stack {
    /// Returns the context of a frame: the text for the frame's agent in the next request to a model. A
    /// context is cached for its frame and settings until a frame that it shows changes.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::BudgetTooSmall`], with the number of
    /// tokens that are needed; [`Error::Setting`] for a setting out of range; [`Error::Broken`].
    pub fn context(&self, frame: impl Into<FrameRef>, settings: &Settings) -> Result<Arc<Context>> {
        self.advised_context(&frame.into(), settings, Advice::default())
    }

    /// Returns the contexts of several frames, in the order of the frames, each as [`Stack::context`] makes it.
    ///
    /// A command of another thread can come between two of them: then the later ones show what it changed.
    ///
    /// # Errors
    /// As [`Stack::context`]: the error of the first frame whose context fails, and no contexts.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Build a shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// let contexts = stack.contexts([shop, cart], &Settings::default())?;
    /// assert!(contexts[1].xml.contains("<title>Cart</title>"));
    /// assert_eq!(contexts.len(), 2);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn contexts<F: Into<FrameRef>>(
        &self,
        frames: impl IntoIterator<Item = F>,
        settings: &Settings,
    ) -> Result<Vec<Arc<Context>>> {
        frames.into_iter().map(|frame| self.context(frame, settings)).collect()
    }

    /// As [`Stack::context`], for a conversation that has already had the context. Advice that is given only
    /// once is left out.
    #[cfg(feature = "tools")]
    pub(crate) fn context_again(&self, frame: Handle, settings: &Settings) -> Result<Arc<Context>> {
        self.advised_context(&frame.into(), settings, Advice { planning: false, ..Advice::default() })
    }

    fn advised_context(&self, frame: &FrameRef, settings: &Settings, advice: Advice<'_>) -> Result<Arc<Context>> {
        self.check_working()?;
        let now = self.inner.span_clock.now();
        let key = self.look_at(frame, |tree, handle| Key::new(tree, handle, settings, advice))?;
        self.cached_context(&key, now).map(|(context, _)| context)
    }

    /// The context of a frame, and true if the context was in the cache.
    pub(super) fn cached_context(&self, key: &Key<'_>, now: u64) -> Result<(Arc<Context>, bool)> {
        let contexts = &self.inner.contexts;
        if let Some(context) = contexts.find(key, now) {
            return Ok((context, true));
        }
        // The token counter is code of the host.
        let made = self.inner.tree.lend(|tree| tree.checked(|tree| contexts.make(tree, &key.of(tree), now)))?;
        self.drop_finished();
        made.map(|context| (context, false))
    }

    /// As [`Stack::context`], but without the cache: always assembles the context, and does not keep it.
    ///
    /// # Errors
    /// As [`Stack::context`].
    pub fn context_uncached(&self, frame: impl Into<FrameRef>, settings: &Settings) -> Result<Context> {
        self.check_working()?;
        let frame = frame.into();
        // The token counter is code of the host.
        self.read(|tree| {
            let handle = tree.resolve(&frame)?;
            self.inner.contexts.assemble(tree, handle, settings, Advice::default())
        })?
    }
}
