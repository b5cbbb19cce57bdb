//! Fuzzes hosts: sessions, events in any order, and calls of the agent's tools.

#![no_main]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../tests/common/mod.rs"]
mod common;

use common::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| common::host::run(&mut Random::chosen_by(data)));
