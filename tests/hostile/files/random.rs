//! Random folders. No matter what is in them: nothing outside changes, no call hangs, and everything that is
//! acknowledged is kept. `STACK_TEST_FOLDERS` sets their number; the fuzz target `folder` searches for more.

use support::{Random, folder, in_time};

#[test]
fn random_folders_change_nothing_outside_and_lose_nothing() {
    let count = std::env::var("STACK_TEST_FOLDERS").map_or(300, |count| count.parse().unwrap());
    for seed in 0..count {
        in_time(&format!("the folder of seed {seed}"), move || folder::check(&mut Random::new(seed)));
    }
}
