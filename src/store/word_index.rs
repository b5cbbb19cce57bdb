//! An index from words to frames, which a store can keep so that a search need not read all frames and logs.

use crate::error::Result;
use crate::frame::Handle;

/// Finds the frames that have words. Its content is derived from the history and the logs. The content may be
/// older than these, and may be removed at any time; [`Stack::search`](crate::Stack::search) brings it up to
/// date.
///
/// A word is a text of at most 40 letters and digits, in small letters. Only the library knows how texts
/// become words.
pub trait WordIndex: Send + Sync {
    /// The part of the history that the index has. `None`: the index is empty.
    ///
    /// # Errors
    /// The errors of the medium, as for the other methods. A search then reads the frames themselves.
    fn indexed(&self) -> Result<Option<IndexedHistory>>;

    /// The logs with lines that the index does not have, of the frames that the index has.
    ///
    /// # Errors
    /// As [`WordIndex::indexed`].
    fn grown_logs(&self) -> Result<Vec<GrownLog>>;

    /// In one transaction, adds words, if the index still has what `before` says, the result of an earlier
    /// call of [`WordIndex::indexed`]. Otherwise another process has added words, and this returns false. The
    /// words of a frame's record replace those that the index has of this record; the words of a log are
    /// added to those before. `is_new`: the index first forgets everything else.
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

    /// The frames in which each of these words is the beginning of a word: of a word in their records, or, if
    /// `logs` is true, in their logs too. The index may return frames that do not have the words, but it
    /// leaves out no frame that has them. The frames are in no order.
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
        /// Number of lines that the index has, including these.
        lines: usize,
    },
}
