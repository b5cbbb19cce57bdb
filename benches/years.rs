//! Measures a stack that many finished trees have gone through: opening it, its memory, and small commands with the mirror.
//!
//! Each stack has finished trees of 31 frames of about 2 KB and an active tree of 100 frames. A process of its own opens it and
//! records a decision every 20 ms. `YEARS_BENCH_FRAMES=1000,50000` sets the numbers of finished frames, `YEARS_BENCH_SECONDS` the
//! time of the commands, and `CALLSTACK_BENCH_FOLDER` the folder for the stacks. Needs Linux, which counts what a process writes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use callstack_core::{NewFrame, PopStatus, Stack, StackOptions};
use serde_json::{Value, json};

/// Time from one command to the next.
const STEP: Duration = Duration::from_millis(20);
/// Frames of a finished tree.
const TREE: usize = 31;
/// Frames of the active tree.
const ACTIVE: usize = 100;

fn main() {
    if let Ok(folder) = env::var("YEARS_BENCH_WORK") {
        println!("{}", work(Path::new(&folder)));
        return;
    }
    let sizes = env::var("YEARS_BENCH_FRAMES").unwrap_or_else(|_| "1000,10000,50000".into());
    println!("{} seconds of decisions, one every {} ms:", seconds().as_secs(), STEP.as_millis());
    println!("| frames | open | resident | written | for each command | median | 99.9 % | slowest | state.json |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for size in sizes.split(',').map(|size| size.trim().parse::<usize>().expect("a number of frames")) {
        let folder = match env::var_os("CALLSTACK_BENCH_FOLDER") {
            Some(place) => tempfile::tempdir_in(place).unwrap(),
            None => tempfile::tempdir().unwrap(),
        };
        fill(folder.path(), size);
        let output = Command::new(env::current_exe().unwrap()).env("YEARS_BENCH_WORK", folder.path()).output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let found: Value = serde_json::from_str(&line).expect("the process that works prints its figures");
        let number = |name: &str| found[name].as_f64().unwrap();
        println!(
            "| {size} | {:.1} ms | {:.0} MB | {:.1} MB | {:.1} KB | {:.2} ms | {:.1} ms | {:.1} ms | {:.1} MB |",
            number("open"),
            number("resident") / 1e3,
            number("written") / 1e6,
            number("written") / number("commands") / 1e3,
            number("median"),
            number("late"),
            number("slowest"),
            number("state") / 1e6,
        );
    }
}

fn seconds() -> Duration {
    Duration::from_secs(env::var("YEARS_BENCH_SECONDS").map_or(5, |text| text.parse().expect("a number of seconds")))
}

/// About `length` bytes of words that differ from frame to frame.
fn text(seed: usize, length: usize) -> String {
    let words = (0..length / 8).map(|place| format!("w{:06x}", (seed * 7919 + place * 104_729) % 0xff_ffff));
    words.collect::<Vec<_>>().join(" ")
}

/// Works through the finished trees, and leaves an active one.
fn fill(folder: &Path, frames: usize) {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let frame = |number: usize| {
        NewFrame::new(text(number, 40)).criteria(text(number, 600)).criteria_compacted(text(number, 100))
    };
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
    // The files beside the database, as a process that was here before leaves them.
    Stack::open(folder, StackOptions::default()).unwrap().close().unwrap();
}

/// Opens the stack, records decisions, and returns the figures: milliseconds, bytes, and for `resident` kilobytes.
fn work(folder: &Path) -> Value {
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
        thread::sleep(STEP.saturating_sub(command.elapsed()));
    }
    let written = written() - before;
    let resident = line_of("/proc/self/status", "VmRSS:");
    times.sort_by(f64::total_cmp);
    let late = times[(times.len() - 1) * 999 / 1000];
    json!({
        "open": open, "resident": resident, "written": written, "commands": times.len(), "median": times[times.len() / 2],
        "late": late, "slowest": times[times.len() - 1],
        "state": fs::metadata(folder.join("state.json")).map_or(0, |data| data.len()),
    })
}

/// The bytes that this process has passed to the system.
fn written() -> u64 {
    line_of("/proc/self/io", "wchar:")
}

fn line_of(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).expect("Linux has this file");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the file has this line");
    line.split_whitespace().next().unwrap().parse().unwrap()
}
