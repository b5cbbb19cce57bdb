//! Tests of the parts that the contexts of sessions leave out because their conversations already contain
//! them, and of the time when these parts are shown again.

use std::sync::Arc;

use callstack_core::session::HostEvent;
use callstack_core::{Context, NewFrame, PopStatus, Stack, tools};
use serde_json::{Value, json};

const CRITERIA: &str = "The cart adds up its entries, in cents, and a test shows each rule of the discounts";
const COMPACTED: &str = "sums in cents, tested";

struct Chat(Stack);

impl Chat {
    /// A host with the session `root`, which has planned two frames.
    fn new() -> Self {
        let chat = Self(Stack::in_memory());
        chat.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        chat.tell(json!({"kind": "message", "sessionID": "root", "messageID": "m1", "role": "user",
            "text": "please build a shop"}));
        let child =
            |title: &str| json!({"title": title, "successCriteria": CRITERIA, "successCriteriaCompacted": COMPACTED});
        chat.tool("root", "stack_frame_plan_children", json!({"children": [child("Cart"), child("Invoice")]}));
        chat
    }

    fn tell(&self, event: Value) {
        drop(self.0.host().report(serde_json::from_value::<HostEvent>(event).unwrap()));
    }

    fn tool(&self, session: &str, name: &str, arguments: Value) -> Option<u64> {
        let answer = tools::call(&self.0, session, name, &arguments.to_string());
        assert!(!answer.is_error, "{name}: {:?}", answer.text);
        answer.call
    }

    /// Runs the first planned frame in the session `child`.
    fn activated(&self) -> u64 {
        let call = self.tool("root", "stack_frame_activate", json!({"sessionID": "f2"})).unwrap();
        self.tell(json!({"kind": "callStarted", "call": call, "sessionID": "child"}));
        call
    }

    fn context(&self, session: &str) -> Arc<Context> {
        self.0.host().context(session).unwrap().unwrap().context
    }

    fn compacted(&self, session: &str) {
        let text = "The cart has entries; the discounts are left, and the tests of them";
        let messages = json!([{"id": "s1", "role": "assistant", "summary": true, "text": text}]);
        self.tell(json!({"kind": "sessionCompacted", "sessionID": session, "messages": messages}));
    }
}

#[test]
fn a_called_frame_is_reminded_of_its_criteria_in_short_until_its_conversation_is_compacted() {
    let chat = Chat::new();
    let plain = chat.0.context("f2", &Default::default()).unwrap();
    chat.activated();
    let called = chat.context("child");
    assert!(called.volatile.contains(COMPACTED) && !called.volatile.contains(CRITERIA), "{}", called.volatile);
    for decided_by_the_caller in ["<position>", "<sibling-status", "<next-sibling", "stack_frame_activate"] {
        assert!(!called.xml.contains(decided_by_the_caller), "{decided_by_the_caller} is in\n{}", called.xml);
    }
    assert!(called.volatile.contains("<next-action>When done, call stack_frame_pop.</next-action>"));
    assert!(called.tokens < plain.tokens);
    chat.compacted("child");
    let compacted = chat.context("child");
    assert!(compacted.volatile.contains(CRITERIA), "{}", compacted.volatile);
    assert!(!compacted.volatile.contains("<next-sibling"), "its caller still decides\n{}", compacted.volatile);
    // A context that is asked for without a session has everything.
    let plain = chat.0.context("f2", &Default::default()).unwrap();
    assert!(plain.volatile.contains(CRITERIA) && plain.volatile.contains("<next-sibling"), "{}", plain.volatile);
}

#[test]
fn a_called_frame_that_is_finished_is_told_to_end_its_turn_and_nothing_else() {
    let chat = Chat::new();
    chat.activated();
    let results = json!({"status": "completed", "results": "The cart sums", "resultsCompacted": "it sums"});
    chat.tool("child", "stack_frame_pop", results);
    let expected = "\
<stack-now>
<next-action>This frame is completed: end your turn; f1 resumes.</next-action>
<current-frame id=\"f2\" status=\"completed\">
<title>Cart</title>
</current-frame>
</stack-now>
";
    assert_eq!(chat.context("child").volatile, expected);
}

#[test]
fn a_root_is_reminded_of_a_long_message_in_short() {
    let chat = Chat::new();
    let long = format!("please build a {} shop", "very ".repeat(80).trim_end());
    for session in ["other", "restarted"] {
        chat.tell(json!({"kind": "sessionCreated", "sessionID": session}));
        chat.tell(json!({"kind": "message", "sessionID": session, "messageID": "m1", "role": "user", "text": long}));
        assert!(!chat.context(session).volatile.contains(&long), "{}", chat.context(session).volatile);
    }
    chat.compacted("other");
    assert!(chat.context("other").volatile.contains(&long));
    // A text that is added after the compaction does not bring the message back into the conversation.
    let added = format!("{long}\nwith a search");
    chat.tell(
        json!({"kind": "message", "sessionID": "other", "messageID": "m2", "role": "user", "text": "with a search"}),
    );
    assert!(chat.context("other").volatile.contains(&added), "{}", chat.context("other").volatile);
}

#[test]
fn siblings_share_the_beginning_of_their_contexts() {
    let chat = Chat::new();
    chat.0.context("f2", &Default::default()).unwrap();
    let stable = |frame: &str| chat.0.context(frame, &Default::default()).unwrap().stable.clone();
    assert_eq!(stable("f2"), stable("f3"), "nothing is finished yet");
    chat.0.activate("f2").unwrap();
    chat.0.pop("f2", PopStatus::Completed, "It sums").unwrap();
    let (one, other) = (stable("f2"), stable("f3"));
    let shared = one.split_once("</ancestors>").unwrap().0;
    assert!(other.starts_with(shared), "{shared}\n\n{other}");
}

#[test]
fn a_called_session_that_goes_on_with_another_task_is_its_own_master() {
    let chat = Chat::new();
    chat.activated();
    let results = json!({"status": "completed", "results": "The cart sums", "resultsCompacted": "it sums"});
    chat.tool("child", "stack_frame_pop", results);
    chat.tell(json!({"kind": "message", "sessionID": "child", "messageID": "m9", "role": "user",
        "text": "now add a discount for students"}));
    let now = chat.context("child").volatile.clone();
    assert!(now.contains("<current-frame id=\"f4\"") && now.contains("<position>"), "{now}");
    chat.0.push(NewFrame::new("Discounts").below("f4")).unwrap();
}
