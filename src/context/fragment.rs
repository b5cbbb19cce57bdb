//! The XML of a frame, rendered once for all detail levels from stub to whole, with the cost of each.

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::Conversation;
use super::cost::{BYTES_PER_TOKEN, Cost, charge};
use super::tokens::{TokenCounter, truncate_by};
use super::xml::{content, omitted_blanks, without_long_blanks};
use crate::dense::dense;
use crate::frame::{Handle, first_filled};
use crate::tree::Node;

/// How much of a frame is shown. Each level contains the one before it. In JSON for example `"stub"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DetailLevel {
    /// The frame is not shown. The element `truncation` (for ancestors: also `omitted`) or the attribute
    /// `omitted` of the planned children counts it.
    Omitted,
    /// Handle, status and title. Planned children are shown without their status.
    Stub,
    /// Also the compacted results; for an open ancestor, the compacted criteria and the results so far; for
    /// the current frame, the compacted criteria. If there is no compacted text, the full one.
    Compact,
    /// Also the artifacts. For the current frame, the full criteria replace the compacted ones, unless its
    /// conversation has them.
    Standard,
    /// Also the decisions. For the current frame, also its results, and the path of its log, unless its
    /// conversation has them.
    Full,
    /// Of a dependency, also up to 2,000 tokens of its results instead of 300.
    Whole,
}

/// Maximum length of a title, in tokens. It keeps stubs small.
pub(super) const TITLE_TOKENS: usize = 48;
/// Maximum length of a text in a fragment, in tokens.
const TEXT_TOKENS: usize = 300;
/// Maximum length of what an earlier attempt waited for, and of the answer, in tokens. Then the number of
/// these that are shown: the newest ones.
const QUESTION_TOKENS: usize = 120;
const SHOWN_QUESTIONS: usize = 2;
/// Maximum length of the results at the detail level `Whole`, in tokens.
const WHOLE_RESULTS_TOKENS: usize = 2_000;
/// Maximum length of the full criteria of the current frame, in tokens.
const CRITERIA_TOKENS: usize = 600;
/// Maximum length of the list of artifacts or of decisions, in tokens. The newest entries are shown.
const LIST_TOKENS: usize = 150;
/// Most fragments take less than this number of bytes while they are written.
const USUAL_SIZE: usize = 1_024;
/// The end of a text that was cut.
pub(super) const CUT: &str = " … [cut]";

/// The renderings of one frame. They share one buffer: each detail level is a part of it, followed by the
/// closing tag.
#[derive(Debug)]
pub(super) struct Fragment {
    text: Box<str>,
    closing: &'static str,
    /// The path of the current frame's log, which the detail level `Full` names.
    log: Option<String>,
    /// For each detail level from `Stub` up: its start and end in the buffer, in bytes, and its cost,
    /// including the closing tag. Costs do not fall from one level to the next.
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

    /// Renders a frame for the stable part, as an ancestor, dependency or sibling. It shows the settled view,
    /// so it stays unchanged until the next push or status change in the tree.
    pub(super) fn settled(handle: Handle, node: &Node, counter: &dyn TokenCounter) -> Self {
        let settled = node.settled();
        let mut levels = FragmentWriter::new("</frame>\n", counter);
        levels.open("frame", handle, node);
        levels.title(settled.title);
        levels.end(DetailLevel::Stub);
        let (mut head, mut has_more) = (levels.mark(), false);
        if node.status().is_finished() {
            // What a retried frame has waited for, and the note with which it began, belong to the lesson.
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
            let (results, is_whole) = levels.dense("results", node.record().dense_results(), TEXT_TOKENS);
            has_more = !is_whole;
            levels.push(&results);
        } else {
            let criteria = first_filled(settled.success_criteria_compacted, settled.success_criteria);
            levels.text("success-criteria", criteria, TEXT_TOKENS);
            if settled.has_partial_results {
                levels.dense_text("partial-results", settled.dense_results(), TEXT_TOKENS);
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
            levels.dense_text("results", node.record().dense_results(), WHOLE_RESULTS_TOKENS);
            levels.artifacts(settled.artifacts);
            levels.decisions(settled.decisions);
        }
        levels.end(DetailLevel::Whole);
        levels.finish()
    }

    /// Renders the current frame for the end of the volatile part, with its newest values. Each request pays
    /// for them again. A conversation that has the full criteria was not compacted. Then the compacted
    /// criteria remind the agent of the full ones, unless the frame is finished, and the frame's log has
    /// nothing more. A called frame that is finished has stated its results in the conversation.
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
        } else if compacted.cost.tokens < full.cost.tokens {
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
            levels.dense_text("partial-results", frame.dense_results(), TEXT_TOKENS);
        } else if !(node.status().is_open() || conversation.is_called && node.status().is_finished()) {
            levels.dense_text("results", frame.dense_results(), TEXT_TOKENS);
        }
        if !conversation.has_criteria {
            levels.log(log);
        }
        levels.end(DetailLevel::Full);
        levels.end(DetailLevel::Whole);
        levels.finish()
    }
}

