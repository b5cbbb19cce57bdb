//! The system prompts of agents that manage their own memory: one for each [`MemoryModel`], with and without shared results.

use std::borrow::Cow;

use crate::frame::{MemoryModel, RunSettings};

/// The text of these files, one after the other.
macro_rules! sections {
    ($($name:literal),+) => { concat!($(include_str!(concat!("prompt/", $name, ".md"))),+) };
}

const INTRODUCTION: &str = sections!("introduction");

/// Returns the system prompt of an agent in a run with these settings, in Markdown: the rules, and unless the settings want the short form,
/// what is worth keeping, and the mistakes that cost most. Examples of briefings are the host's, with its tools.
///
/// `tools` is the host's description of the agent's other tools, which is inserted after the introduction; empty if
/// there are none. The prompt does not change during a run, so prompt caches keep it.
pub fn system_prompt(settings: &RunSettings, tools: &str) -> Cow<'static, str> {
    let whole = match (settings.memory, settings.shared_results, settings.short_prompt) {
        (MemoryModel::Heap, false, true) => sections!("introduction", "stack", "heap", "working"),
        (MemoryModel::Heap, true, true) => sections!("introduction", "stack", "results", "heap", "working"),
        (MemoryModel::Registers, false, true) => sections!("introduction", "registers", "stack", "heap", "working"),
        (MemoryModel::Registers, true, true) => {
            sections!("introduction", "registers", "stack", "results", "heap", "working")
        }
        (MemoryModel::Heap, false, false) => {
            sections!("introduction", "stack", "heap", "keeping", "errors", "working")
        }
        (MemoryModel::Heap, true, false) => {
            sections!("introduction", "stack", "results", "heap", "keeping", "errors", "working")
        }
        (MemoryModel::Registers, false, false) => sections!(
            "introduction",
            "registers",
            "stack",
            "heap",
            "keeping",
            "register-or-heap",
            "errors",
            "register-errors",
            "working"
        ),
        (MemoryModel::Registers, true, false) => sections!(
            "introduction",
            "registers",
            "stack",
            "results",
            "heap",
            "keeping",
            "register-or-heap",
            "errors",
            "register-errors",
            "working"
        ),
    };
    match tools.trim() {
        "" => Cow::Borrowed(whole),
        tools => Cow::Owned([INTRODUCTION, tools, "\n\n", &whole[INTRODUCTION.len()..]].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<RunSettings> {
        let memories = [MemoryModel::Heap, MemoryModel::Registers];
        let settings = memories.into_iter().flat_map(|memory| {
            [(false, false), (false, true), (true, false), (true, true)]
                .map(|(shared, short)| RunSettings::default().memory(memory).shared_results(shared).short_prompt(short))
        });
        settings.collect()
    }

    /// In tokens of four characters.
    #[test]
    fn the_long_form_teaches_and_is_not_too_long() {
        let tokens = |settings: &RunSettings| system_prompt(settings, "").chars().count() / 4;
        for settings in all().into_iter().filter(|settings| !settings.short_prompt) {
            let (long, short) = (tokens(&settings), tokens(&settings.short_prompt(true)));
            assert!(short <= 1_700 && long >= short + 500 && long <= short + 1_300, "{short} and {long}: {settings:?}");
        }
    }

    #[test]
    fn prompts_name_only_what_their_agents_have() {
        for settings in all() {
            let prompt = system_prompt(&settings, "");
            assert_eq!(prompt.contains("update_registers"), settings.memory == MemoryModel::Registers);
            assert_eq!(prompt.contains("R7"), settings.memory == MemoryModel::Registers);
            assert_eq!(prompt.contains("read_frame_log"), settings.shared_results);
            assert_eq!(
                prompt.matches("\n# ").count(),
                prompt.matches("\n\n# ").count(),
                "a blank line before each heading"
            );
        }
    }
}
