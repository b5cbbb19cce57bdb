//! A frame as XML, rendered once: every detail level from stub to full, with what each costs.

use serde::{Deserialize, Serialize};

use super::tokens::{TokenCounter, truncate_by};
use super::xml::content;
use crate::frame::{Handle, first_filled};
use crate::tree::Node;

/// How much of a frame is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DetailLevel {
    /// Not at all; counted in `truncation`.
    Omitted,
    /// Handle, status and title.
    Stub,
    /// And the compacted results, or the compacted criteria while the frame is open.
    Compact,
    /// And the artifacts; of the current frame also the full criteria.
    Standard,
    /// And the decisions and the path of the log; of the current frame also results so far.
    Full,
}

/// Longest title, in tokens: stubs must stay small whatever hosts call their frames.
pub(super) const TITLE_TOKENS: usize = 48;
/// Longest text of one kind that a fragment holds, in tokens.
const TEXT_TOKENS: usize = 300;
/// The current frame's own criteria, which its agent works by, may be longer.
const CRITERIA_TOKENS: usize = 600;
/// Longest list of artifacts or of decisions, in tokens. The newest are shown.
const LIST_TOKENS: usize = 150;
/// How a cut text ends.
pub(super) const CUT: &str = " … [cut]";

/// The renderings of one frame. They share one buffer; a detail level is a part of it and a closing tag.
#[derive(Debug)]
pub(super) struct Fragment {
    text: String,
    closing: &'static str,
    /// Path of the log that the full detail level names.
    log: Option<String>,
    /// For each detail level from the stub up: where the detail level stands in the text, and its cost with the closing tag.
    levels: [(usize, usize, usize); 4],
}

impl Fragment {
    /// Tokens that a detail level costs; omitted costs nothing.
    pub(super) fn cost(&self, detail_level: DetailLevel) -> usize {
        match detail_level {
            DetailLevel::Omitted => 0,
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

    /// Path of the log, if this detail level names it.
    pub(super) fn log(&self, detail_level: DetailLevel) -> Option<&String> {
        self.log.as_ref().filter(|_| detail_level == DetailLevel::Full)
    }

    /// A frame as it stands in the stable part: among ancestors, dependencies and siblings. It
    /// shows the settled view, so it stays until a push, pop or invalidation.
    pub(super) fn settled(handle: Handle, node: &Node, log: Option<String>, counter: &dyn TokenCounter) -> Self {
        let settled = node.settled();
        let mut levels = FragmentWriter::new("</frame>\n", counter);
        levels.open("frame", handle, node);
        levels.title(settled.title);
        levels.end(DetailLevel::Stub);
        if node.status().is_finished() {
            levels.text("results", node.record().dense_results(), TEXT_TOKENS);
        } else {
            let criteria = first_filled(settled.success_criteria_compacted, settled.success_criteria);
            levels.text("success-criteria", criteria, TEXT_TOKENS);
        }
        levels.end(DetailLevel::Compact);
        levels.artifacts(settled.artifacts);
        levels.end(DetailLevel::Standard);
        levels.decisions(settled.decisions);
        levels.log(log);
        levels.end(DetailLevel::Full);
        levels.fragment
    }

    /// The current frame as it stands at the end of the volatile part, with all that is new.
    pub(super) fn current(handle: Handle, node: &Node, log: Option<String>, counter: &dyn TokenCounter) -> Self {
        let frame = node.record();
        let mut levels = FragmentWriter::new("</current-frame>\n", counter);
        let full = first_filled(&frame.success_criteria, &frame.success_criteria_compacted);
        let full = levels.element("success-criteria", full, CRITERIA_TOKENS);
        let compacted = levels.element("success-criteria", frame.dense_criteria(), TEXT_TOKENS);
        levels.open("current-frame", handle, node);
        levels.title(&frame.title);
        levels.end(DetailLevel::Stub);
        if counter.count(&compacted) < counter.count(&full) {
            let head = levels.mark();
            levels.push(&compacted);
            levels.end(DetailLevel::Compact);
            // The full criteria replace the compacted ones: the detail level begins again from the head.
            levels.restart(head);
            levels.push(&full);
        } else {
            levels.push(&full);
            levels.end(DetailLevel::Compact);
        }
        levels.artifacts(&frame.artifacts);
        levels.end(DetailLevel::Standard);
        levels.decisions(&frame.decisions);
        levels.text("results", frame.dense_results(), TEXT_TOKENS);
        levels.log(log);
        levels.end(DetailLevel::Full);
        levels.fragment
    }
}

/// Writes the detail levels of a fragment one after the other, each what the one before has and more.
/// Every element ends in a line end, where tokens end too, so the costs just add up.
struct FragmentWriter<'a> {
    fragment: Fragment,
    counter: &'a dyn TokenCounter,
    start: usize,
    cost: usize,
}

impl<'a> FragmentWriter<'a> {
    fn new(closing: &'static str, counter: &'a dyn TokenCounter) -> Self {
        let fragment = Fragment { text: String::new(), closing, log: None, levels: [(0, 0, 0); 4] };
        Self { fragment, counter, start: 0, cost: counter.count(closing) }
    }

