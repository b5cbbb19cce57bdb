//! Tests of the holders of frames: which frames are free for workers, that only the newest holder of a frame
//! counts, and what actors may do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::{Holder, WorkLeft};
use callstack_core::work::Standing;
use callstack_core::{
    Actor, Command, Error, EventQuery, Finish, FrameEdit, FrameRef, FrameStatus, Handle, Hold, HolderKind, MemoryStore,
    NewFrame, NewHold, PopStatus, Stack, StackOptions, StackState,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Queries, Random, options_at};

/// A stack with a history whose clock shows the returned number.
fn stack() -> (Stack, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(1_000));
    (Stack::with_store(MemoryStore::new(), options_at(&now)).unwrap(), now)
}

fn plan(stack: &Stack, title: &str, below: Option<Handle>, depends_on: &[Handle]) -> Handle {
    let mut frame = NewFrame::new(title).root();
    if let Some(below) = below {
        frame = frame.below(below);
    }
    frame.depends_on = depends_on.iter().copied().map(FrameRef::from).collect();
    stack.plan(frame).unwrap()
}

fn hold(stack: &Stack, worker: &str) -> Option<Hold> {
    stack.work().hold(NewHold::new(worker, 100)).unwrap()
}

fn held(stack: &Stack, worker: &str) -> Hold {
    hold(stack, worker).expect("something is free")
}

/// Ends a frame as its worker.
fn end(stack: &Stack, own: &Hold, status: PopStatus) -> Result<(), Error> {
    stack.as_actor(own).pop(own.handle, status, "done").map(drop)
}

/// The reason why a worker cannot hold a frame.
fn reason(stack: &Stack, frame: Handle) -> String {
    match stack.work().hold(NewHold::new("one", 100).frame(frame)).unwrap_err() {
        Error::NotFree { handle, reason } if handle == frame => reason,
        other => panic!("{other}"),
    }
}

/// The counts of `free`, `held`, `waiting`, `begun` and `blocked`.
fn left(stack: &Stack, below: Option<Handle>) -> [usize; 5] {
    let WorkLeft { free, held, waiting, begun, blocked, .. } = stack.work().left(below.map(FrameRef::from)).unwrap();
    [free, held, waiting, begun, blocked]
}

#[test]
fn a_holder_learns_whether_it_goes_on() {
    let (stack, now) = stack();
    let titles = ["Held", "Stopped", "Removed", "Anew", "Done", "Failed", "Asks", "Later", "Lapsed", "Taken"];
    let holds: BTreeMap<&str, Hold> = titles
        .into_iter()
        .map(|title| {
            let frame = plan(&stack, title, None, &[]);
            (title, stack.work().hold(NewHold::new("one", 100).frame(frame)).unwrap().unwrap())
        })
        .collect();
    let handle = |title: &str| holds[title].handle;
    let finish = |title: &str, finish| stack.work().finish(&holds[title], finish).unwrap();
    stack.stop(handle("Stopped"), "The interface changes first").unwrap();
    stack.invalidate(handle("Removed"), "Not needed").unwrap();
    stack.stop(handle("Anew"), "No good").unwrap();
    stack.retry(handle("Anew"), None).unwrap();
    finish("Done", Finish::Done("done".into()));
    finish("Failed", Finish::Failed("no".into()));
    finish("Asks", Finish::Asks { question: "Which?".into(), results: None });
    finish("Later", Finish::Later { wait: None });
    now.store(1_200, Ordering::Relaxed);
    stack.work().hold(NewHold::new("two", 100).frame(handle("Taken"))).unwrap().unwrap();
    let ended = |status| Standing::Ended { status };
    let expected = [
        ("Held", Standing::Held),
        ("Stopped", Standing::Stopped),
        ("Removed", Standing::Stopped),
        ("Anew", Standing::Stopped),
        ("Done", ended(FrameStatus::Completed)),
        ("Failed", ended(FrameStatus::Failed)),
        ("Asks", ended(FrameStatus::Blocked)),
        ("Later", Standing::PutBack),
        // Its lease has ended, and no other worker has it.
        ("Lapsed", Standing::Held),
    ];
    for (title, standing) in expected {
        assert_eq!(stack.work().standing(&holds[title]).unwrap(), standing, "{title}");
    }
    assert_eq!(stack.work().standing(&holds["Taken"]).unwrap_err().code(), "hold_lost");
}

