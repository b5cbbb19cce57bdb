//! Tests of the process memory that contexts need.

use callstack_core::{NewFrame, PopStatus, Settings, Stack};

#[test]
fn the_finished_siblings_of_an_ancestor_take_no_memory_each_time() {
    let _turn = crate::turn();
    let bytes = |siblings: usize| {
        let stack = Stack::in_memory();
        stack.push(NewFrame::new("Root").id("root")).unwrap();
        for number in 0..siblings {
            let sibling = NewFrame::new(format!("Page {} of the shop", number % 10)).id(format!("s{number}"));
            let sibling = stack.push(sibling.below("root")).unwrap();
            stack.pop(sibling, PopStatus::Completed, "It works").unwrap();
        }
        stack.push(NewFrame::new("Page of the shop").id("parent").below("root")).unwrap();
        let context_of = |id: &str| {
            stack.push(NewFrame::new("Page 3").id(id).below("parent")).unwrap();
            stack.context(id, &Settings::default()).unwrap()
        };
        let before = context_of("first");
        let profiler = dhat::Profiler::builder().testing().build();
        let after = context_of("second");
        let bytes = dhat::HeapStats::get().total_bytes;
        drop(profiler);
        assert_eq!(after.report.entries.len(), before.report.entries.len());
        bytes
    };
    let (few, many) = (bytes(2_000), bytes(20_000));
    println!("{few} bytes beside 2,000 siblings, {many} beside 20,000");
    assert!(few > 1_000 && many <= few + few / 10, "{few} bytes beside 2,000 siblings, {many} beside 20,000");
}

#[test]
fn what_is_kept_to_find_a_sibling_is_bounded_whatever_its_texts_are() {
    let _turn = crate::turn();
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    let mut random = support::Random::new(1);
    let mut words = || -> String {
        let mut word = || -> String { (0..7).map(|_| char::from(b'a' + random.below(26) as u8)).collect() };
        (0..1_800).map(|_| word() + " ").collect()
    };
    const SIBLINGS: u64 = 400;
    for number in 0..SIBLINGS {
        let sibling = NewFrame::new(format!("Page {number}")).id(format!("s{number}")).criteria(words());
        let sibling = stack.push(sibling.below("root")).unwrap();
        stack.add_artifact(sibling, words()).unwrap();
        stack.add_decision(sibling, words()).unwrap();
        stack.pop(sibling, PopStatus::Completed, words()).unwrap();
    }
    let frame = stack.push(NewFrame::new("Another page").below("root")).unwrap();
    let profiler = dhat::Profiler::builder().testing().build();
    let context = stack.context(frame, &Settings::default()).unwrap();
    let bytes = dhat::HeapStats::get().curr_bytes as u64 / SIBLINGS;
    drop(profiler);
    drop(context);
    println!("{bytes} bytes for each sibling");
    assert!((5_000..60_000).contains(&bytes), "{bytes} bytes are kept for each sibling");
}
