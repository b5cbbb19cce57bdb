//! Fuzzes sequences of commands and compares the results with the simple reference model of the tests.

#![no_main]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/common/model.rs"]
mod model;

use common::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // A command consumes about four choices of two bytes each.
    model::check(&mut Random::chosen_by(data), (data.len() / 8).clamp(1, 200));
});
