//! A long text in few words: the sentences that say most, in their order. Sentences that name files,
//! identifiers and numbers come before the others, and so do sentences that tell of decisions, failures and
//! what is left. Their place in the text does not matter: reports usually have such sentences at their end.
//!
//! No sentence is reworded, and the same text gives the same sentences.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::text::{beginning, ending, floor_char_boundary};

/// Of a longer text, only the beginning and the end are read, each of this length in characters.
const LOOKED_AT: usize = 8_000;
/// The marks for sentences that are left out: between other sentences, and behind the last one.
const GAP: &str = " … ";
const END: &str = " …";

/// Beginnings of words that tell of a decision, of a failure, and of work that is left to do or waits for
/// another actor.
const DECIDED: &[&str] =
    &["decid", "decision", "because", "instead", "must", "never", "always", "chose", "chosen", "agreed"];
const FAILED: &[&str] =
    &["fail", "error", "broke", "cannot", "bug", "wrong", "missing", "crash", "reject", "revert", "timeout", "panic"];
const LEFT: &[&str] = &[
    "block",
    "wait",
    "todo",
    "left",
    "next",
    "remain",
    "open",
    "unfinished",
    "unclear",
    "ask",
    "need",
    "until",
    "pending",
];

/// How much a kind of word adds to the weight of a sentence, and how many such words count at most.
const NAME: (usize, usize) = (3, 4);
const NUMBER: (usize, usize) = (1, 3);
const TOLD: usize = 5;
const FIRST: usize = 4;
const LAST: usize = 3;

/// A text, or those of its sentences that say most: as many as cost at most `limit` together. The second
/// value is true if that is the whole text. A sentence that alone costs more is cut at a word. `cost` must
/// not be less for more text.
pub(crate) fn dense<'a>(text: &'a str, limit: usize, cost: &dyn Fn(&str) -> usize) -> (Cow<'a, str>, bool) {
    let text = text.trim();
    if cost(text) <= limit {
        return (Cow::Borrowed(text), true);
    }
    let mut sentences = sentences(text);
    let mut ranked: Vec<usize> = (0..sentences.len()).collect();
    let weights: Vec<f64> = sentences.iter().map(|sentence| sentence.worth(text)).collect();
    ranked.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
    let mut kept: Vec<usize> = Vec::new();
    let mut shown = String::new();
    let mut said: HashSet<&str> = HashSet::new();
    for place in ranked {
        if !said.insert(&text[sentences[place].range.clone()]) {
            continue;
        }
        let at = kept.partition_point(|other| *other < place);
        kept.insert(at, place);
        let more = joined(text, &sentences, &kept);
        // The sentences are a prefix of one ranking: with more room, all of them stay.
        if cost(&more) > limit {
            let is_worth_it = kept.len() == 1 || cost(&shown) < limit - limit / 4;
            let cut = is_worth_it.then(|| cut(text, &mut sentences, &kept, place, limit, cost)).flatten();
            return (Cow::Owned(cut.unwrap_or(shown)), false);
        }
        shown = more;
    }
    (Cow::Owned(shown), false)
}

/// As [`dense`], with a limit in characters.
pub(crate) fn dense_characters(text: &str, limit: usize) -> String {
    dense(text, limit, &|part| part.chars().count()).0.into_owned()
}

struct Sentence {
    range: Range<usize>,
    is_first: bool,
    is_last: bool,
}

impl Sentence {
    /// How much the sentence says for its length.
    fn worth(&self, text: &str) -> f64 {
        let said = &text[self.range.clone()];
        let (mut names, mut numbers) = (0, 0);
        let mut told = [false; 3];
        for word in said.split_whitespace() {
            let bare = word.trim_matches(|character: char| !character.is_alphanumeric());
            names += usize::from(is_name(word, bare));
            numbers += usize::from(bare.chars().any(|character| character.is_ascii_digit()));
            let lower = bare.to_lowercase();
            for (kind, told) in [DECIDED, FAILED, LEFT].into_iter().zip(&mut told) {
                *told |= kind.iter().any(|begin| lower.starts_with(begin));
            }
        }
        let told = told.into_iter().filter(|told| *told).count();
        let weight = 1
            + NAME.0 * names.min(NAME.1)
            + NUMBER.0 * numbers.min(NUMBER.1)
            + TOLD * told
            + FIRST * usize::from(self.is_first)
            + LAST * usize::from(self.is_last);
        weight as f64 / (said.chars().count() as f64 + 60.0).sqrt()
    }
}

