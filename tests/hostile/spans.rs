//! If a clock is set, that does not stop actions that are due. A pattern of an agent does not delay
//! other calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::context::Settings;
use callstack_core::session::subagents::SubagentSettings;
use callstack_core::session::{Effect, HostEvent};
use callstack_core::{HostSettings, NewFrame, Stack, StackOptions, tools};
use serde_json::{Value, json};

const YEAR: u64 = 365 * 24 * 3_600_000;
const NOW: u64 = 1_800_000_000_000;

/// A stack whose time of day and whose monotonic clock a test controls.
struct Clocks {
    stack: Stack,
    time_of_day: Arc<AtomicU64>,
    monotonic: Arc<AtomicU64>,
}

impl Clocks {
    fn new(has_monotonic: bool) -> Self {
        let [time_of_day, monotonic] = [NOW, 5_000].map(|time| Arc::new(AtomicU64::new(time)));
        let options = support::options_at(&time_of_day);
        let reading = monotonic.clone();
        let options: StackOptions = match has_monotonic {
            true => options.monotonic_clock(Some(Arc::new(move || reading.load(Ordering::Relaxed)))),
            false => options,
        };
        Self { stack: Stack::with_options(options), time_of_day, monotonic }
    }

    fn pass(&self, milliseconds: u64) {
        self.time_of_day.fetch_add(milliseconds, Ordering::Relaxed);
        self.monotonic.fetch_add(milliseconds, Ordering::Relaxed);
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap())
    }

    /// The time for which a host would wait until its next poll.
    fn wait(&self) -> Option<u64> {
        let deadline = self.stack.host().deadline()?;
        Some(deadline.saturating_sub(self.time_of_day.load(Ordering::Relaxed)))
    }

    fn settle(&self) {
        let _ = self.stack.host().poll();
    }
}

fn reads_messages(effects: &[Effect], session: &str) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::ReadMessages { session_id } if session_id == session))
}

/// A subagent has been idle for a second. It is completed after five seconds.
fn idle_subagent(has_monotonic: bool) -> Clocks {
    let clocks = Clocks::new(has_monotonic);
    clocks.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Root"}));
    clocks.tell(json!({"kind": "message", "sessionID": "root", "messageID": "1", "role": "user", "text": "Build"}));
    clocks.tell(json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "root", "title": "a subagent"}));
    clocks.tell(json!({"kind": "sessionIdle", "sessionID": "sub"}));
    clocks.pass(1_000);
    clocks.settle();
    assert_eq!(clocks.wait(), Some(4_000));
    clocks
}

#[test]
fn a_clock_set_back_a_year_stops_nothing_that_is_due() {
    for has_monotonic in [true, false] {
        let clocks = idle_subagent(has_monotonic);
        clocks.time_of_day.fetch_sub(YEAR, Ordering::Relaxed);
        assert_eq!(clocks.wait(), Some(4_000), "the wait is the same");
        clocks.pass(3_999);
        assert!(!reads_messages(&clocks.stack.host().poll(), "sub"));
        clocks.pass(1);
        assert!(reads_messages(&clocks.stack.host().poll(), "sub"), "the idle subagent is completed");
    }
}

#[test]
fn a_clock_set_forward_or_a_sleep_of_the_machine_ends_no_span() {
    let clocks = idle_subagent(true);
    clocks.time_of_day.fetch_add(YEAR, Ordering::Relaxed);
    assert_eq!(clocks.wait(), Some(4_000));
    assert!(!reads_messages(&clocks.stack.host().poll(), "sub"));
    clocks.pass(4_000);
    assert!(reads_messages(&clocks.stack.host().poll(), "sub"));
}

#[test]
fn the_time_limit_of_a_call_survives_every_change_of_the_clock() {
    for (has_monotonic, is_back) in [(true, true), (true, false), (false, true)] {
        let clocks = Clocks::new(has_monotonic);
        clocks.stack.push(NewFrame::new("Root").id("root")).unwrap();
        let arguments =
            json!({"title": "Part", "successCriteria": "Done", "successCriteriaCompacted": "", "timeLimit": 60_000});
        let answer = tools::call(&clocks.stack, "root", "stack_frame_push", &arguments.to_string());
        let call = answer.call.unwrap();
        clocks.tell(json!({"kind": "callStarted", "call": call, "sessionID": "part"}));
        clocks.settle();
        clocks.pass(10_000);
        clocks.settle();
        match is_back {
            true => clocks.time_of_day.fetch_sub(YEAR, Ordering::Relaxed),
            false => clocks.time_of_day.fetch_add(YEAR, Ordering::Relaxed),
        };
        assert!(clocks.wait().is_some_and(|wait| wait <= 1_000), "it looks at the frames of calls each second");
        let aborted = || {
            let effects = clocks.stack.host().poll();
            effects.iter().any(|effect| matches!(effect, Effect::AbortSession { .. }))
        };
        clocks.pass(49_999);
        assert!(!aborted());
        clocks.pass(1);
        assert!(aborted());
    }
}

