//! Compaction: when a session's conversation is replaced by a summary. What the summary is asked for, how it
//! is found, and whether it may be believed (specification, "Compaction Integration").
//!
//! A summary that is empty, or that says less than the frame already knows, is refused: the frame keeps what
//! it has. Artifacts and decisions are of the frame and not of the conversation, so no summary touches them.
//!
//! ```
//! use callstack_core::session::compaction::{Compactions, CompactionType, Message, judge};
//! use callstack_core::{NewFrame, Stack};
//!
//! let stack = Stack::in_memory();
//! let root = stack.push(NewFrame::new("Parse the configuration").id("ses_1").criteria("All options are read"))?;
//! let mut compactions = Compactions::default();
//! compactions.request("ses_1", CompactionType::ManualSummary, Some("before the refactoring"), 1_000);
//! let prompt = compactions.prompt("ses_1", &stack.frame(root)?);
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

use crate::frame::Frame;
use crate::keywords::keywords;
use crate::text::{one_line, whole_beginning};

/// Longest dense form of a summary, in characters.
const COMPACTED_CHARACTERS: usize = 400;
/// A summary with fewer significant words says nothing.
const LEAST_WORDS: usize = 3;
/// Shown of a frame's artifacts and decisions, the newest.
const LISTED: usize = 30;

/// Why a conversation is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionType {
    /// The host does it because the context is full. The work goes on.
    #[default]
    Overflow,
    /// The frame is being finished.
    FrameCompletion,
    /// Somebody asked for a checkpoint. The work goes on.
    ManualSummary,
}

/// A compaction that was asked for and has not happened yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCompaction {
    /// Why.
    #[serde(rename = "type")]
    pub compaction_type: CompactionType,
    /// What the one who asked wants to see in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was asked for, in milliseconds since the epoch.
    pub requested_at: u64,
    /// The host has been asked to begin.
    pub is_begun: bool,
}

/// How compactions have gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionStatistics {
    /// Compactions that happened.
    pub compactions: u64,
    /// Those whose summary was taken.
    pub taken: u64,
    /// Those whose summary was refused.
    pub refused: u64,
}

/// The compactions that are pending, by session.
#[derive(Debug, Clone, Default)]
pub struct Compactions {
    pending: BTreeMap<String, PendingCompaction>,
    statistics: CompactionStatistics,
}

impl Compactions {
    /// Notes why the next compaction of a session will be. A later request takes the place of an earlier one.
    pub fn request(&mut self, session_id: &str, compaction_type: CompactionType, note: Option<&str>, now: u64) {
        let note = note.map(str::trim).filter(|note| !note.is_empty()).map(str::to_owned);
        self.pending.insert(
            session_id.to_owned(),
            PendingCompaction { compaction_type, note, requested_at: now, is_begun: false },
        );
    }

    /// True, once, if a compaction of this type is pending: the host is to begin it.
    pub fn begin(&mut self, session_id: &str, compaction_type: CompactionType) -> bool {
        let is_pending = self.pending.get(session_id).is_some_and(|pending| pending.compaction_type == compaction_type);
        is_pending && self.begin_any(session_id)
    }

    /// True, once, if any compaction is pending.
    pub fn begin_any(&mut self, session_id: &str) -> bool {
        self.pending.get_mut(session_id).is_some_and(|pending| !std::mem::replace(&mut pending.is_begun, true))
    }

    /// What is pending, by session.
    pub fn pending(&self) -> impl Iterator<Item = (&str, &PendingCompaction)> {
        self.pending.iter().map(|(session_id, pending)| (session_id.as_str(), pending))
    }

    /// What the session's model is to be asked for.
    pub fn prompt(&self, session_id: &str, frame: &Frame) -> String {
        let pending = self.pending.get(session_id);
        let compaction_type = pending.map_or_else(CompactionType::default, |pending| pending.compaction_type);
        prompt(compaction_type, frame, pending.and_then(|pending| pending.note.as_deref()))
    }

    /// A session was compacted: answers why. What was not asked for happened because the context was full.
    pub fn finished(&mut self, session_id: &str, is_taken: bool) -> CompactionType {
        self.statistics.compactions += 1;
        match is_taken {
            true => self.statistics.taken += 1,
            false => self.statistics.refused += 1,
        }
        self.pending.remove(session_id).map_or_else(CompactionType::default, |pending| pending.compaction_type)
    }

    /// Forgets what was asked for of a session that is gone.
    pub fn forget(&mut self, session_id: &str) {
        self.pending.remove(session_id);
    }

    /// How compactions have gone.
    pub fn statistics(&self) -> CompactionStatistics {
        self.statistics
    }
}

