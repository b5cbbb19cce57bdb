//! How much errors and repairs show of a text that comes from a caller or a file. A key of ten megabytes in
//! an error is of no use.

use std::borrow::Cow;

/// Maximum length of a name or a value in an error, in characters.
const LONGEST_NAME: usize = 200;
/// Maximum length of each end of a message that an error contains, in characters.
const LONGEST_END: usize = 1_000;

/// Returns a name or a value as errors show it: the whole text, or its first 200 characters and `…`.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Returns a message as errors show it: the whole text, or its first and last 1,000 characters with ` … ` in
/// between, because a message can begin with the cause and end with the place or the advice.
pub(crate) fn shown_message(text: &str) -> Cow<'_, str> {
    if text.chars().nth(2 * LONGEST_END).is_none() {
        return Cow::Borrowed(text);
    }
    let head = text.char_indices().nth(LONGEST_END).map_or(text.len(), |(end, _)| end);
    let tail = text.char_indices().nth_back(LONGEST_END - 1).map_or(0, |(start, _)| start);
    Cow::Owned(format!("{} … {}", &text[..head], &text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_short_ones_are_not() {
        assert_eq!(shown("f1"), "f1");
        assert_eq!(shown(&"ö".repeat(200)), "ö".repeat(200));
        assert_eq!(shown(&"ö".repeat(201)), format!("{}…", "ö".repeat(200)));
        let message = format!("cause {} advice", "ö".repeat(10_000));
        let cut = shown_message(&message);
        assert!(cut.starts_with("cause ö") && cut.ends_with("ö advice"), "{cut}");
        assert_eq!(cut.chars().count(), 2_003);
        assert_eq!(shown_message(&"ö".repeat(2_000)), "ö".repeat(2_000));
    }
}
