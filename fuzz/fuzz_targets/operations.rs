//! Fuzzes sequences of commands: the tree must equal the naive model of the tests after each command.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::Random;

fuzz_target!(|data: &[u8]| {
    // A command takes about four choices of two bytes.
    support::model::check(&mut Random::chosen_by(data), (data.len() / 8).clamp(1, 200));
});
