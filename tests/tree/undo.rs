//! Corrections by a person: the words of a frame that has begun, a completed frame that was wrong, and the
//! last command.

use callstack_core::frame::FrameLimits;
use callstack_core::{
    Actor, Change, EventQuery, FrameEdit, FrameStatus, Handle, HolderKind, MemoryStore, NewFrame, NewHold, PopStatus,
    Priority, Stack, StackOptions,
};
use support::Queries;

fn person(stack: &Stack, name: &str) -> Stack {
    stack.as_actor(Actor::new(HolderKind::Person, name))
}

fn status(stack: &Stack, frame: Handle) -> FrameStatus {
    stack.frame(frame).unwrap().status
}

/// f1 Shop, in_progress; f2 Cart, planned; f3 Checkout, planned, needs f2.
fn shop(stack: &Stack) -> [Handle; 3] {
    let shop = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    let cart =
        stack.plan(NewFrame::new("Cart").criteria("Totals are right").task("In src/cart.rs").below(shop)).unwrap();
    let checkout = stack.plan(NewFrame::new("Checkout").below(shop).depends_on(cart)).unwrap();
    [shop, cart, checkout]
}

#[test]
fn only_a_person_corrects_a_frame_that_has_begun_and_the_old_words_are_kept() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let [_, cart, checkout] = shop(&stack);
    stack.activate(cart).unwrap();
    let words = || FrameEdit::default().title("Basket").task("In src/basket.rs").priority(Priority::new(1));
    assert_eq!(stack.edit(cart, words()).unwrap_err().code(), "not_planned", "an agent");
    let ann = person(&stack, "ann");
    let moved = words().before(checkout);
    assert_eq!(ann.edit(cart, moved).unwrap_err().code(), "not_planned", "its place is no word");
    ann.edit(cart, words()).unwrap();
    let frame = stack.frame(cart).unwrap();
    assert_eq!((frame.title.as_str(), frame.task.as_str()), ("Basket", "In src/basket.rs"));
    assert_eq!(frame.success_criteria, "Totals are right");
    assert!(frame.corrected_at.is_some());
    let edited = stack.history().events(&EventQuery::default().kind("edited")).unwrap().pop().unwrap();
    let Change::Edited { was: Some(was), .. } = edited.change else { panic!("{edited:?}") };
    assert_eq!(*was, FrameEdit::default().title("Cart").task("In src/cart.rs").priority(None));
    stack.pop(cart, PopStatus::Completed, "done").unwrap();
    assert_eq!(
        ann.edit(cart, FrameEdit::default().title("Trolley")).unwrap_err().code(),
        "not_planned",
        "it has ended"
    );
}

#[test]
fn a_task_is_not_longer_than_its_limit() {
    let stack = Stack::in_memory();
    let longest = "ä".repeat(100_000);
    let frame = stack.plan(NewFrame::new("Long").task(longest.clone())).unwrap();
    assert_eq!(stack.frame(frame).unwrap().task, longest);
    let longer = longest + "x";
    assert_eq!(stack.plan(NewFrame::new("Longer").task(longer.clone())).unwrap_err().code(), "too_long");
    assert_eq!(stack.edit(frame, FrameEdit::default().task(longer)).unwrap_err().code(), "too_long");
    assert_eq!(stack.read(|tree| tree.len()).unwrap(), 1);
}

#[test]
fn what_depends_on_a_reopened_frame_waits_again() {
    let stack = Stack::in_memory();
    let [shop, cart, checkout] = shop(&stack);
    assert_eq!(stack.reopen(cart, "wrong").unwrap_err().code(), "transition", "it is planned");
    stack.activate(cart).unwrap();
    stack.pop(cart, PopStatus::Completed, "Totals in src/cart.rs").unwrap();
    stack.deliver(cart).unwrap();
    let emails = stack.plan(NewFrame::new("Emails").below(shop).depends_on(cart)).unwrap();
    stack.activate(emails).unwrap();
    assert_eq!(stack.reopen(cart, " ").unwrap_err().code(), "empty");
    let reopened = stack.reopen(cart, "The totals are wrong in yen").unwrap();
    assert_eq!((reopened.waiting, reopened.begun), (vec![checkout], vec![emails]));
    assert_eq!(stack.ready().unwrap(), []);
    let frame = stack.frame(cart).unwrap();
    assert_eq!((frame.results.as_deref(), frame.delivered_at), (Some("Totals in src/cart.rs"), None));
    let context = stack.context(cart, &callstack_core::Settings::default()).unwrap();
    assert!(context.xml.contains("The totals are wrong in yen"), "{}", context.xml);
    let dependent = stack.context(emails, &callstack_core::Settings::default()).unwrap();
    assert!(dependent.xml.contains("depends on f2 (Cart), which is in_progress"), "{}", dependent.xml);
    stack.pop(cart, PopStatus::Completed, "Totals in all currencies").unwrap();
    assert_eq!(stack.ready().unwrap(), [checkout]);
    stack.pop(shop, PopStatus::Completed, "The shop").unwrap();
    assert_eq!(stack.reopen(cart, "wrong").unwrap_err().code(), "parent_closed");
    stack.reopen(shop, "the cart is wrong").unwrap();
    stack.reopen(cart, "wrong").unwrap();
}

