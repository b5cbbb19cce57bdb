//! The system prompts of agents that manage their own memory: one for each [`MemoryModel`], with and without
//! shared results.

use crate::frame::{MemoryModel, RunSettings};

/// A section of the prompt.
macro_rules! section {
    ($name:literal) => {
        include_str!(concat!("prompt/", $name, ".md"))
    };
}

/// Returns the system prompt, in Markdown, of an agent in a run with these settings. It has the rules. Unless
/// the settings want the short form, it also says what is worth keeping, and which mistakes cost most.
/// Examples of briefings come from the host, with its tools.
///
/// `tools` is the host's description of the agent's other tools, which is inserted after the introduction;
/// empty if there are none. The prompt does not change during a run, so prompt caches keep it.
pub fn system_prompt(settings: &RunSettings, tools: &str) -> String {
    let has_registers = settings.memory == MemoryModel::Registers;
    let teaches = !settings.short_prompt;
    let tools = tools.trim();
    let sections = [
        (true, section!("introduction")),
        (!tools.is_empty(), tools),
        (!tools.is_empty(), "\n\n"),
        (has_registers, section!("registers")),
        (true, section!("stack")),
        (settings.shared_results, section!("results")),
        (true, section!("heap")),
        (teaches, section!("keeping")),
        (teaches && has_registers, section!("register-or-heap")),
        (teaches, section!("errors")),
        (teaches && has_registers, section!("register-errors")),
        (true, section!("working")),
    ];
    sections.into_iter().filter_map(|(is_told, section)| is_told.then_some(section)).collect()
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
