//! The first line of the file of a session, which tells whose it is.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use callstack_core::text::from_json;
use serde_json::Value;

/// How much of a file is read to learn its form, in bytes.
pub(super) const HEAD: u64 = 4 << 20;

/// True if another thread or the program itself has started the thread in a file of Codex.
pub(super) fn is_of_program(path: &Path) -> bool {
    let read = || {
        let head = first_line(path)?;
        let payload = head.get("payload")?;
        Some(
            payload.pointer("/source/subagent").is_some()
                || payload.get("parent_thread_id").is_some_and(Value::is_string),
        )
    };
    read().unwrap_or(false)
}

/// The first line of a file. `None`: it is no JSON, or it is too long.
pub(super) fn first_line(path: &Path) -> Option<Value> {
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(HEAD)).read_until(b'\n', &mut line).ok()?;
    from_json(&String::from_utf8_lossy(&line)).ok()
}
