//! A host's sessions and the frames that they have, event by event.
#![cfg(feature = "session")]

use callstack_core::session::subagents::SubagentSettings;
use callstack_core::session::{Action, Effect, HostEvent, LogLevel, Sessions};
use callstack_core::{Frame, FrameStatus, Tree, decide};
use serde_json::{Value, json};

const SUBAGENT: &str = "look around (@general subagent)";

/// A host that carries out what follows from its events.
#[derive(Default)]
struct Host {
    tree: Tree,
    sessions: Sessions,
    now: u64,
    effects: Vec<Effect>,
    refused: Vec<String>,
}

impl Host {
    /// Reports an event, in JSON, a second after the last one.
    fn tell(&mut self, event: Value) -> &mut Self {
        self.now += 1_000;
        let text = event.to_string();
        let event: HostEvent = serde_json::from_value(event).unwrap_or_else(|error| panic!("{error}: {text}"));
        let actions = self.sessions.report(&self.tree, event, self.now);
        self.carry_out(actions)
    }

    fn poll(&mut self, now: u64) -> &mut Self {
        self.now = now;
        let actions = self.sessions.poll(&self.tree, now);
        self.carry_out(actions)
    }

    fn carry_out(&mut self, actions: Vec<Action>) -> &mut Self {
        for action in actions {
            match action {
                Action::Command(command) => match decide(&self.tree, command, self.now) {
                    Ok(events) => events.iter().for_each(|event| self.tree.apply(event)),
                    Err(error) => self.refused.push(error.to_string()),
                },
                Action::Effect(effect) => self.effects.push(effect),
            }
        }
        self
    }

    fn created(&mut self, id: &str, parent: Option<&str>, title: &str) -> &mut Self {
        self.tell(json!({"kind": "sessionCreated", "sessionID": id, "parentID": parent, "title": title}))
    }

    fn message(&mut self, id: &str, message: &str, role: &str, text: &str) -> &mut Self {
        self.tell(json!({"kind": "message", "sessionID": id, "messageID": message, "role": role, "text": text}))
    }

    fn tool(&mut self, id: &str, tool: &str, path: &str) -> &mut Self {
        self.tell(json!({"kind": "toolExecuted", "sessionID": id, "tool": tool, "path": path}))
    }

    fn about(&mut self, kind: &str, id: &str) -> &mut Self {
        self.tell(json!({"kind": kind, "sessionID": id}))
    }

    fn frame(&self, id: &str) -> Frame {
        self.tree.frame(self.tree.by_id(id).unwrap_or_else(|| panic!("{id} has no frame")))
    }

    /// The effects since the last time, without the log.
    fn asked(&mut self) -> Vec<Effect> {
        self.effects.drain(..).filter(|effect| !matches!(effect, Effect::Log { .. })).collect()
    }

    /// The lines of the log since the last time.
    fn logged(&mut self) -> Vec<(LogLevel, String)> {
        let lines = self.effects.drain(..).filter_map(|effect| match effect {
            Effect::Log { level, message, .. } => Some((level, message)),
            _ => None,
        });
        lines.collect()
    }
}

fn describe(id: &str) -> Vec<Effect> {
    vec![Effect::DescribeSession { session_id: id.into() }]
}

#[test]
fn a_root_takes_its_identity_from_its_first_message() {
    let mut host = Host::default();
    host.created("ses_1", None, "New session - 2026-11-22T05:28:04.000Z");
    assert!(host.tree.is_empty(), "a session without a message is nothing to work on");
    let text = "Build a shop where customers\ncan pay for what is in their cart";
    host.message("ses_1", "m1", "user", text).message("ses_1", "m2", "assistant", "Well");
    let frame = host.frame("ses_1");
    assert_eq!((frame.title.as_str(), frame.success_criteria.as_str()), ("Build a shop where customers can", text));
    assert_eq!((frame.status, frame.placeholder, frame.parent_session_id), (FrameStatus::InProgress, false, None));
    assert!(!frame.success_criteria_compacted.contains('\n'));

    host.message("ses_1", "m3", "user", "And a blog");
    host.tell(json!({"kind": "sessionUpdated", "sessionID": "ses_1", "title": "Shop and blog"}));
    assert_eq!(host.frame("ses_1").title, "Build a shop where customers can", "given once");
    assert_eq!((host.tree.len(), host.refused.len()), (1, 0), "{:?}", host.refused);
}

#[test]
fn a_title_of_the_sessions_own_is_better_than_words_of_the_message() {
    let mut host = Host::default();
    host.created("ses_1", None, "")
        .tell(json!({"kind": "sessionUpdated", "sessionID": "ses_1", "title": " The shop "}));
    host.message("ses_1", "m0", "user", "  ").message("ses_1", "m1", "user", "Build a shop");
    assert_eq!(
        (host.frame("ses_1").title.as_str(), host.frame("ses_1").success_criteria.as_str()),
        ("The shop", "Build a shop")
    );
}

