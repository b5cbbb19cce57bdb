//! Tests of the sessions of a host and their frames, event by event.

use callstack_core::frame::NewChunk;
use callstack_core::session::autonomy::AutonomyLevel;
use callstack_core::session::calls::{CallId, CallOptions};
use callstack_core::session::subagents::SubagentSettings;
use callstack_core::session::{Effect, HostEvent, LogLevel, Turn};
use callstack_core::{Command, Error, FrameEdit, FrameStatus, Handle};
use serde_json::json;

use super::host::{Host, SUBAGENT};

fn describe(id: &str) -> Vec<Effect> {
    vec![Effect::DescribeSession { session_id: id.into() }]
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
    // All orders of the five events. The events of each order are reported twice.
    let mut order: Vec<usize> = (0..events.len()).collect();
    let mut orders = 0;
    let mut turns = [0; 5];
    let mut place = 0;
    loop {
        let mut host = Host::default();
        for index in order.iter().chain(&order) {
            host.tell(events[*index].clone());
            // The host answers each request for a description.
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
        // The next permutation, by Heap's algorithm.
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
fn a_subagent_that_is_known_by_a_later_title_is_logged_once() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), "New session");
    let detected = |host: &mut Host| host.logged().iter().filter(|(_, line)| line == "Subagent detected").count();
    assert_eq!(detected(&mut host), 0);
    for _ in 0..2 {
        host.tell(json!({"kind": "sessionUpdated", "sessionID": "child", "title": SUBAGENT}));
    }
    assert_eq!(detected(&mut host), 1);
}

#[test]
fn a_child_session_with_a_frame_ends_whatever_its_title_is() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), "Some work");
    for number in 0..3 {
        host.now += 30_000;
        host.message("child", &format!("c{number}"), "assistant", "Working");
    }
    host.about("sessionIdle", "child");
    assert_eq!(host.frame("child").status, FrameStatus::InProgress, "it is old enough for a frame");
    let due = host.sessions.deadline().expect("it ends when it stays idle");
    host.asked();
    host.poll(due);
    assert_eq!(host.asked(), [Effect::ReadMessages { session_id: "child".into() }]);
    let words = json!([{"role": "assistant", "text": "There are three modules: parser, printer, tests"}]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "child", "messages": words}));
    assert_eq!(host.frame("child").status, FrameStatus::Completed);
    // The session works again, in its next frame, and ends again.
    host.message("child", "c9", "user", "Now the lexer").about("sessionIdle", "child");
    host.asked();
    host.poll(host.sessions.deadline().unwrap());
    assert_eq!(host.asked(), [Effect::ReadMessages { session_id: "child".into() }]);
}

