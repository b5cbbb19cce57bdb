//! What can begin: one rule for lists, tools, the commands of the program and workers.

use callstack_core::session::calls::{CallPlace, CallSettings};
use callstack_core::tree::Obstacle;
use callstack_core::{Error, Handle, HostSettings, NewClaim, NewFrame, PopStatus, Results, Stack, Tree, tools};
use serde_json::json;

fn f(number: usize) -> Handle {
    Handle::from_index(number - 1).unwrap()
}

/// f1 Shop, planned: f2 Schema; f3 Cart, which needs f2, with the parts f4 Totals and f5 Taxes, which needs f4; f6 Mail.
fn plan() -> Stack {
    let stack = Stack::in_memory();
    stack.plan(NewFrame::new("Shop")).unwrap();
    stack.plan(NewFrame::new("Schema").below(f(1))).unwrap();
    stack.plan(NewFrame::new("Cart").below(f(1)).depends_on(f(2))).unwrap();
    stack.plan(NewFrame::new("Totals").below(f(3))).unwrap();
    stack.plan(NewFrame::new("Taxes").below(f(3)).depends_on(f(4))).unwrap();
    stack.plan(NewFrame::new("Mail").below(f(1))).unwrap();
    stack
}

fn done(stack: &Stack, frame: usize) {
    stack.activate(f(frame)).unwrap();
    stack.pop(f(frame), PopStatus::Completed, Results::new("it works")).unwrap();
}

#[test]
fn parts_wait_for_what_the_planned_frames_above_them_need_and_come_before_the_whole() {
    let stack = plan();
    assert_eq!(stack.ready(), [f(2), f(6)]);
    stack.read(|tree: &Tree| {
        assert_eq!(tree.obstacle(f(4)), Some(Obstacle::Dependency { frame: f(3), dependency: f(2) }));
        assert_eq!(tree.obstacle(f(1)), Some(Obstacle::Child(f(6))), "the part that is done last");
        assert!(tree.is_ready(f(1)) && !tree.can_begin(f(1)), "an agent can begin it, and work on its parts in it");
        let refused = tree.check_ready(f(4)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "frame f4 cannot begin yet: f2 (Schema) is planned, which f3 above it needs; run f2 first, or begin it `anyway`"
        );
    });
    done(&stack, 2);
    assert_eq!(stack.ready(), [f(4), f(6)]);
    done(&stack, 4);
    assert_eq!(stack.ready(), [f(5), f(6)]);
    done(&stack, 5);
    assert_eq!(stack.ready(), [f(3), f(6)]);
    done(&stack, 3);
    done(&stack, 6);
    assert_eq!(stack.ready(), [f(1)]);
}

#[test]
fn what_is_above_has_begun_so_it_has_what_it_needs() {
    let stack = plan();
    // With a word: despite its dependencies.
    stack.activate(f(1)).unwrap();
    stack.activate(f(3)).unwrap();
    assert_eq!(stack.ready(), [f(2), f(4), f(6)]);
}

#[test]
fn below_a_frame_that_has_ended_nothing_begins() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Shop")).unwrap();
    stack.plan(NewFrame::new("Cart").below(f(1))).unwrap();
    stack.plan(NewFrame::new("Totals").below(f(2))).unwrap();
    stack.pop(f(1), PopStatus::Completed, Results::new("it is open")).unwrap();
    assert_eq!(stack.ready(), []);
    let refused = stack.read(|tree| tree.check_ready(f(3))).unwrap_err();
    assert!(matches!(&refused, Error::NotReady { handle, .. } if *handle == f(3)), "{refused}");
    assert_eq!(
        refused.to_string(),
        "frame f3 cannot begin yet: f1 above it is completed; move it below a frame that is open, or invalidate it, or begin it `anyway`"
    );
}

#[test]
fn a_part_that_was_begun_anew_counts_in_its_newest_attempt() {
    let stack = plan();
    done(&stack, 2);
    stack.activate(f(4)).unwrap();
    stack.pop(f(4), PopStatus::Failed, Results::new("no")).unwrap();
    stack.edit(f(5), callstack_core::FrameEdit::default().depends_on([] as [Handle; 0])).unwrap();
    done(&stack, 5);
    assert_eq!(stack.ready(), [f(6)], "somebody has to decide what becomes of the failed part");
    let again = stack.retry(f(4), None).unwrap().handle;
    assert_eq!(stack.ready(), [f(6), again]);
    stack.activate(again).unwrap();
    stack.pop(again, PopStatus::Completed, Results::new("yes")).unwrap();
    assert_eq!(stack.ready(), [f(3), f(6)]);
}

/// Who takes what is next gets the same from a list, by a claim, and by a tool.
#[test]
fn lists_workers_and_tools_have_the_same_rule() {
    let stack = plan();
    let calls = CallSettings::default().place(CallPlace::Conversation);
    assert_eq!(stack.host().configure(HostSettings::default().calls(calls)), []);
    let claim = || stack.claim(NewClaim::new("worker", 60_000)).unwrap().unwrap();
    let schema = claim();
    assert_eq!(schema.handle, f(2));
    stack.activate(f(1)).unwrap();
    let activate =
        |arguments: serde_json::Value| tools::call(&stack, "ses_1", "stack_frame_activate", &arguments.to_string());
    let refused = activate(json!({"sessionID": "f4"}));
    assert!(refused.is_error && refused.text.as_deref().unwrap().contains("which f3 above it needs"), "{refused:?}");
    assert!(stack.read(|tree| tree.ready_children(f(3), None).next().is_none()), "what comes next waits as well");
    stack.finish_claim(&schema, PopStatus::Completed, Results::new("it works")).unwrap();
    assert_eq!(claim().handle, f(4), "the parts of f3 come before it");
}
