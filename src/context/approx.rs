//! `Approx`: an estimate of the number of tokens from lists of words, pairs and characters, without a vocabulary.
//!
//! The estimate is made for two vocabularies at once, o200k and cl100k: the lists hold what is one token in both.
//!
//! - `approx/words.txt`: the words that are most frequent in the documentation of some 300 Rust crates and in comments
//!   of their code, and abbreviations in capitals. Before each word stands a digit, the number of letters that it shares
//!   with the word before it, at most 9. Words with `'` after the digit are one token in every form (`word`, `Word`,
//!   ` word`, ` Word`), the others only in small letters after a space.
//! - `approx/pairs.txt`: the frequent pairs of letters and of signs, in lines of a first character and its second ones,
//!   then the same for pairs after a space. `¶` is a line end.
//! - `approx/characters.txt`: the most tokens that a character takes alone, as `first code point:tokens` of ranges,
//!   then the characters that take one token although others of their range take more.
//!
//! `tests/context/tokens.rs` checks the lists against both vocabularies.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::keys::mix;
use super::tokens::TokenCounter;
use crate::keywords::{WINDOW, beginning_in, window};

/// An estimate without a vocabulary. It is close to o200k for English prose, code and the XML of frames, seldom below
/// it, and never far below o200k or cl100k for any text.
///
/// A text is cut into runs of letters, digits, signs and blanks, as tokenizers do. A frequent word is one token. Any
/// other word is cut into frequent pairs of letters and single letters, which is what tokenizers do with letters that
/// make no word. Letters at the very beginning of a text cost more than elsewhere, because they may continue a word.
///
/// `docs/figures.md` lists how near the estimate is for each kind of text. It is high for languages other than English:
/// it must not be too low for random letters, and it cannot tell these from words that it does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Approx;

impl TokenCounter for Approx {
    fn count(&self, text: &str) -> usize {
        units(text).div_ceil(UNIT)
    }
}

/// Units per token. Costs are in units; their sum is rounded up to tokens once, at the end.
const UNIT: usize = 100;

// The costs were fitted so that the estimate is at most 1.2 times o200k for English prose and frames, and at least 1/1.5
// of o200k and cl100k for the worst text that a search finds. For subadditivity, the cost of a run must not be more than
// that of two parts of it, where nothing stands before the second part.

/// Cost of a listed word.
const WORD: usize = 85;
/// Cost of a word that is only listed after a space, elsewhere or with a capital: up to three tokens.
const WORD_ELSEWHERE: usize = 200;
/// Cost of a listed pair of letters, and of one after a space, which tokenizers divide more often.
const PAIR: usize = 103;
const SPACED_PAIR: usize = 120;
/// Cost of a letter that is in no pair.
const LETTER: usize = 70;
/// Additional cost of letters that continue a word, or may do so: together with it they are divided elsewhere.
const CONTINUATION: usize = 145;
/// Additional cost of a capitalized part of a word (`Name` in `userName`).
const PART: usize = 40;
/// Cost of a listed pair of signs, or of 4 or 8 times the same one.
const SIGN_PAIR: usize = 105;
/// Cost of 16 times the same sign. They are one token, but after a space and one more of them they are two.
const SIGN_RUN: usize = 120;
/// Cost of a sign that is in no pair.
const SIGN: usize = 82;
const LINE_END: usize = 82;
/// Cost of up to three digits.
const DIGITS: usize = 95;
/// Cost of up to 16 times the same blank character.
const BLANKS: usize = 100;
/// Cost of a tab, or of a space before anything that it is not joined to.
const SPACE: usize = 70;
/// Cost of a control character.
const CONTROL: usize = 100;
/// Cost of a character that is not ASCII, by the number of tokens that it takes alone.
const CHARACTER: [usize; 5] = [0, 70, 156, 234, 312];

/// Signs for which the same one 4, 8 or 16 times is one token, as in lines of `----`.
const REPEATED: &[u8] = b"#*-./=_";
/// Characters of which four are one token.
const REPEATED_CHARACTERS: [char; 5] = ['—', '…', '─', '█', '\u{fffd}'];

/// The text before a run, which influences the cost of the run.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing that is known, as at the beginning of a text, or a listed word in capitals (`HTML` in `HTMLElement`),
    /// which is divided elsewhere: the run may continue a word.
    Nothing,
    /// A tab, an apostrophe, several capitals, or a character that is not ASCII. Tokenizers join it to letters of a word
    /// after it, and divide the word elsewhere.
    Joining,
    /// Letters, or a part of a word that ends where a capital begins. A character after them that is not ASCII may divide
    /// a listed word, which costs `division` more.
    Letters {
        division: usize,
    },
    /// One space, which belongs to the run.
    Space,
    Other,
}