#[test]
fn a_person_takes_back_one_command_after_the_other() {
    let stack = Stack::in_memory();
    let [shop, cart, checkout] = shop(&stack);
    let ann = person(&stack, "ann");
    assert_eq!(ann.undo().unwrap_err().code(), "nothing_to_undo");
    let before = stack.state().unwrap().frames;
    ann.activate(cart).unwrap();
    ann.pop(cart, PopStatus::Completed, "done").unwrap();
    ann.invalidate(checkout, "not wanted").unwrap();
    ann.edit(shop, FrameEdit::default().title("Bazaar")).unwrap();
    let added = ann.plan_children(shop, vec![NewFrame::new("Terms"), NewFrame::new("Imprint")]).unwrap();
    assert_eq!(person(&stack, "bob").undo().unwrap_err().code(), "nothing_to_undo", "ann's commands are hers");
    let undone = ann.undo().unwrap();
    assert_eq!((undone.command.as_str(), undone.removed), ("plan", added.clone()));
    assert!(added.iter().all(|frame| status(&stack, *frame) == FrameStatus::Invalidated));
    for (command, frame) in [("edit", shop), ("invalidate", checkout), ("pop", cart), ("activate", cart)] {
        let undone = ann.undo().unwrap();
        assert_eq!((undone.command.as_str(), undone.frames), (command, vec![frame]));
    }
    let mut after = stack.state().unwrap().frames;
    after.truncate(before.len());
    for (after, before) in after.iter_mut().zip(&before) {
        after.updated_at = before.updated_at;
    }
    // A person who has had a frame was its last holder.
    after.iter_mut().for_each(|frame| frame.holder = None);
    assert_eq!(after, before, "all is as it was");
    assert_eq!(stack.active(), Some(shop));
    assert_eq!(ann.undo().unwrap_err().code(), "nothing_to_undo");
}

#[test]
fn what_has_been_built_on_a_command_keeps_it() {
    let stack = Stack::in_memory();
    let [shop, cart, checkout] = shop(&stack);
    let ann = person(&stack, "ann");
    let refused = |says: &str| {
        let error = ann.undo().unwrap_err();
        assert!(error.code() == "not_undone" && error.to_string().contains(says), "{error}");
    };
    stack.activate(cart).unwrap();
    ann.pop(cart, PopStatus::Completed, "done").unwrap();
    stack.activate(checkout).unwrap();
    refused("f3, which depends on f2, was begun since");
    ann.add_decision(checkout, "in euros").unwrap();
    stack.add_decision(checkout, "and in yen").unwrap();
    refused("f3 has changed since");
    let terms = ann.push(NewFrame::new("Terms").below(shop)).unwrap();
    stack.plan(NewFrame::new("Text").below(terms)).unwrap();
    refused("f5 was added below f4 since");
    ann.pop(checkout, PopStatus::Failed, "it cannot be done").unwrap();
    stack.retry(checkout, None).unwrap();
    refused("f3 was retried as f6 since");
    ann.stop(shop, "a break").unwrap();
    refused("retries, stops, commands about the heap");
}

#[test]
fn a_worker_that_a_person_has_stopped_by_mistake_goes_on() {
    let stack = Stack::in_memory();
    let [_, cart, _] = shop(&stack);
    let hold = stack.work().hold(NewHold::new("one", 60_000)).unwrap().unwrap();
    assert_eq!(hold.handle, cart);
    // A caller that uses the stack directly may end a frame that a worker has.
    let unnamed = person(&stack, "");
    unnamed.pop(cart, PopStatus::Completed, "by mistake").unwrap();
    assert_eq!(stack.work().renew(&hold, 60_000).unwrap_err().code(), "not_free");
    unnamed.undo().unwrap();
    stack.work().renew(&hold, 60_000).unwrap();
    stack.as_actor(&hold).pop(cart, PopStatus::Completed, "done").unwrap();
}

#[test]
fn commands_are_taken_back_after_the_stack_was_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Stack::open(folder.path(), StackOptions::default()).unwrap();
    let stack = open();
    let [_, cart, _] = shop(&stack);
    person(&stack, "ann").invalidate(cart, "not wanted").unwrap();
    stack.history().compact(0).unwrap();
    drop(stack);
    let stack = open();
    let undone = person(&stack, "ann").undo().unwrap();
    assert_eq!((undone.frames, status(&stack, cart)), (vec![cart], FrameStatus::Planned));
    drop(stack);
    assert_eq!(status(&open(), cart), FrameStatus::Planned);
}