/// Writes the detail levels of a fragment in ascending order. Every element ends with a line end, so the sum
/// of the costs of the elements is an upper bound of the cost of the whole (see [`TokenCounter`]).
struct FragmentWriter<'a> {
    text: String,
    closing: &'static str,
    log: Option<String>,
    levels: [(usize, usize, Cost); 5],
    counter: &'a dyn TokenCounter,
    start: usize,
    cost: Cost,
}

impl<'a> FragmentWriter<'a> {
    fn new(closing: &'static str, counter: &'a dyn TokenCounter) -> Self {
        Self {
            text: String::with_capacity(USUAL_SIZE),
            closing,
            log: None,
            levels: [(0, 0, Cost::default()); 5],
            counter,
            start: 0,
            cost: Cost::of(closing, counter),
        }
    }

    fn finish(self) -> Fragment {
        Fragment { text: self.text.into(), closing: self.closing, log: self.log, levels: self.levels }
    }

    fn push(&mut self, element: &Element) {
        self.cost += element.cost;
        self.text.push_str(&element.xml);
    }

    fn write(&mut self, element: fmt::Arguments<'_>) {
        let start = self.text.len();
        // Writing into a text cannot fail.
        let _ = self.text.write_fmt(element);
        self.cost += Cost::of(&self.text[start..], self.counter);
    }

    fn end(&mut self, detail_level: DetailLevel) {
        let level = detail_level as usize - 1;
        let before = level.checked_sub(1).map_or(Cost::default(), |before| self.levels[before].2);
        self.levels[level] = (self.start, self.text.len(), self.cost.max(before));
    }

    /// Returns the current end of the text and the cost so far, for [`FragmentWriter::restart`].
    fn mark(&self) -> (usize, Cost) {
        (self.text.len(), self.cost)
    }

