//! `Approx`: an estimate of the number of tokens from lists of words, pairs and characters, without a
//! vocabulary.
//!
//! The estimate is made for two vocabularies at once, o200k and cl100k: the lists hold what is one token in
//! both.
//!
//! - `approx/words.txt`: the words whose listing lowers the estimate most, in the sources and the
//!   documentation of some 250 crates. Before each word stands a digit, the number of letters that it shares
//!   with the word before it, at most 9, and a character for its flags, from `0` on. The word in small
//!   letters after a space is always one token. The flags say what else is one token: 1 the word in small
//!   letters elsewhere; 2 with a capital, after a space or not; 4, 8, 16 and 32 after `_`, `.`, `(` and `-`,
//!   together with these.
//! - `approx/pairs.txt`: the frequent pairs of letters, in lines of a first letter and its second ones, then
//!   the same for pairs after a space.
//! - `approx/signs.txt`: the frequent sequences of two to six signs, then those after a space. `¶` is a line
//!   end. Sequences that a tokenizer cuts into three or more tokens next to other signs are left out.
//! - `approx/characters.txt`: the most tokens that a character takes alone, as `first code point:tokens` of
//!   ranges, then the characters that take one token although others of their range take more.
//! - `approx/joints.txt`: where tokens divide characters, see [`Joints`]. `tests/context/tokens.rs` makes
//!   this list from all tokens of both vocabularies, and says why no text of such characters can have more
//!   tokens than are priced.
//!
//! `tests/context/tokens.rs` checks the lists against both vocabularies.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::tokens::TokenCounter;
use crate::keys::mix;
use crate::keywords::{WINDOW, beginning_in, window};

/// An estimate without a vocabulary. It is close to o200k for English prose, code and the XML of frames,
/// seldom below it, and never far below o200k or cl100k for any text.
///
/// A text is cut into runs of letters, digits, signs and blanks, as tokenizers do. A frequent word is one
/// token, and so are frequent signs. Any other word is cut into frequent pairs of letters and single letters,
/// which is what tokenizers do with letters that make no word. Letters and signs at the very beginning of a
/// text cost more than elsewhere, because they may continue what is before them. Other characters cost what
/// they take alone. They cost more next to characters with which a tokenizer can merge a part of them.
///
/// `docs/figures.md` lists how near the estimate is for each kind of text. It is high for languages other
/// than English: it must not be too low for random letters, and it cannot tell these from words that it does
/// not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Approx;

impl TokenCounter for Approx {
    fn count(&self, text: &str) -> usize {
        units(text).div_ceil(UNIT)
    }
}

/// Units per token. Costs are in units; their sum is rounded up to tokens once, at the end.
const UNIT: usize = 100;

// The costs were fitted so that the estimate is at most 1.2 times o200k for English prose and frames, at
// least 1/1.1 of o200k for texts that people and programs write, and at least 1/1.5 of o200k and cl100k for
// the worst text that a search finds. So a text that is one token for certain costs at least 91. For
// subadditivity, the cost of a run must not be more than the cost of two parts of it, where nothing stands
// before the second part.

