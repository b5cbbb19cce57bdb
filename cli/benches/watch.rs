//! Times of the full screen of `callstack watch` on 10,000 frames, in a pseudo-terminal: from a key to the
//! end of the picture that it leads to; and the memory of the program while the stack changes.
//!
//! cargo bench -p callstack-cli --no-default-features --bench watch

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use callstack_core::frame::ModelRequest;
use callstack_core::{Handle, NewFrame, PopStatus, Stack, StackOptions};
use pseudo_terminal::Terminal;

const FRAMES: usize = 10_000;
const SIZE: (u16, u16) = (120, 40);
const KEYS: usize = 5_000;
/// Ten changes a second make so many in an hour.
const CHANGES: usize = 36_000;
const SHOWN: usize = 6_000;

fn main() {
    println!("{FRAMES} frames, {} columns, {} rows; from a key to its picture, in milliseconds", SIZE.0, SIZE.1);
    println!("{:<40}{:>8}{:>8}{:>8}{:>8}", "", "mean", "99 %", "99.9 %", "most");
    let folder = tempfile::tempdir().unwrap();
    let parts = build(folder.path());
    let stack = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    let mut changes = 0;
    let mut change = || {
        changes += 1;
        stack.set_active(parts[changes % parts.len()]).unwrap();
    };
    measure(folder.path(), "the selection moves", &["\x1b[B"], || {});
    measure(folder.path(), "a page", &["\x1b[6~", "\x1b[6~", "\x1b[F", "\x1b[5~", "\x1b[H"], || {});
    measure(folder.path(), "the filter changes", &["s"], || {});
    measure(folder.path(), "the next match", &["n"], || {});
    measure(folder.path(), "the stack has changed", &["\x1b[B"], &mut change);
    measure(folder.path(), "it has changed, and is followed", &["\x1b"], &mut change);
    memory(folder.path(), &mut change);
}

/// A stack of finished, running and planned frames, each with requests. Returns the frames that are running.
fn build(folder: &Path) -> Vec<Handle> {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let root = stack.push(NewFrame::new("Build a shop").criteria("Customers can order and pay").root()).unwrap();
    let mut parts = Vec::new();
    while stack.read(|tree| tree.len()).unwrap() < FRAMES {
        let name = format!("Part {}", parts.len());
        let part = stack.push(NewFrame::new(name).criteria("Totals are right for all rates").below(root)).unwrap();
        for number in 0..99 {
            let task = NewFrame::new(format!("Task {number} of this part")).below(part);
            if number % 3 == 0 {
                stack.plan(task).unwrap();
                continue;
            }
            let task = stack.push(task).unwrap();
            let request = ModelRequest { uncached_input: 1_000, output: 90, ..ModelRequest::new("large") };
            stack.record_usage(task, request).unwrap();
            stack.pop(task, PopStatus::Completed, "done").unwrap();
        }
        parts.push(part);
    }
    stack.close().unwrap();
    parts
}

fn watch(folder: &Path) -> Terminal {
    let folder = folder.to_str().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_callstack"));
    let mut terminal = Terminal::start(program, &["watch"], &[("CALLSTACK_DIR", folder)], SIZE);
    terminal.wait_for_text("Build a shop");
    // A search for the keys that go to matches; it stops following, which the last measurement begins again.
    terminal.press("/task 50\r");
    terminal.wait_for_text("? help");
    terminal
}

/// The time from a key to its picture.
fn redraw(terminal: &mut Terminal, key: &str) -> Duration {
    let updates = terminal.updates();
    let start = Instant::now();
    terminal.press(key);
    terminal.wait_for_update(updates);
    start.elapsed()
}

fn measure(folder: &Path, name: &str, keys: &[&str], mut before: impl FnMut()) {
    let mut terminal = watch(folder);
    if name.ends_with("followed") {
        redraw(&mut terminal, "f");
    }
    let mut times: Vec<Duration> = (0..KEYS)
        .map(|press| {
            before();
            redraw(&mut terminal, keys[press % keys.len()])
        })
        .collect();
    times.sort();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let mean = milliseconds(times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap());
    let [most_of, nearly_all, all] = [0.99, 0.999, 1.0]
        .map(|share: f64| milliseconds(times[((times.len() as f64 * share) as usize).min(times.len() - 1)]));
    println!("{name:<40}{mean:>8.2}{most_of:>8.2}{nearly_all:>8.2}{all:>8.2}");
}

/// The memory of the program while the stack changes, with a redraw after each change.
fn memory(folder: &Path, mut change: impl FnMut()) {
    let mut terminal = watch(folder);
    redraw(&mut terminal, "f");
    println!("\nresident memory after changes that are followed, each with a redraw, in KB");
    for count in 0..=CHANGES {
        if count % SHOWN == 0 {
            println!("{count:>10}{:>10}", resident(terminal.process()));
        }
        change();
        redraw(&mut terminal, "\x1b");
    }
}

fn resident(process: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or("?".to_owned(), |line| line.trim().trim_end_matches(" kB").to_owned())
}
