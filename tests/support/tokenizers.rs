//! Two real tokenizers, o200k and cl100k, and a search for texts that they cut into more tokens than a counter says.

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

/// How many times as many tokens as the counter says the text has, in the vocabulary that cuts it into more.
pub fn excess(counter: &dyn TokenCounter, text: &str) -> f64 {
    o200k(text).max(cl100k(text)) as f64 / counter.count(text).max(1) as f64
}

/// Kinds of pieces that a search combines.
pub const ALPHABETS: usize = 12;

/// A random piece of a text: a character of one of several kinds, a run of it, a word, or a mixture.
///
/// `alphabet` is below [`ALPHABETS`]. The last one combines all others.
pub fn piece(random: &mut Random, alphabet: usize) -> String {
    const WORDS: &str = include_str!("../data/texts/words.txt");
    let of = |random: &mut Random, first: u32, last: u32| loop {
        let code = first + random.below((last - first + 1) as usize) as u32;
        if let Some(character) = char::from_u32(code) {
            return character.to_string();
        }
    };
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
            let words: Vec<&str> = WORDS.split_whitespace().collect();
            let word = random.pick(&words);
            if random.once_in(3) { word[..1].to_uppercase() + &word[1..] } else { word.to_owned() }
        }
        10 => {
            let other = random.below(8);
            piece(random, other).repeat(1 + random.below(20))
        }
        _ => {
            let other = random.below(ALPHABETS - 1);
            piece(random, other)
        }
    }
}

/// Searches a text with the most excess: changes a random text in `steps` steps, and keeps each change that does not
/// lower the excess. Pieces are of this alphabet, and some are spaces. Returns the text.
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
