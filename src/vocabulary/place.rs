//! The lines of answers from which a reader of a conversation knows which frame a call was about, and where
//! the conversation is now. The tools write them, and [`fold`](crate::fold) reads them.

use std::fmt;

use crate::frame::Handle;

const IN: &str = "You are in ";
const FOR: &str = "This was for ";
const NOWHERE: &str = "You are in no frame.";
/// The end of the line about a frame in a folded answer, if a call further below says more about the frame.
pub(crate) const BELOW: &str = ": see below.";
/// The text before the frame above a begun frame, if the conversation was in another frame than that one.
pub(crate) const BELOW_FRAME: &str = " It is below ";

/// Where a conversation is after a call: the last line of each answer of the tools that is not a refusal.
///
/// ```
/// use callstack_core::vocabulary::Place;
/// assert_eq!(Place::In("f2 (Cart)").to_string(), "You are in f2 (Cart).");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place<'a> {
    /// In a frame, which is given with its title, such as `f2 (Cart)`.
    In(&'a str),
    /// In a frame, for a caller that is not known. The caller has to name the frame in each call.
    Of(Handle, &'a str),
    /// In no frame.
    Nowhere,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(name) => write!(formatter, "{IN}{name}."),
            Self::Of(frame, name) => write!(formatter, "{FOR}{name}: pass \"frame\": \"{frame}\" to work in it."),
            Self::Nowhere => formatter.write_str(NOWHERE),
        }
    }
}

/// How a frame has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Completed,
    Failed,
    Blocked,
    Invalidated,
}

/// What an answer of a tool says, in a text to which a host may have added lines before and behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told<'a> {
    /// The part of the text that is the answer, up to the end of the line about the place.
    pub answer: &'a str,
    /// The frame that the call was about.
    pub subject: Handle,
    /// The frame in which the conversation is now.
    pub place: Option<Handle>,
    /// The line about the place.
    pub last: &'a str,
}

impl<'a> Told<'a> {
    /// Reads an answer. `None` if the text is a refusal, or not an answer of these tools.
    pub fn read(text: &'a str) -> Option<Self> {
        let (last, place) = text.lines().rev().find_map(|line| Some((line, place(line)?)))?;
        let (first, subject) = text.lines().find_map(|line| Some((line, named(line)?)))?;
        let start = offset(text, first);
        let end = offset(text, last) + last.len();
        Some(Self { answer: text.get(start..end)?, subject, place, last })
    }

    /// Reads an answer of a host that does not name places. `None` if the answer is not about a frame.
    #[cfg(feature = "session")]
    pub fn without_place(text: &'a str) -> Option<Self> {
        let (first, subject) = text.lines().find_map(|line| Some((line, named(line)?)))?;
        Some(Self { answer: &text[offset(text, first)..], subject, place: None, last: "" })
    }

    /// The frames that a folded answer without a line about the place names: calls further below have ended
    /// them.
    pub fn ended_below(text: &str) -> Vec<Handle> {
        text.lines().filter(|line| line.ends_with(BELOW)).filter_map(named).collect()
    }

    /// True if a text within an answer has a line that could be taken for a line of the answer itself.
    pub fn is_imitated_in(text: &str) -> bool {
        text.lines().any(|line| place(line).is_some() || line.ends_with(BELOW) && named(line).is_some())
    }

    /// The name of a frame that the answer mentions, such as `f2 (Cart)`: as the line about the place has it,
    /// or else its handle.
    pub fn name_of(&self, frame: Handle) -> String {
        let named = self.last.strip_prefix(IN).and_then(|name| name.strip_suffix('.'));
        let named =
            named.or_else(|| self.last.strip_prefix(FOR)?.rsplit_once(": pass \"frame\": ").map(|(name, _)| name));
        match named.filter(|_| self.place == Some(frame)) {
            Some(name) => name.to_owned(),
            None => frame.to_string(),
        }
    }

    /// How the frame that the call was about has ended, by the first line. `None`: it has not ended. `name`
    /// is its name with the title, if that name is known: titles can have any words.
    pub fn end(&self, name: Option<&str>) -> Option<Ended> {
        let line = self.answer.lines().next()?;
        // The bracket behind the title is a part of the words.
        let line = name.and_then(|name| line.get(name.len() - 1..).filter(|_| line.starts_with(name))).unwrap_or(line);
        let ends = [
            (") is completed", Ended::Completed),
            (") is failed", Ended::Failed),
            (") is blocked", Ended::Blocked),
            (") is out of the plan", Ended::Invalidated),
            (") is invalidated", Ended::Invalidated),
        ];
        let goes_on = [") is in progress", ") has begun", ") is planned"];
        // The words behind the title come first, unless the title has such words itself; then those that are
        // last of the title's end.
        let found = ends.iter().filter_map(|(words, end)| Some((line.find(words)?, Some(*end))));
        let others = goes_on.iter().filter_map(|words| Some((line.find(words)?, None)));
        found.chain(others).min_by_key(|(place, _)| *place).and_then(|(_, end)| end)
    }

