//! Simulated worlds: fixed seeds, fresh seeds, and what is said of a seed that breaks a rule.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_simulation::plans::Plans;
use callstack_simulation::run::{Found, explain, explain_in, run, run_again, steps_of};
use callstack_simulation::schedule;
use callstack_simulation::story::Story;
use callstack_simulation::world::Setting;

fn plans() -> Plans {
    Plans::read(&support::data("plans"))
}

/// What a seed has found, with its story and a test.
fn told(found: &Found) -> String {
    let Found { seed, failure, story, .. } = found;
    format!("{story}\n\nseed {seed} breaks: {}\n{}\n\n{}", failure.rule, failure.what, found.test())
}

/// Runs worlds for a time, at least a few.
fn check_worlds(first: u64, seconds: usize) {
    let plans = plans();
    let began = Instant::now();
    let mut seed = first;
    while seed < first + 5 || began.elapsed() < Duration::from_secs(seconds as u64) {
        if run(seed, &plans, Story::default()).failure.is_some() {
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
        let [one, other] = [(); 2].map(|()| run(seed, &plans, Story::hashing()));
        assert_eq!((one.hash, one.commands), (other.hash, other.commands), "seed {seed}");
        assert_ne!(one.hash, 0, "seed {seed}");
    }
}

#[test]
fn a_schedule_is_repeated_from_its_text() {
    let plans = plans();
    let setting = Setting::draw(5);
    let ran = run_again(5, &schedule::written(&steps_of(5, &setting)), &plans).unwrap();
    assert_eq!(ran.hash, run(5, &plans, Story::hashing()).hash);
    assert!(ran.story.contains("holds f"), "{}", ran.story);
    assert!(run_again(5, "1 2 z", &plans).is_err());
}

/// A simulation that finds nothing may be blind.
#[test]
fn a_medium_that_forgets_is_found_and_explained_in_few_steps() {
    let plans = plans();
    for seed in 1..4 {
        let setting = Setting { is_forgetful: true, ..Setting::draw(seed) };
        let found = explain_in(&setting, seed, &plans).expect("it is found");
        assert!(found.steps.len() < steps_of(seed, &setting).len(), "{}", found.story);
        assert!(found.story.contains("BROKEN"), "{}", found.story);
        assert!(found.test().contains(&format!("fn seed_{seed}()")), "{}", found.test());
    }
}