#[test]
fn all_files_of_a_patch_become_artifacts_deleted_and_renamed_ones_too() {
    let mut host = Host::default();
    host.created("ses_1", None, "One").message("ses_1", "m1", "user", "Go");
    let changes = json!([
        {"kind": "written", "path": "src/a.ts"}, {"kind": "deleted", "path": "src/old.ts"},
        {"kind": "renamed", "from": "src/b.ts", "to": "src/c.ts"}, {"kind": "written", "path": " "}]);
    host.tell(json!({"kind": "toolExecuted", "sessionID": "ses_1", "tool": "apply_patch", "path": "src/a.ts", "changes": changes}));
    let artifacts = ["src/a.ts", "src/old.ts (deleted)", "src/c.ts (renamed from src/b.ts)"];
    assert_eq!(host.frame("ses_1").artifacts, artifacts);
    let changes = json!([{"kind": "written", "path": "src/d.ts"}]);
    host.tell(
        json!({"kind": "toolExecuted", "sessionID": "ses_1", "tool": "patch", "failed": true, "changes": changes}),
    );
    assert_eq!(host.frame("ses_1").artifacts, artifacts, "a failed tool has changed nothing");
    host.tell(json!({"kind": "toolExecuted", "sessionID": "ses_1", "tool": "generate", "changes": changes}));
    assert_eq!(host.frame("ses_1").artifacts.last().unwrap(), "src/d.ts", "the host knows what a tool of its own does");
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn the_writing_tools_of_claude_are_known() {
    let mut host = Host::default();
    host.created("ses_1", None, "One").message("ses_1", "m1", "user", "Go");
    for (number, tool) in ["Write", "Edit", "MultiEdit", "NotebookEdit", "Read"].into_iter().enumerate() {
        host.tool("ses_1", tool, &format!("{number}.rs"));
    }
    assert_eq!(host.frame("ses_1").artifacts, ["0.rs", "1.rs", "2.rs", "3.rs"]);
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
    host.sessions.subagents.configure(SubagentSettings::default().enabled(false));
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.created("child", Some("root"), SUBAGENT).message("child", "m2", "user", "Look around");
    host.about("sessionIdle", "child").poll(1_000_000);
    assert_eq!(host.tree.len(), 1);
}

#[test]
fn what_is_no_event_is_refused() {
    for (event, reason) in [
        (
            json!({"kind": "sessionExploded", "sessionID": "a"}),
            "unknown kind of event `sessionExploded`, expected one of sessionCreated",
        ),
        (json!({"kind": "sessionIdle"}), "missing field `sessionID`"),
        (json!({"kind": "sessionIdle", "sessionID": 5}), "expected a string"),
        (json!({"kind": "sessionIdle", "sessionID": "a", "titel": "A"}), "unknown field `titel`"),
        (
            json!({"kind": "sessionIdle", "sessionID": "a", "title": "A"}),
            "unknown field `title` of the event `sessionIdle`",
        ),
        (
            json!({"kind": "callEnded", "call": 1, "sessionID": "a"}),
            "unknown field `sessionID` of the event `callEnded`",
        ),
        (
            json!({"kind": "sessionError", "sessionID": "a", "message": {}}),
            "`message` of the event `sessionError`: invalid type: map",
        ),
        (
            json!({"kind": "messageFinished", "sessionID": "a", "message": "text"}),
            "`message` of the event `messageFinished`: invalid type: string",
        ),
    ] {
        let error = serde_json::from_value::<HostEvent>(event.clone()).unwrap_err().to_string();
        assert!(error.contains(reason), "{event}: {error}");
    }
}

#[test]
fn a_call_runs_a_frame_in_a_session_and_answers_with_its_results() {
    let (mut host, frame) = Host::with_plan();
    let next = host.plan("root", "plan-2");
    let call = host.call(frame, "root");
    let create = Effect::CreateSession { call, parent_id: "root".into(), title: "Frame plan-1".into() };
    assert_eq!(host.asked(), [create]);
    assert_eq!(host.tree.node(frame).status(), FrameStatus::Planned, "without a session nothing has begun");

    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "child"}));
    assert_eq!((host.tree.by_id("child"), host.frame("child").status), (Some(frame), FrameStatus::InProgress));
    let asked = host.asked();
    let [Effect::Prompt { session_id, caller_id, text, .. }] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((session_id.as_str(), caller_id.as_str()), ("child", "root"));
    assert!(text.contains("frame f2: Frame plan-1") && text.contains("It works"), "{text}");

    host.created("child", Some("root"), "Frame plan-1").message("child", "m2", "user", text);
    assert_eq!(host.frame("child").success_criteria, "It works", "the prompt is no identity");
    host.about("sessionIdle", "child").poll(1_000_000);
    assert_eq!(host.frame("child").status, FrameStatus::InProgress, "it is no subagent");
    host.pop(frame, "The parser reads all options");
    host.ended(call, None);
    let answer = host.answer(call);
    assert!(answer.starts_with("f2 (Frame plan-1) is completed.\nResults: The parser reads all options\n"), "{answer}");
    assert!(answer.ends_with(&format!("Next: stack_frame_activate {next} (Frame plan-2).")), "{answer}");
    assert_eq!(host.ended(call, None).asked(), [], "answered once");
    assert_eq!((host.refused.len(), host.sessions.calls.frames().count()), (0, 0));
}

