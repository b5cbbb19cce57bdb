//! Measures a stack in which many trees were finished: opening it, its memory, small commands while polls write
//! the files beside the database, frames of finished trees, and the compaction of its history.
//!
//! Each stack has finished trees of up to 31 frames of about 2 KB and an active tree of 100 frames. Separate
//! processes measure it. `YEARS_BENCH_FRAMES=1000,100000` sets the numbers of finished frames.
//! `YEARS_BENCH_SECONDS` sets the time during which commands run, one every 20 ms. `CALLSTACK_BENCH_FOLDER`
//! sets the folder for the stacks. Needs Linux, which counts the bytes that a process writes. A stack of a
//! million frames takes 12 GB on the disk while it is measured, and some minutes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use callstack_core::{Handle, NewFrame, PopStatus, Stack, StackOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The maximum memory of a process, in megabytes, and the maximum that a command may write on average, in
/// kilobytes.
const MOST_RESIDENT: f64 = 40.0;
const MOST_WRITTEN: f64 = 32.0;
/// Time from one command to the next.
const STEP: Duration = Duration::from_millis(20);
/// Frames of a finished tree.
const TREE: usize = 31;
/// Frames of the active tree.
const ACTIVE: usize = 100;
/// Number of pushes. It is also the number of finished frames that are fetched.
const SAMPLES: usize = 500;

fn main() {
    if let (Ok(folder), Ok(task)) = (env::var("YEARS_BENCH_WORK"), env::var("YEARS_BENCH_TASK")) {
        let folder = Path::new(&folder);
        let found = match task.as_str() {
            "commands" => commands(folder),
            "pushes" => pushes(folder),
            "fetches" => fetches(folder),
            _ => compaction(folder),
        };
        println!("{found}");
        return;
    }
    let sizes = env::var("YEARS_BENCH_FRAMES").unwrap_or_else(|_| "1000,100000,1000000".into());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().expect("a number of frames")).collect();
    let results: Vec<(usize, Value)> = sizes.into_iter().map(|size| (size, measured(size))).collect();
    println!("\n{} seconds of decisions, one every {} ms:\n", seconds().as_secs(), STEP.as_millis());
    println!(
        "| finished frames | open | resident | push | 99.9 % of commands, slowest | written for each | a finished frame | state.json |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (size, found) in &results {
        let number = |name: &str| found[name].as_f64().unwrap();
        println!(
            "| {size} | {:.1} ms | {:.0} MB | {:.2} × | {:.1}, {:.1} ms | {:.1} KB | {:.1} ms | {:.2} MB |",
            number("open"),
            number("resident") / 1e3,
            number("push") / number("push_empty"),
            number("late"),
            number("slowest"),
            number("written") / number("commands") / 1e3,
            number("fetch_late"),
            number("state") / 1e6,
        );
    }
    println!("\n| finished frames | database | compacted | resident peak | database afterwards |");
    println!("|---|---|---|---|---|");
    for (size, found) in &results {
        let number = |name: &str| found[name].as_f64().unwrap();
        println!(
            "| {size} | {:.0} MB | {:.1} s | {:.0} MB | {:.0} MB |",
            number("bytesBefore") / 1e6,
            number("compaction"),
            number("peak") / 1e3,
            number("bytesAfter") / 1e6,
        );
    }
    println!();
    for (size, found) in &results {
        println!("years/open/{size}: {} ms", found["open"]);
        println!("years/command_p99/{size}: {} ms", found["p99"]);
        println!("years/resident/{size}: {} KB", found["resident"]);
        println!("years/push/{size}: {} µs, {} µs in an empty stack", found["push"], found["push_empty"]);
        println!("years/fetch/{size}: {} ms, 99 % below {} ms", found["fetch"], found["fetch_late"]);
    }
    results.iter().for_each(|(size, found)| check(*size, found));
}

/// Fails if memory, or the amount that a command writes, grows with the history. Times depend on the machine,
/// so they are only printed.
fn check(size: usize, found: &Value) {
    let number = |name: &str| found[name].as_f64().unwrap();
    let (resident, written) = (number("resident") / 1e3, number("written") / number("commands") / 1e3);
    assert!(resident <= MOST_RESIDENT, "{size} finished frames take {resident} MB, more than {MOST_RESIDENT}");
    assert!(
        written <= MOST_WRITTEN,
        "with {size} finished frames a command writes {written} KB, more than {MOST_WRITTEN}"
    );
}

/// Makes a stack and measures it.
fn measured(size: usize) -> Value {
    let folder = new_folder();
    let began = Instant::now();
    fill(folder.path(), size);
    eprintln!("{size} frames: made in {:.0} s", began.elapsed().as_secs_f64());
    let mut all = json!({});
    for task in ["commands", "fetches", "pushes", "compaction"] {
        let mut work = Command::new(env::current_exe().unwrap());
        let output = work.env("YEARS_BENCH_WORK", folder.path()).env("YEARS_BENCH_TASK", task).output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let found: Value = serde_json::from_str(&line).expect("the process that works prints its figures");
        all.as_object_mut().unwrap().extend(found.as_object().unwrap().clone());
    }
    all
}

