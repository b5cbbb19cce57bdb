//! Tests of `Stack`: parents, pops, invalidation, ready frames, threads.

use callstack_core::{
    Change, Command, Error, FrameRef, FrameStatus, Handle, Identity, NewFrame, PopStatus, Results, Settings, Stack,
    StackOptions,
};
use std::sync::Arc;
use support::Queries;

fn push(stack: &Stack, id: &str, parent: Option<&str>) -> Handle {
    let frame = NewFrame::new(id).id(id);
    stack.push(parent.map_or(frame.clone().root(), |parent| frame.below(parent))).unwrap()
}

fn plan(stack: &Stack, id: &str, parent: &str) -> Handle {
    stack.plan(NewFrame::new(id).id(id).below(parent)).unwrap()
}

#[test]
fn a_caller_names_the_tree_of_the_parent_and_only_calls_without_one_use_the_active_frame() {
    let stack = Stack::in_memory();
    let parent = |frame: Handle| stack.frame(frame).unwrap().parent_session_id;
    let first = stack.push(NewFrame::new("First").id("first")).unwrap();
    assert_eq!(parent(first), None, "nothing is active: a root");
    push(&stack, "second", None);
    let child = stack.push(NewFrame::new("Child").caller("first")).unwrap();
    assert_eq!(parent(child).as_deref(), Some("first"), "the caller's frame");
    stack.pop("first", PopStatus::Completed, Results::new("done").compacted("d")).unwrap();
    stack.set_active("second").unwrap();
    let closed = stack.push(NewFrame::new("Late").caller("first")).unwrap_err();
    assert!(matches!(closed, Error::ParentClosed { handle, .. } if handle == first), "never another tree: {closed}");
    let late = stack.push(NewFrame::new("Late").id("late")).unwrap();
    assert_eq!(parent(late).as_deref(), Some("second"), "no caller is named: the active one");
    stack.pop("late", PopStatus::Completed, Results::new("done").compacted("d")).unwrap();
    let later = stack.plan(NewFrame::new("Later").caller("late")).unwrap();
    assert_eq!(
        parent(later).as_deref(),
        Some("second"),
        "the caller's frame is not open: the nearest open one above it"
    );
    let unknown = stack.plan(NewFrame::new("Unknown").caller("never seen")).unwrap();
    assert_eq!(parent(unknown), None, "the caller has no frame: a root");
    let explicit = stack.plan(NewFrame::new("Explicit").below("second").caller("late")).unwrap();
    assert_eq!(parent(explicit).as_deref(), Some("second"));
    assert_eq!(parent(push(&stack, "own", None)), None, "a root on request");
}

#[test]
fn pop_returns_to_the_nearest_open_frame_and_reports_what_is_left() {
    let stack = Stack::in_memory();
    for (id, parent) in [("root", None), ("a", Some("root")), ("b", Some("a")), ("c", Some("b"))] {
        push(&stack, id, parent);
    }
    let planned = plan(&stack, "later", "b");
    stack.pop("a", PopStatus::Blocked, Results::new("waits").compacted("w")).unwrap();
    stack.set_active("c").unwrap();
    let popped = stack.pop("b", PopStatus::Failed, Results::new("no").compacted("n")).unwrap();
    assert_eq!(popped.handle.to_string(), "f3");
    assert_eq!(popped.parent, stack.resolve("a").ok());
    assert_eq!(popped.active, stack.resolve("a").ok(), "blocked frames are open");
    assert_eq!(popped.still_open, [stack.resolve("c").unwrap()]);
    assert_eq!(popped.still_planned, [planned]);
    let popped = stack.pop("root", PopStatus::Completed, Results::new("all").compacted("a")).unwrap();
    assert_eq!((popped.parent, popped.active), (None, None), "a root pops too");
}

