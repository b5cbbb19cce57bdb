//! Compaction, that is, the replacement of a session's conversation by a summary: the prompt for the summary,
//! its extraction from the session's messages, and its validation (specification, "Compaction Integration").
//!
//! A summary that is empty, or that contains less than the frame's results, is refused, and the frame keeps
//! its results. Artifacts and decisions belong to the frame and not to the conversation, so no summary
//! changes them.
//!
//! ```
//! use callstack_core::session::compaction::{Compactions, CompactionType, Message, SummaryRequest, judge};
//! use callstack_core::{NewFrame, Stack};
//!
//! let stack = Stack::in_memory();
//! let root = stack.push(NewFrame::new("Parse the configuration").id("ses_1").criteria("All options are read"))?;
//! let mut compactions = Compactions::default();
//! let request = SummaryRequest::new(CompactionType::ManualSummary, Some("before the refactoring".into()), 1_000);
//! compactions.request("ses_1", request);
//! let prompt = compactions.prompt("ses_1", &stack.frame(root)?, &[]);
//! assert!(prompt.contains("All options are read") && prompt.contains("before the refactoring"));
//!
//! let messages = [Message::summary("The parser reads flags and paths; nested tables are left.")];
//! let summary = judge(&messages, &stack.frame(root)?).unwrap();
//! assert!(summary.compacted.starts_with("The parser reads flags"));
//! # Ok::<(), callstack_core::Error>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dense::dense_characters;
pub use crate::frame::{CompactionType, SummaryRequest};
use crate::frame::{Frame, Results};
use crate::keywords::keywords;
use crate::text::{hanging_indent, newest_lines, one_line};

/// Maximum length of the compacted form of a summary, in characters.
const COMPACTED_CHARACTERS: usize = 400;
/// Minimum number of distinct significant words of a summary.
const LEAST_WORDS: usize = 3;
/// Maximum number of a frame's artifacts, decisions and chunks in a prompt; the newest are shown.
const LISTED: usize = 30;

/// A compaction that was requested and is not finished yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PendingCompaction {
    /// The request.
    #[serde(flatten)]
    pub request: SummaryRequest,
    /// True if the host was asked to compact.
    pub is_begun: bool,
}

impl PendingCompaction {
    /// True if the next compaction of the session is the requested one. A compaction that the host makes
    /// automatically, in the middle of the work, is not the end of the frame.
    fn is_next(&self) -> bool {
        self.is_begun || self.request.compaction_type != CompactionType::FrameCompletion
    }
}

/// Numbers of compactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompactionStatistics {
    /// Finished compactions.
    pub compactions: u64,
    /// Compactions whose summary was accepted.
    pub taken: u64,
    /// Compactions whose summary was refused.
    pub refused: u64,
}

/// The pending compactions by session, and the statistics.
#[derive(Debug, Clone, Default)]
pub struct Compactions {
    pending: BTreeMap<String, PendingCompaction>,
    statistics: CompactionStatistics,
}

impl Compactions {
    /// Requests a compaction of a session, or sets the reason for the next one. A later request replaces an
    /// earlier one. A blank note counts as none.
    pub fn request(&mut self, session_id: &str, request: SummaryRequest) {
        let note = request.note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        let request = SummaryRequest { note, ..request };
        self.pending.insert(session_id.to_owned(), PendingCompaction { request, is_begun: false });
    }

    /// Requests a compaction that was requested before a restart, unless one is requested already.
    pub(super) fn restore(&mut self, session_id: &str, request: &SummaryRequest) {
        if !self.pending.contains_key(session_id) {
            self.request(session_id, request.clone());
        }
    }

    /// True if a compaction of this type is requested.
    pub fn is_pending(&self, session_id: &str, compaction_type: CompactionType) -> bool {
        let pending = self.pending.get(session_id);
        pending.is_some_and(|pending| pending.request.compaction_type == compaction_type)
    }

    /// Returns true once if a compaction of this type is pending. The caller must then ask the host to
    /// compact.
    pub fn begin(&mut self, session_id: &str, compaction_type: CompactionType) -> bool {
        self.is_pending(session_id, compaction_type) && self.begin_any(session_id)
    }

