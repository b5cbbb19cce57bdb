//! What the answer of a push says when the pushed frame has ended: what the frame has returned.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::walk::Known;
use super::{FoldSettings, FoldedStatus};
use crate::frame::Handle;
use crate::text::{hanging_indent, one_line};
use crate::vocabulary::calls::beside;
use crate::vocabulary::{BELOW, Told};

/// The longest results that are returned in full, in characters.
const LONGEST_RESULTS: usize = 16_000;

/// What a frame has returned.
pub(super) struct Returned<'a> {
    pub frame: Handle,
    /// The handle with the title, such as `f2 (Cart)`.
    pub name: String,
    pub status: FoldedStatus,
    /// What the call that ended the frame has answered.
    pub end: Told<'a>,
    /// The arguments of that call.
    pub arguments: Json,
    pub known: &'a Known,
    /// The name of the tool that began the frame.
    pub beginning: &'a str,
}

impl Returned<'_> {
    /// For the last stretch of a frame: all that it has returned, in lines.
    pub fn in_full(&self, settings: &FoldSettings) -> Vec<String> {
        let text =
            |key: &str| self.arguments.get(key).and_then(Json::as_str).map(str::trim).filter(|text| !text.is_empty());
        // What a call says about another frame that it has begun belongs to that frame.
        let mut lines = vec![match self.end.begins_place() {
            true => self.end.body().lines().next().unwrap_or_default().to_owned(),
            false => self.end.body().to_owned(),
        }];
        let so_far = self.known.results_so_far.as_deref();
        let results = text("results").or_else(|| text("resultsCompacted"));
        let texts = [
            ("Results", results),
            ("Results so far", so_far.filter(|_| results.is_none())),
            ("Question", text("question")),
            ("Reason", text("reason")),
        ];
        for (label, text) in texts {
            lines.extend(text.map(|text| format!("{label}: {}", told(text))));
        }
        lines.extend(Self::recorded(self.known));
        let pointer = match &settings.pointer {
            Some(pointer) => Some(pointer.replace("{frame}", &self.frame.to_string())),
            None => beside(self.beginning, &settings.tools)
                .map(|(tool, key)| format!("{tool} {{\"{key}\": \"{}\"}} shows all of it.", self.frame)),
        };
        lines.extend(pointer.filter(|pointer| !pointer.is_empty()));
        lines
    }

    /// What was recorded in a frame, in lines.
    pub fn recorded(known: &Known) -> Vec<String> {
        let mut lines = Vec::new();
        for (label, texts) in [("Decisions", &known.decisions), ("Artifacts", &known.artifacts)] {
            if !texts.is_empty() {
                lines.push(format!("{label}:"));
                lines.extend(texts.iter().map(|text| format!("- {}", one_line(text))));
            }
        }
        lines
    }

    /// For a stretch whose frame was finished by a call that stays, or whose frame continued in another
    /// stretch.
    pub fn below(&self) -> String {
        format!("{} is {}{BELOW}", self.name, self.status.as_str())
    }
}

/// A text as it is returned: unchanged, except for lines that could be taken for lines of an answer.
fn told(text: &str) -> Cow<'_, str> {
    let text = shortened(text);
    if Told::is_imitated_in(&text) { Cow::Owned(hanging_indent(&text).into_owned()) } else { text }
}

/// A text, cut to the number of characters that are returned in full.
fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_RESULTS) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{} … ({} more characters)", &text[..end], text[end..].chars().count())),
    }
}