/// Cost of a listed word.
const WORD: usize = 93;
/// Cost of a word that is only listed after a space, elsewhere or with a capital: up to three tokens.
const WORD_ELSEWHERE: usize = 205;
/// Cost of a listed pair of letters, and of one after a space, which tokenizers divide more often.
const PAIR: usize = 103;
const SPACED_PAIR: usize = 120;
/// Cost of a letter that is in no pair, next to other letters.
const LETTER: usize = 70;
/// Additional cost of letters that continue a word, or may do so: together with the word they are divided
/// elsewhere.
const CONTINUATION: usize = 145;
/// Additional cost of a capitalized part of a word (`Name` in `userName`).
const PART: usize = 40;
/// Cost of a listed sequence of two among other signs, or of 4 or 8 times the same one.
const SEQUENCE: usize = 108;
/// Cost of a listed sequence among other signs, by its length: tokenizers divide longer ones elsewhere more
/// often.
const SEQUENCES: [usize; LONGEST_SEQUENCE + 1] = [0, 0, SEQUENCE, 155, 185, 205, 215];
/// Cost of 16 times the same sign. They are one token, but after a space and one more of them they are two.
const SIGN_RUN: usize = 120;
/// Cost of a sign that is in no sequence, and of a sequence that is all signs between others.
const SIGN: usize = 93;
/// Cost of a sign that tokenizers join with the letters after it, if it mostly makes one token with them.
const JOINED_SIGN: usize = 45;
/// Additional cost of signs at the beginning of a text, except for `<`: together with those before them they
/// may be no listed sequence. Two runs that are listed sequences cost 2 × `SIGN` apart. Joined, they cost at
/// most `BEGINNING_SIGNS` more, so the count stays subadditive.
const BEGINNING_SIGNS: usize = 244;
/// Additional cost of signs that are listed alone and follow a space: tokenizers join the space to them, and
/// divide them elsewhere.
const DIVIDED_SIGNS: usize = 40;
/// Cost of up to three digits.
const DIGITS: usize = 95;
/// Cost of up to 16 times the same blank character.
const BLANKS: usize = 100;
/// Cost of a space before characters, or of a tab before letters, which are often joined to it.
const JOINED_BLANK: usize = 70;
/// Cost of a tab or a space before anything that it is not joined to.
const BLANK: usize = 93;
/// Cost of a letter between characters that are not letters.
const LONE_LETTER: usize = 93;
/// Cost of a control character.
const CONTROL: usize = 100;
/// Cost of a character that is not ASCII, by the number of tokens that it takes alone.
const CHARACTER: [usize; 5] = [0, 70, 170, 260, 350];
/// Cost of a token of a character that stands alone between signs.
const LONE_CHARACTER: usize = 92;

/// Signs that are one token if the same sign stands there 4, 8 or 16 times, as in lines of `----`.
const REPEATED: &[u8] = b"#*-./=_";
/// Characters that are one token if the same character stands there four times.
const REPEATED_CHARACTERS: [char; 5] = ['—', '…', '─', '█', '\u{fffd}'];

/// The text before a run, which influences the cost of the run.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing that is known, as at the beginning of a text, or a listed word in capitals (`HTML` in
    /// `HTMLElement`), which is divided elsewhere: the run may continue a word.
    Nothing,
    /// A tab before letters, an apostrophe, several capitals, or a character that is not ASCII. Tokenizers
    /// join it to letters of a word after it, and divide the word elsewhere.
    Joining,
    /// Letters, or a part of a word that ends where a capital begins. A character after them that is not
    /// ASCII may divide a listed word, which costs `division` more.
    Letters {
        division: usize,
    },
    /// One space, which belongs to the run.
    Space,
    /// One sign without a space before it, which tokenizers join to letters: its cost, and the flag of the
    /// words that are one token together with it.
    Sign {
        cost: usize,
        flag: u128,
    },
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
                    Some(next) if next.is_ascii_alphabetic() => (gap + JOINED_BLANK, length, Before::Joining),
                    Some(_) => (gap + BLANK, length, Before::Joining),
                }
            }
            b'\n' | b'!'..=b'~' => {
                let length = run(bytes, at, |byte| byte.is_ascii_punctuation() || byte == b'\n');
                let is_alone = length == 1 && matches!(before, Before::Letters { .. } | Before::Other);
                if is_alone && byte != b'\n' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) {
                    let (cost, flag) = joined(&bytes[at..]);
                    (cost, 1, if byte == b'\'' { Before::Joining } else { Before::Sign { cost, flag } })
                } else {
                    let now = if bytes[at + length - 1] == b'\'' { Before::Joining } else { Before::Other };
                    (tables.signs(&bytes[at..at + length], before), length, now)
                }
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
                (tables.characters(bytes, at, character, same, before), same * character.len_utf8(), Before::Joining)
            }
        };
        total += cost;
        at += length;
        before = now;
    }
    total
}

/// The letters at the beginning of a text. What follows them makes it possible to look at several of them at
/// once.
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

    /// The key of the word that these letters are with a small first letter, and whether their first one is a
    /// capital before a small one.
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
    if before == Before::Space { BLANK } else { 0 }
}