#[test]
fn a_pop_can_begin_the_next_frame() {
    let stack = Stack::in_memory();
    let root = push(&stack, "root", None);
    let first = push(&stack, "first", Some("root"));
    let later = stack.plan(NewFrame::new("Later").below("root").depends_on("other")).err();
    assert!(later.is_some());
    let other = plan(&stack, "other", "root");
    let needs_both =
        stack.plan(NewFrame::new("Both").id("both").below("root").depends_on("first").depends_on("other")).unwrap();
    let needs_first = stack.plan(NewFrame::new("Needs first").id("needs").below("root").depends_on("first")).unwrap();
    let before = (stack.state().unwrap().to_json(), stack.read(callstack_core::Tree::revision));
    // If the next frame cannot begin, nothing changes.
    for (status, next, code) in [
        (PopStatus::Completed, "both", "not_ready"),
        (PopStatus::Failed, "needs", "not_ready"),
        (PopStatus::Completed, "root", "transition"),
        (PopStatus::Completed, "nobody", "unknown_frame"),
    ] {
        let error = stack.pop_and_begin("first", status, "No", Some(next.into())).unwrap_err();
        assert_eq!(error.code(), code, "{next}: {error}");
        assert_eq!((stack.state().unwrap().to_json(), stack.read(callstack_core::Tree::revision)), before, "{next}");
    }
    // The frame that is popped counts as finished for the next frame.
    let popped = stack.pop_and_begin("first", PopStatus::Completed, "Done", Some("needs".into())).unwrap();
    assert_eq!(
        (popped.handle, popped.parent, popped.next, popped.active),
        (first, Some(root), Some(needs_first), Some(needs_first))
    );
    // Without a name, the first frame that can begin is taken. After a failed frame, its dependents wait.
    let popped = stack.pop_and_begin("needs", PopStatus::Failed, "No", None).unwrap();
    assert_eq!(popped.next, Some(other));
    let popped = stack.pop_and_begin("other", PopStatus::Completed, "Done", None).unwrap();
    assert_eq!(popped.next, Some(needs_both));
    let popped = stack.pop_and_begin("both", PopStatus::Completed, "Done", None).unwrap();
    assert_eq!((popped.next, popped.active), (None, Some(root)), "nothing is left");
    let popped = stack.pop_and_begin("root", PopStatus::Completed, "Done", None).unwrap();
    assert_eq!((popped.next, popped.active), (None, None));
}

#[test]
fn pop_elsewhere_leaves_the_active_frame() {
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    push(&stack, "left", Some("root"));
    let right = push(&stack, "right", Some("root"));
    assert_eq!(stack.pop("left", PopStatus::Completed, "").unwrap().active, Some(right));
}

#[test]
fn invalidation_cascades_to_plans_and_reports_the_rest() {
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    push(&stack, "target", Some("root"));
    let running = push(&stack, "running", Some("target"));
    let below_running = plan(&stack, "below-running", "running");
    let planned = plan(&stack, "planned", "target");
    let nested = plan(&stack, "nested", "planned");
    push(&stack, "finished", Some("target"));
    stack.pop("finished", PopStatus::Completed, Results::new("kept").compacted("kept")).unwrap();
    let waiting = stack.plan(NewFrame::new("Waiting").id("waiting").below("root").depends_on("nested")).unwrap();
    let outcome = stack.invalidate("target", "The plan changed").unwrap();
    let target = stack.resolve("target").unwrap();
    assert_eq!(outcome.invalidated, [target, below_running, planned, nested]);
    assert_eq!(outcome.still_open, [running]);
    assert_eq!(outcome.dependents, [waiting]);
    let nested = stack.frame(nested).unwrap();
    assert_eq!(nested.invalidation_reason.as_deref(), Some("The plan changed"));
    assert!(nested.invalidated_at.is_some());
    assert_eq!(stack.frame("finished").unwrap().status, FrameStatus::Completed);
    assert_eq!(stack.frame("running").unwrap().status, FrameStatus::InProgress);
}

#[test]
fn ready_are_planned_frames_whose_dependencies_are_completed() {
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    let first = plan(&stack, "first", "root");
    let second = stack.plan(NewFrame::new("Second").below("root").depends_on("first").depends_on("f2")).unwrap();
    assert_eq!(stack.frame(second).unwrap().depends_on, ["first"], "named twice, kept once");
    assert_eq!(stack.ready().unwrap(), [first]);
    stack.activate(first).unwrap();
    assert!(stack.ready().unwrap().is_empty());
    stack.pop(first, PopStatus::Failed, Results::new("no").compacted("n")).unwrap();
    assert!(stack.ready().unwrap().is_empty(), "a failed dependency is none that is completed");
}