#[test]
fn a_plan_of_several_levels_is_done_from_below() {
    let (stack, _) = stack();
    let shop = plan(&stack, "Shop", None, &[]);
    let base = plan(&stack, "Base", Some(shop), &[]);
    let cart = plan(&stack, "Cart", Some(shop), &[base]);
    let sum = plan(&stack, "Sum", Some(cart), &[]);
    let tax = plan(&stack, "Tax", Some(cart), &[sum]);
    assert_eq!(left(&stack, None), [1, 0, 4, 0, 0]);
    assert_eq!(left(&stack, Some(cart)), [0, 0, 2, 0, 0]);
    assert_eq!(reason(&stack, sum), format!("{cart} depends on {base}, which is planned"));
    assert_eq!(reason(&stack, tax), format!("{tax} depends on {sum}, which is planned"));
    assert_eq!(reason(&stack, shop), format!("it comes after its children, and {cart} is planned"));
    for expected in [base, sum, tax, cart, shop] {
        let own = held(&stack, "one");
        assert_eq!(own.handle, expected);
        assert_eq!(stack.frame(expected).unwrap().status, FrameStatus::InProgress);
        assert_eq!(stack.active(), None, "a hold changes no active frame");
        assert_eq!(hold(&stack, "two"), None);
        end(&stack, &own, PopStatus::Completed).unwrap();
    }
    assert_eq!(left(&stack, None), [0; 5]);
}

#[test]
fn failed_frames_are_in_the_way_until_they_are_begun_again_or_invalidated() {
    let (stack, _) = stack();
    let shop = plan(&stack, "Shop", None, &[]);
    let cart = plan(&stack, "Cart", Some(shop), &[]);
    let mail = plan(&stack, "Mail", Some(shop), &[]);
    end(&stack, &held(&stack, "one"), PopStatus::Failed).unwrap();
    end(&stack, &held(&stack, "one"), PopStatus::Completed).unwrap();
    assert_eq!(hold(&stack, "one"), None);
    assert_eq!(reason(&stack, shop), format!("it comes after its children, and {cart} is failed"));
    let again = stack.retry(cart, None).unwrap().handle;
    assert_eq!(held(&stack, "one").handle, again);
    stack.invalidate(again, "not needed").unwrap();
    assert_eq!(held(&stack, "one").handle, shop);
    assert_eq!(reason(&stack, mail), "it is completed");
}

#[test]
fn frames_that_wait_for_each_other_through_a_part_are_in_the_way() {
    let (stack, _) = stack();
    let cart = plan(&stack, "Cart", None, &[]);
    let mail = plan(&stack, "Mail", None, &[cart]);
    let other = plan(&stack, "Other", None, &[]);
    let part = plan(&stack, "Part", Some(cart), &[mail]);
    let circle = |below: Option<Handle>| stack.read(|tree| tree.in_the_way(below)).unwrap().circle;
    assert_eq!(circle(None), [], "something can begin");
    end(&stack, &held(&stack, "one"), PopStatus::Completed).unwrap();
    assert_eq!(stack.frame(other).unwrap().status, FrameStatus::Completed);
    assert_eq!(hold(&stack, "one"), None);
    assert_eq!(circle(None), [cart, part, mail], "the cart has the part, which needs the mail, which needs the cart");
    assert_eq!(circle(Some(cart)), [cart, part, mail]);
    let overview = stack.read(|tree| tree.overview(None)).unwrap();
    assert_eq!((overview.in_the_way, overview.waiting), (vec![cart, mail, part], vec![]));
    let mut edit = FrameEdit::default();
    edit.depends_on = Some(Vec::new());
    stack.edit(part, edit).unwrap();
    assert_eq!((circle(None), held(&stack, "one").handle), (vec![], part));
}

