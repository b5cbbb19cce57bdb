//! Fuzzes the way of a plan into a stack, back into its file, and into the stack again.

#![no_main]

use callstack_core::{FrameStatus, NewFrame, PopStatus, Stack, import};
use libfuzzer_sys::fuzz_target;
use support::Queries;

fuzz_target!(|input: (&[u8], &str)| {
    let (steps, text) = input;
    let Ok(plan) = import::frames(text) else { return };
    let stack = Stack::in_memory();
    // A plan without entries, or with IDs that no frame can have.
    if plan.frames.is_empty() || stack.bring_up_to_date(&plan, None).is_err() {
        return;
    }
    let Ok(untouched) = stack.read(|tree| import::export(tree, text, "")).unwrap() else { return };
    assert_eq!(untouched.text, text, "nothing was done, and no byte changes");
    let count = stack.read(|tree| tree.len()).unwrap();
    for step in steps {
        let frame = stack
            .read(|tree| tree.handles().nth(usize::from(*step) % count))
            .unwrap()
            .expect("there are so many frames");
        // What is not possible is refused.
        drop(match step >> 5 {
            0..=2 => stack.activate(frame).map(drop),
            3 => stack.pop(frame, PopStatus::Completed, "Made it").map(drop),
            4 => stack.pop(frame, PopStatus::Failed, "No").map(drop),
            5 => stack.invalidate(frame, "Nobody needs it").map(drop),
            6 => stack.plan(NewFrame::new("New").below(frame)).map(drop),
            _ => stack.block(frame, "Which one?", None).map(drop),
        });
    }
    let exported =
        stack.read(|tree| import::export(tree, text, "")).unwrap().expect("what could be exported can be after work");
    let again = import::frames(&exported.text).expect("the file can be read again");
    stack.note_export(&exported).expect("the stack is in memory");
    let statuses =
        || stack.state().unwrap().frames.into_iter().map(|frame| (frame.session_id, frame.status)).collect::<Vec<_>>();
    let before = statuses();
    stack.bring_up_to_date(&again, None).unwrap_or_else(|error| panic!("{}: {error}", exported.text));
    let has_begun = |status: FrameStatus| !matches!(status, FrameStatus::Planned | FrameStatus::Blocked);
    for (before, after) in before.iter().zip(&statuses()).filter(|(before, _)| has_begun(before.1)) {
        assert_eq!(before, after, "what has begun or ended stays");
    }
});
