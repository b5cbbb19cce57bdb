//! Property test of trees against a simple model: random commands give the same frames, the same active frame and the
//! same errors; a refused command changes nothing; a replay of the events gives the same tree.

use proptest::prelude::*;
use support::Random;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_do_what_a_naive_model_does(seed in any::<u64>(), length in 1usize..80) {
        support::model::check(&mut Random::new(seed), length);
    }
}
