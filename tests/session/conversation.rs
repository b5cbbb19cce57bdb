//! Tests of frames whose work is done in the conversation of their caller.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::fold::{FoldSettings, Wire, fold};
use callstack_core::session::calls::{CallPlace, CallSettings};
use callstack_core::session::{Effect, HostEvent};
use callstack_core::tools::{self, Answer};
use callstack_core::{FrameRef, FrameStatus, HostSettings, LogQuery, NewFrame, PopStatus, Results, Stack};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::Random;
use support::conversations::{Called, Round, request};
use tempfile::TempDir;

/// A host that folds conversations, with the session `ses_1`, whose frame is f1.
struct Host {
    stack: Stack,
    now: Arc<AtomicU64>,
    folder: TempDir,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(1_700_000_000_000));
        let host = Self { stack: open(folder.path(), &now), now, folder };
        host.begun("ses_1", "Build a shop where customers can pay");
        host
    }

    /// Another process continues with the same folder.
    fn restarted(self) -> Self {
        self.later();
        let Self { stack, now, folder } = self;
        stack.close().unwrap();
        Self { stack: open(folder.path(), &now), now, folder }
    }

    fn later(&self) -> u64 {
        self.now.fetch_add(1_000, Ordering::Relaxed) + 1_000
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        let effects = self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Log { .. })).collect()
    }

    /// A session with its first message.
    fn begun(&self, session: &str, task: &str) {
        self.tell(json!({"kind": "sessionCreated", "sessionID": session, "title": ""}));
        self.said(session, "user", task);
    }

    /// A message that begins now and is finished at once.
    fn said(&self, session: &str, role: &str, text: &str) -> String {
        let time = self.later();
        let id = format!("m{time}");
        let request = (role == "assistant").then(|| json!({"model": "m", "output": 1}));
        let event = json!({"kind": "message", "sessionID": session, "messageID": id, "role": role, "text": text, "time": time, "request": request});
        self.tell(event);
        let message = json!({"id": id, "role": role, "text": text, "time": time});
        for effect in self.tell(json!({"kind": "messageFinished", "sessionID": session, "message": message})) {
            assert!(matches!(effect, Effect::ReadMessages { .. }), "{effect:?}");
            self.tell(json!({"kind": "sessionMessages", "sessionID": session, "messages": [message]}));
        }
        id
    }

    fn call(&self, session: &str, name: &str, arguments: Value) -> Answer {
        self.later();
        tools::call(&self.stack, session, name, &arguments.to_string())
    }

    fn good(&self, session: &str, name: &str, arguments: Value) -> String {
        // The host asks for the context before each request to the model.
        self.stack.host().context(session).unwrap();
        let answer = self.call(session, name, arguments.clone());
        assert!(!answer.is_error, "{name} {arguments}: {:?}", answer.text);
        answer.text.unwrap_or_else(|| panic!("{name} {arguments} is not answered at once"))
    }

    fn bad(&self, session: &str, name: &str, arguments: Value) -> String {
        self.stack.host().context(session).unwrap();
        let answer = self.call(session, name, arguments.clone());
        assert!(answer.is_error, "{name} {arguments} should be refused: {:?}", answer.text);
        answer.text.unwrap()
    }

    fn push(&self, title: &str) -> String {
        self.good("ses_1", "stack_frame_push", task(title))
    }

    fn pop(&self, results: &str) -> String {
        self.good("ses_1", "stack_frame_pop", done(results))
    }

    /// Pops a frame although frames below it are left.
    fn pop_anyway(&self, results: &str) -> String {
        let mut done = done(results);
        done["anyway"] = json!(true);
        self.good("ses_1", "stack_frame_pop", done)
    }

    fn contexts(&self) -> [String; 2] {
        let context = self.stack.host().context("ses_1").unwrap().unwrap().context;
        [context.stable.clone(), context.volatile.clone()]
    }

    fn status(&self, frame: &str) -> FrameStatus {
        self.stack.frame(frame).unwrap().status
    }

    /// The IDs of the messages in the log of a frame.
    fn log(&self, frame: &str) -> Vec<String> {
        let Ok(page) = self.stack.log(FrameRef::from(frame)).read(&LogQuery::default()) else { return Vec::new() };
        page.lines.iter().map(|line| line.entry["id"].as_str().unwrap().to_owned()).collect()
    }

    fn requests(&self, frame: &str) -> u64 {
        let usage = self.stack.frame(frame).unwrap().usage;
        usage.iter().map(|usage| usage.requests).sum()
    }
}

fn open(folder: &Path, now: &Arc<AtomicU64>) -> Stack {
    let stack = Stack::open(folder, support::options_at(now)).unwrap();
    let calls = CallSettings::default().place(CallPlace::Conversation);
    assert_eq!(stack.host().configure(HostSettings::default().calls(calls)), []);
    stack
}

fn task(title: &str) -> Value {
    json!({"title": title, "successCriteria": format!("{title} works, with tests"), "successCriteriaCompacted": title})
}

fn done(results: &str) -> Value {
    json!({"status": "completed", "results": results, "resultsCompacted": results})
}

