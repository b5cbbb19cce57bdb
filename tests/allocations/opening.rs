//! Tests of the process memory that opening a large stack needs. `STACK_TEST_FRAMES` sets the number of
//! frames; `make soak` opens 100,000 frames of 3 KB, and prints the time.

use std::time::Instant;

use callstack_core::{NewFrame, PopStatus, Results, Stack, StackOptions};

#[test]
fn opening_takes_less_than_ten_kilobytes_for_a_frame_of_three() {
    let _turn = crate::turn();
    let frames: usize = std::env::var("STACK_TEST_FRAMES").map_or(2_000, |frames| frames.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let options = || StackOptions::default().mirror(false);
    let stack = Stack::open(folder.path(), options()).unwrap();
    let text = |bytes: usize, index: usize| format!("{index} all options of the file are read; ").repeat(bytes / 40);
    let root = stack.push(NewFrame::new("Root").id("ses_root")).unwrap();
    for index in 1..frames {
        let frame = NewFrame::new("Parse the configuration").id(format!("ses_{index:020}"));
        let handle = stack.push(frame.criteria(text(1_000, index)).below(root)).unwrap();
        stack.add_artifact(handle, format!("src/module_{index}.rs")).unwrap();
        stack.add_decision(handle, text(200, index)).unwrap();
        stack.pop(handle, PopStatus::Completed, Results::new(text(1_500, index)).compacted(text(300, index))).unwrap();
    }
    stack.close().unwrap();

    let _profiler = dhat::Profiler::builder().testing().build();
    let start = Instant::now();
    let stack = Stack::open(folder.path(), options()).unwrap();
    let time = start.elapsed();
    let peak = dhat::HeapStats::get().max_bytes / frames;
    assert_eq!(stack.read(callstack_core::Tree::len).unwrap(), frames);
    println!("{frames} frames opened in {time:?} under a memory profiler, {peak} bytes a frame at the peak");
    assert!(peak <= 10_000, "{peak} bytes a frame at the peak");
}
