//! The texts of frames in the page. They are cut so that the pages of large stacks stay small.

use std::borrow::Cow;

use callstack_core::frame::{Frame, Question};
use callstack_core::text::{lines, one_line, visible};
use serde::Serialize;

use super::conversations::Said;

/// The room of one frame, the largest first. The page uses the first one with which all frames have room, or
/// the last one. There are only a few, so that a new frame seldom changes all others.
const LIMITS: [Limits; 13] = [
    limits(400, 1 << 16, 32),
    limits(400, 1 << 15, 32),
    limits(400, 1 << 14, 32),
    limits(400, 1 << 13, 32),
    limits(400, 1 << 12, 32),
    limits(400, 1 << 11, 32),
    limits(400, 1 << 10, 32),
    limits(200, 1 << 9, 16),
    limits(200, 1 << 8, 8),
    limits(100, 1 << 7, 4),
    limits(100, 1 << 6, 2),
    limits(50, 1 << 5, 1),
    limits(50, 0, 0),
];
/// The maximum number of bytes of a blocked time together with a dependency, of the signs around a text, and
/// of the names of all parts.
const ENTRY_BYTES: usize = 40;
const AROUND_TEXT: usize = "[\"\",\"\"],".len();
const NAMES_BYTES: usize = r#""t":"","k":[],"ko":99999,"d":[],"do":99999,"x":[],"z":true,"#.len();

/// The room of one frame in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In bytes of JSON.
    title: usize,
    /// In bytes of JSON, with what is around each text.
    texts: usize,
    /// Number of blocked times, and of dependencies.
    pub entries: usize,
}

/// The room that a frame would need without limits, in bytes of JSON.
pub struct Sizes {
    title: usize,
    texts: usize,
    entries: usize,
}

/// A text with its kind.
#[derive(Debug, PartialEq, Serialize)]
pub struct NamedText(pub &'static str, pub String);

/// The texts of a frame as the page shows them.
pub struct ShownTexts {
    pub title: String,
    pub texts: Vec<NamedText>,
    /// True if a part is left out.
    pub is_cut: bool,
}

const fn limits(title: usize, texts: usize, entries: usize) -> Limits {
    Limits { title, texts, entries }
}

impl Sizes {
    /// `entries`: the number of its blocked times or of its dependencies, whichever is larger.
    pub fn of(frame: &Frame, said: &[Said], entries: usize) -> Self {
        let [Limits { title, texts, .. }, ..] = LIMITS;
        let size_of = |(name, text): (&str, &str)| around(name) + size(text, texts);
        Self { title: size(&frame.title, title), texts: named(frame).chain(spoken(said)).map(size_of).sum(), entries }
    }

    fn within(&self, limits: &Limits) -> usize {
        let entries = self.entries.min(limits.entries) * ENTRY_BYTES;
        NAMES_BYTES + self.title.min(limits.title) + self.texts.min(limits.texts) + entries
    }
}

impl Limits {
    /// The limits for frames of these sizes, if this is the room for all of them together.
    pub fn of(sizes: &[Sizes], room: usize) -> Self {
        let fits = |limits: &&Limits| sizes.iter().map(|sizes| sizes.within(limits)).sum::<usize>() <= room;
        let [.., smallest] = LIMITS;
        LIMITS.iter().find(fits).copied().unwrap_or(smallest)
    }

    /// The texts of a frame within these limits.
    pub fn apply(self, frame: &Frame, said: &[Said]) -> ShownTexts {
        let line = one_line(cut(&frame.title, self.title).0);
        let (title, mut is_cut) = cut(&line, self.title);
        let title = title.to_owned();
        is_cut |= size(&frame.title, self.title + 1) > self.title;
        let mut left = self.texts;
        let mut texts = Vec::new();
        for (name, text) in named(frame).chain(spoken(said)) {
            let Some(room) = left.checked_sub(around(name)) else {
                is_cut = true;
                break;
            };
            // This is done before the text is made visible, because that could copy megabytes.
            let (beginning, is_long) = cut(text, room);
            let shown = lines(beginning).map(visible).collect::<Vec<Cow<'_, str>>>().join("\n");
            let (shown, is_longer) = cut(&shown, room);
            is_cut |= is_long || is_longer;
            if !shown.is_empty() {
                left = room - size(shown, room);
                texts.push(NamedText(name, shown.to_owned()));
            }
        }
        ShownTexts { title, texts, is_cut }
    }
}

/// The bytes of JSON around a text.
fn around(name: &str) -> usize {
    AROUND_TEXT + name.len()
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
        Some(("Task", frame.task.as_str())),
        frame.results.as_deref().map(|text| (results, text)),
        frame.invalidation_reason.as_deref().map(|text| ("Invalidated", text)),
    ];
    let decisions = frame.decisions.iter().map(|text| ("Decision", text.as_str()));
    let artifacts = frame.artifacts.iter().map(|text| ("Artifact", text.as_str()));
    let all = one.into_iter().flatten().chain(earlier).chain(decisions).chain(artifacts);
    all.filter(|(_, text)| !text.trim().is_empty())
}

/// What was said in a frame, after everything else.
fn spoken(said: &[Said]) -> impl Iterator<Item = (&'static str, &str)> {
    said.iter().map(|(author, text)| (*author, text.as_str()))
}

fn asked(question: &Question) -> &'static str {
    if question.interruption { "Interrupted" } else { "Question" }
}

/// The size of a text in JSON, without its quotes. It is counted up to a limit.
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

/// The beginning of a text that has at most this number of bytes in JSON, and true if that is not the whole
/// text.
pub fn cut(text: &str, room: usize) -> (&str, bool) {
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
        // The replacement of a hidden character is longer than some of these characters.
        '\u{7F}'..='\u{AD}' | '\u{61C}' => 3,
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
        let of = |frames: &[Frame]| {
            let sizes: Vec<Sizes> = frames.iter().map(|frame| Sizes::of(frame, &[], 0)).collect();
            Limits::of(&sizes, 3_000_000)
        };
        let one = frame("Cart", &"a".repeat(60_000));
        let shown = of(std::slice::from_ref(&one)).apply(&one, &[]);
        assert_eq!((shown.title.as_str(), shown.is_cut, shown.texts[0].1.len()), ("Cart", false, 60_000));
        let many = vec![frame(&"<".repeat(10_000), &"<".repeat(10_000)); 10_000];
        let shown = of(&many).apply(&many[0], &[]);
        let bytes: usize = shown.title.len() * 6 + shown.texts.iter().map(|text| text.1.len() * 6).sum::<usize>();
        assert!(shown.is_cut, "nothing says that texts were cut");
        assert!((100..=300).contains(&bytes), "{bytes} bytes for each of 10,000 frames");
        let short = Frame { decisions: vec!["Use".into(); 100], ..frame("Cart", "") };
        let shown =
            of(&vec![short; 10_000]).apply(&Frame { decisions: vec!["Use".into(); 100], ..frame("Cart", "") }, &[]);
        let bytes: usize = shown.texts.iter().map(|text| serde_json::to_string(text).unwrap().len() + 1).sum();
        assert!(shown.is_cut && (50..=300).contains(&bytes), "{bytes} bytes of decisions, with the signs around them");
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
        let shown = LIMITS[0].apply(&frame, &[]);
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
