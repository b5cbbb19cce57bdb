//! Titles of child sessions, and the patterns that show which of them are subagents.
//!
//! Agents can add patterns, so everything about them is bounded: their number, their length, the size to
//! which they are compiled, and the part of a title that is matched. Matching needs no lock: an event is
//! matched when it is received, before the sessions are locked for it.

use std::sync::Arc;

use regex_lite::{Regex, RegexBuilder};

use super::event::HostEvent;
use crate::error::Error;
use crate::frame::shown;
use crate::text::beginning;

/// Maximum number of patterns.
const PATTERNS: usize = 20;
/// Maximum length of a pattern, in characters.
const PATTERN_CHARACTERS: usize = 200;
/// Maximum size of a compiled pattern, in bytes. The steps to match a title are at most the number of its
/// characters multiplied by the number of parts of the compiled pattern. These bytes hold about four hundred
/// parts.
const PATTERN_SIZE: usize = 16 << 10;
/// Number of characters of a title that are matched; the rest is not looked at.
const MATCHED_CHARACTERS: usize = 300;

/// The compiled patterns of [`SubagentSettings`](super::subagents::SubagentSettings). Clones are cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct TitlePatterns(Arc<[Regex]>);

impl TitlePatterns {
    /// Compiles patterns. The list has an [`Error::Setting`] for each one that is not a regular expression or
    /// exceeds a limit; such a pattern is ignored.
    pub(crate) fn compile(patterns: &[String]) -> (Self, Vec<Error>) {
        let setting = |value: String, expected| Error::Setting { name: "patterns".into(), value, expected };
        let mut problems = Vec::new();
        let mut compiled = Vec::new();
        for pattern in patterns.iter().take(PATTERNS) {
            match compile(pattern) {
                Some(regex) => compiled.push(regex),
                None => problems.push(setting(
                    shown(pattern).into_owned(),
                    "a regular expression such as `@.*subagent`, with at most 200 characters and without large \
                     repetitions such as `x{1000}`; this pattern is ignored",
                )),
            }
        }
        if patterns.len() > PATTERNS {
            let value = format!("{} patterns", patterns.len());
            problems.push(setting(value, "at most 20 patterns; the others are ignored; remove a pattern to add one"));
        }
        (Self(compiled.into()), problems)
    }

    /// Matches the title of an event, if it has one.
    pub(crate) fn receive(&self, event: HostEvent) -> ReceivedEvent {
        let title = match &event {
            HostEvent::SessionCreated { parent_id: Some(_), title, .. } => Some(title),
            HostEvent::SessionUpdated { title, .. } => Some(title),
            _ => None,
        };
        let is_subagent = title.is_some_and(|title| self.fit(title));
        ReceivedEvent { event, is_subagent }
    }

    pub(super) fn fit(&self, title: &str) -> bool {
        let matched = beginning(title, MATCHED_CHARACTERS);
        self.0.iter().any(|pattern| pattern.is_match(matched))
    }
}

/// Compiles a pattern; `None` if it is invalid or too complex.
fn compile(pattern: &str) -> Option<Regex> {
    if beginning(pattern, PATTERN_CHARACTERS).len() < pattern.len() {
        return None;
    }
    RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_SIZE).build().ok()
}

/// An event with the result of matching its title. The title was matched when the event was received.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReceivedEvent {
    pub(super) event: HostEvent,
    /// True if the event has a title, and the title matches one of the patterns.
    pub(super) is_subagent: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(patterns: &[&str]) -> (TitlePatterns, Vec<String>) {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let (compiled, problems) = TitlePatterns::compile(&patterns);
        (compiled, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn patterns_that_would_cost_too_much_are_refused_with_the_limit() {
        let long = "a".repeat(201);
        let costly = ["(", &long, "a{1000}", "((a{30}){30}){30}", "(?:){100000000}", "(((a?){20}){20}){20}b"];
        for pattern in costly {
            let (none, problems) = compiled(&[pattern]);
            assert!(none.0.is_empty() && problems.len() == 1, "{pattern}");
            assert!(problems[0].contains("at most 200 characters and without large repetitions"), "{problems:?}");
            assert!(problems[0].chars().count() < 500, "{problems:?}");
        }
        for usual in ["@.*subagent", r"\[Task\]", "^(review|fix|explore) .{1,40}$", &"ä".repeat(200)] {
            assert_eq!(compiled(&[usual]).1, [""; 0], "{usual}");
        }
        let many: Vec<String> = (0..25).map(|number| format!("pattern {number}$")).collect();
        let (twenty, problems) = TitlePatterns::compile(&many);
        assert!(problems[0].to_string().contains("patterns is `25 patterns`, but must be at most 20"), "{problems:?}");
        assert!(twenty.fit("pattern 19") && !twenty.fit("pattern 20"));
    }

    #[test]
    fn only_the_beginning_of_a_title_is_matched() {
        let (patterns, _) = compiled(&["end$", "^start"]);
        let long = |words: &str| format!("{words}{}end", "x".repeat(1_000_000));
        assert!(patterns.fit(&long("start")) && !patterns.fit(&long("")));
    }

    #[test]
    fn titles_are_matched_when_an_event_is_received() {
        let (patterns, _) = compiled(&["^helper"]);
        let received = |event: &str| patterns.receive(serde_json::from_str(event).unwrap()).is_subagent;
        assert!(received(r#"{"kind": "sessionCreated", "sessionID": "c", "parentID": "p", "title": "Helper 1"}"#));
        assert!(received(r#"{"kind": "sessionUpdated", "sessionID": "c", "title": "helper"}"#));
        assert!(!received(r#"{"kind": "sessionCreated", "sessionID": "p", "title": "Helper of none"}"#));
        assert!(!received(r#"{"kind": "sessionIdle", "sessionID": "c"}"#));
    }
}
