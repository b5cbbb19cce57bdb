//! Short forms of texts, and unique names: helpers that every other module may use.

use std::collections::HashMap;
use std::ops::RangeFrom;

use crate::steps::step;

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

/// Returns a free name among the names that `name` makes from the numbers. It is the first free one if the taken names
/// have consecutive numbers.
///
/// Doubles the distance until a name is free, then halves the gap to the last taken one, so a thousand taken names cost
/// twenty tries. At least one number must give a free name. Otherwise this function does not return.
pub(crate) fn first_free<T>(
    numbers: RangeFrom<u64>,
    mut name: impl FnMut(u64) -> T,
    mut is_free: impl FnMut(&T) -> bool,
) -> T {
    let mut taken = numbers.start;
    let first = name(taken);
    if is_free(&first) {
        return first;
    }
    let mut distance = 1;
    let (mut free, mut free_name) = loop {
        // Beyond the largest number the search goes on with a new start, which no directory has enough names to reach.
        let Some(number) = numbers.start.checked_add(distance) else {
            return first_free(numbers.start + 2.., name, is_free);
        };
        let candidate = name(number);
        if is_free(&candidate) {
            break (number, candidate);
        }
        taken = number;
        distance = distance.saturating_mul(2);
    };
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        let candidate = name(middle);
        if is_free(&candidate) {
            (free, free_name) = (middle, candidate);
        } else {
            taken = middle;
        }
    }
    free_name
}

/// Gives out numbered names, such as `a (2)`, `a (3)` and `b (2)`. It remembers the last number of each base, so a taken
/// name is met only once, however many names are given out.
#[derive(Debug, Default)]
pub(crate) struct FreeNames {
    last: HashMap<String, u64>,
}

impl FreeNames {
    /// Returns the next free name of a base. `name` makes the name from a number, which begins with `first`.
    pub(crate) fn next(
        &mut self,
        base: &str,
        first: u64,
        name: impl Fn(u64) -> String,
        is_free: impl Fn(&str) -> bool,
    ) -> String {
        let last = match self.last.get_mut(base) {
            Some(last) => last,
            None => self.last.entry(base.to_owned()).or_insert(first - 1),
        };
        loop {
            step();
            *last += 1;
            let name = name(*last);
            if is_free(&name) {
                return name;
            }
        }
    }
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

    #[test]
    fn a_free_name_takes_few_tries_however_many_are_taken() {
        for taken in [1_u64, 1_000, 1_000_000] {
            let mut tries = 0;
            let found = first_free(
                2..,
                |number| number,
                |number| {
                    tries += 1;
                    *number > taken
                },
            );
            assert_eq!(found, taken.max(1) + 1);
            assert!(tries <= 2 * 20 + 2, "{tries} tries for {taken} taken names");
        }
    }

    #[test]
    fn a_free_name_is_found_behind_every_name_that_the_search_tries_first() {
        let is_free = |number: &u64| *number > 1 && !(*number - 2).is_power_of_two() && *number != 2;
        let found = first_free(2.., |number| number, is_free);
        assert!(is_free(&found));
    }

    #[test]
    fn numbered_names_meet_each_taken_name_once() {
        let tries = std::cell::Cell::new(0);
        let (mut names, mut taken) = (FreeNames::default(), std::collections::HashSet::from(["a-2".to_owned()]));
        for number in 0..1_000 {
            let base = if number % 2 == 0 { "a" } else { "b" };
            let free = names.next(
                base,
                2,
                |number| format!("{base}-{number}"),
                |name| {
                    tries.set(tries.get() + 1);
                    !taken.contains(name)
                },
            );
            assert!(taken.insert(free));
        }
        assert_eq!(tries.get(), 1_001);
        assert!(taken.contains("a-502") && taken.contains("b-501"));
    }
}
