//! The tools of a conversation that works directly with a stack, without a host that reports its sessions:
//! `callstack mcp` has them. Each call can name the frame in which the caller works, because the caller may
//! be unknown. See [`Conversation`].

mod activate;
mod caller;
mod context;
mod heap;
mod invalidate;
mod moments;
mod plan;
mod pop;
mod push;
mod question;
mod record;
mod status;
mod subagents;
mod watching;

use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::caller::{Conversation, SubagentReports, newest_open, place};
pub use self::question::Question;
pub use self::status::Wait;
pub use self::watching::{ReadPart, Watched};
use super::{Answer, arguments, beginning};
use crate::error::Error;
use crate::frame::Handle;
use crate::text::one_line;
use crate::vocabulary::{ToolNames, ToolRole};

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Called {
    /// The answer for the agent. It has no effects, and never comes later.
    pub answer: Answer,
    /// The kind of the reason for which the call was refused: the code of an error, or `refused`. A refused
    /// call has changed nothing.
    pub refusal: Option<&'static str>,
    /// The question that a person or an agent has to answer: the host can put it to the person.
    pub question: Option<Question>,
    /// The end of a frame for which the call waits: the host can wait for it, and then call again.
    pub wait: Option<Wait>,
}

impl Called {
    /// The same outcome, about a frame that has ended. The title says it to people.
    fn about(mut self, title: String, ended: Handle) -> Self {
        (self.answer.title, self.answer.ended) = (title, vec![ended]);
        self
    }

    /// The same outcome while the host puts the question to the person. The frames stay at the beginning and
    /// in the last line.
    #[must_use]
    pub fn still_asked(mut self) -> Self {
        if let Some(text) = &mut self.answer.text {
            let asked = " The person is being asked: once they have answered, activate needs no answer.";
            *text = beginning::with_sentence(std::mem::take(text), asked);
        }
        self
    }
}

impl From<String> for Called {
    fn from(text: String) -> Self {
        Self { answer: Answer::said(text, false), refusal: None, question: None, wait: None }
    }
}

impl From<Refusal> for Called {
    fn from(Refusal { text, code }: Refusal) -> Self {
        Self { answer: Answer::said(text, true), refusal: Some(code), question: None, wait: None }
    }
}

/// Why a call was refused, for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    text: String,
    code: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(text: T) -> Self {
        Self { text: text.into(), code: "refused" }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // An error can quote texts of frames. They must not look like lines of an answer.
        Self { text: one_line(&error.to_string()), code: error.code() }
    }
}

/// The arguments of a tool, with the handler.
trait ConversationTool: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    /// What people see instead of the name.
    const TITLE: &'static str;
    /// Valid arguments, a JSON object. Errors show it.
    const EXAMPLE: &'static str;
    const EFFECT: ToolEffect;
    /// False if an agent needs it only for special work.
    const IS_STANDARD: bool = true;
    /// True if an answer can be a question to the person.
    const ASKS: bool = false;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal>;
}

/// What a call of a tool changes, for the hints to hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEffect {
    /// It changes nothing.
    Reads,
    /// Each call adds something.
    Adds,
    /// The same call again changes nothing more.
    AddsOnce,
    /// It can take something away: a planned frame, or a text of the heap.
    Removes,
}

/// The definition of a tool, with which a host registers it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name, such as `push`.
    pub name: &'static str,
    /// What people see instead of the name.
    pub title: &'static str,
    /// Its description for the agent.
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    pub parameters: Value,
    /// What a call changes.
    pub effect: ToolEffect,
    /// False if an agent needs it only for special work.
    pub is_standard: bool,
    /// True if an answer can be a question to the person.
    pub asks: bool,
}

