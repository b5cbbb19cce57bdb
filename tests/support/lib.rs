//! Shared code of the tests: random trees with hostile texts, and the files of real plans.

#[cfg(feature = "tools")]
pub mod agent;
pub mod conversations;
#[cfg(feature = "tools")]
pub mod faults;
#[cfg(feature = "sqlite")]
pub mod folder;
#[cfg(feature = "tools")]
pub mod holders;
#[cfg(feature = "tools")]
pub mod host;
pub mod model;
#[cfg(feature = "sqlite")]
pub mod processes;
pub mod promises;
mod queries;
pub mod searches;
#[cfg(feature = "tokenizer")]
pub mod tokenizers;
pub mod workers;
pub mod wrapped;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use callstack_core::frame::{Chunk, ModelRequest, NewChunk, Question, Register, RegisterValues};
use callstack_core::{Command, Frame, FrameRef, FrameStatus, Handle, Result, Results, Stack, StackOptions, StackState};

pub use self::queries::Queries;

/// The folder of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in a folder of the repository").to_owned()
}

/// The path of a file of the tests' data.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// The text of a file of the tests' data.
pub fn read_data(name: &str) -> String {
    let path = data(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A number that the environment can set.
pub fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is `{value}`")))
}

/// Changes the status of a frame with the command itself, because the methods of a stack have a purpose each.
pub fn set_status(stack: &Stack, frame: impl Into<FrameRef>, status: FrameStatus, results: Option<&str>) -> Result<()> {
    let (frame, results) = (frame.into(), results.map(str::to_owned));
    stack.execute(Command::SetStatus { frame, status, results, results_compacted: None }).map(drop)
}

/// Compares a text with a file of `tests/golden`; `UPDATE_GOLDEN=1` writes the file instead.
pub fn assert_golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    if golden != text {
        let line = golden.lines().zip(text.lines()).position(|(one, other)| one != other);
        let line = line.unwrap_or(golden.lines().count().min(text.lines().count()));
        panic!(
            "{name} differs from line {} on:\n  golden: {:?}\n  now:    {:?}\nUPDATE_GOLDEN=1 rewrites it",
            line + 1,
            golden.lines().nth(line),
            text.lines().nth(line)
        );
    }
}

/// The record in a frame's file, and the revision of the file. Checks that a file with a revision has a
/// handle.
pub fn read_frame_file(path: &Path) -> (Frame, Option<u64>) {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut frame: Frame = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let revision = frame.extra.remove("revision").map(|revision| revision.as_u64().expect("a revision is a number"));
    let handle = frame.extra.remove("handle");
    let is_handle = handle.as_ref().and_then(|handle| handle.as_str()?.parse::<Handle>().ok()).is_some();
    assert_eq!(is_handle, revision.is_some(), "{}: {handle:?}", path.display());
    (frame, revision)
}

/// Runs a function in a new thread. Fails if it does not finish in time.
pub fn in_time<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(run()));
    receiver.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{what} failed or waits for ever"))
}

/// Options with a clock that a test controls.
pub fn options_at(now: &Arc<AtomicU64>) -> StackOptions {
    let clock = now.clone();
    StackOptions::default().clock(Arc::new(move || clock.load(Ordering::Relaxed)))
}

