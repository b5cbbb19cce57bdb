//! Measures many changes at once, and durable commands beside the files that readers of the documented layout
//! use.
//!
//! `BATCHES_BENCH_FRAMES=1000` sets how many frames are imported and planned, `BATCHES_BENCH_CATCH_UP=5000` how
//! many frames get their first files, `BATCHES_BENCH_FINISHED=1000,100000` how many finished frames there are
//! beside durable commands, `BATCHES_BENCH_COMMANDS=1000` how many commands are measured.
//! `CALLSTACK_BENCH_FOLDER` sets the folder for the stacks. A million finished frames take 12 GB.

use std::time::{Duration, Instant};
use std::{env, thread};

use callstack_core::session::HostEvent;
use callstack_core::{
    Durability, Frame, FrameStatus, Mirroring, NewFrame, PopStatus, Records, Stack, StackOptions, import,
};
use serde_json::json;
use tempfile::TempDir;

/// Frames of a finished tree.
const TREE: usize = 31;
/// Longest time in which a stack may get its first files.
const LONGEST: Duration = Duration::from_secs(300);

fn main() {
    imports(number("BATCHES_BENCH_FRAMES", 10_000));
    patches();
    let sizes = env::var("BATCHES_BENCH_FINISHED").unwrap_or_else(|_| "1000,100000".into());
    let commands = number("BATCHES_BENCH_COMMANDS", 3_000);
    sizes.split(',').for_each(|size| durable(size.trim().parse().expect("a number of frames"), commands));
    catching_up(number("BATCHES_BENCH_CATCH_UP", 50_000));
}

