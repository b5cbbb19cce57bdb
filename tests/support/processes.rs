//! Many processes on one stack, and processes that are killed at any moment: no acknowledged command is lost,
//! duplicated or partially applied. The suite is the same for every store.
//!
//! The workers are the test's own program, started again with a role in its environment. They print a line
//! for every acknowledged command. `STACK_TEST_KILLS`, `STACK_TEST_PROCESSES` and `STACK_TEST_COMMANDS` set
//! the amount of work; `make soak` uses larger values.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use callstack_core::{
    Change, Event, EventQuery, Frame, LogQuery, MemoryStore, NewFrame, PopStatus, Stack, StackOptions, StackState, Tree,
};
use serde_json::json;

use crate::Queries;
use crate::setting;

/// A place for stacks, and the particular functions of its tests.
#[derive(Clone, Copy)]
pub struct Suite {
    /// Opens the stack of a place: a folder, or a URL.
    pub open: fn(&str, StackOptions) -> Stack,
    /// The name of the test that calls [`Suite::work`].
    pub worker: &'static str,
    /// Checks the files that killed processes have left in the place, before the stack is opened again.
    pub check_left: fn(&str),
    /// Checks the files in the place other than the stack itself.
    pub check_place: fn(&str, &Stack, &StackState),
}

impl Suite {
    /// Opens a stack that keeps no finished tree in memory.
    pub fn stack(&self, place: &str) -> Stack {
        (self.open)(place, StackOptions::default().busy_timeout(120_000).finished_frames(0))
    }

