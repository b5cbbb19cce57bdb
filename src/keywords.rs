//! Extraction of keywords from texts: word splitting, stop words, a small stemmer, and names of frames.

use std::borrow::Cow;

/// Words that are too common to distinguish tasks. Sorted; each word has at most eight letters.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "add", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "do",
    "does", "done", "each", "for", "from", "had", "has", "have", "here", "how", "if", "in", "into", "is", "it",
    "its", "more", "must", "new", "no", "not", "of", "on", "only", "or", "other", "our", "per", "should", "so",
    "such", "than", "that", "the", "their", "then", "there", "these", "they", "this", "those", "to", "use",
    "used", "using", "via", "was", "we", "were", "what", "when", "which", "who", "will", "with", "yes", "you",
    "your",
];

/// The stop words as numbers, because numbers compare faster than texts.
const STOP_NUMBERS: [u64; STOP_WORDS.len()] = {
    let mut numbers = [0; STOP_WORDS.len()];
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] = number(STOP_WORDS[index].as_bytes());
        index += 1;
    }
    numbers
};

/// Packs up to eight bytes into a number, in such a way that numbers have the order of the words.
const fn number(word: &[u8]) -> u64 {
    let mut number = 0;
    let mut index = 0;
    while index < 8 {
        number = number << 8 | if index < word.len() { word[index] as u64 } else { 0 };
        index += 1;
    }
    number
}

fn is_stop_word(word: &str) -> bool {
    word.len() <= 8 && STOP_NUMBERS.binary_search(&number(word.as_bytes())).is_ok()
}

/// Word endings and their replacements, longest first.
const ENDINGS: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("ization", "ize"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ities", "ity"),
    ("ments", "ment"),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ers", "er"),
    ("ed", ""),
    ("es", ""),
    ("s", ""),
];

/// Returns the distinct significant words of a text as stems, in order of first appearance.
///
/// Words are split at characters other than letters and digits, and inside `camelCase`. Stop words and
/// single ASCII letters and digits are left out. Scripts without spaces between words give pairs of adjacent
/// characters.
///
/// ```
/// use callstack_core::context::keywords;
/// assert_eq!(keywords("Implementing the parseTokens functions"), ["implement", "parse", "token", "function"]);
/// ```
pub fn keywords(text: &str) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut words = Vec::new();
    for_each_word(text, |stem| {
        if seen.insert(stem.to_owned()) {
            words.push(stem.to_owned());
        }
    });
    words
}

/// Calls `visit` with the stem of every significant word, including repetitions.
pub(crate) fn for_each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut word = String::new();
    let mut previous = Class::Other;
    let mut previous_character = '\0';
    let mut pair = String::new();
    for character in text.chars() {
        let class = Class::of(character);
        let ends = matches!(
            (previous, class),
            (Class::Lower | Class::Digit, Class::Upper) | (_, Class::Other | Class::Unspaced)
        );
        if ends {
            finish(&mut word, &mut visit);
        }
        match class {
            Class::Other => {}
            Class::Unspaced if previous == Class::Unspaced => {
                pair.clear();
                pair.extend([previous_character, character]);
                visit(&pair);
            }
            Class::Unspaced => {}
            _ if character.is_ascii() => word.push(character.to_ascii_lowercase()),
            _ => word.extend(character.to_lowercase()),
        }
        previous = class;
        previous_character = character;
    }
    finish(&mut word, &mut visit);
}

/// Returns the number of words of a text. In scripts without spaces between words, two characters count as a word.
#[cfg(feature = "session")]
pub(crate) fn word_count(text: &str) -> usize {
    let words = |part: &str| {
        let unspaced = part.chars().filter(|character| Class::of(*character) == Class::Unspaced).count();
        let has_others = part.chars().any(|character| !matches!(Class::of(character), Class::Unspaced | Class::Other));
        unspaced.div_ceil(2) + usize::from(has_others)
    };
    text.split_whitespace().map(words).sum()
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Lower,
    Upper,
    Digit,
    /// A character of a script without spaces between words: Han, kana, Thai, …
    Unspaced,
    Other,
}

impl Class {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' => Class::Lower,
            'A'..='Z' => Class::Upper,
            '0'..='9' => Class::Digit,
            '\0'..='\u{7f}' => Class::Other,
            '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Class::Unspaced,
            _ if character.is_uppercase() => Class::Upper,
            _ if character.is_alphabetic() => Class::Lower,
            _ if character.is_numeric() => Class::Digit,
            _ => Class::Other,
        }
    }
}

fn finish(word: &mut String, visit: &mut impl FnMut(&str)) {
    if word.len() > 1 && !is_stop_word(word) {
        stem(word);
        visit(word);
    }
    word.clear();
}

/// Replaces an English ending if at least three letters remain before it.
fn stem(word: &mut String) {
    let ending = ENDINGS.iter().find(|(ending, _)| word.len() >= ending.len() + 3 && word.ends_with(ending));
    if let Some((ending, instead)) = ending {
        word.truncate(word.len() - ending.len());
        word.push_str(instead);
    }
}

/// Calls `visit` with every token that may be a frame's ID or handle, in lower case.
pub(crate) fn for_each_name(text: &str, mut visit: impl FnMut(&str)) {
    let mut counted_thing = false;
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '#');
    for token in text.split(|character| !is_part(character)) {
        let token = token.trim_matches(['.', '/', '-', '#']);
        if token.is_empty() {
            continue;
        }
        let lower = match token.chars().any(char::is_uppercase) {
            true => Cow::Owned(token.to_lowercase()),
            false => Cow::Borrowed(token),
        };
        let is_number = lower.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        // A plain number refers to a frame only after a word such as "task", as in "task 3".
        if !is_number || counted_thing {
            visit(&lower);
        }
        let singular = lower.strip_suffix('s').unwrap_or(&lower);
        counted_thing = matches!(singular, "task" | "subtask" | "step" | "frame" | "issue" | "item")
            || (counted_thing && (is_number || lower == "and"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_found_and_others_are_not() {
        assert!(STOP_WORDS.is_sorted() && STOP_WORDS.iter().all(|word| word.len() <= 8));
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(["the the", "them", "th", "thesaurus", "", "\0"].iter().all(|word| !is_stop_word(word)));
    }

    #[test]
    fn names_are_ids_and_counted_things() {
        let mut names = Vec::new();
        for_each_name("See src/auth.rs and bd-07b; after Tasks 3 and 4.2, not 7 items, e.g. none.", |name| {
            names.push(name.to_owned());
        });
        let has = |name: &str| names.iter().any(|known| known == name);
        assert!(has("src/auth.rs") && has("bd-07b") && has("3") && has("4.2"), "{names:?}");
        assert!(!has("7"), "{names:?}");
    }

    #[test]
    fn words_of_unspaced_scripts_are_pairs() {
        assert_eq!(keywords("解析器 test"), ["解析", "析器", "test"]);
    }
}
