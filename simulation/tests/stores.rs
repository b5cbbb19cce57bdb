//! The simulated store passes the suite that the stores in SQLite and in PostgreSQL have to pass, so that the model
//! of a store is not a wish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callstack_core::{Error, Event, LogQuery, NewFrame, PopStatus, Result, Stack, StackOptions, Store};
use callstack_simulation::medium::{Call, Calm, Fate, Kind, Medium, Outcome};
use support::faults::{self, Faulty, Place};
use support::{Queries, Random};

/// A stack in a simulated medium.
struct Simulated(Arc<Medium>);

impl Simulated {
    fn open(&self) -> Stack {
        Stack::with_store(self.0.store(Arc::new(Calm)), StackOptions::default()).unwrap()
    }
}

impl Place for Simulated {
    fn store(&self) -> Box<dyn Store> {
        Box::new(self.0.store(Arc::new(Calm)))
    }

    fn stack(&self, store: Faulty) -> Stack {
        Stack::with_store(store, StackOptions::default()).unwrap()
    }

    fn commits_logs(&self) -> bool {
        true
    }

    fn log(&self) -> String {
        let stack = self.open();
        let logs = ["plan-2", "ses_2"].map(|frame| stack.log(frame).read(&LogQuery::default()));
        logs.into_iter().flatten().flat_map(|page| page.lines).map(|line| line.entry.to_string()).collect()
    }

    fn check(&self, context: &str) {
        assert_eq!(self.open().history().check().unwrap(), [""; 0], "{context}");
    }
}

fn place(kind: Kind) -> Box<dyn Place> {
    Box::new(Simulated(Medium::new(kind)))
}

const KINDS: [Kind; 2] = [Kind::Folder, Kind::Server];

#[test]
fn a_store_that_fails_at_any_call_changes_nothing() {
    KINDS.iter().for_each(|kind| faults::a_store_that_fails_at_any_call_changes_nothing(&|| place(*kind)));
}

#[test]
fn a_run_whose_store_fails_at_any_call_goes_on_and_its_logs_lack_nothing() {
    KINDS.iter().for_each(|kind| faults::a_run_whose_store_fails_at_any_call_goes_on(&|| place(*kind)));
}

#[test]
fn an_event_is_kept_whole_or_not_at_all() {
    KINDS.iter().for_each(|kind| faults::an_event_is_kept_whole_or_not_at_all(&|| place(*kind)));
}

/// A process that dies at one of its calls.
struct Dying {
    left: AtomicUsize,
    /// True: the call is carried out before.
    is_after: bool,
}

impl Fate for Dying {
    fn strike(&self, _: Call) -> Outcome {
        let dead = || Error::io("reach", "the stack", "the process has died");
        match self.left.load(Ordering::Relaxed) {
            0 => Outcome::Fails(dead()),
            1 if self.is_after => {
                self.left.store(0, Ordering::Relaxed);
                Outcome::DoneAndFails(dead())
            }
            left => {
                self.left.store(left - 1, Ordering::Relaxed);
                if left == 1 { Outcome::Fails(dead()) } else { Outcome::Done }
            }
        }
    }

    fn wait(&self, _: Duration) {}

    fn committed(&self, _: &[Arc<Event>]) {}
}

/// What is acknowledged is kept, and of what a process did when it died all or nothing.
#[test]
fn a_process_may_die_at_any_call() {
    for kind in KINDS {
        for is_after in [false, true] {
            let mut deaths = 0;
            for call in 1.. {
                let medium = Medium::new(kind);
                let fate = Arc::new(Dying { left: AtomicUsize::new(call), is_after });
                let store = medium.store(fate.clone());
                let session = store.number();
                let mut done = Vec::new();
                if let Ok(stack) = Stack::with_store(store, StackOptions::default()) {
                    let ids = (0..3).map(|number| format!("part-{number}"));
                    done = ids.take_while(|id| work(&stack, id).is_ok()).collect();
                }
                medium.release(session);
                let left = Simulated(medium).open();
                let context = format!("{kind:?}, call {call}, after it: {is_after}");
                let frames = left.state().unwrap().frames;
                assert!(frames.len() == done.len() || frames.len() == done.len() + 1, "{context}: {frames:?}");
                for id in &done {
                    assert_eq!(left.frame(&**id).unwrap().results.as_deref(), Some("It works"), "{context}");
                    let log = left.log(&**id).read(&LogQuery::default()).unwrap().lines;
                    assert_eq!(log.iter().filter(|line| line.entry["mark"] == **id).count(), 1, "{context}");
                }
                assert_eq!(left.history().check().unwrap(), [""; 0], "{context}");
                work(&left, "later").unwrap();
                if done.len() == 3 {
                    break;
                }
                deaths += 1;
            }
            assert!(deaths > 20, "{deaths} deaths");
        }
    }
}

