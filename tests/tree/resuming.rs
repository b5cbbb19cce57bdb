//! Tests of how a host resumes frames that were interrupted, stopped or answered.

use callstack_core::{
    Actor, Command, FrameRef, FrameStatus, Handle, MemoryStore, NewFrame, NewHold, PopStatus, Stack, StackOptions,
};
use proptest::prelude::*;
use support::Random;

fn stack() -> Stack {
    Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()
}

fn plan(stack: &Stack, title: &str, below: Option<Handle>) -> Handle {
    let frame = NewFrame::new(title).root();
    stack.plan(below.into_iter().fold(frame, NewFrame::below)).unwrap()
}

/// Lets a host run a frame.
fn call(stack: &Stack, frame: Handle) -> bool {
    let (frame, caller, host) = (frame.into(), "caller".to_owned(), "host".to_owned());
    let call = Command::BeginCall { frame, session_id: None, caller, host, lease: 60_000, limits: Box::default() };
    stack.execute(call).is_ok()
}

/// Ends the process of this host.
fn interrupt(stack: &Stack, frame: Handle) {
    let _ = stack.execute(Command::EndCall { frame: frame.into(), host: "host".to_owned(), interrupted: true });
}

#[test]
fn what_was_stopped_goes_on_leaf_first() {
    let stack = stack();
    let shop = plan(&stack, "Shop", None);
    let [cart, pay] = ["Cart", "Pay"].map(|title| plan(&stack, title, Some(shop)));
    for frame in [shop, cart, pay] {
        assert!(call(&stack, frame));
    }
    let running = stack.work().resumption(None).unwrap();
    assert_eq!((running.running, running.now, running.later), (vec![shop, cart, pay], vec![], vec![]));
    stack.stop(shop, "enough for today").unwrap();
    for frame in [shop, cart] {
        interrupt(&stack, frame);
    }
    // The host of the other part has not ended its call yet.
    let stopped = stack.work().resumption(None).unwrap();
    assert_eq!((stopped.now, stopped.later, stopped.running), (vec![cart], vec![shop], vec![pay]));
    stack.pop(pay, PopStatus::Completed, "paid").unwrap();
    interrupt(&stack, pay);
    let resumption = stack.work().resumption(None).unwrap();
    assert_eq!((resumption.now, resumption.later, resumption.running), (vec![cart], vec![shop], vec![]));
    let missed = resumption.missed.iter().map(|missed| (missed.frame, missed.child)).collect::<Vec<_>>();
    assert_eq!(missed, [(shop, pay)]);
    stack.deliver(pay).unwrap();
    assert_eq!(stack.work().resumption(None).unwrap().missed, []);
    // Only among the given frames.
    let only = stack.work().resumption(Some(vec![shop.into()])).unwrap();
    assert_eq!((only.now, only.later), (vec![shop], vec![]));
    assert_eq!(stack.work().resumption(Some(vec![FrameRef::from("f9")])).unwrap_err().code(), "unknown_frame");
}

#[test]
fn what_waits_for_a_person_goes_on_when_it_is_answered() {
    let stack = stack();
    let shop = plan(&stack, "Shop", None);
    let pay = plan(&stack, "Pay", Some(shop));
    assert!(!call(&stack, pay), "nothing begins below what has not begun");
    stack.activate(shop).unwrap();
    assert!(call(&stack, pay));
    stack.block(pay, "EUR or USD?", None).unwrap();
    let asks = stack.work().resumption(Some(vec![shop.into()])).unwrap();
    assert_eq!((asks.asking, asks.now), (vec![pay], vec![]), "it asks, at or below the given frame");
    stack.answer(pay, "EUR").unwrap();
    interrupt(&stack, pay);
    let answered = stack.work().resumption(Some(vec![shop.into(), pay.into()])).unwrap();
    assert_eq!((answered.asking, answered.now, answered.later), (vec![], vec![pay], vec![]));
}

#[test]
fn what_a_worker_holds_is_left_to_workers() {
    let stack = stack();
    plan(&stack, "Shop", None);
    let hold = stack.work().hold(NewHold::new("worker", 60_000)).unwrap().unwrap();
    let running = stack.work().resumption(None).unwrap();
    assert_eq!((running.running, running.now), (vec![], vec![]));
    stack.as_actor(Actor::from(&hold)).stop(hold.handle, "stopped").unwrap();
    assert_eq!(stack.read(|tree| tree.node(hold.handle).status()).unwrap(), FrameStatus::Blocked);
    assert_eq!(stack.work().resumption(None).unwrap().now, [hold.handle], "a person has taken it from its worker");
}

proptest! {
    /// No matter how frames were begun, interrupted, stopped, answered and finished: a frame can be resumed
    /// now if and only if no frame below it runs or can be resumed. Each frame that can be resumed is in one
    /// of the two lists.
    #[test]
    fn nothing_goes_on_before_what_is_below_it(seed: u64, size in 1_usize..60) {
        let mut random = Random::new(seed);
        let stack = stack();
        let mut frames: Vec<Handle> = Vec::new();
        for at in 0..size {
            let below = (!frames.is_empty() && random.below(5) > 0).then(|| frames[random.below(frames.len())]);
            let frame = NewFrame::new(format!("frame {at}")).root();
            if let Ok(frame) = stack.plan(below.into_iter().fold(frame, NewFrame::below)) {
                frames.push(frame);
            }
            let frame = frames[random.below(frames.len())];
            // Commands that are refused change nothing.
            let _ = match random.below(8) {
                0..3 => { call(&stack, frame); Ok(()) }
                3 => { interrupt(&stack, frame); Ok(()) }
                4 => stack.stop(frame, "stopped").map(drop),
                5 => stack.block(frame, "Which?", None).map(drop),
                6 => stack.answer(frame, "This one.").map(drop),
                _ => stack.pop(frame, PopStatus::Completed, "done").map(drop),
            };
        }
        let wanted: Vec<Handle> = frames.iter().copied().filter(|_| random.below(4) > 0).collect();
        let resumption = stack.work().resumption(Some(wanted.iter().copied().map(FrameRef::from).collect())).unwrap();
        stack.read(|tree| {
            let can_go_on = |handle: &Handle| {
                let record = tree.node(*handle).record();
                record.host().is_none() && (record.is_interrupted() || record.status == FrameStatus::Blocked
                    && record.questions.last().is_some_and(|last| last.interruption || last.answer.is_some()))
            };
            let runs = |handle: &Handle| tree.node(*handle).record().host().is_some();
            let mut can: Vec<Handle> = wanted.iter().copied().filter(can_go_on).collect();
            let (later, now): (Vec<Handle>, Vec<Handle>) = can.iter().copied().partition(|handle| {
                frames.iter().any(|other| tree.is_ancestor(*handle, *other) && (runs(other) || can.contains(other)))
            });
            let mut told = [resumption.now.clone(), resumption.later.clone()].concat();
            told.sort();
            can.sort();
            prop_assert_eq!(told, can);
            prop_assert_eq!((resumption.now, resumption.later), (now, later));
            let running: Vec<Handle> = frames.iter().copied().filter(runs)
                .filter(|handle| wanted.iter().any(|one| one == handle || tree.is_ancestor(*one, *handle))).collect();
            prop_assert_eq!(resumption.running, running);
            Ok(())
        }).unwrap()?;
    }
}
