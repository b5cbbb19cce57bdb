//! Tests that an event takes the same number of steps for any number of sessions and calls.

use super::calls::CallOptions;
use super::{HostEvent, Sessions, Turn};
use crate::frame::NewFrame;
use crate::steps::{assert_grows, step, steps_of};
use crate::tree::{Command, Tree, decide};

fn event(json: &str) -> HostEvent {
    serde_json::from_str(json).unwrap()
}

#[test]
fn polls_beside_many_sessions() {
    assert_grows(2.1, 300, |size| {
        let (tree, mut sessions) = (Tree::new(), Sessions::default());
        drop(sessions.report(&tree, event(r#"{"kind": "sessionCreated", "sessionID": "p"}"#), 0));
        let report = |number: usize| {
            let created = format!(
                r#"{{"kind": "sessionCreated", "sessionID": "{number}", "parentID": "p", "title": "subagent"}}"#
            );
            let idle = format!(r#"{{"kind": "sessionIdle", "sessionID": "{number}"}}"#);
            drop(sessions.report(&tree, event(&created), number as u64));
            drop(sessions.report(&tree, event(&idle), number as u64));
            assert_eq!(sessions.deadline(), Some(5_000));
            drop(sessions.poll(&tree, number as u64));
            step();
        };
        let steps = steps_of(|| (0..size).for_each(report)).1;
        assert_eq!(sessions.subagents.sessions().len(), size);
        steps
    });
}

#[test]
fn events_beside_many_calls() {
    assert_grows(2.1, 300, |size| {
        let mut tree = Tree::new();
        let mut execute = |command| {
            let commit = decide(&tree, command, 1).unwrap();
            commit.events.iter().for_each(|event| tree.apply(event));
        };
        execute(Command::Push(NewFrame::new("Root").id("root")));
        (0..size).for_each(|number| execute(Command::Plan(NewFrame::new("Task").id(format!("plan-{number}")))));
        let mut sessions = Sessions::default();
        sessions.calls.settings.max_concurrent = 0;
        let mut call = |number: usize| {
            let mut turn = Turn::new(&mut sessions, &tree, 1);
            let frame = tree.by_id(&format!("plan-{number}")).unwrap();
            let id = turn.call(frame, CallOptions::new("root").background(true).time_limit(Some(1_000))).unwrap();
            drop(turn.into_actions());
            let events = [
                format!(r#"{{"kind": "callStarted", "call": {id}, "sessionID": "s{number}"}}"#),
                format!(r#"{{"kind": "sessionIdle", "sessionID": "s{number}"}}"#),
                format!(r#"{{"kind": "sessionMessages", "sessionID": "s{number}", "messages": []}}"#),
            ];
            events.iter().for_each(|json| drop(sessions.report(&tree, event(json), 1)));
            assert_eq!(sessions.deadline(), Some(1_001), "it looks after a second, when the time limit is reached too");
        };
        let steps = steps_of(|| (0..size).for_each(&mut call)).1;
        assert_eq!(sessions.calls.frames().count(), size);
        steps
    });
}
