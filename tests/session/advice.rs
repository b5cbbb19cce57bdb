//! Tests of the advice in the contexts of sessions: it ends when its cause does, and a conversation without
//! work gets almost none.

use callstack_core::frame::ModelRequest;
use callstack_core::session::HostEvent;
use callstack_core::session::autonomy::{AutonomyLevel, AutonomySettings, Outcome};
use callstack_core::tools::conversation::{self, Conversation};
use callstack_core::{Actor, Context, HolderKind, NewFrame, PopStatus, Settings, Stack};
use serde_json::{Value, json};
use std::sync::Arc;

const PLANNING: &str = "Nothing is planned yet";
const SUMMARY: &str = "The parser reads flags, paths and tables; errors name the line; the printer is left";

/// A stack whose host has the session `root`.
struct Chat {
    stack: Stack,
    messages: usize,
}

impl Chat {
    fn new() -> Self {
        let chat = Self { stack: Stack::in_memory(), messages: 0 };
        chat.tell(json!({"kind": "sessionCreated", "sessionID": "root"}));
        chat
    }

    fn tell(&self, event: Value) {
        drop(self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap()));
    }

    fn message(&mut self, role: &str, text: &str, tokens: Option<u64>) {
        self.messages += 1;
        self.tell(json!({"kind": "message", "sessionID": "root", "messageID": format!("m{}", self.messages),
            "role": role, "text": text, "tokens": tokens, "contextLimit": 200_000}));
    }

    fn tool(&self, failed: bool) {
        self.tell(json!({"kind": "toolExecuted", "sessionID": "root", "tool": "bash", "failed": failed}));
    }

    fn context(&self) -> Arc<Context> {
        self.stack.host().context("root").unwrap().unwrap().context
    }

    /// A request to the model and its reply. Returns the context of the request.
    fn request(&mut self) -> Arc<Context> {
        let context = self.context();
        self.message("assistant", "Well", None);
        context
    }

    /// Makes this many requests for one message of the user. Returns the numbers of the requests whose
    /// context has the planning advice.
    fn advised(&mut self, text: &str, requests: usize) -> Vec<usize> {
        self.message("user", text, None);
        (0..requests).filter(|_| self.request().volatile.contains(PLANNING)).collect()
    }

    fn suggestions(&self) -> usize {
        self.context().volatile.matches("STACK SUGGESTION").count()
    }

    fn compacted(&self, text: &str) {
        let messages = json!([{"id": "s", "role": "assistant", "summary": true, "text": text}]);
        self.tell(json!({"kind": "sessionCompacted", "sessionID": "root", "messages": messages}));
    }

    /// Four failed tool calls, which recommend a push.
    fn failures(&mut self) {
        (0..4).for_each(|_| self.tool(true));
        self.message("assistant", "Hm", None);
        assert!(self.context().volatile.contains("start a child of f1"));
    }
}

#[test]
fn the_context_of_a_greeting_is_small() {
    let mut chat = Chat::new();
    for text in ["hello", "hello again", "thanks"] {
        chat.message("user", text, None);
        (0..3).for_each(|_| drop(chat.request()));
        let context = chat.request();
        assert!(context.tokens <= 200, "{} tokens for {text}", context.tokens);
        for dead in [PLANNING, "when-to-create", "starting a sibling", "<next-action>"] {
            assert!(!context.xml.contains(dead), "{dead} is in\n{}", context.xml);
        }
    }
}

#[test]
fn planning_is_advised_in_the_first_requests_and_in_a_chat_not_again() {
    let mut chat = Chat::new();
    assert_eq!(chat.advised("hello", 2), [0; 0]);
    assert_eq!(chat.advised("please build a shop", 6), [0, 1, 2]);
    assert_eq!(chat.advised("how are you today?", 2), [0; 0]);
    assert_eq!(chat.advised("what is the weather like?", 2), [0; 0]);
    chat.message("user", "now build a blog with comments", None);
    assert!(!chat.context().volatile.contains(PLANNING), "a chat goes on like this");
    chat.tool(false);
    assert!(chat.request().volatile.contains(PLANNING), "but here work begins");
    chat.stack.plan(NewFrame::new("Comments").below("f1")).unwrap();
    assert!(!chat.context().volatile.contains(PLANNING), "it is planned");
}

#[test]
fn the_stable_part_of_a_root_does_not_depend_on_its_task() {
    let mut chat = Chat::new();
    chat.message("user", "hello", None);
    let stable = chat.request().stable.clone();
    let same = |chat: &mut Chat| assert_eq!(chat.request().stable, stable);
    chat.message("user", "please build a shop", None);
    same(&mut chat);
    chat.stack.plan(NewFrame::new("Cart").id("plan-1").below("f1")).unwrap();
    same(&mut chat);
    chat.stack.activate("plan-1").unwrap();
    same(&mut chat);
    chat.message("user", "how far are you?", None);
    same(&mut chat);
}

