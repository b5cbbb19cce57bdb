//! No text exceeds the cap of a context: token budgets are compared with real tokenizers.

use std::sync::Arc;

use callstack_core::context::{Approx, Chars4, O200k, TokenCounter, counter};
use callstack_core::frame::Register;
use callstack_core::text::floor_char_boundary;
use callstack_core::{Error, Handle, NewFrame, PopStatus, Results, Settings, Stack, StackOptions, StackState};
use proptest::prelude::*;
use support::promises::{checked, with_total};
use support::tokenizers::{ALPHABETS, EVERYDAY, EXCESS, cl100k, everyday, excess, o200k, piece, search, worst};
use support::{Random, setting};

/// The factor by which the o200k tokens of a text that people and programs write may exceed the estimate.
const EVERYDAY_EXCESS: f64 = 1.1;

/// Number of texts that the search tests. `STACK_TEST_SEARCH` sets it.
fn evaluations() -> usize {
    setting("STACK_TEST_SEARCH", 3_000)
}

/// The seed of the random numbers of the search. `STACK_TEST_SEED` sets it.
fn seed() -> u64 {
    setting("STACK_TEST_SEED", 1) as u64
}

/// A text of up to 60 pieces of one kind or of all kinds.
fn text(random: &mut Random) -> String {
    let alphabet = random.below(ALPHABETS);
    (0..random.below(60)).map(|_| if random.once_in(6) { " ".to_owned() } else { piece(random, alphabet) }).collect()
}

/// A stack with a frame that depends on twelve other frames. The results of these frames are these texts.
/// Also returns the frame.
fn twelve_dependencies(results: impl Fn(usize) -> String, options: StackOptions) -> (Stack, Handle) {
    let stack = Stack::with_options(options);
    let root = stack.push(NewFrame::new("Build a shop")).unwrap();
    let mut last = NewFrame::new("Pay for the cart").below(root);
    for number in 0..12 {
        let part = stack.push(NewFrame::new(format!("Part {number}")).below(root)).unwrap();
        stack.pop(part, PopStatus::Completed, Results::new(results(number))).unwrap();
        last = last.depends_on(part);
    }
    let last = stack.push(last).unwrap();
    (stack, last)
}

/// The state of a random tree whose texts are the worst for the estimate.
fn hostile_state(random: &mut Random, size: usize) -> StackState {
    let mut state = support::state(random, size);
    for frame in &mut state.frames {
        (frame.title, frame.success_criteria, frame.success_criteria_compacted) =
            (text(random), text(random), text(random));
        let lists = [&mut frame.artifacts, &mut frame.decisions];
        let results = [&mut frame.results, &mut frame.results_compacted];
        let places = results.into_iter().flatten().chain(lists.into_iter().flatten());
        places.for_each(|place| *place = text(random));
    }
    state
}

#[test]
fn dependencies_of_blanks_neither_break_the_cap_nor_vanish_silently() {
    for blank in [" ", "\t", "\n", "\r\n", " \t", "\u{a0}", "\u{3000}", "\0", "\u{200b}", "\u{2028}\u{feff}"] {
        let results = |_| format!("before{}after", blank.repeat(100_000 / blank.len()));
        let (stack, frame) = twelve_dependencies(results, StackOptions::default());
        let context = stack.context(frame, &Settings::default()).unwrap();
        let both = context.stable.clone() + &context.volatile;
        for text in [&context.xml, &both] {
            let (tokens, bytes) = (o200k(text).max(cl100k(text)), text.len());
            assert!(tokens <= 4_000 && bytes <= 24_000, "{blank:?}: {tokens} tokens, {bytes} bytes");
        }
        let characters = blank.repeat(100_000 / blank.len()).chars().count() - 32;
        let element = format!("<results omitted-blanks=\"{characters}\">before");
        assert_eq!(context.xml.matches(&element).count(), 12, "{blank:?}: {}", context.xml);
        assert_eq!(context.xml.matches("after</results>").count(), 12, "{blank:?}: {}", context.xml);
    }
}

