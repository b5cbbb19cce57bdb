//! The frames that can begin: one rule for lists, tools, the commands of the program and workers.

use callstack_core::import;
use callstack_core::tools::conversation::Conversation;
use callstack_core::tree::{Obstacle, Parts};
use callstack_core::{FrameEdit, FrameStatus, Handle, NewFrame, NewHold, PopStatus, Results, Settings, Stack, Tree};
use support::Queries;

fn f(number: usize) -> Handle {
    Handle::from_index(number - 1).unwrap()
}

/// f1 Shop, planned. Below it: f2 Schema; f3 Cart, which needs f2; f6 Mail. Cart has the parts f4 Totals and
/// f5 Taxes. Taxes needs f4.
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
    assert_eq!(stack.ready().unwrap(), [f(2), f(6)]);
    stack.read(|tree: &Tree| {
        let waits = Obstacle::Dependency { frame: f(3), dependency: f(2) };
        assert_eq!(tree.can_begin(f(4), Parts::First), Err(waits));
        assert_eq!(tree.can_begin(f(1), Parts::First), Err(Obstacle::Child(f(6))), "the part that is done last");
        assert_eq!(tree.can_begin(f(1), Parts::Within), Ok(()), "an agent can begin it, and work on its parts in it");
        let refused = tree.check_ready(f(4)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "frame f4 cannot begin yet: f2 (Schema) is planned, which f3 above it needs; run f2 first, or begin it `anyway`"
        );
    }).unwrap();
    done(&stack, 2);
    assert_eq!(stack.ready().unwrap(), [f(4), f(6)]);
    done(&stack, 4);
    assert_eq!(stack.ready().unwrap(), [f(5), f(6)]);
    done(&stack, 5);
    assert_eq!(stack.ready().unwrap(), [f(3), f(6)]);
    done(&stack, 3);
    done(&stack, 6);
    assert_eq!(stack.ready().unwrap(), [f(1)]);
}

/// What is above does not wait for a frame that waits for this part of it. A frame that has ended waits for nothing.
#[test]
fn a_frame_that_waits_for_what_has_ended_does_not_wait_for_a_part_below_that() {
    let stack = Stack::in_memory();
    let shop = stack.plan(NewFrame::new("Shop").root()).unwrap();
    let mail = stack.plan(NewFrame::new("Mail").root().depends_on(shop)).unwrap();
    let part = stack.plan(NewFrame::new("Part of the mail").below(mail)).unwrap();
    let other = stack.plan(NewFrame::new("Other").root()).unwrap();
    stack.plan(NewFrame::new("Below it").below(other).depends_on(part)).unwrap();
    stack.plan(NewFrame::new("Part of the shop").below(shop).depends_on(other)).unwrap();
    let obstacle = || stack.read(|tree| tree.can_begin(part, Parts::First)).unwrap();
    stack.activate(other).unwrap();
    assert_eq!(obstacle(), Ok(()), "the shop waits for it");
    stack.pop(other, PopStatus::Failed, "no").unwrap();
    assert_eq!(obstacle(), Err(Obstacle::Dependency { frame: mail, dependency: shop }));
}

#[test]
fn what_is_above_has_begun_so_it_has_what_it_needs() {
    let stack = plan();
    // An explicit command begins the frame despite its dependencies.
    stack.activate(f(1)).unwrap();
    stack.activate(f(3)).unwrap();
    assert_eq!(stack.ready().unwrap(), [f(2), f(4), f(6)]);
}