#[test]
fn a_push_begins_the_frame_in_the_conversation_and_a_pop_goes_back() {
    let host = Host::new();
    assert_eq!(
        host.push("Cart"),
        "f2 (Cart) has begun: work in it now, then finish it with stack_frame_pop.\nYou are in f2 (Cart)."
    );
    assert_eq!(host.stack.frame("f2").unwrap().session_id, "ses_1~f2");
    assert_eq!(host.push("Totals").lines().last(), Some("You are in f3 (Totals)."));
    let decided = host.good("ses_1", "stack_add_decision", json!({"decision": "Prices are integers"}));
    assert_eq!(decided, "f3 (Totals): the decision is recorded.\nYou are in f3 (Totals).");
    host.tell(json!({"kind": "toolExecuted", "sessionID": "ses_1", "tool": "write", "path": "src/totals.rs"}));
    assert_eq!(host.stack.frame("f3").unwrap().artifacts, ["src/totals.rs"]);
    let popped = host.pop("Totals are right");
    assert_eq!(popped, "f3 (Totals) is completed.\nYou are in f2 (Cart).");
    assert_eq!(host.pop("The cart works").lines().last(), Some("You are in f1 (Build a shop where customers can)."));
    let over = host.pop("The shop is open");
    assert_eq!(over.lines().last(), Some("You are in no frame."));
    assert_eq!([host.status("f1"), host.status("f2"), host.status("f3")], [FrameStatus::Completed; 3]);
}

#[test]
fn a_plan_is_gone_through_with_one_call_for_each_frame() {
    let host = Host::new();
    let children = json!({"children": [task("Cart"), task("Pay")], "begin": true});
    assert_eq!(
        host.good("ses_1", "stack_frame_plan_children", children),
        "Planned f2, f3, in this order.\nf2 (Cart) has begun: work in it now, then finish it with stack_frame_pop.\nYou are in f2 (Cart)."
    );
    let mut next = done("The cart works");
    next["next"] = json!("true");
    assert_eq!(
        host.good("ses_1", "stack_frame_pop", next.clone()),
        "f2 (Cart) is completed.\nf3 (Pay) has begun: work in it now, then finish it with stack_frame_pop.\nIt is done when: Pay works, \
         with tests\nYou are in f3 (Pay)."
    );
    // No other frame is planned.
    let last = host.good("ses_1", "stack_frame_pop", next.clone());
    assert!(last.ends_with("You are in f1 (Build a shop where customers can)."), "{last}");
    next["status"] = json!("blocked");
    assert!(host.bad("ses_1", "stack_frame_pop", next.clone()).contains("next"));
    // If another call of the same message has begun a frame, there is no other frame to begin.
    host.push("Mail");
    next["status"] = json!("completed");
    let beside = host.call("ses_1", "stack_frame_pop", next.clone()).text.unwrap();
    assert!(beside.contains("another call of the same message has begun a frame"), "{beside}");
    // Models write an empty text when they mean nothing.
    next["next"] = json!(" ");
    assert!(host.good("ses_1", "stack_frame_pop", next).starts_with("f4 (Mail) is completed.\n"));
}

/// A prompt cache keeps the system prompt. Nothing follows the newest message while there is no news.
#[test]
fn the_stable_part_stays_while_the_conversation_moves() {
    let host = Host::new();
    let [stable, volatile] = host.contexts();
    assert!(volatile.contains("initial-planning"), "{volatile}");
    for _ in 0..3 {
        host.push("Cart");
        assert_eq!(host.contexts(), [stable.clone(), String::new()]);
        host.push("Totals");
        assert_eq!(host.contexts(), [stable.clone(), String::new()]);
        host.pop("Totals are right");
        host.pop("The cart works");
        assert_eq!(host.contexts(), [stable.clone(), String::new()]);
    }
}

#[test]
fn news_are_told_in_the_frame_in_which_the_conversation_is() {
    let host = Host::new();
    host.push("Cart");
    let planned = host.stack.plan(NewFrame::new("Totals").below("f2")).unwrap();
    host.stack.activate(planned).unwrap();
    host.stack.pop(planned, PopStatus::Blocked, Results::new("Which VAT rate?")).unwrap();
    let [_, volatile] = host.contexts();
    assert!(volatile.contains("<warning>Child f3 (Totals) is blocked: Which VAT rate?</warning>"), "{volatile}");
    assert!(volatile.contains("<current-frame id=\"f2\""), "{volatile}");
}

#[test]
fn after_a_compaction_the_context_says_what_the_conversation_has_lost() {
    let host = Host::new();
    host.push("Catalogue");
    host.pop("Articles are in catalogue.rs");
    host.push("Cart");
    host.push("Totals");
    host.tell(json!({"kind": "sessionCompacting", "sessionID": "ses_1"}));
    let summary = json!([{"id": "s", "role": "assistant", "text": "A summary of the work on totals", "summary": true}]);
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "ses_1", "messages": summary}));
    let [stable, volatile] = host.contexts();
    assert!(stable.contains("Build a shop where customers can pay") && stable.contains("<frame id=\"f3\""), "{stable}");
    assert!(stable.contains("Articles are in catalogue.rs"), "{stable}");
    assert!(volatile.contains("<success-criteria>"), "{volatile}");
    assert!(host.stack.frame("f4").unwrap().results.unwrap().contains("A summary"));
    // A frame below this frame: the stable part stays, and the criteria of the frames above come after the
    // newest message.
    host.push("Rounding");
    let [same, volatile] = host.contexts();
    assert_eq!(same, stable);
    assert!(volatile.contains("<above id=\"f4\" title=\"Totals\">Totals</above>"), "{volatile}");
    host.pop("Rounds half up");
    // When the frame has ended, the context shows the frame above it: it has a finished child, which the
    // conversation already knows.
    host.pop("Totals are right");
    let [stable, volatile] = host.contexts();
    assert!(stable.contains("Articles are in catalogue.rs"), "{stable}");
    assert!(volatile.contains("id=\"f3\""), "{volatile}");
}

