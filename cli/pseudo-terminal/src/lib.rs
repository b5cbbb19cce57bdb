//! A terminal for tests: runs a program in a pseudo-terminal, types keys, and shows the screen that a person
//! would see.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::Parser;
pub use vt100::{Cell, Color, Screen};

/// Maximum wait of a test for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// The end of a synchronized update: what was written before it is a whole picture.
const UPDATE_END: &[u8] = b"\x1b[?2026l";
/// U+FFFD, and what the screen shows in its place.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();
pub const STAND_IN: &str = "¤";
/// Variables that change the output of programs.
const CLEARED: [&str; 6] = ["COLUMNS", "LINES", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CALLSTACK_PRICES"];

/// A size in columns and rows.
pub type Size = (u16, u16);

/// A terminal with a program in it.
pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Arc<Output>,
    reader: Option<JoinHandle<()>>,
}

/// The output of the program.
struct Output {
    shown: Mutex<Shown>,
    changed: Condvar,
}

struct Shown {
    parser: Parser,
    /// The last bytes.
    tail: Vec<u8>,
    /// Number of synchronized updates that are complete.
    updates: u64,
    is_closed: bool,
}

/// The end of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The exit code; 1 if a signal has ended the program.
    pub code: u32,
    /// The name of the signal that has ended the program.
    pub signal: Option<String>,
}

impl Terminal {
    /// Starts a program with additional environment variables.
    pub fn start(program: &Path, arguments: &[&str], environment: &[(&str, &str)], size: Size) -> Self {
        let pair = native_pty_system().openpty(pty_size(size)).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        CLEARED.iter().for_each(|name| command.env_remove(name));
        command.env("TERM", "xterm-256color");
        command.env("TZ", "UTC");
        environment.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let (columns, rows) = of_screen(size);
        let shown = Shown { parser: Parser::new(rows, columns, 0), tail: Vec::new(), updates: 0, is_closed: false };
        let output = Arc::new(Output { shown: Mutex::new(shown), changed: Condvar::new() });
        let bytes = pair.master.try_clone_reader().expect("the output of the program");
        let keys = pair.master.take_writer().expect("the input of the program");
        let reader = thread::spawn({
            let output = output.clone();
            move || output.follow(bytes)
        });
        Self { master: pair.master, keys, child, output, reader: Some(reader) }
    }

    /// Sends keys as a terminal does: `\r` is Enter, `\x1b[A` the upper arrow.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("the terminal takes keys");
    }

    pub fn resize(&mut self, size: Size) {
        let (columns, rows) = of_screen(size);
        self.output.lock().parser.set_size(rows, columns);
        self.master.resize(pty_size(size)).expect("the terminal changes its size");
    }

    pub fn process(&self) -> i32 {
        self.child.process_id().and_then(|id| i32::try_from(id).ok()).expect("the program runs")
    }

    /// The modes of the terminal, such as whether it echoes: as a text that can be compared.
    pub fn modes(&self) -> String {
        format!("{:?}", self.master.get_termios().expect("the modes of the terminal"))
    }

    /// The screen as it is now.
    pub fn screen(&self) -> Screen {
        self.output.lock().parser.screen().clone()
    }

    /// The lines of the screen as they are now, without the spaces at their ends.
    pub fn text(&self) -> String {
        text_of(&self.screen())
    }

    /// The number of pictures so far.
    pub fn updates(&self) -> u64 {
        self.output.lock().updates
    }

    /// Waits for a whole picture that the test is looking for, and returns it.
    ///
    /// # Panics
    /// If it does not come: with the last screen.
    pub fn wait_for(&self, awaited: &str, is_awaited: impl Fn(&Screen) -> bool) -> Screen {
        self.wait(awaited, |shown| shown.tail.ends_with(UPDATE_END) && is_awaited(shown.parser.screen()))
    }

    /// Waits for a whole picture with a text.
    ///
    /// # Panics
    /// As [`Terminal::wait_for`].
    pub fn wait_for_text(&self, text: &str) -> Screen {
        self.wait_for(text, |screen| text_of(screen).contains(text))
    }

    /// Waits for a picture after this many.
    ///
    /// # Panics
    /// As [`Terminal::wait_for`].
    pub fn wait_for_update(&self, before: u64) {
        self.wait("another picture", |shown| shown.updates > before);
    }

    /// Waits for a screen, whether or not it is a whole picture.
    ///
    /// # Panics
    /// As [`Terminal::wait_for`].
    pub fn wait_until(&self, awaited: &str, is_awaited: impl Fn(&Screen) -> bool) -> Screen {
        self.wait(awaited, |shown| is_awaited(shown.parser.screen()))
    }

    fn wait(&self, awaited: &str, is_awaited: impl Fn(&Shown) -> bool) -> Screen {
        let deadline = Instant::now() + PATIENCE;
        let mut shown = self.output.lock();
        while !is_awaited(&shown) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || shown.is_closed {
                let (screen, is_closed) = (text_of(shown.parser.screen()), shown.is_closed);
                // A panic must not poison what the reader uses.
                drop(shown);
                let ended = if is_closed { "the program has ended, and" } else { "the program" };
                panic!("{ended} does not show: {awaited}. The screen:\n{screen}");
            }
            shown = self.output.changed.wait_timeout(shown, left).expect("the reader works").0;
        }
        shown.parser.screen().clone()
    }

    /// Waits until the program has ended and everything that it wrote is on the screen.
    ///
    /// # Panics
    /// If it does not end.
    pub fn ending(&mut self) -> Ending {
        let deadline = Instant::now() + PATIENCE;
        let mut shown = self.output.lock();
        while !shown.is_closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let screen = text_of(shown.parser.screen());
                drop(shown);
                panic!("the program does not end. The screen:\n{screen}");
            }
            shown = self.output.changed.wait_timeout(shown, left).expect("the reader works").0;
        }
        drop(shown);
        let status = self.child.wait().expect("the program ends");
        Ending { code: status.exit_code(), signal: status.signal().map(str::to_owned) }
    }
}

