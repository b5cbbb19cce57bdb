//! Fuzzes hosts: sessions, events in any order, and tool calls of the agent.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::Random;

fuzz_target!(|data: &[u8]| support::host::run(&mut Random::chosen_by(data)));