#[test]
fn a_frame_whose_needs_the_conversation_has_not_heard_of_begins_with_its_context() {
    let host = Host::new();
    let plan = host.stack.push(NewFrame::new("A plan").id("plan").criteria("All of it works")).unwrap();
    let schema = host.stack.push(NewFrame::new("Schema").id("schema").below(plan)).unwrap();
    host.stack.pop(schema, PopStatus::Completed, Results::new("Tables are in schema.sql")).unwrap();
    let routes = host.stack.plan(NewFrame::new("Routes").criteria("CRUD works").below(plan)).unwrap();
    let begun = host.good("ses_1", "stack_frame_activate", json!({"sessionID": routes.to_string()}));
    assert!(begun.contains("All of it works") && begun.contains("Tables are in schema.sql"), "{begun}");
    assert_eq!(begun.lines().last(), Some(&*format!("You are in {routes} (Routes).")));
    // The conversation knows the frames that it has popped itself.
    host.pop("CRUD works");
    host.push("Cart");
    host.pop("The cart works");
    let planned = host.good("ses_1", "stack_frame_plan_children", json!({"children": [task("Pay")], "begin": true}));
    assert!(!planned.contains("stack-context"), "{planned}");
}

#[test]
fn calls_of_one_message_beside_each_other_run_in_sessions() {
    let host = Host::new();
    host.push("Cart");
    let Answer { call: Some(call), effects, .. } = host.call("ses_1", "stack_frame_push", task("Pay")) else {
        panic!("the second one does not begin in the conversation");
    };
    let parent = host.stack.frame("f3").unwrap().parent_session_id;
    assert_eq!(parent.as_deref(), Some("ses_1"), "it is beside the first one, and not below it");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::CreateSession { .. })), "{effects:?}");
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "ses_3"}));
    host.good("ses_3", "stack_frame_pop", done("Payment works"));
    let answered = host.tell(json!({"kind": "callEnded", "call": call}));
    let text = answered.iter().find_map(|effect| match effect {
        Effect::Answer { text, .. } => Some(text.clone()),
        _ => None,
    });
    let text = text.unwrap();
    assert!(
        text.starts_with("f3 (Pay) is completed.\nResults: Payment works") && text.ends_with("\nYou are in f2 (Cart)."),
        "{text}"
    );
    // The results are for the frame above. They stay when the frame beside it is folded.
    let begun = "f2 (Cart) has begun: work in it now.\nYou are in f2 (Cart).";
    let pushes =
        Round::call("stack_frame_push", task("Cart"), begun).and(Round::call("stack_frame_push", task("Pay"), text));
    let popped = "f2 (Cart) is completed.\nYou are in f1 (Build a shop where customers can).";
    let rounds = [
        pushes.words("Build a shop"),
        Round::call("read", json!({"filePath": "x"}), "cart-files"),
        Round::call("stack_frame_pop", done("The cart works"), popped),
    ];
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &rounds);
        let folded = fold(wire, &request, &FoldSettings::default()).text;
        assert!(folded.contains("Payment works") && folded.contains("The cart works"), "{wire}: {folded}");
        assert!(!folded.contains("cart-files"), "{wire}: {folded}");
        assert_eq!(fold(wire, &folded, &FoldSettings::default()).text, folded, "{wire}");
    }
    // The next message of the model belongs to the frame in which the conversation is.
    assert_eq!(host.push("Totals").lines().last(), Some("You are in f4 (Totals)."));
    assert_eq!(host.stack.frame("f4").unwrap().parent_session_id.as_deref(), Some("ses_1~f2"));
}

#[test]
fn a_frame_in_the_background_has_a_session() {
    let host = Host::new();
    let mut behind = task("Docs");
    behind["background"] = json!(true);
    let answer = host.call("ses_1", "stack_frame_push", behind);
    assert!(answer.effects.iter().any(|effect| matches!(effect, Effect::CreateSession { .. })), "{answer:?}");
    assert_eq!(host.push("Cart").lines().last(), Some("You are in f3 (Cart)."));
}

#[test]
fn messages_and_requests_belong_to_the_frame_of_their_time() {
    let host = Host::new();
    let pushes = host.said("ses_1", "assistant", "First the cart");
    let late = json!({"id": "late", "role": "assistant", "text": "Before", "time": host.now.load(Ordering::Relaxed)});
    host.push("Cart");
    let works = host.said("ses_1", "assistant", "I read what is there");
    let pops = host.said("ses_1", "assistant", "Done");
    host.pop("The cart works");
    let goes_on = host.said("ses_1", "assistant", "Now the docs");
    // A host can report a message when the conversation is already in another frame.
    host.tell(json!({"kind": "messageFinished", "sessionID": "ses_1", "message": late}));
    assert_eq!(host.log("f2"), [works, pops]);
    assert_eq!(host.log("f1")[1..], [pushes, goes_on, "late".to_owned()]);
    assert_eq!((host.requests("f1"), host.requests("f2")), (2, 2));
}

#[test]
fn a_conversation_goes_on_where_it_was_after_a_restart() {
    let host = Host::new();
    host.push("Cart");
    let before = host.said("ses_1", "assistant", "I read what is there");
    host.push("Totals");
    let host = host.restarted();
    host.begun("ses_1", "Go on, please, with the totals");
    let [stable, volatile] = host.contexts();
    assert!(stable.contains("<frame id=\"f2\"") && volatile.contains("id=\"f3\""), "{stable}{volatile}");
    host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": [
        {"id": before, "role": "assistant", "text": "I read what is there", "time": 1_700_000_000_500_u64},
    ]}));
    assert_eq!(host.log("f2"), [before], "it was logged before");
    assert_eq!(host.pop("Totals are right").lines().last(), Some("You are in f2 (Cart)."));
    assert_eq!(host.pop("The cart works").lines().last(), Some("You are in f1 (Build a shop where customers can)."));
}

