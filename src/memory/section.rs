//! The section `<memory>` at the end of a prompt's newest message: its tags, and how all other texts of the
//! prompt are kept from looking like them or like a line of the section.

use std::borrow::Cow;

use crate::text::{is_unseen, lines, one_line};

/// The beginning and the end of the section. No other text of a prompt contains them.
pub(super) const MEMORY_BEGINS: &str = "\n\n<memory>\n";
pub(super) const MEMORY_ENDS: &str = "</memory>";

/// Returns the section with this body.
pub(super) fn section(body: &str) -> String {
    [MEMORY_BEGINS, &*without_tags(body), MEMORY_ENDS].concat()
}

/// Returns a text in which `<memory>` and `</memory>` are `&lt;memory>` and `&lt;/memory>`, also those with
/// spaces, characters that cannot be seen, or capital letters. A tag with attributes is not changed: the
/// section has none.
pub(super) fn without_tags(text: &str) -> Cow<'_, str> {
    let mut tags = text.match_indices('<').filter(|(place, _)| is_tag(&text[place + 1..])).peekable();
    if tags.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    let mut rest = 0;
    for (place, _) in tags {
        harmless.push_str(&text[rest..place]);
        harmless.push_str("&lt;");
        rest = place + 1;
    }
    harmless.push_str(&text[rest..]);
    Cow::Owned(harmless)
}

/// True if the text after a `<` makes it a tag of the section.
fn is_tag(text: &str) -> bool {
    let is_gap = |character: &char| character.is_whitespace() || is_unseen(*character);
    let mut characters = text.chars().filter(|character| !is_gap(character)).peekable();
    characters.next_if_eq(&'/');
    let is_named =
        "memory".chars().all(|letter| characters.next().is_some_and(|other| other.eq_ignore_ascii_case(&letter)));
    characters.next_if_eq(&'/');
    is_named && characters.next() == Some('>')
}

/// Returns the line that encloses a content: three hyphens, or one more than the largest number of hyphens
/// with which a line of the content begins.
pub(super) fn fence(content: &str) -> String {
    let is_gap = |character: char| character.is_whitespace() || is_unseen(character);
    let hyphens = |line: &str| line.trim_start_matches(is_gap).bytes().take_while(|byte| *byte == b'-').count();
    let most = lines(content).map(hyphens).max().unwrap_or_default();
    "-".repeat((most + 1).max(3))
}

/// Returns a text as the cell of a table: on one line, without the character that ends a cell.
pub(super) fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_of_the_section_are_changed() {
        for text in ["<memory>", "</memory>", "< MEMORY >", "<\u{200b}mem\u{200d}ory\n>", "<memory/>", "<</memory>"] {
            let harmless = without_tags(text);
            assert_eq!(harmless.replace("&lt;", "<"), text);
            assert!(!without_tags(&harmless).contains("<memory") && harmless != text, "{text:?}: {harmless}");
        }
        for text in ["<memory unit='KiB'>", "memory>", "<memories>", "a < b", "<", "<memory", "&lt;memory>"] {
            assert_eq!(without_tags(text), text);
        }
        assert_eq!(without_tags("a<memory>b</memory>c"), "a&lt;memory>b&lt;/memory>c");
    }

    #[test]
    fn no_line_of_a_content_is_its_fence() {
        for (content, length) in [("", 3), ("a\n--\nb", 3), ("---", 4), (" a\r  \u{200b}-----x", 6), ("x ----", 3)] {
            assert_eq!(fence(content).len(), length, "{content:?}");
        }
    }
}