fn units(text: &str) -> usize {
    let tables = &*TABLES;
    let bytes = text.as_bytes();
    let (mut total, mut at, mut before) = (0, 0, Before::Nothing);
    while at < bytes.len() {
        let byte = bytes[at];
        // Most of English prose is listed words in small letters after a space.
        if byte == b' '
            && let Some(length) = tables.listed_word(&bytes[at + 1..])
        {
            total += WORD;
            at += 1 + length;
            before = Before::Letters { division: CONTINUATION };
            continue;
        }
        let (cost, length, now) = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {
                let capitals = if byte.is_ascii_uppercase() { run_of(bytes, at, b'A'..=b'Z') } else { 0 };
                let small = run_of(bytes, at + capitals, b'a'..=b'z');
                let letters = Letters { text: &bytes[at..], length: capitals + small };
                let (cost, division) = tables.capitals_and_letters(letters, capitals, before);
                (cost, letters.length, Before::Letters { division })
            }
            b'0'..=b'9' => {
                let length = run(bytes, at, |byte| byte.is_ascii_digit());
                (space(before) + length.div_ceil(3) * DIGITS, length, Before::Other)
            }
            b' ' | b'\t' => {
                let length = run(bytes, at, |other| other == byte);
                // Tokenizers divide a gap before its last character, and join that to what follows.
                let gap = (length - 1).div_ceil(16) * BLANKS;
                match bytes.get(at + length) {
                    None => (gap + BLANKS, length, Before::Other),
                    Some(next) if is_blank(*next) => (length.div_ceil(16) * BLANKS, length, Before::Other),
                    Some(_) if byte == b' ' => (gap, length, Before::Space),
                    Some(_) => (gap + SPACE, length, Before::Joining),
                }
            }
            b'\n' | b'!'..=b'~' => {
                let length = run(bytes, at, |byte| byte.is_ascii_punctuation() || byte == b'\n');
                let now = if bytes[at + length - 1] == b'\'' { Before::Joining } else { Before::Other };
                (tables.signs(&bytes[at..at + length], before), length, now)
            }
            b'\r' => (BLANKS, 1 + usize::from(bytes.get(at + 1) == Some(&b'\n')), Before::Other),
            0..0x80 => (space(before) + CONTROL, 1, Before::Other),
            _ => {
                let character = text[at..].chars().next().expect("at is a character boundary");
                let same = if REPEATED_CHARACTERS.contains(&character) {
                    text[at..].chars().take_while(|other| *other == character).count()
                } else {
                    1
                };
                (tables.characters(character, same, before), same * character.len_utf8(), Before::Joining)
            }
        };
        total += cost;
        at += length;
        before = now;
    }
    total
}

/// The letters at the beginning of a text. What follows them makes it possible to look at several of them at once.
#[derive(Clone, Copy)]
struct Letters<'a> {
    text: &'a [u8],
    length: usize,
}

impl<'a> Letters<'a> {
    fn of(letters: &'a [u8]) -> Self {
        Self { text: letters, length: letters.len() }
    }

    #[inline]
    fn bytes(self) -> &'a [u8] {
        &self.text[..self.length]
    }

    /// The key of the word that these letters are with a small first letter, and whether their first one is a capital
    /// before a small one.
    #[inline]
    fn key(self) -> (u128, bool) {
        let bytes = self.bytes();
        let is_capitalized = bytes[0].is_ascii_uppercase() && bytes.get(1).is_none_or(u8::is_ascii_lowercase);
        (word_key(self) | if is_capitalized { 0x20 << 120 } else { 0 }, is_capitalized)
    }

    /// True if a character that is not ASCII follows.
    fn may_be_divided(self) -> bool {
        self.text.get(self.length).is_some_and(|next| !next.is_ascii())
    }

    fn split_at(self, length: usize) -> (Self, Self) {
        (Self { length, ..self }, Self { text: &self.text[length..], length: self.length - length })
    }
}

/// Returns how many bytes of a text from a place on are in a range of ASCII, to which 0 does not belong.
#[inline(always)]
fn run_of(bytes: &[u8], start: usize, range: RangeInclusive<u8>) -> usize {
    let mut length = 0;
    loop {
        let part = beginning_in(window(bytes, start + length), [range.clone()]);
        length += part;
        if part < WINDOW {
            return length;
        }
    }
}