    fn push(&mut self, element: &str) {
        self.cost += self.counter.count(element);
        self.fragment.text.push_str(element);
    }

    fn end(&mut self, detail_level: DetailLevel) {
        self.fragment.levels[detail_level as usize - 1] = (self.start, self.fragment.text.len(), self.cost);
    }

    /// The end of the text and its cost, to restart from.
    fn mark(&self) -> (usize, usize) {
        (self.fragment.text.len(), self.cost)
    }

    fn restart(&mut self, (end, cost): (usize, usize)) {
        let head = self.fragment.text[self.start..end].to_owned();
        self.start = self.fragment.text.len();
        self.fragment.text.push_str(&head);
        self.cost = cost;
    }

    fn open(&mut self, name: &str, handle: Handle, node: &Node) {
        self.push(&format!("<{name} id=\"{handle}\" status=\"{}\">\n", node.status()));
    }

    fn title(&mut self, title: &str) {
        self.text("title", title, TITLE_TOKENS);
    }

    fn text(&mut self, name: &str, text: &str, limit: usize) {
        let element = self.element(name, text, limit);
        self.push(&element);
    }

    /// A text in its element, cut to the limit; nothing if it is empty.
    fn element(&self, name: &str, text: &str, limit: usize) -> String {
        let text = text.trim();
        if text.is_empty() {
            return String::new();
        }
        let cost = |part: &str| self.counter.count(&content(part));
        let text = truncate_by(text, limit, CUT, cost);
        format!("<{name}>{}</{name}>\n", content(&text))
    }

    fn artifacts(&mut self, artifacts: &[String]) {
        let (shown, hidden) = self.newest(artifacts);
        if !shown.is_empty() {
            let more = if hidden > 0 { format!(" (and {hidden} before)") } else { String::new() };
            self.push(&format!("<artifacts>{}{more}</artifacts>\n", content(&shown.join(", "))));
        }
    }

    fn decisions(&mut self, decisions: &[String]) {
        let (shown, hidden) = self.newest(decisions);
        if shown.is_empty() {
            return;
        }
        self.push("<decisions>\n");
        if hidden > 0 {
            self.push(&format!("({hidden} before)\n"));
        }
        for decision in &shown {
            self.push(&format!("<decision>{}</decision>\n", content(decision)));
        }
        self.push("</decisions>\n");
    }

    /// The path of the log, whole or not at all: part of a path leads nowhere.
    fn log(&mut self, path: Option<String>) {
        let Some(path) = path else { return };
        let element = format!("<log>{}</log>\n", content(&path));
        if self.counter.count(&element) <= LIST_TOKENS {
            self.push(&element);
            self.fragment.log = Some(path);
        }
    }

    /// The newest entries that fit, in order, and how many do not.
    fn newest(&self, entries: &[String]) -> (Vec<String>, usize) {
        let cost = |part: &str| self.counter.count(&content(part)) + 1;
        let mut shown = Vec::new();
        let mut left = LIST_TOKENS;
        for entry in entries.iter().rev() {
            let entry = truncate_by(entry.trim(), LIST_TOKENS - 1, CUT, |part| cost(part) - 1);
            let needed = cost(&entry);
            if needed > left {
                break;
            }
            left -= needed;
            shown.push(entry.into_owned());
        }
        shown.reverse();
        let hidden = entries.len() - shown.len();
        (shown, hidden)
    }
}