/// Reproducible random numbers (xorshift).
pub struct Random {
    state: u64,
    /// Bytes that a fuzzer has chosen, in reverse order. They are used first, two for each number.
    chosen: Vec<u8>,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, chosen: Vec::new() }
    }

    /// Creates numbers from these bytes; after the last byte they are random.
    pub fn chosen_by(bytes: &[u8]) -> Self {
        Self { chosen: bytes.iter().rev().copied().collect(), ..Self::new(bytes.len() as u64) }
    }

    /// The next number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        if let Some(low) = self.chosen.pop() {
            return u64::from(self.chosen.pop().unwrap_or_default()) << 8 | u64::from(low);
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// True with a probability of 1 in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// A text of up to about `words` words, with pieces that are difficult for XML, budgets and terminals.
pub fn text(random: &mut Random, words: usize) -> String {
    const PIECES: &[&str] = &[
        "parser",
        "Tokens",
        "src/main.rs",
        "cache",
        "getUserName",
        "index",
        "fix the",
        "f3",
        "retry",
        "x86_64",
        "100%",
        "&",
        "<b>",
        "]]>",
        "&amp;",
        "\"quoted\"",
        "it's",
        "\0",
        "\u{1}\u{2}",
        "\u{fffe}\u{ffff}",
        "\r\n",
        "\t",
        "\n\n",
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "שלום",
        "مرحبا",
        "解析器完成",
        "テスト",
        "naïve",
        "Привет",
        "aGVsbG8gd29ybGQ=",
        "—",
        "\u{202e}",
        "    ",
        "<!--",
        "<?xml",
        "=====",
        "a/b/c.py",
        "\u{b}",
        "e\u{301}",
        "\u{10ffff}",
    ];
    match random.below(12) {
        0 => String::new(),
        1 => " \n ".into(),
        2 => "word".repeat(random.below(words * 2 + 1)),
        3 => format!("gap{}end", random.pick(&[" ", "\n", "\t ", "\u{a0}", "\0"]).repeat(random.below(words * 20 + 1))),
        _ => {
            let count = random.below(words + 1);
            let mut text = String::new();
            for _ in 0..count {
                text.push_str(random.pick(PIECES));
                if !random.once_in(6) {
                    text.push(' ');
                }
            }
            text
        }
    }
}

/// A random forest of `size` frames: deep, wide or neither, with dependencies.
pub fn state(random: &mut Random, size: usize) -> StackState {
    let shape = random.below(4);
    let verbosity = [3, 30, 200][random.below(3)];
    let mut frames: Vec<Frame> = Vec::with_capacity(size);
    for index in 0..size {
        let parent = match (index, shape) {
            (0, _) => None,
            (_, 0) => Some(index - 1),
            (_, 1) => Some(0),
            (_, 2) => Some(index.saturating_sub(1 + random.below(3))),
            _ if random.once_in(40) => None,
            _ => Some(random.below(index)),
        };
        let status = match random.below(8) {
            0..3 => FrameStatus::Completed,
            3 => FrameStatus::Failed,
            4 => FrameStatus::Planned,
            5 => FrameStatus::Blocked,
            6 if random.once_in(3) => FrameStatus::Invalidated,
            _ => FrameStatus::InProgress,
        };
        let finished = status == FrameStatus::Completed || status == FrameStatus::Failed;
        let list = |random: &mut Random| (0..random.below(4)).map(|_| text(random, 6)).collect();
        frames.push(Frame {
            session_id: format!("ses_{index}"),
            parent_session_id: parent.map(|parent| format!("ses_{parent}")),
            status,
            title: text(random, 8),
            success_criteria: text(random, verbosity),
            success_criteria_compacted: text(random, verbosity / 2),
            results: (finished && !random.once_in(4)).then(|| text(random, verbosity)),
            results_compacted: (finished && !random.once_in(3)).then(|| text(random, verbosity / 2)),
            created_at: 1_000 + random.below(50) as u64 * 60_000,
            updated_at: 5_000_000 + random.below(1_000) as u64,
            artifacts: list(random),
            decisions: list(random),
            depends_on: (0..random.below(12).saturating_sub(8))
                .map(|_| format!("ses_{}", random.below(size)))
                .collect(),
            placeholder: random.once_in(5),
            log_path: random
                .once_in(3)
                .then(|| random.pick(&["Cargo.toml", "src/lib.rs", "no/such/log.jsonl"]).to_owned()),
            delivered_at: random.once_in(3).then(|| 1_000 + random.below(50) as u64),
            forgotten_at: random.once_in(5).then(|| 1_000 + random.below(50) as u64),
            ..Frame::default()
        });
    }
    add_memory(random, &mut frames, verbosity);
    add_attempts(random, &mut frames);
    if random.once_in(300) {
        let index = random.below(size);
        frames[index].title = "A very long title & more ".repeat(1_000_000 / 25);
    }
    StackState { frames, revision: 1, ..StackState::default() }
}