#[test]
fn what_persons_and_hosts_have_begun_is_theirs() {
    let (stack, _) = stack();
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let cart = plan(&stack, "Cart", Some(shop), &[]);
    assert_eq!(reason(&stack, shop), "it is in_progress, but no worker began it");
    assert_eq!(held(&stack, "one").handle, cart);
    assert_eq!(stack.active(), Some(shop));
    assert_eq!(left(&stack, None), [0, 1, 0, 1, 0]);
    let late = plan(&stack, "Late", Some(shop), &[]);
    stack.pop(shop, PopStatus::Failed, "no shop").unwrap();
    assert_eq!(reason(&stack, late), format!("{shop} above it is failed"));
    assert_eq!(hold(&stack, "two"), None);
}

#[test]
fn a_named_frame_and_frames_below_another_can_be_held() {
    let (stack, _) = stack();
    let [first, second] = ["First", "Second"].map(|title| plan(&stack, title, None, &[]));
    let inner = plan(&stack, "Inner", Some(second), &[]);
    let below = NewHold::new("one", 100).below(second);
    let refused = stack.work().hold(below.clone().frame(first)).unwrap_err().to_string();
    assert_eq!(refused, format!("frame {first} is not free for a worker: it is not below {second}"));
    assert_eq!(stack.work().hold(below.clone()).unwrap().unwrap().handle, inner);
    assert_eq!(stack.work().hold(below).unwrap(), None);
    assert_eq!(reason(&stack, inner), "a worker holds it, and its lease has not ended");
    assert_eq!(stack.work().hold(NewHold::new("one", 100).frame(first)).unwrap().unwrap().handle, first);
}

#[test]
fn a_lease_that_has_ended_gives_the_frame_to_another_worker() {
    let (stack, now) = stack();
    let frame = plan(&stack, "Cart", None, &[]);
    let first = held(&stack, "one");
    assert_eq!((first.generation, first.until), (1, 1_100));
    now.store(1_050, Ordering::Relaxed);
    let renewed = stack.work().renew(&first, 100).unwrap();
    assert_eq!((renewed.generation, renewed.until), (1, 1_150));
    now.store(1_149, Ordering::Relaxed);
    assert_eq!(hold(&stack, "two"), None);
    now.store(1_150, Ordering::Relaxed);
    stack.as_actor(&first).add_artifact(frame, "late.rs").expect("no other worker holds it");
    let second = held(&stack, "two");
    assert_eq!((second.handle, second.generation), (frame, 2));
    let worker = stack.as_actor(&first);
    let before = stack.state().unwrap();
    let refusals = [
        worker.pop(frame, PopStatus::Completed, "done").map(drop),
        worker.add_artifact(frame, "cart.rs").map(drop),
        worker.clone().add_decision(frame, "so be it"),
        worker.plan(NewFrame::new("More").below(frame)).map(drop),
        worker.execute(Command::SetActive { frame: frame.into() }).map(drop),
        worker.work().renew(&first, 100).map(drop),
        stack.work().renew(&first, 100).map(drop),
        stack.work().release(&first),
    ];
    for refused in refusals {
        let error = refused.unwrap_err();
        assert_eq!(error.code(), "hold_lost");
        assert_eq!(
            error.to_string(),
            "frame f1 was taken by worker `two` (generation 2), so the commands of generation 1 are refused; stop work on it, and take \
             another frame"
        );
        assert_eq!(
            serde_json::to_value(error).unwrap(),
            json!({"handle": "f1", "by": "worker `two`", "generation": 2, "refused": 1})
        );
    }
    assert_eq!(stack.state().unwrap(), before);
    end(&stack, &second, PopStatus::Completed).unwrap();
    assert_eq!(end(&stack, &second, PopStatus::Completed).unwrap_err().code(), "transition");
    assert_eq!(stack.frame(frame).unwrap().holder.unwrap().generation, 2, "the record keeps the last holder");
}

#[test]
fn a_released_frame_comes_first_and_a_person_needs_no_hold() {
    let (stack, _) = stack();
    let [first, second] = ["First", "Second"].map(|title| plan(&stack, title, None, &[]));
    let released = held(&stack, "one");
    stack.work().release(&released).unwrap();
    assert_eq!(left(&stack, None), [2, 0, 0, 0, 0]);
    let again = held(&stack, "two");
    assert_eq!((again.handle, again.generation), (first, 2));
    stack.pop(first, PopStatus::Completed, "a person has done it").unwrap();
    let ended = stack.work().renew(&again, 100).unwrap_err();
    assert_eq!(ended.to_string(), "frame f1 is not free for a worker: it is completed");
    assert_eq!(held(&stack, "two").handle, second);
}

