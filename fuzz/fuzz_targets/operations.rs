//! Sequences of commands, held against the naive model of the tests.

#![no_main]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/common/model.rs"]
mod model;

use common::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // A command takes about four choices of two bytes.
    model::check(&mut Random::chosen_by(data), (data.len() / 8).clamp(1, 200));
});
