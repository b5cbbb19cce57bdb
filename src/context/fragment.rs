//! The XML of a frame, rendered once for all detail levels from stub to whole, with the cost of each.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::Conversation;
use super::cost::{Cost, charge};
use super::tokens::{TokenCounter, truncate_by};
use super::xml::{content, omitted_blanks, without_long_blanks};
use crate::frame::{Handle, first_filled};
use crate::tree::Node;

/// How much of a frame is shown. Each level contains the one before it. In JSON for example `"stub"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DetailLevel {
    /// The frame is not shown. The element `truncation` (for ancestors: also `omitted`) or the attribute `omitted` of
    /// the planned children counts it.
    Omitted,
    /// Handle, status and title. Planned children are shown without their status.
    Stub,
    /// Also the compacted results; for an open ancestor, the compacted criteria and the results so far; for the current
    /// frame, the compacted criteria. If there is no compacted text, the full one.
    Compact,
    /// Also the artifacts. For the current frame, the full criteria replace the compacted ones, unless its conversation
    /// has them.
    Standard,
    /// Also the decisions. For the current frame, also its results, and the path of its log, unless its conversation has
    /// them.
    Full,
    /// Of a dependency, also up to 2,000 tokens of its results instead of 300.
    Whole,
}

/// Maximum length of a title, in tokens. It keeps stubs small.
pub(super) const TITLE_TOKENS: usize = 48;
/// Maximum length of a text in a fragment, in tokens.
const TEXT_TOKENS: usize = 300;
/// Maximum length of what an earlier attempt waited for, and of the answer, in tokens, and the number of these that are
/// shown, the newest.
const QUESTION_TOKENS: usize = 120;
const SHOWN_QUESTIONS: usize = 2;
/// Maximum length of the results at the detail level `Whole`, in tokens.
const WHOLE_RESULTS_TOKENS: usize = 2_000;
/// Maximum length of the full criteria of the current frame, in tokens.
const CRITERIA_TOKENS: usize = 600;
/// Maximum length of the list of artifacts or of decisions, in tokens. The newest entries are shown.
const LIST_TOKENS: usize = 150;
/// The end of a text that was cut.
pub(super) const CUT: &str = " … [cut]";

/// The renderings of one frame. They share one buffer: each detail level is a part of it, followed by the closing tag.
#[derive(Debug)]
pub(super) struct Fragment {
    text: String,
    closing: &'static str,
    /// The path of the current frame's log, which the detail level `Full` names.
    log: Option<String>,
    /// For each detail level from `Stub` up: its start and end in the buffer, in bytes, and its cost, including the
    /// closing tag. Costs do not fall from one level to the next.
    levels: [(usize, usize, Cost); 5],
}

impl Fragment {
    /// Returns the cost of a detail level; nothing for `Omitted`.
    pub(super) fn cost(&self, detail_level: DetailLevel) -> Cost {
        match detail_level {
            DetailLevel::Omitted => Cost::default(),
            shown => self.levels[shown as usize - 1].2,
        }
    }

    pub(super) fn write(&self, detail_level: DetailLevel, out: &mut String) {
        if detail_level != DetailLevel::Omitted {
            let (start, end, _) = self.levels[detail_level as usize - 1];
            out.push_str(&self.text[start..end]);
            out.push_str(self.closing);
        }
    }

    /// Returns the path of the log if this detail level names it.
    pub(super) fn log(&self, detail_level: DetailLevel) -> Option<&String> {
        self.log.as_ref().filter(|_| detail_level == DetailLevel::Full)
    }

