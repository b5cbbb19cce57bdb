//! Tests of the context cache: hits, invalidation, lifetime and size.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::context::CacheStatistics;
use callstack_core::{
    Context, Frame, FrameStatus, Handle, NewFrame, PopStatus, Results, Settings, Stack, StackOptions, StackState,
};
use support::set_status;

struct Setting {
    stack: Stack,
    now: Arc<AtomicU64>,
    root: Handle,
    done: Handle,
    current: Handle,
}

fn setting() -> Setting {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let stack = Stack::with_options(support::options_at(&now));
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let done = stack.push(NewFrame::new("Done").id("done").below(root)).unwrap();
    stack.pop(done, PopStatus::Completed, Results::new("results").compacted("results")).unwrap();
    let current = stack.push(NewFrame::new("Current").id("current").below(root)).unwrap();
    Setting { stack, now, root, done, current }
}

impl Setting {
    fn context(&self) -> Arc<Context> {
        self.stack.context(self.current, &Settings::default()).unwrap()
    }

    /// True if the next context comes from the cache. Checks that it is correct in both cases.
    fn hits(&self) -> bool {
        let before = self.stack.upkeep().cache_statistics().hits;
        let context = self.context();
        assert_eq!(*context, self.stack.context_uncached(self.current, &Settings::default()).unwrap());
        self.stack.upkeep().cache_statistics().hits > before
    }
}

#[test]
fn the_second_call_is_a_hit() {
    let setting = setting();
    let first = setting.context();
    assert!(Arc::ptr_eq(&first, &setting.context()));
    let CacheStatistics { hits, misses, entries, .. } = setting.stack.upkeep().cache_statistics();
    assert_eq!((hits, misses, entries), (1, 1, 1));
}

#[test]
fn whatever_a_context_shows_makes_it_new() {
    type Change = fn(&Setting);
    let changes: [(&str, Change); 9] = [
        ("an artifact of the frame", |at| _ = at.stack.add_artifact(at.current, "a").unwrap()),
        ("a decision of the frame", |at| at.stack.add_decision(at.current, "d").unwrap()),
        ("a planned child", |at| _ = at.stack.plan(NewFrame::new("Child").below(at.current)).unwrap()),
        ("a planned sibling", |at| _ = at.stack.plan(NewFrame::new("Sibling").below(at.root)).unwrap()),
        ("a pushed sibling", |at| _ = at.stack.push(NewFrame::new("Sibling").below(at.root)).unwrap()),
        ("an invalidated sibling", |at| _ = at.stack.invalidate(at.done, "no").unwrap()),
        ("the status of the frame", |at| set_status(&at.stack, at.current, FrameStatus::Blocked, None).unwrap()),
        ("the status of the parent", |at| set_status(&at.stack, at.root, FrameStatus::Blocked, None).unwrap()),
        ("a cleared cache", |at| at.stack.upkeep().clear_cache(Some(at.current.into())).unwrap()),
    ];
    for (name, change) in changes {
        let setting = setting();
        setting.context();
        assert!(setting.hits(), "{name}: nothing has changed yet");
        change(&setting);
        assert!(!setting.hits(), "{name} must make a new context");
        assert!(setting.hits(), "{name}: and then it is kept");
    }
}

#[test]
fn what_a_context_does_not_show_leaves_it_in_the_cache() {
    let setting = setting();
    let other = setting.stack.push(NewFrame::new("Another task").id("other").root()).unwrap();
    setting.context();
    setting.stack.plan(NewFrame::new("Below it").below(other)).unwrap();
    setting.stack.add_artifact(other, "far.rs").unwrap();
    setting.stack.set_active(setting.current).unwrap();
    assert!(setting.hits());
}

#[test]
fn a_change_of_the_settled_view_is_seen_when_it_settles() {
    let setting = setting();
    setting.stack.add_artifact(setting.root, "of/the/root.rs").unwrap();
    assert!(!setting.context().xml.contains("of/the/root.rs"), "the stable part waits for a push or pop");
    let far = setting.stack.push(NewFrame::new("Another task").id("other").root()).unwrap();
    assert!(setting.context().xml.contains("of/the/root.rs"), "the push of {far} settles it");
}

