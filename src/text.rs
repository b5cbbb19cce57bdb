//! Texts within other texts: on one line, indented, cut, and without characters that cannot be seen; and
//! unique names. Helpers that every other module may use.

mod fnv;
#[cfg(feature = "session")]
mod problem;
mod time;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::RangeFrom;

use serde::de::DeserializeOwned;

use crate::steps::step;

pub(crate) use self::fnv::{fnv, fnv_of};
#[cfg(feature = "capi")]
pub(crate) use self::problem::located;
#[cfg(feature = "session")]
pub(crate) use self::problem::plain;
pub(crate) use self::time::milliseconds;

/// The replacement of a hidden character in plain texts.
const REPLACEMENT: char = '\u{FFFD}';

/// The byte order mark, which editors of Windows put at the beginning of a file.
const MARK: char = '\u{FEFF}';

/// The indentation of the lines of a text within another text.
const INDENTATION: &str = "  ";

/// True for characters that are not seen although they change how a text is read: control characters except
/// line feed and tab, separators of lines and paragraphs, marks of the direction of writing, annotations,
/// tags, and characters without width (Unicode: `Default_Ignorable_Code_Point`, without
/// [joiners](is_joiner)).
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        _ if character.is_control() => true,
        '\u{AD}'
        | '\u{61C}'
        | '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180E}'
        | '\u{200B}'
        | '\u{200E}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E00FF}'
        | '\u{E01F0}'..='\u{E0FFF}' => true,
        _ => false,
    }
}

/// True for characters that are not seen themselves, but shape the character before them: in emoji, in Han,
/// and in scripts whose letters are joined. Behind an ASCII character they shape nothing.
fn is_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{34F}'
            | '\u{180B}'..='\u{180D}'
            | '\u{180F}'
            | '\u{200C}'..='\u{200D}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{E0100}'..='\u{E01EF}'
    )
}

/// True for characters that are not seen: hidden ones and joiners.
pub(crate) fn is_unseen(character: char) -> bool {
    is_hidden(character) || is_joiner(character)
}

/// Returns the hidden characters of a text with their places in bytes. A joiner is hidden if it joins
/// nothing: if it follows an ASCII character or nothing. The exception are keycaps (a digit, a joiner, and
/// U+20E3).
fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut before = '\0';
    text.char_indices().filter(move |(place, character)| {
        let is_keycap = || text[place + character.len_utf8()..].starts_with('\u{20E3}');
        let is_hidden = is_hidden(*character) || is_joiner(*character) && before.is_ascii() && !is_keycap();
        before = *character;
        is_hidden
    })
}

/// True if a text has hidden characters, line breaks or tabs.
pub(crate) fn has_hidden_or_control(text: &str) -> bool {
    text.contains(char::is_control) || hidden(text).next().is_some()
}

/// Returns a text with every hidden character replaced by what `write` writes for it.
pub(crate) fn replace_hidden<'a>(text: &'a str, mut write: impl FnMut(char, &mut String)) -> Cow<'a, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let mut hidden = hidden(text).peekable();
    if text.bytes().all(is_plain) || hidden.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = 0;
    for (place, character) in hidden {
        shown.push_str(&text[rest..place]);
        write(character, &mut shown);
        rest = place + character.len_utf8();
    }
    shown.push_str(&text[rest..]);
    Cow::Owned(shown)
}

/// Returns JSON with every hidden character written as an escape sequence, which changes no value: hidden
/// characters can only be in its strings. An agent sees that they are there, and a terminal does not obey
/// them.
pub fn escape_hidden(json: &str) -> Cow<'_, str> {
    replace_hidden(json, |character, shown| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing into a text cannot fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    })
}

/// Bytes that are not a text in UTF-8 or UTF-16, with the place of the first fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: it is neither UTF-8 nor UTF-16")]
#[non_exhaustive]
pub struct NotText {
    /// The line, counted from 1.
    pub line: usize,
    /// The byte in the line, counted from 1.
    pub column: usize,
}

/// The text of a file of another program, without its byte order mark: in UTF-8, or in UTF-16, as shells of
/// Windows write it.
///
/// ```
/// use callstack_core::text::decoded;
/// assert_eq!(decoded(b"\xff\xfeS\0c\0h\0\xe9\0m\0a\0".to_vec()).unwrap(), "Schéma");
/// assert_eq!(decoded(b"one\ntw\xe9".to_vec()).unwrap_err().to_string(), "line 2, column 3: it is neither UTF-8 nor UTF-16");
/// ```
///
/// # Errors
/// The bytes are neither.
pub fn decoded(bytes: Vec<u8>) -> Result<String, NotText> {
    // Without a mark, the first characters of a file of JSON or a list are ASCII.
    let read: Option<fn([u8; 2]) -> u16> = match bytes.get(..4) {
        Some([0xFF, 0xFE, ..] | [1..=0x7F, 0, 1..=0x7F, 0]) => Some(u16::from_le_bytes),
        Some([0xFE, 0xFF, ..] | [0, 1..=0x7F, 0, 1..=0x7F]) => Some(u16::from_be_bytes),
        _ => None,
    };
    let mut text = match read {
        Some(read) if bytes.len().is_multiple_of(2) => {
            let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
            char::decode_utf16(units).map(|character| character.unwrap_or(REPLACEMENT)).collect()
        }
        _ => String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.split(|byte| *byte == b'\n').count();
            let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
            NotText { line, column }
        })?,
    };
    text.drain(..text.len() - without_mark(&text).len());
    Ok(text)
}