/// Returns the cost of a sign that is joined to the letters after it, and the flag of the words that are one
/// token together with it.
fn joined(text: &[u8]) -> (usize, u128) {
    match text[0] {
        b'_' => (JOINED_SIGN, AFTER_UNDERSCORE),
        b'.' => (JOINED_SIGN, AFTER_POINT),
        b'(' => (JOINED_SIGN, AFTER_PARENTHESIS),
        b'-' => (JOINED_SIGN, AFTER_HYPHEN),
        // Escapes of code.
        b'\\' if b"nrtux".contains(&text[1]) && !text.get(2).is_some_and(u8::is_ascii_lowercase) => (JOINED_SIGN, 0),
        _ => (SIGN, 0),
    }
}

/// Flags of words, in the lowest byte of their keys: the forms that are one token, except for the word in
/// small letters after a space, which is always one.
const PLAIN: u128 = 1;
const CAPITALIZED: u128 = 2;
const AFTER_UNDERSCORE: u128 = 4;
const AFTER_POINT: u128 = 8;
const AFTER_PARENTHESIS: u128 = 16;
const AFTER_HYPHEN: u128 = 32;

/// The contents of the lists, made once when they are first needed; about 250 KB.
struct Tables {
    /// The listed words in ascending order, as [`word_key`] makes them, with their flags in the lowest byte.
    words: Vec<u128>,
    /// For each hash of a word, its number among the words, from 1 on. If another word's number has this
    /// place, the number of the word is at a place behind it. 0: none. Most words of a text are listed, and
    /// are found here at once.
    places: Vec<u16>,
    /// For each [`first_letters`], where the words with them begin, and at the end the number of all words.
    starts: Vec<u16>,
    /// For each first letter, a bit for each second one.
    pairs: Vec<u128>,
    spaced_pairs: Vec<u128>,
    /// The first code point of each range, and the most tokens of its characters.
    ranges: Vec<(u32, usize)>,
    /// The listed sequences of signs, as [`window`] makes them, and those after a space.
    signs: Signs,
    spaced_signs: Signs,
    /// The characters that are one token, in ascending order.
    single: Vec<char>,
    joints: Joints,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let halves = |text: &'static str| text.split_once("\n\n").expect("each list has two parts");
    let words = words(include_str!("approx/words.txt"));
    let (plain, spaced) = halves(include_str!("approx/pairs.txt"));
    let (signs, spaced_signs) = halves(include_str!("approx/signs.txt"));
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
        signs: Signs::new(signs),
        spaced_signs: Signs::new(spaced_signs),
        ranges: ranges.split_whitespace().map(|text| range(text).expect("a range has two numbers")).collect(),
        single: single.chars().filter(|character| *character != '\n').collect(),
        joints: Joints::new(include_str!("approx/joints.txt")),
    }
});

/// Number of places for hashes of words, about twice the number of the words.
const PLACES: usize = 1 << 15;

/// The places where a word may stand, in the order of the search.
fn probes(word: u128) -> impl Iterator<Item = usize> {
    let first = mix(word >> 8) as usize % PLACES;
    (first..first + PLACES).map(|place| place % PLACES)
}

/// Reads the list of words, which is in ascending order.
fn words(list: &str) -> Vec<u128> {
    let mut words = Vec::with_capacity(list.len() / 4);
    let mut word = Vec::new();
    let mut bytes = list.bytes().filter(|byte| *byte != b'\n').peekable();
    while let Some(shared) = bytes.next() {
        word.truncate(usize::from(shared - b'0'));
        let flags = u128::from(bytes.next().unwrap_or(b'0') - b'0');
        word.extend(std::iter::from_fn(|| bytes.next_if(u8::is_ascii_alphabetic)));
        words.push(word_key(Letters::of(&word)) | flags);
    }
    words
}

/// Reads lines of a first letter, a space, and the second letters.
fn pairs(list: &str) -> Vec<u128> {
    let mut pairs = vec![0; 128];
    for line in list.lines() {
        let mut letters = line.bytes();
        let first = letters.next().unwrap_or_default();
        pairs[usize::from(first)] = letters.skip(1).fold(0, |seconds, second| seconds | 1 << second);
    }
    pairs
}

/// A list of sequences of signs.
struct Signs {
    /// For each first sign, a bit for each second one with which a sequence begins.
    pairs: Vec<u128>,
    /// The sequences, as [`window`] makes them, in ascending order. A hash table in a static would look like
    /// a leak.
    sequences: Vec<u64>,
}