#[test]
fn a_blocked_frame_goes_on_with_the_answer() {
    let host = Host::new();
    host.push("Taxes");
    let blocked =
        json!({"status": "blocked", "question": "Which VAT rate?", "results": "Net works", "resultsCompacted": "net"});
    let text = host.good("ses_1", "stack_frame_pop", blocked);
    assert_eq!(text.lines().last(), Some("You are in f1 (Build a shop where customers can)."));
    let begun = host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f2", "answer": "20 %"}));
    assert!(
        begun.contains("f2 (Taxes) is in progress")
            && begun.contains("\nIt was asked: Which VAT rate?\nThe answer: 20 %\n"),
        "{begun}"
    );
    assert_eq!(begun.lines().last(), Some("You are in f2 (Taxes)."));
    assert_eq!(host.status("f2"), FrameStatus::InProgress);
}

#[test]
fn a_failed_frame_begins_again() {
    let host = Host::new();
    host.push("Cart");
    let failed = json!({"status": "failed", "results": "No database", "resultsCompacted": "no database"});
    host.good("ses_1", "stack_frame_pop", failed);
    let begun =
        host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f2", "retry": true, "answer": "Use SQLite"}));
    assert_eq!(begun.lines().last(), Some("You are in f3 (Cart)."));
    assert!(
        begun.contains("\nIt was asked: What must be done differently than in f2?\nThe answer: Use SQLite\n"),
        "{begun}"
    );
}