/// Returns how many bytes from a place on are of a kind.
fn run(bytes: &[u8], start: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes[start..].iter().take_while(|byte| is(**byte)).count()
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The cost of a space before anything that it is not joined to.
fn space(before: Before) -> usize {
    if before == Before::Space { SPACE } else { 0 }
}

/// The contents of the lists, made once when they are first needed; about 150 KB.
struct Tables {
    /// The listed words in ascending order, as [`word_key`] makes them. The lowest bit is set if the word is one token
    /// only in small letters after a space.
    words: Vec<u128>,
    /// For each hash of a word, its number among the words, from 1 on, or that of another one and its own behind it; 0:
    /// none. Most words of a text are listed, and are found here at once.
    places: Vec<u16>,
    /// For each [`first_letters`], where the words with them begin, and at the end the number of all words.
    starts: Vec<u16>,
    /// For each first character, a bit for each second one.
    pairs: Vec<u128>,
    spaced_pairs: Vec<u128>,
    /// The first code point of each range, and the most tokens of its characters.
    ranges: Vec<(u32, usize)>,
    /// The characters that are one token, in ascending order.
    single: Vec<char>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let halves = |text: &'static str| text.split_once("\n\n").expect("each list has two parts");
    let words = words(include_str!("approx/words.txt"));
    let (plain, spaced) = halves(include_str!("approx/pairs.txt"));
    let (ranges, single) = halves(include_str!("approx/characters.txt"));
    let range = |range: &str| {
        let (first, tokens) = range.split_once(':')?;
        Some((u32::from_str_radix(first, 16).ok()?, tokens.parse().ok()?))
    };
    let mut starts = vec![0; first_letters(word_key(Letters::of(b"zz"))) + 2];
    words.iter().for_each(|word| starts[first_letters(*word) + 1] += 1);
    (1..starts.len()).for_each(|place| starts[place] += starts[place - 1]);
    let mut places = vec![0; PLACES];
    for (word, number) in words.iter().zip(1..) {
        let free = probes(*word).find(|place| places[*place] == 0).expect("there are more places than words");
        places[free] = number;
    }
    Tables {
        words,
        places,
        starts,
        pairs: pairs(plain),
        spaced_pairs: pairs(spaced),
        ranges: ranges.split_whitespace().map(|text| range(text).expect("a range has two numbers")).collect(),
        single: single.chars().filter(|character| *character != '\n').collect(),
    }
});

/// Number of places for hashes of words, about twice the number of the words.
const PLACES: usize = 1 << 14;

/// The places where a word may stand, in the order of the search.
fn probes(word: u128) -> impl Iterator<Item = usize> {
    let first = mix(word >> 8) as usize % PLACES;
    (first..first + PLACES).map(|place| place % PLACES)
}

/// Reads the list of words, which is in ascending order.
fn words(list: &str) -> Vec<u128> {
    let mut words = Vec::with_capacity(list.len() / 4);
    let (mut word, mut is_spaced) = (Vec::new(), 1);
    for byte in list.bytes().filter(|byte| *byte != b'\n').chain([b'0']) {
        match byte {
            b'0'..=b'9' => {
                if !word.is_empty() {
                    words.push(word_key(Letters::of(&word)) | is_spaced);
                }
                word.truncate(usize::from(byte - b'0'));
                is_spaced = 1;
            }
            b'\'' => is_spaced = 0,
            letter => word.push(letter),
        }
    }
    words
}

/// Reads lines of a first character, a space, and the second characters.
fn pairs(list: &str) -> Vec<u128> {
    let code = |character: char| if character == '¶' { b'\n' } else { character as u8 };
    let mut pairs = vec![0; 128];
    for line in list.lines() {
        let mut characters = line.chars();
        let first = characters.next().map_or(0, code);
        pairs[usize::from(first)] = characters.skip(1).fold(0, |seconds, second| seconds | 1 << code(second));
    }
    pairs
}

/// Number of letters of a word in a key.
const KEY_LETTERS: usize = 15;

/// Returns a number that orders words as their letters do: the first letter in the highest byte, the lowest byte free.
fn word_key(letters: Letters<'_>) -> u128 {
    window(letters.text, 0).swap_bytes() & u128::MAX << (128 - 8 * letters.length.min(KEY_LETTERS))
}

/// Returns a number that orders words as their first two letters do.
fn first_letters(key: u128) -> usize {
    let letter = |shift: u32| ((key >> shift) as usize & 0xFF).saturating_sub(usize::from(b'A'));
    letter(120) * 64 + letter(112)
}

