//! What agents remember: chunks on the heap, and registers.

use super::Stack;
use crate::error::Result;
use crate::frame::{Chunk, FrameRef, Handle, NewChunk, RegisterValues, Registers};
use crate::tree::{Command, HeapUsage, known_chunk};

impl Stack {
    /// Puts a new chunk on the heap of a frame. It and all frames below it see the chunk until it is freed: contexts
    /// show it word for word, whatever becomes of the conversation. What all frames of a tree are to see belongs to
    /// its root.
    ///
    /// ```
    /// use callstack_core::frame::NewChunk;
    /// use callstack_core::{NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let cart = stack.push(NewFrame::new("Cart").id("ses_2").below(root))?;
    /// stack.allocate_chunk(root, NewChunk::new("prices", "apple < pear"))?;
    /// assert!(stack.context(cart, &Settings::default())?.stable.contains("apple < pear"));
    /// assert_eq!(stack.chunk(cart, "prices")?.1.content, "apple < pear");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Unknown frame; [`ChunkExists`](crate::Error::ChunkExists); an empty name; texts that are
    /// [`TooLong`](crate::Error::TooLong), names and descriptions that are not
    /// [one line](crate::Error::NotOneLine).
    pub fn allocate_chunk(&self, frame: impl Into<FrameRef>, chunk: NewChunk) -> Result<()> {
        self.execute(Command::AllocateChunk { frame: frame.into(), chunk }).map(drop)
    }

    /// Replaces the content of a chunk that a frame sees.
    ///
    /// # Errors
    /// Unknown frame; [`UnknownChunk`](crate::Error::UnknownChunk); [`TooLong`](crate::Error::TooLong).
    pub fn write_chunk(
        &self,
        frame: impl Into<FrameRef>,
        name: impl Into<String>,
        content: impl Into<String>,
    ) -> Result<()> {
        let command = Command::WriteChunk { frame: frame.into(), name: name.into(), content: content.into() };
        self.execute(command).map(drop)
    }

    /// Takes a chunk that a frame sees off the heap.
    ///
    /// # Errors
    /// Unknown frame; [`UnknownChunk`](crate::Error::UnknownChunk).
    pub fn free_chunk(&self, frame: impl Into<FrameRef>, name: impl Into<String>) -> Result<()> {
        self.execute(Command::FreeChunk { frame: frame.into(), name: name.into() }).map(drop)
    }

    /// A chunk that a frame sees, and the frame that it belongs to.
    ///
    /// # Errors
    /// Unknown frame; [`UnknownChunk`](crate::Error::UnknownChunk).
    pub fn chunk(&self, frame: impl Into<FrameRef>, name: &str) -> Result<(Handle, Chunk)> {
        let tree = self.inner.tree.read();
        let handle = tree.resolve(&frame.into())?;
        known_chunk(&tree, handle, name).map(|(owner, chunk)| (owner, chunk.clone()))
    }

    /// All chunks that a frame sees, those of its root first, each with the frame that it belongs to.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn chunks(&self, frame: impl Into<FrameRef>) -> Result<Vec<(Handle, Chunk)>> {
        self.query(frame, |tree, handle| {
            tree.chunks(handle).into_iter().map(|(owner, chunk)| (owner, chunk.clone())).collect()
        })
    }

    /// How full the heap is that a frame sees, measured by a ceiling in characters.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn heap_usage(&self, frame: impl Into<FrameRef>, ceiling: usize) -> Result<HeapUsage> {
        self.query(frame, |tree, handle| HeapUsage::of(tree, handle, ceiling))
    }

    /// Puts values into registers of a frame, which uses them from then on: its contexts show them, and its children
    /// inherit some when they begin. What is too long for a register is cut.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn update_registers(&self, frame: impl Into<FrameRef>, registers: RegisterValues) -> Result<()> {
        self.execute(Command::UpdateRegisters { frame: frame.into(), registers }).map(drop)
    }

    /// The registers of a frame; `None` if it uses none.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn registers(&self, frame: impl Into<FrameRef>) -> Result<Option<Registers>> {
        self.query(frame, |tree, handle| tree.node(handle).record().registers.as_deref().cloned())
    }
}
