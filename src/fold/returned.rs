//! What the answer of a push says when the pushed frame has ended: what the frame has returned.

use serde_json::Value as Json;

use super::{FoldSettings, FoldedStatus};
use crate::frame::Handle;
use crate::text::{floor_char_boundary, one_line};
use crate::vocabulary::Told;
use crate::vocabulary::calls::beside;

/// The longest results that are returned in full, in characters.
const LONGEST_RESULTS: usize = 16_000;

/// The texts for a frame that has ended.
pub(super) struct Returned<'a> {
    frame: Handle,
    status: FoldedStatus,
    /// What the call that ended the frame has answered.
    end: Told<'a>,
    /// A line that stays before the text.
    before: Option<&'a str>,
}

impl<'a> Returned<'a> {
    pub fn new(frame: Handle, status: FoldedStatus, end: Told<'a>) -> Self {
        Self { frame, status, end, before: None }
    }

    /// The same behind a line that stays.
    pub fn behind(self, line: &'a str) -> Self {
        Self { before: Some(line), ..self }
    }

    /// For the last stretch of a frame: all that it has returned.
    pub fn in_full(
        self,
        arguments: &Json,
        decisions: &[String],
        artifacts: &[String],
        beginning: &str,
        settings: &FoldSettings,
    ) -> String {
        let text = |key: &str| arguments.get(key).and_then(Json::as_str).map(str::trim).filter(|text| !text.is_empty());
        let mut lines: Vec<String> = self.before.into_iter().map(str::to_owned).collect();
        // What a call says about a frame that it has begun belongs to that one.
        let begins_another = self.end.begins_place();
        lines.push(match begins_another {
            true => self.end.body().lines().next().unwrap_or_default().to_owned(),
            false => self.end.body().to_owned(),
        });
        let results = text("results").or_else(|| text("resultsCompacted")).or_else(|| text("reason"));
        if let Some(results) = results {
            lines.push(format!("Results: {}", shortened(results)));
        }
        if let Some(question) = text("question") {
            lines.push(format!("Question: {}", shortened(question)));
        }
        for (label, texts) in [("Decisions", decisions), ("Artifacts", artifacts)] {
            if !texts.is_empty() {
                lines.push(format!("{label}:"));
                lines.extend(texts.iter().map(|text| format!("- {}", one_line(text))));
            }
        }
        let pointer = match &settings.pointer {
            Some(pointer) => pointer.replace("{frame}", &self.frame.to_string()),
            None => format!("{} shows all of it.", self.details(beginning)),
        };
        lines.extend(Some(pointer).filter(|pointer| !pointer.is_empty()));
        lines.extend(Some(self.end.last.to_owned()).filter(|_| !begins_another));
        lines.join("\n")
    }

    /// For a stretch whose frame was finished by a call that stays.
    pub fn elsewhere(self) -> String {
        let text = match self.status {
            FoldedStatus::Blocked => "what it waits for is in the call below that has blocked it",
            FoldedStatus::Invalidated => "the reason is in the call below that has taken it out of the plan",
            _ => "its results are in the call below that has finished it",
        };
        self.line(text)
    }

    /// For a stretch of a frame that has another one behind it.
    pub fn left(self) -> String {
        self.line("it went on below")
    }

    fn line(&self, text: &str) -> String {
        let status = self.status.as_str();
        let words = format!(" is {status}");
        let name = self.end.name(&words).map_or_else(|| self.frame.to_string(), str::to_owned);
        let line = format!("{name}{words}: {text}.");
        self.before.map_or(line.clone(), |before| format!("{before}\n{line}"))
    }

    /// The call that shows the frame.
    fn details(&self, beginning: &str) -> String {
        let (tool, key) = beside(beginning);
        format!("{tool} {{\"{key}\": \"{}\"}}", self.frame)
    }
}

/// A text with at most as many characters as are returned in full.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_RESULTS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text[end..].chars().count();
            format!("{} … ({left} more characters)", &text[..floor_char_boundary(text, end)])
        }
    }
}