fn new_folder() -> TempDir {
    match env::var_os("CALLSTACK_BENCH_FOLDER") {
        Some(place) => tempfile::tempdir_in(place).unwrap(),
        None => tempfile::tempdir().unwrap(),
    }
}

fn seconds() -> Duration {
    Duration::from_secs(env::var("YEARS_BENCH_SECONDS").map_or(60, |text| text.parse().expect("a number of seconds")))
}

/// About `length` bytes of words that differ from frame to frame.
fn text(seed: usize, length: usize) -> String {
    let words = (0..length / 8).map(|place| format!("w{:06x}", (seed * 7919 + place * 104_729) % 0xff_ffff));
    words.collect::<Vec<_>>().join(" ")
}

fn frame(number: usize) -> NewFrame {
    NewFrame::new(text(number, 40)).criteria(text(number, 600)).criteria_compacted(text(number, 100))
}

/// Works through the finished trees, and leaves an active tree.
fn fill(folder: &Path, frames: usize) {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let finish = |handle, number: usize| stack.pop(handle, PopStatus::Completed, text(number, 900)).unwrap();
    for first in (0..frames).step_by(TREE) {
        let root = stack.push(frame(first).root()).unwrap();
        for number in first + 1..(first + TREE).min(frames) {
            let child = stack.push(frame(number).below(root)).unwrap();
            stack.add_artifact(child, format!("src/file_{number}.rs")).unwrap();
            finish(child, number);
        }
        finish(root, first);
    }
    let root = stack.push(frame(frames).root().id("active")).unwrap();
    let plan = (1..ACTIVE).map(|number| frame(frames + number)).collect();
    let planned = stack.plan_children(root, plan).unwrap();
    stack.activate(planned[0]).unwrap();
    stack.close().unwrap();
    // Writes the files beside the database, as an earlier process would have left them.
    Stack::open(folder, StackOptions::default()).unwrap().close().unwrap();
}

/// Opens the stack and records decisions. Times are in milliseconds, sizes in bytes, memory in kilobytes.
fn commands(folder: &Path) -> Value {
    let began = Instant::now();
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    let open = began.elapsed().as_secs_f64() * 1e3;
    let before = written();
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < seconds() {
        let command = Instant::now();
        stack.add_decision("active", format!("Decision {}: totals are kept in cents", times.len())).unwrap();
        times.push(command.elapsed().as_secs_f64() * 1e3);
        // As a host does that has nothing else to do.
        stack.upkeep().poll();
        thread::sleep(STEP.saturating_sub(command.elapsed()));
    }
    let written = written() - before;
    let resident = line_of("/proc/self/status", "VmRSS:");
    let count = times.len();
    times.sort_by(f64::total_cmp);
    json!({
        "open": open, "resident": resident, "written": written, "commands": count, "median": times[count / 2],
        "p99": times[(count - 1) * 99 / 100], "late": times[(count - 1) * 999 / 1000], "slowest": times[count - 1],
        "state": fs::metadata(folder.join("state.json")).map_or(0, |data| data.len()),
    })
}

/// Fetches frames of finished trees that are not in memory.
fn fetches(folder: &Path) -> Value {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let frames = stack.read(|tree| tree.len()).unwrap() - ACTIVE;
    let mut times = Vec::new();
    for place in 0..SAMPLES.min(frames / TREE) {
        let handle = Handle::from_index(place * (frames / SAMPLES.min(frames / TREE))).unwrap();
        let began = Instant::now();
        assert!(!stack.frame(handle).unwrap().title.is_empty());
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    json!({ "fetch": times[times.len() / 2], "fetch_late": times[(times.len() - 1) * 99 / 100] })
}

/// Pushes frames, alternately below the active frame and below the root of an empty stack.
fn pushes(folder: &Path) -> Value {
    let options = StackOptions::default().mirror(false);
    let empty = new_folder();
    let stacks = [Stack::open(folder, options.clone()).unwrap(), Stack::open(empty.path(), options).unwrap()];
    stacks[1].push(frame(0).root().id("active")).unwrap();
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..SAMPLES {
        for (stack, times) in stacks.iter().zip(&mut times) {
            let new = frame(number).id(format!("new_{number}")).below("active");
            let began = Instant::now();
            stack.push(new).unwrap();
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    let [push, push_empty] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    json!({ "push": push, "push_empty": push_empty })
}

/// Compacts the events of all finished trees.
fn compaction(folder: &Path) -> Value {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let began = Instant::now();
    let compaction = stack.history().compact(u64::MAX).unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let mut found = serde_json::to_value(compaction).unwrap();
    let peak = line_of("/proc/self/status", "VmHWM:");
    found.as_object_mut().unwrap().extend([("compaction".into(), json!(seconds)), ("peak".into(), json!(peak))]);
    found
}

/// The bytes that this process has passed to the system.
fn written() -> u64 {
    line_of("/proc/self/io", "wchar:")
}

fn line_of(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(PathBuf::from(file)).expect("Linux has this file");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the file has this line");
    line.split_whitespace().next().unwrap().parse().unwrap()
}
