//! Tests of the ends of subagents: the frame of a subagent ends when the tool returns that has started the
//! subagent.

use callstack_core::FrameStatus;
use callstack_core::session::subagents::SubagentSettings;
use callstack_core::session::{Effect, LogLevel};
use serde_json::{Value, json};

use super::host::{Host, SUBAGENT};

const ANSWER: &str = "There are three modules: parser, printer, tests";

impl Host {
    /// A host with the session `root`, and the subagents that it has started.
    fn with_subagents(children: &[&str]) -> Self {
        let mut host = Self::default();
        host.created("root", None, "Root").message("root", "m1", "user", "Build a parser");
        for child in children {
            host.created(child, Some("root"), SUBAGENT).message(child, &format!("{child}-1"), "user", "Look around");
        }
        host.effects.clear();
        host
    }

    /// Reports the return of a tool of the session `root` that has started the session `child`.
    fn returned(&mut self, call: &str, child: &str, answer: &str) -> &mut Self {
        self.tell(tool(call, "root", child, answer, false))
    }

    fn failed(&mut self, call: &str, child: &str, message: &str) -> &mut Self {
        self.tell(tool(call, "root", child, message, true))
    }

    fn status(&self, id: &str) -> FrameStatus {
        self.frame(id).status
    }

    fn results(&self, id: &str) -> String {
        self.frame(id).results.unwrap_or_default()
    }
}

fn tool(call: &str, session: &str, child: &str, answer: &str, failed: bool) -> Value {
    json!({"kind": "toolExecuted", "sessionID": session, "toolCallID": call, "tool": "task", "failed": failed,
        "childID": child, "answer": answer})
}

fn read(id: &str) -> Vec<Effect> {
    vec![Effect::ReadMessages { session_id: id.into() }]
}

#[test]
fn a_subagent_is_finished_when_its_answer_is_there() {
    let mut host = Host::with_subagents(&["one", "two"]);
    host.returned("c2", "two", "The printer is simple");
    assert_eq!(host.status("one"), FrameStatus::InProgress, "it still works");
    assert!(host.tree.is_held(host.tree.by_id("two").unwrap()), "the answer is in the conversation of its parent");
    assert_eq!((host.status("two"), host.results("two").as_str()), (FrameStatus::Completed, "The printer is simple"));
    assert_eq!(host.asked(), read("two"), "its log gets its messages");
    host.returned("c1", "one", ANSWER);
    // OpenCode reports the last message and the end of the work later than the answer.
    host.message("one", "m2", "assistant", ANSWER).about("sessionIdle", "one");
    assert_eq!((host.status("one"), host.results("one").as_str()), (FrameStatus::Completed, ANSWER));
    host.last_words("one", ANSWER);
    assert_eq!(host.logs[&host.tree.by_id("one").unwrap()], ["m9"]);
    assert_eq!(host.sessions.deadline(), None, "nothing is left to wait for");
    assert_eq!(host.sessions.subagents.statistics().auto_completed, 2);
    assert_eq!((host.tree.active(), host.refused.len()), (host.tree.by_id("root"), 0), "{:?}", host.refused);
}