#[test]
fn below_a_frame_that_has_ended_nothing_begins() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Shop")).unwrap();
    stack.plan(NewFrame::new("Cart").below(f(1))).unwrap();
    stack.plan(NewFrame::new("Totals").below(f(2))).unwrap();
    stack.pop(f(1), PopStatus::Completed, Results::new("it is open")).unwrap();
    assert_eq!(stack.ready().unwrap(), []);
    assert_eq!(stack.read(|tree| tree.can_begin(f(3), Parts::First)).unwrap(), Err(Obstacle::Above(f(1))));
    let refused = stack.begin(f(3)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "frame f3 cannot begin yet: f1 (Shop) above it is completed, so nothing waits for it; reopen that, move f3 below another frame, \
         or begin it `anyway`"
    );
    // Agents get the same message, and can pass the same word.
    let settings = Settings::default();
    let call = |arguments: &str| Conversation::new(&stack, &settings).call("activate", arguments).answer;
    let answer = call(r#"{"frame": "f3"}"#);
    assert_eq!(answer.text.as_deref().and_then(|text| text.lines().next()), Some(refused.to_string().as_str()));
    assert!(!call(r#"{"frame": "f3", "anyway": true}"#).is_error);
}

/// A retry also takes the frames that wait to begin, in the same way as planned frames.
#[test]
fn a_new_attempt_leaves_nothing_unbegun_behind() {
    let plan = import::frames(
        "{\"id\": \"a\", \"title\": \"Whole\", \"status\": \"open\"}\n{\"id\": \"a.1\", \"title\": \"Part\", \"status\": \"deferred\"}\n",
    );
    let stack = Stack::in_memory();
    stack.import(plan.unwrap().frames).unwrap();
    let whole = stack.resolve("Whole").unwrap();
    stack.activate(whole).unwrap();
    stack.pop(whole, PopStatus::Failed, "No disk").unwrap();
    stack.retry(whole, None).unwrap();
    assert_eq!(stack.frame("Part").unwrap().status, FrameStatus::Invalidated);
}

/// A frame that is not work cannot be begun, no matter which word is given.
#[test]
fn what_is_no_work_is_begun_by_no_command() {
    let plan = import::frames(
        "{\"id\": \"a\", \"title\": \"Work\", \"status\": \"open\"}\n\
         {\"id\": \"m\", \"title\": \"Beta\", \"status\": \"open\", \"issue_type\": \"milestone\", \"depends_on\": [\"a\"]}\n",
    );
    let stack = Stack::in_memory();
    stack.import(plan.unwrap().frames).unwrap();
    let beta = stack.resolve("Beta").unwrap();
    assert_eq!(stack.frame(beta).unwrap().status, FrameStatus::Planned);
    let refused = [stack.activate(beta).unwrap_err(), stack.begin(beta).unwrap_err(), stack.resume(beta).unwrap_err()];
    assert!(
        refused.iter().all(|error| error.code() == "not_ready" && !error.to_string().contains("anyway")),
        "{refused:?}"
    );
}

/// A frame that a whole needs can itself need a part of the whole: that part comes first. Two wholes can need
/// parts of each other.
#[test]
fn a_part_does_not_wait_for_what_waits_for_it() {
    let stack = Stack::in_memory();
    let frame = |title: &str, below: Option<Handle>| {
        let new = NewFrame::new(title);
        stack.plan(below.map_or(new.clone().root(), |below| new.below(below))).unwrap()
    };
    let needs = |frame: Handle, other: Handle| stack.edit(frame, FrameEdit::default().depends_on([other])).unwrap();
    let (a, x) = (frame("A", None), frame("X", None));
    let (a1, a2) = (frame("A1", Some(a)), frame("A2", Some(a)));
    needs(a, x);
    needs(x, a1);
    assert_eq!(stack.ready().unwrap(), [a1]);
    assert_eq!(stack.read(|tree| tree.waits_for(a2).collect::<Vec<_>>()).unwrap(), [x]);
    done(&stack, a1.index() + 1);
    assert_eq!(stack.ready().unwrap(), [x]);
    done(&stack, x.index() + 1);
    assert_eq!(stack.ready().unwrap(), [a2]);
    let (b, c) = (frame("B", None), frame("C", None));
    let (b1, c1) = (frame("B1", Some(b)), frame("C1", Some(c)));
    let (b2, c2) = (frame("B2", Some(b)), frame("C2", Some(c)));
    needs(b, c1);
    needs(c, b1);
    assert_eq!(stack.ready().unwrap(), [a2, b1, c1]);
    needs(c1, b1);
    assert_eq!(stack.ready().unwrap(), [a2, b1]);
    done(&stack, b1.index() + 1);
    done(&stack, c1.index() + 1);
    assert_eq!(stack.ready().unwrap(), [a2, b2, c2]);
}

#[test]
fn advice_is_for_the_frame_that_can_follow_it() {
    let stack = plan();
    stack.invalidate(f(2), "no database").unwrap();
    assert_eq!(
        stack.read(|tree| tree.check_ready(f(4))).unwrap().unwrap_err().to_string(),
        "frame f4 cannot begin yet: f2 (Schema) is invalidated, which f3 above it needs: no database; give f3 other dependencies, or \
         begin it `anyway`"
    );
    stack.activate(f(1)).unwrap();
    let context = stack.context(f(4), &Settings::default()).unwrap().xml.clone();
    assert!(!context.contains("begin it with stack_frame_activate f4"), "{context}");
}

#[test]
fn a_part_that_was_begun_again_counts_in_its_newest_attempt() {
    let stack = plan();
    done(&stack, 2);
    stack.activate(f(4)).unwrap();
    stack.pop(f(4), PopStatus::Failed, Results::new("no")).unwrap();
    stack.edit(f(5), FrameEdit::default().depends_on([] as [Handle; 0])).unwrap();
    done(&stack, 5);
    assert_eq!(stack.ready().unwrap(), [f(6)], "a person has to decide what becomes of the failed part");
    let again = stack.retry(f(4), None).unwrap().handle;
    assert_eq!(stack.ready().unwrap(), [again, f(6)], "it is where the failed one is");
    stack.activate(again).unwrap();
    stack.pop(again, PopStatus::Completed, Results::new("yes")).unwrap();
    assert_eq!(stack.ready().unwrap(), [f(3), f(6)]);
}

#[test]
fn what_is_next_follows_the_order_of_the_plan() {
    let stack = plan();
    let other = stack.plan(NewFrame::new("Another root")).unwrap();
    assert_eq!(stack.ready().unwrap(), [f(2), f(6), other]);
    stack.edit(f(6), FrameEdit::default().before(f(2))).unwrap();
    assert_eq!(stack.ready().unwrap(), [f(6), f(2), other]);
    stack.edit(other, FrameEdit::default().before(f(1))).unwrap();
    assert_eq!(stack.ready().unwrap(), [other, f(6), f(2)]);
    let hold = |new: NewHold| stack.work().hold(new).unwrap().unwrap().handle;
    assert_eq!(hold(NewHold::new("one", 60_000).below(f(1))), f(6));
    assert_eq!(hold(NewHold::new("two", 60_000)), other);
    // Below a root that has begun, and below a root that has ended.
    stack.edit(f(2), FrameEdit::default().root()).unwrap();
    assert_eq!(stack.ready().unwrap(), [f(2)], "the last root");
    stack.invalidate(f(1), "no shop").unwrap();
    done(&stack, 2);
    assert_eq!(stack.ready().unwrap(), []);
}

/// The next frame is the same from a list, from a hold, and from a tool.
#[test]
#[cfg(feature = "tools")]
fn lists_workers_and_tools_have_the_same_rule() {
    use callstack_core::session::calls::{CallPlace, CallSettings};
    use callstack_core::{Finish, HostSettings, tools};
    use serde_json::json;

    let stack = plan();
    let calls = CallSettings::default().place(CallPlace::Conversation);
    assert_eq!(stack.host().configure(HostSettings::default().calls(calls)), []);
    let hold = || stack.work().hold(NewHold::new("worker", 60_000)).unwrap().unwrap();
    let schema = hold();
    assert_eq!(schema.handle, f(2));
    stack.activate(f(1)).unwrap();
    let activate =
        |arguments: serde_json::Value| tools::call(&stack, "ses_1", "stack_frame_activate", &arguments.to_string());
    let refused = |frame: &str, why: &str| {
        let answer = activate(json!({"sessionID": frame}));
        assert!(answer.is_error && answer.text.as_deref().unwrap().contains(why), "{answer:?}");
    };
    refused("f4", "frame f3 is planned");
    refused("f3", "f2 (Schema) is in_progress; run f2 first");
    assert_eq!(stack.read(|tree| tree.ready_children(f(1), None).collect::<Vec<_>>()).unwrap(), [f(6)]);
    assert_eq!(stack.read(|tree| tree.ready_children(f(1), Some(f(2))).collect::<Vec<_>>()).unwrap(), [f(3), f(6)]);
    stack.work().finish(&schema, Finish::Done(Results::new("it works"))).unwrap();
    assert_eq!(hold().handle, f(4), "the parts of f3 come before it");
}