#[test]
fn suggestions_end_with_a_compaction_and_never_contradict_each_other() {
    for summary in [SUMMARY, "Done."] {
        let mut chat = Chat::new();
        chat.message("user", "build a compiler", None);
        chat.failures();
        chat.message("assistant", "Hm", Some(199_010));
        let volatile = chat.context().volatile.clone();
        assert!(volatile.contains("finish f1") && volatile.contains("199010 of 200000 tokens"), "{volatile}");
        assert_eq!(chat.suggestions(), 1, "the stronger one\n{volatile}");
        chat.tell(json!({"kind": "sessionCompacting", "sessionID": "root"}));
        assert_eq!(chat.suggestions(), 0, "the conversation is about to be replaced");
        chat.message("assistant", "Hm", None);
        assert_eq!(chat.suggestions(), 1, "it is still there");
        chat.compacted(summary);
        assert_eq!(chat.suggestions(), 0, "the figures are of the conversation before");
        (0..4).for_each(|_| chat.tool(false));
        chat.message("assistant", "On with it", None);
        assert_eq!(chat.suggestions(), 0, "{}", chat.context().volatile);
    }
    let mut chat = Chat::new();
    chat.message("user", "build a compiler", None);
    chat.message("assistant", "Hm", Some(199_010));
    chat.tell(json!({"kind": "sessionCompacted", "sessionID": "root", "messages": []}));
    assert_eq!(chat.suggestions(), 1, "the compaction has failed");
}

#[test]
fn a_suggestion_ends_when_what_was_observed_has_passed() {
    let mut chat = Chat::new();
    chat.message("user", "build a compiler", None);
    chat.failures();
    (0..3).for_each(|_| chat.tool(false));
    chat.message("assistant", "It works", None);
    assert_eq!(chat.suggestions(), 0, "{}", chat.context().volatile);
}

#[test]
fn a_push_or_a_pop_follows_the_suggestion() {
    for is_push in [true, false] {
        let mut chat = Chat::new();
        chat.message("user", "build a compiler", None);
        chat.failures();
        match is_push {
            true => drop(chat.stack.push(NewFrame::new("Lexer").below("f1")).unwrap()),
            false => drop(chat.stack.pop("f1", PopStatus::Completed, "It compiles").unwrap()),
        }
        assert_eq!(chat.suggestions(), 0);
        let shown = callstack_core::tools::call(&chat.stack, "root", "stack_auto_suggest", r#"{"showHistory": true}"#);
        let shown: Value = serde_json::from_str(&shown.text.unwrap()).unwrap();
        let outcome = if is_push { Outcome::Followed } else { Outcome::Cleared };
        assert_eq!(shown["history"][0]["outcome"], json!(outcome), "{shown}");
    }
}

#[test]
fn a_frame_with_work_below_is_not_to_be_finished() {
    let mut chat = Chat::new();
    chat.message("user", "build a compiler", None);
    let is_to_finish = |chat: &Chat| chat.context().volatile.contains("finish f1 with stack_frame_pop (");
    let fill = |chat: &mut Chat| {
        chat.tool(false);
        chat.message("assistant", "Well", Some(199_000));
    };
    fill(&mut chat);
    assert!(is_to_finish(&chat), "its window is full: {}", chat.context().volatile);
    chat.stack.plan(NewFrame::new("Lexer").below("f1")).unwrap();
    assert!(!is_to_finish(&chat), "{}", chat.context().volatile);
    fill(&mut chat);
    assert!(!is_to_finish(&chat), "{}", chat.context().volatile);
}

/// Hosts without sessions do not report messages. The answers of tools give the advice that follows from the
/// records of a frame.
#[test]
fn a_conversation_is_advised_in_the_answers_of_its_tools_once() {
    let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Conversation, "codex/1"));
    let settings = Settings::default().tools(conversation::names(&[]));
    let autonomy = AutonomySettings::default();
    let call = |autonomy: &AutonomySettings, name: &str, arguments: Value| {
        let conversation = Conversation::new(&stack, &settings).advised(autonomy);
        conversation.call(name, &arguments.to_string()).answer.text.unwrap()
    };
    let said = |name: &str, arguments: Value| call(&autonomy, name, arguments);
    said("push", json!({"title": "Shop", "successCriteria": "The cart in src/cart.rs adds up"}));
    said("push", json!({"title": "Totals", "successCriteria": "Totals are right"}));
    assert!(
        said("pop", json!({"status": "completed", "results": "Totals are right"})).ends_with("You are in f1 (Shop).")
    );
    let recorded = said("record", json!({"artifacts": ["src/other.rs"]}));
    assert!(!recorded.contains("SUGGESTION"), "its file is missing: {recorded}");
    let record = json!({"artifacts": ["src/cart.rs"], "decisions": ["The cart adds up in cents"]});
    let manual = AutonomySettings::default().level(AutonomyLevel::Manual);
    assert!(!call(&manual, "record", record.clone()).contains("SUGGESTION"));
    let recorded = said("record", record.clone());
    let advice = "[STACK SUGGESTION: finish f1 with pop (";
    assert!(recorded.contains(advice) && recorded.contains("2 success signals"), "{recorded}");
    assert!(recorded.ends_with("You are in f1 (Shop)."), "{recorded}");
    assert!(!said("record", record).contains("SUGGESTION"), "it is said once");

    assert_eq!(stack.frame("f1").unwrap().holder.unwrap().advised, ["pop"]);

    said("push", json!({"title": "Payment", "successCriteria": "Cards are charged"}));
    for _ in 0..45 {
        stack.record_usage("f3", ModelRequest::new("small")).unwrap();
    }
    let status = said("status", json!({}));
    assert!(status.contains("[STACK SUGGESTION: start a child of f3 with push ("), "{status}");
    assert!(!said("status", json!({})).contains("SUGGESTION"), "it is said once");
}
