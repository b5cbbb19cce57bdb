//! Tests of usage in the form in which hosts report it: with the messages that answer requests to models.

use callstack_core::frame::ModelUsage;
use callstack_core::session::{Effect, HostEvent};
use callstack_core::{HostSettings, Stack};
use serde_json::{Value, json};

struct Host {
    stack: Stack,
}

impl Host {
    fn new() -> Self {
        let host = Self { stack: Stack::in_memory() };
        assert_eq!(host.stack.host().configure(HostSettings::default()), []);
        host
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap())
    }

    fn created(&self, session: &str, parent: Option<&str>, title: &str) {
        let _ = self.tell(json!({"kind": "sessionCreated", "sessionID": session, "parentID": parent, "title": title}));
    }

    fn asked(&self, session: &str, text: &str) {
        let _ = self
            .tell(json!({"kind": "message", "sessionID": session, "messageID": text, "role": "user", "text": text}));
    }

    fn answered(&self, session: &str, id: &str, output: u64) -> Vec<Effect> {
        self.tell(json!({"kind": "message", "sessionID": session, "messageID": id, "role": "assistant", "text": "",
                         "request": {"model": "small", "uncachedInput": 100, "output": output}}))
    }

    fn own(&self, session: &str) -> Vec<ModelUsage> {
        self.stack.usage(session).unwrap().own
    }

    /// The number of requests and the output tokens of a session's frame.
    fn sums(&self, session: &str) -> (u64, u64) {
        self.own(session).first().map_or((0, 0), |usage| (usage.requests, usage.output))
    }
}

#[test]
fn requests_are_recorded_in_the_frames_of_their_sessions_once() {
    let host = Host::new();
    host.created("shop", None, "Shop");
    host.asked("shop", "Build a shop");
    host.created("cart", Some("shop"), "cart (@general subagent)");
    let _ = host.answered("shop", "m1", 10);
    let _ = host.answered("cart", "m2", 20);
    let _ = host.answered("cart", "m2", 20);
    assert_eq!((host.sums("shop"), host.sums("cart")), ((1, 10), (1, 20)));
    let total = &host.stack.usage("shop").unwrap().total;
    assert_eq!((total.len(), total[0].requests, total[0].output), (1, 2, 30));
}

#[test]
fn the_request_of_a_compaction_counts_and_nothing_else_of_it_does() {
    let host = Host::new();
    host.created("shop", None, "Shop");
    host.asked("shop", "Build a shop");
    let observed = || host.stack.host().context("shop").unwrap().unwrap().context.xml.clone();
    let before = observed();
    let summary = json!({"kind": "modelRequested", "sessionID": "shop", "requestID": "summary",
        "request": {"model": "small", "uncachedInput": 190_000, "output": 900}});
    let _ = host.tell(summary.clone());
    let _ = host.tell(summary);
    assert_eq!(host.sums("shop"), (1, 900), "an event that is repeated counts once");
    assert_eq!(observed(), before, "a compaction's message is no message of the conversation");
}

#[test]
fn a_request_that_is_repeated_counts_as_failed_and_is_no_message() {
    let host = Host::new();
    host.created("shop", None, "Shop");
    host.asked("shop", "Build a shop");
    let before = host.stack.host().context("shop").unwrap().unwrap().context.xml.clone();
    for attempt in ["first", "second"] {
        let _ = host.tell(json!({"kind": "modelRequested", "sessionID": "shop", "requestID": attempt,
            "request": {"model": "small", "failed": true, "output": 1}}));
    }
    let _ = host.answered("shop", "m1", 20);
    let total = &host.stack.usage("shop").unwrap().total[0];
    let other = host.stack.usage("shop").unwrap().total.iter().map(|usage| usage.failed).sum::<u64>();
    assert_eq!((host.sums("shop"), other), ((3, 22), 2), "{total:?}");
    assert_eq!(host.stack.host().context("shop").unwrap().unwrap().context.xml, before);
}

#[test]
fn requests_before_a_session_has_a_frame_are_recorded_when_it_gets_one() {
    let host = Host::new();
    host.created("shop", None, "Shop");
    host.asked("shop", "Build a shop");
    host.created("side", Some("shop"), "Something else");
    let _ = host.answered("side", "m1", 7);
    let _ = host.answered("side", "m2", 8);
    assert!(host.stack.usage("side").is_err(), "the session has no frame yet");
    let _ = host.tell(json!({"kind": "sessionUpdated", "sessionID": "side", "title": "side (@general subagent)"}));
    assert_eq!(host.sums("side"), (2, 15));
    let _ = host.answered("side", "m3", 1);
    assert_eq!(host.sums("side"), (3, 16));
}

#[test]
fn requests_of_a_session_that_is_described_later_are_kept() {
    let host = Host::new();
    let effects = host.answered("late", "m2", 5);
    assert!(matches!(&effects[..], [Effect::DescribeSession { .. }]), "{effects:?}");
    let _ =
        host.tell(json!({"kind": "message", "sessionID": "late", "messageID": "m1", "role": "user", "text": "Build"}));
    let _ = host.answered("late", "m3", 6);
    host.created("late", None, "Late");
    assert_eq!(host.sums("late"), (2, 11));
}

#[test]
fn requests_after_the_end_of_a_frame_count_until_its_session_begins_another_task() {
    let host = Host::new();
    host.created("shop", None, "Shop");
    host.asked("shop", "Build a shop");
    host.stack.pop("shop", callstack_core::PopStatus::Completed, "Done").unwrap();
    let _ = host.answered("shop", "m1", 10);
    assert_eq!(host.sums("f1"), (1, 10));
    host.asked("shop", "Build a bank with vaults");
    let _ = host.answered("shop", "m2", 20);
    assert_eq!((host.sums("f1"), host.sums("f2")), ((1, 10), (1, 20)));
}

#[test]
fn a_request_with_an_unknown_key_is_refused_as_a_whole() {
    let event = json!({"kind": "message", "sessionID": "shop", "messageID": "m1", "role": "assistant", "text": "",
                       "request": {"model": "small", "inputTokens": 5}});
    let problem = serde_json::from_value::<HostEvent>(event).unwrap_err().to_string();
    assert!(problem.contains("unknown field `inputTokens`"), "{problem}");
}
