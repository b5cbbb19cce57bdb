//! Commands for the agent memory of a frame: the chunks of its heap, and its registers.

use super::{check_length, not_empty};
use crate::error::{Error, Result};
use crate::frame::{Change, Chunk, Frame, Handle, NewChunk, RegisterValues, Registers, Results, first_filled};
use crate::text::has_hidden_or_control;
use crate::tree::{Draft, Tree};

impl Draft<'_> {
    pub(super) fn allocate_chunk(&mut self, handle: Handle, chunk: NewChunk) -> Result<()> {
        check_chunk(self.tree, handle, &chunk)?;
        let (now, step) = (self.now, self.tree.step(handle));
        let NewChunk { name, content, description } = chunk;
        let chunk = Chunk {
            name,
            content,
            description,
            allocated_at: now,
            written_at: now,
            allocated_step: step,
            written_step: step,
        };
        self.push(handle, Change::ChunkAllocated { chunk: Box::new(chunk) });
        Ok(())
    }

    pub(super) fn write_chunk(&mut self, handle: Handle, name: String, content: String) -> Result<()> {
        let (owner, _) = known_chunk(self.tree, handle, &name)?;
        check_length("content", &content, NewChunk::CONTENT_LIMIT)?;
        self.push(owner, Change::ChunkWritten { name, content, step: self.tree.step(handle) });
        Ok(())
    }

    pub(super) fn free_chunk(&mut self, handle: Handle, name: String) -> Result<()> {
        let (owner, _) = known_chunk(self.tree, handle, &name)?;
        self.push(owner, Change::ChunkFreed { name });
        Ok(())
    }

    pub(super) fn update_registers(&mut self, handle: Handle, values: &RegisterValues) {
        let present = self.tree.node(handle).record().registers.as_deref();
        let mut updated = present.cloned().unwrap_or_default();
        updated.set(values);
        let registers = updated.changes_since(present.unwrap_or(&Registers::default()));
        if !registers.is_empty() || present.is_none() {
            self.push(handle, Change::RegistersChanged { registers });
        }
    }
}

/// Checks that a chunk can be allocated: its texts are valid, the frame sees no chunk with the same name, and
/// no unfinished frame below the frame has such a chunk.
fn check_chunk(tree: &Tree, handle: Handle, chunk: &NewChunk) -> Result<()> {
    not_empty("name", &chunk.name)?;
    for (field, text, limit) in
        [("name", &chunk.name, NewChunk::NAME_LIMIT), ("description", &chunk.description, NewChunk::DESCRIPTION_LIMIT)]
    {
        check_length(field, text, limit)?;
        if has_hidden_or_control(text) {
            return Err(Error::NotOneLine { field });
        }
    }
    check_length("content", &chunk.content, NewChunk::CONTENT_LIMIT)?;
    let above = tree.chunk(handle, &chunk.name).map(|(owner, _)| owner);
    match above.or_else(|| tree.unfinished_owner_below(handle, &chunk.name)) {
        Some(owner) => Err(Error::ChunkExists { name: chunk.name.clone(), handle: owner }),
        None => Ok(()),
    }
}

/// The chunk with this name that a frame sees, and the frame that owns it.
pub(crate) fn known_chunk<'a>(tree: &'a Tree, handle: Handle, name: &str) -> Result<(Handle, &'a Chunk)> {
    tree.chunk(handle, name).ok_or_else(|| Error::UnknownChunk {
        name: name.to_owned(),
        handle,
        known: tree.chunks(handle).into_iter().map(|(_, chunk)| chunk.name.clone()).collect(),
    })
}

/// The initial registers of a frame that is about to start, if its parent uses registers.
pub(super) fn inherited_registers(tree: &Tree, parent: Handle, child: &Frame) -> Option<RegisterValues> {
    let registers = tree.node(parent).record().registers.as_deref()?;
    let objective = first_filled(child.dense_criteria(), &child.title);
    Some(registers.pushed(&child.title, objective).changes_since(&Registers::default()))
}

/// The parent of a frame that is about to be popped, and the changes of the parent's registers. `None` unless
/// both use registers.
pub(super) fn returned_registers(tree: &Tree, handle: Handle, results: &Results) -> Option<(Handle, RegisterValues)> {
    let child = tree.node(handle).record();
    let parent = tree.node(handle).parent()?;
    let present = tree.node(parent).record().registers.as_deref()?;
    let returned = present.popped(child.registers.as_deref()?, &child.title, results.dense());
    Some((parent, returned.changes_since(present)))
}
