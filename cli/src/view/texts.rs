//! The texts of frames in the page, cut so that the pages of large stacks stay small.

use std::borrow::Cow;

use callstack_core::frame::{Frame, Question};
use callstack_core::text::{lines, one_line, visible};
use serde::Serialize;

/// The room of the texts of all frames, in bytes of JSON.
const ALL_TEXTS: usize = 2 << 20;
/// The room of the titles of all frames.
const ALL_TITLES: usize = 1 << 20;
/// The room of the texts of one frame, the largest first. The page takes the first for which all texts have room, or the
/// last. There are few, so that a frame more seldom changes all others.
const TEXT_LIMITS: [usize; 12] =
    [1 << 16, 1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 9, 1 << 8, 1 << 7, 1 << 6, 1 << 5];
const TITLE_LIMITS: [usize; 4] = [400, 200, 100, 50];

/// The room of the texts and of the title of one frame, in bytes of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    texts: usize,
    title: usize,
}

/// A text with what it is.
#[derive(Debug, PartialEq, Serialize)]
pub struct NamedText(pub &'static str, pub String);

/// The texts of a frame as the page shows them.
pub struct ShownTexts {
    pub title: String,
    pub texts: Vec<NamedText>,
    /// True if a part is left out.
    pub is_cut: bool,
}

impl Limits {
    /// The limits for these frames.
    pub fn of<'a>(frames: impl Iterator<Item = &'a Frame>) -> Self {
        let sizes: Vec<(usize, usize)> = frames
            .map(|frame| {
                let texts = named(frame).map(|(_, text)| size(text, TEXT_LIMITS[0])).sum();
                (texts, size(&frame.title, TITLE_LIMITS[0]))
            })
            .collect();
        let fitting = |limits: &[usize], room: usize, size: fn(&(usize, usize)) -> usize| {
            let fits = |limit: &&usize| sizes.iter().map(|sizes| size(sizes).min(**limit)).sum::<usize>() <= room;
            limits.iter().find(fits).or(limits.last()).copied().unwrap_or_default()
        };
        Self {
            texts: fitting(&TEXT_LIMITS, ALL_TEXTS, |sizes| sizes.0),
            title: fitting(&TITLE_LIMITS, ALL_TITLES, |sizes| sizes.1),
        }
    }

    /// The texts of a frame within these limits.
    pub fn apply(self, frame: &Frame) -> ShownTexts {
        let line = one_line(cut(&frame.title, self.title).0);
        let (title, mut is_cut) = cut(&line, self.title);
        let title = title.to_owned();
        is_cut |= size(&frame.title, self.title + 1) > self.title;
        let mut room = self.texts;
        let mut texts = Vec::new();
        for (name, text) in named(frame) {
            // Before the text is made visible, which could copy megabytes.
            let (beginning, is_long) = cut(text, room);
            let shown = lines(beginning).map(visible).collect::<Vec<Cow<'_, str>>>().join("\n");
            let (shown, is_longer) = cut(&shown, room);
            is_cut |= is_long || is_longer;
            room -= size(shown, room);
            if !shown.is_empty() {
                texts.push(NamedText(name, shown.to_owned()));
            }
        }
        ShownTexts { title, texts, is_cut }
    }
}

/// The texts of a frame that are not blank, the most important first.
fn named(frame: &Frame) -> impl Iterator<Item = (&'static str, &str)> {
    let results = if frame.status.is_finished() { "Results" } else { "Results so far" };
    let open = frame.current_question().filter(|question| question.answer.is_none());
    let is_open = move |question: &&Question| open.is_some_and(|open| std::ptr::eq(open, *question));
    let earlier = frame.questions.iter().filter(move |question| !is_open(question)).flat_map(|question| {
        [(asked(question), question.question.as_str()), ("Answer", question.answer.as_deref().unwrap_or_default())]
    });
    let one = [
        open.map(|open| (asked(open), open.question.as_str())),
        Some(("Criteria", frame.success_criteria.as_str())),
        frame.results.as_deref().map(|text| (results, text)),
        frame.invalidation_reason.as_deref().map(|text| ("Invalidated", text)),
    ];
    let decisions = frame.decisions.iter().map(|text| ("Decision", text.as_str()));
    let artifacts = frame.artifacts.iter().map(|text| ("Artifact", text.as_str()));
    let all = one.into_iter().flatten().chain(earlier).chain(decisions).chain(artifacts);
    all.filter(|(_, text)| !text.trim().is_empty())
}

fn asked(question: &Question) -> &'static str {
    if question.interruption { "Interrupted" } else { "Question" }
}

/// The size of a text in JSON, without its quotes. Counted up to a limit.
fn size(text: &str, limit: usize) -> usize {
    let mut size = 0;
    for character in text.chars() {
        if size >= limit {
            break;
        }
        size += width(character);
    }
    size.min(limit)
}

/// The beginning of a text that has at most this many bytes in JSON, and true if that is not all of it.
fn cut(text: &str, room: usize) -> (&str, bool) {
    let mut taken = 0;
    for (place, character) in text.char_indices() {
        taken += width(character);
        if taken > room {
            return (&text[..place], true);
        }
    }
    (text, false)
}

/// The bytes of a character in the JSON of the page.
fn width(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '<' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1F}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(title: &str, criteria: &str) -> Frame {
        Frame { title: title.into(), success_criteria: criteria.into(), ..Frame::default() }
    }

    #[test]
    fn small_stacks_keep_their_texts_and_large_ones_share_the_room() {
        let one = frame("Cart", &"a".repeat(60_000));
        let shown = Limits::of([&one].into_iter()).apply(&one);
        assert_eq!((shown.title.as_str(), shown.is_cut, shown.texts[0].1.len()), ("Cart", false, 60_000));
        let many = vec![frame(&"<".repeat(10_000), &"<".repeat(10_000)); 10_000];
        let limits = Limits::of(many.iter());
        let shown = limits.apply(&many[0]);
        let bytes: usize = shown.title.len() * 6 + shown.texts.iter().map(|text| text.1.len() * 6).sum::<usize>();
        assert!(shown.is_cut, "nothing says that texts were cut");
        assert!((100..=310).contains(&bytes), "{bytes} bytes for each of 10,000 frames");
    }

    #[test]
    fn the_open_question_comes_first_and_the_texts_are_visible() {
        let asked = |question: &str, answer: Option<&str>| Question {
            question: question.into(),
            answer: answer.map(Into::into),
            ..Question::default()
        };
        let mut frame = frame("Tax\u{202E}es\n", "a\rb\u{200F}");
        frame.status = callstack_core::FrameStatus::Blocked;
        frame.questions = vec![asked("Which country?", Some("France")), asked("Which rate?", None)];
        let shown = Limits::of([&frame].into_iter()).apply(&frame);
        assert_eq!(shown.title, "Tax\u{FFFD}es");
        let texts: Vec<(&str, &str)> = shown.texts.iter().map(|text| (text.0, text.1.as_str())).collect();
        let expected = [
            ("Question", "Which rate?"),
            ("Criteria", "a\nb\u{FFFD}"),
            ("Question", "Which country?"),
            ("Answer", "France"),
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("ä<b", 7), ("ä", true));
        assert_eq!(cut("ä<b", 9), ("ä<b", false));
        assert_eq!((size("ä<b", 100), size("ä<b", 5)), (9, 5));
    }
}
