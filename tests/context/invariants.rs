//! Property tests of the eight invariants of contexts, on random trees with hostile texts.
//!
//! `PROPTEST_CASES` sets the number of cases; `make soak` runs a million.

use callstack_core::context::{Approx, Chars4, Form, Omission, TokenCounter};
use callstack_core::frame::Register;
use callstack_core::text::floor_char_boundary;
use callstack_core::{
    Budget, BudgetUnit, Context, Error, FrameStatus, Handle, Identity, NewFrame, PopStatus, Results, Stack,
};
use proptest::prelude::*;
use support::promises::{checked, settings, with_total};
use support::{Random, set_status};

/// Sizes of the trees: mostly small, so that many cases run, and sometimes up to 5,000 frames.
fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![900 => 1usize..12, 90 => 12usize..80, 9 => 80usize..600, 1 => 600usize..5_000]
}

/// Invariant 3: the larger context contains everything that the smaller one contains.
fn assert_grows(smaller: &Context, larger: &Context) {
    for (one, other) in smaller.report.entries.iter().zip(&larger.report.entries) {
        assert_eq!(one.handle, other.handle, "3: the totals must not change what is considered");
        assert!(
            one.detail_level <= other.detail_level,
            "3: {} sinks from {:?} to {:?}",
            one.handle,
            one.detail_level,
            other.detail_level
        );
    }
    for (one, other) in smaller.report.chunks.iter().zip(&larger.report.chunks) {
        assert!(
            one.shown as u8 <= other.shown as u8,
            "3: {} sinks from {:?} to {:?}",
            one.name,
            one.shown,
            other.shown
        );
    }
    for register in Register::ALL.iter().copied() {
        let count = |context: &Context| context.volatile.matches(&format!("</{}>", register.name())).count();
        assert!(count(smaller) <= count(larger), "3: {} is lost", register.name());
    }
    for element in [
        "<philosophy",
        "<rules",
        "<when-to-create",
        "<initial-planning",
        "<position",
        "<sibling-status",
        "<next-action",
        "<first-child",
        "<next-sibling",
        "<warning",
    ] {
        let count = |context: &Context| context.xml.matches(element).count();
        assert!(count(smaller) <= count(larger), "3: {element} is lost");
    }
}

/// Makes changes that must not change a byte of any stable part.
fn disturb(stack: &Stack, random: &mut Random, frames: usize, current: Handle) {
    for round in 0..5 {
        let frame = Handle::from_index(random.below(frames)).unwrap();
        let note = format!("{round} {}", support::text(random, 5));
        // Some of these commands are refused; then nothing changes.
        let _ = match random.below(9) {
            8 => stack.update_registers(frame, [(Register::Next, note)].into()),
            7 => stack.summarize(frame, Results::new(note.clone()).compacted(note)),
            0 => stack.add_artifact(frame, note).map(drop),
            6 => stack.log(frame).set_path(random.pick(&["Cargo.toml", "src", "README.md"])),
            1 => stack.add_decision(frame, note),
            2 => stack.plan(NewFrame::new(note).below(frame)).map(drop),
            // An open frame with another ID has another session. The conversation of that session is new.
            3 if frame == current => stack.set_active(frame),
            3 => stack.replace_id(frame, format!("new_{round}_{}", random.next())),
            4 => stack.set_active(frame),
            _ => stack.identify(frame, Identity { title: note, ..Identity::default() }),
        };
    }
}