    /// Renders a frame for the stable part, as an ancestor, dependency or sibling. It shows the settled view, so it
    /// stays unchanged until the next push or status change in the tree.
    pub(super) fn settled(handle: Handle, node: &Node, counter: &dyn TokenCounter) -> Self {
        let settled = node.settled();
        let mut levels = FragmentWriter::new("</frame>\n", counter);
        levels.open("frame", handle, node);
        levels.title(settled.title);
        levels.end(DetailLevel::Stub);
        let (mut head, mut has_more) = (levels.mark(), false);
        if node.status().is_finished() {
            // What a frame that was begun anew has waited for, and the note with which it began, belong to the lesson.
            let questions = &node.record().questions;
            // The results of a salvaged frame say what it has waited for last.
            let record = node.record();
            let is_said = record.has_salvaged_results() && questions.last().is_some_and(|last| last.interruption);
            let questions = &questions[..questions.len() - usize::from(is_said)];
            let shown = if node.retried_as().is_some() { questions.len().min(SHOWN_QUESTIONS) } else { 0 };
            for asked in &questions[questions.len() - shown..] {
                levels.text("question", &asked.question, QUESTION_TOKENS);
                levels.text("answer", asked.answer.as_deref().unwrap_or_default(), QUESTION_TOKENS);
            }
            head = levels.mark();
            let results = levels.element("results", node.record().dense_results(), TEXT_TOKENS);
            has_more = results.ends_with(&format!("{CUT}</results>\n"));
            levels.push(&results);
        } else {
            let criteria = first_filled(settled.success_criteria_compacted, settled.success_criteria);
            levels.text("success-criteria", criteria, TEXT_TOKENS);
            if settled.has_partial_results {
                levels.text("partial-results", settled.dense_results(), TEXT_TOKENS);
            }
        }
        levels.end(DetailLevel::Compact);
        levels.artifacts(settled.artifacts);
        levels.end(DetailLevel::Standard);
        levels.decisions(settled.decisions);
        levels.end(DetailLevel::Full);
        if has_more {
            // Longer results replace those that were cut, so the next level starts with a copy of the head.
            levels.restart(head);
            levels.text("results", node.record().dense_results(), WHOLE_RESULTS_TOKENS);
            levels.artifacts(settled.artifacts);
            levels.decisions(settled.decisions);
        }
        levels.end(DetailLevel::Whole);
        levels.fragment
    }

    /// Renders the current frame for the end of the volatile part, with its newest values. Each request pays for them
    /// again. A conversation that has the full criteria was not compacted: the compacted ones remind the agent of them,
    /// unless the frame is finished, and its log has nothing more. A called frame that is finished has stated its results
    /// there.
    pub(super) fn current(
        handle: Handle,
        node: &Node,
        log: Option<String>,
        conversation: Conversation,
        counter: &dyn TokenCounter,
    ) -> Self {
        let frame = node.record();
        let mut levels = FragmentWriter::new("</current-frame>\n", counter);
        let full = first_filled(&frame.success_criteria, &frame.success_criteria_compacted);
        let full = levels.element("success-criteria", full, CRITERIA_TOKENS);
        let compacted = levels.element("success-criteria", frame.dense_criteria(), TEXT_TOKENS);
        levels.open("current-frame", handle, node);
        levels.title(&frame.title);
        levels.end(DetailLevel::Stub);
        if conversation.has_criteria {
            if !node.status().is_finished() {
                levels.push(&compacted);
            }
            levels.end(DetailLevel::Compact);
        } else if counter.count(&compacted) < counter.count(&full) {
            let head = levels.mark();
            levels.push(&compacted);
            levels.end(DetailLevel::Compact);
            // The full criteria replace the compacted ones, so the next level starts with a copy of the head.
            levels.restart(head);
            levels.push(&full);
        } else {
            levels.push(&full);
            levels.end(DetailLevel::Compact);
        }
        levels.artifacts(&frame.artifacts);
        levels.end(DetailLevel::Standard);
        levels.decisions(&frame.decisions);
        if frame.has_partial_results() {
            levels.text("partial-results", frame.dense_results(), TEXT_TOKENS);
        } else if !(node.status().is_open() || conversation.is_called && node.status().is_finished()) {
            levels.text("results", frame.dense_results(), TEXT_TOKENS);
        }
        if !conversation.has_criteria {
            levels.log(log);
        }
        levels.end(DetailLevel::Full);
        levels.end(DetailLevel::Whole);
        levels.fragment
    }
}

/// Writes the detail levels of a fragment in ascending order. Every element ends with a line end, so the sum of the
/// costs of the elements is an upper bound of the cost of the whole (see [`TokenCounter`]).
struct FragmentWriter<'a> {
    fragment: Fragment,
    counter: &'a dyn TokenCounter,
    start: usize,
    cost: Cost,
}

impl<'a> FragmentWriter<'a> {
    fn new(closing: &'static str, counter: &'a dyn TokenCounter) -> Self {
        let fragment = Fragment { text: String::new(), closing, log: None, levels: [(0, 0, Cost::default()); 5] };
        Self { fragment, counter, start: 0, cost: Cost::of(closing, counter) }
    }

    fn push(&mut self, element: &str) {
        self.cost += Cost::of(element, self.counter);
        self.fragment.text.push_str(element);
    }