#[test]
fn two_conversations_are_not_in_one_frame() {
    let host = Host::new();
    host.push("Cart");
    host.begun("ses_2", "Look after the cart of the shop");
    let refused = host.bad("ses_2", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert!(refused.contains("f2"), "{refused}");
    let other = open(host.folder.path(), &host.now);
    let _ = other.host().report(
        serde_json::from_value(json!({"kind": "sessionCreated", "sessionID": "ses_9", "title": "Other"})).unwrap(),
    );
    let refused = tools::call(&other, "ses_9", "stack_frame_activate", r#"{"sessionID": "f2"}"#);
    assert!(refused.is_error, "{refused:?}");
    assert_eq!(host.stack.frame("f2").unwrap().session_id, "ses_1~f2");
}

#[test]
fn what_others_end_the_agent_is_told_before_it_works_on() {
    let host = Host::new();
    host.push("Cart");
    host.push("Totals");
    host.stack.invalidate("f3", "The provider does it").unwrap();
    let [_, volatile] = host.contexts();
    assert!(volatile.contains("<current-frame id=\"f2\""), "{volatile}");
    let refused = host.bad("ses_1", "stack_frame_pop", done("Totals are right"));
    assert!(
        refused.contains("not in f3 (Totals) any more: that is invalidated")
            && refused.contains("You are in f2 (Cart) now"),
        "{refused}"
    );
    assert_eq!(host.status("f2"), FrameStatus::InProgress);
    let decided = host.good("ses_1", "stack_add_decision", json!({"decision": "Round half up"}));
    assert_eq!(decided.lines().last(), Some("You are in f2 (Cart)."));
    assert_eq!(host.contexts()[1], "");
    let late = host.said("ses_1", "assistant", "I go on with the cart");
    assert_eq!(host.log("f2"), [late]);
    // A person stops the frame.
    host.stack.stop("f2", "The interface changes first").unwrap();
    assert_eq!(host.status("f2"), FrameStatus::Blocked);
    assert!(
        host.bad("ses_1", "stack_frame_pop", done("The cart works"))
            .contains("not in f2 (Cart) any more: that is blocked")
    );
    assert_eq!(host.status("f1"), FrameStatus::InProgress);
}

#[test]
fn a_frame_around_that_goes_on_interrupts_those_within() {
    let host = Host::new();
    host.push("Cart");
    host.push("Totals");
    host.push("Taxes");
    let back = host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert_eq!(
        back,
        "f2 (Cart) is in progress: work in it now, then finish it with stack_frame_pop. Interrupted below it: f3, f4.\n\
         It is done when: Cart works, with tests\nYou are in f2 (Cart)."
    );
    assert_eq!([host.status("f3"), host.status("f4")], [FrameStatus::Blocked; 2]);
    let question = host.stack.frame("f4").unwrap().questions.pop().unwrap();
    assert!(
        question.interruption && question.question.ends_with("its conversation has continued with f2"),
        "{question:?}"
    );
    // Also the session's own frame.
    let root = host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f1"}));
    assert!(root.contains("Interrupted below it: f2."), "{root}");
    let name = "f1 (Build a shop where customers can)";
    assert_eq!(root.lines().last(), Some(&*format!("You are in {name}.")));
    let decided = host.good("ses_1", "stack_add_decision", json!({"decision": "Round half up"}));
    assert_eq!(decided, format!("{name}: the decision is recorded.\nYou are in {name}."));
}

#[test]
fn what_the_person_says_while_the_conversation_works_elsewhere_begins_no_other_task() {
    let host = Host::new();
    let later = host.stack.plan(NewFrame::new("A blog").criteria("Articles can be read").root()).unwrap();
    let mut next = done("The shop is open");
    next["next"] = json!(later.to_string());
    let begun = host.good("ses_1", "stack_frame_pop", next);
    assert_eq!(begun.lines().last(), Some(&*format!("You are in {later} (A blog).")));
    host.said("ses_1", "user", "And please write the first article about the shop");
    assert_eq!((host.status("f2"), host.status("f1")), (FrameStatus::InProgress, FrameStatus::Completed));
    assert_eq!(host.stack.host().place("ses_1"), Some(later));
    assert_eq!(host.stack.read(|tree| tree.len()).unwrap(), 2);
    // When that task is done, other words are another task.
    host.pop("Articles can be read");
    host.said("ses_1", "user", "Now translate all of it");
    // The last news for the conversation was that it is in no frame.
    for _ in 0..5 {
        assert!(host.contexts()[1].contains("<current-frame"), "{:?}", host.contexts());
        host.said("ses_1", "assistant", "I look");
    }
    host.good("ses_1", "stack_add_decision", json!({"decision": "Into French"}));
    assert_eq!(host.contexts()[1], "");
    assert_eq!(host.stack.frame("id:ses_1").unwrap().title, "Now translate all of it");
}

#[test]
fn words_while_a_frame_of_an_ended_task_is_open_belong_to_that() {
    let host = Host::new();
    host.push("Cart");
    let done = json!({"frameID": "f1", "status": "completed", "results": "It is open", "anyway": true});
    let popped = host.good("ses_1", "stack_frame_pop", done);
    assert_eq!(popped.lines().last(), Some("You are in f2 (Cart)."));
    host.said("ses_1", "user", "go on");
    host.said("ses_1", "user", "And write all the tests for the cart");
    assert_eq!(host.pop("The cart works"), "f2 (Cart) is completed.\nYou are in no frame.");
    assert_eq!(host.stack.read(|tree| tree.len()).unwrap(), 2);
}

#[test]
fn a_call_without_a_frame_is_refused_wherever_it_writes() {
    for (tool, arguments) in [
        ("stack_heap_alloc", json!({"name": "api", "content": "x", "scope": "frame"})),
        ("stack_registers_update", json!({"R2_NEXT": "x"})),
        ("stack_frame_push", task("Pay")),
        ("stack_frame_stop", json!({"reason": "wait"})),
        ("stack_frame_summarize", json!({})),
    ] {
        let host = Host::new();
        host.push("Cart");
        host.stack.pop("f2", PopStatus::Completed, Results::new("a person has done it")).unwrap();
        let refused = host.bad("ses_1", tool, arguments);
        assert!(refused.contains("not in f2 (Cart) any more: that is completed"), "{tool}: {refused}");
    }
}

#[test]
fn a_frame_that_runs_in_the_background_is_not_the_next_one() {
    let host = Host::new();
    let mut behind = task("Docs");
    behind["background"] = json!(true);
    host.call("ses_1", "stack_frame_push", behind);
    host.push("Cart");
    let mut next = done("The cart works");
    next["next"] = json!("f2");
    assert!(host.bad("ses_1", "stack_frame_pop", next.clone()).contains("f2 is held by"));
    assert_eq!(host.status("f3"), FrameStatus::InProgress);
    next["next"] = json!("true");
    assert_eq!(
        host.good("ses_1", "stack_frame_pop", next).lines().last(),
        Some("You are in f1 (Build a shop where customers can).")
    );
}

#[test]
fn a_frame_that_is_too_deep_is_not_the_next_one() {
    let host = Host::new();
    let calls = CallSettings::default().place(CallPlace::Conversation).max_depth(2);
    assert_eq!(host.stack.host().configure(HostSettings::default().calls(calls)), []);
    for (id, above) in [("a", "f1"), ("b", "id:a"), ("c", "id:b")] {
        host.stack.push(NewFrame::new(id).id(id).below(above)).unwrap();
    }
    host.stack.plan(NewFrame::new("d").below("id:b")).unwrap();
    let mut next = done("Deep");
    (next["next"], next["frameID"]) = (json!("true"), json!("f4"));
    let popped = host.good("ses_1", "stack_frame_pop", next);
    assert!(popped.starts_with("f4 (c) is completed."), "{popped}");
    assert_eq!(host.status("f5"), FrameStatus::Planned, "it is no frame that can begin here");
}

#[test]
fn a_frame_whose_context_has_no_room_begins_nevertheless() {
    let host = Host::new();
    let settings: HostSettings =
        serde_json::from_value(json!({"calls": {"in": "conversation"}, "context": {"budget": {"total": 60}}})).unwrap();
    host.stack.host().configure(settings);
    let other = host.stack.push(NewFrame::new("Other").id("other").root()).unwrap();
    let frame = host.stack.plan(NewFrame::new("word ".repeat(24)).below(other)).unwrap();
    let begun = host.good("ses_1", "stack_frame_activate", json!({"sessionID": frame.to_string()}));
    assert!(begun.contains("Without its context: ") && begun.contains("You are in f3"), "{begun}");
}

#[test]
fn of_a_finished_task_a_conversation_knows_the_results_alone() {
    let host = Host::new();
    host.push("Cart");
    host.pop("The cart is in cart.rs");
    host.push("Pay");
    let blocked = json!({"status": "blocked", "question": "Which provider?", "results": "", "resultsCompacted": ""});
    host.good("ses_1", "stack_frame_pop", blocked);
    host.pop_anyway("The shop is open");
    let begun = host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f3"}));
    assert!(begun.contains("<stack-context") && begun.contains("The cart is in cart.rs"), "{begun}");
}

/// Its conversation does not know what was recorded before.
#[test]
fn a_session_for_an_interrupted_frame_gets_all_of_its_context() {
    let host = Host::new();
    host.push("Cart");
    host.good("ses_1", "stack_add_decision", json!({"decision": "Round half up"}));
    host.good(
        "ses_1",
        "stack_frame_pop",
        json!({"status": "blocked", "question": "Which VAT?", "results": "totals.rs rounds", "resultsCompacted": "totals.rs rounds"}),
    );
    host.stack.retry("f2", Some("19 %".to_owned())).unwrap();
    let arguments = json!({"sessionID": "f3", "background": true});
    let effects = host.call("ses_1", "stack_frame_activate", arguments).effects;
    let call = effects.iter().find_map(|effect| match effect {
        Effect::CreateSession { call, .. } => Some(*call),
        _ => None,
    });
    host.tell(json!({"kind": "callStarted", "call": call.unwrap(), "sessionID": "ses_2"}));
    let decision = json!({"decision": "Prices are integers", "frameID": "f3"});
    host.good("ses_1", "stack_add_decision", decision);
    let volatile = host.stack.host().context("ses_2").unwrap().unwrap().context.volatile.clone();
    assert!(volatile.contains("Prices are integers"), "{volatile}");
}

#[test]
fn a_failed_task_of_the_session_begins_again() {
    let host = Host::new();
    let failed = json!({"status": "failed", "results": "no database here", "resultsCompacted": "no database here"});
    host.good("ses_1", "stack_frame_pop", failed);
    let retried =
        host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f1", "retry": true, "answer": "use files"}));
    assert_eq!(retried.lines().last(), Some("You are in f2 (Build a shop where customers can)."), "{retried}");
}

#[test]
fn the_session_s_own_frame_goes_on_in_its_conversation() {
    let host = Host::new();
    let blocked = json!({"status": "blocked", "question": "Which VAT?", "results": "", "resultsCompacted": ""});
    host.good("ses_1", "stack_frame_pop", blocked);
    let begun = host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f1", "answer": "19 %"}));
    assert!(
        begun.contains("is in progress") && begun.contains("\nIt was asked: Which VAT?\nThe answer: 19 %\n"),
        "{begun}"
    );
    assert_eq!(host.status("f1"), FrameStatus::InProgress);
    host.pop("The shop is open");
    let refused = host.bad("ses_1", "stack_frame_activate", json!({"sessionID": "f1"}));
    assert!(refused.contains("f1") && refused.contains("completed"), "{refused}");
}

#[test]
fn an_answered_frame_says_how_it_goes_on() {
    let host = Host::new();
    host.push("Cart");
    host.good(
        "ses_1",
        "stack_frame_pop",
        json!({"status": "blocked", "question": "Which VAT?", "results": "", "resultsCompacted": ""}),
    );
    let answered = host.good("ses_1", "stack_frame_answer", json!({"frameID": "f2", "answer": "19 %"}));
    assert_eq!(answered, "f2 (Cart) is answered. Resume it: stack_frame_activate f2.");
}

/// The agent knows of the first end, but not yet of the second end.
#[test]
fn what_others_end_one_after_the_other_the_agent_is_told_each_time() {
    let host = Host::new();
    host.push("Cart");
    host.push("Totals");
    let finish =
        |frame: &str| host.stack.pop(frame, PopStatus::Completed, Results::new("a person has done it")).unwrap();
    finish("f3");
    assert!(host.bad("ses_1", "stack_frame_pop", done("Totals are right")).contains("You are in f2 (Cart) now."));
    // A tool that shows the context makes no request to the model.
    host.call("ses_1", "stack_context_info", json!({}));
    assert!(host.call("ses_1", "stack_frame_pop", done("Totals are right")).is_error);
    finish("f2");
    let refused = host.bad("ses_1", "stack_frame_pop", done("The cart works"));
    assert!(refused.contains("You are in f1 (Build a shop where customers can) now."), "{refused}");
    assert_eq!(host.status("f1"), FrameStatus::InProgress);
    host.pop("The shop is open");
    assert_eq!(host.status("f1"), FrameStatus::Completed);
}

#[test]
fn a_frame_that_others_set_going_again_the_agent_is_told() {
    let host = Host::new();
    host.push("Cart");
    host.good("ses_1", "stack_frame_pop", json!({"status": "blocked", "question": "Which VAT?", "results": ""}));
    host.stack.resume("f2").unwrap();
    let [_, volatile] = host.contexts();
    assert!(volatile.contains("<next-action>Child f2 is in_progress"), "{volatile}");
    host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert_eq!(host.contexts()[1], "");
}

#[test]
fn a_root_has_no_next_one_beside_it() {
    let host = Host::new();
    host.good("ses_1", "stack_frame_plan_children", json!({"children": [task("Cart")]}));
    let mut next = done("The shop is open");
    next["next"] = json!("true");
    assert!(host.bad("ses_1", "stack_frame_pop", next).contains("beside a root nothing is planned"));
    assert_eq!(host.status("f1"), FrameStatus::InProgress);
}

#[test]
fn a_frame_with_parts_names_them_when_it_begins_and_an_answered_one_is_what_comes_next() {
    let host = Host::new();
    host.good("ses_1", "stack_frame_plan_children", json!({"children": [task("Cart"), task("Pay"), task("Mail")]}));
    let parts = json!({"children": [task("Totals"), task("Taxes")], "parentSessionID": "f2"});
    host.good("ses_1", "stack_frame_plan_children", parts);
    let begun = host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert!(begun.contains(" Planned below it: f5, f6.\n"), "{begun}");
    let blocked = json!({"status": "blocked", "question": "Which VAT?", "results": ""});
    host.good("ses_1", "stack_frame_pop", blocked);
    host.stack.answer("f2", "19 %").unwrap();
    let [_, volatile] = host.contexts();
    assert!(volatile.contains("<next-action>Child f2 is answered: run it with stack_frame_activate f2."), "{volatile}");
    host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f3"}));
    let popped = host.pop("Payment works");
    assert!(popped.contains("Next: stack_frame_activate f2 (Cart), which is answered."), "{popped}");
}

#[test]
fn what_others_plan_the_agent_is_told() {
    let host = Host::new();
    host.push("Cart");
    assert_eq!(host.contexts()[1], "");
    host.stack.plan(NewFrame::new("Rounding").below("f2")).unwrap();
    assert!(host.contexts()[1].contains("Rounding"));
    host.good("ses_1", "stack_frame_activate", json!({"sessionID": "f3"}));
    host.pop("Rounds half up");
    assert_eq!(host.contexts()[1], "");
}

#[test]
fn results_that_the_conversation_has_not_heard_are_told_in_each_request() {
    let host = Host::new();
    host.push("Cart");
    let child = host.stack.push(NewFrame::new("Rounding").id("other").below("f2")).unwrap();
    host.stack.pop(child, PopStatus::Completed, Results::new("Rounds half up")).unwrap();
    for _ in 0..2 {
        assert!(host.contexts()[1].contains("Rounds half up"));
        host.said("ses_1", "assistant", "I go on");
    }
}

#[test]
fn a_subagent_that_ends_within_a_frame_has_its_own_finished() {
    let host = Host::new();
    host.tell(
        json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "ses_1", "title": "look (@general subagent)"}),
    );
    host.said("sub", "user", "Look for the totals in the code");
    host.good("sub", "stack_frame_push", task("Inner"));
    host.tell(json!({"kind": "toolExecuted", "sessionID": "ses_1", "tool": "task", "toolCallID": "t", "childID": "sub", "answer": "They are in totals.rs"}));
    assert_eq!([host.status("f2"), host.status("f3")], [FrameStatus::Completed, FrameStatus::Blocked]);
}