#[test]
fn contexts_and_suggestions_age_although_the_clock_is_set_back() {
    let clocks = Clocks::new(true);
    let root = clocks.stack.push(NewFrame::new("Root").id("root")).unwrap();
    let signals = r#"{"errorCount": 5, "recentMessages": 80}"#;
    tools::call(&clocks.stack, "root", "stack_should_push", signals);
    let is_suggested =
        || clocks.stack.host().context("root").unwrap().unwrap().context.xml.contains("STACK SUGGESTION");
    assert!(is_suggested());
    clocks.time_of_day.fetch_sub(YEAR, Ordering::Relaxed);
    clocks.pass(299_999);
    assert!(is_suggested());
    clocks.pass(1);
    assert!(!is_suggested(), "after five minutes it has expired");
    clocks.stack.context(root, &Settings::default()).unwrap();
    clocks.time_of_day.fetch_sub(YEAR, Ordering::Relaxed);
    let before = clocks.stack.upkeep().cache_statistics();
    clocks.stack.context(root, &Settings::default()).unwrap();
    assert_eq!(clocks.stack.upkeep().cache_statistics().hits, before.hits + 1, "it is as fresh as before");
    clocks.pass(30_000);
    clocks.stack.context(root, &Settings::default()).unwrap();
    assert_eq!(clocks.stack.upkeep().cache_statistics().misses, before.misses + 1);
}

#[test]
fn spans_without_an_end_do_not_wrap() {
    let clocks = Clocks::new(true);
    let settings = SubagentSettings::default().idle_completion_delay(u64::MAX).min_duration(u64::MAX);
    assert!(clocks.stack.host().configure(HostSettings::default().subagents(settings)).is_empty());
    clocks.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Root"}));
    clocks.tell(json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "root", "title": "a subagent"}));
    clocks.tell(json!({"kind": "sessionIdle", "sessionID": "sub"}));
    clocks.settle();
    assert!(clocks.wait().unwrap() > 1_000 * YEAR);
    clocks.pass(YEAR);
    assert!(!reads_messages(&clocks.stack.host().poll(), "sub"));
}

#[test]
fn a_pattern_of_an_agent_is_bounded_and_the_answer_names_the_limit() {
    let stack = Stack::in_memory();
    let configure = |arguments: Value| tools::call(&stack, "root", "stack_config", &arguments.to_string());
    let before = stack.host().settings();
    for pattern in ["(a{100}){100}".to_owned(), "a".repeat(99_000), "(?:){1000000}".to_owned()] {
        let answer = configure(json!({"addPattern": pattern}));
        let text = answer.text.unwrap();
        assert!(answer.is_error && text.contains("at most 200 characters and without large repetitions"), "{text}");
        assert!(text.len() < 400, "{text}");
        assert_eq!(stack.host().settings(), before, "a refused call changes nothing");
    }
    for number in before.subagents.patterns.len()..20 {
        let answer = configure(json!({"addPattern": format!("pattern {number}")}));
        assert!(!answer.is_error, "{answer:?}");
    }
    let answer = configure(json!({"addPattern": "one more"}));
    assert!(answer.is_error && answer.text.unwrap().contains("must be at most 20 patterns"));
    assert!(!configure(json!({"removePattern": "pattern 7"})).is_error);
    assert!(!configure(json!({"addPattern": "one more"})).is_error);
}

#[test]
fn a_chain_of_sessions_that_wait_for_each_other_does_not_recurse() {
    let clocks = Clocks::new(true);
    const LENGTH: usize = 20_000;
    // The newest session comes first: each session waits until its parent is described.
    for number in (1..LENGTH).rev() {
        let [session, parent] = [number, number - 1].map(|number| format!("s{number}"));
        clocks.tell(json!({"kind": "sessionCreated", "sessionID": session, "parentID": parent, "title": "a fork"}));
    }
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    std::thread::scope(|scope| {
        let describe = || clocks.tell(json!({"kind": "sessionCreated", "sessionID": "s0", "title": "Root"}));
        thread.spawn_scoped(scope, describe).unwrap().join().unwrap();
    });
    let listed = tools::call(&clocks.stack, "s0", "stack_stats", "{}").text.unwrap();
    assert!(listed.contains(&format!(r#""sessions": {}"#, LENGTH - 1)), "{listed}");
}