/// The parent's conversation has the answer, no matter who has finished the frame.
#[test]
fn an_answer_is_delivered_even_if_the_frame_is_finished_already() {
    let mut host = Host::with_subagents(&["popped", "idle"]);
    let [popped, idle] = ["popped", "idle"].map(|id| host.tree.by_id(id).unwrap());
    host.pop(popped, "The lexer works");
    let due = host.about("sessionIdle", "idle").sessions.deadline().unwrap();
    host.poll(due).last_words("idle", ANSWER);
    assert_eq!([popped, idle].map(|frame| host.tree.is_held(frame)), [false, false], "the tools still run");
    host.returned("c1", "popped", "I have popped").returned("c2", "idle", ANSWER);
    assert_eq!([popped, idle].map(|frame| host.tree.is_held(frame)), [true, true]);
    assert_eq!(host.results("popped"), "The lexer works");
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn an_answer_without_the_id_of_its_tool_call_waits_for_the_end_of_the_work() {
    let mut host = Host::with_subagents(&["child"]);
    let returned =
        json!({"kind": "toolExecuted", "sessionID": "root", "tool": "task", "childID": "child", "answer": "Old"});
    host.tell(returned).message("child", "m2", "assistant", "Just a moment");
    assert_eq!(host.status("child"), FrameStatus::InProgress, "it may be an old one");
    host.about("sessionIdle", "child");
    assert_eq!(host.asked(), read("child"), "it is not idle for a delay first");
    host.last_words("child", ANSWER);
    assert_eq!((host.status("child"), host.results("child").as_str()), (FrameStatus::Completed, ANSWER));
    assert_eq!(host.sessions.deadline(), None);
}

#[test]
fn an_answer_that_comes_after_the_work_has_begun_again_is_an_old_one() {
    let mut host = Host::with_subagents(&["child"]);
    let due = host.about("sessionIdle", "child").sessions.deadline().unwrap();
    host.poll(due).last_words("child", ANSWER).message("child", "m3", "user", "Now look at the lexer");
    host.returned("c1", "child", ANSWER);
    assert_eq!(host.status("child"), FrameStatus::InProgress, "it is the answer to the first question");
    host.returned("c2", "child", "Nine kinds of tokens");
    assert_eq!(
        (host.status("child"), host.results("child").as_str()),
        (FrameStatus::Completed, "Nine kinds of tokens")
    );
    host.message("child", "m5", "user", "And the parser?").returned("c3", "child", ANSWER);
    assert_eq!((host.status("child"), host.tree.len(), host.refused.len()), (FrameStatus::Completed, 4, 0));
}

#[test]
fn an_old_answer_does_not_finish_a_frame_that_has_begun_again() {
    let mut host = Host::with_subagents(&["child"]);
    host.about("sessionIdle", "child").returned("c1", "child", ANSWER);
    let first = host.tree.by_id("child").unwrap();
    host.returned("c1", "child", ANSWER).returned("c9", "child", "Another answer");
    assert_eq!(host.results("child"), ANSWER, "finished once");
    // The tool is called again with the same session.
    host.message("child", "m3", "user", "Now look at the lexer");
    let second = host.tree.by_id("child").unwrap();
    assert!(second != first && host.status("child") == FrameStatus::InProgress);
    host.returned("c1", "child", ANSWER).failed("c1", "child", "no luck");
    host.tell(
        json!({"kind": "toolExecuted", "sessionID": "root", "tool": "task", "childID": "child", "answer": ANSWER}),
    );
    assert_eq!(host.status("child"), FrameStatus::InProgress, "these are old");
    host.message("child", "m4", "assistant", "I look").asked();
    host.about("sessionIdle", "child").last_words("child", "The lexer has nine kinds of tokens");
    assert_eq!(host.results("child"), "The lexer has nine kinds of tokens", "its own answer, not the old one");
    assert_eq!((host.status("child"), host.refused.len()), (FrameStatus::Completed, 0), "{:?}", host.refused);
    assert_eq!(host.tree.node(first).record().results.as_deref(), Some(ANSWER));
}

#[test]
fn a_subagent_whose_tool_has_failed_is_blocked_and_can_go_on() {
    for is_idle_first in [true, false] {
        let mut host = Host::with_subagents(&["child"]);
        host.tool("child", "write", "src/half.rs");
        match is_idle_first {
            true => host.about("sessionIdle", "child").failed("c1", "child", "Task cancelled"),
            false => {
                host.failed("c1", "child", "Task cancelled").message("child", "m2", "assistant", "The lexer works")
            }
        };
        assert!(host.logged().iter().all(|(level, _)| *level != LogLevel::Warn));
        host.last_words("child", "The lexer works");
        let salvaged = "[auto-completed: the tool that started it has failed: Task cancelled; it worked for 5 s: 1 message, 1 \
                        tool call; artifacts: src/half.rs] The lexer works";
        assert_eq!((host.status("child"), host.results("child").as_str()), (FrameStatus::Blocked, salvaged));
        assert!(host.logged().contains(&(LogLevel::Warn, "Frame salvaged".into())));
        assert_eq!(host.sessions.deadline(), None, "it is not finished by being idle");
        host.about("sessionIdle", "child").poll(1_000_000);
        assert_eq!(host.status("child"), FrameStatus::Blocked);

        host.message("child", "m3", "user", "Go on");
        assert_eq!(host.status("child"), FrameStatus::InProgress, "the same frame goes on");
        host.about("sessionIdle", "child").returned("c2", "child", ANSWER);
        assert_eq!((host.status("child"), host.results("child").as_str()), (FrameStatus::Completed, ANSWER));
        assert_eq!((host.tree.len(), host.refused.len()), (2, 0), "{:?}", host.refused);
    }
}

#[test]
fn a_subagent_that_has_blocked_its_frame_stays_blocked() {
    let mut host = Host::with_subagents(&["child"]);
    let frame = host.tree.by_id("child").unwrap();
    host.block(frame, "Which of the two parsers is meant?");
    host.about("sessionIdle", "child").returned("c1", "child", "I have a question").poll(1_000_000);
    assert_eq!(host.status("child"), FrameStatus::Blocked);
    assert_eq!(host.results("child"), "Which of the two parsers is meant?");
}

#[test]
fn only_the_session_that_has_started_a_subagent_gives_its_answer() {
    let mut host = Host::with_subagents(&["child"]);
    host.created("other", None, "Other").message("other", "m5", "user", "Write a blog");
    host.about("sessionIdle", "child").about("sessionIdle", "root");
    for (caller, child) in [("other", "child"), ("child", "child"), ("root", "root"), ("root", "nobody")] {
        host.tell(tool("c1", caller, child, ANSWER, false));
    }
    assert!(["root", "child", "other"].iter().all(|id| host.status(id) == FrameStatus::InProgress));
    let (mut host, frame) = Host::with_plan();
    host.started(frame, "root", "called");
    host.about("sessionIdle", "called").returned("c1", "called", ANSWER);
    assert_eq!(host.status("called"), FrameStatus::InProgress, "a call has an end of its own");
}

#[test]
fn a_subagent_that_goes_on_after_a_restart_is_finished_by_its_answer() {
    let mut host = Host::with_subagents(&["child"]);
    host.sessions = Default::default();
    host.message("child", "m3", "user", "Go on").asked();
    host.created("child", Some("root"), SUBAGENT).about("sessionIdle", "child").returned("c2", "child", ANSWER);
    assert_eq!((host.status("child"), host.results("child").as_str()), (FrameStatus::Completed, ANSWER));
}

#[test]
fn settings_decide_whether_and_with_what_an_answer_finishes_a_frame() {
    let mut host = Host::with_subagents(&["child"]);
    host.sessions.subagents.configure(SubagentSettings::default().auto_complete_on_idle(false));
    host.about("sessionIdle", "child").returned("c1", "child", ANSWER);
    assert_eq!(host.status("child"), FrameStatus::InProgress, "another actor finishes it");

    let mut host = Host::with_subagents(&["child", "silent"]);
    host.sessions.subagents.configure(SubagentSettings::default().propagate_summaries(false));
    host.about("sessionIdle", "child").returned("c1", "child", ANSWER);
    assert_eq!((host.status("child"), host.results("child").as_str()), (FrameStatus::Completed, ""));
    host.sessions.subagents.configure(SubagentSettings::default());
    host.about("sessionIdle", "silent").returned("c2", "silent", " ").last_words("silent", ANSWER);
    assert_eq!((host.status("silent"), host.results("silent").as_str()), (FrameStatus::Completed, ANSWER));
}

#[test]
fn a_tool_call_that_is_reported_twice_counts_once() {
    let mut host = Host::with_subagents(&[]);
    let failure =
        json!({"kind": "toolExecuted", "sessionID": "root", "toolCallID": "c1", "tool": "bash", "failed": true});
    host.tell(failure.clone()).tell(failure);
    assert_eq!(host.sessions.observe("root").push_signals().error_count, 1);
}
