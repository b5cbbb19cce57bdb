//! Tests that the number of allocations grows linearly with the input.

use callstack_core::session::HostEvent;
use callstack_core::{Frame, PopStatus, Stack, StackState, Tree, import};

/// Checks that an input of twice the size takes about twice the allocations.
#[track_caller]
fn assert_linear(size: usize, work: impl Fn(usize)) {
    let count = |size| {
        let _profiler = dhat::Profiler::builder().testing().build();
        work(size);
        dhat::HeapStats::get().total_blocks
    };
    let (small, large) = (count(size), count(2 * size));
    println!("{small} allocations for {size}, {large} for twice as much");
    assert!(small >= size as u64 && large as f64 <= 2.3 * small as f64, "{small} allocations, then {large}");
}

#[test]
fn equal_ids_of_a_state_and_of_a_plan() {
    let _turn = crate::turn();
    assert_linear(500, |size| {
        let frames = vec![Frame { session_id: "same".into(), ..Frame::default() }; size];
        assert_eq!(Tree::from_state(StackState { frames, ..StackState::default() }).0.len(), size);
    });
    assert_linear(500, |size| {
        let issues = "{\"id\": \"same\", \"title\": \"Task\"}\n".repeat(size);
        // The lines are versions of one issue.
        assert_eq!(import::beads(&issues).frames.len(), 2);
    });
    assert_linear(500, |size| {
        let tasks = vec![serde_json::json!({"id": 1, "title": "Task"}); size];
        let plan = import::task_master(&serde_json::json!({"tasks": tasks}).to_string()).unwrap();
        assert_eq!(plan.frames.len(), size + 1);
    });
}

#[test]
fn restarts_of_a_session() {
    let _turn = crate::turn();
    assert_linear(300, |size| {
        let stack = Stack::in_memory();
        let report = |event: String| drop(stack.host().report(serde_json::from_str::<HostEvent>(&event).unwrap()));
        report(r#"{"kind": "sessionCreated", "sessionID": "s"}"#.into());
        for number in 0..size {
            report(format!(
                r#"{{"kind": "message", "sessionID": "s", "messageID": "{number}", "role": "user", "text": "Go on"}}"#
            ));
            stack.pop("s", PopStatus::Completed, "Done").unwrap();
        }
        assert_eq!(stack.read(Tree::len).unwrap(), size);
    });
}