#[test]
fn a_session_that_ends_without_a_pop_is_salvaged() {
    for (error, span, reason) in [
        (None, "5 s", "its session ended without stack_frame_pop"),
        (Some("model is gone"), "4 s", "its session ended with an error: model is gone"),
    ] {
        let (mut host, frame) = Host::with_plan();
        let call = host.started(frame, "root", "child");
        host.tool("child", "write", "src/half.rs").ended(call, error);
        if error.is_none() {
            assert_eq!(host.asked(), [Effect::CompactSession { session_id: "child".into() }], "a summary is better");
            host.tell(json!({"kind": "sessionCompacted", "sessionID": "child", "messages": []}));
        }
        assert_eq!(host.asked(), [Effect::ReadMessages { session_id: "child".into() }]);
        host.last_words("child", "The lexer works, the parser does not");
        let saved = host.frame("child");
        assert_eq!((saved.status, saved.artifacts.as_slice()), (FrameStatus::Blocked, &["src/half.rs".to_owned()][..]));
        let work = format!("it worked for {span}: 1 message, 1 tool call; artifacts: src/half.rs");
        let words = "The lexer works, the parser does not";
        assert_eq!(saved.results.unwrap(), format!("[auto-completed: {reason}; {work}] {words}"));
        let answer = host.answer(call);
        assert!(answer.contains("is blocked.") && answer.contains("stack_frame_activate f2 resumes"), "{answer}");
        assert!(answer.contains("Artifacts: src/half.rs"), "{answer}");
        assert_eq!(host.logs[&frame], ["m9"], "its messages are kept");
    }
}

#[test]
fn a_call_that_is_aborted_or_takes_too_long_is_stopped_and_salvaged() {
    for aborted in [true, false] {
        let (mut host, frame) = Host::with_plan();
        let options = CallOptions::new("root").time_limit(Some(60_000));
        let call = host.call_with(frame, options);
        host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "child"})).asked();
        let due = host.now + 60_000;
        match aborted {
            true => host.tell(json!({"kind": "callAborted", "call": call})),
            false => host.poll(due - 1).poll(due),
        };
        let (stop, read) =
            (Effect::AbortSession { session_id: "child".into() }, Effect::ReadMessages { session_id: "child".into() });
        assert_eq!(host.asked(), [stop, read]);
        assert_eq!(host.ended(call, Some("aborted")).asked(), [], "it is known already");
        host.last_words("child", "");
        let results = host.frame("child").results.unwrap();
        let reason = if aborted { "its caller was aborted" } else { "its time limit of 60000 ms was exceeded" };
        let span = if aborted { "4 s" } else { "63 s" };
        let expected = format!("[auto-completed: {reason}; it did nothing in {span}] It left no last words.");
        assert_eq!(results, expected);
        host.answer(call);
    }
}

#[test]
fn what_cannot_be_started_stays_planned() {
    let (mut host, frame) = Host::with_plan();
    let call = host.call(frame, "root");
    host.asked();
    host.ended(call, Some("no more sessions"));
    let answer = host.answer(call);
    assert_eq!(
        answer,
        "f2 (Frame plan-1) could not be started: no more sessions. It is planned; stack_frame_activate f2 tries again."
    );
    let call = host.call(frame, "root");
    host.asked();
    host.tell(json!({"kind": "callAborted", "call": call}));
    host.answer(call);
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "late"}));
    assert_eq!(host.asked(), [Effect::AbortSession { session_id: "late".into() }], "no caller waits for it");
    assert_eq!(host.tree.node(frame).status(), FrameStatus::Planned);
}

