//! Sequences of commands, held against the naive model of the tests.

#![no_main]

use support::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // A command takes about four choices of two bytes.
    support::model::check(&mut Random::chosen_by(data), (data.len() / 8).clamp(1, 200));
});