/// What a model is to be asked for when a frame's conversation is summed up.
pub fn prompt(compaction_type: CompactionType, frame: &Frame, note: Option<&str>) -> String {
    let (situation, wanted): (&str, &[&str]) = match compaction_type {
        CompactionType::Overflow => (
            "The conversation has grown too long and will be replaced by your summary. The work goes on from it, so write \
             it for yourself.",
            &[
                "what has been done so far, and what came of it",
                "what you were doing at this moment, and the very next step",
                "what is still open of the success criteria",
                "what failed, and why, so that it is not tried again",
                "names, paths, commands and values that are needed to go on",
            ],
        ),
        CompactionType::FrameCompletion => (
            "This frame is being finished. Your summary is all that its parent and the frames after it will know of it.",
            &[
                "which of the success criteria are met, and which are not",
                "what was made or changed, and where it is",
                "how others use it: interfaces, commands, conventions",
                "decisions that bind later work, with their reasons",
                "what is blocked or left to do",
            ],
        ),
        CompactionType::ManualSummary => (
            "A checkpoint was asked for: a summary from which the work can be resumed, by you or by another agent.",
            &[
                "where the work stands, measured by the success criteria",
                "what has been decided and learnt",
                "what comes next, in order",
                "what is uncertain or blocked",
            ],
        ),
    };
    let mut text = format!("{situation}\n\nThe frame: {}\n", one_line(&frame.title));
    let mut add = |heading: &str, body: &str| {
        if !body.trim().is_empty() {
            text.push_str(&format!("{heading}: {}\n", body.trim()));
        }
    };
    add("Its success criteria", &frame.success_criteria);
    add("Known so far", frame.results.as_deref().unwrap_or_default());
    add("Artifacts (recorded, need no repetition)", &listed(&frame.artifacts));
    add("Decisions (recorded, need no repetition)", &listed(&frame.decisions));
    let chunks: Vec<String> = frame.heap.iter().map(|chunk| chunk.name.clone()).collect();
    add("Chunks on the heap (kept word for word, need no repetition)", &listed(&chunks));
    add("Asked for in particular", note.unwrap_or_default());
    text.push_str("\nSay in this order:\n");
    wanted.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
    text.push_str("\nFacts only, no pleasantries. Leave out a point that has nothing to it.\n");
    text
}

/// The newest entries of a list, on one line.
fn listed(entries: &[String]) -> String {
    let skipped = entries.len().saturating_sub(LISTED);
    let shown = entries[skipped..].iter().map(|entry| one_line(entry)).collect::<Vec<_>>().join("; ");
    if skipped > 0 { format!("{shown}; and {skipped} older ones") } else { shown }
}

/// A message of a session, as far as a summary is looked for in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    /// Its own ID; a frame's log has each message once.
    pub id: String,
    /// Who said it: `user` or `assistant`.
    pub role: String,
    /// The host marks it as the summary of a compaction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// Its text parts together.
    pub text: String,
    /// All its parts as the host keeps them, for the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Value>,
}

impl Message {
    /// What an assistant said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: "assistant".into(), text: text.into(), ..Self::default() }
    }

    /// The summary of a compaction.
    pub fn summary(text: impl Into<String>) -> Self {
        Self { summary: true, ..Self::assistant(text) }
    }
}

/// A summary that may be believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// In full.
    pub text: String,
    /// Its beginning, for the prompts of others: whole sentences or lines, at most 400 characters.
    pub compacted: String,
    /// The host marked no message as the summary: these are the last words of the assistant.
    pub is_fallback: bool,
}

/// Why a summary is refused. The frame keeps what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none, and the assistant has said nothing else.
    #[error("the session has no summary and no last words")]
    Missing,
    /// It has no words that mean anything.
    #[error("the summary is empty or says nothing; the frame keeps what it has")]
    Empty,
    /// It has lost most of what the frame's results say, and brings less than they do.
    #[error("the summary says less than the frame's results; the frame keeps them")]
    SaysLess,
}

/// Finds the newest summary among a session's messages, or else the last words of its assistant, and judges it
/// by what the frame knows.
///
/// # Errors
/// [`Refusal`]. A summary says less than the results if it has fewer distinct words than they, and fewer than
/// half of theirs.
pub fn judge(messages: &[Message], frame: &Frame) -> Result<Summary, Refusal> {
    let summary = messages.iter().rfind(|message| message.summary);
    let message = summary.or_else(|| last_words(messages)).ok_or(Refusal::Missing)?;
    let words: BTreeSet<String> = keywords(&message.text).into_iter().collect();
    if words.len() < LEAST_WORDS {
        return Err(Refusal::Empty);
    }
    let known: BTreeSet<String> = keywords(frame.results.as_deref().unwrap_or_default()).into_iter().collect();
    let kept = known.intersection(&words).count();
    if words.len() < known.len() && kept * 2 < known.len() {
        return Err(Refusal::SaysLess);
    }
    let text = message.text.trim().to_owned();
    Ok(Summary { compacted: whole_beginning(&text, COMPACTED_CHARACTERS), text, is_fallback: !message.summary })
}

