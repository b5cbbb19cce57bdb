//! Deterministic trees of a given size and shape for benchmarks.

use callstack_core::{Frame, FrameStatus, Stack, StackOptions, StackState};

/// The amount of text in a frame.
#[derive(Clone, Copy)]
pub enum Texts {
    /// About 3 KB.
    Large,
    /// About 300 bytes.
    Small,
}

impl Texts {
    fn words(self, large: usize, small: usize) -> usize {
        match self {
            Texts::Large => large,
            Texts::Small => small,
        }
    }
}

/// Creates a tree of `count` frames with `fan_out` children each. The last frame and its ancestors are in
/// progress; all other frames are completed.
pub fn full(count: usize, fan_out: usize, texts: Texts) -> Stack {
    let mut open = vec![false; count];
    let mut path = Some(count - 1);
    while let Some(index) = path {
        open[index] = true;
        path = index.checked_sub(1).map(|index| index / fan_out);
    }
    of_frames(count, texts, |index| index.checked_sub(1).map(|index| index / fan_out), |index| open[index])
}

/// Creates only the path to the last frame of such a tree, with the siblings of the frames on the path: a small
/// tree in which that frame is as deep, and has as many frames beside and above it.
pub fn path(count: usize, fan_out: usize, texts: Texts) -> Stack {
    let levels = std::iter::successors(Some(count - 1), |index| index.checked_sub(1).map(|index| index / fan_out));
    let depth = levels.count() - 1;
    // The last frame of each level is open, and the next level is below it.
    let parent = |index: usize| index.checked_sub(1).map(|before| before / fan_out * fan_out);
    of_frames(1 + depth * fan_out, texts, parent, |index| index % fan_out == 0)
}

/// Creates a root with `count` completed children and one child in progress.
pub fn wide(count: usize) -> Stack {
    of_frames(count + 2, Texts::Small, |index| (index > 0).then_some(0), |index| index == 0 || index == count + 1)
}

/// Creates a chain of `count` frames, all in progress.
pub fn deep(count: usize) -> Stack {
    of_frames(count, Texts::Small, |index| index.checked_sub(1), |_| true)
}

/// Returns the ID of the frame at this position in creation order, counted from 0.
pub fn id(index: usize) -> String {
    format!("ses_{index:020}")
}

fn of_frames(
    count: usize,
    texts: Texts,
    parent: impl Fn(usize) -> Option<usize>,
    is_open: impl Fn(usize) -> bool,
) -> Stack {
    let mut words = Words(1);
    let frames = (0..count).map(|index| {
        let is_open = is_open(index);
        Frame {
            session_id: id(index),
            parent_session_id: parent(index).map(id),
            status: if is_open { FrameStatus::InProgress } else { FrameStatus::Completed },
            title: words.text(4),
            success_criteria: words.text(texts.words(90, 6)),
            success_criteria_compacted: words.text(texts.words(25, 4)),
            results: (!is_open).then(|| words.text(texts.words(220, 8))),
            results_compacted: (!is_open).then(|| words.text(texts.words(60, 5))),
            created_at: 1_000 + index as u64,
            updated_at: 2_000 + index as u64,
            artifacts: (0..texts.words(5, 1)).map(|_| format!("src/{}/{}.rs", words.next(), words.next())).collect(),
            decisions: (0..texts.words(3, 0)).map(|_| words.text(10)).collect(),
            ..Frame::default()
        }
    });
    let state = StackState {
        frames: frames.collect(),
        active_frame_id: Some(id(count - 1)),
        root_frame_ids: vec![id(0)],
        revision: count as u64,
        ..StackState::default()
    };
    let (stack, repairs) = Stack::from_state(state, StackOptions::default());
    assert!(repairs.is_empty(), "{}", repairs[0]);
    stack
}

/// Generates deterministic texts (xorshift).
struct Words(u64);

impl Words {
    fn next(&mut self) -> &'static str {
        #[rustfmt::skip]
        const WORDS: &[&str] = &[
            "parser", "token", "session", "route", "handler", "cache", "index", "query", "frame", "budget", "render",
            "commit", "schema", "record", "buffer", "socket", "request", "response", "client", "server", "login",
            "password", "hash", "migration", "table", "column", "worker", "queue", "retry", "timeout", "config",
            "setting", "option", "module", "package", "version", "release", "test", "fixture", "mock", "error",
            "message", "status", "report", "chart", "layout", "button", "field", "form", "upload", "download", "file",
            "folder", "path", "stream", "event", "signal", "state", "store", "effect", "and", "with", "for", "the",
            "of", "to", "in", "is", "when", "from",
        ];
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        WORDS[(self.0 % WORDS.len() as u64) as usize]
    }

    fn text(&mut self, count: usize) -> String {
        (0..count).map(|_| self.next()).collect::<Vec<_>>().join(" ")
    }
}