/// Most signs of a sequence.
const LONGEST_SEQUENCE: usize = 6;

impl Signs {
    /// Reads sequences between blanks, with `¶` for a line end.
    fn new(list: &str) -> Self {
        let (mut pairs, mut sequences) = (vec![0; 128], Vec::new());
        for sequence in list.split_whitespace() {
            let sequence = sequence.replace('¶', "\n");
            let signs = sequence.as_bytes();
            pairs[usize::from(signs[0])] |= 1 << signs[1];
            sequences.push(window(signs, 0) as u64);
        }
        sequences.sort_unstable();
        Self { pairs, sequences }
    }

    /// Returns the lengths of the sequences with which these signs begin.
    fn lengths(&self, signs: &[u8]) -> impl Iterator<Item = usize> {
        let is_listed = |second: &u8| self.pairs[usize::from(signs[0])] >> second & 1 == 1;
        let longest = if signs.get(1).is_some_and(is_listed) { signs.len().min(LONGEST_SEQUENCE) } else { 0 };
        let all = window(signs, 0) as u64;
        (2..=longest).filter(move |length| self.has_key(all & u64::MAX >> (64 - 8 * length)))
    }

    fn has_key(&self, sequence: u64) -> bool {
        self.sequences.binary_search(&sequence).is_ok()
    }

    /// True if all of these signs are one sequence.
    fn has(&self, signs: &[u8]) -> bool {
        (2..=LONGEST_SEQUENCE).contains(&signs.len()) && self.has_key(window(signs, 0) as u64)
    }
}

/// Where tokens can divide characters. A joint is the place between two characters: the last bytes before it
/// and the first ones behind it, which are together in a token that divides one of the two.
struct Joints {
    /// The joints, ordered by the last byte before them.
    joints: Vec<Joint>,
    /// For each byte, where the joints behind it begin, and at the end the number of all joints.
    starts: Vec<usize>,
}

/// The bytes on both sides of a joint, at most four on each: those before it as [`last_bytes`] makes them,
/// and those behind it as [`window`] does.
struct Joint {
    left: u32,
    right: u32,
    left_length: u8,
    right_length: u8,
}

impl Joints {
    /// Reads joints between blanks: the bytes before and behind them in hexadecimal digits, with a `:`
    /// between them.
    fn new(list: &str) -> Self {
        let bytes = |digits: &str| -> Vec<u8> {
            let digit = |place: usize| u8::from_str_radix(&digits[place..place + 2], 16).expect("a joint has digits");
            (0..digits.len()).step_by(2).map(digit).collect()
        };
        let joint = |joint: &str| {
            let (left, right) = joint.split_once(':').expect("a joint has two sides");
            let (left, right) = (bytes(left), bytes(right));
            Joint {
                left: last_bytes(&left),
                right: window(&right, 0) as u32,
                left_length: left.len() as u8,
                right_length: right.len() as u8,
            }
        };
        let mut joints: Vec<Joint> = list.split_whitespace().map(joint).collect();
        joints.sort_by_key(|joint| joint.left as u8);
        let start = |last: usize| joints.partition_point(|joint| usize::from(joint.left as u8) < last);
        let starts = (0..=256).map(start).collect();
        Self { joints, starts }
    }

    /// The joints behind this byte.
    fn behind(&self, byte: u8) -> &[Joint] {
        &self.joints[self.starts[usize::from(byte)]..self.starts[usize::from(byte) + 1]]
    }

    /// Returns the most tokens that begin in a character that a token divides; 0 if none can do so. A token
    /// that begins in it and ends behind it leaves its first bytes, each a token at worst; one that begins
    /// before it leaves the last ones. At the end of a text any character may follow.
    fn tokens(&self, text: &[u8], at: usize, length: usize) -> usize {
        let end = at + length;
        let mut most = 0;
        let (left, right, right_length) = (last_bytes(&text[..end]), window(text, end) as u32, text.len() - end);
        for joint in self.behind(text[end - 1]) {
            let inner = usize::from(joint.left_length);
            if inner < length
                && has_same(joint.left, left, inner)
                && has_same(joint.right, right, right_length.min(joint.right_length.into()))
            {
                most = most.max(length - inner + 1);
            }
        }
        let before = &text[..at];
        let (left, right) = (last_bytes(before), window(text, at) as u32);
        for joint in before.last().map_or(&[][..], |last| self.behind(*last)) {
            let inner = usize::from(joint.right_length);
            if inner < length
                && has_same(joint.right, right, inner)
                && has_same(joint.left, left, joint.left_length.into())
            {
                most = most.max(length - inner);
            }
        }
        most
    }
}