impl Drop for Terminal {
    /// A test that fails must not leave its program behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.reader.take().into_iter().for_each(|reader| drop(reader.join()));
    }
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().expect("the reader works")
    }

    fn follow(&self, mut bytes: Box<dyn Read + Send>) {
        let mut buffer = vec![0; 1 << 16];
        let mut pending: Vec<u8> = Vec::new();
        // The end of a pseudo-terminal is an error.
        while let Ok(count @ 1..) = bytes.read(&mut buffer) {
            let read = &buffer[..count];
            pending.extend_from_slice(read);
            let mut shown = self.lock();
            shown.parser.process(&with_stand_ins(&mut pending));
            let before = shown.tail.len();
            shown.tail.extend_from_slice(read);
            let from = before.saturating_sub(UPDATE_END.len() - 1);
            let ends = shown.tail[from..].windows(UPDATE_END.len()).filter(|bytes| *bytes == UPDATE_END).count();
            shown.updates += ends as u64;
            let old = shown.tail.len().saturating_sub(UPDATE_END.len());
            shown.tail.drain(..old);
            drop(shown);
            self.changed.notify_all();
        }
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

/// Takes the bytes that are whole so far. Terminals show U+FFFD in a column of its own, but the emulator
/// leaves it out, so another character stands in for it.
fn with_stand_ins(pending: &mut Vec<u8>) -> Vec<u8> {
    let is_begun = |rest: &[u8]| !rest.is_empty() && rest.len() < REPLACEMENT.len() && REPLACEMENT.starts_with(rest);
    let begun = (1..REPLACEMENT.len()).rev().find(|length| is_begun(&pending[pending.len().saturating_sub(*length)..]));
    let rest = pending.split_off(pending.len() - begun.unwrap_or(0));
    let whole = std::mem::replace(pending, rest);
    let mut shown = Vec::with_capacity(whole.len());
    let mut left = whole.as_slice();
    while let Some(place) = left.windows(REPLACEMENT.len()).position(|bytes| bytes == REPLACEMENT) {
        shown.extend_from_slice(&left[..place]);
        shown.extend_from_slice(STAND_IN.as_bytes());
        left = &left[place + REPLACEMENT.len()..];
    }
    shown.extend_from_slice(left);
    shown
}

/// The lines of a screen, without the spaces at their ends.
pub fn text_of(screen: &Screen) -> String {
    let (_, columns) = screen.size();
    let lines: Vec<String> = screen.rows(0, columns.get()).map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

fn pty_size((cols, rows): Size) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn of_screen((columns, rows): Size) -> (NonZeroU16, NonZeroU16) {
    (NonZeroU16::new(columns).expect("at least one column"), NonZeroU16::new(rows).expect("at least one row"))
}