#[test]
fn events_that_come_twice_or_out_of_order_make_the_same_frames() {
    let events = [
        json!({"kind": "sessionCreated", "sessionID": "root", "title": "Root"}),
        json!({"kind": "message", "sessionID": "root", "messageID": "m1", "role": "user", "text": "Build it"}),
        json!({"kind": "sessionCreated", "sessionID": "child", "parentID": "root", "title": SUBAGENT}),
        json!({"kind": "message", "sessionID": "child", "messageID": "m2", "role": "user", "text": "Look around"}),
        json!({"kind": "sessionCreated", "sessionID": "grandchild", "parentID": "child", "title": "[Task] deeper"}),
    ];
    // Every order of the five, each told twice.
    let mut order: Vec<usize> = (0..events.len()).collect();
    let mut orders = 0;
    let mut turns = [0; 5];
    let mut place = 0;
    loop {
        let mut host = Host::default();
        for index in order.iter().chain(&order) {
            host.tell(events[*index].clone());
            // The host answers what it is asked, as it would.
            for effect in host.asked() {
                let Effect::DescribeSession { session_id } = effect else { panic!("{effect:?}") };
                let described =
                    events.iter().find(|event| event["kind"] == "sessionCreated" && event["sessionID"] == session_id);
                host.tell(described.unwrap().clone());
            }
        }
        for (id, parent) in [("root", None), ("child", Some("root")), ("grandchild", Some("child"))] {
            assert_eq!(host.frame(id).parent_session_id.as_deref(), parent, "{id} in the order {order:?}");
        }
        assert_eq!(host.frame("child").success_criteria, "Look around", "in the order {order:?}");
        assert_eq!(host.frame("root").success_criteria, "Build it", "in the order {order:?}");
        assert_eq!((host.tree.len(), host.refused.len()), (3, 0), "in the order {order:?}: {:?}", host.refused);
        orders += 1;
        // Heap's algorithm.
        while place < order.len() && turns[place] >= place {
            turns[place] = 0;
            place += 1;
        }
        if place == order.len() {
            break;
        }
        order.swap(if place % 2 == 0 { 0 } else { turns[place] }, place);
        turns[place] += 1;
        place = 0;
    }
    assert_eq!(orders, 120);
}

#[test]
fn a_session_that_was_not_told_of_is_asked_for_once() {
    let mut host = Host::default();
    host.message("child", "m1", "user", "Look around");
    assert_eq!(host.asked(), describe("child"));
    host.message("child", "m1", "user", "Look around").message("child", "m2", "assistant", "Hm");
    assert_eq!(host.asked(), [], "asked once");
    host.created("child", Some("root"), SUBAGENT);
    assert_eq!(host.asked(), describe("root"));
    assert!(host.tree.is_empty(), "it does not become a root");
    host.created("root", None, "Root");
    assert_eq!(host.frame("child").parent_session_id.as_deref(), Some("root"));
    assert_eq!(host.frame("child").title, SUBAGENT);
    assert!(host.frame("root").placeholder, "the root has no message yet");
}

#[test]
fn children_of_a_session_that_is_not_there_begin_a_tree_of_their_own() {
    let mut host = Host::default();
    host.created("child", Some("gone"), SUBAGENT).about("sessionDeleted", "gone");
    host.message("child", "m1", "user", "Look around");
    assert_eq!(host.frame("child").parent_session_id, None);
    assert!(host.logged().contains(&(LogLevel::Warn, "Parent session not found".into())));
}

#[test]
fn an_id_that_begins_like_another_is_another() {
    let mut host = Host::default();
    host.created("ses_12", None, "Twelve").message("ses_12", "m1", "user", "Twelve");
    host.tool("ses_1", "write", "a.rs").created("ses_1", None, "One").message("ses_1", "m2", "user", "One");
    assert_eq!((host.frame("ses_1").title.as_str(), host.frame("ses_12").title.as_str()), ("One", "Twelve"));
    assert!(host.frame("ses_12").artifacts.is_empty());
}