/// Returns a text without the byte order mark at its beginning, which is not a part of what the text says.
/// Code that reads a file that is not JSON calls this first.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Returns JSON in which U+FFFD stands for each escape of one half of a character. Hosts that cut texts
/// between UTF-16 units write such escapes. They are JSON by its grammar, but no Rust text can hold them, so
/// parsers refuse the whole text.
fn whole_characters(json: &str) -> Cow<'_, str> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let escape = |at: usize| -> Option<u16> {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let (mut whole, mut rest) = (String::with_capacity(json.len()), 0);
    while let Some(found) = json[rest..].find('\\') {
        let at = rest + found;
        whole.push_str(&json[rest..at]);
        let (length, is_half) = match (escape(at), escape(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
            (Some(0xD800..=0xDFFF), _) => (6, true),
            (Some(_), _) => (6, false),
            // A backslash and the character behind it, which can be a backslash too.
            (None, _) => (1 + json[at + 1..].chars().next().map_or(0, char::len_utf8), false),
        };
        whole.push_str(if is_half { "\\ufffd" } else { &json[at..at + length] });
        rest = at + length;
    }
    whole.push_str(&json[rest..]);
    Cow::Owned(whole)
}

/// True if JSON has an escape of one half of a character, which [`readable_json`] replaces.
pub(crate) fn has_half_characters(json: &str) -> bool {
    matches!(whole_characters(json), Cow::Owned(whole) if whole != json)
}

/// Returns JSON of another program as a parser can read it: [without a mark](without_mark), and with U+FFFD
/// for each escape of one half of a character. For readers that parse piece by piece; the others call
/// [`from_json`].
///
/// ```
/// use callstack_core::text::readable_json;
/// assert_eq!(readable_json("\u{feff}{\"title\": \"cut \\ud83d\"}"), r#"{"title": "cut \ufffd"}"#);
/// ```
pub fn readable_json(json: &str) -> Cow<'_, str> {
    whole_characters(without_mark(json))
}

/// Reads JSON that another program may have written, as [`readable_json`] makes it. Each reader of such JSON
/// calls one of the two, so that none of its callers has to.
///
/// # Errors
/// The text is not JSON, or JSON of another shape.
pub fn from_json<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(&readable_json(json))
}

/// Returns a text with every hidden character replaced by U+FFFD.
pub fn visible(text: &str) -> Cow<'_, str> {
    replace_hidden(text, |_, shown| shown.push(REPLACEMENT))
}

/// Joins the newest entries of a list, each on one line, and returns how many older ones are left out.
#[cfg(feature = "session")]
pub(crate) fn newest_lines(entries: &[String], most: usize, separator: &str) -> (String, usize) {
    let skipped = entries.len().saturating_sub(most);
    let lines: Vec<_> = entries[skipped..].iter().map(|entry| one_line(entry)).collect();
    (lines.join(separator), skipped)
}

/// Returns a text on one line: each run of whitespace and control characters becomes one space, or nothing at
/// the ends. Other hidden characters become U+FFFD.
pub fn one_line(text: &str) -> String {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let mut line = String::with_capacity(text.len());
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&visible(word));
    }
    line
}

/// Returns the lines of a text. Every character that some program takes for the end of a line ends a line.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |character: char| {
        matches!(character, '\n' | '\u{B}' | '\u{C}' | '\r' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}')
    };
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(is_end) else { return rest.take() };
        let (line, after) = text.split_at(end);
        let mut after = after.chars();
        if after.next() == Some('\r') && after.as_str().starts_with('\n') {
            after.next();
        }
        rest = Some(after.as_str());
        Some(line)
    })
}

/// Returns a text with a hanging indent: its first line as it is, and all others indented. In a text whose
/// own lines begin at the margin, no line of the indented text can be taken for one of these lines. Hidden
/// characters become U+FFFD.
pub(crate) fn hanging_indent(text: &str) -> Cow<'_, str> {
    let mut lines = lines(text);
    let first = lines.next().unwrap_or_default();
    if first.len() == text.len() {
        return visible(text);
    }
    let mut indented = visible(first).into_owned();
    for line in lines {
        indented.push('\n');
        if !line.trim().is_empty() {
            indented.push_str(INDENTATION);
            indented.push_str(&visible(line));
        }
    }
    Cow::Owned(indented)
}