/// True for a word that names a thing: a path, an identifier, code, an issue.
fn is_name(word: &str, bare: &str) -> bool {
    let inner = |mark: &str| bare.contains(mark);
    let is_mixed = bare.chars().skip(1).any(char::is_uppercase) && bare.chars().any(char::is_lowercase);
    word.starts_with('`')
        || word.starts_with('#')
        || ["/", "_", "::", "()"].iter().any(|mark| inner(mark))
        || is_mixed
        || is_file(bare)
}

/// True for a word with an ending, such as `main.rs`.
fn is_file(bare: &str) -> bool {
    bare.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|character| character.is_ascii_alphanumeric())
    })
}

/// The sentences of a text. A line of a list and a block of code are one sentence each.
fn sentences(text: &str) -> Vec<Sentence> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let (head, tail) = (beginning(text, LOOKED_AT).len(), text.len() - ending(text, LOOKED_AT).len());
    if head < tail {
        pieces(text, 0..head, &mut ranges);
        // The end begins with a whole word.
        let skipped = text[tail..].find(char::is_whitespace).unwrap_or_default();
        pieces(text, tail + skipped..text.len(), &mut ranges);
    } else {
        pieces(text, 0..text.len(), &mut ranges);
    }
    let trimmed = |range: Range<usize>| {
        let said = &text[range.clone()];
        let start = range.start + (said.len() - said.trim_start().len());
        start..start + said.trim().len()
    };
    let ranges: Vec<Range<usize>> = ranges.into_iter().map(trimmed).filter(|range| !range.is_empty()).collect();
    let last = text.trim_end().rfind("\n\n").unwrap_or_default();
    let sentence = |(number, range): (usize, Range<usize>)| Sentence {
        is_first: number == 0,
        is_last: last > 0 && range.start > last,
        range,
    };
    ranges.into_iter().enumerate().map(sentence).collect()
}

/// The sentences, lines and blocks of a part of a text.
fn pieces(text: &str, part: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let (mut start, mut fence): (usize, Option<usize>) = (part.start, None);
    for line in text[part.clone()].split_inclusive('\n') {
        let end = start + line.len();
        let is_fence = line.trim_start().starts_with("```");
        match (fence, is_fence) {
            (None, true) => fence = Some(start),
            (Some(begin), true) => {
                ranges.push(begin..end);
                fence = None;
            }
            (Some(_), false) => {}
            (None, false) => split(text, start..end, ranges),
        }
        start = end;
    }
    ranges.extend(fence.map(|begin| begin..part.end));
}

