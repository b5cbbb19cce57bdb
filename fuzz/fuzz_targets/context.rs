//! Fuzzes contexts of frames with arbitrary texts: they must be within the budget and well-formed, and must
//! count the omitted items.

#![no_main]

use callstack_core::context::Approx;
use callstack_core::text::floor_char_boundary;
use callstack_core::{Error, Handle};
use libfuzzer_sys::fuzz_target;
use support::Random;

fuzz_target!(|data: &[u8]| {
    let (choices, texts) = data.split_at(data.len() / 2);
    let texts = String::from_utf8_lossy(texts);
    let random = &mut Random::chosen_by(choices);
    let size = 1 + random.below(12);
    let mut state = support::state(random, size);
    let mut text = || {
        let from = floor_char_boundary(&texts, random.below(texts.len() + 1));
        let to = floor_char_boundary(&texts, from + random.below(texts.len() + 1 - from));
        texts[from..to].to_owned()
    };
    for frame in &mut state.frames {
        (frame.title, frame.success_criteria, frame.success_criteria_compacted) = (text(), text(), text());
        let lists = [&mut frame.artifacts, &mut frame.decisions];
        let results = [&mut frame.results, &mut frame.results_compacted];
        results.into_iter().flatten().chain(lists.into_iter().flatten()).for_each(|place| *place = text());
    }
    let frame = Handle::from_index(random.below(size)).expect("trees are small");
    let settings = support::promises::settings(random);
    let stack = support::stack_of(&state);
    let context = |total: usize| {
        support::promises::checked(&stack, &Approx, frame, &support::promises::with_total(&settings, total))
    };
    let Err(Error::BudgetTooSmall { needed, .. }) = context(1) else { panic!("a token is enough") };
    let more = random.below(4_000);
    for total in [needed, needed + more] {
        context(total).unwrap_or_else(|error| panic!("{needed} tokens should be sufficient: {error}"));
    }
});
