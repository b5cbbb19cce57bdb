//! The options of a stack, and the clocks and random numbers of the system.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[cfg(doc)]
use super::Files;
#[cfg(doc)]
use super::Stack;
use crate::context::TokenCounter;
#[cfg(doc)]
use crate::error::Error;
use crate::store::{BUSY_TIMEOUT, Durability};
use serde::Deserialize;

/// A clock: returns the current time in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A source of random numbers, for the generated IDs `plan-…` and `run-…`.
pub type Random = Arc<dyn Fn() -> u64 + Send + Sync>;

/// When the documented files beside the database, `state.json` and `frames/`, are written. They never say more
/// than the database: a command is safe when it returns, no matter when its files are written.
///
/// In JSON: `"off"`, `"later"`, `"withCommands"`; `false` means `"off"` and `true` means `"later"`,
/// also in Rust.
///
/// ```
/// use callstack_core::{Mirroring, NewFrame, Stack, StackOptions};
///
/// # #[cfg(feature = "sqlite")] {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// let stack = Stack::open(folder, StackOptions::default())?;
/// stack.push(NewFrame::new("Build a shop"))?;
/// assert!(!folder.join("state.json").exists(), "a command writes no files");
/// stack.upkeep().poll();
/// assert!(folder.join("state.json").exists(), "a poll does");
///
/// let stack = Stack::open(folder, StackOptions::default().mirror(Mirroring::WithCommands))?;
/// stack.push(NewFrame::new("Cart").id("ses_cart"))?;
/// assert!(folder.join("frames/ses_cart.json").exists(), "here each command writes the files of its frames");
/// # }
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Mirroring {
    /// There are no such files. Files that an earlier process has written stay as they are.
    Off,
    /// Calls that are made for it write them: `stack.upkeep().poll()` and `stack.host().poll()` in small
    /// portions, [`Files::flush`] and [`Stack::close`](super::Stack::close) all of them, the end of the stack
    /// too. Neither a command nor an open writes them. The default.
    #[default]
    Later,
    /// Each command also writes the files of the frames that it has changed, and an open begins to write what
    /// is missing. For hosts that do not poll, and whose readers must see a change at once.
    WithCommands,
}

impl From<bool> for Mirroring {
    /// `true`: [`Mirroring::Later`]; `false`: [`Mirroring::Off`].
    fn from(is_on: bool) -> Self {
        if is_on { Self::Later } else { Self::Off }
    }
}

/// The options of a stack. `durability`, `mirror`, `state_file_frames` and `finished_frames` are used only by
/// stacks in a folder.
#[derive(Clone)]
#[non_exhaustive]
pub struct StackOptions {
    /// The clock of the time of day, for the times of events. Default: the system's clock.
    pub clock: Clock,
    /// The clock for spans: idle times, time limits, the ages of cached contexts and of suggestions. It
    /// returns milliseconds since any moment. It should not be set back or forward, and should not count
    /// while the machine sleeps. `None`: spans are measured by [`clock`](StackOptions::clock); when that is
    /// set back, the time since it was last read does not count. Default: the system's monotonic clock.
    pub monotonic_clock: Option<Clock>,
    /// The random part of generated IDs. Default: random numbers of this process.
    pub random: Random,
    /// The token counter. Default [`Approx`](crate::context::Approx), which estimates.
    pub counter: Arc<dyn TokenCounter>,
    /// The failures that an acknowledged commit survives. Default [`Durability::Normal`].
    pub durability: Durability,
    /// Maximum wait of one call, in milliseconds; then it fails with [`Error::Busy`]. It begins with the call
    /// and covers everything that the call waits for: commands of other threads, other processes in the
    /// database, the lock of a log, and in [`Files::flush`] and [`Files::export`] the lock of the files.
    /// Default 10,000.
    pub busy_timeout: u64,
    /// When `state.json` and `frames/` next to the database are written. Default [`Mirroring::Later`].
    pub mirror: Mirroring,
    /// Number of frames above which commands, polls, and the end of the stack, write only the files of the
    /// frames that this process has changed. `state.json`, whose size grows with the tree, is then left to
    /// [`Files::flush`] and to other processes. This is for programs that make one change and end. Default
    /// `usize::MAX`: `state.json` is always written.
    pub state_file_frames: usize,
    /// Maximum number of frames of finished trees that stay in memory: those of the trees that were used
    /// last. The other frames are read from the database when a caller asks for them, one tree at a time. The
    /// option changes how long calls take, but not what they return. Default 4,096.
    pub finished_frames: usize,
}

impl StackOptions {
    /// Sets the clock, and [`monotonic_clock`](StackOptions::monotonic_clock) to `None`, so that the given
    /// clock is the only one.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, monotonic_clock: None, ..self }
    }

    /// Sets [`mirror`](StackOptions::mirror). `true` and `false` work too.
    pub fn mirror(self, mirror: impl Into<Mirroring>) -> Self {
        Self { mirror: mirror.into(), ..self }
    }

    setters! {
        monotonic_clock: Option<Clock>,
        random: Random,
        counter: Arc<dyn TokenCounter>,
        durability: Durability,
        busy_timeout: u64,
        state_file_frames: usize,
        finished_frames: usize,
    }

    pub(super) fn busy_limit(&self) -> Duration {
        Duration::from_millis(self.busy_timeout)
    }
}

impl Default for StackOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(system_time),
            monotonic_clock: Some(monotonic_time()),
            random: system_random(),
            counter: Arc::new(crate::context::Approx),
            durability: Durability::default(),
            busy_timeout: BUSY_TIMEOUT,
            mirror: Mirroring::default(),
            state_file_frames: usize::MAX,
            finished_frames: 4_096,
        }
    }
}

fn system_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// A clock that counts the milliseconds from now on.
fn monotonic_time() -> Clock {
    let start = Instant::now();
    Arc::new(move || start.elapsed().as_millis() as u64)
}

/// Randomly keyed hashes of a counter. That is random enough, because IDs are checked for duplicates. Forked
/// processes have the same keys, so the number of the process is hashed too.
fn system_random() -> Random {
    let keys = RandomState::new();
    let counter = AtomicU64::new(0);
    Arc::new(move || {
        let mut hasher = keys.build_hasher();
        hasher.write_u32(std::process::id());
        hasher.write_u64(counter.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    })
}