/// The sentences of a line.
fn split(text: &str, line: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    let said = &text[line.clone()];
    for (at, mark) in said.char_indices().filter(|(_, mark)| matches!(mark, '.' | '!' | '?' | '。' | ';')) {
        let end = line.start + at + mark.len_utf8();
        let is_end = text[end..line.end].starts_with(char::is_whitespace) || mark == '。';
        // The number of an entry of a list does not end a sentence.
        let is_number = text[start..end].trim_start().len() <= 3;
        if is_end && !is_number {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges.push(start..line.end);
}

/// Sentences in their order, with marks where other sentences were.
fn joined(text: &str, sentences: &[Sentence], kept: &[usize]) -> String {
    let mut joined = String::new();
    let mut before: Option<usize> = None;
    for place in kept {
        let range = &sentences[*place].range;
        match before {
            Some(last) if last + 1 == *place => joined.push_str(between(text, &sentences[last].range, range)),
            Some(_) => joined.push_str(GAP),
            None if *place > 0 => joined.push_str("… "),
            None => {}
        }
        joined.push_str(&text[range.clone()]);
        before = Some(*place);
    }
    if before.is_some_and(|last| sentences[last].range.end < text.len()) {
        joined.push_str(END);
    }
    joined
}

/// The separator of two sentences that follow each other: a line end, or a space.
fn between(text: &str, one: &Range<usize>, other: &Range<usize>) -> &'static str {
    if text[one.end..other.start].contains('\n') { "\n" } else { " " }
}

/// The kept sentences, with as much of one of them as there is room for. It is cut at the end of a word if
/// there is one.
fn cut(
    text: &str,
    sentences: &mut [Sentence],
    kept: &[usize],
    place: usize,
    limit: usize,
    cost: &dyn Fn(&str) -> usize,
) -> Option<String> {
    let whole = sentences[place].range.clone();
    let mut with_end = |end: usize| {
        sentences[place].range.end = end;
        joined(text, sentences, kept)
    };
    let (mut fits, mut exceeds) = (whole.start, whole.end);
    while exceeds - fits > 1 {
        let middle = floor_char_boundary(text, fits.midpoint(exceeds));
        if middle <= fits {
            break;
        }
        if cost(&with_end(middle)) <= limit { fits = middle } else { exceeds = middle }
    }
    let said = &text[whole.start..fits];
    let is_within_word = !text[fits..].starts_with(char::is_whitespace);
    // One word alone, or a language without spaces, is cut where the room ends.
    let word = match said.rfind(char::is_whitespace).filter(|end| is_within_word && *end > 0) {
        Some(end) => end,
        None if is_within_word && kept.len() > 1 => return None,
        None => said.len(),
    };
    let end = whole.start + said[..word].trim_end().len();
    (end > whole.start).then(|| with_end(end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REPORT: &str = "I looked at the whole area first, and it was rather large. Then I went through all of the modules one after the \
        other, which took some time. The cart sums prices as integers in src/cart.rs. Everything seemed fine at first sight. I ran the \
        tests again and again.\n\nDecision: no floats anywhere. Blocked: the tax rate of Norway is unknown.";

    #[test]
    fn what_matters_is_kept_wherever_it_stands() {
        let kept = dense_characters(REPORT, 200);
        for part in ["src/cart.rs", "Decision: no floats anywhere.", "Blocked: the tax rate of Norway is unknown."] {
            assert!(kept.contains(part), "{part}: {kept}");
        }
        assert!(kept.chars().count() <= 200 && !kept.contains("again and again"), "{kept}");
        assert_eq!(dense_characters(&"It is read. ".repeat(9), 40), "It is read. …", "what is said again says nothing");
        assert_eq!(dense_characters("Short.", 200), "Short.");
        assert_eq!(dense_characters("  Short. ", 200), "Short.");
        assert_eq!(dense_characters("one two three four five six", 12), "one two …");
        assert_eq!(dense_characters("", 12), "");
        assert_eq!(dense_characters(&"ö".repeat(30), 20), format!("{} …", "ö".repeat(18)));
    }

    #[test]
    fn code_is_one_piece() {
        let text = format!("See.\n```rust\nlet a = 1;\nlet b_c = 2;\n```\n{}", "Long words follow here. ".repeat(20));
        let kept = dense_characters(&text, 120);
        assert!(kept.contains("```rust\nlet a = 1;\nlet b_c = 2;\n```"), "{kept}");
    }

    proptest! {
        #[test]
        fn bounded_steady_and_of_the_text(text in "([a-zA-Z0-9_/. \n!?;`#…é日]{0,40}\\. ?){0,30}", limit in 0usize..400, more in 0usize..200) {
            let length = |part: &str| part.chars().count();
            let (shown, is_whole) = dense(&text, limit, &length);
            prop_assert!(shown.chars().count() <= limit || is_whole);
            prop_assert_eq!(is_whole, text.trim().chars().count() <= limit);
            let words: Vec<&str> = text.split_whitespace().collect();
            let is_of_text = |word: &str| word == "…" || words.contains(&word);
            let is_one = shown.split_whitespace().filter(|word| *word != "…").count() <= 1;
            prop_assert!(is_one || shown.split_whitespace().all(is_of_text), "no word is cut: {shown:?}");
            // With more room, nothing that was shown disappears.
            let (longer, _) = dense(&text, limit + more, &length);
            prop_assert!(longer.chars().count() >= shown.chars().count() || longer.len() >= text.trim().len());
        }
    }
}