/// The additional cost of letters after other letters.
fn part(before: Before) -> usize {
    if matches!(before, Before::Letters { .. }) { PART } else { 0 }
}

/// The cost of a listed word, as which these letters are seen.
fn word_cost(word: u128, is_capitalized: bool, before: Before) -> usize {
    let is_one = match before {
        Before::Nothing | Before::Joining => false,
        Before::Space => word & 1 == 0 || !is_capitalized,
        Before::Letters { .. } | Before::Other => word & 1 == 0,
    };
    if is_one { WORD } else { WORD_ELSEWHERE }
}

impl Tables {
    /// Returns the cost of capitals and the small letters after them, and what it costs more to divide them.
    fn capitals_and_letters(&self, letters: Letters<'_>, capitals: usize, before: Before) -> (usize, usize) {
        if capitals < 2 || capitals == letters.length {
            return self.letters(letters, before);
        }
        // The last capital belongs to the small letters (HTML|Element), or all capitals together are a word.
        let (one, other) = letters.split_at(capitals - 1);
        let joined = self.without_word(one, before) + self.letters(other, Before::Joining).0;
        let after_word = self.letters(one, before).0 + self.letters(other, Before::Nothing).0;
        let (word, other) = letters.split_at(capitals);
        let before_small = self.letters(word, before).0 + self.letters(other, Before::Nothing).0;
        (joined.min(after_word).min(before_small), 0)
    }

    /// Returns the cheapest cost of letters: as a listed word, or as [`Tables::without_word`]. Also returns what it costs
    /// more to divide them, which is never more than to have divided them from the beginning; 0 if nothing follows that
    /// divides letters.
    fn letters(&self, letters: Letters<'_>, before: Before) -> (usize, usize) {
        match self.word(letters, before) {
            Some(WORD) => (part(before) + WORD, CONTINUATION),
            // Four letters cost more in any other way.
            Some(word) if letters.length >= 4 && !letters.may_be_divided() => (part(before) + word, 0),
            Some(word) => {
                let without_word = self.without_word(letters, before);
                let cost = without_word.min(part(before) + word);
                (cost, CONTINUATION.min(without_word - cost))
            }
            None => (self.without_word(letters, before), 0),
        }
    }

    /// Returns the cheapest cost of letters that are no listed word as a whole: as a listed word and what continues it, or
    /// as pairs and single letters.
    fn without_word(&self, letters: Letters<'_>, before: Before) -> usize {
        let divided = self.divided(letters.bytes(), before);
        // A word and at least a letter behind it are never cheaper than this.
        if divided[0] <= part(before) + WORD + CONTINUATION + LETTER {
            return divided[0];
        }
        let shorter = self.words(letters, before).filter(|(length, _)| *length < letters.length);
        let continued = shorter.map(|(length, word)| part(before) + word + CONTINUATION + divided[length]);
        continued.fold(divided[0], usize::min)
    }

    /// Returns the costs of all letters from each of the first places on, as pairs and single letters.
    fn divided(&self, letters: &[u8], before: Before) -> [usize; KEY_LETTERS + 1] {
        let mut costs = [0; KEY_LETTERS + 1];
        let (mut rest, mut next) = (0, 0);
        for (at, letter) in letters.iter().enumerate().rev() {
            let mut cost = LETTER + rest;
            if let Some(second) = letters.get(at + 1) {
                let is_spaced = at == 0 && before == Before::Space;
                let (pairs, pair) = if is_spaced { (&self.spaced_pairs, SPACED_PAIR) } else { (&self.pairs, PAIR) };
                if pairs[usize::from(*letter)] >> second & 1 == 1 {
                    cost = cost.min(pair + next);
                }
            }
            (rest, next) = (cost, rest);
            if at <= KEY_LETTERS {
                costs[at] = cost;
            }
        }
        costs[0] += part(before) + if before == Before::Nothing { CONTINUATION } else { 0 };
        costs
    }

    /// Returns the length of the listed word in small letters with which a text after a space begins, if it does not go on
    /// with further small letters.
    #[inline]
    fn listed_word(&self, text: &[u8]) -> Option<usize> {
        let length = beginning_in(window(text, 0), [b'a'..=b'z']);
        if !(1..=KEY_LETTERS).contains(&length) {
            return None;
        }
        self.find(word_key(Letters { text, length })).map(|_| length)
    }

    /// Returns the listed word with this key.
    #[inline]
    fn find(&self, key: u128) -> Option<u128> {
        let numbers = probes(key).map_while(|place| self.places[place].checked_sub(1));
        let mut words = numbers.map(|number| self.words[usize::from(number)]);
        words.find(|word| word >> 8 == key >> 8)
    }

