//! Fuzzes the reading of states, valid and broken. A state that was read and written must be readable again
//! without repairs, and must be equal.

#![no_main]

use callstack_core::{StackState, Tree};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok((state, _)) = StackState::salvage(data) {
        let count = state.frames.len();
        let (tree, _) = Tree::from_state(state);
        assert_eq!(tree.len(), count, "no frame is lost");
        let written = tree.state().to_json();
        let (again, unreadable) = StackState::from_json(&written).expect("a written state can be read");
        let (again, inconsistent) = Tree::from_state(again);
        assert!(unreadable.is_empty() && inconsistent.is_empty(), "{unreadable:?} {inconsistent:?} in {written}");
        assert_eq!(again.state(), tree.state());
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok((state, _)) = StackState::from_json(text)
    {
        let (salvaged, _) = StackState::salvage(data).expect("a readable state can be salvaged");
        assert_eq!(salvaged, state);
    }
});