#[test]
fn the_actor_that_continues_the_frame_of_a_worker_by_hand_has_it() {
    let (stack, now) = stack();
    let frame = plan(&stack, "Cart", None, &[]);
    let first = held(&stack, "one");
    stack.as_actor(&first).block(frame, "Which rate?", None).unwrap();
    stack.answer(frame, "20 %").unwrap();
    stack.resume(frame).unwrap();
    now.fetch_add(1_000_000, Ordering::Relaxed);
    assert_eq!(hold(&stack, "two"), None);
    assert_eq!(reason(&stack, frame), "it is in_progress, but no worker began it");
    assert_eq!(left(&stack, None), [0, 0, 0, 1, 0]);
    assert_eq!(stack.read(|tree| tree.with_workers().count()).unwrap(), 0);
    let error = end(&stack, &first, PopStatus::Completed).unwrap_err();
    assert!(error.to_string().contains("was taken by a person who works by hand"), "{error}");
    // The frame is not free either after it was blocked and answered: it stays with the person who has it,
    // also in another process.
    stack.block(frame, "Which country?", None).unwrap();
    stack.answer(frame, "France").unwrap();
    assert_eq!((hold(&stack, "two"), left(&stack, None)), (None, [0, 0, 0, 0, 1]));
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    let copy = Stack::rebuild_in_store(MemoryStore::new(), &*history, options_at(&now)).unwrap();
    assert_eq!((hold(&copy, "two"), left(&copy, None)), (None, [0, 0, 0, 0, 1]));
    stack.resume(frame).unwrap();
    stack.pop(frame, PopStatus::Completed, "done").unwrap();
}

#[test]
fn the_frame_of_a_worker_that_is_gone_can_be_taken_over_and_that_of_a_living_one_cannot() {
    let (stack, now) = stack();
    let frame = plan(&stack, "Cart", None, &[]);
    let first = held(&stack, "one");
    let call = |stack: &Stack| {
        let (frame, host, caller) = (frame.into(), "host".to_owned(), "caller".to_owned());
        stack.execute(Command::BeginCall {
            frame,
            session_id: Some("ses_2".into()),
            caller,
            host,
            lease: 100,
            limits: Box::default(),
        })
    };
    assert_eq!(call(&stack).unwrap_err().code(), "held");
    assert_eq!(stack.resume(frame).unwrap_err().code(), "held");
    now.fetch_add(1_000, Ordering::Relaxed);
    // Looking at the frame changes nothing for its worker.
    stack.set_active(frame).unwrap();
    stack.work().renew(&first, 100).unwrap();
    now.fetch_add(1_000, Ordering::Relaxed);
    stack.resume(frame).unwrap();
    assert_eq!((hold(&stack, "two"), left(&stack, None)), (None, [0, 0, 0, 1, 0]));
    assert_eq!(stack.work().renew(&first, 100).unwrap_err().code(), "hold_lost");
    // A host can take over, too.
    let other = plan(&stack, "Mail", None, &[]);
    let second = held(&stack, "two");
    assert_eq!(second.handle, other);
    now.fetch_add(1_000, Ordering::Relaxed);
    let (frame, host, caller) = (other.into(), "host".to_owned(), "caller".to_owned());
    stack
        .execute(Command::BeginCall { frame, session_id: None, caller, host, lease: 100, limits: Box::default() })
        .unwrap();
    assert_eq!(hold(&stack, "three"), None);
    assert_eq!(end(&stack, &second, PopStatus::Completed).unwrap_err().code(), "hold_lost");
    stack.execute(Command::EndCall { frame: other.into(), host: "host".into(), interrupted: true }).unwrap();
    assert_eq!(hold(&stack, "three"), None, "it stays with hosts and persons");
}