#[test]
fn a_call_that_cannot_begin_the_next_frame_ends_nothing() {
    let host = Host::new();
    for title in ["One", "Two", "Three", "Four", "Five"] {
        host.push(title);
    }
    host.stack.plan(NewFrame::new("Too deep").below("f6")).unwrap();
    let mut next = done("It works");
    next["next"] = json!("Too deep");
    assert!(host.bad("ses_1", "stack_frame_pop", next).contains("depth"));
    assert_eq!(host.status("f6"), FrameStatus::InProgress);
    let plan = json!({"children": [task("Six")], "begin": true});
    assert!(host.bad("ses_1", "stack_frame_plan_children", plan).contains("depth"));
    assert_eq!(host.stack.read(|tree| tree.len()).unwrap(), 7);
    let mut odd = done("It works");
    (odd["next"], odd["frameID"], odd["anyway"]) = (Value::Null, Value::Null, true.into());
    assert_eq!(host.good("ses_1", "stack_frame_pop", odd).lines().last(), Some("You are in f5 (Four)."));
}

#[test]
fn frames_of_a_session_that_was_deleted_after_a_restart_are_out_of_the_plan() {
    let host = Host::new();
    host.push("Cart");
    let host = host.restarted();
    host.tell(json!({"kind": "sessionDeleted", "sessionID": "ses_1"}));
    assert_eq!([host.status("f1"), host.status("f2")], [FrameStatus::Invalidated; 2]);
}

