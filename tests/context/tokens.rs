//! Tests of the token estimate against real tokenizers. The estimate is within the documented bounds for
//! every kind of text, and its lists contain what their descriptions say. Prints a table.

use std::collections::BTreeSet;

use callstack_core::context::{Approx, Chars4, TokenCounter};
use callstack_core::text::floor_char_boundary;
use callstack_core::{Settings, Stack, StackOptions, import};
use support::setting;
use support::tokenizers::{
    AT_JOINTS, EVERYDAY, EXCESS, SEQUENCES, WORDS, cl100k, everyday, excess, length, o200k, vocabularies,
};

/// Length of a sample, in bytes.
const SAMPLE: usize = 4096;

/// A kind of text, its samples, and two bounds: for the estimate divided by the exact count, and for the
/// exact count divided by the estimate.
struct Kind {
    name: String,
    samples: Vec<String>,
    /// Maximum of exact count / estimate.
    below: f64,
    /// Maximum of estimate / exact count.
    above: f64,
}

impl Kind {
    /// A kind of text that people and programs write.
    fn natural(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), samples: samples(text), below: 1.1, above: f64::INFINITY }
    }

    /// English prose and frames. The estimate is made for these texts.
    fn usual(name: &str, text: &str) -> Self {
        Self { above: 1.2, ..Self::natural(name, text) }
    }

    /// Characters in an order in which no person writes them.
    fn random(name: &str, character: impl FnMut(&mut support::Random) -> char) -> Self {
        let mut random = support::Random::new(7);
        let mut character = character;
        let text: String = (0..3 * SAMPLE).map(|_| character(&mut random)).collect();
        Self { below: 1.3, ..Self::natural(name, &text) }
    }
}

fn samples(text: &str) -> Vec<String> {
    let mut samples = Vec::new();
    let mut rest = text;
    while rest.len() >= SAMPLE {
        let (sample, more) = rest.split_at(floor_char_boundary(rest, SAMPLE));
        samples.push(sample.to_owned());
        rest = more;
    }
    assert!(!samples.is_empty(), "a text is shorter than a sample");
    samples
}

fn repository(path: &str) -> String {
    std::fs::read_to_string(support::root().join(path)).unwrap()
}

