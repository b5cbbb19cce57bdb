//! Two real tokenizers, o200k and cl100k, and a search for texts that they cut into more tokens than a
//! counter says.

use std::sync::LazyLock;

use callstack_core::context::TokenCounter;

use crate::Random;

/// The number of tokens of a text in the vocabulary o200k.
pub fn o200k(text: &str) -> usize {
    tiktoken::get_encoding("o200k_base").expect("the vocabulary is compiled in").count(text)
}

/// The number of tokens of a text in the vocabulary cl100k.
pub fn cl100k(text: &str) -> usize {
    tiktoken::get_encoding("cl100k_base").expect("the vocabulary is compiled in").count(text)
}

/// All tokens of both vocabularies.
pub fn vocabularies() -> impl Iterator<Item = Vec<u8>> {
    ["o200k_base", "cl100k_base"].into_iter().flat_map(|name| {
        let encoding = tiktoken::get_encoding(name).expect("the vocabulary is compiled in");
        let count = encoding.vocab_size() - encoding.num_special_tokens();
        (0..count as u32).map(|token| encoding.decode(&[token]))
    })
}

/// The factor by which the tokens of any text may exceed the estimate, in o200k and in cl100k.
pub const EXCESS: f64 = 1.5;

/// The number of tokens of a text divided by the number that the counter says, in the vocabulary that cuts
/// the text into more tokens.
pub fn excess(counter: &dyn TokenCounter, text: &str) -> f64 {
    o200k(text).max(cl100k(text)) as f64 / counter.count(text).max(1) as f64
}

/// A word of the list of the estimate, with its flags.
pub type ListedWord = (String, u8);

/// The words of the list of the estimate. In the list, a digit stands for the letters that a word shares with
/// the word before it. The character after the word, from `0` on, stands for flags.
pub static WORDS: LazyLock<Vec<ListedWord>> = LazyLock::new(|| {
    let mut words: Vec<ListedWord> = Vec::new();
    let list = include_str!("../../src/context/approx/words.txt");
    let mut characters = list.chars().filter(|character| *character != '\n').peekable();
    while let Some(shared) = characters.next() {
        let shared = shared.to_digit(10).expect("an entry begins with a digit") as usize;
        let mut word = words.last().map_or(String::new(), |(word, _)| word[..shared].to_owned());
        let flags = characters.next().expect("a digit is before a character for flags") as u8 - b'0';
        word.extend(std::iter::from_fn(|| characters.next_if(char::is_ascii_alphabetic)));
        words.push((word, flags));
    }
    words
});

/// The sequences of signs of the estimate, and the sequences that come after a space.
pub static SEQUENCES: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
    let list = include_str!("../../src/context/approx/signs.txt");
    let (plain, spaced) = list.split_once("\n\n").expect("the list has two parts");
    [plain, spaced].map(|part| part.split_whitespace().map(|sequence| sequence.replace('¶', "\n")).collect())
});

/// The joints of the estimate: the bytes before and after each joint.
pub static JOINTS: LazyLock<Vec<[Vec<u8>; 2]>> = LazyLock::new(|| {
    let bytes = |digits: &str| -> Vec<u8> {
        (0..digits.len() / 2).map(|place| u8::from_str_radix(&digits[2 * place..][..2], 16).unwrap()).collect()
    };
    let joint = |joint: &str| joint.split(':').map(bytes).collect::<Vec<_>>().try_into().unwrap();
    include_str!("../../src/context/approx/joints.txt").split_whitespace().map(joint).collect()
});

/// The first and the last of each range of characters that are marks on the character before them, or vowels
/// of it.
const MARKS: [(u32, u32); 34] = [
    (0x300, 0x36f),
    (0x483, 0x489),
    (0x591, 0x5c7),
    (0x610, 0x61a),
    (0x64b, 0x670),
    (0x6d6, 0x6ed),
    (0x711, 0x74a),
    (0x7a6, 0x7b0),
    (0x816, 0x82d),
    (0x8d3, 0x903),
    (0x93a, 0x94f),
    (0x981, 0x983),
    (0x9bc, 0x9d7),
    (0xa3c, 0xa51),
    (0xabc, 0xacd),
    (0xb3c, 0xb57),
    (0xbbe, 0xbcd),
    (0xc3e, 0xc56),
    (0xcbc, 0xcd6),
    (0xd3b, 0xd57),
    (0xdca, 0xddf),
    (0xe31, 0xe4e),
    (0xeb1, 0xecd),
    (0xf18, 0xfbc),
    (0x102b, 0x103e),
    (0x135d, 0x135f),
    (0x17b4, 0x17d3),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x20f0),
    (0x3099, 0x309a),
    (0xfe00, 0xfe2f),
    (0x1f3fb, 0x1f3ff),
    (0xe0100, 0xe01ef),
];

