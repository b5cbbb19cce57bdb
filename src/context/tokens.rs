//! Token counters: the trait, two estimates without a vocabulary, and the exact counter for o200k. Also truncation of
//! texts to a number of tokens.

use std::borrow::Cow;

/// Counts the tokens of a text.
///
/// An implementation must be subadditive: `count(ab) <= count(a) + count(b)`. The library adds the counts of pieces,
/// and the sum must not be less than the count of the whole text. Pieces of contexts always end with a line end, so it
/// is sufficient if the condition holds after line ends.
///
/// ```
/// use std::sync::Arc;
/// use callstack_core::context::TokenCounter;
/// use callstack_core::{Stack, StackOptions};
///
/// /// Every byte is a token, as for models that read bytes.
/// struct Bytes;
///
/// impl TokenCounter for Bytes {
///     fn count(&self, text: &str) -> usize {
///         text.len()
///     }
/// }
///
/// let stack = Stack::with_options(StackOptions::default().counter(Arc::new(Bytes)));
/// # let _ = stack;
/// ```
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of a text, exact or estimated.
    fn count(&self, text: &str) -> usize;
}

/// The specification's estimate: one token for every four characters, rounded up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chars4;

impl TokenCounter for Chars4 {
    fn count(&self, text: &str) -> usize {
        text.chars().count().div_ceil(4)
    }
}

/// An estimate from character classes, without a vocabulary. It is close to o200k and seldom below it.
///
/// The text is split into runs of letters, digits, spaces and signs, as modern tokenizers do. Each run has the average
/// cost of runs of its kind and length. A word after a space or sign is probably a word of a language; one directly
/// after a digit or another word (`aGVsbG8`) is less likely to be in a vocabulary and costs more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Approx;

impl TokenCounter for Approx {
    fn count(&self, text: &str) -> usize {
        units(text).div_ceil(UNIT)
    }
}

/// The exact number of tokens in the o200k vocabulary. Requires the feature `tokenizer`. [`Approx`] is fitted to it.
#[cfg(feature = "tokenizer")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct O200k;

#[cfg(feature = "tokenizer")]
impl TokenCounter for O200k {
    fn count(&self, text: &str) -> usize {
        tiktoken::get_encoding("o200k_base").expect("the vocabulary is compiled in").count(text)
    }
}

/// Units per token. Costs of runs are in units; their sum is rounded up to tokens once, at the end.
const UNIT: usize = 100;

/// The text before a run, which influences the cost of the run.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing, a digit or another word. The run may continue it, and has the highest cost.
    Joined,
    /// Signs. Many vocabularies join a sign to the word after it.
    Sign,
    /// One space. It is joined to a word or sign after it, but not to a digit.
    Space,
    /// Several spaces, or a line end: a separate token.
    Gap,
    /// A letter of another alphabet.
    Letter,
    /// This symbol. Vocabularies contain runs of the same symbol.
    Symbol(char),
}

// The costs were fitted to o200k on English, code, XML, paths, Chinese, Japanese and base64. The constraint for
// subadditivity: a run costs no more than two parts of it, where nothing stands before the second part.

/// Cost of a word of 1 to 16 ASCII letters after a space, after a sign, and after anything else.
#[rustfmt::skip]
const WORD_UNITS: [[usize; 16]; 3] = [
    [105, 105, 105, 105, 105, 105, 105, 105, 112, 112, 112, 112, 165, 225, 225, 225],
    [ 50,  61,  61,  61,  61,  61,  73,  76,  78,  80,  80,  80, 126, 126, 175, 175],
    [109, 168, 168, 168, 168, 168, 168, 168, 168, 227, 227, 227, 227, 286, 286, 286],
];
/// Cost of each further letter.
const LONG_WORD_UNITS: usize = 17;
/// Additional cost of each capital letter after the first one of a word.
const CAPITAL_UNITS: usize = 48;
/// Cost of a run of 1 to 5 signs.
const SIGN_UNITS: [usize; 5] = [100, 135, 235, 265, 360];
/// Cost of each further sign.
const LONG_SIGN_UNITS: usize = 15;
/// Cost of a letter that is not ASCII, and the additional cost of the first one of a run.
const LETTER_UNITS: usize = 40;
const FIRST_LETTER_UNITS: usize = 90;
const HAN_UNITS: usize = 97;
const KANA_UNITS: usize = 80;
/// Cost of a symbol that repeats the one before it, as in lines drawn with `─`.
const REPEATED_SYMBOL_UNITS: usize = 20;
/// Cost of each byte of any other character, such as an emoji.
const BYTE_UNITS: usize = 75;

