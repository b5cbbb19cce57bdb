//! The common parts of the tests: stacks, and the program in a terminal.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use callstack_core::{Stack, StackOptions};
use pseudo_terminal::{Size, Terminal, text_of};
use regex::Regex;
use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_callstack");

/// The arrow keys, and other keys that have more than one byte.
pub const UP: &str = "\x1b[A";
pub const DOWN: &str = "\x1b[B";
pub const RIGHT: &str = "\x1b[C";
pub const LEFT: &str = "\x1b[D";
pub const HOME: &str = "\x1b[H";
pub const END: &str = "\x1b[F";
pub const PAGE_DOWN: &str = "\x1b[6~";
pub const ESCAPE: &str = "\x1b";
pub const ENTER: &str = "\r";
pub const TAB: &str = "\t";

/// Sends keys as soon as the program no longer discards them.
pub fn press(terminal: &mut Terminal, keys: &str) {
    terminal.wait_for("that keys count", |screen| !text_of(screen).contains("keys rest"));
    terminal.press(keys);
}

/// A folder with a stack.
pub struct Scene {
    pub folder: TempDir,
}

impl Scene {
    /// An empty stack.
    pub fn empty() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        scene.stack().close().unwrap();
        scene
    }

    /// The stack of a history in `cmd/` or `watch/`. The history has ended just now, so the ages of its
    /// frames are known. The half minute keeps the ages from changing while the test runs.
    pub fn of_history(name: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
        let history = fs::read_to_string(source.join("history.jsonl")).unwrap();
        let times = Regex::new(r"\b17000\d{8}\b").unwrap();
        let time = |text: &str| text.parse::<u64>().unwrap();
        let last = times.find_iter(&history).map(|found| time(found.as_str())).max().unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let later = u64::try_from(now.as_millis()).unwrap() - 30_000 - last;
        let history = times.replace_all(&history, |found: &regex::Captures<'_>| (time(&found[0]) + later).to_string());
        let folder = tempfile::tempdir().unwrap();
        let options = StackOptions::default().mirror(false);
        Stack::rebuild(folder.path(), history.as_bytes(), options).unwrap().close().unwrap();
        for log in fs::read_dir(source.join("logs")).into_iter().flatten() {
            let log = log.unwrap();
            fs::create_dir_all(folder.path().join("logs")).unwrap();
            fs::copy(log.path(), folder.path().join("logs").join(log.file_name())).unwrap();
        }
        Self { folder }
    }

    /// The stack, as another process has it.
    pub fn stack(&self) -> Stack {
        Stack::open(self.folder.path(), StackOptions::default()).unwrap()
    }

    /// The program on the full screen.
    pub fn watch(&self, size: Size) -> Terminal {
        self.watch_with(&[], &[], size)
    }

    pub fn watch_with(&self, arguments: &[&str], environment: &[(&str, &str)], size: Size) -> Terminal {
        let folder = self.folder.path().to_str().unwrap();
        let environment = [environment, &[("CALLSTACK_DIR", folder)]].concat();
        Terminal::start(Path::new(PROGRAM), &[&["watch"], arguments].concat(), &environment, size)
    }
}

/// A text in which the name of the stack's folder and the times are replaced, because they differ each time.
pub fn stable(text: &str, folder: &Path) -> String {
    let name = folder.to_str().unwrap();
    let shown = format!("{:<width$}", "/stack", width = name.len());
    let times = Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d").unwrap();
    let text = text.replace(name, &shown);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    times.replace_all(&lines.join("\n"), "0000-00-00 00:00:00").into_owned()
}
