//! The title of the terminal while an agent runs: the frame on which the agent works, and what the frame has
//! cost.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::{Stack, Tree};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::folder::StackFolder;
use crate::status_line;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Keeps the title that the terminal has, and restores it.
const KEEP: &str = "\u{1b}[22;2t";
const BRING_BACK: &str = "\u{1b}[23;2t";

/// True if the terminal can have a title.
pub fn is_possible() -> bool {
    io::stderr().is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Keeps the title up to date, for as long as it is polled.
pub async fn keep(folder: Arc<StackFolder>) {
    let _kept = Kept::new();
    let (mut stack, mut known, mut shown) = (None, None, String::new());
    loop {
        let folder = folder.clone();
        let looked = spawn_blocking(move || look(&folder, stack, known)).await;
        let Ok((opened, now)) = looked else { return };
        (stack, known) = (opened, now);
        let line = known.as_ref().map(|known| known.line.clone()).unwrap_or_default();
        if line != shown {
            // The title is written in one call, between what the agent writes.
            write(&format!("\u{1b}]2;{line}\u{7}"));
            shown = line;
        }
        sleep(PAUSE).await;
    }
}

type Opened = Option<ManuallyDrop<Stack>>;

/// The line for the active frame at a revision of the stack.
struct Known {
    revision: u64,
    line: String,
}

/// The line for the frame that is active now. It is made again only if the stack has changed. `None`: there
/// is no stack.
fn look(folder: &StackFolder, opened: Opened, known: Option<Known>) -> (Opened, Option<Known>) {
    let opened = opened.or_else(|| folder.has_stack().then(|| folder.open_to_read().ok()).flatten());
    let now = opened.as_ref().and_then(|stack| {
        let _ = stack.refresh();
        let line = |tree: &Tree| match known {
            Some(known) if known.revision == tree.revision() => known,
            _ => Known { revision: tree.revision(), line: status_line::of(tree, None) },
        };
        stack.read(line).ok()
    });
    (opened, now)
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