/// Makes some frames retries of failed siblings, in chains, with questions. A few of the links are not valid.
fn add_attempts(random: &mut Random, frames: &mut [Frame]) {
    if random.once_in(2) {
        return;
    }
    let is_chain = random.once_in(3);
    for index in 1..frames.len() {
        let parent = frames[index].parent_session_id.clone();
        let near = index.saturating_sub(20)..index;
        let mut earlier = near.rev().filter(|other| frames[*other].parent_session_id == parent);
        if let Some(earlier) = earlier.next().filter(|_| is_chain || random.once_in(3)) {
            frames[index].retry_of = Some(frames[earlier].session_id.clone());
            if !random.once_in(10) {
                frames[earlier].status = FrameStatus::Failed;
                frames[earlier].results = Some(text(random, 40));
            }
            let answer = random.once_in(2).then(|| text(random, 20));
            frames[earlier].questions = vec![Question { question: text(random, 30), answer, ..Question::default() }];
        } else if random.once_in(50) {
            frames[index].retry_of = Some(format!("ses_{}", random.below(frames.len() + 1)));
        }
    }
}

/// Adds chunks and registers to some of the frames.
fn add_memory(random: &mut Random, frames: &mut [Frame], verbosity: usize) {
    if random.once_in(2) {
        return;
    }
    for _ in 0..random.below(8) {
        let (name, index) = (format!("chunk {}", random.below(6)), random.below(frames.len().min(20)));
        let chunk = Chunk {
            name,
            content: text(random, verbosity * 2),
            description: if random.once_in(2) { text(random, 6) } else { String::new() },
            ..Chunk::default()
        };
        if frames[index].heap.iter().all(|other| other.name != chunk.name) {
            frames[index].heap.push(chunk);
        }
        let values: RegisterValues = Register::ALL.iter().map(|register| (*register, text(random, 60))).collect();
        frames[random.below(frames.len())].registers = Some(Box::new(values.into()));
    }
}

/// Creates a stack from a state. Invalid links are omitted.
pub fn stack_of(state: &StackState) -> Stack {
    Stack::from_state(state.clone(), StackOptions::default()).0
}

/// Executes a random command that is usually valid. New IDs begin with `name`.
pub fn work(stack: &Stack, random: &mut Random, name: &str) {
    use callstack_core::{FrameEdit, Handle, NewFrame, PopStatus};

    let count = stack.read(callstack_core::Tree::len).unwrap();
    let number = stack.read(callstack_core::Tree::revision).unwrap();
    let handle = |random: &mut Random| Handle::from_index(random.below(count)).unwrap();
    let new =
        || NewFrame::new(format!("Frame {number} of the parser")).id(format!("{name}_{number}")).criteria("It works");
    if count == 0 {
        stack.push(new()).unwrap();
        return;
    }
    let frame = handle(random);
    // The command may be refused.
    let chunk = |random: &mut Random| format!("chunk {}", random.below(4));
    let _ = match random.below(20) {
        16 => stack.retry(frame, random.once_in(2).then(|| format!("Note {number}"))).map(drop),
        17 => stack.pop(frame, PopStatus::Failed, format!("Lesson {number}")).map(drop),
        18 => {
            let edit = FrameEdit::default().title(format!("Edited {number}"));
            stack.edit(
                frame,
                match random.below(4) {
                    0 => edit.below(handle(random)),
                    1 => edit.before(handle(random)),
                    2 => edit.depends_on([handle(random)]),
                    _ => edit.root(),
                },
            )
        }
        19 => stack.record_usage(frame, ModelRequest { output: number, ..ModelRequest::new(chunk(random)) }),
        12 => stack.heap(frame).allocate(NewChunk::new(chunk(random)).content(format!("Content {number}"))),
        13 => stack.heap(frame).write(chunk(random), "x".repeat(random.below(300))),
        14 => stack.heap(frame).free(chunk(random)),
        15 => stack.update_registers(frame, [(Register::ALL[random.below(8)], format!("Note {number}"))].into()),
        0..3 => stack.push(new().below(frame)).map(drop),
        3 => stack.plan(new().below(frame).depends_on(handle(random))).map(drop),
        4 => stack.activate(frame),
        5 | 6 => stack
            .pop(frame, PopStatus::Completed, Results::new(format!("Results {number}")).compacted("dense"))
            .map(drop),
        7 => stack.add_artifact(frame, format!("src/{number}.rs")).map(drop),
        8 => stack.add_decision(frame, format!("Decision {number}")),
        9 if random.once_in(4) => stack.invalidate(frame, "not wanted").map(drop),
        9 => stack.set_active(frame),
        10 => stack.replace_id(frame, format!("{name}_again_{number}")),
        _ => stack.ensure(&format!("{name}_session_{number}"), None, Some(frame.into())).map(drop),
    };
}