#[test]
fn a_salvaged_frame_goes_on_in_its_session() {
    let (mut host, frame) = Host::with_plan();
    let call = host.started(frame, "root", "child");
    host.ended(call, Some("gone")).last_words("child", "The lexer works").asked();
    let call = host.call(frame, "root");
    assert_eq!(host.frame("child").status, FrameStatus::InProgress);
    let asked = host.asked();
    let [Effect::Prompt { session_id, text, .. }] = &asked[..] else { panic!("{asked:?}") };
    assert!(session_id == "child" && text.starts_with("Your work on frame f2 was interrupted."), "{text}");
    host.pop(frame, "All of it works");
    assert!(host.ended(call, None).answer(call).contains("Results: All of it works"));
}

#[test]
fn frames_that_run_or_are_finished_or_too_deep_are_not_called() {
    let (mut host, frame) = Host::with_plan();
    let refused = |host: &mut Host, frame: Handle, caller: &str| {
        let options = CallOptions::new(caller);
        let mut turn = Turn::new(&mut host.sessions, &host.tree, host.now);
        let error = turn.call(frame, options).unwrap_err();
        assert_eq!(turn.into_actions(), []);
        error
    };
    let root = host.tree.by_id("root").unwrap();
    let held = |error: Error| matches!(error, Error::Held { .. }).then_some(error.to_string());
    let expected = |frame: Handle| {
        Some(format!("frame {frame} is held by a session of this host: wait for its results, or work on another frame"))
    };
    assert_eq!(held(refused(&mut host, root, "root")), expected(root));
    let call = host.call(frame, "root");
    let mut turn = Turn::new(&mut host.sessions, &host.tree, host.now);
    let error = turn.call(frame, CallOptions::new("root").background(true)).unwrap_err();
    assert_eq!((held(error), turn.into_actions()), (expected(frame), vec![]));
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "s1"}));
    assert_eq!(held(refused(&mut host, root, "s1")), expected(root), "a caller waits for it");
    for depth in 1..=4 {
        let frame = host.plan(&format!("s{depth}"), &format!("plan-deep-{depth}"));
        host.started(frame, &format!("s{depth}"), &format!("s{}", depth + 1));
    }
    let deep = host.plan("s5", "plan-too-deep");
    let parent = host.tree.by_id("s5").unwrap();
    let error = refused(&mut host, deep, "s5");
    assert_eq!(error, Error::TooDeep { handle: parent, limit: 5 });
    assert_eq!(
        error.to_string(),
        "no frame can be started below frame f6, because the maximum depth is 5; do the work in f6, or plan it nearer to the root"
    );
    host.pop(frame, "Done");
    host.ended(call, None);
    assert!(matches!(refused(&mut host, frame, "root"), Error::Transition { .. }));
}

#[test]
fn twenty_calls_at_once_each_get_their_own_session() {
    let mut host = Host::default();
    host.sessions.calls.settings.max_concurrent = 0;
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    let frames: Vec<Handle> = (0..20).map(|number| host.plan("root", &format!("plan-{number}"))).collect();
    let calls: Vec<CallId> = frames.iter().map(|frame| host.call(*frame, "root")).collect();
    // The host reports the new sessions before it answers, in another order, and with titles that look like
    // subagents.
    for number in (0..20).rev() {
        host.created(&format!("s{number}"), Some("root"), "a subagent?");
    }
    host.created("other", Some("root"), SUBAGENT);
    assert_eq!(host.tree.len(), 21, "it is not known yet which sessions are those of the calls");
    for (number, call) in calls.iter().enumerate() {
        host.tell(json!({"kind": "callStarted", "call": call, "sessionID": format!("s{number}")}));
    }
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!(host.tree.by_id(&format!("s{number}")), Some(*frame));
    }
    assert_eq!(host.frame("other").title, SUBAGENT, "this one was a subagent");
    assert_eq!((host.tree.len(), host.refused.len()), (22, 0), "{:?}", host.refused);
    assert_eq!(host.sessions.subagents.sessions().len(), 1);
}