#[test]
fn artifacts_are_recorded_once() {
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    assert!(stack.add_artifact("root", "src/a.rs").unwrap());
    assert!(!stack.add_artifact("root", "src/a.rs").unwrap());
    assert_eq!(stack.frame("root").unwrap().artifacts, ["src/a.rs"]);
}

#[test]
fn a_replaced_id_is_known_everywhere_and_the_handle_stays() {
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    let planned = plan(&stack, "plan-1", "root");
    let child = plan(&stack, "child", "plan-1");
    let dependent = stack.plan(NewFrame::new("Dependent").below("root").depends_on("plan-1")).unwrap();
    stack.replace_id("plan-1", "ses_9").unwrap();
    assert_eq!(stack.resolve("ses_9").unwrap(), planned);
    assert_eq!(stack.read(|tree| tree.by_id("plan-1")).unwrap(), None);
    assert_eq!(stack.frame(child).unwrap().parent_session_id.as_deref(), Some("ses_9"));
    assert_eq!(stack.frame(dependent).unwrap().depends_on, ["ses_9"]);
    assert!(stack.frame("root").unwrap().planned_children.unwrap().contains(&"ses_9".to_owned()));
}

#[test]
fn ids_that_are_not_given_are_made_from_clock_and_chance() {
    let options = StackOptions::default().clock(Arc::new(|| 42)).random(Arc::new(|| 7));
    let stack = Stack::with_options(options);
    let handle = stack.plan(NewFrame::new("Planned")).unwrap();
    assert_eq!(stack.frame(handle).unwrap().session_id, "plan-42-0000000000000007");
    assert_eq!(stack.plan(NewFrame::new("Again")).unwrap_err().code(), "duplicate_id");
}

#[test]
fn commands_give_the_events_that_did_them() {
    let stack = Stack::in_memory();
    let command = Command::Ensure { session_id: "ses_1".into(), title: None, parent: None };
    let events = stack.execute(command.clone()).unwrap();
    assert!(
        matches!(events[0].change, Change::Added { .. })
            && matches!(events[1].change, Change::ActiveChanged { active: true })
    );
    assert_eq!(events.iter().map(|event| event.revision).collect::<Vec<_>>(), [1, 2]);
    assert!(stack.execute(command).unwrap().is_empty(), "nothing is left to do");
}

#[test]
fn many_threads_work_on_one_stack() {
    const THREADS: usize = 8;
    const FRAMES: usize = 100;
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let stack = stack.clone();
            scope.spawn(move || {
                for number in 0..FRAMES {
                    let id = format!("{thread}-{number}");
                    let handle = stack.push(NewFrame::new("Work").id(&id).below("root")).unwrap();
                    stack.add_artifact("root", format!("{id}.rs")).unwrap();
                    let context = stack.context(handle, &Settings::of_total(600)).unwrap();
                    assert!(context.tokens <= 600);
                    stack.pop(handle, PopStatus::Completed, Results::new(id.as_str()).compacted(id.as_str())).unwrap();
                }
            });
        }
    });
    assert_eq!(stack.with_status(FrameStatus::Completed).unwrap().len(), THREADS * FRAMES);
    assert_eq!(stack.frame("root").unwrap().artifacts.len(), THREADS * FRAMES);
}

#[test]
fn a_session_seen_below_a_finished_frame_still_gets_its_place() {
    let stack = Stack::in_memory();
    push(&stack, "root", None);
    stack.pop("root", PopStatus::Completed, "").unwrap();
    let late = stack.ensure("late", Some("Late session"), Some(FrameRef::from("root"))).unwrap();
    assert_eq!(stack.frame(late).unwrap().parent_session_id.as_deref(), Some("root"));
    assert_eq!(stack.active(), Some(late));
    stack.identify(late, Identity { title: "What it is".into(), ..Identity::default() }).unwrap();
}
