//! `callstack statusline`: the status line of Claude Code. It gets the session on the standard input, and
//! shows the frame of the session.

use std::io::{self, Read, Write};

use serde::Deserialize;

use crate::caller::Caller;
use crate::exit::Exit;
use crate::folder::StackFolder;
use crate::status_line;

/// The longest input that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What Claude Code tells about itself, as far as it is used.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    session_id: String,
}

/// Writes the line. If there is no stack, or the stack cannot be read, the line is empty: a status line never
/// disturbs the session.
pub fn run(folder: &StackFolder) -> Exit {
    let mut text = String::new();
    let told: Told = match io::stdin().lock().take(LONGEST).read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Told::default(),
    };
    // A reader that has gone needs no line.
    let _ = writeln!(io::stdout().lock(), "{}", line(folder, &told.session_id).unwrap_or_default());
    Exit::Done
}

fn line(folder: &StackFolder, session: &str) -> Option<String> {
    if !folder.has_stack() {
        return None;
    }
    let stack = folder.open_to_read().ok()?;
    let caller = Caller::of_claude(session, None);
    let line = |caller: Option<Caller>| {
        stack.read(|tree| {
            let place = caller.and_then(|caller| tree.place_of(&caller.to_string()));
            status_line::of(tree, place)
        })
    };
    line(caller).ok()
}
