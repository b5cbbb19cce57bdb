//! Property test of trees against a simple model: random commands give the same frames, the same active frame
//! and the same errors; a refused command changes nothing; a replay of the events gives the same tree.

#[cfg(feature = "tools")]
use callstack_core::Stack;
use proptest::prelude::*;
use support::Random;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_do_what_a_naive_model_does(seed in any::<u64>(), length in 1usize..80) {
        support::model::check(&mut Random::new(seed), length);
    }
}

#[cfg(feature = "tools")]
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: ProptestConfig::default().cases.div_ceil(4), ..ProptestConfig::default() })]

    #[test]
    fn stacks_that_keep_no_finished_tree_in_memory_do_the_same(seed in any::<u64>(), length in 50usize..300) {
        let folder = tempfile::tempdir().unwrap();
        let open = |options| Stack::open(folder.path(), options).unwrap();
        support::model::check_in_store(&mut Random::new(seed), length, seed as usize % 2, &open);
    }
}