fn units(text: &str) -> usize {
    let bytes = text.as_bytes();
    let run = |start: usize, is: fn(&u8) -> bool| bytes[start..].iter().take_while(|byte| is(byte)).count();
    let mut total = 0;
    let mut before = Before::Joined;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'a'..=b'z' | b'A'..=b'Z' => {
                let capitals = run(at, u8::is_ascii_uppercase);
                let length = capitals + run(at + capitals, u8::is_ascii_lowercase);
                let kind = match before {
                    Before::Space | Before::Gap => 0,
                    Before::Sign => 1,
                    Before::Joined | Before::Letter | Before::Symbol(_) => 2,
                };
                total += WORD_UNITS[kind][length.min(16) - 1]
                    + length.saturating_sub(16) * LONG_WORD_UNITS
                    + capitals.saturating_sub(1) * CAPITAL_UNITS;
                at += length;
                before = Before::Joined;
            }
            b'0'..=b'9' => {
                // Up to three digits are one token. A single space before them is a separate token.
                let length = run(at, u8::is_ascii_digit);
                total += (length.div_ceil(3) + usize::from(before == Before::Space)) * UNIT;
                at += length;
                before = Before::Joined;
            }
            b' ' | b'\t' => {
                let length = run(at, |byte| matches!(byte, b' ' | b'\t'));
                at += length;
                before = if length > 1 { Before::Gap } else { Before::Space };
                if before == Before::Gap || at == bytes.len() {
                    total += UNIT;
                }
            }
            b'\n' | b'\r' => {
                // Line ends are joined to the signs before them.
                total += if before == Before::Sign { 0 } else { UNIT };
                at += run(at, |byte| matches!(byte, b'\n' | b'\r'));
                before = Before::Gap;
            }
            byte if byte.is_ascii_punctuation() => {
                let length = run(at, u8::is_ascii_punctuation);
                total += SIGN_UNITS[length.min(5) - 1] + length.saturating_sub(5) * LONG_SIGN_UNITS;
                at += length;
                before = Before::Sign;
            }
            byte if byte.is_ascii() => {
                total += UNIT;
                at += 1;
                before = Before::Joined;
            }
            _ => {
                let character = text[at..].chars().next().expect("at is a character boundary");
                let (cost, now) = other_units(character, before);
                total += cost;
                at += character.len_utf8();
                before = now;
            }
        }
    }
    total
}

fn other_units(character: char, before: Before) -> (usize, Before) {
    match character {
        _ if before == Before::Symbol(character) => (REPEATED_SYMBOL_UNITS, before),
        '\u{a0}'..='\u{bf}' | '\u{d7}' | '\u{f7}' | '\u{2000}'..='\u{27bf}' => (UNIT, Before::Symbol(character)),
        '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => (KANA_UNITS, Before::Joined),
        '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => {
            (HAN_UNITS, Before::Joined)
        }
        _ if character.is_alphabetic() => {
            let first = if before == Before::Letter { 0 } else { FIRST_LETTER_UNITS };
            (LETTER_UNITS + first, Before::Letter)
        }
        _ => (character.len_utf8() * BYTE_UNITS, Before::Joined),
    }
}

/// Returns the text if it fits into `limit` tokens, or else a beginning of it that fits together with `indicator`,
/// followed by `indicator`. Empty if `indicator` alone does not fit.
///
/// The beginning ends at the last whitespace in its second half, if there is any. A text that fits only without the
/// indicator may be cut too.
///
/// ```
/// use callstack_core::context::{Chars4, truncate};
/// assert_eq!(truncate("one two three four", 3, "…", &Chars4), "one two…");
/// assert_eq!(truncate("one two", 3, "…", &Chars4), "one two");
/// ```
pub fn truncate<'a>(text: &'a str, limit: usize, indicator: &str, counter: &dyn TokenCounter) -> Cow<'a, str> {
    truncate_by(text, limit, indicator, |part| counter.count(part))
}

/// As [`truncate`], with any subadditive cost function. Examines little more of the text than it returns.
pub(super) fn truncate_by<'a>(
    text: &'a str,
    limit: usize,
    indicator: &str,
    cost: impl Fn(&str) -> usize,
) -> Cow<'a, str> {
    let room = limit.saturating_sub(cost(indicator));
    let fits = |end: usize| cost(&text[..end]) <= room;
    // Double the step until the beginning does not fit, then search the end by bisection.
    let mut fitting = 0;
    let mut step = (limit * 4).max(16);
    let mut exceeding = loop {
        let end = floor(text, fitting + step);
        if end == text.len() && cost(text) <= limit {
            return Cow::Borrowed(text);
        }
        if end == text.len() || !fits(end) {
            break end;
        }
        (fitting, step) = (end, step * 2);
    };
    loop {
        let middle = floor(text, fitting + (exceeding - fitting) / 2);
        if middle <= fitting {
            break;
        }
        if fits(middle) { fitting = middle } else { exceeding = middle }
    }
    if cost(indicator) > limit {
        return Cow::Borrowed("");
    }
    let kept = &text[..fitting];
    // Go back to the last whitespace, but not by more than half of the text.
    let cut_word = !text[fitting..].starts_with(char::is_whitespace);
    let word_end = kept.rfind(char::is_whitespace).filter(|end| cut_word && *end >= fitting / 2);
    let kept = kept[..word_end.unwrap_or(fitting)].trim_end();
    Cow::Owned(format!("{kept}{indicator}"))
}

fn floor(text: &str, index: usize) -> usize {
    text.floor_char_boundary(index.min(text.len()))
}
