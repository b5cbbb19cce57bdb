//! Tests of the times of frames: when they began, ended and were blocked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::{FrameSpans, ModelRequest, Span, Timeline};
use callstack_core::{
    Actor, Frame, FrameStatus, Handle, HolderKind, MemoryStore, NewFrame, PopStatus, Stack, StackOptions,
};

/// A stack with a history. Its clock shows the time that the test sets.
fn stack() -> (Stack, impl Fn(u64)) {
    let now = Arc::new(AtomicU64::new(0));
    let clock = now.clone();
    let options = StackOptions::default().clock(Arc::new(move || clock.load(Ordering::Relaxed)));
    (Stack::with_store(MemoryStore::new(), options).unwrap(), move |time| now.store(time, Ordering::Relaxed))
}

fn spans(begun_at: Option<u64>, ended_at: Option<u64>, blocked: &[(u64, Option<u64>)]) -> FrameSpans {
    let mut spans = FrameSpans::default();
    (spans.begun_at, spans.ended_at) = (begun_at, ended_at);
    spans.blocked = blocked.iter().map(|(from, to)| Span { from: *from, to: *to }).collect();
    spans
}

#[test]
fn a_frame_that_was_over_goes_on_without_the_time_between() {
    let (stack, at) = stack();
    let person = stack.as_actor(Actor::new(HolderKind::Person, "Ann"));
    at(10);
    let tax = stack.push(NewFrame::new("Taxes")).unwrap();
    at(20);
    stack.pop(tax, PopStatus::Completed, "19 %").unwrap();
    at(50);
    person.reopen(tax, "it is 20 %").unwrap();
    let open = spans(Some(10), None, &[(20, Some(50))]);
    assert_eq!(stack.history().spans(tax).unwrap(), open);
    assert_eq!(open.worked(70), 30, "from 10 to 20, and from 50 to 70");
    at(70);
    person.pop(tax, PopStatus::Completed, "20 %").unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), spans(Some(10), Some(70), &[(20, Some(50))]));
    at(80);
    person.undo().unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), spans(Some(10), None, &[(20, Some(50)), (70, Some(80))]));
    let mut timeline = Timeline::default();
    stack.history().update_timeline(&mut timeline).unwrap();
    assert_eq!(timeline.spans(tax), Some(&stack.history().spans(tax).unwrap()));
}

#[test]
fn what_was_taken_back_has_not_begun() {
    let (stack, at) = stack();
    let person = stack.as_actor(Actor::new(HolderKind::Person, "Ann"));
    let tax = person.plan(NewFrame::new("Taxes")).unwrap();
    at(10);
    person.activate(tax).unwrap();
    at(20);
    person.undo().unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), spans(None, None, &[]));
    at(30);
    person.activate(tax).unwrap();
    at(40);
    person.block(tax, "Which rate?", None).unwrap();
    at(60);
    person.undo().unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), spans(Some(30), None, &[(40, Some(60))]));
}

#[test]
fn a_frame_begins_is_blocked_twice_and_ends() {
    let (stack, at) = stack();
    at(10);
    let tax = stack.plan(NewFrame::new("Taxes")).unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), spans(None, None, &[]));
    at(20);
    stack.activate(tax).unwrap();
    at(30);
    stack.block(tax, "Which rate?", None).unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), spans(Some(20), None, &[(30, None)]));
    at(35);
    stack.answer(tax, "20 %").unwrap();
    at(36);
    stack.block(tax, "Of which year?", None).unwrap();
    at(40);
    stack.resume(tax).unwrap();
    at(50);
    stack.pop(tax, PopStatus::Blocked, "The rate table").unwrap();
    at(60);
    stack.pop(tax, PopStatus::Completed, "done").unwrap();
    let whole = spans(Some(20), Some(60), &[(30, Some(40)), (50, Some(60))]);
    assert_eq!(stack.history().spans(tax).unwrap(), whole);
    assert_eq!(whole.worked(1_000), 20, "from 20 to 30, and from 40 to 50");
    at(70);
    stack.invalidate(tax, "out of the plan").unwrap();
    assert_eq!(stack.history().spans(tax).unwrap(), whole, "the work ended before");
}

#[test]
fn a_frame_that_never_began_only_ends() {
    let (stack, at) = stack();
    let wish = stack.plan(NewFrame::new("Wish lists")).unwrap();
    at(10);
    stack.invalidate(wish, "nobody wants them").unwrap();
    assert_eq!(stack.history().spans(wish).unwrap(), spans(None, Some(10), &[]));
}

#[test]
fn imported_frames_have_the_times_of_their_records() {
    let (stack, at) = stack();
    at(1_000);
    let frame = |id: &str, status| Frame {
        session_id: id.into(),
        title: id.into(),
        status,
        created_at: 5,
        updated_at: 9,
        ..Frame::default()
    };
    let frames = [FrameStatus::Planned, FrameStatus::InProgress, FrameStatus::Blocked, FrameStatus::Completed];
    let frames = frames.iter().enumerate().map(|(number, status)| frame(&format!("ses_{number}"), *status)).collect();
    let handles = stack.import(frames).unwrap();
    let expected = [
        spans(None, None, &[]),
        spans(Some(5), None, &[]),
        spans(Some(5), None, &[(5, None)]),
        spans(Some(5), Some(9), &[]),
    ];
    for (handle, expected) in handles.into_iter().zip(expected) {
        assert_eq!(stack.history().spans(handle).unwrap(), expected, "{handle}");
    }
}

#[test]
fn a_stack_without_a_history_has_no_spans() {
    let stack = Stack::in_memory();
    let frame = stack.push(NewFrame::new("Shop")).unwrap();
    assert_eq!(stack.history().spans(frame).unwrap_err().code(), "in_memory");
    assert_eq!(stack.history().spans("f9").unwrap_err().code(), "unknown_frame");
}

#[test]
fn a_timeline_is_brought_up_to_date_event_by_event() {
    let (stack, at) = stack();
    let mut followed = Timeline::default();
    assert!(!stack.history().update_timeline(&mut followed).unwrap(), "an empty stack has no events");
    at(10);
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let tax = stack.plan(NewFrame::new("Taxes").below(shop)).unwrap();
    assert!(stack.history().update_timeline(&mut followed).unwrap());
    assert!(!stack.history().update_timeline(&mut followed).unwrap(), "nothing has happened since");
    at(100);
    stack.activate(tax).unwrap();
    stack.record_usage(tax, ModelRequest { duration: 30, output: 7, ..ModelRequest::new("small") }).unwrap();
    at(120);
    stack.record_usage(shop, ModelRequest { duration: 500, ..ModelRequest::new("large") }).unwrap();
    stack.pop(tax, PopStatus::Completed, "20 %").unwrap();
    assert!(stack.history().update_timeline(&mut followed).unwrap());

    let mut whole = Timeline::default();
    stack.history().update_timeline(&mut whole).unwrap();
    assert_eq!(followed, whole, "followed in two steps, and read at once");
    assert_eq!(whole.revision(), stack.read(|tree| tree.revision()).unwrap());
    assert_eq!(whole.latest_time(), Some(120));
    for handle in [shop, tax] {
        assert_eq!(whole.spans(handle), Some(&stack.history().spans(handle).unwrap()), "{handle}");
    }
    let requests: Vec<_> =
        whole.requests().iter().map(|request| (request.handle, request.begun_at, request.ended_at)).collect();
    // If a request is said to last longer than the whole history, it begins with the history.
    assert_eq!(requests, [(tax, 70, 100), (shop, 10, 120)]);
    assert_eq!(whole.spans(Handle::from_index(2).unwrap()), None);
}
