//! The title of the terminal while an agent runs: the frame on which it works, and what that has cost.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::Stack;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::folder::StackFolder;
use crate::status_line;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Keeps the title that the terminal has, and brings it back.
const KEEP: &str = "\u{1b}[22;2t";
const BRING_BACK: &str = "\u{1b}[23;2t";

/// True if the terminal can have a title.
pub fn is_possible() -> bool {
    io::stderr().is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Keeps the title up to date, for as long as it is polled.
pub async fn keep(folder: Arc<StackFolder>) {
    let _kept = Kept::new();
    let (mut stack, mut shown) = (None, String::new());
    loop {
        let folder = folder.clone();
        let looked = spawn_blocking(move || look(&folder, stack)).await;
        let Ok((opened, line)) = looked else { return };
        stack = opened;
        if line != shown {
            // In one call, between what the agent writes.
            write(&format!("\u{1b}]2;{line}\u{7}"));
            shown = line;
        }
        sleep(PAUSE).await;
    }
}

type Opened = Option<ManuallyDrop<Stack>>;

/// The line for the frame that is active now. Without a stack it is empty.
fn look(folder: &StackFolder, opened: Opened) -> (Opened, String) {
    let opened = opened.or_else(|| folder.has_stack().then(|| folder.open_to_read().ok()).flatten());
    let line = opened.as_ref().and_then(|stack| {
        let _ = stack.refresh();
        stack.read(|tree| status_line::of(tree, None)).ok()
    });
    (opened, line.unwrap_or_default())
}

/// The title that the terminal had before.
struct Kept;

impl Kept {
    fn new() -> Self {
        write(KEEP);
        Self
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        write(BRING_BACK);
    }
}

fn write(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}