/// Returns the largest index that is at most `index` and lies between two characters of a text; its length,
/// if `index` is beyond its end. The method of the same name in the standard library needs a newer Rust than
/// this crate.
pub fn floor_char_boundary(text: &str, index: usize) -> usize {
    if index >= text.len() {
        return text.len();
    }
    // The first byte of a text is always the beginning of a character.
    (0..=index).rfind(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

/// Returns the first `characters` characters of a text, or the whole text if it is shorter.
pub(crate) fn beginning(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Returns the last `characters` characters of a text, or the whole text if it is shorter.
pub(crate) fn ending(text: &str, characters: usize) -> &str {
    if characters == 0 {
        return "";
    }
    text.char_indices().nth_back(characters - 1).map_or(text, |(begin, _)| &text[begin..])
}

/// Returns a free name among the names that `name` makes from the numbers. It is the first free one if the
/// taken names have consecutive numbers.
///
/// Doubles the distance until a name is free, then halves the gap to the last taken one, so a thousand taken
/// names cost twenty tries. At least one number must give a free name. Otherwise this function does not
/// return.
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
        // Beyond the largest number the search continues with a new start. No directory has enough names to
        // reach this point.
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

/// Gives out numbered names, such as `a (2)`, `a (3)` and `b (2)`. It remembers the last number of each base,
/// so a taken name is met only once, however many names are given out.
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
        assert_eq!(one_line("a\u{2028}b\u{85}c\u{2029}d\u{a0}e"), "a b c d e");
        assert_eq!(one_line("a\u{202e}b \u{200b}\u{e0041}"), "a\u{fffd}b \u{fffd}\u{fffd}");
    }

    #[test]
    fn hidden_characters_are_shown_and_joiners_join() {
        for text in ["👩‍👩‍👧‍👦 ❤️‍🔥 1️⃣ #️⃣ ©️ 🇩🇪", "می‌خواهم", "葛󠄀城", "naïve — שלום\n\tx", "e\u{301}"]
        {
            assert_eq!(visible(text), text);
        }
        for (text, shown) in [
            ("f\u{200d}1", "f�1"),
            ("\u{200d}f1", "�f1"),
            ("a\u{fe0f}", "a�"),
            ("x\u{e0041}\u{e007f}", "x��"),
            ("\u{feff}x\u{ad}\u{2066}y\u{2069}", "�x��y�"),
            ("a\u{1b}[31m\u{9b}1m\u{7f}\r", "a�[31m�1m��"),
            ("a\u{2028}b\u{85}", "a�b�"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
            assert!(has_hidden_or_control(text));
        }
        assert!(has_hidden_or_control("a\nb") && has_hidden_or_control("a\tb") && !has_hidden_or_control("a b 👩‍💻"));
        assert_eq!(replace_hidden("a\u{202e}b", |_, shown| shown.push_str("<RLO>")), "a<RLO>b");
    }

    #[test]
    fn half_characters_become_replacement_characters() {
        for (json, expected) in [
            (r#""a \ud83d""#, "a \u{fffd}"),
            (r#""\ude00\ud83d\ude00 \uD83D\u0041""#, "\u{fffd}\u{1f600} \u{fffd}A"),
            (r#""\\ud83d \n \"é""#, "\\ud83d \n \"é"),
        ] {
            assert_eq!(from_json::<String>(json).unwrap(), expected, "{json}");
        }
        for json in ["\\", "\\u", "\\ud8", "é\\é", "\\\\ud83d"] {
            assert_eq!(whole_characters(json), json);
        }
    }

    #[test]
    fn a_mark_at_the_beginning_is_no_part_of_a_text() {
        assert_eq!((without_mark("\u{feff}a"), without_mark("a\u{feff}"), without_mark("")), ("a", "a\u{feff}", ""));
        assert_eq!(without_mark("\u{feff}\u{feff}a"), "\u{feff}a");
    }

    #[test]
    fn all_but_the_first_line_are_indented() {
        assert_eq!(hanging_indent("one"), "one");
        assert_eq!(hanging_indent("one\ntwo\n\n  three\n"), "one\n  two\n\n    three\n");
        assert_eq!(
            hanging_indent("a\r\nb\rc\u{2028}d\u{2029}e\u{85}f\u{b}g\u{c}h\u{1e}i"),
            "a\n  b\n  c\n  d\n  e\n  f\n  g\n  h\n  i"
        );
        assert_eq!(hanging_indent("\u{202e}a\n\u{200b}"), "\u{fffd}a\n  \u{fffd}");
        assert_eq!(lines("a\r\n\r\nb").collect::<Vec<_>>(), ["a", "", "b"]);
        assert_eq!(lines("").collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn a_beginning_counts_characters() {
        assert_eq!((beginning("äöü", 2), beginning("äöü", 3), beginning("äöü", 9)), ("äö", "äöü", "äöü"));
        assert_eq!((beginning("äöü", 0), beginning("", 5)), ("", ""));
    }

    #[test]
    fn an_index_within_a_character_is_moved_to_its_beginning() {
        let text = "aö€🦀";
        let floors: Vec<usize> = (0..=text.len() + 1).map(|index| floor_char_boundary(text, index)).collect();
        assert_eq!(floors, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10]);
        assert_eq!(floor_char_boundary("", 3), 0);
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