    /// Returns true once if a compaction of any type is pending.
    pub fn begin_any(&mut self, session_id: &str) -> bool {
        self.pending.get_mut(session_id).is_some_and(|pending| !std::mem::replace(&mut pending.is_begun, true))
    }

    /// The pending compactions with the IDs of their sessions.
    pub fn pending(&self) -> impl Iterator<Item = (&str, &PendingCompaction)> {
        self.pending.iter().map(|(session_id, pending)| (session_id.as_str(), pending))
    }

    /// Returns the prompt for the summary of a session: see [`prompt`]. Without a request the reason is
    /// [`CompactionType::Overflow`].
    pub fn prompt(&self, session_id: &str, frame: &Frame, children: &[String]) -> String {
        let next = self.pending.get(session_id).filter(|pending| pending.is_next()).map(|pending| &pending.request);
        let compaction_type = next.map_or_else(CompactionType::default, |request| request.compaction_type);
        prompt(compaction_type, frame, children, next.and_then(|request| request.note.as_deref()))
    }

    /// Notes that a session was compacted and whether its summary was accepted. Returns the request; if there
    /// was none, one of the type [`CompactionType::Overflow`].
    pub fn finished(&mut self, session_id: &str, is_taken: bool) -> SummaryRequest {
        self.statistics.compactions += 1;
        match is_taken {
            true => self.statistics.taken += 1,
            false => self.statistics.refused += 1,
        }
        let is_next = self.pending.get(session_id).is_some_and(PendingCompaction::is_next);
        let ended = if is_next { self.pending.remove(session_id) } else { None };
        ended.map_or_else(SummaryRequest::default, |pending| pending.request)
    }

    /// Removes the request for a session that was deleted or finished.
    pub fn forget(&mut self, session_id: &str) {
        self.pending.remove(session_id);
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> CompactionStatistics {
        self.statistics
    }
}

/// Creates the prompt for the summary of a frame's conversation. It contains the situation, the frame's
/// title, criteria, results, newest artifacts, decisions and chunks, the note, and the topics that the
/// summary must cover.
///
/// `children` names the newest finished children, oldest first. The frame's context shows their results after
/// the compaction. The summary need not repeat them, unless the frame is being finished.
pub fn prompt(compaction_type: CompactionType, frame: &Frame, children: &[String], note: Option<&str>) -> String {
    let (situation, wanted): (&str, &[&str]) = match compaction_type {
        CompactionType::Overflow => (
            "The conversation has grown too long and will be replaced by your summary. You will continue the work from \
             this summary, so write it for yourself.",
            &[
                "the work done so far and its results",
                "your current activity and the very next step",
                "the success criteria that are still open",
                "failed attempts and their causes, so that you do not repeat them",
                "names, paths, commands and values that you need to continue",
            ],
        ),
        CompactionType::FrameCompletion => (
            "This frame is being finished. Your summary is all that its parent and later frames will know about it.",
            &[
                "the success criteria that are met and those that are not",
                "everything that was created or changed, with its location",
                "how to use the results: interfaces, commands, conventions",
                "decisions that later work must follow, with their reasons",
                "work that is blocked or not done yet",
            ],
        ),
        CompactionType::ManualSummary => (
            "A checkpoint was requested: a summary from which you or another agent can resume the work.",
            &[
                "the progress, measured by the success criteria",
                "the decisions made and the lessons learnt",
                "the next steps, in order",
                "everything that is uncertain or blocked",
            ],
        ),
    };
    let mut text = format!("{situation}\n\nThe frame: {}\n", one_line(&frame.title));
    let mut add = |heading: &str, body: &str| {
        if !body.trim().is_empty() {
            text.push_str(&format!("{heading}: {}\n", hanging_indent(body.trim())));
        }
    };
    add("Its success criteria", &frame.success_criteria);
    add("Known so far", frame.said_results());
    add("Artifacts (already recorded, do not repeat them)", &listed(&frame.artifacts));
    add("Decisions (already recorded, do not repeat them)", &listed(&frame.decisions));
    let chunks: Vec<String> = frame.heap.iter().map(|chunk| chunk.name.clone()).collect();
    add("Chunks on the heap (kept verbatim, do not repeat them)", &listed(&chunks));
    if compaction_type != CompactionType::FrameCompletion {
        add("Newest finished child frames (their results stay in your context, do not repeat them)", &listed(children));
    }
    add("Special request", note.unwrap_or_default());
    text.push_str("\nWrite about these points, in this order:\n");
    wanted.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
    text.push_str("\nWrite only facts, no pleasantries. Leave out a point if there is nothing to write about it.\n");
    text
}

/// Joins the newest entries of a list on one line.
fn listed(entries: &[String]) -> String {
    let (shown, skipped) = newest_lines(entries, LISTED, "; ");
    if skipped > 0 { format!("{shown}; and {skipped} older ones") } else { shown }
}

/// A message of a host's session. The library searches it for a summary and writes it to the frame's log.
///
/// In JSON:
/// `{"id": "msg_1", "role": "assistant", "summary": true, "text": "The parser works.", "parts": []}`.
/// Every key is optional.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SessionMessage"))]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    /// ID of the message. It prevents duplicates in the frame's log.
    pub id: String,
    /// The author: `user` or `assistant`.
    pub role: String,
    /// True if the host marks the message as the summary of a compaction. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// True if the message still changes, for example because the model writes it. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Time at which the message began, in milliseconds since the Unix epoch. If it is absent, the frame's
    /// log has the time at which the message was logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// All text parts of the message, joined.
    pub text: String,
    /// All parts of the message in the host's format, for the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Value>,
}

