//! Simulated worlds: fixed seeds, fresh seeds, and what is said of a seed that breaks a rule.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_simulation::plans::Plans;
use callstack_simulation::run::{Found, Ran, explain, run, run_again, run_in, steps_of};
use callstack_simulation::schedule;
use callstack_simulation::setting::Setting;
use callstack_simulation::story::Story;

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
        check(&run(seed, &plans, Story::default()), &Setting::draw(seed), seed, &plans);
        seed += 1;
    }
}

/// No rule was broken.
fn check(ran: &Ran, setting: &Setting, seed: u64, plans: &Plans) {
    if ran.failure.is_some() {
        let found = explain(setting, seed, plans).expect("a seed breaks the same rule each time");
        panic!("{}", told(&found));
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
    for seed in 1..6 {
        let [one, other] = [(); 2].map(|()| run(seed, &plans, Story::hashing()));
        assert_eq!((one.hash, one.commands), (other.hash, other.commands), "seed {seed}");
        assert_ne!(one.hash, 0, "seed {seed}");
    }
}

#[test]
fn a_schedule_is_repeated_from_its_text() {
    let plans = plans();
    let (mut adversarial, mut told) = (0, 0);
    let small = |seed: &u64| Setting::draw(*seed).size <= 12;
    for seed in (1..40).filter(small) {
        let setting = Setting::draw(seed);
        let ran = run(seed, &plans, Story::hashing());
        let again = run_again(&setting, &schedule::written(&ran.steps), &plans).unwrap();
        assert_eq!((again.hash, again.commands), (ran.hash, ran.commands), "seed {seed}");
        assert_eq!(again.steps, ran.steps, "seed {seed}");
        adversarial += usize::from(setting.is_adversarial);
        told += usize::from(again.story.contains("holds f"));
    }
    assert!(adversarial > 0 && told > 0, "{adversarial} adversaries, {told} stories");
    assert!(run_again(&Setting::draw(5), "1 2 z", &plans).is_err());
}

#[test]
fn an_adversary_lets_more_commands_meet_than_chance_does() {
    let plans = plans();
    let pairs = |is_adversarial: bool| {
        let mut pairs = std::collections::BTreeSet::new();
        for seed in 1..10 {
            let setting = Setting { is_adversarial, steps: 40, size: 8, ..Setting::draw(seed) };
            let ran = run_in(&setting, seed, &plans, Story::default());
            check(&ran, &setting, seed, &plans);
            pairs.extend(ran.pairs);
        }
        pairs.len()
    };
    let (with, without) = (pairs(true), pairs(false));
    assert!(with > 2 * without, "{with} pairs with an adversary, {without} without");
}

/// A world of hundreds of machines, beside the small ones.
#[test]
fn a_swarm_keeps_all_rules() {
    let plans = plans();
    let is_large = |seed: &u64| Setting::swarm(*seed).clocks.len() > 100;
    let seed = (1..).find(is_large).expect("some swarms are large");
    let setting = Setting { size: 150, steps: 500, ..Setting::swarm(seed) };
    check(&run_in(&setting, seed, &plans, Story::default()), &setting, seed, &plans);
    let machines: Vec<usize> = (1..200).map(|seed| Setting::swarm(seed).clocks.len()).collect();
    assert!(machines.iter().any(|machines| *machines > 500) && machines.contains(&1), "{machines:?}");
}

/// A simulation that finds nothing may be blind.
#[test]
fn a_medium_that_forgets_is_found_and_explained_in_few_steps() {
    let plans = plans();
    for seed in 1..4 {
        let setting = Setting { is_forgetful: true, ..Setting::draw(seed) };
        let found = explain(&setting, seed, &plans).expect("it is found");
        assert!(found.steps.len() < steps_of(seed, &setting).len(), "{}", found.story);
        assert!(found.story.contains("BROKEN"), "{}", found.story);
        assert!(found.test().contains(&format!("fn seed_{seed}()")), "{}", found.test());
    }
}
