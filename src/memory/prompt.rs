//! The system prompts of agents that manage their own memory: one for each [`MemoryModel`], with and without shared results.

use std::borrow::Cow;

use crate::frame::{MemoryModel, RunSettings};

/// The text of these files, one after the other.
macro_rules! sections {
    ($($name:literal),+) => { concat!($(include_str!(concat!("prompt/", $name, ".md"))),+) };
}

const INTRODUCTION: &str = sections!("introduction");

/// Returns the system prompt of an agent in a run with these settings, in Markdown.
///
/// `tools` is the host's description of the agent's other tools, which is inserted after the introduction; empty if
/// there are none. The prompt does not change during a run, so prompt caches keep it.
pub fn system_prompt(settings: &RunSettings, tools: &str) -> Cow<'static, str> {
    let whole = match (settings.memory, settings.shared_results) {
        (MemoryModel::Heap, false) => sections!("introduction", "stack", "heap", "working"),
        (MemoryModel::Heap, true) => sections!("introduction", "stack", "results", "heap", "working"),
        (MemoryModel::Registers, false) => sections!("introduction", "registers", "stack", "heap", "working"),
        (MemoryModel::Registers, true) => sections!("introduction", "registers", "stack", "results", "heap", "working"),
    };
    match tools.trim() {
        "" => Cow::Borrowed(whole),
        tools => Cow::Owned([INTRODUCTION, tools, "\n\n", &whole[INTRODUCTION.len()..]].concat()),
    }
}