    fn restart(&mut self, (end, cost): (usize, Cost)) {
        let head = self.text[self.start..end].to_owned();
        self.start = self.text.len();
        self.text.push_str(&head);
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

    /// Adds results, if they are not blank: all, or the sentences that say most.
    fn dense_text(&mut self, name: &str, text: &str, limit: usize) {
        let (element, _) = self.dense(name, text, limit);
        self.push(&element);
    }

    /// Returns a text in an XML element, without long blanks and cut to `limit` tokens; empty if the text is
    /// blank.
    fn element(&self, name: &str, text: &str, limit: usize) -> Element {
        let cut =
            |text: &str, limit: usize, cost: &dyn Fn(&str) -> usize| truncate_by(text, limit, CUT, cost).0.into_owned();
        self.shortened(name, text, limit, cut).0
    }

    /// As [`FragmentWriter::element`], but a text that is too long becomes the sentences that say most. The
    /// value is false if it is too long.
    fn dense(&self, name: &str, text: &str, limit: usize) -> (Element, bool) {
        let shortest = |text: &str, limit: usize, cost: &dyn Fn(&str) -> usize| dense(text, limit, cost).0.into_owned();
        self.shortened(name, text, limit, shortest)
    }

    fn shortened(
        &self,
        name: &str,
        text: &str,
        limit: usize,
        shorten: impl Fn(&str, usize, &dyn Fn(&str) -> usize) -> String,
    ) -> (Element, bool) {
        let (text, omitted) = without_long_blanks(text);
        if text.is_empty() {
            return (Element::default(), true);
        }
        let omitted = omitted_blanks(omitted);
        let written = |text: &str| Element::of(tagged(name, &omitted, &content(text)), self.counter);
        // Most texts fit with the tags around them, so they are counted only once.
        if may_fit(text.len(), limit) {
            let whole = written(&text);
            if whole.cost.charge() <= limit {
                return (whole, true);
            }
        }
        let cost = |part: &str| charge(&content(part), self.counter);
        let shown = shorten(&text, limit.saturating_sub(charge(&omitted, self.counter)), &cost);
        let is_whole = shown.len() == text.trim().len();
        (written(&shown), is_whole)
    }

    fn artifacts(&mut self, artifacts: &[String]) {
        self.list(artifacts, |shown, hidden| {
            let more = if hidden > 0 { format!(" (and {hidden} before)") } else { String::new() };
            let omitted = omitted_blanks(shown.iter().map(|entry| entry.omitted).sum());
            let texts: Vec<&str> = shown.iter().map(|entry| &*entry.text).collect();
            tagged("artifacts", &omitted, &(content(&texts.join(", ")) + &*more))
        });
    }

    fn decisions(&mut self, decisions: &[String]) {
        self.list(decisions, |shown, hidden| {
            let before = if hidden > 0 { format!("({hidden} before)\n") } else { String::new() };
            let decision =
                |entry: &ListEntry| tagged("decision", &omitted_blanks(entry.omitted), &content(&entry.text));
            let decisions: Vec<String> = shown.iter().map(decision).collect();
            format!("<decisions>\n{before}{}</decisions>\n", decisions.concat())
        });
    }

    /// Adds the element that `write` makes of the newest entries that fit and the number of the others,
    /// unless there are no entries.
    fn list(&mut self, entries: &[String], write: impl Fn(&[ListEntry<'_>], usize) -> String) {
        if entries.is_empty() {
            return;
        }
        // Most lists fit with the tags around them, so they are counted only once.
        if entries.len() <= LIST_TOKENS && may_fit(entries.iter().map(String::len).sum(), LIST_TOKENS) {
            let entries: Vec<ListEntry> = entries.iter().map(|entry| ListEntry::of(entry)).collect();
            let whole = Element::of(write(&entries, 0), self.counter);
            if whole.cost.charge() <= LIST_TOKENS {
                return self.push(&whole);
            }
        }
        let (shown, hidden) = self.newest(entries);
        if !shown.is_empty() {
            self.push(&Element::of(write(&shown, hidden), self.counter));
        }
    }

    /// Adds the path of the log if it is short enough. It is never cut, because an incomplete path is
    /// useless.
    fn log(&mut self, path: Option<String>) {
        let Some(path) = path else { return };
        let element = Element::of(tagged("log", "", &content(&path)), self.counter);
        if element.cost.charge() <= LIST_TOKENS {
            self.push(&element);
            self.log = Some(path);
        }
    }

    /// Returns the newest entries that fit, in order, and the number of the others.
    fn newest<'b>(&self, entries: &'b [String]) -> (Vec<ListEntry<'b>>, usize) {
        let cost = |part: &str| charge(&content(part), self.counter);
        let mut shown = Vec::new();
        let mut left = LIST_TOKENS;
        for entry in entries.iter().rev() {
            let ListEntry { text, omitted } = ListEntry::of(entry);
            let around = charge(&omitted_blanks(omitted), self.counter);
            let (text, cost) = truncate_by(&text, LIST_TOKENS - 1 - around, CUT, &cost);
            // One more for what stands between two entries.
            let needed = cost.saturating_add(1 + around);
            if needed > left {
                break;
            }
            left -= needed;
            shown.push(ListEntry { text: text.into_owned().into(), omitted });
        }
        shown.reverse();
        let hidden = entries.len() - shown.len();
        (shown, hidden)
    }
}

/// An element with its line end.
fn tagged(name: &str, attributes: &str, content: &str) -> String {
    ["<", name, attributes, ">", content, "</", name, ">\n"].concat()
}

/// True if a text of this number of bytes may be within a limit in tokens.
fn may_fit(bytes: usize, limit: usize) -> bool {
    bytes <= limit * BYTES_PER_TOKEN
}

/// The XML of an element with its line end, or nothing, and its cost.
#[derive(Default)]
struct Element {
    xml: String,
    cost: Cost,
}

impl Element {
    fn of(xml: String, counter: &dyn TokenCounter) -> Self {
        let cost = Cost::of(&xml, counter);
        Self { xml, cost }
    }
}

/// An entry of a list as it is shown.
struct ListEntry<'a> {
    text: Cow<'a, str>,
    /// The number of blanks that were left out.
    omitted: usize,
}

impl<'a> ListEntry<'a> {
    fn of(entry: &'a str) -> Self {
        let (text, omitted) = without_long_blanks(entry);
        Self { text, omitted }
    }
}