/// Tokenizers merge the last bytes of a character with the first ones of the next.
#[test]
fn characters_that_are_divided_between_them_are_priced_together() {
    let vowels = ["\u{e31}", "\u{e34}", "\u{e35}", "\u{e37}", "\u{e38}", "\u{e39}"];
    let mut pairs: Vec<String> = vowels.iter().map(|vowel| format!("\u{2800}{vowel}")).collect();
    pairs.extend(
        ["\u{e15}\u{300}", "\u{e14}\u{300}", "\u{e15}\u{e34}", "\u{e40}\u{e01}", "需\u{e34}"].map(str::to_owned),
    );
    for pair in pairs {
        let excess = excess(&Approx, &pair.repeat(400));
        assert!(excess <= EXCESS, "{excess:.2} times: {pair:?}");
    }
}

#[test]
fn a_context_of_characters_that_are_divided_between_them_keeps_its_budget() {
    let (stack, frame) = twelve_dependencies(|_| "\u{2800}\u{e31}".repeat(2_000), StackOptions::default());
    let context = stack.context(frame, &Settings::default()).unwrap();
    let tokens = o200k(&context.xml);
    assert!(tokens as f64 <= EXCESS * 4_000.0 && context.tokens <= 4_000, "{tokens} tokens, {} said", context.tokens);
}

#[test]
fn everyday_texts_have_at_most_a_tenth_more_tokens_than_the_estimate() {
    let mut random = Random::new(seed());
    let check = |text: &str| {
        let ratio = o200k(text) as f64 / Approx.count(text) as f64;
        assert!(ratio <= EVERYDAY_EXCESS, "{ratio:.3} times: {:?}", text.chars().take(200).collect::<String>());
    };
    check(&"The parser reads every option of the file. ".repeat(100));
    for kind in 0..EVERYDAY {
        for _ in 0..1 + evaluations() / 1_000 {
            check(&(0..80).map(|_| everyday(&mut random, kind) + "\n").collect::<String>());
        }
    }
}

/// The promise of README.md and SECURITY.md. `make soak` tests ten million texts. Prints the worst text of
/// each kind.
#[test]
fn a_long_search_finds_no_text_with_far_more_tokens_than_the_estimate() {
    let (evaluations, seed) = (evaluations(), seed());
    println!("{evaluations} texts from the seed {seed}");
    for (kind, text) in search(&mut Random::new(seed), &Approx, evaluations) {
        let excess = excess(&Approx, &text);
        println!("the worst of {kind}: {excess:.3} times: {text:?}");
        assert!(excess <= EXCESS, "{kind}, seed {seed}: {excess:.3} times: {text:?}");
    }
}

#[test]
fn blanks_are_shortened_wherever_a_text_of_a_frame_is_shown() {
    let gap = format!("one{}two", " ".repeat(500));
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new(&gap).criteria(&gap)).unwrap();
    stack.add_artifact(root, &gap).unwrap();
    stack.add_decision(root, &gap).unwrap();
    stack.plan(NewFrame::new(&gap).below(root)).unwrap();
    let short = format!("one{}two", " ".repeat(40));
    stack.update_registers(root, [(Register::Next, short)].into()).unwrap();
    let context = stack.context(root, &Settings::default()).unwrap();
    let shown = context.xml.matches("omitted-blanks=\"468\"").count();
    assert_eq!(shown, 6, "{}", context.xml);
    assert!(context.xml.contains("<R2_NEXT omitted-blanks=\"8\">one "), "{}", context.xml);
    assert!(!context.xml.contains(&" ".repeat(33)), "{}", context.xml);

    let usual = format!("{}one{0}two omitted-blanks=\"9\"{0}", " ".repeat(32));
    let other = stack.push(NewFrame::new("Other").criteria(usual)).unwrap();
    let context = stack.context(other, &Settings::default()).unwrap();
    let element = format!("<success-criteria>one{}two omitted-blanks=\"9\"</success-criteria>", " ".repeat(32));
    assert!(context.xml.contains(&element), "{}", context.xml);
}

/// Findings of the fuzz target `counter` and of the property test below.
#[test]
fn texts_that_were_found_cost_no_more_than_their_two_parts() {
    for (one, other) in [
        ("\u{fffd}\u{fffd} ", "\u{fffd}\u{fffd}\u{fffd}"),
        (" ", "————"),
        ("((( ", "****************"),
        ("a LICENSE", "ABCFactor"),
        ("LICENSE", "ABCFactor"),
        (" LICENSE", "ABCFactor"),
        (" Concept", "s۵"),
        (" Concept", "s𓍍  ۵𐗏ν𜰑/Y\n𓯔D滦⇇◟ {"),
    ] {
        assert!(Approx.count(&format!("{one}{other}")) <= Approx.count(one) + Approx.count(other), "{one:?} {other:?}");
    }
}