#[test]
fn a_frame_that_has_planned_children_while_a_worker_had_it_comes_after_them() {
    let (stack, now) = stack();
    let shop = plan(&stack, "Shop", None, &[]);
    let first = held(&stack, "one");
    assert_eq!(first.handle, shop);
    let [cart, mail] = ["Cart", "Mail"].map(|title| plan(&stack, title, Some(shop), &[]));
    // A frame that the worker has begun by hand is its own work, and the work of the worker that resumes the
    // outer frame.
    let own = stack.push(NewFrame::new("Own").below(shop)).unwrap();
    let tried = stack.push(NewFrame::new("Tried").below(shop)).unwrap();
    stack.pop(tried, PopStatus::Failed, "another way").unwrap();
    stack.work().release(&first).unwrap();
    assert_eq!(reason(&stack, shop), format!("it comes after its children, and {mail} is planned"));
    assert_eq!(left(&stack, None), [2, 0, 1, 1, 0]);
    let cart = stack.work().hold(NewHold::new("one", 100).frame(cart)).unwrap().unwrap();
    let second = held(&stack, "two");
    assert_eq!(second.handle, mail);
    end(&stack, &second, PopStatus::Failed).unwrap();
    end(&stack, &cart, PopStatus::Completed).unwrap();
    assert_eq!(reason(&stack, shop), format!("it comes after its children, and {mail} is failed"));
    stack.invalidate(mail, "not needed").unwrap();
    now.fetch_add(1, Ordering::Relaxed);
    let again = held(&stack, "three");
    assert_eq!((again.handle, again.generation), (shop, 2));
    assert_eq!(stack.frame(own).unwrap().status, FrameStatus::InProgress);
}

#[test]
fn a_stop_of_everything_leaves_what_conversations_have_to_them() {
    let (stack, _) = stack();
    let [cart, mail] = ["Cart", "Mail"].map(|title| plan(&stack, title, None, &[]));
    held(&stack, "one");
    stack.as_actor(Actor::new(HolderKind::Conversation, "codex/1")).begin(mail).unwrap();
    let ann = stack.as_actor(Actor::new(HolderKind::Person, "Ann"));
    assert_eq!(ann.stop(mail, "Lunch").unwrap_err().code(), "held");
    assert_eq!(ann.stop_all("Lunch").unwrap(), [cart]);
    assert_eq!(stack.frame(mail).unwrap().status, FrameStatus::InProgress);
}

#[test]
fn a_stop_blocks_what_workers_have_begun() {
    let (stack, now) = stack();
    let shop = plan(&stack, "Shop", None, &[]);
    let [cart, mail, late] = ["Cart", "Mail", "Late"].map(|title| plan(&stack, title, Some(shop), &[]));
    let other = plan(&stack, "Other", None, &[]);
    let workers =
        [cart, mail, other].map(|frame| stack.work().hold(NewHold::new("one", 100).frame(frame)).unwrap().unwrap());
    end(&stack, &workers[1], PopStatus::Completed).unwrap();
    assert_eq!(stack.stop(shop, "Too slow").unwrap(), [cart]);
    assert_eq!(stack.frame(cart).unwrap().waits_for(), "It was stopped: Too slow");
    assert_eq!(stack.work().renew(&workers[0], 100).unwrap_err().code(), "not_free");
    now.fetch_add(1_000, Ordering::Relaxed);
    // A worker that was silent for longer than its lease is stopped, too.
    assert_eq!(stack.stop_all("Enough").unwrap(), [other]);
    assert_eq!(held(&stack, "two").handle, late, "what has not begun is free");
    stack.answer(cart, "Go on").unwrap();
    assert_eq!(held(&stack, "two").handle, cart);
}

#[test]
fn a_blocked_frame_of_a_worker_is_free_again_when_it_was_answered() {
    let (stack, _) = stack();
    let frame = plan(&stack, "Tax", None, &[]);
    let first = held(&stack, "one");
    stack.as_actor(&first).block(frame, "Which rate?", None).unwrap();
    assert_eq!(left(&stack, None), [0, 0, 0, 0, 1]);
    assert_eq!(hold(&stack, "two"), None);
    assert_eq!(stack.work().renew(&first, 100).unwrap_err().code(), "not_free");
    stack.answer(frame, "20 %").unwrap();
    assert_eq!(left(&stack, None), [1, 0, 0, 0, 0]);
    let second = held(&stack, "two");
    assert_eq!((second.handle, second.generation), (frame, 2));
    assert_eq!(stack.frame(frame).unwrap().status, FrameStatus::InProgress);
    // A frame that a person has begun and blocked stays with persons.
    let own = stack.push(NewFrame::new("Own").root()).unwrap();
    stack.block(own, "Which one?", None).unwrap();
    stack.answer(own, "that one").unwrap();
    assert_eq!(hold(&stack, "two"), None);
}

