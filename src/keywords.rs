//! Extraction of keywords from texts: word splitting, 16 bytes at a time, stop words, a small stemmer, and
//! names of frames.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Words that are too common to distinguish tasks: words of English plans, and the function words of other
/// languages, which do not tell tasks apart in a plan of few tasks. A word counts in none of the languages,
/// so words that mean something in plans of software are left out: `ai`, `ci`, `dos`, `er`, `es`, `eu`, `go`,
/// `ha`, `jest`, `nas`, `num`, `os`, `pod`, `sans`, `ses` and others. Words of one ASCII letter never count.
#[rustfmt::skip]
const STOP_WORDS: [(&str, &str); 9] = [
    ("English", "a add all also an and any are as at be been but by can do does done each for from had has have here
        how if in into is it its more must new no not of on only or other our per should so such than that the their
        then there these they this those to use used using via was we were what when which who will with yes you your"),
    ("German", "aber als am an auch auf aus bei beim bis dann das dass dem den der des die dies diese dieser durch
        ein eine einem einen einer eines für gegen hat ich ihr im ins ist kann können mit muss nach nicht noch nur
        oder ohne sich sie sind soll sollen über um und unter vom von vor was wenn werden wie wir wird zu zum zur"),
    ("French", "à au aux avec avoir ce ces cette chez comme dans de des du elle elles en est et être été eux il ils
        la le les leur leurs lors mais ne notre nous on ou où par pas pour qu que qui se si sont sous sur tous
        toutes un une vers votre vous"),
    ("Spanish", "al como con cuando de del desde donde el ella ellos en entre esta este están está fue hasta hay
        la las le les lo los más muy no nos para pero por que qué se ser si sin sobre su sus también un una unas
        uno unos ya"),
    ("Portuguese", "ao aos as às com como da das de dela dele depois do é ela ele em entre esta está este foi já
        mais mas muito na não nem no numa ou para pela pelas pelo pelos por quando que quem são se sem ser seu seus
        sua suas também um uma uns umas"),
    ("Italian", "agli al alla alle allo anche che chi come con cui da dalla dalle degli dei del della delle dello di
        dove è fra gli hanno il in la le lo loro ma nei nel nella nelle non per più quale quando questa questo se
        sono su sua sue sul sulla sulle suo tra un una uno"),
    ("Dutch", "aan als bij dan dat de deze die dit door een en geen haar heeft het hij hoe ik in is je kan maar met
        moet moeten naar niet nog om onder onze ook over te tegen tot uit van veel voor waar wat we wel wordt worden
        zal ze zich zij zijn zo zonder"),
    ("Polish", "ale albo bez być był była było były czy dla do gdy ich ile jak jako jego jej już każdy które który
        która lub ma mają mnie może na nad nie niż od oraz przed przez przy się są ta tak tam te tego tej też to tu
        tych tylko tym we więc za ze że"),
    ("Russian", "а без бы был была были было быть в вам вас во вот все вы где да для до его ее её если есть же за и
        из или им их к как ко когда которая которые который ли мы на над не него нее нет но о об он она они оно от
        по под при с со так также там то у что чтобы эта эти это этот я"),
];

/// Number of the stop words of all languages, repetitions included.
const STOP_WORD_COUNT: usize = {
    let (mut count, mut language) = (0, 0);
    while language < STOP_WORDS.len() {
        let mut words = STOP_WORDS[language].1.as_bytes();
        while let Some((_, rest)) = next_word(words) {
            words = rest;
            count += 1;
        }
        language += 1;
    }
    count
};

/// The stop words as sorted numbers, because numbers compare faster than texts.
const STOP_NUMBERS: [u128; STOP_WORD_COUNT] = {
    let mut numbers = [0; STOP_WORD_COUNT];
    let (mut count, mut language) = (0, 0);
    while language < STOP_WORDS.len() {
        let mut words = STOP_WORDS[language].1.as_bytes();
        while let Some((word, rest)) = next_word(words) {
            words = rest;
            let number = number(word);
            let mut place = count;
            while place > 0 && numbers[place - 1] > number {
                numbers[place] = numbers[place - 1];
                place -= 1;
            }
            numbers[place] = number;
            count += 1;
        }
        language += 1;
    }
    numbers
};

/// The longest stop word, in bytes.
const LONGEST_STOP_WORD: usize = size_of::<u128>() - 1;

/// Splits the first word off a list that is separated by blanks.
const fn next_word(mut words: &[u8]) -> Option<(&[u8], &[u8])> {
    words = words.trim_ascii_start();
    let mut length = 0;
    while length < words.len() && !words[length].is_ascii_whitespace() {
        length += 1;
    }
    if length == 0 { None } else { Some(words.split_at(length)) }
}

/// Packs a word of at most 15 bytes into a number: its first byte is the lowest one, and a byte behind them
/// keeps the length.
const fn number(word: &[u8]) -> u128 {
    assert!(word.len() <= LONGEST_STOP_WORD, "a stop word is too long");
    let mut number = 1;
    let mut index = word.len();
    while index > 0 {
        index -= 1;
        number = number << 8 | word[index] as u128;
    }
    number
}

fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST_STOP_WORD && is_stop_number(number(word.as_bytes()))
}

fn is_stop_number(number: u128) -> bool {
    STOP_NUMBERS.binary_search(&number).is_ok()
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
/// characters, and a pictograph is a word.
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
    let mut stem = String::new();
    for_each_raw_word(text, |word| {
        if let Some(stem) = word.significant(&mut stem) {
            visit(stem);
        }
    });
}

/// Number of bytes of a text that are looked at together.
pub(crate) const WINDOW: usize = 16;

/// Returns the next bytes of a text as a number, the first one lowest, and zeros behind its end.
#[inline]
pub(crate) fn window(bytes: &[u8], at: usize) -> u128 {
    let rest = &bytes[at..];
    u128::from_le_bytes(rest.first_chunk().copied().unwrap_or_else(|| {
        let mut window = [0; WINDOW];
        window[..rest.len()].copy_from_slice(rest);
        window
    }))
}

/// Returns how many bytes at the beginning of a window are in one of the ranges of ASCII, to which 0 does not
/// belong. Most words have at most seven letters, so the second half is seldom looked at.
#[inline(always)]
pub(crate) fn beginning_in<const N: usize>(window: u128, ranges: [RangeInclusive<u8>; N]) -> usize {
    let unmarked = |half: u64| !ranges.iter().fold(0, |all, range| all | marks(half, range)) & everywhere(0x80);
    let first = unmarked(window as u64);
    match first {
        0 => WINDOW / 2 + unmarked((window >> 64) as u64).trailing_zeros() as usize / 8,
        _ => first.trailing_zeros() as usize / 8,
    }
}

/// Marks the bytes that are in a range of ASCII, by their highest bits: all bytes in a few operations.
#[inline(always)]
fn marks(bytes: u64, range: &RangeInclusive<u8>) -> u64 {
    let low = bytes & everywhere(0x7F);
    let from = low + everywhere(0x80 - range.start());
    let behind = low + everywhere(0x7F - range.end());
    (from ^ behind) & !bytes
}

/// Returns a number with the same byte everywhere.
const fn everywhere(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// A word as a text has it, in small letters.
pub(crate) enum RawWord<'a> {
    /// At most 15 letters and digits of ASCII, packed by [`number`].
    Short(u128),
    Other(&'a str),
}

impl RawWord<'_> {
    /// Returns the stem, which is written to `stem`, if the word is significant.
    pub(crate) fn significant<'a>(&self, stem: &'a mut String) -> Option<&'a str> {
        let bytes;
        let (word, is_stop_word) = match *self {
            Self::Short(number) => {
                bytes = number.to_le_bytes();
                let word = str::from_utf8(&bytes[..number.ilog2() as usize / 8]).unwrap_or_default();
                (word, is_stop_number(number))
            }
            Self::Other(word) => (word, is_stop_word(word)),
        };
        if word.len() < 2 || is_stop_word {
            return None;
        }
        stem.clear();
        stem.push_str(word);
        shorten_to_stem(stem);
        Some(stem)
    }
}

/// Calls `visit` with every word, including stop words and repetitions.
pub(crate) fn for_each_raw_word(text: &str, mut visit: impl FnMut(RawWord<'_>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut word = String::new();
    let mut previous = Class::Other;
    let mut previous_character = '\0';
    let mut pair = String::new();
    while at < bytes.len() {
        if word.is_empty() {
            let behind = visit_short_words(bytes, at, &mut visit);
            if behind > at {
                at = behind;
                previous = Class::Other;
                continue;
            }
        }
        let Some(character) = text[at..].chars().next() else { break };
        at += character.len_utf8();
        let class = Class::of(character);
        let ends = matches!(
            (previous, class),
            (Class::Lower | Class::Digit, Class::Upper) | (_, Class::Other | Class::Unspaced | Class::Picture)
        );
        if ends && !word.is_empty() {
            visit(RawWord::Other(&word));
            word.clear();
        }
        match class {
            Class::Other => {}
            Class::Unspaced if previous == Class::Unspaced => {
                pair.clear();
                pair.extend([previous_character, character]);
                visit(RawWord::Other(&pair));
            }
            Class::Unspaced => {}
            Class::Picture => visit(RawWord::Other(character.encode_utf8(&mut [0; 4]))),
            _ if character.is_ascii() => word.push(character.to_ascii_lowercase()),
            _ => word.extend(character.to_lowercase()),
        }
        previous = class;
        previous_character = character;
    }
    if !word.is_empty() {
        visit(RawWord::Other(&word));
    }
}

/// Visits short words of ASCII from a place on, until a word of another kind follows. Returns the place
/// behind the short words. There begins a word that must be read by characters, or the text ends.
#[inline(always)]
fn visit_short_words(bytes: &[u8], mut at: usize, visit: &mut impl FnMut(RawWord<'_>)) -> usize {
    while at < bytes.len() && bytes[at].is_ascii() {
        let window = window(bytes, at);
        let window = if bytes[at].is_ascii_uppercase() { window | 0x20 } else { window };
        let (length, word, next) = short_word(window);
        let is_capital = next.is_ascii_uppercase();
        // A capital behind small letters and digits begins the next word.
        if !next.is_ascii() || is_capital && length < 2 {
            break;
        }
        if length > 0 {
            visit(RawWord::Short(word));
        }
        at += length + usize::from(!is_capital);
    }
    at.min(bytes.len())
}

/// Returns the small letters and digits at the beginning of a window: their number, the characters as
/// [`number`] packs them, and the byte behind them. That byte is not ASCII if they fill the window.
#[inline(always)]
fn short_word(window: u128) -> (usize, u128, u8) {
    let length = beginning_in(window, [b'a'..=b'z', b'0'..=b'9']);
    let bits = 8 * length;
    match length {
        // Most words are in the first half, and half a window takes half the steps.
        0..8 => {
            let (half, end) = (window as u64, 1 << bits);
            (length, u128::from(half & (end - 1) | end), (half >> bits) as u8)
        }
        8..WINDOW => {
            let end = 1 << bits;
            (length, window & (end - 1) | end, (window >> bits) as u8)
        }
        _ => (length, 0, 0x80),
    }
}

/// Returns the number of words of a text. In scripts without spaces between words, two characters count as a
/// word.
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
    /// A pictograph, which is a word of its own.
    Picture,
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
            // Without the modifiers of skin tones.
            '\u{1f300}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}' => Class::Picture,
            _ if character.is_uppercase() => Class::Upper,
            _ if character.is_alphabetic() => Class::Lower,
            _ if character.is_numeric() => Class::Digit,
            _ => Class::Other,
        }
    }
}

/// Replaces an English ending if at least three letters remain before it.
fn shorten_to_stem(word: &mut String) {
    let last = word.bytes().last();
    let is_at_end = |ending: &str| ending.bytes().last() == last && word.ends_with(ending);
    let ending = ENDINGS.iter().find(|(ending, _)| word.len() >= ending.len() + 3 && is_at_end(ending));
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
        let mut words = STOP_WORDS.iter().flat_map(|(_, words)| words.split_whitespace());
        assert!(words.clone().count() > 400 && words.all(is_stop_word));
        assert!(STOP_NUMBERS.is_sorted());
        let others = ["the the", "them", "th", "thesaurus", "est\0", "\0the", ""];
        assert!(others.iter().all(|word| !is_stop_word(word)));
        let technical = "ai ci dos er es eu go ha jest nas num os pod sans ses";
        assert!(technical.split(' ').all(|word| !is_stop_word(word)));
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
    fn a_pictograph_is_a_word() {
        assert_eq!(keywords("🔥"), ["🔥"]);
        assert_eq!(keywords("Fix🔥parser 👍🏽 – ✅"), ["fix", "🔥", "parser", "👍"]);
    }

    #[test]
    fn words_end_where_they_end_however_long_they_are() {
        let words = |text| keywords(text).join(" ");
        assert_eq!(words("parseJson3D HTMLParser x86Code aB Ab aBc"), "parse json3 htmlparser x86 code ab bc");
        assert_eq!(
            words("abcdefghijklmno abcdefghijklmnop abcdefghijklmnopQrst"),
            "abcdefghijklmno abcdefghijklmnop qrst"
        );
        assert_eq!(words("naïveWord überText codeé É2e\0ab"), "naïve word text codeé é2e ab");
        assert_eq!(words("last"), "last");
    }

    #[test]
    fn words_of_unspaced_scripts_are_pairs() {
        assert_eq!(keywords("解析器 test"), ["解析", "析器", "test"]);
    }
}