#[test]
fn counters_have_names() {
    let text = "A text of several words, 12345 digits and ———— signs.";
    for (name, expected) in [("approx", &Approx as &dyn TokenCounter), ("chars4", &Chars4), ("o200k", &O200k)] {
        assert_eq!(counter(name).unwrap().count(text), expected.count(text), "{name}");
    }
    assert_eq!(O200k.count(text), o200k(text));
    let error = counter("gpt").err().unwrap();
    assert_eq!((error.code(), error.to_string().contains("approx, chars4 or o200k")), ("setting", true), "{error}");
}

#[test]
fn o200k_is_additive_where_contexts_are_divided_and_not_everywhere() {
    assert!(O200k.count("recursivex") > O200k.count("recursive") + O200k.count("x"));
    let mut random = Random::new(6);
    for _ in 0..2_000 {
        let (one, other) = (text(&mut random) + "\n", random.pick(&["<", "("]).to_owned() + &text(&mut random));
        assert_eq!(O200k.count(&(one.clone() + &other)), O200k.count(&one) + O200k.count(&other), "{one:?} {other:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_has_far_more_tokens_than_the_estimate(seed in any::<u64>()) {
        let text = text(&mut Random::new(seed));
        prop_assert!(excess(&Approx, &text) <= EXCESS, "{:.3} times: {text:?}", excess(&Approx, &text));
    }

    #[test]
    fn a_search_finds_no_text_with_far_more_tokens_than_the_estimate(seed in any::<u64>(), alphabet in 0..ALPHABETS) {
        let text = worst(&mut Random::new(seed), &Approx, alphabet, 24);
        prop_assert!(excess(&Approx, &text) <= EXCESS, "{:.3} times: {text:?}", excess(&Approx, &text));
    }

    #[test]
    fn a_text_costs_no_more_than_its_two_parts(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let text = text(&mut random);
        for _ in 0..8 {
            let (one, other) = text.split_at(floor_char_boundary(&text, random.below(text.len() + 1)));
            for (name, counter) in [("Approx", &Approx as &dyn TokenCounter), ("Chars4", &Chars4)] {
                prop_assert!(
                    counter.count(&text) <= counter.count(one) + counter.count(other),
                    "{name}: {one:?} and {other:?} cost less apart"
                );
            }
        }
    }
}

proptest! {
    // Each case makes whole contexts.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1 + ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn no_context_has_far_more_tokens_than_its_budget(seed in any::<u64>(), size in 1usize..12) {
        let mut random = Random::new(seed);
        let stack = support::stack_of(&hostile_state(&mut random, size));
        let frame = Handle::from_index(random.below(size)).unwrap();
        let settings = support::promises::settings(&mut random);
        let total = 500 + random.below(4_000);
        let context = checked(&stack, &Approx, frame, &with_total(&settings, total)).unwrap();
        for text in [&context.xml, &(context.stable + &context.volatile)] {
            let tokens = o200k(text).max(cl100k(text));
            prop_assert!(tokens as f64 <= EXCESS * total as f64, "{tokens} of {total}: {text}");
        }
    }

    #[test]
    fn the_exact_counter_keeps_the_cap_exactly(seed in any::<u64>(), size in 1usize..12) {
        let mut random = Random::new(seed);
        let state = hostile_state(&mut random, size);
        let options = StackOptions::default().counter(Arc::new(O200k));
        let (stack, _) = Stack::from_state(state, options);
        let frame = Handle::from_index(random.below(size)).unwrap();
        let settings = support::promises::settings(&mut random);
        let check = |total: usize| checked(&stack, &O200k, frame, &with_total(&settings, total));
        let Err(Error::BudgetTooSmall { needed, .. }) = check(1) else { panic!("a token is enough for {frame}") };
        prop_assert!(check(needed - 1).is_err());
        for total in [needed, needed + random.below(100), needed + random.below(4_000)] {
            check(total).unwrap();
        }
    }
}
