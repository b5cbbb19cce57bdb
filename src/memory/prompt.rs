//! The system prompts of agents that manage their own memory, one for each [`MemoryModel`].

use crate::frame::MemoryModel;

/// What an agent is told about its memory before everything else. It never changes during a run, so that prompt
/// caches keep it.
pub fn system_prompt(memory: MemoryModel) -> &'static str {
    match memory {
        MemoryModel::Heap => concat!(
            include_str!("prompt/introduction.md"),
            include_str!("prompt/stack.md"),
            include_str!("prompt/heap.md"),
            include_str!("prompt/working.md"),
        ),
        MemoryModel::Registers => concat!(
            include_str!("prompt/introduction.md"),
            include_str!("prompt/registers.md"),
            include_str!("prompt/stack.md"),
            include_str!("prompt/heap.md"),
            include_str!("prompt/working.md"),
        ),
    }
}
