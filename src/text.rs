//! Short forms of texts, and unique names: helpers that every other module may use.

use std::ops::RangeFrom;

/// Returns a text on one line: each run of whitespace and control characters becomes one space, or nothing at the ends.
pub(crate) fn one_line(text: &str) -> String {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let mut line = String::with_capacity(text.len());
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns the first `characters` characters of a text, or the whole text if it is shorter.
pub(crate) fn beginning(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Returns the text if it has at most `characters` characters, or else its beginning followed by `…`.
///
/// The beginning ends at the last line end or sentence end in the second half of the first `characters` characters, or
/// else at the last word end, or else after exactly `characters` characters.
#[cfg(feature = "session")]
pub(crate) fn whole_beginning(text: &str, characters: usize) -> String {
    let head = beginning(text, characters);
    if head.len() == text.len() {
        return text.to_owned();
    }
    let sentence = head.rfind('\n').max(head.rfind(". ").map(|at| at + 1)).filter(|at| *at > head.len() / 2);
    let cut = sentence.or_else(|| head.rfind(char::is_whitespace)).unwrap_or(head.len());
    format!("{}…", head[..cut].trim_end())
}

/// Returns the first free name among the names that `name` makes from the numbers.
///
/// At least one number must give a free name. Otherwise this function does not return.
pub(crate) fn first_free<T>(numbers: RangeFrom<u64>, name: impl FnMut(u64) -> T, is_free: impl FnMut(&T) -> bool) -> T {
    numbers.map(name).find(is_free).expect("there are more numbers than names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_one() {
        assert_eq!(one_line("  a\n\tb  c "), "a b c");
        assert_eq!(one_line("a\u{7}b\u{1b}[31m\u{0}"), "a b [31m");
        assert_eq!(one_line(" \n"), "");
    }

    #[test]
    fn a_beginning_counts_characters() {
        assert_eq!((beginning("äöü", 2), beginning("äöü", 3), beginning("äöü", 9)), ("äö", "äöü", "äöü"));
        assert_eq!((beginning("äöü", 0), beginning("", 5)), ("", ""));
    }

    #[cfg(feature = "session")]
    #[test]
    fn a_whole_beginning_ends_where_a_sentence_does() {
        let sentences = "It reads every option. ".repeat(10);
        let short = whole_beginning(&sentences, 100);
        assert!(short.ends_with("every option.…") && short.chars().count() <= 101, "{short}");
        assert_eq!(whole_beginning("one line\nand another that is cut", 15), "one line…");
        assert_eq!(whole_beginning("words without an end to them", 20), "words without an…");
        assert_eq!(whole_beginning(&"ö".repeat(30), 20), format!("{}…", "ö".repeat(20)));
        assert_eq!(whole_beginning("short", 5), "short");
    }

    #[test]
    fn the_first_free_name_is_taken() {
        let taken = ["a", "a-2", "a-3"];
        let name = |number: u64| if number == 1 { "a".to_owned() } else { format!("a-{number}") };
        assert_eq!(first_free(1.., name, |name| !taken.contains(&name.as_str())), "a-4");
        assert_eq!(first_free(5.., name, |name| !taken.contains(&name.as_str())), "a-5");
    }
}
