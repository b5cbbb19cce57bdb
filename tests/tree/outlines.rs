//! Tests of large and deep trees: outlines have linear size, and nothing recurses over frames.

use callstack_core::{
    Frame, FrameStatus, Handle, OutlineOptions, OutlineStyle, PopStatus, Results, Settings, Stack, StackOptions,
    StackState,
};
use support::Queries;

fn chain(length: usize, status: FrameStatus) -> Vec<Frame> {
    let id = |index: usize| format!("ses_{index}");
    (0..length)
        .map(|index| Frame {
            session_id: id(index),
            parent_session_id: index.checked_sub(1).map(id),
            status: if index == 0 { FrameStatus::InProgress } else { status },
            title: format!("Level {index}"),
            created_at: 1,
            ..Frame::default()
        })
        .collect()
}

fn stack(frames: Vec<Frame>) -> Stack {
    Stack::from_state(StackState { frames, revision: 1, ..StackState::default() }, StackOptions::default()).0
}

#[test]
fn an_outline_grows_with_the_frames_and_not_with_their_depth() {
    for style in [OutlineStyle::Marked, OutlineStyle::Indented] {
        let options = OutlineOptions::default().style(style).width(0).details(true);
        let size = |length: usize| stack(chain(length, FrameStatus::InProgress)).outline(&options).unwrap().len();
        let (thousand, ten_thousand) = (size(1_000), size(10_000));
        assert!(ten_thousand < thousand * 11, "{style:?}: {thousand} bytes, ten times as deep {ten_thousand}");
    }
}

#[test]
fn ten_thousand_frames_have_a_line_each() {
    let mut random = support::Random::new(7);
    let state = support::state(&mut random, 10_000);
    let stack = support::stack_of(&state);
    let text = stack.outline(&OutlineOptions::default()).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 120 || line.starts_with("Legend:")));
    // Another line says what a frame waits for.
    let waiting = stack
        .read(|tree| {
            let waits = |frame: &Handle| match tree.node(*frame).status() {
                FrameStatus::Blocked => !tree.node(*frame).record().waits_for().trim().is_empty(),
                FrameStatus::Planned => tree.unfinished_dependencies(*frame).next().is_some(),
                _ => false,
            };
            tree.handles().filter(waits).count()
        })
        .unwrap();
    let rest = "a line a frame, and an empty one, the legend, the counts, the active frame";
    assert_eq!(text.lines().count(), 10_000 + waiting + 4, "{rest}");
}

#[test]
fn a_line_break_in_a_title_breaks_no_line() {
    let stack = stack(vec![Frame { title: "one\ntwo\u{1b}[31m".into(), session_id: "a".into(), ..Frame::default() }]);
    let text = stack.outline(&OutlineOptions::default().details(true)).unwrap();
    assert!(text.starts_with("[ ] f1 one two [31m\n"), "{text}");
}

/// Calls everything that walks the tree on a chain of 100,000 frames, in a thread with a small stack.
#[test]
fn depth_costs_no_stack() {
    let walk = || {
        let depth = 100_000;
        let frames = chain(depth, FrameStatus::Planned);
        let stack = stack(frames.clone());
        let last = stack.resolve("ses_99999").unwrap();
        assert_eq!(stack.ancestors(last).unwrap().len(), depth - 1);
        let context = stack.context(last, &Settings::default()).unwrap();
        roxmltree::Document::parse(&context.xml).unwrap();
        assert!(stack.outline(&OutlineOptions::default().details(true)).unwrap().lines().count() > depth);
        let (again, repairs) = StackState::from_json(&stack.state().unwrap().to_json()).unwrap();
        assert_eq!(again.frames.len(), depth, "{repairs:?}");
        assert_eq!(Stack::in_memory().import(frames).unwrap().len(), depth);
        let popped = stack.pop("ses_0", PopStatus::Completed, Results::new("done").compacted("d")).unwrap();
        assert_eq!(popped.still_planned.len(), depth - 1);
        assert_eq!(stack.invalidate("ses_0", "over").unwrap().invalidated.len(), depth);
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(walk).unwrap();
    thread.join().expect("no overflow and no failure");
}