/// Returns the last four bytes of a text as a number, the last one lowest, and zeros before its beginning.
fn last_bytes(text: &[u8]) -> u32 {
    match text.last_chunk() {
        Some(last) => u32::from_be_bytes(*last),
        None => text.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)),
    }
}

/// True if the lowest bytes of two numbers are the same, as many as `length` says, which is at most four.
fn has_same(one: u32, other: u32, length: usize) -> bool {
    u64::from(one ^ other) & ((1 << (8 * length)) - 1) == 0
}

/// Number of letters of a word in a key.
const KEY_LETTERS: usize = 15;

/// Returns a number that orders words as their letters do: the first letter in the highest byte, the lowest
/// byte free.
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

/// The cost of these letters as a listed word.
fn word_cost(word: u128, is_capitalized: bool, before: Before) -> usize {
    let has = |flag: u128| word & flag != 0;
    let is_one = match before {
        Before::Nothing | Before::Joining => false,
        Before::Sign { cost, flag } if !is_capitalized && has(flag) => return WORD - cost,
        _ if is_capitalized => has(CAPITALIZED),
        Before::Space => true,
        Before::Letters { .. } | Before::Sign { .. } | Before::Other => has(PLAIN),
    };
    if is_one { WORD } else { WORD_ELSEWHERE }
}

impl Tables {
    /// Returns the cost of capitals and the small letters after them, and the additional cost of dividing
    /// them.
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

    /// Returns the cheapest cost of letters: as a listed word, or as [`Tables::without_word`]. Also returns
    /// the additional cost of dividing them. With it, the letters never cost more than if they had been
    /// divided from the beginning. It is 0 if nothing follows that divides letters.
    fn letters(&self, letters: Letters<'_>, before: Before) -> (usize, usize) {
        if letters.length == 1 && matches!(before, Before::Space | Before::Sign { .. } | Before::Other) {
            return (LONE_LETTER, 0);
        }
        match self.word(letters, before) {
            // Three letters, and four of a word that is not a token, cost more in any other way.
            Some(word) if word <= WORD && letters.length >= 3 => (part(before) + word, CONTINUATION),
            Some(word) if letters.length >= 4 && !letters.may_be_divided() => (part(before) + word, 0),
            Some(word) => {
                let without_word = self.without_word(letters, before);
                let cost = without_word.min(part(before) + word);
                (cost, CONTINUATION.min(without_word - cost))
            }
            None => (self.without_word(letters, before), 0),
        }
    }

    /// Returns the cheapest cost of letters that are not a listed word as a whole: as a listed word and what
    /// continues it, or as pairs and single letters.
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

    /// Returns the length of the listed word in small letters with which a text after a space begins, if no
    /// further small letter follows.
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