fn number(name: &str, usual: usize) -> usize {
    env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

fn new_folder() -> TempDir {
    match env::var_os("CALLSTACK_BENCH_FOLDER") {
        Some(place) => tempfile::tempdir_in(place).unwrap(),
        None => tempfile::tempdir().unwrap(),
    }
}

fn timed<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let value = run();
    println!("{name}: {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    value
}

/// About `length` bytes of words that differ from frame to frame.
fn text(seed: usize, length: usize) -> String {
    let words = (0..length / 8).map(|place| format!("w{:06x}", (seed * 7919 + place * 104_729) % 0xff_ffff));
    words.collect::<Vec<_>>().join(" ")
}

fn frames(count: usize) -> Vec<Frame> {
    let frame = |number: usize| Frame {
        session_id: format!("ses_{number:08}"),
        parent_session_id: (number > 0).then(|| format!("ses_{:08}", (number - 1) / 8)),
        status: FrameStatus::Planned,
        title: text(number, 40),
        success_criteria: text(number, 300),
        ..Frame::default()
    };
    (0..count).map(frame).collect()
}

/// A plan of Beads.
fn plan(count: usize, changed: usize) -> String {
    let line = |number: usize| {
        let description = text(number + if number < changed { 1 << 20 } else { 0 }, 300);
        let mut issue = json!({
            "id": format!("app-{number}"), "title": text(number, 40), "description": description, "status": "open",
        });
        if number > 0 {
            let parent = json!({ "issue_id": format!("app-{number}"), "depends_on_id": format!("app-{}", (number - 1) / 8), "type": "parent-child" });
            issue["dependencies"] = json!([parent]);
        }
        issue.to_string()
    };
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

fn imports(count: usize) {
    for mirror in [false, true] {
        let options = StackOptions::default().mirror(mirror);
        let named = |what: &str| format!("{what}, {count} frames, mirror {mirror}");
        let folder = new_folder();
        let stack = Stack::open(folder.path(), options.clone()).unwrap();
        let made = frames(count);
        timed(&named("import"), || stack.import(made).unwrap());
        timed(&named("close"), || stack.close().unwrap());

        let folder = new_folder();
        let stack = Stack::open(folder.path(), options.clone()).unwrap();
        let written = plan(count, 0);
        let read = timed(&named("read plan"), || import::frames(&written).unwrap());
        timed(&named("bring_up_to_date, new"), || stack.bring_up_to_date(&read, None).unwrap());
        let again = timed(&named("bring_up_to_date, same"), || stack.bring_up_to_date(&read, None).unwrap());
        assert_eq!(again.changes.len(), 0);
        let read = import::frames(&plan(count, count / 10)).unwrap();
        let again = timed(&named("bring_up_to_date, a tenth"), || stack.bring_up_to_date(&read, None).unwrap());
        assert_eq!(again.changes.len(), count / 10);
        drop(stack);

        let folder = new_folder();
        let stack = Stack::open(folder.path(), options.clone()).unwrap();
        let root = stack.push(NewFrame::new("Root")).unwrap();
        let children = (0..count).map(|number| NewFrame::new(text(number, 40)).criteria(text(number, 300))).collect();
        timed(&named("plan_children"), || stack.plan_children(root, children).unwrap());
    }
}

fn patches() {
    for (name, options) in [
        ("no files", StackOptions::default().mirror(false)),
        ("files", StackOptions::default()),
        ("no files, full", StackOptions::default().mirror(false).durability(Durability::Full)),
    ] {
        let folder = new_folder();
        let stack = Stack::open(folder.path(), options).unwrap();
        let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
        let files = |round: usize| (0..20).map(move |file| format!("src/{round}/{file}.rs"));
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for round in 0..100 {
            let began = Instant::now();
            for file in files(round) {
                stack.add_artifact(root, file).unwrap();
            }
            times[0].push(began.elapsed());
            let began = Instant::now();
            stack.record(root, Records::of_artifacts(files(1_000 + round).collect())).unwrap();
            times[1].push(began.elapsed());
            let changes: Vec<_> = files(2_000 + round).map(|path| json!({ "kind": "written", "path": path })).collect();
            let event =
                json!({ "kind": "toolExecuted", "sessionID": "ses_1", "tool": "apply_patch", "changes": changes });
            let event: HostEvent = serde_json::from_value(event).unwrap();
            let began = Instant::now();
            let _ = stack.host().report(event);
            times[2].push(began.elapsed());
        }
        for (what, times) in ["add_artifact × 20", "record", "report"].iter().zip(&mut times) {
            println!("patch of 20 files, {name}, {what}: {}", shown(times));
        }
    }
}

fn shown(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    format!("p50 {:.3} ms, p99 {:.3} ms, p99.9 {:.3} ms, max {:.3} ms", at(0.5), at(0.99), at(0.999), at(1.0))
}

fn catching_up(count: usize) {
    let folder = new_folder();
    let open = |mirror: Mirroring| Stack::open(folder.path(), StackOptions::default().mirror(mirror)).unwrap();
    let without = open(Mirroring::Off);
    without.import(frames(count)).unwrap();
    without.close().unwrap();
    drop(timed(&format!("open {count} frames, no files"), || open(Mirroring::Off)));
    let stack = timed(&format!("open {count} frames that get their first files"), || open(Mirroring::Later));
    let (mut commands, mut polls) = (Vec::new(), Vec::new());
    let began = Instant::now();
    while stack.files().status().unwrap().revision == 0 && began.elapsed() < LONGEST {
        let command = Instant::now();
        stack.add_decision("ses_00000001", format!("Decision {}", commands.len())).unwrap();
        commands.push(command.elapsed());
        let poll = Instant::now();
        stack.upkeep().poll();
        polls.push(poll.elapsed());
        thread::sleep(Duration::from_millis(25));
    }
    println!("commands meanwhile, {} s: {}", began.elapsed().as_secs(), shown(&mut commands));
    println!("polls meanwhile: {}", shown(&mut polls));
}

/// Durable commands, one every 2 ms, with the polls of a host between them.
fn durable(finished: usize, count: usize) {
    let folder = new_folder();
    let stack = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    for tree in 0..finished / TREE {
        let root = stack.push(NewFrame::new(text(tree, 40)).criteria(text(tree, 600)).root()).unwrap();
        for child in 1..TREE {
            let seed = tree * TREE + child;
            let child = stack.push(NewFrame::new(text(seed, 40)).criteria(text(seed, 600)).below(root)).unwrap();
            stack.pop(child, PopStatus::Completed, text(seed, 900)).unwrap();
        }
        stack.pop(root, PopStatus::Completed, text(tree, 900)).unwrap();
    }
    stack.push(NewFrame::new("Active").id("active").root()).unwrap();
    stack.close().unwrap();
    let files = [("no files", Mirroring::Off), ("files by polls", Mirroring::Later)];
    for (durability, name) in [(Durability::Normal, "normal"), (Durability::Full, "full")] {
        for (what, mirror) in files {
            let options = StackOptions::default().mirror(mirror).durability(durability);
            let stack = Stack::open(folder.path(), options).unwrap();
            let mut times = Vec::new();
            for number in 0..count {
                let began = Instant::now();
                stack.add_decision("active", format!("Decision {number}: totals are kept in cents")).unwrap();
                times.push(began.elapsed());
                stack.upkeep().poll();
                thread::sleep(Duration::from_millis(2));
            }
            println!("a durable command, {finished} finished frames, {name}, {what}: {}", shown(&mut times));
            stack.leave();
        }
    }
}