/// Kinds of pieces that a search combines.
pub const ALPHABETS: usize = 15;

/// A random character with a code in this range.
fn between(random: &mut Random, first: u32, last: u32) -> char {
    loop {
        let code = first + random.below((last - first + 1) as usize) as u32;
        if let Some(character) = char::from_u32(code) {
            return character;
        }
    }
}

/// A random mark.
fn mark(random: &mut Random) -> char {
    let (first, last) = MARKS[random.below(MARKS.len())];
    between(random, first, last)
}

/// For each of the [`JOINTS`], all characters that fit before it, and all characters that fit after it.
pub static AT_JOINTS: LazyLock<Vec<[Vec<char>; 2]>> =
    LazyLock::new(|| JOINTS.iter().map(|[left, right]| [ending_with(left), beginning_with(right)]).collect());

/// All characters whose last bytes are these.
fn ending_with(bytes: &[u8]) -> Vec<char> {
    if let Ok(whole) = std::str::from_utf8(bytes) {
        return whole.chars().collect();
    }
    // Each byte that continues a character has six bits of its code.
    let low = bytes.iter().fold(0, |code, byte| code << 6 | u32::from(byte & 0x3f));
    let codes = (low..=u32::from(char::MAX)).step_by(1 << (6 * bytes.len()));
    let fits = |character: &char| character.encode_utf8(&mut [0; 4]).as_bytes().ends_with(bytes);
    codes.filter_map(char::from_u32).filter(fits).collect()
}

/// All characters whose first bytes are these.
fn beginning_with(bytes: &[u8]) -> Vec<char> {
    let missing = length(bytes[0]) - bytes.len();
    let with = |rest: u32| {
        let more = (0..missing).rev().map(|place| 0x80 | (rest >> (6 * place)) as u8 & 0x3f);
        let all: Vec<u8> = bytes.iter().copied().chain(more).collect();
        std::str::from_utf8(&all).ok()?.chars().next()
    };
    (0..1 << (6 * missing)).filter_map(with).collect()
}