#[test]
fn no_caller_waits_for_a_call_in_the_background() {
    let (mut host, frame) = Host::with_plan();
    let options = CallOptions::new("root").background(true);
    let call = host.call_with(frame, options);
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "child"})).asked();
    host.ended(call, Some("gone")).last_words("child", "The lexer works");
    assert_eq!(host.frame("child").status, FrameStatus::Blocked);
    assert!(host.asked().iter().all(|effect| !matches!(effect, Effect::Answer { .. })));
}

/// The conversation of a caller holds the results that the answer of a call contains, until the conversation
/// is compacted.
#[test]
fn results_are_delivered_by_the_answer_of_a_call_and_by_nothing_else() {
    let (mut host, answered) = Host::with_plan();
    let [background, popped, called_elsewhere] = ["plan-2", "plan-3", "plan-4"].map(|id| host.plan("root", id));
    let call = host.started(answered, "root", "child");
    host.pop(answered, "The lexer works");
    assert!(!host.tree.is_held(answered), "the caller still waits");
    host.ended(call, None);
    assert!(host.tree.is_held(answered));

    let call = host.call_with(background, CallOptions::new("root").background(true));
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "second"}));
    host.pop(background, "The parser works");
    host.ended(call, None);
    host.command(Command::Activate { frame: popped.into() });
    host.pop(popped, "A person says that the printer works");
    host.created("other", None, "Other").message("other", "m7", "user", "Look after the first task");
    let call = host.started(called_elsewhere, "other", "fourth");
    host.pop(called_elsewhere, "The linker works");
    host.ended(call, None);
    for child in [background, popped, called_elsewhere] {
        assert!(!host.tree.is_held(child), "the parent of {child} was not told");
    }

    host.tell(json!({"kind": "sessionCompacted", "sessionID": "root", "messages": []}));
    assert!(host.tree.is_held(answered), "the compaction has failed");
    // Some hosts report the end of a compaction after they have asked for the next context.
    host.about("sessionCompacting", "root");
    assert!(!host.tree.is_held(answered));
    let asked = host.asked();
    let prompt = asked.iter().find_map(|effect| match effect {
        Effect::CompactionPrompt { text, .. } => Some(text),
        _ => None,
    });
    assert!(prompt.unwrap().contains("do not repeat them): f2 Frame plan-1; f3 Frame plan-2;"), "{prompt:?}");
    // Results that are delivered before the end of the compaction is reported may be in the old conversation.
    host.command(Command::Deliver { frame: answered.into() });
    let messages = json!([{"id": "s", "role": "assistant", "summary": true, "text": "Hm"}]);
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "root", "messages": messages}));
    assert!(!host.tree.is_held(answered));
    // Other hosts report only the end. Even if the summary is refused, the conversation is gone.
    host.command(Command::Deliver { frame: answered.into() });
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "root", "messages": messages}));
    assert!(!host.tree.is_held(answered));
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn a_deleted_session_answers_its_call() {
    let (mut host, frame) = Host::with_plan();
    let call = host.started(frame, "root", "child");
    host.about("sessionDeleted", "child");
    assert!(host.answer(call).contains("is invalidated."));
}

#[test]
fn a_frame_that_is_taken_out_of_the_plan_while_it_runs_is_stopped() {
    let (mut host, frame) = Host::with_plan();
    let call = host.started(frame, "root", "child");
    host.command(Command::Invalidate { frame: frame.into(), reason: "not needed".into() });
    let mut turn = Turn::new(&mut host.sessions, &host.tree, host.now);
    turn.finished("child", false);
    let actions = turn.into_actions();
    host.carry_out(actions);
    let (stop, read) =
        (Effect::AbortSession { session_id: "child".into() }, Effect::ReadMessages { session_id: "child".into() });
    let asked = host.asked();
    assert_eq!(asked[..2], [stop, read]);
    assert!(
        matches!(&asked[2], Effect::Answer { call: answered, text, .. } if *answered == call && text.contains("is invalidated."))
    );
    assert_eq!(host.ended(call, Some("aborted")).asked(), [], "it has been answered");
}

