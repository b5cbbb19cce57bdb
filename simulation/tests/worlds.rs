//! Simulated worlds: fixed seeds, fresh seeds, and the seeds that once found a fault.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_simulation::plans::Plans;
use callstack_simulation::run::{Found, explain, run, run_again};

fn plans() -> Plans {
    Plans::read(&support::data("plans"))
}

/// What a seed has found, with its story and a test.
fn told(found: &Found) -> String {
    let Found { seed, failure, story, .. } = found;
    format!("{story}\n\nseed {seed} breaks: {}\n{}\n\n{}", failure.rule, failure.what, found.test())
}

/// Runs a seed again with a schedule that once broke a rule.
fn check_again(seed: u64, steps: &str) {
    let ran = run_again(seed, steps, &plans()).unwrap();
    assert!(ran.failure.is_none(), "{}\n\nbreaks: {:?}", ran.story, ran.failure);
}

/// Runs worlds for a time, at least a few.
fn check_worlds(first: u64, seconds: usize) {
    let plans = plans();
    let began = Instant::now();
    let mut seed = first;
    while seed < first + 5 || began.elapsed() < Duration::from_secs(seconds as u64) {
        if run(seed, &plans).failure.is_some() {
            let found = explain(seed, &plans).expect("a seed breaks the same rule each time");
            panic!("{}", told(&found));
        }
        seed += 1;
    }
}

#[test]
fn worlds_of_fixed_seeds_keep_all_rules() {
    check_worlds(1, support::setting("SIMULATION_SECONDS", 60) / 2);
}

#[test]
fn worlds_of_fresh_seeds_keep_all_rules() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    check_worlds(now, support::setting("SIMULATION_SECONDS", 60) / 2);
}

#[test]
fn a_seed_is_repeated_to_the_byte() {
    let plans = plans();
    for seed in 1..12 {
        let [one, other] = [run(seed, &plans), run(seed, &plans)];
        assert_eq!((one.hash, one.commands), (other.hash, other.commands), "seed {seed}");
    }
}

/// Frames that waited for each other through a part stood still without a word: a part needed what waits for the
/// whole.
#[test]
fn seed_11() {
    check_again(
        11,
        "
            13078 2 580179
            1839 3 c75b13
            59 1 74611e
            21 1 cba95
            5112 0 303945
            32 3 ae77ef
            618 0 ec2166
            3905 2 822ae0
            3594 0 564fb9
            46276 2 a78306
            41 3 1ba8b0
        ",
    );
}