#[test]
fn contexts_age() {
    let setting = setting();
    setting.context();
    setting.now.fetch_add(29_999, Ordering::Relaxed);
    assert!(setting.hits(), "30 seconds are not over");
    setting.now.fetch_add(1, Ordering::Relaxed);
    assert!(!setting.hits(), "30 seconds are over");
    setting.now.fetch_sub(60_000, Ordering::Relaxed);
    assert!(setting.hits(), "a clock that went back makes nothing older");
    setting.now.fetch_add(30_000, Ordering::Relaxed);
    assert!(!setting.hits(), "and nothing young again");
}

#[test]
fn fifty_contexts_are_kept_and_the_least_used_goes_first() {
    let setting = setting();
    let ask = |total: usize| {
        let before = setting.stack.upkeep().cache_statistics().hits;
        setting.stack.context(setting.current, &Settings::of_total(2_000 + total)).unwrap();
        setting.stack.upkeep().cache_statistics().hits > before
    };
    (0..50).for_each(|total| assert!(!ask(total)));
    assert!(ask(0), "all fifty are there");
    assert!(!ask(50), "the fifty-first is new");
    assert_eq!(setting.stack.upkeep().cache_statistics().entries, 50);
    assert!(ask(0), "the one just used has stayed");
    assert!(!ask(1), "the one not used for longest has gone");
    setting.stack.upkeep().clear_cache(None).unwrap();
    assert_eq!(setting.stack.upkeep().cache_statistics().entries, 0);
}

#[test]
fn a_dependency_that_is_finished_in_another_branch_makes_its_dependents_ready() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    for branch in ["one", "two"] {
        stack.push(NewFrame::new(branch).id(branch).below("root")).unwrap();
    }
    stack.push(NewFrame::new("Schema").id("schema").below("two")).unwrap();
    stack.plan(NewFrame::new("Queries").id("queries").below("one").depends_on("schema")).unwrap();
    let volatile = || stack.context("one", &Settings::default()).unwrap().volatile.clone();
    let waits = "No planned child can begin: f5 waits for f4, which is in_progress.";
    assert!(volatile().contains(waits), "{}", volatile());
    stack.pop("schema", PopStatus::Completed, "Three tables").unwrap();
    assert!(volatile().contains("stack_frame_activate f5"), "{}", volatile());
    stack.plan(NewFrame::new("More").id("more").below("one").depends_on("two")).unwrap();
    stack.pop("queries", PopStatus::Failed, "").unwrap_err();
    stack.invalidate("two", "not needed").unwrap();
    let lost = "Child f6 (More) depends on f3 (two), which is invalidated: not needed (stack_frame_edit f6 ";
    assert!(volatile().contains("stack_frame_activate f5") && volatile().contains(lost), "{}", volatile());
}

#[test]
fn a_new_id_of_a_finished_sibling_counts_at_once() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    for (id, title) in [("one", "Sweep the floor"), ("two", "Water the plants"), ("three", "Cook the soup")] {
        stack.push(NewFrame::new(title).id(id).below("root")).unwrap();
        stack.pop(id, PopStatus::Completed, "It is done").unwrap();
    }
    stack.push(NewFrame::new("Go on").id("now").below("root").criteria("As in ses-77")).unwrap();
    let context = || stack.context_uncached("now", &Settings::default()).unwrap();
    context();
    stack.add_artifact("one", "broom.rs").unwrap();
    stack.replace_id("one", "ses-77").unwrap();
    let kept = context();
    stack.upkeep().clear_cache(None).unwrap();
    assert_eq!(kept, context());
    let score = kept.report.entries.iter().find(|entry| entry.handle.to_string() == "f2").unwrap().score;
    assert!(kept.report.entries.iter().all(|entry| entry.score <= score || entry.score == 100.0), "{:#?}", kept.report);
}

#[test]
fn a_log_that_the_host_names_is_in_the_next_context_also_if_the_frame_had_its_path() {
    let frame = Frame {
        session_id: "ses_1".into(),
        status: FrameStatus::InProgress,
        title: "Build".into(),
        log_path: Some("Cargo.toml".into()),
        ..Frame::default()
    };
    let state = StackState { frames: vec![frame], root_frame_ids: vec!["ses_1".into()], ..StackState::default() };
    let (stack, repairs) = Stack::from_state(state, StackOptions::default());
    assert_eq!(repairs, []);
    let names_log = || stack.context("ses_1", &Settings::default()).unwrap().xml.contains("Cargo.toml");
    assert!(!names_log(), "the state may come from a stranger");
    stack.log("ses_1").set_path("Cargo.toml").unwrap();
    assert!(names_log());
}
