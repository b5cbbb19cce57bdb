//! The system prompts of agents that manage their own memory: one for each [`MemoryModel`].

use std::borrow::Cow;

use crate::frame::MemoryModel;

const INTRODUCTION: &str = include_str!("prompt/introduction.md");

/// Returns the system prompt of an agent with this kind of memory, in Markdown.
///
/// `tools` is the host's description of the agent's other tools, which is inserted after the introduction; empty if
/// there are none. The prompt does not change during a run, so prompt caches keep it.
pub fn system_prompt(memory: MemoryModel, tools: &str) -> Cow<'static, str> {
    let whole = match memory {
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
    };
    match tools.trim() {
        "" => Cow::Borrowed(whole),
        tools => Cow::Owned([INTRODUCTION, tools, "\n\n", &whole[INTRODUCTION.len()..]].concat()),
    }
}
