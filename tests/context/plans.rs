//! Contexts and plans: what contexts say about dependencies that cannot be completed any more, and contexts
//! after edits.

use callstack_core::{
    EventQuery, FrameEdit, FrameStatus, Handle, MemoryStore, NewFrame, OutlineOptions, PopStatus, Results, Settings,
    Stack, StackOptions, ToolNames, ToolRole,
};
use proptest::prelude::*;
use support::{Queries, Random};

fn volatile(stack: &Stack, frame: Handle) -> String {
    stack.context(frame, &Settings::default()).unwrap().volatile.clone()
}

/// f1 Shop; below it f2 Cart, in_progress, and f3 Checkout and f4 Taxes, planned. f3 needs f2 and f4. f5 is
/// below f3.
fn shop() -> (Stack, [Handle; 5]) {
    let stack = Stack::in_memory();
    let shop = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    let cart = stack.push(NewFrame::new("Cart").id("cart").below(shop)).unwrap();
    let checkout = NewFrame::new("Checkout").id("checkout").depends_on("Cart").depends_on("Taxes");
    let planned = stack.plan_children(shop, vec![checkout, NewFrame::new("Taxes").id("taxes")]).unwrap();
    let pay = stack.plan(NewFrame::new("Pay").id("pay").below(planned[0])).unwrap();
    (stack, [shop, cart, planned[0], planned[1], pay])
}

#[test]
fn a_failed_dependency_is_said_to_everybody_who_waits_for_it() {
    let (stack, [shop, cart, checkout, taxes, pay]) = shop();
    stack.pop(cart, PopStatus::Failed, Results::new("No <database>\nat all").compacted("")).unwrap();
    let says = |frame: Handle, text: &str| {
        let context = volatile(&stack, frame);
        assert!(context.contains(text), "{context}\ndoes not say {text}");
    };
    let retry = "o try f2 again, call stack_frame_activate f2 (retry)";
    let both = format!("t{retry}; or stack_frame_edit f3 {{\"dependsOn\": […]}}");
    let why = "f2 (Cart), which is failed: No &lt;database&gt; at all";
    says(checkout, &format!("<warning>This frame depends on {why} ({both})</warning>"));
    says(
        checkout,
        &format!("<next-action>This frame is planned. It waits for f2, which is failed. T{retry}.</next-action>"),
    );
    says(pay, &format!("<warning>Its ancestor f3 depends on {why} ({both})</warning>"));
    says(shop, &format!("<warning>Child f3 (Checkout) depends on {why} ({both})</warning>"));
    says(shop, "<next-action>Begin the next planned child with stack_frame_activate f4.</next-action>");
    stack.invalidate(taxes, "Prices have them").unwrap();
    says(
        checkout,
        "<warning>This frame depends on f4 (Taxes), which is invalidated: Prices have them (stack_frame_edit",
    );
    says(
        shop,
        &format!("<next-action>No planned child can begin: f3 waits for f2, which is failed. T{retry}.</next-action>"),
    );
    // Without the tool, the warning uses plain words instead.
    let settings = Settings::default().tools(ToolNames::default().without(ToolRole::Edit));
    let context = stack.context(shop, &settings).unwrap();
    assert!(context.xml.contains("f2 (retry); or give f3 other dependencies)</warning>"), "{}", context.xml);
    // The dependencies of a frame that has begun cannot be changed.
    stack.activate(checkout).unwrap();
    says(
        checkout,
        &format!("<warning>This frame depends on {why} (do without its results, or finish as failed)</warning>"),
    );
    says(pay, &format!("Its ancestor f3 depends on {why} (do without"));
    assert!(!volatile(&stack, shop).contains("Child f3 (Checkout)"), "its own context says it");
}

#[test]
fn a_rewired_frame_is_not_warned() {
    let (stack, [shop, cart, checkout, taxes, _]) = shop();
    stack.pop(cart, PopStatus::Failed, "No database").unwrap();
    stack.edit(checkout, FrameEdit::default().depends_on([taxes])).unwrap();
    for frame in [shop, checkout] {
        let context = volatile(&stack, frame);
        assert!(!context.contains("No database"), "{context}");
    }
    assert!(volatile(&stack, checkout).contains("It can begin when f4 is completed."));
}