/// Number of bytes of the character that begins with this byte.
pub fn length(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Two random characters between which a token can begin or end inside of one of them.
fn joined(random: &mut Random) -> String {
    let sides = &AT_JOINTS[random.below(AT_JOINTS.len())];
    sides.iter().map(|characters| characters[random.below(characters.len())]).collect()
}

/// A random piece of a text: a character of one of several kinds, a run of it, a word, or a mixture.
///
/// `alphabet` is below [`ALPHABETS`]. The last one combines all others.
pub fn piece(random: &mut Random, alphabet: usize) -> String {
    let of = |random: &mut Random, first: u32, last: u32| between(random, first, last).to_string();
    match alphabet {
        0 => of(random, 0x61, 0x7a),
        1 => of(random, 0x41, 0x5a),
        2 => of(random, 0x21, 0x2f),
        3 => [" ", " ", "\n", "\t", "\r\n", "\u{a0}", "\u{3000}", "\u{b}", "\0", "\u{7f}", "\u{85}"][random.below(11)]
            .into(),
        4 => of(random, 0x20, 0x7e),
        5 => of(random, 0x80, 0x7ff),
        6 => of(random, 0x800, 0x2fff),
        7 => of(random, 0x3000, 0xffff),
        8 => of(random, 0x10000, 0x1ffff),
        9 => {
            let (word, _) = &WORDS[random.below(WORDS.len())];
            match random.below(6) {
                0 | 1 => word[..1].to_uppercase() + &word[1..],
                2 => word.to_uppercase(),
                _ => word.clone(),
            }
        }
        10 => {
            let other = random.below(8);
            piece(random, other).repeat(1 + random.below(20))
        }
        11 => {
            let sequences = &SEQUENCES[random.below(2)];
            sequences[random.below(sequences.len())].clone()
        }
        12 => {
            let base = if random.once_in(2) { of(random, 0x80, 0xffff) } else { of(random, 0x20, 0x7e) };
            format!("{base}{}", mark(random))
        }
        13 => joined(random),
        _ => {
            let other = random.below(ALPHABETS - 1);
            piece(random, other)
        }
    }
}

/// Kinds of texts that people and programs write often.
pub const EVERYDAY: usize = 9;

/// A random line of an everyday kind, which is below [`EVERYDAY`].
pub fn everyday(random: &mut Random, kind: usize) -> String {
    const VERBS: [&str; 8] = ["reads", "writes", "checks", "finds", "needs", "makes", "shows", "keeps"];
    const NOUNS: [&str; 12] =
        ["parser", "option", "file", "user", "test", "value", "list", "server", "error", "name", "page", "report"];
    const DETERMINERS: [&str; 6] = ["the", "every", "one", "each", "this", "another"];
    let some = |random: &mut Random, make: &dyn Fn(&mut Random) -> String, between: &str| {
        let count = 3 + random.below(20);
        (0..count).map(|_| make(random)).collect::<Vec<_>>().join(between)
    };
    match kind {
        0 => some(random, &|random| between(random, 0x61, 0x7a).to_string(), " "),
        1 => some(random, &|random| between(random, 0x41, 0x5a).to_string(), " "),
        2 => {
            let limit = *random.pick(&[&10, &100, &1_000, &100_000]);
            some(random, &|random| random.below(limit).to_string(), ", ")
        }
        3 => {
            let bytes = |random: &mut Random| (0..8).map(|_| format!("{:02x} ", random.below(256))).collect::<String>();
            format!("{:08x}  {} {}", random.below(1 << 20) * 16, bytes(random), bytes(random))
        }
        4 => {
            let noun = |random: &mut Random| format!("{} {}", random.pick(&DETERMINERS), random.pick(&NOUNS));
            let sentence = format!("{} {} {}", noun(random), random.pick(&VERBS), noun(random));
            format!("{}{} of {}.", sentence[..1].to_uppercase(), &sentence[1..], noun(random))
        }
        5 => {
            let [month, day, hour] = [12, 28, 24].map(|limit| random.below(limit));
            let [minute, second, thousandth] = [60, 60, 1000].map(|limit| random.below(limit));
            format!("2026-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{thousandth:03}Z", month + 1, day + 1)
        }
        6 => {
            some(random, &|random| random.below(256).to_string(), ".").split('.').take(4).collect::<Vec<_>>().join(".")
        }
        7 => {
            let amount = format!("{}.{:02}", random.below(10_000), random.below(100));
            format!(
                "{},{},{amount},{}",
                random.below(100_000),
                random.pick(&NOUNS),
                random.pick(&["true", "false", ""])
            )
        }
        _ => some(random, &|random| format!("0x{:02X}", random.below(256)), ", "),
    }
}

/// Searches for a text with the largest excess. Changes a random text in `steps` steps, and keeps
/// each change that does not lower the excess. The pieces are of this alphabet, and some pieces are
/// spaces. Returns the text.
pub fn worst(random: &mut Random, counter: &dyn TokenCounter, alphabet: usize, steps: usize) -> String {
    let new = |random: &mut Random| if random.once_in(5) { " ".to_owned() } else { piece(random, alphabet) };
    // Repeated, so that the end of the text and the rounding of the count do not matter.
    let judge = |pieces: &[String]| excess(counter, &pieces.concat().repeat(8));
    let mut pieces: Vec<String> = (0..1 + random.below(8)).map(|_| new(random)).collect();
    let mut best = judge(&pieces);
    for _ in 0..steps {
        let mut changed = pieces.clone();
        let place = random.below(changed.len());
        match random.below(4) {
            0 | 1 => changed[place] = new(random),
            2 if changed.len() > 1 => drop(changed.remove(place)),
            _ if changed.len() < 24 => changed.insert(place, new(random)),
            _ => continue,
        }
        let excess = judge(&changed);
        if excess >= best {
            (pieces, best) = (changed, excess);
        }
    }
    pieces.concat().repeat(8)
}

/// Searches for the text with the largest excess, with about this number of evaluations: a third for
/// characters with marks, a third for repeated short patterns, and a third for changes that [`worst`] tries.
/// Returns each kind with its worst text.
pub fn search(random: &mut Random, counter: &dyn TokenCounter, evaluations: usize) -> [(&'static str, String); 3] {
    const STEPS: usize = 200;
    let third = evaluations / 3;
    let mark = |random: &mut Random, _| {
        let base =
            if random.once_in(8) { 0x7f } else { *random.pick(&[&0x7ff, &0xffff, &0xffff, &0x1ffff, &0x10ffff]) };
        let (base, mark) = (between(random, 0x20, base), mark(random));
        let pattern =
            if random.once_in(4) { format!("{base}{mark}{}", self::mark(random)) } else { format!("{base}{mark}") };
        pattern.repeat(12)
    };
    let pattern = |random: &mut Random, round: usize| {
        let pieces: String = (0..1 + random.below(4)).map(|_| piece(random, round % ALPHABETS)).collect();
        pieces.repeat(16)
    };
    let climb = |random: &mut Random, round: usize| worst(random, counter, round % ALPHABETS, STEPS);
    let mut most = |rounds: usize, text: &dyn Fn(&mut Random, usize) -> String| {
        let texts = (0..rounds).map(|round| {
            let text = text(random, round);
            (excess(counter, &text), text)
        });
        { texts }.max_by(|one, other| one.0.total_cmp(&other.0)).map_or(String::new(), |(_, text)| text)
    };
    [
        ("characters with marks", most(third, &mark)),
        ("repeated patterns", most(third, &pattern)),
        ("changed step by step", most(third.div_ceil(STEPS), &climb)),
    ]
}