/// A tool without its types.
struct Entry {
    name: &'static str,
    is_standard: bool,
    tool: fn() -> Tool,
    run: fn(&Conversation<'_>, &str) -> Result<Called, Refusal>,
}

impl Entry {
    const fn of<T: ConversationTool>() -> Self {
        let tool = || {
            let (description, parameters) = arguments::describe::<T>();
            let (name, title, effect) = (T::NAME, T::TITLE, T::EFFECT);
            Tool { name, title, description, parameters, effect, is_standard: T::IS_STANDARD, asks: T::ASKS }
        };
        let run = |call: &Conversation<'_>, arguments: &str| {
            arguments::read_without_blanks::<T>(arguments, T::EXAMPLE)?.run(call)
        };
        Self { name: T::NAME, is_standard: T::IS_STANDARD, tool, run }
    }

    /// True if the tool is one of these, or if no names are given and it is a standard tool.
    fn is_chosen(&self, names: &[String]) -> bool {
        if names.is_empty() { self.is_standard } else { names.iter().any(|name| name == self.name) }
    }
}

const TABLE: [Entry; 9] = [
    Entry::of::<push::Push>(),
    Entry::of::<pop::Pop>(),
    Entry::of::<plan::Plan>(),
    Entry::of::<activate::Activate>(),
    Entry::of::<invalidate::Invalidate>(),
    Entry::of::<status::Status>(),
    Entry::of::<context::Context>(),
    Entry::of::<record::Record>(),
    Entry::of::<heap::Heap>(),
];

/// Returns all tools.
pub fn list() -> Vec<Tool> {
    TABLE.iter().map(|entry| (entry.tool)()).collect()
}

/// Returns the tools with these names. If no names are given, returns the tools that an agent needs to work.
pub fn chosen(names: &[String]) -> Vec<Tool> {
    TABLE.iter().filter(|entry| entry.is_chosen(names)).map(|entry| (entry.tool)()).collect()
}

/// Returns the names that contexts have for these [`chosen`] tools.
pub fn names(chosen: &[String]) -> ToolNames {
    let names = [
        (ToolRole::Push, "push"),
        (ToolRole::Pop, "pop"),
        (ToolRole::Activate, "activate"),
        (ToolRole::PlanChildren, "plan"),
        (ToolRole::Invalidate, "invalidate"),
        (ToolRole::Tree, "status"),
        (ToolRole::HeapRead, "heap"),
        (ToolRole::HeapFree, "heap"),
    ];
    let is_chosen = |name: &str| TABLE.iter().any(|entry| entry.name == name && entry.is_chosen(chosen));
    let offered = names.into_iter().filter(|(_, name)| is_chosen(name));
    offered.fold(ToolNames::none(), |all, (role, name)| all.name(role, name))
}