#[test]
fn a_session_that_goes_on_after_its_frame_gets_another_one() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build a shop");
    let first = host.tree.by_id("root").unwrap();
    let chunk = NewChunk::new("prices").content("in cents").description("what a price is");
    host.command(Command::AllocateChunk { frame: first.into(), chunk });
    host.pop(first, "The shop is open");
    host.message("root", "m2", "assistant", "Done").message("root", "m3", "user", "Now build a blog");
    assert_eq!(host.frame("root").success_criteria, "Now build a blog");
    assert_eq!(host.frame("root").title, "Now build a blog");
    let chunk = &host.frame("root").heap[0];
    assert_eq!((&*chunk.name, &*chunk.content, &*chunk.description), ("prices", "in cents", "what a price is"));
    let old = host.tree.frame(first);
    assert_eq!((old.session_id.as_str(), old.results.as_deref()), ("root~f1", Some("The shop is open")));
    host.pop(host.tree.by_id("root").unwrap(), "The blog, too");
    host.message("root", "m4", "user", "And a wiki");
    assert_eq!((host.tree.len(), host.frame("root~f2").title.as_str()), (3, "Now build a blog"));
    let messages = json!(["m1", "m2", "m3", "m4", "m5"].map(|id| json!({"id": id, "role": "user", "text": id})));
    host.tell(json!({"kind": "sessionMessages", "sessionID": "root", "messages": messages}));
    assert_eq!(host.logs[&host.tree.by_id("root").unwrap()], ["m4", "m5"], "the log is that of the frame");
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn a_compaction_asks_for_what_the_frame_needs_and_keeps_its_messages() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    host.about("sessionCompacting", "root");
    let asked = host.asked();
    let [Effect::CompactionPrompt { text, .. }, Effect::ReadMessages { session_id }] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert!(text.contains("Build it") && session_id == "root", "{text}");
    host.last_words("root", "Half of it is built");
    assert_eq!(host.logs[&host.tree.by_id("root").unwrap()], ["m9"]);
    assert_eq!(host.frame("root").results, None, "that was no summary");
    assert_eq!(host.about("sessionCompacting", "nobody").asked(), []);
}

#[test]
fn what_sessions_do_is_assessed() {
    let mut host = Host::default();
    host.created("root", None, "Root").message("root", "m1", "user", "Build it");
    (0..4).for_each(|_| {
        host.tell(json!({"kind": "toolExecuted", "sessionID": "root", "tool": "bash", "failed": true}));
    });
    host.message("root", "m2", "assistant", "Hm");
    let root = host.tree.by_id("root").unwrap();
    let text = host.sessions.autonomy.suggestions.text(root, host.now, &host.sessions.tools).unwrap();
    assert!(
        text.contains("start a child of f1 with stack_frame_push (83 % sure; failure_boundary 83: 4 errors"),
        "{text}"
    );
    assert!(host.logged().contains(&(LogLevel::Info, "Suggestion added".into())));
    host.message("root", "m3", "assistant", "Hm");
    assert!(!host.logged().contains(&(LogLevel::Info, "Suggestion added".into())), "said once");
}

#[test]
fn at_the_level_auto_a_recommended_pop_is_carried_out() {
    for summary in ["The parser reads flags and paths; tables are left", ""] {
        let (mut host, frame) = Host::with_plan();
        host.sessions.autonomy.settings.level = AutonomyLevel::Auto;
        let call = host.started(frame, "root", "child");
        let full = json!({"kind": "message", "sessionID": "child", "messageID": "m5", "role": "assistant", "text": "",
            "tokens": 199_000, "contextLimit": 200_000});
        host.tell(full).ended(call, None);
        assert_eq!(host.asked(), [Effect::CompactSession { session_id: "child".into() }]);
        let messages = if summary.is_empty() {
            json!([])
        } else {
            json!([{"role": "assistant", "summary": true, "text": summary}])
        };
        host.tell(json!({"kind": "sessionCompacted", "sessionID": "child", "messages": messages}));
        if summary.is_empty() {
            host.last_words("child", "");
            assert_eq!(host.frame("child").status, FrameStatus::Blocked, "no summary: salvaged");
        } else {
            let frame = host.frame("child");
            let results = frame.results.unwrap_or_default();
            assert_eq!(frame.status, FrameStatus::Blocked, "a full context does not complete it");
            assert!(
                results.starts_with(
                    "[auto-completed: context_overflow 100: 199000 of 200000 tokens are used; it worked for"
                ) && results.ends_with(&format!("1 message, 0 tool calls] {summary}")),
                "{results}"
            );
        }
        host.answer(call);
    }
}