/// A frame, pushed, with a line in its log, and popped; then a snapshot.
fn work(stack: &Stack, id: &str) -> Result<()> {
    let frame = stack.push(NewFrame::new("Part").id(id).root())?;
    stack.log(frame).append(&[serde_json::json!({"mark": id})])?;
    stack.pop(frame, PopStatus::Completed, "It works")?;
    stack.history().compact(0).map(drop)
}

#[test]
fn stacks_do_what_a_naive_model_does() {
    let cases = support::setting("STACK_TEST_CASES", 24);
    let mut frames = 0;
    for seed in 0..cases as u64 {
        let medium = Medium::new(KINDS[seed as usize % 2]);
        let open = |options| Stack::with_store(medium.store(Arc::new(Calm)), options).unwrap();
        let length = 50 + seed as usize * 7 % 250;
        support::model::check_in_store(&mut Random::new(seed + 1), length, seed as usize % 2, &open);
        let stack = open(StackOptions::default());
        assert_eq!(stack.history().check().unwrap(), [""; 0], "seed {seed}");
        frames += stack.state().unwrap().frames.len();
    }
    assert!(frames > cases, "{frames} frames in {cases} stacks");
}

#[test]
fn a_folder_keeps_the_lock_of_a_process_that_is_silent_and_a_server_ends_its_transaction() {
    let patience = std::time::Duration::from_secs(1);
    for kind in KINDS {
        let medium = Medium::new(kind);
        let (mut silent, mut other) = (medium.store(Arc::new(Calm)), medium.store(Arc::new(Calm)));
        silent.begin(patience).unwrap();
        let begun = other.begin(patience).map_err(|error| error.code());
        match kind {
            Kind::Folder => assert_eq!(begun, Err("busy")),
            Kind::Server => {
                assert_eq!(begun, Ok(()));
                other.commit().unwrap();
                assert_eq!(silent.commit().map_err(|error| error.code()), Err("disconnected"));
            }
        }
        silent.rollback();
        other.begin(patience).unwrap();
    }
}

#[test]
fn a_power_loss_takes_what_was_not_synced_and_tells_those_who_knew_it() {
    let medium = Medium::new(Kind::Server);
    let open = || Stack::with_store(medium.store(Arc::new(Calm)), StackOptions::default()).unwrap();
    let (stack, other) = (open(), open());
    stack.push(callstack_core::NewFrame::new("Kept").id("kept")).unwrap();
    stack.files().flush().unwrap();
    other.refresh().unwrap();
    stack.push(callstack_core::NewFrame::new("Lost").id("lost")).unwrap();
    assert!(medium.lose_power() > 0);
    assert_eq!(stack.add_decision("kept", "more").unwrap_err().code(), "replaced");
    let broken = other.add_decision("kept", "more").unwrap_err();
    assert_eq!((broken.code(), broken.is_outcome_known()), ("disconnected", true), "a failover breaks connections");
    other.add_decision("kept", "more").unwrap();
    assert_eq!(stack.refresh().unwrap_err().code(), "replaced", "it stays so until it opens the stack again");
    assert_eq!(open().frame("kept").unwrap().decisions, ["more"]);
    assert!(open().frame("lost").is_err());
}

#[test]
fn a_snapshot_that_a_failover_has_lost_is_made_again() {
    let medium = Medium::new(Kind::Server);
    let open = || Stack::with_store(medium.store(Arc::new(Calm)), StackOptions::default()).unwrap();
    let (stack, other) = (open(), open());
    let done = stack.push(NewFrame::new("Done").id("done")).unwrap();
    stack.pop(done, PopStatus::Completed, "A result").unwrap();
    stack.push(NewFrame::new("Task").id("task")).unwrap();
    other.refresh().unwrap();
    stack.history().compact(0).unwrap();
    stack.add_decision("task", "After the first snapshot").unwrap();
    medium.sync();
    // This snapshot comes in a transaction of its own, and no event is lost with it.
    stack.history().compact(0).unwrap();
    other.refresh().unwrap();
    assert_eq!(medium.lose_power(), 0);
    assert_eq!(stack.add_decision("task", "more").unwrap_err().code(), "disconnected");
    stack.add_decision("task", "more").unwrap();
    stack.history().compact(0).unwrap();
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
    assert_eq!(open().frame("task").unwrap().decisions, ["After the first snapshot", "more"]);
}