    /// Returns the lengths of the listed words with which the letters begin, the longest one first, and their
    /// costs.
    fn words(&self, letters: Letters<'_>, before: Before) -> impl Iterator<Item = (usize, usize)> {
        let (key, is_capitalized) = letters.key();
        let listed = self.words_like(key);
        let mut beginning = if before == Before::Nothing { 0 } else { KEY_LETTERS };
        std::iter::from_fn(move || {
            while beginning > 1 {
                // The longest word is the last one that is not after the letters in the order, or a beginning
                // of that.
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

    /// Returns the cost of signs and line ends. They are divided where tokenizers divide them: after line
    /// ends, and after slashes behind line ends. One tokenizer joins such slashes to the part before them,
    /// the other one to the part behind them. They are also divided before `<`, where contexts are divided.
    fn signs(&self, signs: &[u8], before: Before) -> usize {
        let is_end = |place: &usize| match (signs[place - 1], signs[*place]) {
            (_, b'<') => true,
            (b'\n', next) => next != b'\n',
            (b'/', next) if next != b'/' => signs[..*place].iter().rev().find(|sign| **sign != b'/') == Some(&b'\n'),
            _ => false,
        };
        let mut cost = match before {
            Before::Nothing if signs[0] != b'<' => BEGINNING_SIGNS,
            _ => 0,
        };
        let mut start = 0;
        for end in (1..signs.len()).filter(is_end).chain([signs.len()]) {
            cost += self.joined_signs(&signs[start..end], start == 0 && before == Before::Space);
            start = end;
        }
        cost
    }

    /// Returns the cost of signs that tokenizers do not divide everywhere.
    fn joined_signs(&self, signs: &[u8], after_space: bool) -> usize {
        let without_space = || if self.signs.has(signs) { SIGN } else { self.divided_signs(signs, false) };
        match after_space {
            true if self.spaced_signs.has(signs) => SIGN,
            // Never more than the space and the signs cost apart, as the beginning of a text. Contexts are
            // divided before `<`.
            true => {
                let divided = if signs[0] == b'<' { 0 } else { DIVIDED_SIGNS };
                self.divided_signs(signs, true).min(BLANKS + divided + without_space())
            }
            false => without_space(),
        }
    }

    /// Returns the cost of signs and line ends as sequences, repeated signs and single ones, in the cheapest
    /// way.
    fn divided_signs(&self, signs: &[u8], after_space: bool) -> usize {
        // The costs of all signs from a place on, for the 16 places behind the current one.
        let mut rest = [0; 16];
        for (at, sign) in signs.iter().enumerate().rev() {
            let from = |length: usize| rest[(at + length) % 16];
            let is_spaced = at == 0 && after_space;
            let sequences = if is_spaced { &self.spaced_signs } else { &self.signs };
            let listed = sequences.lengths(&signs[at..]).map(|length| SEQUENCES[length] + from(length));
            let mut cost = listed.fold(SIGN + from(1), usize::min);
            if REPEATED.contains(sign) && !is_spaced {
                let same = signs[at..].iter().take(16).take_while(|other| *other == sign).count();
                for (length, run) in [(4, SEQUENCE), (8, SEQUENCE), (16, SIGN_RUN)] {
                    if length <= same {
                        cost = cost.min(run + from(length));
                    }
                }
            }
            rest[at % 16] = cost;
        }
        rest[0]
    }

    /// Returns the cost of the same character several times, from a place of a text on. Words before it, and
    /// spaces, are joined to its first bytes.
    fn characters(&self, text: &[u8], at: usize, character: char, same: usize, before: Before) -> usize {
        let alone = if self.single.binary_search(&character).is_ok() { 1 } else { self.tokens(character) };
        let end = at + same * character.len_utf8();
        let divided = |place: usize| self.joints.tokens(text, place, character.len_utf8()).max(alone);
        let run = |same: usize| same / 4 * SEQUENCE + same % 4 * CHARACTER[alone];
        // Only the first one and the last one can be divided.
        let first = divided(at);
        let last = if same == 1 { first } else { divided(end - character.len_utf8()) };
        let is_alone = same == 1
            && (before == Before::Other || before == Before::Joining && text[at - 1] == b'\'')
            && text.get(end).is_none_or(|next| next.is_ascii() && !next.is_ascii_alphabetic());
        let cost = match (first > alone, last > alone) {
            _ if is_alone => LONE_CHARACTER * first,
            (false, false) => run(same),
            (false, true) => run(same - 1) + CHARACTER[last],
            (true, false) => CHARACTER[first] + run(same - 1),
            (true, true) if same == 1 => CHARACTER[first],
            (true, true) => CHARACTER[first] + run(same - 2) + CHARACTER[last],
        };
        let before = match before {
            Before::Nothing => CONTINUATION,
            Before::Letters { division } => division,
            Before::Space => JOINED_BLANK,
            _ => 0,
        };
        before + cost
    }

    /// Returns the most tokens of any character of this range.
    fn tokens(&self, character: char) -> usize {
        let after = self.ranges.partition_point(|(first, _)| *first <= u32::from(character));
        self.ranges[after.saturating_sub(1)].1
    }
}
