//! A session becomes a part of a stack.

use callstack_core::frame::ModelUsage;
use callstack_core::transcript::{Session, TranscriptForm};
use callstack_core::{EventQuery, FrameStatus, MemoryStore, NewFrame, PopStatus, Stack, StackOptions};
use proptest::prelude::*;
use support::Queries;

use super::{CLAUDE, FIXTURES, text};

fn stack() -> Stack {
    Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()
}

/// The session in the first lines of the fixture of Claude Code.
fn first(lines: usize) -> Session {
    let text = text(&format!("{CLAUDE}.jsonl"));
    let mut session = Session::new(TranscriptForm::Claude, "x");
    text.split(|byte| *byte == b'\n').take(lines).for_each(|line| session.follow_line(0, line));
    session.settle(true);
    session
}

#[test]
fn what_was_taken_over_is_the_session_and_comes_once() {
    for fixture in &FIXTURES {
        let (session, stack) = (fixture.read(), stack());
        let other = stack.push(NewFrame::new("Own work")).unwrap();
        let taken = stack.take_over(&session).unwrap();
        let name = fixture.name;
        assert_eq!((taken.added.len(), taken.is_update), (session.tree().len(), false), "{name}");
        assert_eq!(stack.active(), Some(other), "{name}: what is active stays");
        let root = taken.root.unwrap();
        let sum = |usage: &[ModelUsage]| -> ModelUsage { usage.iter().sum() };
        let own = sum(&session.tree().usage(session.tree().roots()[0]).total);
        assert_eq!(sum(&stack.usage(root).unwrap().total), own, "{name}");
        assert_eq!(taken.requests as u64, own.requests, "{name}");
        let revision = stack.read(|tree| tree.revision()).unwrap();
        let again = stack.take_over(&session).unwrap();
        assert!(
            again.is_update && again.added.is_empty() && again.changed.is_empty() && again.requests == 0,
            "{name}: {again:?}"
        );
        assert_eq!(stack.read(|tree| tree.revision()).unwrap(), revision, "{name}: nothing changes");
        let mut history = Vec::new();
        stack.history().export(&mut history).unwrap();
        let copy = Stack::rebuild_in_store(MemoryStore::new(), &*history, StackOptions::default()).unwrap();
        assert_eq!(copy.state().unwrap(), stack.state().unwrap(), "{name}: the history fits together");
    }
}

#[test]
fn a_session_in_parts_is_the_session_as_a_whole() {
    let text = String::from_utf8(text(&format!("{CLAUDE}.jsonl"))).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let answer = |line: &str| line.split_once(r#""requestId":"#).map(|(_, id)| id.chars().take(12).collect::<String>());
    // The session is not cut inside an answer, because the first lines of an answer do not show all
    // of its usage.
    let is_whole = |count: &usize| {
        lines.get(*count).and_then(|next| answer(next)).is_none_or(|next| answer(lines[count - 1]) != Some(next))
    };
    let whole = stack();
    whole.take_over(&first(lines.len())).unwrap();
    let parts = stack();
    for count in (1..=lines.len()).filter(is_whole) {
        parts.take_over(&first(count)).unwrap();
    }
    let frames = |stack: &Stack| -> Vec<(String, FrameStatus, Option<String>, Vec<ModelUsage>)> {
        let mut frames: Vec<_> = { stack.state().unwrap().frames.into_iter() }
            .map(|frame| {
                // A frame that continues keeps the results that it had.
                let results = frame.results.filter(|_| !frame.status.is_unfinished());
                (frame.session_id, frame.status, results, frame.usage)
            })
            .collect();
        frames.sort_by(|a, b| a.0.cmp(&b.0));
        frames
    };
    assert_eq!(frames(&parts), frames(&whole));
}

#[test]
fn requests_keep_their_times() {
    let (session, stack) = (first(100), stack());
    stack.take_over(&session).unwrap();
    let recorded = stack.history().events(&EventQuery::default().kind("usageRecorded")).unwrap();
    let first = recorded.first().unwrap();
    assert_eq!(first.time, 1_768_471_203_000, "10:00:03 of the day");
}

#[test]
fn a_frame_that_another_actor_has_continued_stays() {
    let stack = stack();
    // The session was killed in the first turn.
    let taken = stack.take_over(&first(6)).unwrap();
    let turn =
        taken.added.iter().copied().find(|frame| stack.frame(*frame).unwrap().session_id.ends_with(".t1")).unwrap();
    let frame = stack.frame(turn).unwrap();
    assert_eq!(frame.status, FrameStatus::Blocked);
    assert!(frame.waits_for().contains("has ended in the middle"), "{}", frame.waits_for());
    stack.resume(turn).unwrap();
    stack.pop(turn, PopStatus::Completed, "Built by another agent.").unwrap();
    let taken = stack.take_over(&first(19)).unwrap();
    assert_eq!(taken.kept, [turn]);
    assert_eq!(stack.frame(turn).unwrap().results.as_deref(), Some("Built by another agent."));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A session grows and is imported again and again, and people work on its frames in between. The history
    /// always fits together, and the work of the people stays.
    #[test]
    fn persons_at_work_between_imports_break_nothing(
        steps in prop::collection::vec((1usize..6, 0u8..8, any::<usize>()), 1..10),
        choice in any::<usize>(),
    ) {
        let fixtures: Vec<_> = FIXTURES.iter().filter(|fixture| !fixture.is_document()).collect();
        let fixture = fixtures[choice % fixtures.len()];
        let text = text(fixture.files[0]);
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let stack = stack();
        let mut read = 0;
        for (more, step, at) in steps {
            read = (read + more).min(lines.len());
            let mut session = Session::new(fixture.form(), "x");
            lines[..read].iter().for_each(|line| session.follow_line(0, line));
            session.settle(true);
            let before: Vec<_> = stack.state().unwrap().frames.iter().map(|frame| (frame.session_id.clone(), frame.status)).collect();
            let taken = stack.take_over(&session).unwrap();
            for kept in &taken.kept {
                let frame = stack.frame(*kept).unwrap();
                let was = before.iter().find(|(id, _)| *id == frame.session_id).map(|(_, status)| *status);
                prop_assert_eq!(was, Some(frame.status), "a frame that another actor has continued stays");
            }
            let frames = stack.state().unwrap().frames.len();
            if frames == 0 {
                continue;
            }
            let frame = stack.read(|tree| tree.handles().nth(at % frames).unwrap()).unwrap();
            match step {
                0 => drop(stack.pop(frame, PopStatus::Completed, "By hand")),
                1 => drop(stack.pop(frame, PopStatus::Failed, "By hand")),
                2 => drop(stack.retry(frame, None)),
                3 => drop(stack.invalidate(frame, "Nobody needs it")),
                4 => drop(stack.answer(frame, "Go on")),
                5 => drop(stack.resume(frame)),
                6 => drop(stack.push(NewFrame::new("Own work").below(frame))),
                _ => drop(stack.reopen(frame, "It is wrong")),
            }
            let mut history = Vec::new();
            stack.history().export(&mut history).unwrap();
            let copy = Stack::rebuild_in_store(MemoryStore::new(), &*history, StackOptions::default());
            prop_assert!(copy.is_ok(), "{}: {:?}", fixture.name, copy.err());
            prop_assert_eq!(copy.unwrap().state().unwrap(), stack.state().unwrap());
        }
    }
}
