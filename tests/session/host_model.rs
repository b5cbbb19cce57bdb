//! Property test with hosts that report events in any order: trees stay consistent, failed tools change
//! nothing, and every call is answered exactly once.

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_host_does_every_call_is_answered_once(choices in proptest::collection::vec(any::<u8>(), 0..600)) {
        support::host::run(&mut support::Random::chosen_by(&choices));
    }
}
