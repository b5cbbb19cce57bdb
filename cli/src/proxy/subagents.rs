//! Subagents in a run whose agent names no conversation in its requests. A request belongs to a subagent if
//! it begins with the words with which a call of the run's conversation has started the subagent.

use std::cmp::Reverse;

use callstack_core::fold::{AnswerPart, CallOutcome};
use callstack_core::text::from_json;
use serde_json::Value;

use crate::caller::Caller;

/// The tools with which agents start subagents: of Copilot CLI, Qwen Code, Gemini CLI.
const STARTS: [&str; 3] = ["task", "agent", "invoke_agent"];
/// The call with which a subagent of Gemini CLI ends.
const COMPLETES: &str = "complete_task";

/// The values of arguments with which a call does not wait for its subagent.
const IN_BACKGROUND: [(&str, &str); 2] = [("run_in_background", "true"), ("mode", "background")];
/// A prompt of this length, in characters, is found within the words of a host too.
const LONG_ENOUGH: usize = 20;
/// How many calls, subagents and beginnings are remembered, the newest.
const MOST: usize = 256;

/// The subagents of the conversation of a run.
#[derive(Default)]
pub struct Subagents {
    /// The calls whose subagents have not sent a request yet.
    waiting: Vec<Task>,
    known: Vec<Known>,
    /// The words with which requests of the conversation itself begin.
    own: Vec<Vec<String>>,
    number: usize,
}

/// What a call starts a subagent with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// The conversation, or the subagent, that has started it.
    pub starter: Caller,
    /// A description in a few words; can be empty.
    pub description: String,
    pub prompt: String,
    call: AnswerPart,
    is_in_background: bool,
}

struct Known {
    /// The words with which its requests begin.
    opening: Vec<String>,
    caller: Caller,
    task: Task,
    /// The words of its last answer that called no tool.
    last_words: Option<String>,
    has_ended: bool,
}

/// The subagent that sends the request.
pub struct Asking {
    pub caller: Caller,
    /// What it was started with, if this is its first request.
    pub task: Option<Task>,
}

/// The end of a subagent.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub caller: Caller,
    pub prompt: String,
    /// The words of its last answer, or the reason why it has failed.
    pub answer: Result<String, String>,
}

impl Subagents {
    /// The subagent whose request begins with these words. `None`: the request belongs to the conversation
    /// itself. As long as the conversation `has_no_frame`, all requests are its own.
    pub fn asking(&mut self, opening: &[String], has_no_frame: bool) -> Option<Asking> {
        let last = opening.last()?.trim();
        if self.own.iter().any(|own| opening.starts_with(own)) {
            return None;
        }
        let begun = longest(self.waiting.iter().map(|task| &*task.prompt), last);
        if has_no_frame && begun.is_some() {
            return None;
        }
        let known = self.known.iter().rposition(|known| opening.starts_with(&known.opening));
        if let Some(known) = known.filter(|known| !self.known[*known].has_ended || begun.is_none()) {
            return Some(Asking { caller: self.known[known].caller.clone(), task: None });
        }
        if let Some(begun) = begun {
            let task = self.waiting.remove(begun);
            self.number += 1;
            let caller = task.starter.subagent(self.number);
            self.known.push(Known {
                opening: opening.to_vec(),
                caller: caller.clone(),
                task: task.clone(),
                last_words: None,
                has_ended: false,
            });
            return Some(Asking { caller, task: Some(task) });
        }
        // A compaction has put other words before the task of the subagent.
        let is_open = |known: &Known| !known.has_ended && !known.task.is_in_background;
        let open: Vec<usize> = (0..self.known.len()).filter(|known| is_open(&self.known[*known])).collect();
        let prompts = open.iter().map(|known| &*self.known[*known].task.prompt);
        if let Some(known) = longest(prompts, last).map(|place| open[place]) {
            self.known[known].opening = opening.to_vec();
            return Some(Asking { caller: self.known[known].caller.clone(), task: None });
        }
        self.own.push(opening.to_vec());
        keep_newest(&mut self.own);
        None
    }

    /// Whether a request begins with the words of a subagent that is known, or will be known soon. Remembers
    /// nothing.
    pub fn is_of_agent(&self, opening: &[String]) -> bool {
        let last = opening.last().map_or("", |words| words.trim());
        let is_own = self.own.iter().any(|own| opening.starts_with(own));
        let is_known = self.known.iter().any(|known| !known.has_ended && opening.starts_with(&known.opening));
        !is_own && (is_known || longest(self.waiting.iter().map(|task| &*task.prompt), last).is_some())
    }