    fn write(&mut self, element: fmt::Arguments<'_>) {
        let start = self.fragment.text.len();
        // Writing into a text cannot fail.
        let _ = self.fragment.text.write_fmt(element);
        self.cost += Cost::of(&self.fragment.text[start..], self.counter);
    }

    fn end(&mut self, detail_level: DetailLevel) {
        let level = detail_level as usize - 1;
        let before = level.checked_sub(1).map_or(Cost::default(), |before| self.fragment.levels[before].2);
        self.fragment.levels[level] = (self.start, self.fragment.text.len(), self.cost.max(before));
    }

    /// Returns the current end of the text and the cost so far, for [`FragmentWriter::restart`].
    fn mark(&self) -> (usize, Cost) {
        (self.fragment.text.len(), self.cost)
    }

    fn restart(&mut self, (end, cost): (usize, Cost)) {
        let head = self.fragment.text[self.start..end].to_owned();
        self.start = self.fragment.text.len();
        self.fragment.text.push_str(&head);
        self.cost = cost;
    }

    fn open(&mut self, name: &str, handle: Handle, node: &Node) {
        self.write(format_args!("<{name} id=\"{handle}\" status=\"{}\">\n", node.status()));
    }

    fn title(&mut self, title: &str) {
        self.text("title", title, TITLE_TOKENS);
    }

    fn text(&mut self, name: &str, text: &str, limit: usize) {
        let element = self.element(name, text, limit);
        self.push(&element);
    }

    /// Returns a text in an XML element, without long blanks and cut to `limit` tokens; empty if the text is blank.
    fn element(&self, name: &str, text: &str, limit: usize) -> String {
        let (text, omitted) = without_long_blanks(text);
        if text.is_empty() {
            return String::new();
        }
        let cost = |part: &str| charge(&content(part), self.counter);
        let omitted = omitted_blanks(omitted);
        let (text, _) = truncate_by(&text, limit.saturating_sub(charge(&omitted, self.counter)), CUT, &cost);
        format!("<{name}{omitted}>{}</{name}>\n", content(&text))
    }

    fn artifacts(&mut self, artifacts: &[String]) {
        let (shown, hidden) = self.newest(artifacts);
        if !shown.is_empty() {
            let more = if hidden > 0 { format!(" (and {hidden} before)") } else { String::new() };
            let omitted = omitted_blanks(shown.iter().map(|entry| entry.omitted).sum());
            let texts: Vec<&str> = shown.iter().map(|entry| entry.text.as_str()).collect();
            self.write(format_args!("<artifacts{omitted}>{}{more}</artifacts>\n", content(&texts.join(", "))));
        }
    }

    fn decisions(&mut self, decisions: &[String]) {
        let (shown, hidden) = self.newest(decisions);
        if shown.is_empty() {
            return;
        }
        self.push("<decisions>\n");
        if hidden > 0 {
            self.write(format_args!("({hidden} before)\n"));
        }
        for ListEntry { text, omitted } in &shown {
            self.write(format_args!("<decision{}>{}</decision>\n", omitted_blanks(*omitted), content(text)));
        }
        self.push("</decisions>\n");
    }

    /// Adds the path of the log if it is short enough. It is never cut, because an incomplete path is useless.
    fn log(&mut self, path: Option<String>) {
        let Some(path) = path else { return };
        let element = format!("<log>{}</log>\n", content(&path));
        if charge(&element, self.counter) <= LIST_TOKENS {
            self.push(&element);
            self.fragment.log = Some(path);
        }
    }

    /// Returns the newest entries that fit, in order, and the number of the others.
    fn newest(&self, entries: &[String]) -> (Vec<ListEntry>, usize) {
        let cost = |part: &str| charge(&content(part), self.counter);
        let mut shown = Vec::new();
        let mut left = LIST_TOKENS;
        for entry in entries.iter().rev() {
            let (text, omitted) = without_long_blanks(entry);
            let around = charge(&omitted_blanks(omitted), self.counter);
            let (text, cost) = truncate_by(&text, LIST_TOKENS - 1 - around, CUT, &cost);
            // One more for what stands between two entries.
            let needed = cost.saturating_add(1 + around);
            if needed > left {
                break;
            }
            left -= needed;
            shown.push(ListEntry { text: text.into_owned(), omitted });
        }
        shown.reverse();
        let hidden = entries.len() - shown.len();
        (shown, hidden)
    }
}

/// An entry of a list as it is shown.
struct ListEntry {
    text: String,
    /// The number of blanks that were left out.
    omitted: usize,
}
