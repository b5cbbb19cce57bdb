//! Observations of a session's messages and tool calls, as signals for the heuristics.

use super::{PopSignals, PushSignals};

/// Maximum number of remembered changed files; the newest are kept.
const FILES: usize = 50;
/// Number of requests to the model with the advice to plan a task.
const ADVISED_REQUESTS: u32 = 3;

/// The observations of a session since the start of its frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observation {
    messages: u32,
    /// Numbers of all messages of the assistant and of all tool calls, also of those before a compaction.
    replies: u32,
    tool_calls: u32,
    errors: u32,
    tokens: u64,
    context_limit: Option<u64>,
    files: Vec<String>,
    /// Number of consecutive turns of the assistant without a successful tool call and without a user
    /// message.
    idle_turns: u32,
    has_worked: bool,
    /// Signs that the frame can end, in addition to the observations of its session.
    pub(in crate::session) successes: Vec<String>,
    advice: PlanningAdvice,
}

/// Whether a root without children is advised to plan: in the first requests for its first task of more than
/// two words, and for each later task in the requests after its first tool call. So a mere chat, in which no
/// tools are called, does not get the advice again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PlanningAdvice {
    requests_left: u32,
    was_given: bool,
    /// True if the advice is given after the next tool call.
    is_waiting: bool,
}

impl Observation {
    /// Observations from the records of a frame: how often a model was asked, and the changed files, the
    /// newest last.
    pub(super) fn of_records(requests: u64, files: &[String]) -> Self {
        let files = files[files.len().saturating_sub(FILES)..].to_vec();
        Self { messages: u32::try_from(requests).unwrap_or(u32::MAX), files, ..Self::default() }
    }

    /// Notes a message, with the size and the maximum size of the context in tokens if they are known.
    pub fn message(&mut self, is_assistant: bool, tokens: Option<u64>, context_limit: Option<u64>) {
        self.messages += 1;
        if is_assistant {
            self.replies += 1;
            self.advice.requests_left = self.advice.requests_left.saturating_sub(1);
        }
        self.tokens = tokens.unwrap_or(self.tokens);
        self.context_limit = context_limit.or(self.context_limit);
        // A user message counts as progress.
        let goes_on = std::mem::take(&mut self.has_worked) || !is_assistant;
        self.idle_turns = if goes_on { 0 } else { self.idle_turns + 1 };
    }

    /// Notes a new task of the person. `is_short` is true if it has one or two words.
    pub fn asked(&mut self, is_short: bool) {
        let is_given = !is_short && !self.advice.was_given;
        self.advice = PlanningAdvice {
            requests_left: if is_given { ADVISED_REQUESTS } else { 0 },
            was_given: self.advice.was_given || is_given,
            is_waiting: !is_given,
        };
    }

    /// True if the next request to the model should advise the agent to plan, if nothing is planned.
    pub fn needs_planning_advice(&self) -> bool {
        self.advice.requests_left > 0
    }

    /// Notes any tool call: the session works on its task.
    fn called(&mut self) {
        self.tool_calls += 1;
        if std::mem::take(&mut self.advice.is_waiting) {
            self.advice.requests_left = ADVISED_REQUESTS;
        }
    }