    /// Remembers the subagents that an answer starts.
    pub fn start(&mut self, starter: &Caller, answer: &[AnswerPart]) {
        self.waiting.extend(answer.iter().filter_map(|part| task_of(starter, part)));
        keep_newest(&mut self.waiting);
        keep_newest(&mut self.known);
    }

    /// True if a call waits for a subagent.
    pub fn has_open(&self) -> bool {
        !self.waiting.is_empty() || self.known.iter().any(|known| !known.has_ended)
    }

    /// Notes an answer of a subagent that calls no tool. It ends a subagent that works in the background.
    pub fn said(&mut self, caller: &Caller, words: String) -> Option<Ended> {
        let known = self.known.iter_mut().rfind(|known| known.caller == *caller && !known.has_ended)?;
        known.last_words = Some(words);
        known.task.is_in_background.then(|| known.end(String::new()))
    }

    /// The subagents that have ended, because the request of their starter has the outcomes of the calls that
    /// have started them.
    pub fn returned(&mut self, starter: &Caller, outcome: impl Fn(&AnswerPart) -> Option<CallOutcome>) -> Vec<Ended> {
        let returned = |task: &Task| if task.starter == *starter { outcome(&task.call) } else { None };
        // A subagent that has sent no request has no frame.
        self.waiting.retain(|task| task.is_in_background || returned(task).is_none());
        let open = self.known.iter_mut().filter(|known| !known.has_ended && !known.task.is_in_background);
        open.filter_map(|known| {
            let CallOutcome { text, is_error, .. } = returned(&known.task)?;
            if is_error {
                known.last_words = None;
            }
            Some(known.end(text))
        })
        .collect()
    }

    /// The subagents that will not be seen again, and that have said something last.
    pub fn left(&mut self) -> Vec<Ended> {
        let open = self.known.iter_mut().filter(|known| !known.has_ended && known.last_words.is_some());
        open.map(|known| known.end(String::new())).collect()
    }
}

impl Known {
    /// `outcome`: what its starter was told.
    fn end(&mut self, outcome: String) -> Ended {
        self.has_ended = true;
        let answer = self.last_words.take().filter(|words| !words.trim().is_empty()).ok_or(outcome);
        Ended { caller: self.caller.clone(), prompt: self.task.prompt.clone(), answer }
    }
}

fn keep_newest<T>(list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(MOST));
}

/// The longest of these prompts that is in the words: at their end, or anywhere if it is not short.
fn longest<'a>(prompts: impl Iterator<Item = &'a str>, words: &str) -> Option<usize> {
    let stands = |prompt: &str| {
        let is_long = prompt.chars().count() >= LONG_ENOUGH;
        words.ends_with(prompt) || (is_long && words.contains(prompt))
    };
    let found = prompts.map(str::trim).enumerate().filter(|(_, prompt)| stands(prompt));
    // If two are the same, the first one.
    found.max_by_key(|(place, prompt)| (prompt.len(), Reverse(*place))).map(|(place, _)| place)
}

fn task_of(starter: &Caller, part: &AnswerPart) -> Option<Task> {
    let AnswerPart::Call { name, arguments, .. } = part else { return None };
    let arguments = from_json::<Value>(arguments).ok().filter(|_| STARTS.contains(&&**name))?;
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let (description, prompt) = (text("description"), text("prompt"));
    let is_in_background = IN_BACKGROUND.iter().any(|(key, value)| match &arguments[*key] {
        Value::Bool(given) => *given,
        given => given == value,
    });
    let task = Task { starter: starter.clone(), description, prompt, call: part.clone(), is_in_background };
    (!task.prompt.trim().is_empty()).then_some(task)
}

/// The words with which an answer may end a subagent: the words of an answer without a call, or the words of
/// the call that ends it.
pub fn last_words(answer: &[AnswerPart], is_last: bool) -> Option<String> {
    let completed = answer.iter().find_map(|part| match part {
        AnswerPart::Call { name, arguments, .. } if name == COMPLETES => {
            let result = from_json::<Value>(arguments).ok()?["result"].take();
            // An agent can have a format of its own for its result.
            Some(match &result {
                Value::String(text) => text.clone(),
                other => other["response"].as_str().map_or_else(|| other.to_string(), str::to_owned),
            })
        }
        _ => None,
    });
    completed.or_else(|| is_last.then(|| words(answer)))
}