#[test]
fn an_import_of_many_frames_is_taken_back_at_once() {
    let stack = Stack::in_memory();
    let ann = person(&stack, "ann");
    let tasks: Vec<String> = (1..=3_000).map(|id| format!(r#"{{"id": {id}, "title": "Task {id}"}}"#)).collect();
    let plan = callstack_core::import::task_master(&format!(r#"{{"tasks": [{}]}}"#, tasks.join(","))).unwrap();
    ann.import(plan.frames).unwrap();
    assert_eq!(stack.ready().unwrap().len(), 3_000);
    assert_eq!(ann.undo().unwrap().removed.len(), 3_001);
    assert_eq!(stack.ready().unwrap(), []);
}

#[test]
fn the_limits_of_a_frame_are_at_most_those_above_it() {
    let stack = Stack::in_memory();
    let tools = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let limits = |names: &[&str]| FrameLimits::default().tools(tools(names));
    let shop = stack.push(NewFrame::new("Shop").limits(limits(&["Read", "mcp__shop"]))).unwrap();
    let cart = stack.push(NewFrame::new("Cart").below(shop).limits(limits(&["mcp__shop__buy"]))).unwrap();
    let more = stack.push(NewFrame::new("Rows").below(cart).limits(limits(&["Read"])));
    let error = more.unwrap_err();
    assert_eq!(error.code(), "tools_exceed");
    assert!(error.to_string().contains("Read") && error.to_string().contains("mcp__shop__buy"), "{error}");
    stack.set_limits(shop, limits(&["Read"])).unwrap();
    assert_eq!(
        stack.work().allowance(cart).unwrap().tools,
        tools(&[]),
        "what was taken from the frame above is gone here too"
    );
    assert_eq!(stack.set_limits(shop, FrameLimits::default().max_turns(Some(0))).unwrap_err().code(), "setting");
    let again = stack.pop(cart, PopStatus::Failed, "no").and_then(|_| stack.retry(cart, None)).unwrap().handle;
    assert_eq!(stack.frame(again).unwrap().limits, stack.frame(cart).unwrap().limits);
}

#[test]
fn costs_that_are_not_told_yet_are_estimated_by_those_that_were() {
    use callstack_core::frame::ModelRequest;
    let stack = Stack::in_memory();
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let cart = stack.push(NewFrame::new("Cart").below(shop)).unwrap();
    let ask = |output| stack.record_usage(cart, ModelRequest { output, ..ModelRequest::new("m") }).unwrap();
    let costs = |frame: Handle| {
        let usage = stack.usage(frame).unwrap();
        (usage.own_cost_micro_usd, usage.total_cost_micro_usd)
    };
    ask(100);
    assert_eq!(costs(shop), (0, 0), "no price is known yet");
    stack.record_cost(cart, "ses_2", 1_000).unwrap();
    ask(50);
    assert_eq!((costs(cart), costs(shop)), ((1_500, 1_500), (0, 1_500)));
    stack.set_limits(shop, FrameLimits::default().max_cost_micro_usd(Some(2_000)).max_tokens(Some(200))).unwrap();
    let left = stack.work().allowance(cart).unwrap();
    assert_eq!((left.max_cost_micro_usd, left.max_tokens), (Some(500), Some(50)));
    assert_eq!(stack.work().overspent(cart).unwrap(), None);
    // The newest value replaces the earlier value.
    stack.record_cost(cart, "ses_2", 2_100).unwrap();
    assert_eq!(costs(cart), (2_100, 2_100));
    let overspent = stack.work().overspent(cart).unwrap().unwrap();
    assert_eq!(overspent.frame, shop);
    assert_eq!(
        overspent.reason,
        "its budget of 0.002 US dollars is spent: 0.0021 with all frames below it; a larger budget lets it continue"
    );
    let with_cost = ModelRequest { cost_micro_usd: 7, ..ModelRequest::new("m") };
    stack.record_usage(shop, with_cost).unwrap();
    let usage = stack.usage(shop).unwrap();
    assert_eq!((usage.own[0].requests, usage.own_cost_micro_usd), (0, 7), "a cost alone is no request");
}

#[test]
fn what_others_have_built_on_is_not_taken_back() {
    /// A command of a person, the changes after it, and whether the command can be taken back after these
    /// changes.
    type Case = (&'static str, fn(&Stack, [Handle; 3]), fn(&Stack, [Handle; 3]), bool);
    let added: fn(&Stack, [Handle; 3]) = |ann, [shop, ..]| {
        ann.push(NewFrame::new("Mail").below(shop)).unwrap();
    };
    const ADDED: &str = "Mail";
    let cases: [Case; 12] = [
        ("nothing was done", added, |_, _| {}, true),
        ("it has an artifact", added, |stack, _| assert!(stack.add_artifact(ADDED, "src/mail.rs").unwrap()), false),
        ("it has a decision", added, |stack, _| stack.add_decision(ADDED, "SMTP").unwrap(), false),
        (
            "a conversation holds it",
            added,
            |stack, _| {
                let codex = Actor::new(HolderKind::Conversation, "codex/1").taking_over(true);
                stack.as_actor(codex).resume(ADDED).unwrap();
            },
            false,
        ),
        (
            "a part of it is done",
            added,
            |stack, _| {
                let part = stack.push(NewFrame::new("Part").below(ADDED)).unwrap();
                stack.pop(part, PopStatus::Completed, "done").unwrap();
            },
            false,
        ),
        (
            "an older frame needs it",
            added,
            |stack, [_, _, checkout]| stack.edit(checkout, FrameEdit::default().depends_on([ADDED])).unwrap(),
            false,
        ),
        (
            "an older frame is below it",
            added,
            |stack, [_, _, checkout]| stack.edit(checkout, FrameEdit::default().below(ADDED)).unwrap(),
            false,
        ),
        (
            "an edited frame has begun",
            |ann, [_, _, checkout]| {
                ann.edit(checkout, FrameEdit::default().depends_on(Vec::<Handle>::new())).unwrap();
            },
            |stack, [_, _, checkout]| stack.activate(checkout).unwrap(),
            false,
        ),
        (
            "an answered frame goes on",
            |ann, [_, cart, _]| {
                ann.activate(cart).unwrap();
                ann.block(cart, "Which VAT?", None).unwrap();
                ann.answer(cart, "20 %").unwrap();
            },
            |stack, [_, cart, _]| stack.resume(cart).unwrap(),
            false,
        ),
        (
            "a part of a begun frame has begun",
            |ann, [_, cart, checkout]| {
                ann.edit(checkout, FrameEdit::default().below(cart).depends_on(Vec::<Handle>::new())).unwrap();
                ann.activate(cart).unwrap();
            },
            |stack, [_, _, checkout]| stack.activate(checkout).unwrap(),
            false,
        ),
        (
            "further artifacts are there",
            |ann, [_, cart, _]| assert!(ann.add_artifact(cart, "src/cart.rs").unwrap()),
            |stack, [_, cart, _]| assert!(stack.add_artifact(cart, "src/vat.rs").unwrap()),
            false,
        ),
        (
            "an artifact",
            |ann, [_, cart, _]| assert!(ann.add_artifact(cart, "src/cart.rs").unwrap()),
            |stack, [_, _, checkout]| assert!(stack.add_artifact(checkout, "src/pay.rs").unwrap()),
            true,
        ),
    ];
    for (what, command, then, can_be_taken_back) in cases {
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        let frames = shop(&stack);
        let ann = person(&stack, "ann");
        command(&ann, frames);
        then(&stack, frames);
        let before = stack.state().unwrap();
        match ann.undo() {
            Ok(_) => assert!(can_be_taken_back, "{what}"),
            Err(error) => {
                assert!(!can_be_taken_back, "{what}: {error}");
                assert_eq!((error.code(), stack.state().unwrap()), ("not_undone", before), "{what}");
            }
        }
    }
}

#[test]
fn a_history_does_not_repeat_a_list_with_each_entry() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let [_, cart, _] = shop(&stack);
    let ann = person(&stack, "ann");
    for number in 0..50 {
        ann.add_decision(cart, format!("{number} {}", "long ".repeat(200))).unwrap();
    }
    let history = stack.history().events(&EventQuery::default()).unwrap();
    let bytes: usize = history.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
    assert!(bytes < 2 * 50 * 1_100, "{bytes} bytes for 50 decisions of 1,000");
    ann.undo().unwrap();
    assert_eq!(stack.frame(cart).unwrap().decisions.len(), 49);
    assert!(stack.frame(cart).unwrap().decisions[48].starts_with("48 "));
}

#[test]
fn nothing_is_reopened_below_what_is_over_or_has_not_begun() {
    let stack = Stack::in_memory();
    let [shop, cart, _] = shop(&stack);
    stack.activate(cart).unwrap();
    let part = stack.push(NewFrame::new("Totals").below(cart)).unwrap();
    stack.pop(part, PopStatus::Completed, "done").unwrap();
    stack.pop(shop, PopStatus::Completed, "done").unwrap();
    let error = stack.reopen(part, "wrong").unwrap_err();
    assert_eq!(error.code(), "parent_closed");
    assert!(error.to_string().contains("f1 is completed") && error.to_string().contains("reopen it first"), "{error}");
    stack.reopen(shop, "wrong").unwrap();
    stack.reopen(part, "wrong").unwrap();
}