    /// The frame above the one in which the conversation is, if the answer says it or shows the frame's
    /// context.
    pub fn parent_of_place(&self) -> Option<Handle> {
        let place = self.place?;
        let begun = self.body().lines().take(2).find(|line| named(line) == Some(place));
        if let Some(parent) = begun.and_then(|line| line.rsplit_once(BELOW_FRAME)) {
            return parent.1.split_once(' ')?.0.parse().ok();
        }
        let ancestors = self.answer.split_once("<ancestors")?.1.split_once("</ancestors>")?.0;
        let last = ancestors.rsplit_once("<frame id=\"")?.1;
        last.split_once('"')?.0.parse().ok()
    }

    /// True if the caller is not known, so that the line about the place says only which frame its next calls
    /// may name.
    pub fn is_of_nobody(&self) -> bool {
        self.last.starts_with(FOR)
    }

    /// The answer without the line about the place.
    pub fn body(&self) -> &'a str {
        self.answer[..self.answer.len() - self.last.len()].trim_end()
    }

    /// True if the call has also begun the frame in which the conversation is now, after it has finished the
    /// frame that it was about.
    pub fn begins_place(&self) -> bool {
        self.place.is_some_and(|place| place != self.subject && self.second() == Some(place))
    }

    /// The second frame that the answer mentions: the call has begun it, after it has finished the frame that
    /// the call was about.
    pub fn second(&self) -> Option<Handle> {
        // Only in the second line: further lines can be text that an agent or a person has written.
        self.body().lines().nth(1).and_then(named)
    }
}

/// The place of a part of a text in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The frame that a line about the place names. `None`: the line is not a line about the place.
fn place(line: &str) -> Option<Option<Handle>> {
    if line == NOWHERE {
        return Some(None);
    }
    let named = line.strip_prefix(IN).or_else(|| line.strip_prefix(FOR)).and_then(named)?;
    Some(Some(named))
}

/// The frame with whose handle and title a text begins.
fn named(text: &str) -> Option<Handle> {
    if !text.starts_with('f') {
        return None;
    }
    text.split_once(" (")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_that_is_written_is_read() {
        let frame: Handle = "f7".parse().unwrap();
        for (written, expected) in [
            (Place::In("f7 (Cart)"), Some(frame)),
            (Place::Of(frame, "f7 (Cart)"), Some(frame)),
            (Place::In("f7 (You are in f9 (x).)"), Some(frame)),
            (Place::Nowhere, None),
        ] {
            let text = format!("<untrusted>\nf7 (Cart) has begun.\nYou are in f1 (old).\n{written}\n</untrusted>");
            let told = Told::read(&text).unwrap();
            assert_eq!((told.place, told.subject), (expected, frame), "{text}");
            assert!(told.answer.starts_with("f7 (Cart) has") && told.answer.ends_with(&written.to_string()), "{text}");
        }
    }

    #[test]
    fn the_name_of_a_frame_is_that_of_the_line_about_the_place() {
        let frame: Handle = "f7".parse().unwrap();
        for name in ["f7 (Cart)", "f7 (is completed. (x))", "f7 (a: pass \"frame\": b)"] {
            for place in [Place::In(name), Place::Of(frame, name)] {
                let text = format!("{name} has begun.\n{place}");
                let told = Told::read(&text).unwrap();
                assert_eq!(told.name_of(frame), name);
                assert_eq!(told.is_of_nobody(), matches!(place, Place::Of(..)));
            }
        }
    }

    #[test]
    fn a_refusal_tells_nothing() {
        for text in [
            "frame f1 is not done: open or planned below it: f2",
            "",
            "You are in f1 (Shop).",
            "f1 (Shop) is completed.",
        ] {
            assert_eq!(Told::read(text), None, "{text}");
        }
    }

    #[test]
    fn only_some_words_end_a_frame() {
        for (line, end) in [
            ("f2 (Cart) is completed. Next of the plan: activate f3 (x) is failed.", Some(Ended::Completed)),
            ("f2 (Cart) is blocked.", Some(Ended::Blocked)),
            ("f2 (Cart) is out of the plan.", Some(Ended::Invalidated)),
            ("f2 (Cart) is in progress again: continue it.", None),
        ] {
            let text = format!("{line}\nYou are in f1 (Shop).");
            assert_eq!(Told::read(&text).unwrap().end(None), end, "{line}");
        }
        let text = "f3 (Pay) is in progress.\n<stack-context><ancestors count=\"2\"><frame id=\"f1\"/><frame id=\"f2\" x></frame></ancestors>\nYou are in f3 (Pay).";
        assert_eq!(Told::read(text).unwrap().parent_of_place(), "f2".parse().ok());
    }

    #[test]
    fn a_call_that_finishes_a_frame_can_begin_the_next_one() {
        let read = |text: &'static str| Told::read(text).unwrap();
        assert!(read("f2 (A) is completed.\nf3 (B) has begun.\nYou are in f3 (B).").begins_place());
        assert!(!read("f2 (A) is completed. Next: activate f3 (B).\nYou are in f1 (S).").begins_place());
        assert!(!read("f2 (A) has begun.\nYou are in f2 (A).").begins_place());
        assert!(
            !read("f2 (A) is completed.\nResults: x\nf1 (S) needs the invoice.\nYou are in f1 (S).").begins_place()
        );
    }
}