impl Message {
    /// Creates a message of the assistant.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: "assistant".into(), text: text.into(), ..Self::default() }
    }

    /// Creates a message that is marked as the summary of a compaction.
    pub fn summary(text: impl Into<String>) -> Self {
        Self { summary: true, ..Self::assistant(text) }
    }
}

/// An accepted summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The full text.
    pub text: String,
    /// The beginning of the text for the prompts of other frames: at most 400 characters, followed by `…` if
    /// text is left out. Ends at the end of a line or sentence if possible.
    pub compacted: String,
    /// True if the host marked no message as the summary, so the last message of the assistant was used.
    pub is_fallback: bool,
}

/// The reason why a summary is refused. The frame keeps its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The session has neither a marked summary nor a text of the assistant.
    #[error("the session has no summary and no text of the assistant")]
    Missing,
    /// The summary has fewer than three distinct significant words.
    #[error("the summary is empty or too short; the frame keeps its results")]
    Empty,
    /// The summary has fewer distinct words than the frame's results and contains fewer than half of the
    /// words of the results.
    #[error("the summary contains less than the frame's results; the frame keeps its results")]
    SaysLess,
}

/// Finds the newest summary among a session's messages, or else the last text of the assistant, and compares
/// it with the frame's results.
///
/// # Errors
/// [`Refusal::Missing`], [`Refusal::Empty`], [`Refusal::SaysLess`].
pub fn judge(messages: &[Message], frame: &Frame) -> Result<Summary, Refusal> {
    let summary = messages.iter().rfind(|message| message.summary);
    let message = summary.or_else(|| last_words(messages)).ok_or(Refusal::Missing)?;
    let words: BTreeSet<String> = keywords(&message.text).into_iter().collect();
    if words.len() < LEAST_WORDS {
        return Err(Refusal::Empty);
    }
    let known: BTreeSet<String> = keywords(frame.said_results()).into_iter().collect();
    let kept = known.intersection(&words).count();
    if words.len() < known.len() && kept * 2 < known.len() {
        return Err(Refusal::SaysLess);
    }
    let text = message.text.trim().to_owned();
    Ok(Summary { compacted: dense_characters(&text, COMPACTED_CHARACTERS), text, is_fallback: !message.summary })
}

/// Returns the last message of the assistant that has a text.
fn last_words(messages: &[Message]) -> Option<&Message> {
    messages.iter().rfind(|message| message.role == "assistant" && !message.text.trim().is_empty())
}

