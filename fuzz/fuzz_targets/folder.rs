//! Fuzzes folders: links, pipes and damaged files in place of a stack's files. Opening, working and closing
//! must change nothing outside of the folder, must not hang, and must keep what was acknowledged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::Random;

fuzz_target!(|data: &[u8]| support::folder::check(&mut Random::chosen_by(data)));
