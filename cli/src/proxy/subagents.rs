//! Subagents in a run whose agent names no conversation in its requests: a request is a subagent's if it begins with the words with which a
//! call of the run's conversation has started one.

use callstack_core::fold::AnswerPart;
use callstack_core::text::from_json;
use serde_json::Value;

use crate::caller::Caller;

/// The tools with which agents start subagents: of Copilot CLI, Qwen Code, Gemini CLI.
const STARTS: [&str; 3] = ["task", "agent", "invoke_agent"];
/// The call with which a subagent of Gemini CLI ends.
const COMPLETES: &str = "complete_task";

/// What a run knows of the subagents of its conversation.
#[derive(Default)]
pub struct Subagents {
    /// The calls whose subagents have asked nothing yet.
    waiting: Vec<Task>,
    known: Vec<Known>,
    /// The words with which requests of the conversation itself begin.
    own: Vec<Vec<String>>,
    number: usize,
}

/// With what a call starts a subagent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// In a few words; can be empty.
    pub description: String,
    pub prompt: String,
}

struct Known {
    /// The words with which its requests begin.
    opening: Vec<String>,
    caller: Caller,
    has_ended: bool,
}

/// The subagent that asks.
pub struct Asking {
    pub caller: Caller,
    /// With what it was started, if this is its first request.
    pub task: Option<Task>,
}

impl Subagents {
    /// The subagent of a conversation whose request begins with these words. `None`: it is the conversation's own.
    pub fn asking(&mut self, conversation: &Caller, opening: &[String]) -> Option<Asking> {
        let last = opening.last()?.trim();
        if self.own.iter().any(|own| opening.starts_with(own)) {
            return None;
        }
        let begun = self.waiting.iter().position(|task| last.ends_with(task.prompt.trim()));
        let known = self.known.iter().rfind(|known| opening.starts_with(&known.opening));
        match (known, begun) {
            (Some(known), begun) if !known.has_ended || begun.is_none() => {
                Some(Asking { caller: known.caller.clone(), task: None })
            }
            (_, Some(begun)) => {
                self.number += 1;
                let caller = conversation.subagent(self.number);
                self.known.push(Known { opening: opening.to_vec(), caller: caller.clone(), has_ended: false });
                Some(Asking { caller, task: Some(self.waiting.remove(begun)) })
            }
            _ => {
                self.own.push(opening.to_vec());
                None
            }
        }
    }

    /// Keeps in mind the subagents that an answer to the conversation starts.
    pub fn start(&mut self, answer: &[AnswerPart]) {
        self.waiting.extend(answer.iter().filter_map(task_of));
    }

    /// A subagent has given its last answer. It may ask again, if somebody goes on with it.
    pub fn end(&mut self, caller: &Caller) {
        if let Some(known) = self.known.iter_mut().find(|known| known.caller == *caller) {
            known.has_ended = true;
        }
    }
}

fn task_of(part: &AnswerPart) -> Option<Task> {
    let AnswerPart::Call { name, arguments, .. } = part else { return None };
    let arguments = from_json::<Value>(arguments).ok().filter(|_| STARTS.contains(&&**name))?;
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let task = Task { description: text("description"), prompt: text("prompt") };
    (!task.prompt.trim().is_empty()).then_some(task)
}

/// What the last answer of a subagent says, if this is the last one: words without a call, or the call that ends it.
pub fn last_words(answer: &[AnswerPart], is_last: bool) -> Option<String> {
    let completed = answer.iter().find_map(|part| match part {
        AnswerPart::Call { name, arguments, .. } if name == COMPLETES => {
            let result = from_json::<Value>(arguments).ok()?["result"].take();
            // An agent can have a form of its own for its result.
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
        subagents.asking(&run(), &opening(words)).map(|asking| asking.caller.to_string())
    }

    #[test]
    fn a_request_that_begins_with_the_words_of_a_call_is_a_subagents() {
        let mut subagents = Subagents::default();
        assert_eq!(asks(&mut subagents, "Do it."), None);
        subagents.start(&[AnswerPart::Text("Two at once.".into()), starts("Look here."), starts("Look there.")]);
        let first = subagents.asking(&run(), &opening("Look there.")).unwrap();
        assert_eq!(first.task, Some(Task { description: "Look".into(), prompt: "Look there.".into() }));
        assert!(first.caller.is_subagent() && first.caller.actor().caller == "qwen/4f0c");
        assert_eq!(asks(&mut subagents, "Look here.").as_deref(), Some("qwen/4f0c/2"));
        assert_eq!(asks(&mut subagents, "Look there.").as_deref(), Some("qwen/4f0c/1"));
        assert_eq!(asks(&mut subagents, "Do it."), None);
        assert_eq!(asks(&mut subagents, "Look elsewhere."), None);
    }

    #[test]
    fn the_task_of_the_conversation_itself_is_no_subagents() {
        let mut subagents = Subagents::default();
        asks(&mut subagents, "Do it.");
        subagents.start(&[starts("Do it.")]);
        assert_eq!(asks(&mut subagents, "Do it."), None);
    }

    #[test]
    fn the_same_task_given_again_is_another_subagents_once_the_first_has_ended() {
        let mut subagents = Subagents::default();
        subagents.start(&[starts("Look.")]);
        let first = subagents.asking(&run(), &opening("Look.")).unwrap().caller;
        subagents.end(&first);
        assert_eq!(asks(&mut subagents, "Look.").as_deref(), Some("qwen/4f0c/1"), "somebody goes on with it");
        subagents.start(&[starts("Look.")]);
        assert_eq!(asks(&mut subagents, "Look.").as_deref(), Some("qwen/4f0c/2"));
    }

    #[test]
    fn other_calls_start_nothing() {
        let mut subagents = Subagents::default();
        subagents.start(&[
            AnswerPart::call("1", "web_fetch", r#"{"prompt": "Look."}"#),
            AnswerPart::call("2", "task", r#"{"prompt": " "}"#),
            AnswerPart::call("3", "task", "{"),
            AnswerPart::call("4", "task", r#"["Look."]"#),
        ]);
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