    /// Returns the cost of letters that are a listed word as a whole.
    fn word(&self, letters: Letters<'_>, before: Before) -> Option<usize> {
        if before == Before::Nothing || letters.length > KEY_LETTERS {
            return None;
        }
        let (key, is_capitalized) = letters.key();
        self.find(key).map(|word| word_cost(word, is_capitalized, before))
    }

    /// Returns the lengths of the listed words with which the letters begin, the longest one first, and their costs.
    fn words(&self, letters: Letters<'_>, before: Before) -> impl Iterator<Item = (usize, usize)> {
        let (key, is_capitalized) = letters.key();
        let listed = self.words_like(key);
        let mut beginning = if before == Before::Nothing { 0 } else { KEY_LETTERS };
        std::iter::from_fn(move || {
            while beginning > 1 {
                // The longest word is the last one that is not after the letters in the order, or a beginning of that.
                let key = key & u128::MAX << (128 - 8 * beginning);
                let last = listed[..listed.partition_point(|word| *word <= key | 0xFF)].last()?;
                let length = KEY_LETTERS - (last >> 8).trailing_zeros() as usize / 8;
                let shared = ((last ^ key) >> 8 << 8).leading_zeros() as usize / 8;
                if shared < length {
                    beginning = shared;
                    continue;
                }
                beginning = length - 1;
                return Some((length, word_cost(*last, is_capitalized, before)));
            }
            None
        })
    }

    /// Returns the listed words with the same first two letters.
    fn words_like(&self, key: u128) -> &[u128] {
        let place = first_letters(key);
        let [from, to] = [place, place + 1].map(|place| self.starts.get(place).map_or(0, |start| usize::from(*start)));
        &self.words[from.min(to)..to]
    }

    /// Returns the cost of signs and line ends.
    fn signs(&self, signs: &[u8], before: Before) -> usize {
        match before {
            // Never more than apart from the space.
            Before::Space => self.divided_signs(signs, true).min(BLANKS + self.divided_signs(signs, false)),
            _ => self.divided_signs(signs, false),
        }
    }

    /// Returns the cost of signs and line ends as pairs, repeated signs and single ones, in the cheapest way.
    fn divided_signs(&self, signs: &[u8], after_space: bool) -> usize {
        // The costs of all signs from a place on, for the 16 places behind the current one.
        let mut rest = [0; 16];
        for (at, sign) in signs.iter().enumerate().rev() {
            let from = |length: usize| rest[(at + length) % 16];
            let is_spaced = at == 0 && after_space;
            let mut cost = from(1) + if *sign == b'\n' { LINE_END } else { SIGN };
            if let Some(second) = signs.get(at + 1) {
                let is_listed = |pairs: &[u128]| pairs[usize::from(*sign)] >> second & 1 == 1;
                if is_spaced && is_listed(&self.spaced_pairs) || !is_spaced && is_listed(&self.pairs) {
                    cost = cost.min(SIGN_PAIR + from(2));
                }
            }
            if REPEATED.contains(sign) && !is_spaced {
                let same = signs[at..].iter().take(16).take_while(|other| *other == sign).count();
                for (length, run) in [(4, SIGN_PAIR), (8, SIGN_PAIR), (16, SIGN_RUN)] {
                    if length <= same {
                        cost = cost.min(run + from(length));
                    }
                }
            }
            rest[at % 16] = cost;
        }
        rest[0]
    }

    /// Returns the cost of the same character several times. Words before it, and spaces, are joined to its first bytes.
    fn characters(&self, character: char, same: usize, before: Before) -> usize {
        let single = CHARACTER[if self.single.binary_search(&character).is_ok() { 1 } else { self.tokens(character) }];
        let cost = |same: usize| same / 4 * SIGN_PAIR + same % 4 * single;
        match before {
            Before::Nothing => CONTINUATION + cost(same),
            Before::Letters { division } => division + cost(same),
            Before::Space if character.len_utf8() > 2 => {
                let first_divided = CHARACTER[self.tokens(character)] + cost(same - 1);
                SPACE + first_divided.min(CONTINUATION + cost(same))
            }
            _ => space(before) + cost(same),
        }
    }

    /// Returns the most tokens of any character of this range.
    fn tokens(&self, character: char) -> usize {
        let after = self.ranges.partition_point(|(first, _)| *first <= u32::from(character));
        self.ranges[after.saturating_sub(1)].1
    }
}