/// The last message in which the assistant has said something.
fn last_words(messages: &[Message]) -> Option<&Message> {
    messages.iter().rfind(|message| message.role == "assistant" && !message.text.trim().is_empty())
}

/// What a session leaves behind that has ended, in full and dense: what its frame knew, if the last words say
/// less than that, and else the last words, however few they are.
pub fn closing_results(messages: &[Message], frame: &Frame) -> (String, String) {
    let known = |results: &Option<String>| results.clone().unwrap_or_default();
    match judge(messages, frame) {
        Ok(summary) => (summary.text, summary.compacted),
        Err(_) if frame.results.is_some() => (known(&frame.results), known(&frame.results_compacted)),
        Err(_) => {
            let words = last_words(messages).map_or("", |message| message.text.trim());
            (words.to_owned(), whole_beginning(words, COMPACTED_CHARACTERS))
        }
    }
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
        let prompts = types.map(|compaction_type| prompt(compaction_type, &known, Some("mind the paths")));
        for text in &prompts {
            for part in [
                "The frame: Parse the configuration\n",
                "Its success criteria: All options are read\n",
                "Known so far: Flags are read\n",
                "src/options.rs",
                "Unknown keys are errors",
                "Chunks on the heap (kept word for word, need no repetition): grammar\n",
                "Asked for in particular: mind the paths\n",
            ] {
                assert!(text.contains(part), "{part} is not in\n{text}");
            }
        }
        assert!(prompts[0].contains("the very next step"));
        assert!(prompts[1].contains("all that its parent"));
        assert!(prompts[2].contains("checkpoint"));
        let bare = prompt(CompactionType::Overflow, &Frame::default(), None);
        assert!(!bare.contains("criteria:") && !bare.contains("Artifacts") && !bare.contains("Known"), "{bare}");
    }

    #[test]
    fn long_lists_show_their_newest_entries() {
        let frame = Frame { artifacts: (0..50).map(|number| format!("file{number}")).collect(), ..Frame::default() };
        let text = prompt(CompactionType::Overflow, &frame, None);
        assert!(text.contains("file49; and 20 older ones") && !text.contains("file19;"), "{text}");
    }

    #[test]
    fn the_reason_for_a_compaction_is_remembered_until_it_happens() {
        let mut compactions = Compactions::default();
        compactions.request("a", CompactionType::ManualSummary, Some("  "), 1);
        compactions.request("a", CompactionType::FrameCompletion, None, 2);
        let pending: Vec<_> = compactions.pending().map(|(id, pending)| (id, pending.compaction_type)).collect();
        assert_eq!(pending, [("a", CompactionType::FrameCompletion)]);
        assert!(compactions.prompt("a", &frame(None)).starts_with("This frame is being finished"));
        assert!(compactions.prompt("b", &frame(None)).starts_with("The conversation has grown too long"));
        assert_eq!(compactions.finished("a", true), CompactionType::FrameCompletion);
        assert_eq!(compactions.finished("a", false), CompactionType::Overflow);
        assert_eq!(compactions.statistics(), CompactionStatistics { compactions: 2, taken: 1, refused: 1 });
        compactions.request("c", CompactionType::ManualSummary, None, 3);
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
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(closing_results(&words("42"), &frame(None)), both("42"), "few words are better than none");
        assert_eq!(closing_results(&[], &frame(None)), both(""));
        let known = Frame { results_compacted: Some("dense".into()), ..frame(Some("Flags are read")) };
        assert_eq!(closing_results(&words("42"), &known), ("Flags are read".to_owned(), "dense".to_owned()));
        let more = "Flags are read, paths too, tables are left";
        assert_eq!(closing_results(&words(more), &known), both(more));
    }

    #[test]
    fn the_dense_form_is_short() {
        let summary = judge(&[Message::summary("The parser reads every option. ".repeat(40))], &frame(None)).unwrap();
        assert!(summary.compacted.chars().count() <= COMPACTED_CHARACTERS + 1);
        assert!(summary.compacted.ends_with("every option.…"), "{}", summary.compacted);
        assert!(summary.text.len() > 1_000, "the full form is whole");
    }
}