#[test]
fn a_clock_that_is_far_ahead_keeps_no_frame_for_ever() {
    let (stack, now) = stack();
    let frame = plan(&stack, "Cart", None, &[]);
    now.store(10 * Holder::LONGEST_LEASE, Ordering::Relaxed);
    assert_eq!(held(&stack, "ahead").handle, frame);
    now.store(1_000, Ordering::Relaxed);
    let right = held(&stack, "right");
    assert_eq!((right.handle, right.generation, right.until), (frame, 2, 1_100));
}

#[test]
fn wrong_holds_are_refused() {
    let (stack, _) = stack();
    let frame = plan(&stack, "Cart", None, &[]);
    let code = |hold: NewHold| stack.work().hold(hold).unwrap_err().code();
    assert_eq!(code(NewHold::new("  ", 100)), "empty");
    assert_eq!(code(NewHold::new("one", 0)), "setting");
    assert_eq!(code(NewHold::new("one", Holder::LONGEST_LEASE + 1)), "setting");
    assert_eq!(code(NewHold::new("one", 100).below("nothing")), "unknown_frame");
    assert_eq!(code(NewHold::new("one", 100).frame("f9")), "unknown_frame");
    let never =
        Hold { handle: frame, kind: HolderKind::Worker, name: String::new(), generation: 0, until: 0, tries: 0 };
    let refused = stack.as_actor(&never).add_decision(frame, "x").unwrap_err().to_string();
    assert!(refused.starts_with("frame f1 was never held, so the commands of generation 0"), "{refused}");
    let nowhere = Hold { handle: Handle::from_index(8).unwrap(), ..never };
    assert_eq!(stack.work().release(&nowhere).unwrap_err().code(), "unknown_frame");
    assert_eq!(stack.work().left(Some("f9".into())).unwrap_err().code(), "unknown_frame");
    assert_eq!(held(&stack, "one").handle, frame, "nothing was changed");
}