    /// Starts a worker.
    pub fn start(&self, role: &str, name: &str, place: &str) -> Child {
        Process::new(std::env::current_exe().unwrap())
            .args(["--exact", self.worker, "--nocapture"])
            .env("STACK_TEST_ROLE", role)
            .env("STACK_TEST_NAME", name)
            .env("STACK_TEST_PLACE", place)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The work of a worker. Without a role, as in an ordinary test run, it does nothing.
    pub fn work(&self) {
        let (Ok(role), Ok(name)) = (std::env::var("STACK_TEST_ROLE"), std::env::var("STACK_TEST_NAME")) else { return };
        let stack = self.stack(&std::env::var("STACK_TEST_PLACE").unwrap());
        match role.as_str() {
            "share" => (0..setting("STACK_TEST_COMMANDS", 200)).for_each(|number| step(&stack, &name, number)),
            // Opens the stack. That imports its files or updates its database.
            "import" => {}
            // Runs until it is killed.
            "endless" => (0..usize::MAX).for_each(|number| step(&stack, &name, number)),
            // Prints a line before each action, so that a kill during an action can be distinguished from a
            // kill before it.
            "snapshot" => loop {
                println!("begin");
                stack.history().compact(0).unwrap();
                println!("done snapshot");
                println!("begin");
                stack.upkeep().repair().unwrap();
                println!("done repair");
            },
            "compact" => loop {
                println!("begin");
                let compaction = stack.history().compact(u64::MAX).unwrap();
                println!("done compacted {} {}", compaction.trees, compaction.events);
            },
            other => panic!("no role is called {other}"),
        }
    }

    /// Checks that every acknowledged command is there exactly once, and that no command is there in part.
    /// Returns the state. `is_compacted`: the events of finished trees can be missing.
    pub fn check(&self, place: &str, acknowledged: &[String], is_compacted: bool) -> StackState {
        let stack = self.stack(place);
        stack.files().flush().unwrap();
        let state = stack.state().unwrap();
        let frames: BTreeMap<&str, &Frame> =
            state.frames.iter().map(|frame| (frame.session_id.as_str(), frame)).collect();
        assert_eq!(frames.len(), state.frames.len(), "no ID is there twice");
        for frame in &state.frames {
            for list in [&frame.artifacts, &frame.decisions] {
                assert_eq!(
                    list.iter().collect::<BTreeSet<_>>().len(),
                    list.len(),
                    "{} has something twice",
                    frame.session_id
                );
            }
        }
        let logs = SHARED.map(|shared| stack.log(shared).read(&LogQuery::default()).unwrap());
        let lines = |page: &callstack_core::LogPage| {
            page.lines.iter().map(|line| line.entry["from"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let logs: BTreeMap<&str, Vec<String>> = SHARED.into_iter().zip(logs.iter().map(lines)).collect();
        for line in acknowledged {
            let [kind, id, value] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let frame = |id: &str| *frames.get(id).unwrap_or_else(|| panic!("lost: {line}"));
            let count = match kind {
                // Later commands may have popped the frame or replaced its ID.
                "frame" => usize::from(["in_progress", "planned", "completed"].contains(&frame(id).status.as_str())),
                "artifact" => frame(id).artifacts.iter().filter(|artifact| *artifact == value).count(),
                "decision" => frame(id).decisions.iter().filter(|decision| *decision == value).count(),
                "results" => usize::from(frame(id).results.as_deref() == Some(value)),
                "pair" => usize::from(frames.contains_key(format!("{id}b").as_str())),
                "log" => logs[id].iter().filter(|from| *from == value).count(),
                other => panic!("{other}"),
            };
            assert_eq!(count, 1, "{line}");
        }
        // Each pair of frames was planned by one command, so both exist or neither.
        for id in frames.keys().filter_map(|id| id.strip_suffix('b')) {
            let first = ["a", "c"].map(|end| frames.contains_key(format!("{id}{end}").as_str()));
            assert!(first[0] != first[1], "half of the pair {id} is there");
        }
        for id in frames.keys().filter_map(|id| id.strip_suffix(['a', 'c'])) {
            assert!(frames.contains_key(format!("{id}b").as_str()), "half of the pair {id} is there");
        }
        assert_eq!(stack.history().check().unwrap(), [""; 0]);
        if !is_compacted {
            check_history(&stack, &state);
        }
        (self.check_place)(place, &stack, &state);
        state
    }

    /// Makes the frames that all workers change.
    pub fn make_shared_frames(&self, place: &str) {
        let stack = self.stack(place);
        for shared in SHARED {
            stack.push(NewFrame::new("Shared").id(shared).root()).unwrap();
        }
    }

    /// Lets processes share a tree. Nothing may be lost.
    pub fn share(&self, place: &str) {
        self.make_shared_frames(place);
        let processes = setting("STACK_TEST_PROCESSES", 16);
        let commands = setting("STACK_TEST_COMMANDS", 200);
        let workers: Vec<Child> =
            (0..processes).map(|number| self.start("share", &format!("w{number}"), place)).collect();
        let all: Vec<String> = workers.into_iter().flat_map(said).collect();
        assert_eq!(all.len(), processes * commands, "every command was acknowledged");
        let state = self.check(place, &all, false);
        println!("{processes} processes, {} commands, {} frames: nothing lost", all.len(), state.frames.len());
    }

    /// Starts workers with these roles and kills them, again and again. Each time, everything that they have
    /// acknowledged must be there.
    pub fn kill_at_any_moment(&self, place: &str, roles: &[&str]) {
        self.make_shared_frames(place);
        let kills = setting("STACK_TEST_KILLS", 25);
        let is_compacted = roles.contains(&"compact");
        let has_maintenance = roles.iter().any(|role| *role != "endless");
        let (mut all, mut compacted, mut hits) = (Vec::new(), 0, 0);
        let mut pauses = Pauses(88_172_645_463_325_252);
        // On a loaded machine few processes get as far as a compaction before they are killed.
        let is_lacking = |compacted, hits| (is_compacted && compacted == 0) || (has_maintenance && hits == 0);
        let mut round = 0;
        while round < kills || (is_lacking(compacted, hits) && round < MOST_ROUNDS * kills) {
            // Several workers, so that the remaining workers continue after one was killed.
            let named = roles.iter().enumerate().map(|(number, role)| (role, format!("k{round}x{number}")));
            let mut workers: Vec<Child> = named.map(|(role, name)| self.start(role, &name, place)).collect();
            let outputs = workers.iter_mut().map(|worker| BufReader::new(worker.stdout.take().unwrap()));
            let mut outputs: Vec<_> = outputs.collect();
            let mut texts = vec![String::new(); roles.len()];
            for (output, text) in outputs.iter_mut().zip(&mut texts) {
                // Waits until the worker has acknowledged a command.
                while !text.contains("done ") {
                    assert!(output.read_line(text).unwrap() > 0, "a worker ended by itself");
                }
            }
            for worker in &mut workers {
                std::thread::sleep(pauses.below(12_000));
                worker.kill().unwrap();
            }
            for ((mut worker, mut output), mut text) in workers.into_iter().zip(outputs).zip(texts) {
                output.read_to_string(&mut text).unwrap();
                assert_ne!(worker.wait().unwrap().code(), Some(101), "a worker has failed before it was killed");
                hits += usize::from(text.lines().next_back() == Some("begin"));
                let is_maintenance =
                    |line: &String| ["compacted ", "snapshot", "repair"].iter().any(|kind| line.starts_with(kind));
                let (maintenance, commands): (Vec<String>, Vec<String>) =
                    acknowledged(&text).into_iter().partition(is_maintenance);
                let is_compaction = |line: &&String| line.starts_with("compacted ") && !line.ends_with(" 0");
                compacted += maintenance.iter().filter(is_compaction).count();
                all.extend(commands);
            }
            (self.check_left)(place);
            self.check(place, &all, is_compacted);
            round += 1;
        }
        assert_eq!(compacted > 0, is_compacted, "{compacted} compactions removed events");
        assert_eq!(hits > 0, has_maintenance, "{hits} kills hit a snapshot, a repair or a compaction");
        println!(
            "{round} rounds of {} kills, {hits} of them within a snapshot, a repair or a compaction, {} commands acknowledged: nothing lost",
            roles.len(),
            all.len()
        );
    }
}

/// How many times as many rounds there may be until something was compacted.
const MOST_ROUNDS: usize = 20;
/// IDs of the frames that all workers change.
const SHARED: [&str; 3] = ["shared_0", "shared_1", "shared_2"];

/// Executes one command and prints a line when it is acknowledged. The line describes the data that the check
/// must find: `kind frame value`.
fn step(stack: &Stack, name: &str, number: usize) {
    let shared = SHARED[number % SHARED.len()];
    let own = |number: usize| format!("{name}_{number}");
    let done = match number % 8 {
        0 => {
            // Every second frame is the root of a tree of its own, which leaves the memory when it is
            // finished.
            let frame = NewFrame::new("Work").id(own(number)).caller(name);
            stack.push(if number.is_multiple_of(16) { frame.root() } else { frame.below(shared) }).unwrap();
            format!("frame {} in_progress", own(number))
        }
        1 => {
            stack.add_artifact(shared, format!("src/{name}_{number}.rs")).unwrap();
            format!("artifact {shared} src/{name}_{number}.rs")
        }
        2 => {
            stack.add_decision(shared, own(number)).unwrap();
            format!("decision {shared} {}", own(number))
        }
        3 => {
            stack.pop(own(number - 3).as_str(), PopStatus::Completed, own(number)).unwrap();
            format!("results {} {}", own(number - 3), own(number))
        }
        4 => {
            let children = ["a", "b"].map(|child| NewFrame::new("Planned").id(format!("{}{child}", own(number))));
            stack.plan_children(shared, children.to_vec()).unwrap();
            format!("pair {} planned", own(number))
        }
        5 => {
            stack.add_decision(own(number - 5).as_str(), own(number)).unwrap();
            format!("decision {} {}", own(number - 5), own(number))
        }
        6 => {
            stack.log(shared).append(&[json!({ "from": own(number), "text": "x".repeat(number % 97) })]).unwrap();
            format!("log {shared} {}", own(number))
        }
        _ => {
            stack.replace_id(format!("{}a", own(number - 3)).as_str(), format!("{}c", own(number - 3))).unwrap();
            format!("frame {}c planned", own(number - 3))
        }
    };
    // One write per line, so a kill can only cut the output between lines or within the last one.
    std::io::stdout().write_all(format!("done {done}\n").as_bytes()).unwrap();
}

/// The lines that a worker printed. An incomplete last line is ignored.
fn said(mut child: Child) -> Vec<String> {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    acknowledged(&text)
}

fn acknowledged(text: &str) -> Vec<String> {
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().filter_map(|line| line.strip_prefix("done ")).map(str::to_owned).collect()
}

/// Checks that the events give the state.
fn check_history(stack: &Stack, state: &StackState) {
    let history = stack.history().events(&EventQuery::default()).unwrap();
    let handles = history.iter().filter(|event| matches!(event.change, Change::Added { .. })).map(|event| event.handle);
    assert_eq!(handles.collect::<HashSet<_>>().len(), state.frames.len(), "handles are unique");
    let mut tree = Tree::new();
    history.iter().try_for_each(|event: &Event| tree.replay(event)).unwrap();
    assert_eq!(tree.state(), *state, "the tree is a replay of its events");
    let again = Stack::with_store(MemoryStore::with_events(history).unwrap(), StackOptions::default()).unwrap();
    assert_eq!(again.state().unwrap(), *state);
}

/// Random pauses (xorshift).
pub struct Pauses(pub u64);

impl Pauses {
    /// A time below this number of microseconds.
    pub fn below(&mut self, microseconds: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(self.0 % microseconds)
    }
}