/// Returns the full and the compacted results for the frame of a session that has ended. They are the summary
/// that [`judge`] accepts, or else the frame's existing results, or else the last text of the assistant, even
/// if it is short.
pub fn closing_results(messages: &[Message], frame: &Frame) -> Results {
    match judge(messages, frame) {
        Ok(summary) => Results { full: summary.text, compacted: summary.compacted },
        Err(_) if frame.has_salvaged_results() => {
            let (so_far, last) = (frame.said_results(), last_words(messages).map_or("", |message| message.text.trim()));
            match last.is_empty() || so_far.ends_with(last) {
                true => results_of(so_far),
                false => results_of(&format!("{so_far}\nThen: {last}")),
            }
        }
        Err(_) if frame.results.is_some() => Results {
            full: frame.results.clone().unwrap_or_default(),
            compacted: frame.results_compacted.clone().unwrap_or_default(),
        },
        Err(_) => results_of(last_words(messages).map_or("", |message| &message.text)),
    }
}

/// Returns a text as results. The compacted results are the sentences of the text that say most.
pub(super) fn results_of(text: &str) -> Results {
    let text = text.trim();
    Results { full: text.to_owned(), compacted: dense_characters(text, COMPACTED_CHARACTERS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Chunk;

    fn frame(results: Option<&str>) -> Frame {
        Frame {
            title: "Parse the\nconfiguration".into(),
            success_criteria: "All options are read".into(),
            results: results.map(str::to_owned),
            artifacts: vec!["src/options.rs".into()],
            decisions: vec!["Unknown keys\nare errors".into()],
            heap: vec![Chunk { name: "grammar".into(), ..Chunk::default() }],
            ..Frame::default()
        }
    }

    #[test]
    fn every_prompt_has_what_the_frame_knows_and_its_own_questions() {
        let known = frame(Some("Flags are read"));
        let types = [CompactionType::Overflow, CompactionType::FrameCompletion, CompactionType::ManualSummary];
        let prompts = types
            .map(|compaction_type| prompt(compaction_type, &known, &["f7 Read\nflags".into()], Some("mind the paths")));
        for text in &prompts {
            for part in [
                "The frame: Parse the configuration\n",
                "Its success criteria: All options are read\n",
                "Known so far: Flags are read\n",
                "src/options.rs",
                "Unknown keys are errors",
                "Chunks on the heap (kept verbatim, do not repeat them): grammar\n",
                "Special request: mind the paths\n",
            ] {
                assert!(text.contains(part), "{part} is not in\n{text}");
            }
        }
        let child =
            "Newest finished child frames (their results stay in your context, do not repeat them): f7 Read flags\n";
        assert_eq!(prompts.each_ref().map(|text| text.contains(child)), [true, false, true]);
        assert!(prompts[0].contains("the very next step"));
        assert!(prompts[1].contains("all that its parent"));
        assert!(prompts[2].contains("checkpoint"));
        let bare = prompt(CompactionType::Overflow, &Frame::default(), &[], None);
        assert!(!bare.contains("criteria:") && !bare.contains("Artifacts") && !bare.contains("Known"), "{bare}");
    }

    #[test]
    fn long_lists_show_their_newest_entries() {
        let frame = Frame { artifacts: (0..50).map(|number| format!("file{number}")).collect(), ..Frame::default() };
        let text = prompt(CompactionType::Overflow, &frame, &[], None);
        assert!(text.contains("file49; and 20 older ones") && !text.contains("file19;"), "{text}");
    }

    #[test]
    fn the_reason_for_a_compaction_is_remembered_until_it_happens() {
        let mut compactions = Compactions::default();
        let request = |compaction_type, time| SummaryRequest::new(compaction_type, Some("  ".into()), time);
        compactions.request("a", request(CompactionType::ManualSummary, 1));
        compactions.request("a", request(CompactionType::FrameCompletion, 2));
        let pending: Vec<_> = compactions.pending().map(|(id, pending)| (id, pending.request.clone())).collect();
        assert_eq!(pending, [("a", SummaryRequest::new(CompactionType::FrameCompletion, None, 2))]);
        assert!(compactions.prompt("a", &frame(None), &[]).starts_with("The conversation has grown too long"));
        assert_eq!(
            compactions.finished("a", true).compaction_type,
            CompactionType::Overflow,
            "the host compacts by itself"
        );
        assert!(compactions.begin("a", CompactionType::FrameCompletion));
        assert!(compactions.prompt("a", &frame(None), &[]).starts_with("This frame is being finished"));
        assert!(compactions.prompt("b", &frame(None), &[]).starts_with("The conversation has grown too long"));
        assert_eq!(compactions.finished("a", true).compaction_type, CompactionType::FrameCompletion);
        assert_eq!(compactions.finished("a", false).compaction_type, CompactionType::Overflow);
        assert_eq!(compactions.statistics(), CompactionStatistics { compactions: 3, taken: 2, refused: 1 });
        compactions.request("c", request(CompactionType::ManualSummary, 3));
        compactions.forget("c");
        assert_eq!(compactions.pending().count(), 0);
    }

    #[test]
    fn the_newest_summary_counts_and_else_the_last_words() {
        let marked = [
            Message::summary("An old summary of the parser"),
            Message::summary("The parser reads all options"),
            Message::assistant("What else can I do for you today?"),
        ];
        let summary = judge(&marked, &frame(None)).unwrap();
        assert_eq!((summary.text.as_str(), summary.is_fallback), ("The parser reads all options", false));
        let user = Message { role: "user".into(), ..Message::assistant("Write the printer module next, please") };
        let unmarked = [Message::assistant("The parser reads all options\n"), Message::assistant(" "), user];
        let summary = judge(&unmarked, &frame(None)).unwrap();
        assert_eq!((summary.text.as_str(), summary.is_fallback), ("The parser reads all options", true));
    }

    #[test]
    fn summaries_that_say_too_little_are_refused() {
        let results = "The parser in src/options.rs reads flags, paths and nested tables; errors name the line; \
                       twelve tests cover it";
        assert_eq!(judge(&[], &frame(None)), Err(Refusal::Missing));
        assert_eq!(judge(&[Message::assistant("")], &frame(None)), Err(Refusal::Missing));
        for text in ["", "  \n", "Done.", "…", "the and of it"] {
            assert_eq!(judge(&[Message::summary(text)], &frame(None)), Err(Refusal::Empty), "{text}");
        }
        let of_results = |text: &str| judge(&[Message::summary(text)], &frame(Some(results)));
        assert_eq!(of_results("We looked at the parser of paths"), Err(Refusal::SaysLess));
        assert!(of_results(results).is_ok());
        assert!(of_results("Flags, paths and nested tables are read, errors name the line, tests cover it").is_ok());
        let other = "A rewrite: the printer now walks a syntax tree, formats comments, aligns columns, wraps long \
                     values, keeps blank lines and escapes control characters, checked against golden files";
        assert!(of_results(other).is_ok(), "as much, though about something else");
    }

    #[test]
    fn what_a_session_leaves_behind() {
        let words = |text: &str| [Message::assistant("Earlier, something else was said"), Message::assistant(text)];
        let both = |text: &str| Results::new(text).compacted(text);
        assert_eq!(closing_results(&words("42"), &frame(None)), both("42"), "few words are better than none");
        assert_eq!(closing_results(&[], &frame(None)), both(""));
        let known = Frame { results_compacted: Some("dense".into()), ..frame(Some("Flags are read")) };
        assert_eq!(closing_results(&words("42"), &known), Results::new("Flags are read").compacted("dense"));
        let more = "Flags are read, paths too, tables are left";
        assert_eq!(closing_results(&words(more), &known), both(more));
    }

    #[test]
    fn the_dense_form_is_short() {
        let summary = judge(&[Message::summary("The parser reads every option. ".repeat(40))], &frame(None)).unwrap();
        assert_eq!(summary.compacted, "The parser reads every option. …");
        assert!(summary.text.len() > 1_000, "the full form is whole");
    }
}
