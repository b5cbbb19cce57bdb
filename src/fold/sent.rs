//! What the person writes while the agent works. Some hosts pass it to the agent within a note of their own,
//! as if a tool had said it.

use crate::json::{Value, each_string};

/// How hosts begin such a note.
const BEGINNING: &str = "The user sent ";
/// How hosts begin the outcome of a call that the person has refused and given a reason for.
const REFUSAL: &str = "The user doesn't want to ";
const OPEN: &str = "<system-reminder>";
const CLOSE: &str = "</system-reminder>";

/// True if a text can have the person's words in a note.
pub(super) fn is_in(text: &str) -> bool {
    text.contains(BEGINNING) || text.contains(REFUSAL)
}

/// True if a note, without its tags, has the person's words.
pub(super) fn is_note_of_words(note: &str) -> bool {
    // The text can have the escapes of JSON.
    note.trim_start_matches("\\n").trim_start().starts_with(BEGINNING)
}

/// The notes with the person's words in an outcome, word for word. A call that the person has refused has
/// failed.
pub(super) fn words(outcome: Value<'_>, has_failed: bool) -> Vec<String> {
    let mut words = Vec::new();
    each_string(outcome, |value| {
        let Some(text) = value.string() else { return };
        if has_failed && text.starts_with(REFUSAL) {
            words.push(text.trim().to_owned());
            return;
        }
        let notes = text.split(OPEN).skip(1).filter_map(|rest| Some(rest.split_once(CLOSE)?.0));
        words.extend(notes.filter(|note| is_note_of_words(note)).map(|note| note.trim().to_owned()));
    });
    words
}
