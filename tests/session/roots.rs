//! Tests of several root sessions in one stack: no session gets into the tree of another session.

use callstack_core::session::HostEvent;
use callstack_core::{Error, HostSettings, Stack, ToolSet, tools};
use serde_json::{Value, json};

/// A stack with the roots `shop` (f1), `bank` (f2) and `chat` (f3), which is finished.
struct Host {
    stack: Stack,
}

impl Host {
    fn new() -> Self {
        let host = Self { stack: Stack::in_memory() };
        assert_eq!(host.stack.host().configure(HostSettings::default().tools(ToolSet::all())), []);
        for root in ["shop", "bank", "chat"] {
            host.tell(json!({"kind": "sessionCreated", "sessionID": root, "title": root}));
            host.message(root, "m1", "user", &format!("Build the {root}"));
        }
        host.good("chat", "stack_frame_pop", json!({"status": "completed", "results": "Hi", "resultsCompacted": "Hi"}));
        host
    }

    fn tell(&self, event: Value) {
        let _effects = self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
    }

    fn message(&self, session: &str, id: &str, role: &str, text: &str) {
        self.tell(json!({"kind": "message", "sessionID": session, "messageID": id, "role": role, "text": text}));
    }

    fn call(&self, session: &str, name: &str, arguments: Value) -> tools::Answer {
        tools::call(&self.stack, session, name, &arguments.to_string())
    }

    fn good(&self, session: &str, name: &str, arguments: Value) -> String {
        let answer = self.call(session, name, arguments);
        assert!(!answer.is_error, "{:?}", answer.text);
        answer.text.unwrap_or_default()
    }

    fn active(&self) -> Option<String> {
        Some(self.stack.frame(self.stack.active()?).unwrap().session_id)
    }

    /// The parent's ID of the newest frame.
    fn newest(&self) -> Option<String> {
        let newest = format!("f{}", self.stack.read(|tree| tree.len()).unwrap());
        self.stack.frame(newest.as_str()).unwrap().parent_session_id
    }
}

fn task(title: &str) -> Value {
    json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "works"})
}

#[test]
fn a_session_adds_frames_to_its_own_tree_whatever_frame_is_active() {
    let host = Host::new();
    for (own, other) in [("shop", "bank"), ("bank", "shop")] {
        host.stack.set_active(other).unwrap();
        host.good(own, "stack_frame_plan", task("Plan"));
        assert_eq!(host.newest().as_deref(), Some(own));
        host.stack.set_active(other).unwrap();
        host.good(own, "stack_frame_plan_children", json!({"children": [task("Child")]}));
        assert_eq!(host.newest().as_deref(), Some(own));
        host.stack.set_active(other).unwrap();
        assert!(host.call(own, "stack_frame_push", task("Push")).call.is_some());
        assert_eq!(host.newest().as_deref(), Some(own));
    }
}

#[test]
fn a_session_whose_task_is_over_adds_nothing_to_the_tree_of_another() {
    let host = Host::new();
    let before = host.stack.read(|tree| tree.len()).unwrap();
    let calls = [
        ("stack_frame_plan", task("Plan")),
        ("stack_frame_plan_children", json!({"children": [task("Child")]})),
        ("stack_frame_push", task("Push")),
    ];
    for (name, arguments) in calls {
        let answer = host.call("chat", name, arguments);
        assert!(answer.is_error && answer.text.as_ref().unwrap().contains("f3 is completed"), "{name}: {answer:?}");
    }
    assert_eq!(host.stack.read(|tree| tree.len()).unwrap(), before);
    let frame = callstack_core::NewFrame::new("Late").caller("chat");
    assert!(matches!(host.stack.push(frame), Err(Error::ParentClosed { .. })));
}

#[test]
fn a_session_without_a_frame_works_for_the_session_above_it() {
    let host = Host::new();
    host.tell(json!({"kind": "sessionCreated", "sessionID": "helper", "parentID": "shop", "title": "Look"}));
    host.tell(json!({"kind": "sessionCreated", "sessionID": "below", "parentID": "helper", "title": "Look"}));
    host.stack.set_active("bank").unwrap();
    host.good("below", "stack_frame_plan", task("Plan"));
    assert_eq!(host.newest().as_deref(), Some("shop"));
    host.good("stranger", "stack_frame_plan", task("Plan"));
    assert_eq!(host.newest(), None, "an unknown session has a tree of its own");
}

#[test]
fn the_active_frame_is_that_of_the_session_that_worked_last() {
    let host = Host::new();
    for (number, session) in ["shop", "bank", "shop"].into_iter().enumerate() {
        let role = if number == 1 { "assistant" } else { "user" };
        host.message(session, &format!("n{number}"), role, "Go on");
        assert_eq!(host.active().as_deref(), Some(session));
    }
    let revision = host.stack.read(|tree| tree.revision()).unwrap();
    host.message("shop", "n4", "assistant", "Yes");
    assert_eq!(host.stack.read(|tree| tree.revision()).unwrap(), revision, "nothing to record");
}

#[test]
fn an_agent_sees_its_tree_with_its_mark_and_counts_the_others() {
    let host = Host::new();
    host.good("bank", "stack_frame_plan", task("Vault"));
    host.stack.set_active("shop").unwrap();
    let text = host.good("bank", "stack_tree", json!({}));
    assert_eq!(
        text,
        "[>] f2 bank  <-- ACTIVE\n`-- [ ] f4 Vault\n\n\
         Legend: [ ] planned [>] in_progress [x] completed [!] failed [?] blocked [-] invalidated\n\
         Frames: 2: 1 planned, 1 in_progress\nActive: f2 bank\n\
         Trees of other sessions: 2 (1 in_progress, 1 completed); stack_status with \"all\": true shows them.\n"
    );
    assert!(host.good("bank", "stack_status", json!({})).ends_with(&text));
    for tool in ["stack_status", "stack_tree"] {
        let all = host.good("bank", tool, json!({"all": true}));
        for line in ["[>] f1 shop\n", "[>] f2 bank  <-- ACTIVE\n", "[x] f3 chat\n"] {
            assert!(all.contains(line), "{line} is not in\n{all}");
        }
    }
    let one = host.good("bank", "stack_tree", json!({"rootID": "f1"}));
    assert!(one.starts_with("[>] f1 shop\n") && !one.contains("other sessions"), "{one}");
}
