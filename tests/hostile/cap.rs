//! No text breaks the cap of a context: token budgets against real tokenizers.

use callstack_core::context::{Approx, Chars4, TokenCounter};
use proptest::prelude::*;
use support::Random;
use support::tokenizers::{ALPHABETS, excess, piece, worst};

/// How many times as many tokens as the estimate says any text may have.
const EXCESS: f64 = 1.5;

/// A text of up to 60 pieces of one kind or of all kinds.
fn text(random: &mut Random) -> String {
    let alphabet = random.below(ALPHABETS);
    (0..random.below(60)).map(|_| if random.once_in(6) { " ".to_owned() } else { piece(random, alphabet) }).collect()
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
            let (one, other) = text.split_at(text.floor_char_boundary(random.below(text.len() + 1)));
            for (name, counter) in [("Approx", &Approx as &dyn TokenCounter), ("Chars4", &Chars4)] {
                prop_assert!(
                    counter.count(&text) <= counter.count(one) + counter.count(other),
                    "{name}: {one:?} and {other:?} cost less apart"
                );
            }
        }
    }
}