#[test]
fn files_that_tools_write_become_artifacts() {
    let mut host = Host::default();
    host.created("ses_1", None, "One").message("ses_1", "m1", "user", "Go");
    host.tool("ses_1", "write", "a.rs").tool("ses_1", "edit", "b.rs").tool("ses_1", "edit", "a.rs");
    host.tool("ses_1", "read", "c.rs").tool("ses_1", "write", "").tool("nobody", "write", "d.rs");
    assert_eq!(host.frame("ses_1").artifacts, ["a.rs", "b.rs"]);
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn an_idle_subagent_is_finished_with_its_last_words() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), SUBAGENT).message("child", "m2", "user", "Look around");
    host.about("sessionIdle", "child");
    let due = host.sessions.deadline().unwrap();
    assert_eq!(due, host.now + 5_000);
    host.asked();
    host.poll(due);
    assert_eq!(host.asked(), [Effect::ReadMessages { session_id: "child".into() }]);
    let words = json!([{"role": "assistant", "text": "There are three modules: parser, printer, tests"}]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "child", "messages": words}));
    let frame = host.frame("child");
    assert_eq!(frame.status, FrameStatus::Completed);
    assert_eq!(frame.results.as_deref(), Some("There are three modules: parser, printer, tests"));
    assert_eq!(host.tree.active(), host.tree.by_id("root"), "the parent goes on");
    assert_eq!(host.sessions.subagents.statistics().auto_completed, 1);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "child", "messages": words}));
    assert_eq!(host.refused, [""; 0], "told twice, nothing happens");
}

#[test]
fn a_subagent_that_goes_on_is_not_finished() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), SUBAGENT).about("sessionIdle", "child");
    host.poll(100_000).message("child", "m2", "user", "One more thing");
    let words = json!([{"role": "assistant", "text": "There are three modules"}]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "child", "messages": words}));
    assert_eq!(host.frame("child").status, FrameStatus::InProgress);
}

#[test]
fn a_subagent_without_last_words_keeps_what_its_frame_knew() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), SUBAGENT);
    let summary = json!([{"role": "assistant", "summary": true, "text": "The parser is in src/parser.rs"}]);
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "child", "messages": summary}));
    host.about("sessionIdle", "child").poll(1_000_000);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "child", "messages": []}));
    let frame = host.frame("child");
    assert_eq!(
        (frame.status, frame.results.as_deref()),
        (FrameStatus::Completed, Some("The parser is in src/parser.rs"))
    );
}

#[test]
fn a_summary_becomes_results_and_a_worse_one_does_not() {
    let mut host = Host::default();
    host.created("ses_1", None, "One").message("ses_1", "m1", "user", "Go");
    let compacted = |host: &mut Host, text: &str| {
        let messages = json!([{"role": "assistant", "summary": true, "text": text}]);
        host.tell(json!({"kind": "sessionCompacted", "sessionID": "ses_1", "messages": messages}));
        host.logged().pop().map(|(_, message)| message)
    };
    let good = "The parser reads flags, paths and tables; errors name the line; twelve tests cover it";
    assert_eq!(compacted(&mut host, good).as_deref(), Some("Summary extracted"));
    assert_eq!(host.frame("ses_1").results.as_deref(), Some(good));
    assert_eq!(host.frame("ses_1").status, FrameStatus::InProgress, "the work goes on");
    for worse in ["", "Done.", "We spoke about the parser"] {
        assert_eq!(compacted(&mut host, worse).as_deref(), Some("Summary refused"), "{worse}");
        assert_eq!(host.frame("ses_1").results.as_deref(), Some(good));
    }
    assert_eq!(host.sessions.compactions.statistics().refused, 3);
}

#[test]
fn a_deleted_session_takes_its_open_frame_along_and_no_finished_one() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("open", Some("root"), SUBAGENT).created("done", Some("root"), SUBAGENT);
    host.about("sessionIdle", "done").poll(1_000_000);
    let words = json!([{"role": "assistant", "text": "There are three modules"}]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "done", "messages": words}));
    host.about("sessionDeleted", "open").about("sessionDeleted", "done").about("sessionDeleted", "nobody");
    assert_eq!(host.frame("open").status, FrameStatus::Invalidated);
    assert_eq!(host.frame("open").invalidation_reason.as_deref(), Some("its session was deleted"));
    assert_eq!(host.frame("done").status, FrameStatus::Completed);
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn without_subagents_child_sessions_have_no_frames() {
    let mut host = Host::default();
    host.sessions.subagents.configure(SubagentSettings { enabled: false, ..SubagentSettings::default() });
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), SUBAGENT).message("child", "m2", "user", "Look around");
    host.about("sessionIdle", "child").poll(1_000_000);
    assert_eq!(host.tree.len(), 1);
}

#[test]
fn what_is_no_event_is_refused() {
    for (event, reason) in [
        (json!({"kind": "sessionExploded", "sessionID": "a"}), "unknown variant `sessionExploded`"),
        (json!({"kind": "sessionIdle"}), "missing field `sessionID`"),
        (json!({"kind": "sessionIdle", "sessionID": 5}), "expected a string"),
    ] {
        let error = serde_json::from_value::<HostEvent>(event.clone()).unwrap_err().to_string();
        assert!(error.contains(reason), "{event}: {error}");
    }
}