    /// Notes a successful tool call and the paths of the files that it changed. Each success reduces the
    /// number of errors by one.
    pub fn worked<'a>(&mut self, changed: impl IntoIterator<Item = &'a str>) {
        self.called();
        self.has_worked = true;
        self.errors = self.errors.saturating_sub(1);
        for path in changed {
            self.files.retain(|file| file != path);
            self.files.push(path.to_owned());
            if self.files.len() > FILES {
                self.files.remove(0);
            }
        }
    }

    /// Notes a failed tool call or an error of the session.
    pub fn failed(&mut self) {
        self.called();
        self.errors += 1;
    }

    /// True if tools were called, and a later success followed each failure.
    pub fn has_only_succeeded(&self) -> bool {
        self.tool_calls > 0 && self.errors == 0
    }

    /// Number of messages of the assistant.
    pub fn replies(&self) -> u32 {
        self.replies
    }

    /// Number of tool calls.
    pub fn tool_calls(&self) -> u32 {
        self.tool_calls
    }

    /// Notes that the conversation was replaced by a summary: the numbers of messages and tokens restart at
    /// 0.
    pub fn compacted(&mut self) {
        (self.messages, self.tokens) = (0, 0);
    }

    /// Returns the observations as signals for a push.
    pub fn push_signals(&self) -> PushSignals {
        PushSignals {
            potential_goal: None,
            recent_messages: self.messages,
            error_count: self.errors,
            token_count: self.tokens,
            recent_file_changes: self.files.clone(),
        }
    }

    /// Returns the observations as signals for a pop.
    pub fn pop_signals(&self) -> PopSignals {
        let defaults = PopSignals::default();
        // Without a known context limit, the context does not count as full.
        let (token_count, context_limit) = match self.context_limit {
            Some(limit) => (self.tokens, limit),
            None => (0, defaults.context_limit),
        };
        let success_signals = self.successes.clone();
        PopSignals { no_progress_turns: self.idle_turns, token_count, context_limit, success_signals, ..defaults }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_without_a_tool_that_worked_are_no_progress() {
        let mut seen = Observation::default();
        (0..3).for_each(|_| seen.message(true, None, None));
        assert_eq!(seen.pop_signals().no_progress_turns, 3);
        seen.failed();
        seen.message(true, None, None);
        assert_eq!((seen.pop_signals().no_progress_turns, seen.push_signals().error_count), (4, 1));
        seen.worked(["a.rs"]);
        seen.message(true, Some(5_000), Some(200_000));
        let (push, pop) = (seen.push_signals(), seen.pop_signals());
        assert_eq!((push.error_count, push.recent_messages, push.token_count), (0, 5, 5_000));
        assert_eq!((pop.no_progress_turns, pop.token_count, pop.context_limit), (0, 5_000, 200_000));
        seen.message(false, None, None);
        assert_eq!(seen.push_signals().token_count, 5_000, "what is not said stays");
        let mut unknown = Observation::default();
        unknown.message(true, Some(1_000_000), None);
        assert_eq!(unknown.pop_signals().token_count, 0, "an unknown window is not full");
        seen.compacted();
        assert_eq!((seen.push_signals().recent_messages, seen.push_signals().token_count), (0, 0));
    }

    #[test]
    fn planning_is_advised_for_the_first_task_and_for_later_ones_when_they_are_worked_on() {
        let mut seen = Observation::default();
        let advised = |seen: &mut Observation, requests: usize| {
            let advised: Vec<bool> = (0..requests)
                .map(|_| {
                    let needs = seen.needs_planning_advice();
                    seen.message(true, None, None);
                    needs
                })
                .collect();
            advised.iter().filter(|is| **is).count()
        };
        seen.asked(true);
        assert_eq!(advised(&mut seen, 2), 0, "hello");
        seen.asked(false);
        assert_eq!(advised(&mut seen, 9), 3, "please build a shop");
        seen.asked(false);
        assert_eq!(advised(&mut seen, 9), 0, "how are you today?");
        seen.asked(false);
        seen.failed();
        assert_eq!(advised(&mut seen, 9), 3, "now build a blog");
        seen.worked([]);
        assert_eq!(advised(&mut seen, 9), 0, "it continues");
    }

    #[test]
    fn the_newest_files_are_remembered_once() {
        let mut seen = Observation::default();
        (0..60).for_each(|number| seen.worked([format!("{number}.rs").as_str()]));
        seen.worked(["20.rs"]);
        let files = seen.push_signals().recent_file_changes;
        assert_eq!((files.len(), files[0].as_str(), files[FILES - 1].as_str()), (FILES, "10.rs", "20.rs"));
    }
}