/// The finished siblings with the tags between them: the completed siblings and the failed siblings, in the
/// order in which they ended.
fn siblings_text(context: &Context) -> &str {
    let starts = ["<completed-siblings", "<failed-siblings"].map(|tag| context.stable.find(tag));
    let Some(start) = starts.into_iter().flatten().min() else { return "" };
    let inside = &context.stable[start..];
    let end = inside.rfind("</completed-siblings>").max(inside.rfind("</failed-siblings>"));
    end.map_or("", |end| &inside[..end])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_context_keeps_its_promises(seed in any::<u64>(), size in sizes()) {
        let mut random = Random::new(seed);
        let state = support::state(&mut random, size);
        let stack = support::stack_of(&state);
        let frame = Handle::from_index(random.below(size)).unwrap();
        let settings = settings(&mut random);
        let check = |total: usize| checked(&stack, &Approx, frame, &with_total(&settings, total));

        let Err(Error::BudgetTooSmall { needed, .. }) = check(1) else { panic!("a token is enough for {frame}") };
        let Err(Error::BudgetTooSmall { needed: again, .. }) = check(needed - 1) else {
            panic!("{} tokens are enough, but {needed} are said to be needed", needed - 1)
        };
        prop_assert_eq!(needed, again);
        let mut totals = vec![needed, needed + 1, needed + random.below(60), needed + random.below(500)];
        totals.extend([random.below(3_000), random.below(9_000)].map(|more| needed + more));
        totals.sort_unstable();
        let contexts: Vec<Context> = totals.iter().map(|total| check(*total).unwrap()).collect();
        for pair in contexts.windows(2) {
            assert_grows(&pair[0], &pair[1]);
        }

        let last = with_total(&settings, totals[totals.len() - 1]);
        let again = support::stack_of(&state).context_uncached(frame, &last).unwrap();
        prop_assert_eq!(&contexts[contexts.len() - 1], &again, "2: the same tree gives other bytes");
    }

    #[test]
    fn a_cap_in_bytes_keeps_the_same_promises(seed in any::<u64>(), size in sizes()) {
        let mut random = Random::new(seed);
        let stack = support::stack_of(&support::state(&mut random, size));
        let frame = Handle::from_index(random.below(size)).unwrap();
        let settings = settings(&mut random);
        let check = |total: usize, bytes: usize| {
            let budget = settings.budget.total(total).bytes(Some(bytes));
            checked(&stack, &Approx, frame, &settings.clone().budget(budget))
        };
        let needed = |result: Result<Context, Error>| match result {
            Err(Error::BudgetTooSmall { needed, unit, .. }) => (needed, unit),
            other => panic!("a token or byte is enough: {other:?}"),
        };
        let (total, unit) = needed(check(1, 1));
        prop_assert_eq!(unit, BudgetUnit::Tokens);
        let (bytes, unit) = needed(check(total, 1));
        prop_assert_eq!(unit, BudgetUnit::Bytes);
        prop_assert_eq!((bytes, unit), needed(check(total, bytes - 1)));
        prop_assert_eq!((total, BudgetUnit::Tokens), needed(check(total - 1, bytes)));

        let (mut tokens, mut cap) = (total, bytes);
        let mut before = check(tokens, cap).unwrap();
        for _ in 0..4 {
            match random.below(3) {
                0 => tokens += random.below(3_000),
                1 => cap += random.below(12_000),
                _ => (tokens, cap) = (tokens + random.below(2_000), cap + random.below(8_000)),
            }
            let after = check(tokens, cap).unwrap();
            assert_grows(&before, &after);
            before = after;
        }
    }

    #[test]
    fn the_stable_part_stays_until_a_push_a_pop_or_an_invalidation(seed in any::<u64>(), size in sizes()) {
        let mut random = Random::new(seed);
        let stack = support::stack_of(&support::state(&mut random, size));
        let frame = Handle::from_index(random.below(size)).unwrap();
        let total = 600 + random.below(6_000);
        let mut settings = with_total(&settings(&mut random), total);
        if random.once_in(3) {
            settings.budget.bytes = Some(total * (2 + random.below(4)));
        }
        let before = stack.context(frame, &settings).unwrap();
        disturb(&stack, &mut random, size, frame);
        let after = stack.context(frame, &settings).unwrap();
        prop_assert_eq!(&before.stable, &after.stable, "7: the stable part has moved");
        prop_assert!(checked(&stack, &Approx, frame, &settings).unwrap() == *after, "the cache answers with another context");

        // If the budget is large enough for all siblings, a sibling that finishes is appended.
        let roomy = settings.clone().budget(Budget::of_total(500_000).siblings(200_000).ancestors(200_000));
        let roomy = roomy.form(Form::Cached);
        let open = |tree: &callstack_core::Tree| {
            let mut siblings = tree.siblings(frame).filter(|sibling| {
                let is_dependency = tree.newest_dependencies(frame).any(|dependency| dependency == *sibling);
                tree.node(*sibling).status().is_open() && !is_dependency
            });
            siblings.next()
        };
        if let Some(sibling) = stack.read(open).unwrap().filter(|_| stack.read(|tree| tree.node(frame).started().is_some()).unwrap()) {
            set_status(&stack, sibling, FrameStatus::Blocked, None).ok();
            let before = stack.context(frame, &roomy).unwrap();
            let status = [PopStatus::Completed, PopStatus::Failed][random.below(2)];
            stack.pop(sibling, status, support::text(&mut random, 40)).unwrap();
            let after = stack.context(frame, &roomy).unwrap();
            let crowded = after.report.entries.iter().any(|entry| entry.omission == Some(Omission::Rank));
            prop_assert!(
                crowded || siblings_text(&after).starts_with(siblings_text(&before)),
                "7: {sibling} is not appended\n{}\n---\n{}", before.stable, after.stable
            );
        }
    }

    /// Data that is kept from earlier contexts never changes later contexts.
    #[test]
    fn contexts_are_the_same_with_and_without_what_was_kept(seed in any::<u64>(), size in 2usize..14) {
        let mut random = Random::new(seed);
        let stack = support::stack_of(&support::state(&mut random, size));
        let settings = with_total(&settings(&mut random), 4_000);
        for round in 0..5 {
            let frames = stack.read(|tree| tree.len()).unwrap();
            let [frame, other] = [(); 2].map(|()| Handle::from_index(random.below(frames)).unwrap());
            let text = support::text(&mut random, 12);
            // Some of these commands are refused; then nothing changes.
            let _ = match random.below(10) {
                0 => stack.push(NewFrame::new(format!("t{text}")).below(other)).map(drop),
                1 => stack.plan(NewFrame::new(format!("t{text}")).below(other).depends_on(frame)).map(drop),
                2 => stack.pop(other, [PopStatus::Completed, PopStatus::Failed, PopStatus::Blocked][random.below(3)], text).map(drop),
                3 => stack.activate(other),
                4 => stack.invalidate(other, "not needed").map(drop),
                5 => stack.summarize(other, Results::new(format!("t{text}"))),
                6 => stack.deliver(other),
                7 => stack.forget(other),
                8 => stack.replace_id(other, format!("id_{round}")),
                _ => stack.add_decision(other, format!("t{text}")),
            };
            let kept = stack.context_uncached(frame, &settings).unwrap();
            stack.upkeep().clear_cache(None).unwrap();
            let made = stack.context_uncached(frame, &settings).unwrap();
            prop_assert_eq!(&kept, &made, "round {}: {} differs", round, frame);
            // At the beginning of the next round, the data of all frames is kept.
            (0..frames).for_each(|index| drop(stack.context_uncached(Handle::from_index(index).unwrap(), &settings)));
        }
    }

    #[test]
    fn costs_of_pieces_add_up_to_no_less_than_the_whole(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let text = support::text(&mut random, 60);
        let at = floor_char_boundary(&text, random.below(text.len() + 1));
        let (one, other) = text.split_at(at);
        for (name, counter) in [("Approx", &Approx as &dyn TokenCounter), ("Chars4", &Chars4)] {
            prop_assert!(
                counter.count(&text) <= counter.count(one) + counter.count(other),
                "{name}: {one:?} and {other:?} cost less apart"
            );
        }
    }
}
