//! Functions that shorten texts for prompts and titles.

/// Replaces each run of white space by one space, so that the text is on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first `characters` characters of a text.
pub(super) fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// Returns a text of at most `characters` characters unchanged. Cuts a longer one at the end of a line or sentence in
/// the second half of this length, or else at the end of a word, and appends `…`.
pub(super) fn whole_beginning(text: &str, characters: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(characters) else { return text.to_owned() };
    let head = &text[..end];
    let sentence = head.rfind('\n').max(head.rfind(". ").map(|at| at + 1)).filter(|at| *at > end / 2);
    let cut = sentence.or_else(|| head.rfind(char::is_whitespace)).unwrap_or(end);
    format!("{}…", head[..cut].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_where_a_sentence_does() {
        let sentences = "It reads every option. ".repeat(10);
        let short = whole_beginning(&sentences, 100);
        assert!(short.ends_with("every option.…") && short.chars().count() <= 101, "{short}");
        assert_eq!(whole_beginning("one line\nand another that is cut", 15), "one line…");
        assert_eq!(whole_beginning("words without an end to them", 20), "words without an…");
        assert_eq!(whole_beginning(&"ö".repeat(30), 20), format!("{}…", "ö".repeat(20)));
        assert_eq!(whole_beginning("short", 5), "short");
    }

    #[test]
    fn lines_become_one() {
        assert_eq!(one_line("  a\n\tb  c "), "a b c");
        assert_eq!(beginning("äöü", 2), "äö");
    }
}