#[test]
fn outlines_say_why_a_frame_is_out_of_the_plan() {
    let (stack, [_, _, checkout, ..]) = shop();
    stack.invalidate(checkout, "The bank\ndoes it").unwrap();
    for details in [false, true] {
        let outline = stack.outline(&OutlineOptions::default().details(details)).unwrap();
        assert_eq!(outline.matches("Invalidated: The bank does it").count(), 1, "once for all below it: {outline}");
    }
}

#[test]
fn the_next_sibling_is_the_next_in_the_new_order() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let children: Vec<NewFrame> = ["One", "Two", "Three"].map(NewFrame::new).into();
    let children = stack.plan_children(root, children).unwrap();
    stack.edit(children[2], FrameEdit::default().before(children[0])).unwrap();
    let context = volatile(&stack, root);
    assert!(context.contains("<first-child id=\"f4\" title=\"Three\"/>"), "{context}");
    let places = [4, 2, 3].map(|number| context.find(&format!("<frame id=\"f{number}\"")).unwrap());
    assert!(places.is_sorted(), "{context}");
    stack.activate(children[2]).unwrap();
    let context = volatile(&stack, children[2]);
    assert!(context.contains("<position>Task 1 of 3</position>"), "{context}");
    assert!(context.contains("<next-sibling id=\"f2\""), "{context}");
}

/// Executes a random command; it may be refused.
fn change(stack: &Stack, random: &mut Random) {
    let (count, number) = stack.read(|tree| (tree.len(), tree.revision())).unwrap();
    let frame = |random: &mut Random| Handle::from_index(random.below(count)).unwrap();
    let words = ["cart", "tax", "price", "page", "test"];
    let title = |random: &mut Random| format!("{} {}", random.pick(&words), random.pick(&words));
    let at = frame(random);
    let _ = match random.below(9) {
        0 | 1 => {
            let new = NewFrame::new(title(random)).id(format!("s{number}")).below(at).depends_on(frame(random));
            stack.plan(new).map(drop)
        }
        2 => stack.activate(at),
        3 => stack.pop(at, PopStatus::Completed, title(random)).map(drop),
        4 if random.once_in(3) => stack.pop(at, PopStatus::Failed, title(random)).map(drop),
        4 => stack.ensure(&format!("e{number}"), None, Some(at.into())).map(drop),
        _ => stack.edit(
            at,
            match random.below(6) {
                0 => FrameEdit::default().title(title(random)),
                1 => FrameEdit::default().criteria(title(random)),
                2 => FrameEdit::default().depends_on((0..random.below(3)).map(|_| frame(random))),
                3 => FrameEdit::default().below(frame(random)),
                4 => FrameEdit::default().before(frame(random)),
                _ => FrameEdit::default().last(),
            },
        ),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// No matter which contexts, fragments and indexes are cached: after an edit nothing is out of date.
    #[test]
    fn contexts_after_edits_are_those_of_a_fresh_stack(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        let root = stack.push(NewFrame::new("Shop").id("root")).unwrap();
        for number in 0..6 {
            stack.plan(NewFrame::new(format!("Page {number}")).id(format!("p{number}")).below(root)).unwrap();
        }
        for round in 0..60 {
            change(&stack, &mut random);
            let frames = || stack.read(|tree| tree.handles().collect::<Vec<_>>()).unwrap();
            let contexts = || frames().into_iter().map(|frame| stack.context(frame, &Settings::default()).unwrap());
            let kept: Vec<_> = contexts().collect();
            if round % 6 == 5 {
                let history = stack.history().events(&EventQuery::default()).unwrap();
                let fresh = Stack::with_store(MemoryStore::with_events(history).unwrap(), StackOptions::default()).unwrap();
                // The context of a frame that has ended names a frame far below it. It does not see changes
                // of that frame at once.
                let is_unfinished = |frame: &Handle| stack.read(|tree| tree.node(*frame).status().is_unfinished()).unwrap();
                for (frame, kept) in frames().into_iter().zip(kept).filter(|(frame, _)| is_unfinished(frame)) {
                    prop_assert_eq!(&*kept, &*fresh.context(frame, &Settings::default()).unwrap(), "{}", frame);
                }
            }
        }
        let begun = stack.read(|tree| tree.handles().filter(|frame| tree.node(*frame).status() != FrameStatus::Planned).count()).unwrap();
        prop_assert!(begun > 0);
    }
}
