//! [`Heap`]: the chunks that a frame sees; and the registers of frames.

use super::Stack;
use crate::context::{Settings, Shown};
use crate::error::Result;
use crate::frame::{Chunk, FrameRef, Handle, NewChunk, RegisterValues, Registers};
use crate::tree::{Command, HeapUsage, known_chunk};

/// The heap that a frame sees: its own chunks and those of its ancestors. [`Stack::heap`] returns it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Heap<'a> {
    stack: &'a Stack,
    frame: FrameRef,
}

impl Stack {
    /// Returns the heap that a frame sees. The frame is looked up when the heap is used; an unknown frame is
    /// an error then.
    ///
    /// ```
    /// use callstack_core::frame::NewChunk;
    /// use callstack_core::{NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let cart = stack.push(NewFrame::new("Cart").id("ses_2").below(root))?;
    /// stack.heap(root).allocate(NewChunk::new("prices").content("apple < pear"))?;
    /// assert!(stack.context(cart, &Settings::default())?.stable.contains("apple &lt; pear"));
    /// assert_eq!(stack.heap(cart).chunk("prices")?.1.content, "apple < pear");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn heap(&self, frame: impl Into<FrameRef>) -> Heap<'_> {
        Heap { stack: self, frame: frame.into() }
    }

    /// Sets registers of a frame. From then on the frame uses registers: its contexts show them, and its
    /// children inherit some of them when they start. A value that exceeds its register's limit is cut.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
    pub fn update_registers(&self, frame: impl Into<FrameRef>, registers: RegisterValues) -> Result<()> {
        self.execute(Command::UpdateRegisters { frame: frame.into(), registers }).map(drop)
    }

    /// The registers of a frame; `None` if it uses none.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::Broken`](crate::Error::Broken).
    pub fn registers(&self, frame: impl Into<FrameRef>) -> Result<Option<Registers>> {
        self.query(frame, |tree, handle| tree.node(handle).record().registers.as_deref().cloned())
    }
}

impl Heap<'_> {
    /// The chunks that the context of this frame does not show as a whole, because there is no room for them.
    /// `settings`: those of the context.
    ///
    /// # Errors
    /// As [`Stack::context`].
    pub fn not_whole(&self, settings: &Settings) -> Result<Vec<String>> {
        let context = self.stack.context(self.frame.clone(), settings)?;
        let chunks = context.report.chunks.iter();
        Ok(chunks.filter(|chunk| chunk.shown != Shown::Whole).map(|chunk| chunk.name.clone()).collect())
    }

    /// Allocates a chunk on the heap of this frame. The frame and all frames below it see the chunk until it
    /// is freed: contexts show it verbatim, even after the conversation has been compacted. A chunk for all
    /// frames of a tree belongs to its root.
    ///
    /// # Errors
    /// - [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    ///   [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
    /// - [`Error::ChunkExists`](crate::Error::ChunkExists) if the frame, or an unfinished frame below it,
    ///   already sees a chunk of that name.
    /// - [`Error::Empty`](crate::Error::Empty) if the name is blank.
    /// - [`Error::TooLong`](crate::Error::TooLong) if name, description or content exceed their limits.
    /// - [`Error::NotOneLine`](crate::Error::NotOneLine) if name or description have control characters.
    pub fn allocate(&self, chunk: NewChunk) -> Result<()> {
        self.stack.execute(Command::AllocateChunk { frame: self.frame.clone(), chunk }).map(drop)
    }

    /// Replaces the content of a chunk.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame),
    /// [`Error::UnknownChunk`](crate::Error::UnknownChunk), [`Error::TooLong`](crate::Error::TooLong) if the
    /// content exceeds its limit.
    pub fn write(&self, name: impl Into<String>, content: impl Into<String>) -> Result<()> {
        let (frame, name, content) = (self.frame.clone(), name.into(), content.into());
        self.stack.execute(Command::WriteChunk { frame, name, content }).map(drop)
    }

    /// Frees a chunk: removes it from the heap.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame),
    /// [`Error::UnknownChunk`](crate::Error::UnknownChunk).
    pub fn free(&self, name: impl Into<String>) -> Result<()> {
        self.stack.execute(Command::FreeChunk { frame: self.frame.clone(), name: name.into() }).map(drop)
    }

    /// The chunk with this name, and the frame that owns it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame),
    /// [`Error::UnknownChunk`](crate::Error::UnknownChunk), [`Error::Broken`](crate::Error::Broken).
    pub fn chunk(&self, name: &str) -> Result<(Handle, Chunk)> {
        self.stack.query(self.frame.clone(), |tree, handle| {
            known_chunk(tree, handle, name).map(|(owner, chunk)| (owner, chunk.clone()))
        })?
    }

    /// All chunks that the frame sees, each with the frame that owns it; the chunks of the root come first.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::Broken`](crate::Error::Broken).
    pub fn chunks(&self) -> Result<Vec<(Handle, Chunk)>> {
        self.stack.query(self.frame.clone(), |tree, handle| {
            tree.chunks(handle).into_iter().map(|(owner, chunk)| (owner, chunk.clone())).collect()
        })
    }

    /// The usage of the heap that the frame sees. `ceiling` is the size above which an agent is warned, in
    /// characters.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::Broken`](crate::Error::Broken).
    pub fn usage(&self, ceiling: usize) -> Result<HeapUsage> {
        self.stack.query(self.frame.clone(), |tree, handle| HeapUsage::of(tree, handle, ceiling))
    }
}