#[test]
fn a_holder_in_files_is_kept_whatever_it_is() {
    let read = |holder: Value| {
        let frame = json!({"sessionID": "a", "status": "in_progress", "title": "A", "successCriteria": "", "createdAt": 1,
            "artifacts": [], "decisions": [], "holder": holder});
        let state = json!({"version": 1, "frames": {"a": frame}, "rootFrameIDs": ["a"], "updatedAt": 1}).to_string();
        let (state, repairs) = StackState::from_json(&state).unwrap();
        let (stack, _) = Stack::from_state(state, options_at(&Arc::new(AtomicU64::new(50))));
        (stack, repairs.len())
    };
    let whole = json!({"kind": "worker", "name": "one", "generation": 3, "until": 40, "since": 7});
    let (stack, repairs) = read(whole.clone());
    assert_eq!(repairs, 0);
    assert_eq!(serde_json::to_value(stack.frame("a").unwrap()).unwrap()["holder"], whole);
    assert_eq!(held(&stack, "two").generation, 4, "generations go on");
    for odd in [json!(5), json!({"generation": -1}), json!({"name": []}), json!([1])] {
        let (stack, repairs) = read(odd.clone());
        assert_eq!((repairs, &stack.frame("a").unwrap().extra["holder (unreadable)"]), (1, &odd));
        assert_eq!(hold(&stack, "two"), None, "no worker holds it");
    }
    for none in [Value::Null, json!({})] {
        assert_eq!(read(none).1, 0);
    }
    // A generation that has the largest value cannot grow: the name of the worker still distinguishes
    // its holds.
    let (stack, _) = read(json!({"kind": "worker", "name": "one", "generation": u64::MAX, "until": u64::MAX}));
    let second = held(&stack, "two");
    assert_eq!(second.generation, u64::MAX);
    let first = Hold { name: "one".into(), ..second };
    assert_eq!(stack.work().release(&first).unwrap_err().code(), "hold_lost");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Workers hold, renew, release and end frames while their clock stands still, advances or is set back.
    /// Only the newest holder of a frame is ever accepted, and each frame is ended once.
    #[test]
    fn at_any_time_one_generation_of_a_frame_counts(seed in any::<u64>(), length in 1usize..200) {
        let random = &mut Random::new(seed);
        let (stack, now) = stack();
        let mut frames: Vec<Handle> = Vec::new();
        for number in 0..1 + random.below(6) {
            let dependency = frames.get(random.below(number + 1)).copied();
            let frame = plan(&stack, &format!("Part {number}"), None, dependency.as_slice());
            frames.push(frame);
        }
        let mut all: Vec<Hold> = Vec::new();
        let mut newest: BTreeMap<Handle, (u64, u64)> = BTreeMap::new();
        let mut ended: BTreeMap<Handle, usize> = BTreeMap::new();
        for _ in 0..length {
            let time = now.load(Ordering::Relaxed);
            match random.below(8) {
                0 => now.store(time + random.below(300) as u64, Ordering::Relaxed),
                1 if random.once_in(4) => now.store(time.saturating_sub(random.below(300) as u64), Ordering::Relaxed),
                2..5 => {
                    let worker = ["one", "two", "three"][random.below(3)];
                    if let Some(own) = hold(&stack, worker) {
                        let (generation, until) = newest.get(&own.handle).copied().unwrap_or_default();
                        prop_assert!(until <= time, "the lease of {} has ended", own.handle);
                        prop_assert_eq!(own.generation, generation + 1);
                        prop_assert!(!ended.contains_key(&own.handle));
                        newest.insert(own.handle, (own.generation, own.until));
                        all.push(own);
                    }
                }
                _ if all.is_empty() => {}
                kind => {
                    let own = all[random.below(all.len())].clone();
                    let handle = own.handle;
                    let is_newest = newest[&handle].0 == own.generation;
                    let done = match kind {
                        5 => stack.work().renew(&own, 100).map(|renewed| renewed.until),
                        6 => stack.work().release(&own).map(|()| 0),
                        _ if random.once_in(3) => {
                            let ends = end(&stack, &own, PopStatus::Completed);
                            ends.map(|()| *ended.entry(handle).or_default() += 1).map(|()| newest[&handle].1)
                        }
                        _ => stack.as_actor(&own).add_decision(handle, "so").map(|()| newest[&handle].1),
                    };
                    match done {
                        Ok(until) => {
                            prop_assert!(is_newest, "{own:?} is old");
                            newest.insert(handle, (own.generation, until));
                        }
                        Err(error) => prop_assert_eq!(error.code() == "hold_lost", !is_newest, "{}", error),
                    }
                }
            }
        }
        prop_assert!(ended.values().all(|times| *times == 1));
        let history = stack.history().events(&EventQuery::default()).unwrap();
        let again = Stack::with_store(MemoryStore::with_events(history).unwrap(), options_at(&now)).unwrap();
        prop_assert_eq!(again.state().unwrap(), stack.state().unwrap());
    }
}

#[test]
fn of_two_answers_with_which_conversations_go_on_one_is_recorded() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let tax = stack.push(NewFrame::new("Taxes")).unwrap();
    stack.block(tax, "Which rate?", None).unwrap();
    let [one, other] = ["one", "other"].map(|name| stack.as_actor(Actor::new(HolderKind::Conversation, name)));
    one.answer_and_resume(tax, "20 %").unwrap();
    let before = stack.history().events(&EventQuery::default()).unwrap().len();
    assert_eq!(other.answer_and_resume(tax, "19 %").unwrap_err().code(), "not_blocked");
    one.block(tax, "Of which year?", None).unwrap();
    assert_eq!(other.answer_and_resume(tax, " ").unwrap_err().code(), "empty");
    let frame = stack.frame(tax).unwrap();
    assert_eq!((frame.status, frame.questions[0].answer.as_deref()), (FrameStatus::Blocked, Some("20 %")));
    assert_eq!(frame.questions[1].answer, None, "a refused answer is not recorded");
    assert!(stack.history().events(&EventQuery::default()).unwrap().len() > before);
}
