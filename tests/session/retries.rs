//! Frames that the tools of agents retry: which frames can be retried, and what the caller and the new
//! session are told.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{FrameStatus, HostSettings, Stack, Tree, tools};
use serde_json::{Value, json};
use support::{Queries, options_at};

/// A host whose root session `root` has called f2 in the session `child`.
struct Host {
    stack: Stack,
    call: u64,
}

impl Host {
    fn new() -> Self {
        // A clock that stands still, because texts have durations.
        let options = options_at(&Arc::new(AtomicU64::new(1_700_000_000_000)));
        let mut host = Self { stack: Stack::with_options(options), call: 0 };
        assert_eq!(host.stack.host().configure(HostSettings::default()), []);
        host.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        host.tell(json!({"kind": "message", "sessionID": "root", "messageID": "m1", "role": "user",
            "text": "Build a shop"}));
        let arguments = json!({"title": "Taxes", "successCriteria": "Totals have VAT", "successCriteriaCompacted": ""});
        host.call = tools::call(&host.stack, "root", "stack_frame_push", &arguments.to_string()).call.unwrap();
        host.started(host.call, "child");
        host
    }

    /// Reports an event. Returns the effects without log lines.
    fn tell(&self, event: Value) -> Vec<Effect> {
        work(self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap()))
    }

    /// The host has created the session of a call. Returns the prompt.
    fn started(&self, call: u64, session: &str) -> String {
        let effects = self.tell(json!({"kind": "callStarted", "call": call, "sessionID": session}));
        let [Effect::Prompt { text, .. }] = &effects[..] else { panic!("{effects:?}") };
        text.clone()
    }

    fn tool(&self, session: &str, name: &str, arguments: Value) -> tools::Answer {
        tools::call(&self.stack, session, name, &arguments.to_string())
    }

    fn text(&self, session: &str, name: &str, arguments: Value) -> String {
        self.tool(session, name, arguments).text.unwrap()
    }

    fn pop(&self, session: &str, status: &str, results: &str) {
        let arguments = json!({"status": status, "results": results, "resultsCompacted": ""});
        assert!(!self.tool(session, "stack_frame_pop", arguments).is_error);
    }

    /// The session of a call ends. Returns the answer of the call.
    fn ended(&self, call: u64) -> String {
        let effects = self.tell(json!({"kind": "callEnded", "call": call}));
        let answer = effects.into_iter().find_map(|effect| match effect {
            Effect::Answer { call: answered, text, .. } if answered == call => Some(text),
            _ => None,
        });
        answer.expect("the call is answered")
    }

    /// Retries f2 from the root session. Returns the new call.
    fn retry(&self, more: Value) -> u64 {
        let mut arguments = json!({"sessionID": "f2", "retry": true});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.tool("root", "stack_frame_activate", arguments);
        assert!(!answer.is_error, "{answer:?}");
        let created = |effect: &Effect| matches!(effect, Effect::CreateSession { .. });
        assert!(answer.effects.iter().any(created), "it gets a session of its own: {answer:?}");
        answer.call.unwrap()
    }

    fn refused(&self, session: &str, arguments: Value) -> String {
        let revision = self.stack.read(Tree::revision).unwrap();
        let answer = self.tool(session, "stack_frame_activate", arguments);
        assert!(answer.is_error, "{answer:?}");
        assert_eq!(self.stack.read(Tree::revision).unwrap(), revision, "a refused call changes nothing");
        answer.text.unwrap()
    }

    fn status(&self, frame: &str) -> FrameStatus {
        self.stack.frame(frame).unwrap().status
    }
}

fn work(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Log { .. })).collect()
}

#[test]
fn the_caller_of_a_failed_frame_is_offered_a_retry_whose_results_are_the_answer() {
    let host = Host::new();
    host.pop("child", "failed", "The rate table is old");
    assert_eq!(
        host.ended(host.call),
        "f2 (Taxes) is failed.\nResults: The rate table is old\nstack_frame_activate f2 with retry starts it over, with \
         what it has learned; or do without it. Next: nothing else is planned beside it; continue your own frame."
    );
    let call = host.retry(json!({"answer": "Take the rates from the office"}));
    let prompt = host.started(call, "again");
    assert!(prompt.starts_with("Your task is frame f3: Taxes\nIt is done when: Totals have VAT\n"), "{prompt}");
    let context = host.stack.host().context("again").unwrap().unwrap().context;
    assert!(context.stable.contains("<earlier-attempts>\n<frame id=\"f2\" status=\"failed\">"), "{}", context.stable);
    assert!(context.stable.contains("<results>The rate table is old</results>"), "{}", context.stable);
    assert!(context.volatile.contains("<answer>Take the rates from the office</answer>"), "{}", context.volatile);
    host.stack.ensure("stray", None, Some("f2".into())).unwrap();
    host.pop("again", "completed", "VAT of 20 %");
    let answer = host.ended(call);
    assert!(answer.starts_with("f3 (Taxes) is completed.\nResults: VAT of 20 %\n"), "{answer}");
    assert!(answer.contains("\nStill open below f2, the attempt before: f4.\n"), "{answer}");
    let details = |frame: &str| {
        let text = host.text("root", "stack_frame_details", json!({"frameID": frame}));
        let details: Value = serde_json::from_str(&text).unwrap();
        ["retryOf", "retriedAs"].map(|key| details.get(key).cloned())
    };
    assert_eq!(details("f2"), [None, Some(json!("f3"))]);
    assert_eq!(details("f3"), [Some(json!("f2")), None]);
    assert_eq!(details("f1"), [None, None]);
}

