//! An index from words to frames, which a store can keep so that a search need not read all frames and logs.

use crate::error::Result;
use crate::frame::Handle;

/// Finds the frames that have words. What it has is derived from the history and the logs: it may be behind them or be removed at any
/// time, and [`Stack::search`](crate::Stack::search) brings it up to date.
///
/// A word is a text of at most 40 letters and digits, in small letters. Only the library knows how texts become words.
pub trait WordIndex: Send + Sync {
    /// The part of the history that it has. `None`: it is empty.
    ///
    /// # Errors
    /// The errors of the medium, as for the other methods. A search then reads the frames themselves.
    fn indexed(&self) -> Result<Option<IndexedHistory>>;

    /// The logs with lines that it does not have, of the frames that it has.
    ///
    /// # Errors
    /// As [`WordIndex::indexed`].
    fn grown_logs(&self) -> Result<Vec<GrownLog>>;

    /// In one transaction, adds words, if it still has what `before` says, as [`WordIndex::indexed`] has told; otherwise another user has added
    /// words, and it returns false. The words of a frame replace those that it has of it, those of a log are added. `is_new`: it forgets all
    /// else first.
    ///
    /// # Errors
    /// As [`WordIndex::indexed`]: nothing is added then.
    fn add(
        &self,
        before: Option<IndexedHistory>,
        is_new: bool,
        after: IndexedHistory,
        words: Vec<IndexedWords>,
    ) -> Result<bool>;

    /// The frames that have, for each of these words, a word that begins with it: in their records, and if `logs` is true in their logs
    /// too. It may return frames that do not have them, but leaves out none that does. In no order.
    ///
    /// # Errors
    /// As [`WordIndex::indexed`].
    fn find(&self, words: &[String], logs: bool) -> Result<Vec<Handle>>;
}

/// How much of a history an index has: the events up to a revision. The mark tells two histories apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedHistory {
    /// The revision.
    pub revision: u64,
    /// A hash of the event of this revision.
    pub mark: u64,
}

/// A log that has grown since its words were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrownLog {
    /// The frame.
    pub frame: Handle,
    /// Number of lines that the index has. 0 for a log that has begun again.
    pub lines: usize,
    /// What the index needs to know when the words of the other lines are added.
    pub state: [u64; 3],
}

/// The distinct words of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedWords {
    /// Where they stand.
    pub source: WordSource,
    /// The words.
    pub words: Vec<String>,
}

/// Where words stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordSource {
    /// In the record of a frame.
    Record {
        /// The frame.
        frame: Handle,
        /// The name of its log, if it has one in the folder of the stack.
        log: Option<String>,
    },
    /// In lines of a log: those after [`GrownLog::lines`].
    Log {
        /// The log.
        log: GrownLog,
        /// Number of lines that the index has with these.
        lines: usize,
    },
}
