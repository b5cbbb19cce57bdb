//! Fuzzes the token estimate: no text, and none that a search from it finds, may have far more tokens in
//! o200k or cl100k than the estimate says, and a text must cost no more than its two parts.

#![no_main]

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::text::floor_char_boundary;
use libfuzzer_sys::fuzz_target;
use support::Random;
use support::tokenizers::{ALPHABETS, excess, worst};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (one, other) = text.split_at(floor_char_boundary(&text, text.len() / 2));
    assert!(Approx.count(&text) <= Approx.count(one) + Approx.count(other), "{one:?} and {other:?} cost less apart");

    let random = &mut Random::chosen_by(data);
    let alphabet = random.below(ALPHABETS);
    for text in [text.repeat(8), worst(random, &Approx, alphabet, 12)] {
        let excess = excess(&Approx, &text);
        assert!(excess <= 1.5, "{excess:.3} times: {text:?}");
    }
});