#[test]
fn the_first_message_after_a_restart_is_logged() {
    let host = Host::new();
    host.push("Cart");
    let host = host.restarted();
    // The host has made the message before the stack asks it to describe the session.
    let time = host.now.load(Ordering::Relaxed);
    host.later();
    let text = "Go on, please, with the cart";
    host.tell(
        json!({"kind": "message", "sessionID": "ses_1", "messageID": "m", "role": "user", "text": text, "time": time}),
    );
    host.tell(json!({"kind": "sessionCreated", "sessionID": "ses_1", "title": ""}));
    let message = json!({"id": "m", "role": "user", "text": text, "time": time});
    host.tell(json!({"kind": "messageFinished", "sessionID": "ses_1", "message": message}));
    host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": [message]}));
    assert_eq!(host.log("f2"), ["m"]);
}

#[test]
fn frames_that_wait_and_frames_that_are_too_deep_do_not_begin() {
    let host = Host::new();
    host.good("ses_1", "stack_frame_plan_children", json!({"children": [task("Schema")]}));
    let mut waiting = task("Routes");
    waiting["dependsOn"] = json!(["Schema"]);
    let planned = host.good("ses_1", "stack_frame_push", waiting);
    assert!(planned.contains("f3 (Routes) is planned. It waits for f2."), "{planned}");
    assert!(planned.ends_with("You are in f1 (Build a shop where customers can)."), "{planned}");
    for title in ["One", "Two", "Three", "Four", "Five"] {
        host.push(title);
    }
    let refused = host.bad("ses_1", "stack_frame_push", task("Six"));
    assert!(refused.contains("depth"), "{refused}");
    assert!(host.bad("ses_1", "stack_frame_activate", json!({"sessionID": "f3"})).contains("f2"));
}

#[test]
fn the_frames_of_a_deleted_session_are_out_of_the_plan() {
    let host = Host::new();
    host.push("Cart");
    host.push("Totals");
    host.tell(json!({"kind": "sessionDeleted", "sessionID": "ses_1"}));
    assert_eq!([host.status("f1"), host.status("f2"), host.status("f3")], [FrameStatus::Invalidated; 3]);
}

#[test]
fn a_new_task_of_the_session_has_a_frame_of_its_own() {
    let host = Host::new();
    host.push("Cart");
    host.pop("The cart works");
    host.pop("The shop is open");
    host.said("ses_1", "user", "Now write the documentation for developers");
    assert_eq!(host.stack.frame("ses_1").unwrap().title, "Now write the documentation for developers");
    assert_eq!(host.push("Guide").lines().last(), Some("You are in f4 (Guide)."));
    assert_eq!(host.stack.frame("f4").unwrap().parent_session_id.as_deref(), Some("ses_1"));
}

#[test]
fn subagents_are_below_the_frame_in_which_the_conversation_is() {
    let host = Host::new();
    host.push("Cart");
    host.tell(
        json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "ses_1", "title": "look (@general subagent)"}),
    );
    host.said("sub", "user", "Look for the totals in the code");
    assert_eq!(host.stack.frame("sub").unwrap().parent_session_id.as_deref(), Some("ses_1~f2"));
}

