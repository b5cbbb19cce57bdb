//! The heap and the registers of frames.

use super::Stack;
use crate::error::Result;
use crate::frame::{Chunk, FrameRef, Handle, NewChunk, RegisterValues, Registers};
use crate::tree::{Command, HeapUsage, known_chunk};

/// The heap that a frame sees: its own chunks and those of the frames above it. Made by [`Stack::heap`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Heap<'a> {
    stack: &'a Stack,
    frame: FrameRef,
}

impl Stack {
    /// The heap that a frame sees. Naming a frame that does not exist fails when the heap is used.
    ///
    /// ```
    /// use callstack_core::frame::NewChunk;
    /// use callstack_core::{NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let cart = stack.push(NewFrame::new("Cart").id("ses_2").below(root))?;
    /// stack.heap(root).allocate(NewChunk::new("prices").content("apple < pear"))?;
    /// assert!(stack.context(cart, &Settings::default())?.stable.contains("apple < pear"));
    /// assert_eq!(stack.heap(cart).chunk("prices")?.1.content, "apple < pear");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn heap(&self, frame: impl Into<FrameRef>) -> Heap<'_> {
        Heap { stack: self, frame: frame.into() }
    }

    /// Puts values into registers of a frame, which uses registers from then on: its contexts show them, and its
    /// children inherit some when they begin. A value that is too long for its register is cut.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame), [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
    pub fn update_registers(&self, frame: impl Into<FrameRef>, registers: RegisterValues) -> Result<()> {
        self.execute(Command::UpdateRegisters { frame: frame.into(), registers }).map(drop)
    }

    /// The registers of a frame; `None` if it uses none.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame), [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
    pub fn registers(&self, frame: impl Into<FrameRef>) -> Result<Option<Registers>> {
        self.query(frame, |tree, handle| tree.node(handle).record().registers.as_deref().cloned())
    }
}

impl Heap<'_> {
    /// Puts a new chunk on the heap of this frame. The frame and all frames below it see the chunk until it is freed:
    /// contexts show it verbatim, even after the conversation has been compacted. A chunk for all frames of a tree
    /// belongs to its root.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame);
    /// [`Error::ChunkExists`](crate::Error::ChunkExists); [`Error::Empty`](crate::Error::Empty) for the name;
    /// [`Error::TooLong`](crate::Error::TooLong); [`Error::NotOneLine`](crate::Error::NotOneLine) for names and
    /// descriptions.
    pub fn allocate(&self, chunk: NewChunk) -> Result<()> {
        self.stack.execute(Command::AllocateChunk { frame: self.frame.clone(), chunk }).map(drop)
    }

    /// Replaces the content of a chunk.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::UnknownChunk`](crate::Error::UnknownChunk);
    /// [`Error::TooLong`](crate::Error::TooLong).
    pub fn write(&self, name: impl Into<String>, content: impl Into<String>) -> Result<()> {
        let (frame, name, content) = (self.frame.clone(), name.into(), content.into());
        self.stack.execute(Command::WriteChunk { frame, name, content }).map(drop)
    }

    /// Takes a chunk off the heap.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::UnknownChunk`](crate::Error::UnknownChunk).
    pub fn free(&self, name: impl Into<String>) -> Result<()> {
        self.stack.execute(Command::FreeChunk { frame: self.frame.clone(), name: name.into() }).map(drop)
    }

    /// A chunk, and the frame that it belongs to.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::UnknownChunk`](crate::Error::UnknownChunk).
    pub fn chunk(&self, name: &str) -> Result<(Handle, Chunk)> {
        self.stack.query(self.frame.clone(), |tree, handle| {
            known_chunk(tree, handle, name).map(|(owner, chunk)| (owner, chunk.clone()))
        })?
    }

    /// All chunks, those of the root first, each with the frame that it belongs to.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame).
    pub fn chunks(&self) -> Result<Vec<(Handle, Chunk)>> {
        self.stack.query(self.frame.clone(), |tree, handle| {
            tree.chunks(handle).into_iter().map(|(owner, chunk)| (owner, chunk.clone())).collect()
        })
    }

    /// How full the heap is, measured by a ceiling in characters.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame).
    pub fn usage(&self, ceiling: usize) -> Result<HeapUsage> {
        self.stack.query(self.frame.clone(), |tree, handle| HeapUsage::of(tree, handle, ceiling))
    }
}