impl Conversation<'_> {
    /// Calls a tool, also one that was not [`chosen`]. `arguments` is a JSON object. The stack should be
    /// [up to date](crate::Stack::refresh).
    pub fn call(&self, name: &str, arguments: &str) -> Called {
        let entry = TABLE.iter().find(|entry| entry.name == name);
        let stack = self.of_named_agent(arguments);
        let own = match &stack {
            Some(stack) => &Conversation {
                autonomy: self.autonomy,
                ..Conversation::new(stack, self.settings).reporting(self.reports)
            },
            None => self,
        };
        let run = |entry: &Entry| {
            own.take_up(entry.name, arguments)?;
            (entry.run)(own, arguments)
        };
        entry.map_or_else(|| Err("there is no such tool".into()), run).unwrap_or_else(Refusal::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Approx, Settings, TokenCounter};
    use crate::frame::{Actor, HolderKind};
    use crate::stack::Stack;

    /// Claude Code cuts descriptions at this number of characters.
    const LONGEST_DESCRIPTION: usize = 2_048;

    #[test]
    fn definitions_are_short() {
        let mut tokens = 0;
        for tool in list() {
            let length = tool.description.chars().count();
            assert!((1..=LONGEST_DESCRIPTION).contains(&length), "{}", tool.name);
            if tool.is_standard {
                tokens += Approx.count(&format!("{} {} {}", tool.name, tool.description, tool.parameters));
            }
        }
        assert!(tokens < 1_800, "the standard tools cost {tokens} tokens in each request");
    }

    #[test]
    fn schemas_have_no_unsigned_formats_which_some_hosts_refuse() {
        for tool in list() {
            let schema = tool.parameters.to_string();
            assert!(!schema.contains("\"uint"), "{}: {schema}", tool.name);
            assert!(schema.contains("\"type\":\"object\""), "{}: {schema}", tool.name);
        }
    }

    #[test]
    fn examples_are_valid_arguments() {
        fn check<T: ConversationTool>() {
            if let Err(problem) = arguments::read::<T>(T::EXAMPLE, T::EXAMPLE) {
                panic!("{}: {problem}", T::NAME);
            }
        }
        check::<push::Push>();
        check::<pop::Pop>();
        check::<plan::Plan>();
        check::<activate::Activate>();
        check::<invalidate::Invalidate>();
        check::<status::Status>();
        check::<context::Context>();
        check::<record::Record>();
        check::<heap::Heap>();
    }

    #[test]
    fn the_heap_comes_only_on_request() {
        let names = |names: &[String]| chosen(names).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(&[]), ["push", "pop", "plan", "activate", "invalidate", "status", "context", "record"]);
        assert_eq!(names(&["heap".into(), "status".into()]), ["status", "heap"]);
    }

    #[test]
    fn a_call_tells_what_a_host_can_do_besides() {
        let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Conversation, "codex/1"));
        let settings = Settings::default().tools(names(&[]));
        let call = |name: &str, arguments: &str| Conversation::new(&stack, &settings).call(name, arguments);
        call("push", r#"{"title": "Shop", "successCriteria": "It is open"}"#);
        call("plan", r#"{"frames": [{"title": "Cart", "successCriteria": "It works"}]}"#);
        let waits = call("status", r#"{"of": "Cart", "wait": 90}"#).wait.unwrap();
        assert_eq!((waits.frame.to_string().as_str(), waits.seconds), ("f2", 25));
        call("activate", r#"{"frame": "f2"}"#);
        let popped = call("pop", r#"{"status": "completed", "results": "Cart::total()", "next": true}"#);
        assert_eq!(
            (popped.answer.title.as_str(), &popped.answer.ended[..]),
            ("f2 Cart → completed: Cart::total()", &[waits.frame][..])
        );
        assert!(stack.look(|tree| waits.is_over(tree)) && popped.question.is_none());
        let blocked = call("pop", r#"{"status": "blocked", "results": "", "question": "Who pays?"}"#);
        let question = blocked.question.unwrap();
        assert_eq!(
            (Question::read(&question.to_string()), question.message(&stack)),
            (Some(question.clone()), "f1 (Shop) waits for an answer:\n  Who pays?".to_owned())
        );
        let resumed = Conversation::new(&stack, &settings).answered(&question, Some("We do"));
        assert!(resumed.answer.text.unwrap().starts_with("f1 (Shop) is in progress again: continue it."));
        let refused = call("record", "{}");
        assert_eq!((refused.refusal, refused.answer.is_error), (Some("refused"), true));
    }

    #[test]
    fn who_has_no_name_says_where_it_works() {
        let stack = Stack::in_memory();
        let settings = Settings::default();
        let call = |arguments: &str| Conversation::new(&stack, &settings).call("push", arguments).answer;
        call(r#"{"title": "Shop", "successCriteria": "It is open"}"#);
        let refused = call(r#"{"title": "Cart", "successCriteria": "It works"}"#);
        assert!(refused.is_error && refused.title.contains("Open frames: f1 (Shop)."), "{refused:?}");
        let pushed = call(r#"{"title": "Cart", "successCriteria": "It works", "frame": "f1"}"#).text.unwrap();
        assert!(pushed.ends_with("\nThis was for f2 (Cart): pass \"frame\": \"f2\" to work in it."), "{pushed}");
    }
}
