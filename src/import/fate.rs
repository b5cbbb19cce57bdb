//! What becomes of an entry of a plan. Each format has tables from the words of its tool to these.

/// What an entry of a plan becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Work that begins when what it depends on is completed: planned.
    Work,
    /// Work that somebody has begun elsewhere: in_progress, and no worker gets it.
    Begun,
    /// Work that must not begin before a person says so, or a time comes: blocked, with this reason.
    Waits(&'static str),
    /// No work: kept for what it says, and listed by this word. If it has parts, it only holds these together.
    NoWork(&'static str),
    /// As `NoWork`, with all that is below it.
    NoWorkBelow(&'static str),
    /// Completed, with what the plan says as its results.
    Finished,
    /// Out of the plan.
    Removed,
}

/// With these begins what a tracker says of work that has failed, or is out of the plan, if it knows no status for that.
pub(super) const FAILED: &str = "failed:";
pub(super) const CANCELLED: &str = "cancelled:";

/// The fate of a word by a table, whatever its letter case, with `-` for `_` and spaces. `None`: the table does not have the word.
pub(super) fn of<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let word = folded(word);
    table.iter().find(|(name, _)| *name == word).map(|(_, fate)| *fate)
}

/// A word as the tables have it.
pub(super) fn folded(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', ' '], "-")
}
