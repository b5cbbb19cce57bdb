//! What an entry of a plan becomes. Each format has tables from the words of its tool to these fates; an
//! export finds the words in the tables.

use serde_json::Value;

use crate::frame::FrameStatus;

/// What an entry of a plan becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Work that begins when what it depends on is completed: planned.
    Work,
    /// Work that was begun elsewhere: in_progress, and no worker gets it.
    Begun,
    /// Work that must not begin before a person says so, or a time comes: blocked, with this reason.
    Waits(&'static str),
    /// Not work: it is kept for what it says, and listed by this word. If it has parts, it only holds these
    /// together.
    NoWork(&'static str),
    /// Like `NoWork`, with everything below it.
    NoWorkBelow(&'static str),
    /// Completed, with what the plan says as its results.
    Finished,
    /// Out of the plan.
    Removed,
}

/// What a tracker says about work that has failed, or is out of the plan, begins with one of these, if the
/// tracker has no status for that.
pub(super) const FAILED: &str = "failed:";
pub(super) const CANCELLED: &str = "cancelled:";

/// The text after such a beginning, in any letter case. `canceled` is `cancelled`.
pub(super) fn behind<'a>(beginning: &str, said: &'a str) -> Option<&'a str> {
    let other = if beginning == CANCELLED { "canceled:" } else { beginning };
    let is_begun = |with: &&str| said.get(..with.len()).is_some_and(|words| words.eq_ignore_ascii_case(with));
    [beginning, other].into_iter().find(is_begun).map(|with| said[with.len()..].trim_start())
}

/// A key such as `deferUntil` as `defer_until`.
pub(super) fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 2);
    for character in key.chars() {
        if character.is_uppercase() && !snake.is_empty() && !snake.ends_with(['_', '-', ' ']) {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

/// The fate of a word by a table, in any letter case, with `-` for `_` and spaces. `None`: the table does not
/// have the word.
pub(super) fn of<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let word = folded(word);
    table.iter().find(|(name, _)| *name == word).map(|(_, fate)| *fate)
}

/// A word as the tables have it.
pub(super) fn folded(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', ' '], "-")
}

/// True if a table says the same about two words.
pub(super) fn is_same(table: &[(&str, Fate)], one: &Value, other: &Value) -> bool {
    let fate = |value: &Value| value.as_str().and_then(|word| of(table, word));
    one == other || (fate(one).is_some() && fate(one) == fate(other))
}

/// The word that an export writes for what a frame has become: the first word of a table for that.
pub(super) fn word_for(table: &[(&'static str, Fate)], status: FrameStatus) -> &'static str {
    let is_meant = |fate: &Fate| match status {
        FrameStatus::Planned => *fate == Fate::Work,
        FrameStatus::InProgress => *fate == Fate::Begun,
        FrameStatus::Blocked => matches!(fate, Fate::Waits(_)),
        FrameStatus::Completed => *fate == Fate::Finished,
        FrameStatus::Failed | FrameStatus::Invalidated => *fate == Fate::Removed,
    };
    table.iter().find(|(_, fate)| is_meant(fate)).map_or("", |(word, _)| *word)
}