/// The words of an answer.
fn words(answer: &[AnswerPart]) -> String {
    let words = answer.iter().filter_map(|part| if let AnswerPart::Text(text) = part { Some(&**text) } else { None });
    words.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use callstack_core::fold::Wire;

    use super::*;

    fn run() -> Caller {
        Caller::of("qwen", "4f0c").unwrap()
    }

    fn opening(words: &str) -> [String; 2] {
        ["The date is Friday.".to_owned(), words.to_owned()]
    }

    fn starts(prompt: &str) -> AnswerPart {
        AnswerPart::call("1", "agent", format!(r#"{{"description": "Look", "prompt": "{prompt}"}}"#))
    }

    fn asks(subagents: &mut Subagents, words: &str) -> Option<String> {
        subagents.asking(&opening(words), false).map(|asking| asking.caller.to_string())
    }

    fn begun(prompts: &[&str]) -> Subagents {
        let mut subagents = Subagents::default();
        asks(&mut subagents, "Do it.");
        subagents.start(&run(), &prompts.iter().map(|prompt| starts(prompt)).collect::<Vec<_>>());
        subagents
    }

    fn outcome(text: &str, is_error: bool) -> Option<CallOutcome> {
        // There is no other way to make one.
        let response = if is_error { "error" } else { "output" };
        let request = format!(
            r#"{{"contents": [{{"role": "user", "parts": [{{"text": "x"}}]}}, {{"role": "model", "parts": [{{"functionCall": {{"name": "agent", "args": {{}}}}}}]}},
            {{"role": "user", "parts": [{{"functionResponse": {{"name": "agent", "response": {{"{response}": "{text}"}}}}}}]}}]}}"#
        );
        callstack_core::fold::outcome_of(Wire::Gemini, &request, &AnswerPart::call("", "agent", "{}"))
    }

    #[test]
    fn a_request_that_begins_with_the_words_of_a_call_is_a_subagents() {
        let mut subagents = begun(&["Look here.", "Look there."]);
        let first = subagents.asking(&opening("Look there."), false).unwrap();
        let task = first.task.unwrap();
        assert_eq!((task.description.as_str(), task.prompt.as_str()), ("Look", "Look there."));
        assert!(first.caller.is_subagent() && first.caller.actor().caller == "qwen/4f0c");
        assert_eq!(asks(&mut subagents, "Look here.").as_deref(), Some("qwen/4f0c/2"));
        assert_eq!(asks(&mut subagents, "Look there.").as_deref(), Some("qwen/4f0c/1"));
        assert_eq!(asks(&mut subagents, "Do it."), None);
        assert_eq!(asks(&mut subagents, "Look elsewhere."), None);
    }

    #[test]
    fn a_prompt_at_the_end_of_another_one_is_not_taken_for_it() {
        for order in [["Run the tests.", "Fix it. Run the tests."], ["Fix it. Run the tests.", "Run the tests."]] {
            let mut subagents = begun(&order);
            let task = |subagents: &mut Subagents, words: &str| {
                subagents.asking(&opening(words), false).unwrap().task.unwrap().prompt
            };
            assert_eq!(task(&mut subagents, "Fix it. Run the tests."), "Fix it. Run the tests.");
            assert_eq!(task(&mut subagents, "Friday.\n\nRun the tests."), "Run the tests.");
        }
    }

    #[test]
    fn the_task_of_the_conversation_itself_is_no_subagents() {
        let mut subagents = begun(&["Do it."]);
        assert_eq!(asks(&mut subagents, "Do it."), None);
    }

    #[test]
    fn a_subagent_that_starts_with_the_first_frame_of_its_caller_is_known_when_that_has_begun() {
        let mut subagents = begun(&["Look."]);
        assert!(subagents.asking(&opening("Look."), true).is_none());
        assert_eq!(asks(&mut subagents, "Look.").as_deref(), Some("qwen/4f0c/1"));
    }

    #[test]
    fn a_subagent_ends_when_its_caller_has_the_outcome_of_its_call() {
        let mut subagents = begun(&["Look."]);
        let caller = subagents.asking(&opening("Look."), false).unwrap().caller;
        let returned = |subagents: &mut Subagents, told: Option<CallOutcome>| {
            subagents.returned(&run(), |_| told.clone()).pop().map(|ended| ended.answer)
        };
        assert_eq!(returned(&mut subagents, None), None);
        assert_eq!(subagents.said(&caller, "A summary for a compaction.".into()), None);
        assert_eq!(subagents.said(&caller, "It is there.".into()), None);
        assert_eq!(
            returned(&mut subagents, outcome("<result>It is there.</result>", false)),
            Some(Ok("It is there.".into()))
        );
        assert_eq!(returned(&mut subagents, outcome("Again", false)), None, "it has ended");
        let mut subagents = begun(&["Look."]);
        subagents.asking(&opening("Look."), false).unwrap();
        assert_eq!(returned(&mut subagents, outcome("No answer: 400", false)), Some(Err("No answer: 400".into())));
        let mut subagents = begun(&["Look."]);
        let caller = subagents.asking(&opening("Look."), false).unwrap().caller;
        subagents.said(&caller, "I give up.".into());
        assert_eq!(
            returned(&mut subagents, outcome("It has not completed", true)),
            Some(Err("It has not completed".into()))
        );
    }

    #[test]
    fn after_a_compaction_a_subagent_is_found_by_its_prompt() {
        let mut subagents = begun(&["Look at all the files, one by one."]);
        let first = asks(&mut subagents, "Look at all the files, one by one.");
        let compacted =
            "The history was summarized. Your instructions: Look at all the files, one by one. The summary: …";
        assert_eq!(asks(&mut subagents, compacted), first);
        assert_eq!(asks(&mut subagents, compacted), first);
    }

    #[test]
    fn one_in_the_background_ends_with_its_words() {
        let mut subagents = Subagents::default();
        let call = AnswerPart::call("1", "task", r#"{"prompt": "Look.", "mode": "background"}"#);
        subagents.start(&run(), &[call]);
        let caller = subagents.asking(&opening("Look."), false).unwrap().caller;
        assert_eq!(subagents.returned(&run(), |_| outcome("It runs.", false)), []);
        assert_eq!(subagents.said(&caller, "It is there.".into()).unwrap().answer, Ok("It is there.".into()));
    }

    #[test]
    fn a_subagent_of_a_subagent_is_below_it() {
        let mut subagents = begun(&["Look."]);
        let caller = subagents.asking(&opening("Look."), false).unwrap().caller;
        subagents.start(&caller, &[starts("Look deeper.")]);
        assert_eq!(asks(&mut subagents, "Look deeper.").as_deref(), Some("qwen/4f0c/1/2"));
    }

    #[test]
    fn the_same_task_given_again_is_another_subagents_once_the_first_has_ended() {
        let mut subagents = begun(&["Look."]);
        let first = subagents.asking(&opening("Look."), false).unwrap().caller;
        subagents.returned(&run(), |_| outcome("Done", false));
        assert_eq!(asks(&mut subagents, "Look.").unwrap(), first.to_string(), "a subagent continues it");
        subagents.start(&run(), &[starts("Look.")]);
        assert_eq!(asks(&mut subagents, "Look.").as_deref(), Some("qwen/4f0c/2"));
    }

    #[test]
    fn other_calls_start_nothing() {
        let mut subagents = Subagents::default();
        subagents.start(
            &run(),
            &[
                AnswerPart::call("1", "web_fetch", r#"{"prompt": "Look."}"#),
                AnswerPart::call("2", "task", r#"{"prompt": " "}"#),
                AnswerPart::call("3", "task", "{"),
                AnswerPart::call("4", "task", r#"["Look."]"#),
            ],
        );
        assert_eq!(asks(&mut subagents, "Look."), None);
        assert_eq!(asks(&mut subagents, ""), None);
    }

    #[test]
    fn the_last_answer_is_words_or_the_call_that_ends_a_subagent() {
        let said = [AnswerPart::Text("It is there.".into())];
        assert_eq!(last_words(&said, true).as_deref(), Some("It is there."));
        assert_eq!(last_words(&said, false), None);
        for (result, words) in [
            (r#""It is there.""#, "It is there."),
            (r#"{"response": "It is there."}"#, "It is there."),
            (r#"{"files":["a"]}"#, r#"{"files":["a"]}"#),
        ] {
            let completes = [AnswerPart::call("", COMPLETES, format!(r#"{{"result": {result}}}"#))];
            assert_eq!(last_words(&completes, false).as_deref(), Some(words));
        }
    }
}