#[test]
fn a_blocked_and_a_salvaged_frame_are_begun_again_in_a_new_session() {
    let host = Host::new();
    host.tell(json!({"kind": "callEnded", "call": host.call, "error": "the model is overloaded"}));
    host.tell(json!({"kind": "sessionMessages", "sessionID": "child", "messages":
        [{"id": "a", "role": "assistant", "text": "I have half of it"}]}));
    assert_eq!(host.status("f2"), FrameStatus::Blocked);
    let call = host.retry(json!({}));
    assert_eq!((host.status("f2"), host.status("f3")), (FrameStatus::Failed, FrameStatus::Planned));
    host.started(call, "again");
    let context = host.stack.host().context("again").unwrap().unwrap().context;
    let lesson = context.stable.split("<results>").nth(1).unwrap_or_default();
    assert!(
        lesson.starts_with("[auto-completed: its session ended with an error: the model is overloaded; it worked for ")
            && lesson.contains(": 1 message, 0 tool calls] I have half of it</results>"),
        "{lesson}"
    );
    assert!(!context.stable.contains("<question>"), "the results say it: {}", context.stable);
    let question = json!({"status": "blocked", "question": "Which rate?", "results": "half", "resultsCompacted": ""});
    host.tool("again", "stack_frame_pop", question);
    let answer = host.ended(call);
    assert!(answer.contains("resumes where it stopped, with retry it starts over;"), "{answer}");
    let again =
        host.tool("root", "stack_frame_activate", json!({"sessionID": "f3", "retry": true, "background": true}));
    assert!(again.text.unwrap().starts_with("f4 (Taxes) is being started in the background"));
}

#[test]
fn an_interrupted_frame_is_begun_again_and_a_running_one_is_not() {
    let host = Host::new();
    let running = host.refused("root", json!({"sessionID": "f2", "retry": true, "answer": "faster"}));
    assert!(running.contains("frame f2 is held by"), "{running}");
    // The host has died: in the next host no session runs the frame.
    let (stack, _) = Stack::from_state(host.stack.state().unwrap(), Default::default());
    let next = Host { stack, call: 0 };
    assert_eq!(next.stack.host().configure(HostSettings::default()), []);
    next.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
    next.retry(json!({}));
    assert_eq!((next.status("f2"), next.status("f3")), (FrameStatus::Failed, FrameStatus::Planned));
    let results = next.stack.frame("f2").unwrap().results;
    assert_eq!(results.as_deref(), Some("[interrupted, and retried] It left no results."));
}

#[test]
fn what_cannot_be_begun_again_is_refused_with_advice_and_nothing_changes() {
    let host = Host::new();
    let retry = |frame: &str| json!({"sessionID": frame, "retry": true});
    let own = host.refused("root", retry("f1"));
    assert!(own.contains("frame f1 is held by"), "an agent cannot begin its own frame again: {own}");
    host.pop("child", "failed", "no");
    host.ended(host.call);
    let activated = host.refused("root", json!({"sessionID": "f2"}));
    assert!(activated.contains("frame f2 is failed and cannot become in_progress; retry it, which"), "{activated}");
    host.retry(json!({}));
    let twice = host.refused("root", retry("f2"));
    assert!(twice.contains("frame f2 was retried already; continue f3, its newest attempt"), "{twice}");
    let plan = json!({"title": "Later", "successCriteria": "", "successCriteriaCompacted": ""});
    host.text("root", "stack_frame_plan", plan);
    let planned = host.refused("root", retry("f4"));
    assert!(planned.contains("frame f4 is planned and cannot be retried; activate it"), "{planned}");
}

#[test]
fn a_completed_frame_that_is_wrong_goes_on_in_its_session_and_its_caller_gets_the_new_results() {
    let host = Host::new();
    host.pop("child", "completed", "VAT of 19 %");
    host.ended(host.call);
    host.tell(json!({"kind": "sessionIdle", "sessionID": "child"}));
    let silent = host.refused("root", json!({"sessionID": "f2"}));
    assert!(silent.contains("f2") && silent.contains("completed"), "{silent}");
    let answer = host.tool("root", "stack_frame_activate", json!({"sessionID": "f2", "answer": "It is 20 %"}));
    assert!(!answer.is_error, "{answer:?}");
    let prompt = answer.effects.iter().find_map(|effect| match effect {
        Effect::Prompt { session_id, text, .. } => Some((session_id.as_str(), text.as_str())),
        _ => None,
    });
    let (session, text) = prompt.expect("its session goes on");
    assert_eq!(session, "child");
    assert!(text.starts_with("Frame f2 was completed and reopened. What is wrong: It is 20 %\n"), "{text}");
    host.pop("child", "completed", "VAT of 20 %");
    let results = host.ended(answer.call.unwrap());
    assert!(results.starts_with("f2 (Taxes) is completed.\nResults: VAT of 20 %\n"), "{results}");
}

#[test]
fn a_completed_frame_that_its_own_session_reopens_stays_as_it_is() {
    let host = Host::new();
    host.pop("child", "completed", "VAT of 19 %");
    let held = host.refused("child", json!({"sessionID": "f2", "answer": "It is 20 %"}));
    assert!(held.contains("frame f2 is held by a session of this host"), "{held}");
    assert_eq!(host.stack.frame("f2").unwrap().status, FrameStatus::Completed);
}