/// Before one call, another process does something.
struct Meanwhile<F> {
    at: Call,
    left: AtomicUsize,
    act: F,
}

impl<F: Fn() + Send + Sync> Meanwhile<F> {
    /// Opens the stack for a process. Nothing happens before [`Meanwhile::count_from`].
    fn open(medium: &Arc<Medium>, options: StackOptions, at: Call, act: F) -> (Stack, Arc<Self>)
    where
        F: 'static,
    {
        let fate = Arc::new(Self { at, left: AtomicUsize::new(usize::MAX / 2), act });
        (Stack::with_store(medium.store(fate.clone()), options).unwrap(), fate)
    }

    /// It happens before this call from now on, the first one if it is 1.
    fn count_from(&self, number: usize) {
        self.left.store(number, Ordering::Relaxed);
    }
}

impl<F: Fn() + Send + Sync> Fate for Meanwhile<F> {
    fn strike(&self, call: Call) -> Outcome {
        if call == self.at && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            (self.act)();
        }
        Outcome::Done
    }

    fn wait(&self, _: Duration) {}

    fn committed(&self, _: &[Arc<Event>]) {}
}

const READS: [Call; 4] = [Call::Look, Call::Read, Call::Fetch, Call::News];

/// A medium with two finished tasks and an open one. The events of the first one are compacted.
fn compacted_in_part() -> (Arc<Medium>, Stack) {
    let medium = Medium::new(Kind::Server);
    let stack = Stack::with_store(medium.store(Arc::new(Calm)), StackOptions::default()).unwrap();
    for id in ["one", "two"] {
        let frame = stack.push(NewFrame::new(id).id(id)).unwrap();
        stack.pop(frame, PopStatus::Completed, "A result").unwrap();
        stack.history().compact(if id == "one" { u64::MAX } else { 0 }).unwrap();
    }
    stack.push(NewFrame::new("Task").id("task")).unwrap();
    (medium, stack)
}

#[test]
fn a_compaction_during_an_examination_is_no_damage() {
    for at in READS {
        for number in 1..20 {
            let (medium, writer) = compacted_in_part();
            let compact = move || {
                writer.history().compact(u64::MAX).unwrap();
            };
            let (reader, fate) = Meanwhile::open(&medium, StackOptions::default(), at, compact);
            fate.count_from(number);
            assert_eq!(reader.history().check().unwrap(), [""; 0], "a compaction before the {number}th {at:?}");
        }
    }
}

#[test]
fn a_compaction_while_news_are_read_is_no_damage() {
    for at in READS {
        for number in 1..12 {
            let (medium, writer) = compacted_in_part();
            let finish = {
                let writer = writer.clone();
                move || {
                    writer.pop("two", PopStatus::Completed, "Another result").unwrap();
                    writer.history().compact(u64::MAX).unwrap();
                }
            };
            // The news are about a tree that the reader has dropped.
            let (reader, fate) = Meanwhile::open(&medium, StackOptions::default().finished_frames(0), at, finish);
            writer.reopen("two", "It is wrong").unwrap();
            fate.count_from(number);
            reader.refresh().unwrap_or_else(|error| panic!("before the {number}th {at:?}: {error}"));
            fate.count_from(usize::MAX / 2);
            reader.refresh().unwrap();
            assert_eq!(reader.state().unwrap(), writer.state().unwrap(), "before the {number}th {at:?}");
        }
    }
}

#[test]
fn a_repair_that_fails_hides_no_event() {
    for call in [Call::Commit, Call::Snapshot, Call::Read] {
        let (medium, writer) = compacted_in_part();
        let fails = Arc::new(AtomicUsize::new(usize::MAX / 2));
        let fate = Arc::new(FailsOnce { call, left: fails.clone() });
        let stack = Stack::with_store(medium.store(fate), StackOptions::default()).unwrap();
        writer.add_decision("task", "News").unwrap();
        fails.store(1, Ordering::Relaxed);
        assert_eq!(stack.upkeep().repair().unwrap_err().code(), "disconnected", "{call:?}");
        stack.refresh().unwrap();
        assert_eq!(stack.frame("task").unwrap().decisions, ["News"], "after a repair that failed at {call:?}");
    }
}

/// One call fails before it has done anything.
struct FailsOnce {
    call: Call,
    left: Arc<AtomicUsize>,
}

impl Fate for FailsOnce {
    fn strike(&self, call: Call) -> Outcome {
        if call == self.call && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Outcome::Fails(Error::disconnected("the server", "the connection is broken", false));
        }
        Outcome::Done
    }

    fn wait(&self, _: Duration) {}

    fn committed(&self, _: &[Arc<Event>]) {}
}
