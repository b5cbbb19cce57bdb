//! Fuzzes check lists in Markdown: what is read fits into a tree, and reading it again changes nothing.

#![no_main]

use callstack_core::{Stack, import};
use libfuzzer_sys::fuzz_target;
use support::Queries;

fuzz_target!(|text: &str| {
    let Ok(plan) = import::checklist(text) else { return };
    for frame in &plan.frames {
        assert!(!frame.title.trim().is_empty(), "{frame:?} has a title");
    }
    let stack = Stack::in_memory();
    let first = stack.bring_up_to_date(&plan, None).unwrap_or_else(|error| panic!("{plan:?}: {error}"));
    assert_eq!(first.added.len(), plan.frames.len(), "every frame is new");
    let before = stack.state();
    let second = stack.bring_up_to_date(&plan, None).unwrap_or_else(|error| panic!("{plan:?}: {error}"));
    assert!(second.added.is_empty() && second.changes.is_empty() && second.conflicts.is_empty(), "{second:?}");
    assert_eq!(stack.state(), before, "the second time changes nothing");
});