/// Observations of the host suggest that a frame has ended: the files that its criteria name exist, and tools
/// succeed.
#[test]
fn at_the_level_auto_a_frame_whose_files_are_there_is_completed_when_its_agent_stops() {
    for (criteria, is_completed) in [
        ("src/lexer.rs reads flags and paths", true),
        ("src/parser.rs and src/lexer.rs read flags", false),
        ("It reads flags", false),
    ] {
        let (mut host, frame) = Host::with_plan();
        host.command(Command::Edit { frame: frame.into(), edit: FrameEdit::default().criteria(criteria) });
        host.sessions.autonomy.settings.level = AutonomyLevel::Auto;
        let call = host.started(frame, "root", "child");
        host.tell(json!({"kind": "toolExecuted", "sessionID": "child", "tool": "write", "path": "src/lexer.rs"}));
        host.message("child", "m5", "assistant", "The lexer reads flags and paths");
        host.ended(call, None);
        let messages = json!([{"role": "assistant", "summary": true, "text": "src/lexer.rs reads flags"}]);
        host.tell(json!({"kind": "sessionCompacted", "sessionID": "child", "messages": messages}));
        assert_eq!(host.frame("child").status == FrameStatus::Completed, is_completed, "{criteria}");
    }
}

#[test]
fn a_compaction_that_never_ended_does_not_hide_the_next_one() {
    let (mut host, child) = Host::with_plan();
    host.about("sessionCompacting", "root");
    let call = host.started(child, "root", "child");
    host.pop(child, "The lexer works");
    host.ended(call, None);
    assert!(host.tree.is_held(child));
    let messages = json!([{"id": "s", "role": "assistant", "summary": true, "text": "Hm"}]);
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "root", "messages": messages}));
    assert!(!host.tree.is_held(child), "the summary may not mention it");
}

#[test]
fn an_aborted_caller_has_not_got_the_results() {
    let (mut host, child) = Host::with_plan();
    let call = host.started(child, "root", "child");
    host.pop(child, "The lexer works");
    host.tell(json!({"kind": "callAborted", "call": call}));
    assert!(!host.tree.is_held(child));
    host.answer(call);
}

#[test]
fn sessions_that_are_above_themselves_are_roots() {
    let mut host = Host::default();
    host.created("own", Some("own"), "Own").message("own", "m1", "user", "please build a shop");
    assert_eq!(host.frame("own").parent_session_id, None);
    host.created("a", Some("c"), "A").created("b", Some("a"), "B").message("b", "m1", "user", "write the tests of it");
    host.created("c", Some("b"), "C").message("c", "m1", "user", "please build a blog");
    assert_eq!(host.frame("c").parent_session_id, None, "{:?}", host.refused);
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn sessions_that_are_never_described_are_bounded() {
    let mut host = Host::default();
    for number in 0..40_000 {
        host.message(&format!("unknown-{number}"), "m1", "user", "please build a shop");
    }
    let asked = host.asked().into_iter().filter(|effect| matches!(effect, Effect::DescribeSession { .. })).count();
    assert_eq!(asked, 32_768);
    host.created("unknown-3", None, "");
    assert_eq!(host.frame("unknown-3").success_criteria, "please build a shop");
}