#[test]
fn a_session_of_a_call_that_ends_within_a_frame_is_salvaged() {
    let host = Host::new();
    let mut behind = task("Docs");
    behind["background"] = json!(true);
    let Answer { effects, .. } = host.call("ses_1", "stack_frame_push", behind);
    let call = effects.iter().find_map(|effect| match effect {
        Effect::CreateSession { call, .. } => Some(*call),
        _ => None,
    });
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "ses_2"}));
    host.good("ses_2", "stack_frame_push", task("Guide"));
    host.tell(json!({"kind": "callEnded", "call": call}));
    let summary = json!([{"id": "s", "role": "assistant", "text": "The guide is half written, in docs/guide.md", "summary": true}]);
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "ses_2", "messages": summary}));
    assert_eq!(host.status("f2"), FrameStatus::Blocked, "the frame of the call is blocked");
    assert_eq!(host.status("f3"), FrameStatus::InProgress, "the one within goes on when that does");
    assert!(host.stack.frame("f2").unwrap().results.unwrap().contains("half written"));
}

/// [`fold`] reads the answers of the tools.
#[test]
fn the_conversation_folds() {
    let host = Host::new();
    let call = |name: &'static str, arguments: Value| {
        let answer = host.good("ses_1", name, arguments.clone());
        Round { calls: vec![Called::new(name, arguments, answer)], ..Round::default() }
    };
    let read = |output: &str| Round::call("read", json!({"filePath": "x"}), output);
    let plan = json!({"children": [task("Cart"), task("Pay")], "begin": true});
    let mut next = done("The cart works");
    next["next"] = json!("true");
    let rounds = [
        call("stack_frame_plan_children", plan).words("Build a shop"),
        read("cart-files"),
        call("stack_add_decision", json!({"decision": "Prices are integers"})),
        call("stack_frame_pop", next),
        read("pay-files"),
        call("stack_frame_pop", done("Payment works")),
        call("stack_frame_push", task("Docs")),
        read("docs-files"),
        call("stack_frame_pop", done("The docs are written")),
        call("stack_frame_pop", done("The shop is open")),
    ];
    let folded = |rounds: &[Round]| {
        let request = request(Wire::Opencode, rounds);
        fold(Wire::Opencode, &request, &FoldSettings::default()).text.into_owned()
    };
    let all = folded(&rounds[..9]);
    for left in [
        "Planned f2, f3, in this order.",
        "The cart works",
        "Prices are integers",
        "Payment works",
        "The docs are written",
    ] {
        assert!(all.contains(left), "{left} is gone: {all}");
    }
    for gone in ["cart-files", "pay-files", "docs-files"] {
        assert!(!all.contains(gone), "{gone} is left: {all}");
    }
    let over = folded(&rounds);
    assert!(over.contains("Build a shop") && over.contains("The shop is open"), "{over}");
    assert!(!over.contains("The cart works") && !over.contains("Planned"), "{over}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// No matter which tools are called: the answers say where the conversation is, the stable part stays,
    /// and the budget is kept.
    #[test]
    fn the_place_is_always_told(seed in any::<u64>(), steps in 1usize..30) {
        let mut random = Random::new(seed);
        let host = Host::new();
        let [stable, _] = host.contexts();
        let mut path = vec!["f1 (Build a shop where customers can)".to_owned()];
        let mut frames = 1;
        for step in 0..steps {
            match random.below(4) {
                0 | 1 if path.len() < 6 => {
                    frames += 1;
                    let title = format!("Part {step}");
                    host.push(&title);
                    path.push(format!("f{frames} ({title})"));
                }
                2 if path.len() > 1 => {
                    host.pop("It works");
                    path.pop();
                }
                _ => {}
            }
            let text = host.good("ses_1", "stack_add_artifact", json!({"artifact": format!("file{step}")}));
            let expected = format!("You are in {}.", path.last().unwrap());
            prop_assert_eq!(text.lines().last(), Some(&*expected));
            let context = host.stack.host().context("ses_1").unwrap().unwrap().context;
            prop_assert_eq!(&context.stable, &stable);
            prop_assert!(context.tokens <= 4000);
        }
    }
}

/// The text about a call that people read. It is made at the same place as the answer.
#[test]
fn titles_say_what_a_call_was_about_and_what_became_of_it() {
    let host = Host::new();
    let told = |name: &str, arguments: Value| {
        host.stack.host().context("ses_1").unwrap();
        let Answer { title, ended, .. } = host.call("ses_1", name, arguments);
        (title, ended.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let of = |title: &str, ended: &[&str]| {
        (title.to_owned(), ended.iter().map(|frame| (*frame).to_owned()).collect::<Vec<_>>())
    };
    let plan = json!({"children": [task("Cart"), task("Pay \u{1b}[31m\nin full")], "begin": true});
    assert_eq!(told("stack_frame_plan_children", plan), of("2 frames below f1", &[]));
    let mut next = done("The cart\nworks");
    next["next"] = json!("true");
    assert_eq!(
        told("stack_frame_pop", next),
        of("f2 Cart → completed: The cart works; begun: f3 Pay [31m in full", &["f2"])
    );
    let blocked = json!({"status": "blocked", "question": "Which?", "results": ""});
    assert_eq!(told("stack_frame_pop", blocked), of("f3 Pay [31m in full → blocked: Which?", &["f3"]));
    assert_eq!(told("stack_frame_details", json!({"frameID": "f2"})), of("f2 Cart", &[]));
    assert_eq!(told("stack_tree", json!({})), of("3 frames: 1 in_progress, 1 completed, 1 blocked", &[]));
    assert_eq!(told("stack_get_state", json!({})), of("", &[]));
    assert_eq!(
        told("stack_add_decision", json!({"decision": "x"})),
        of("f1 (Build a shop where customers can): the decision is recorded.", &[])
    );
    let (refused, ended) = told("stack_frame_activate", json!({"sessionID": "f9"}));
    assert!(refused.starts_with("stack_frame_activate: no frame matches `f9`") && ended.is_empty(), "{refused}");
    let long = told("stack_frame_plan", json!({"title": "word ".repeat(100), "successCriteria": "x"}));
    assert_eq!((long.0.chars().count() <= 160, long.0.ends_with('…')), (true, true), "{long:?}");
}
