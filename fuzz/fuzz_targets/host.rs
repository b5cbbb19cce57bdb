//! Fuzzes hosts: sessions, events in any order, and tool calls of the agent.

#![no_main]

use support::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| support::host::run(&mut Random::chosen_by(data)));