/// The text of all files with this extension below a folder of the repository.
fn all_of(folder: &str, extension: &str, text: &mut String) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            all_of(path.to_str().unwrap(), extension, text);
        } else if path.extension().is_some_and(|found| found == extension) {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The prose of a plan, task by task.
fn plan(name: &str) -> String {
    let (tree, _) = import::read(&support::read_data(name)).unwrap();
    let texts = tree.handles().map(|handle| {
        let frame = tree.frame(handle);
        format!("{}. {} {}", frame.title, frame.success_criteria, frame.results.unwrap_or_default())
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The contexts of every tenth frame of a plan, with default settings.
fn contexts(name: &str) -> String {
    let (tree, _) = import::read(&support::read_data(name)).unwrap();
    let (stack, _) = Stack::from_state(tree.state(), StackOptions::default());
    let every_tenth = tree.handles().step_by(10);
    every_tenth.map(|handle| stack.context(handle, &Settings::default()).unwrap().xml.clone()).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextets = bytes.chunks(3).flat_map(|chunk| {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        (0..4).rev().map(move |place| DIGITS[(bits >> (place * 6) & 63) as usize] as char)
    });
    sextets.collect()
}

/// Paths made of typical words.
fn paths() -> String {
    const PARTS: &[&str] = &[
        "usr",
        "lib",
        "python3.11",
        "site-packages",
        "src",
        "components",
        "node_modules",
        "@types",
        "home",
        "projects",
        "target",
        "debug",
        "build",
        "include",
        "linux",
        "x86_64-linux-gnu",
        "share",
        "doc",
        "config",
        "test_utils",
    ];
    const FILES: &[&str] = &[
        "main.rs",
        "index.js",
        "__init__.py",
        "README.md",
        "package.json",
        "libssl.so.3",
        "UserProfile.tsx",
        "test_parser.py",
        "auth_middleware.go",
        "tokenizer.cpp",
        "docker-compose.yml",
        "data_2024-01-15.csv",
    ];
    let mut random = support::Random::new(3);
    (0..600)
        .map(|_| {
            let folders: Vec<&str> = (0..2 + random.below(4)).map(|_| random.pick(PARTS)).collect();
            format!("/{}/{}\n", folders.join("/"), random.pick(FILES))
        })
        .collect()
}

/// Lines of a log, with times, levels, addresses and identifiers.
fn log() -> String {
    let mut random = support::Random::new(4);
    let line = |number: usize| {
        let level = random.pick(&["INFO ", "WARN ", "DEBUG", "ERROR"]).to_owned();
        let event = random.pick(&["request finished", "connection closed", "cache miss", "retrying", "frame popped"]);
        format!(
            "2026-03-{:02}T{:02}:{:02}:{:02}.{:03}Z {level} [worker-{}] {event} path=/api/v1/items/{} status={} bytes={} \
             trace={:016x}\n",
            1 + number % 28,
            random.below(24),
            random.below(60),
            random.below(60),
            random.below(1000),
            random.below(8),
            random.below(90_000),
            random.pick(&["200", "404", "500"]),
            random.below(1_000_000),
            random.next(),
        )
    };
    (0..150).map(line).collect()
}

/// Tables in Markdown, aligned with spaces, and as comma-separated values.
fn tables() -> String {
    let mut random = support::Random::new(5);
    let mut text = String::from("| operation | time (ms) | size |\n|-----------|----------:|-----:|\n");
    for number in 0..120 {
        let name = random.pick(&["push", "pop", "plan", "open", "context", "invalidate"]);
        let (time, size) = (random.below(100_000), random.below(4_000));
        text += &match number / 40 {
            0 => format!("| {name:<9} | {:>9.2} | {size:>4} |\n", time as f64 / 100.0),
            1 => format!("{name:<16}{time:>12}{size:>10}\n"),
            _ => format!("{number},{name},{time},\"{size} kB\",,true\n"),
        };
    }
    text.repeat(2)
}

/// A script without blanks and with short names, as bundlers write it.
fn minified() -> String {
    let mut code = String::new();
    all_of(&support::root().join("bindings/node/src").display().to_string(), "ts", &mut code);
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.starts_with('*'));
    let mut text = lines.filter(|line| !line.starts_with("/*")).collect::<String>();
    for sign in ["{", "}", "(", ")", ",", ";", ":", "=", "=>", "&&", "||", "?"] {
        text = text.replace(&format!(" {sign}"), sign).replace(&format!("{sign} "), sign);
    }
    text
}

fn pick(characters: &'static str) -> impl FnMut(&mut support::Random) -> char {
    let characters: Vec<char> = characters.chars().collect();
    move |random| characters[random.below(characters.len())]
}

fn between(first: char, last: char) -> impl FnMut(&mut support::Random) -> char {
    move |random| loop {
        let code = u32::from(first) + random.below((u32::from(last) - u32::from(first) + 1) as usize) as u32;
        if let Some(character) = char::from_u32(code) {
            return character;
        }
    }
}

const LANGUAGES: [&str; 26] = [
    "arabic",
    "bengali",
    "chinese",
    "czech",
    "dutch",
    "finnish",
    "french",
    "german",
    "greek",
    "hebrew",
    "hindi",
    "hungarian",
    "indonesian",
    "italian",
    "japanese",
    "korean",
    "polish",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "tamil",
    "thai",
    "turkish",
    "ukrainian",
    "vietnamese",
];

fn kinds() -> Vec<Kind> {
    let root = support::root().display().to_string();
    let mut code = String::new();
    all_of(&format!("{root}/src"), "rs", &mut code);
    let mut random = support::Random::new(9);
    let bytes: Vec<u8> = (0..24_000).map(|_| random.next() as u8).collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let digits: String = bytes.iter().map(|byte| char::from(b'0' + byte % 10)).collect();
    let blanks = |random: &mut support::Random| random.pick(&[" ", "\t", "\n", "\r\n"]).repeat(1 + random.below(90));
    let gaps: String = (0..900).map(|_| blanks(&mut random)).collect();
    let usual = [
        ("English: plan of testcraft", plan("plans/testcraft.tasks.json")),
        ("English: plan of ast-mcp", plan("plans/ast-mcp.tasks.json")),
        ("English: plan of prophy", plan("plans/prophy-api-client.tasks.json")),
        ("English: plan of rivet", plan("plans/rivet.issues.jsonl")),
        ("English: our documents", repository("README.md") + &repository("ARCHITECTURE.md")),
        ("frame XML: testcraft", contexts("plans/testcraft.tasks.json")),
        ("frame XML: beads_rust", contexts("plans/beads_rust.issues.jsonl")),
    ];
    let natural = [
        ("mixed: plan of beads_rust", plan("plans/beads_rust.issues.jsonl")),
        ("code: Rust of this crate", code),
        ("code: minified TypeScript", minified()),
        ("JSON: plan of ast-mcp", support::read_data("plans/ast-mcp.tasks.json")),
        ("paths", paths()),
        ("log", log()),
        ("tables", tables()),
        ("base64 of noise", base64(&bytes)),
        ("base64 of text", base64(plan("plans/ast-mcp.tasks.json").as_bytes())),
        ("hexadecimal digits", hex),
        ("decimal digits", digits),
        ("blanks: spaces", " ".repeat(100_000)),
        ("blanks: runs of all kinds", gaps),
    ];
    let everyday = (0..EVERYDAY).map(|kind| {
        let mut random = support::Random::new(6);
        let lines: String = (0..2 * SAMPLE).map(|_| everyday(&mut random, kind) + "\n").collect();
        Kind::natural(&format!("everyday: {}", everyday(&mut random, kind)), &lines[..4 * SAMPLE])
    });
    let mut kinds: Vec<Kind> = usual.iter().map(|(name, text)| Kind::usual(name, text)).collect();
    kinds.extend(everyday);
    kinds.extend(natural.iter().map(|(name, text)| Kind::natural(name, text)));
    kinds.extend(LANGUAGES.map(|name| {
        let text = support::read_data(&format!("texts/{name}.txt"));
        Kind::natural(&format!("language: {name}"), &text.repeat(SAMPLE / text.len() + 1))
    }));
    kinds.extend([
        Kind::random("random: small letters", between('a', 'z')),
        Kind::random("random: capitals", between('A', 'Z')),
        Kind::random(
            "random: letters and spaces",
            pick("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ          "),
        ),
        Kind::random("random: signs", pick("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")),
        Kind::random("random: ASCII", between(' ', '~')),
        Kind::random("random: blanks", pick(" \t\n\r")),
        Kind::random("random: control characters", between('\0', '\u{1f}')),
        Kind::random("random: Latin with marks", between('\u{c0}', '\u{24f}')),
        Kind::random("random: Cyrillic", between('\u{400}', '\u{4ff}')),
        Kind::random("random: symbols", between('\u{2190}', '\u{2bff}')),
        Kind::random("random: Han", between('\u{4e00}', '\u{9fff}')),
        Kind::random("random: Hangul", between('\u{ac00}', '\u{d7a3}')),
        Kind::random("random: cuneiform", between('\u{12000}', '\u{12399}')),
        Kind::random("random: emoji", between('\u{1f300}', '\u{1faff}')),
        Kind::random("random: all characters", between('\0', '\u{10ffff}')),
    ]);
    kinds
}

#[test]
fn the_estimate_is_near_the_truth_and_seldom_below() {
    let mut failures = Vec::new();
    println!("{:<30} {:>7} {:>7} {:>7} {:>7} {:>8}", "estimate / o200k", "samples", "least", "mean", "most", "chars/4");
    for Kind { name, samples, below, above } in kinds() {
        let of_all = |counter: &dyn TokenCounter| -> Vec<f64> {
            samples.iter().map(|text| counter.count(text) as f64 / o200k(text) as f64).collect()
        };
        let ratios = of_all(&Approx);
        let mean = |ratios: &[f64]| ratios.iter().sum::<f64>() / ratios.len() as f64;
        let least = ratios.iter().copied().fold(f64::MAX, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let chars4 = mean(&of_all(&Chars4));
        println!("{name:<30} {:>7} {least:>7.3} {:>7.3} {most:>7.3} {chars4:>8.3}", ratios.len(), mean(&ratios));
        if least * below < 1.0 || most > above {
            failures.push(format!("{name}: from {least:.3} to {most:.3} of the truth"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn the_estimate_is_a_little_high_on_average() {
    let mut text = String::new();
    for (folder, extension) in
        [("tests/data/plans", "json"), ("tests/data/plans", "jsonl"), ("src", "rs"), ("docs", "md")]
    {
        all_of(support::root().join(folder).to_str().unwrap(), extension, &mut text);
    }
    let ratios: Vec<f64> = samples(&text).iter().map(|text| o200k(text) as f64 / Approx.count(text) as f64).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("o200k / estimate: {mean:.3} on average of {} samples", ratios.len());
    assert!((0.92..0.98).contains(&mean), "{mean:.3}");
}

/// One of the lists of the estimate.
fn list(name: &str) -> String {
    repository(&format!("src/context/approx/{name}.txt"))
}

/// The number of tokens in the vocabulary that cuts the text into more tokens.
fn tokens(text: &str) -> usize {
    o200k(text).max(cl100k(text))
}

#[test]
fn the_listed_words_and_signs_are_one_token() {
    assert!(WORDS.is_sorted(), "the words are looked up by bisection");
    assert!(WORDS.len() > 9_000);
    for (word, flags) in WORDS.iter() {
        let capitalized = word[..1].to_uppercase() + &word[1..];
        let spaced = |word: &str| format!(" {word}");
        assert_eq!(tokens(&spaced(word)), 1, "{word}");
        let has = |flag: u8| flags & flag != 0;
        let mut forms = vec![(has(1), word.clone())];
        if capitalized != *word {
            forms.extend([(has(2), capitalized.clone()), (has(2), spaced(&capitalized))]);
        }
        for (is_one, form) in forms {
            assert!(tokens(&form) <= if is_one { 1 } else { 3 }, "{form:?}");
            let signs = ('!'..='~').filter(|sign| is_one && sign.is_ascii_punctuation() && *sign != '\'');
            signs.for_each(|sign| assert!(tokens(&format!("{sign}{form}")) <= 2, "{sign}{form}"));
        }
        for (flag, sign) in [(4, '_'), (8, '.'), (16, '('), (32, '-')] {
            assert!(!has(flag) || tokens(&format!("{sign}{word}")) == 1, "{sign}{word}");
        }
    }
    for (space, sequences) in ["", " "].into_iter().zip(SEQUENCES.iter()) {
        assert!(sequences.len() > 200);
        for sequence in sequences {
            assert_eq!(tokens(&format!("{space}{sequence}")), 1, "{space:?} and {sequence:?}");
        }
    }
}

#[test]
fn the_listed_pairs_are_one_token_and_characters_at_most_as_many_as_listed() {
    let pairs = list("pairs");
    let (plain, spaced) = pairs.split_once("\n\n").unwrap();
    for (space, lines) in [("", plain), (" ", spaced)] {
        for line in lines.lines() {
            let (first, seconds) = line.split_at(1);
            for second in seconds[1..].chars() {
                let text = format!("{space}{first}{second}");
                assert_eq!(tokens(&text), 1, "{text:?}");
            }
        }
    }

    let characters = list("characters");
    let (ranges, single) = characters.split_once("\n\n").unwrap();
    let ranges = ranges.split_whitespace().map(|range| {
        let (first, tokens) = range.split_once(':').unwrap();
        (u32::from_str_radix(first, 16).unwrap(), tokens.parse::<usize>().unwrap())
    });
    let mut ranges: Vec<(u32, usize)> = ranges.collect();
    ranges.push((0x11_0000, 0));
    for range in ranges.windows(2) {
        // The planes above the second plane have few characters, and all of these have the maximum number of
        // tokens. A sample is enough.
        let step = if range[0].0 >= 0x2_0000 { 61 } else { 1 };
        for character in (range[0].0..range[1].0).step_by(step).filter_map(char::from_u32) {
            assert!(tokens(&character.to_string()) <= range[0].1, "{character:?}");
        }
    }
    for character in single.chars().filter(|character| *character != '\n') {
        assert_eq!(tokens(&character.to_string()), 1, "{character:?}");
    }
}

/// Number of bytes from the beginning of the last character to the end of the token, if these bytes are not
/// the whole character. Otherwise 0.
fn unfinished(token: &[u8]) -> usize {
    let first = token.iter().rposition(|byte| !(0x80..0xc0).contains(byte)).unwrap_or(0);
    let rest = token.len() - first;
    if rest < length(token[first]) { rest } else { 0 }
}

/// The joints of both vocabularies. They come from each token that begins or ends inside of a character and
/// also has bytes on the other side of the boundary between this character and its neighbour. The token's
/// bytes on both sides of this boundary are a joint. The bytes of the neighbour belong to the joint at most
/// up to the end of the neighbour. Joints whose divided character has only one byte left are left out: a byte
/// is at most one token, and no character costs less than one token.
///
/// A text of several characters has at most as many tokens as the sum of the prices of `approx` for these
/// characters. Every token begins in one of the characters. If no token divides a character, its bytes are
/// tokens of their own, as many as the character takes alone, or they are a part of a larger token. If a
/// token begins in the character and ends after it, at most one token begins in each byte of the character up
/// to the beginning of that token. If a token ends in the character, at most one token begins in each byte
/// after its end.
fn joints() -> String {
    let mut joints = BTreeSet::new();
    for token in vocabularies().filter(|token| std::str::from_utf8(token).is_err()) {
        let inner = token.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
        if (1..token.len()).contains(&inner) {
            let behind = (inner + length(token[inner])).min(token.len());
            joints.insert((token[..inner].to_vec(), token[inner..behind].to_vec()));
        }
        let place = token.len() - unfinished(&token);
        if (1..token.len()).contains(&place) && length(token[place]) - unfinished(&token) > 1 {
            let before = token[..place].iter().rposition(|byte| !(0x80..0xc0).contains(byte)).unwrap_or(0);
            joints.insert((token[before..place].to_vec(), token[place..].to_vec()));
        }
    }
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut lines = vec![String::new()];
    for (left, right) in joints {
        let joint = format!("{}:{}", digits(&left), digits(&right));
        let line = lines.last_mut().unwrap();
        match line.len() {
            0 => *line = joint,
            1..100 => *line += &format!(" {joint}"),
            _ => lines.push(joint),
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_listed_joints_are_all_of_the_vocabularies() {
    support::assert_golden("../../src/context/approx/joints.txt", &joints());
}

/// Checks with real tokens what `joints` proves about the prices. Each character at a joint is tested beside
/// a random character that fits on the other side, alone, after a letter, and repeated. `STACK_TEST_SEARCH`
/// sets the number of characters; `make soak` tests all.
#[test]
fn the_characters_at_all_joints_cost_what_they_can_be_divided_into() {
    let mut random = support::Random::new(setting("STACK_TEST_SEED", 1) as u64);
    let all: usize = AT_JOINTS.iter().flatten().map(Vec::len).sum();
    let step = (all / setting("STACK_TEST_SEARCH", 3_000)).max(1);
    let mut most = (0.0, String::new());
    for [left, right] in AT_JOINTS.iter() {
        let mut one = |characters: &[char]| characters[random.below(characters.len())];
        let lefts: Vec<[char; 2]> = left.iter().step_by(step).map(|left| [*left, one(right)]).collect();
        let rights = right.iter().step_by(step).map(|right| [one(left), *right]);
        for pair in lefts.into_iter().chain(rights) {
            let pair = String::from_iter(pair);
            for text in [pair.clone(), format!("a{pair}a"), pair.repeat(8)] {
                let excess = excess(&Approx, &text);
                assert!(excess <= EXCESS, "{excess:.3} times: {text:?}");
                if excess > most.0 {
                    most = (excess, text);
                }
            }
        }
    }
    println!("the worst characters at a joint: {:.3} times: {:?}", most.0, most.1);
}
