//! Fuzzes folding, for each wire: any text, and conversations of an agent that the bytes choose, also damaged
//! ones. What is no JSON comes back, and what is folded is JSON and folds no further.

#![no_main]

use callstack_core::fold::{FoldSettings, Wire, fold};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use support::Random;
use support::conversations::{Job, request};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let random = &mut Random::chosen_by(data);
    let rounds = 1 + random.below(24);
    let job = Job::new(random, rounds);
    for wire in Wire::ALL.iter().copied() {
        check(wire, &text);
        let whole = request(wire, &job.rounds);
        job.check(wire, &check(wire, &whole));
        let mut damaged = whole.into_bytes();
        let place = random.below(damaged.len());
        damaged[place] = random.below(256) as u8;
        check(wire, &String::from_utf8_lossy(&damaged));
    }
});

fn check(wire: Wire, text: &str) -> String {
    let folded = fold(wire, text, &FoldSettings::default());
    if serde_json::from_str::<Value>(text).is_err() {
        assert_eq!(folded.text, text, "{wire}");
    }
    if !folded.report.stretches.is_empty() {
        assert!(serde_json::from_str::<Value>(&folded.text).is_ok(), "{wire}: {text} {}", folded.text);
        let again = fold(wire, &folded.text, &FoldSettings::default());
        assert!(again.report.stretches.is_empty() && again.text == folded.text, "{wire}: {text} {}", folded.text);
    }
    folded.text.into_owned()
}
