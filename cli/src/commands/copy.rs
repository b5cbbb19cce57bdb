//! `callstack copy`: copies a stack to another place, from a folder to a server or back.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::thread::{self, JoinHandle};

use callstack_core::{Handle, LogQuery, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Page, Report, count, note};

/// Number of lines of a log that are copied at a time.
const LINES: usize = 200;
/// Size of what is appended to a log at a time, in bytes.
const LARGE: usize = 4 << 20;

#[derive(Args)]
pub struct Arguments {
    /// The stack: its folder, or its URL. It stays as it is.
    #[arg(value_name = "FROM")]
    from: OsString,
    /// Where the copy is made: a folder without a stack, or the URL of a stack that does not exist.
    #[arg(value_name = "TO")]
    to: OsString,
}

/// A stack that was copied. Its history was replayed, and gives the same frames.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// Where the copy is.
    to: String,
    /// Number of events.
    events: u64,
    /// Number of frames.
    frames: usize,
    /// Number of lines of logs.
    log_lines: usize,
}

impl Report for Copied {
    const KIND: &'static str = "copied";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { to, events, frames, log_lines } = self;
        let content = format!(
            "{}, {} and {}",
            count(*events as usize, "event"),
            count(*frames, "frame"),
            count(*log_lines, "log line")
        );
        page.text(0, &format!("copied {content} to {to}, and compared the copy with the original"))
    }
}

pub fn run(arguments: Arguments) -> Result<Copied, Failure> {
    let [from, to] = [arguments.from, arguments.to].map(|place| StackFolder::new(Some(place), true));
    let stack = from.open_to_read()?;
    let mut history = HistoryOf::new(&stack)?;
    let copy = to.rebuild(&mut history).map_err(|failure| history.failure().unwrap_or(failure))?;
    let log_lines = copy_logs(&stack, &copy)?;
    compare(&stack, &copy)?;
    copy.files().flush()?;
    Ok(Copied { to: to.shown()?, events: history.events, frames: copy.read(|tree| tree.len())?, log_lines })
}

/// Copies the full logs that the stack keeps itself. Logs that a host keeps stay where they are.
fn copy_logs(from: &Stack, to: &Stack) -> Result<usize, Failure> {
    let mut copied = 0;
    for handle in from.read(|tree| tree.handles().collect::<Vec<_>>())? {
        let Some(path) = from.frame(handle)?.log_path else { continue };
        if path.starts_with("logs/") {
            copied += copy_log(handle, from, to)?;
        } else if from.log(handle).read(&LogQuery::default().tail(0))?.total > 0 {
            note(&format!(
                "the log of {handle} is {path}, which its host keeps; earlier lines in the stack were not copied"
            ));
        }
    }
    Ok(copied)
}

/// Copies the log of a frame, some lines at a time. Returns their number.
fn copy_log(frame: Handle, from: &Stack, to: &Stack) -> Result<usize, Failure> {
    let (mut copied, mut damaged, mut first) = (0, 0, 1);
    loop {
        let page = from.log(frame).read(&LogQuery::default().range(first, first + LINES - 1))?;
        page.damaged.iter().for_each(|damage| {
            note(&format!("line {} of the log of {frame} was not copied: {}", damage.number, damage.message));
        });
        copied += page.lines.len();
        append(frame, page.lines.into_iter().map(|line| line.entry), to)?;
        first += LINES;
        damaged += page.damaged.len();
        if page.total < first {
            return match page.total == copied + damaged {
                true => Ok(copied),
                false => Err(differs("a log has grown while it was copied")),
            };
        }
    }
}

/// Appends entries to a log, some megabytes at a time.
fn append(frame: Handle, entries: impl Iterator<Item = Value>, to: &Stack) -> Result<(), Failure> {
    let (mut part, mut bytes) = (Vec::new(), 0);
    for entry in entries {
        bytes += entry.to_string().len();
        part.push(entry);
        if bytes > LARGE {
            to.log(frame).append(&std::mem::take(&mut part))?;
            bytes = 0;
        }
    }
    if part.is_empty() { Ok(()) } else { Ok(to.log(frame).append(&part)?) }
}

/// The failure of a copy that is not the same as the stack.
fn differs(message: &str) -> Failure {
    Failure::new(Exit::Failed, "different", message.to_owned()).next(
        "end the hosts of the stack, remove the copy (`callstack postgres remove`, or its folder), and copy it again",
    )
}

/// Replays the history of the copy, and compares its frames with those of the stack.
fn compare(stack: &Stack, copy: &Stack) -> Result<(), Failure> {
    if let Some(problem) = copy.history().check()?.first() {
        return Err(differs(&format!("the copy is wrong: {problem}")));
    }
    stack.refresh()?;
    if stack.read(|tree| tree.revision())? != copy.read(|tree| tree.revision())? {
        return Err(differs("the stack has changed while it was copied, so the copy lacks the last events"));
    }
    if digest(stack)? != digest(copy)? {
        return Err(differs("the copy has other frames than the stack"));
    }
    Ok(())
}

fn digest(stack: &Stack) -> Result<Vec<u8>, Failure> {
    let mut hasher = Sha256::new();
    stack.files().export_state(Hashing(&mut hasher))?;
    Ok(hasher.finalize().to_vec())
}

/// A writer that keeps only a hash.
struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The history of a stack as lines, which another thread writes at the same time. An error of that thread
/// becomes an error of reading, so that half of a history is not taken for a whole one.
struct HistoryOf {
    lines: BufReader<PipeReader>,
    writer: Option<JoinHandle<Result<u64, callstack_core::Error>>>,
    /// Number of events, at the end.
    events: u64,
}

impl HistoryOf {
    fn new(stack: &Stack) -> Result<Self, Failure> {
        let (reader, writer) = io::pipe().map_err(|error| Failure::of_file("make", "a pipe", &error))?;
        let stack = stack.clone();
        let writer = thread::spawn(move || stack.history().export(writer));
        Ok(Self { lines: BufReader::new(reader), writer: Some(writer), events: 0 })
    }

    /// Why the history could not be read to its end. This can be the cause of the problem that the reader has
    /// found.
    fn failure(&mut self) -> Option<Failure> {
        let _ = io::copy(&mut self.lines, &mut io::sink());
        let written = self.writer.take()?.join().ok()?;
        written.err().map(Failure::from)
    }
}

impl Read for HistoryOf {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let filled = self.fill_buf()?;
        let length = filled.len().min(buffer.len());
        buffer[..length].copy_from_slice(&filled[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for HistoryOf {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.lines.fill_buf()?.is_empty()
            && let Some(writer) = self.writer.take()
        {
            let written =
                writer.join().map_err(|_| io::Error::other("the thread that reads the history has panicked"))?;
            self.events = written.map_err(io::Error::other)?;
        }
        Ok(self.lines.buffer())
    }

    fn consume(&mut self, length: usize) {
        self.lines.consume(length);
    }
}
