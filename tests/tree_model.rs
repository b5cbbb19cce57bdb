//! Trees against a naive model: random commands give the same frames, the same active frame and
//! the same errors; a refused command changes nothing; a replay of the events gives the same tree.

#[allow(dead_code, reason = "shared by several tests")]
mod common;
#[path = "common/model.rs"]
mod model;

use common::Random;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_do_what_a_naive_model_does(seed in any::<u64>(), length in 1usize..80) {
        model::check(&mut Random::new(seed), length);
    }
}
