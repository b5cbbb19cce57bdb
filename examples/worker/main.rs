//! A worker: does the frames of a plan one after the other, on any number of machines.
//!
//! ```text
//! cargo run --example worker -- STACK COMMAND…
//! ```

use std::error::Error;
use std::io::Write;
use std::process::{Command, Stdio, id};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use callstack_core::{Finish, Guidance, NewHold, Results, Settings, Stack, StackOptions};

const LEASE: u64 = 60_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, command, rest @ ..] = &arguments[..] else { return Err("worker STACK COMMAND…".into()) };
    let stack = Stack::open(folder, StackOptions::default())?;
    loop {
        let Some(hold) = stack.work().hold(NewHold::new(format!("worker-{}", id()), LEASE))? else {
            let left = stack.work().left(None)?;
            if left.free + left.held + left.later == 0 {
                return Ok(());
            }
            sleep(Duration::from_millis(200));
            continue;
        };
        // The command reads on its standard input what the frame is about, and writes its results.
        let context = stack.context(hold.handle, &Settings::default().guidance(Guidance::None))?;
        let started = Command::new(command).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut work) = started else {
            stack.work().release(&hold)?;
            return Err(format!("{command} cannot be started").into());
        };
        // A command need not read it.
        let _ = work.stdin.take().expect("it is a pipe").write_all(context.xml.as_bytes());
        let work = spawn(move || work.wait_with_output());
        let mut renewed = Instant::now();
        while !work.is_finished() {
            sleep(Duration::from_millis(50));
            if renewed.elapsed() > Duration::from_millis(LEASE / 3) {
                // If it is refused, the end of the frame says why.
                let _ = stack.work().renew(&hold, LEASE);
                renewed = Instant::now();
            }
        }
        let output = work.join().map_err(|_| "the thread of the command has panicked")??;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let results = Results::new(if said.is_empty() { "It wrote nothing.".to_owned() } else { said });
        let end = if output.status.success() { Finish::Done(results) } else { Finish::Failed(results) };
        // A person can have stopped the frame, and another worker can have it by now.
        if let Err(refused) = stack.work().finish(&hold, end) {
            eprintln!("{refused}");
        }
    }
}
