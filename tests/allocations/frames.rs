//! Tests of the process memory that a frame takes, without its texts.

use callstack_core::{NewFrame, PopStatus, Results, Stack};

#[test]
fn a_frame_costs_less_than_a_kilobyte_beside_its_texts() {
    let _turn = crate::turn();
    const FRAMES: usize = 100_000;
    let _profiler = dhat::Profiler::builder().testing().build();
    let before = dhat::HeapStats::get().curr_bytes;
    let stack = Stack::in_memory();
    let mut texts = 0;
    let mut text = |text: String| {
        texts += text.len();
        text
    };
    let root = stack.push(NewFrame::new("Root").id("ses_root")).unwrap();
    let mut parent = root;
    for index in 1..FRAMES {
        let frame = NewFrame::new(text(format!("Frame {index}")))
            .id(text(format!("ses_{index:020}")))
            .criteria(text("All options of the file are read".repeat(3)))
            .criteria_compacted(text("All options are read".into()))
            .below(parent);
        let handle = stack.push(frame).unwrap();
        stack.add_artifact(handle, text(format!("src/module_{index}.rs"))).unwrap();
        stack.add_decision(handle, text("Options are read once".into())).unwrap();
        if index % 8 == 0 {
            parent = handle;
        } else {
            stack
                .pop(
                    handle,
                    PopStatus::Completed,
                    Results::new(text("It works".repeat(10))).compacted(text("It works".into())),
                )
                .unwrap();
        }
    }
    let used = dhat::HeapStats::get().curr_bytes - before;
    // A program that keeps the order of keys in JSON has larger maps. Frames use such maps for keys that they
    // do not know.
    let ordered =
        size_of::<serde_json::Map<String, serde_json::Value>>() - size_of::<std::collections::BTreeMap<u8, u8>>();
    let beside = (used - texts) / FRAMES - ordered;
    println!("{beside} bytes a frame beside {} bytes of texts", texts / FRAMES);
    assert!(beside <= 1024, "{beside} bytes a frame beside its texts");
}
