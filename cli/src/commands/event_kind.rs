//! Kinds of events in the words of people, and in those of JSON.

use callstack_core::{Change, Event, FrameStatus};

/// Words of people, with the kinds that they mean, and with the status that the event gives its frame, if the
/// words mean only one status.
const WORDS: &[(&str, &[&str], Option<FrameStatus>)] = &[
    ("planned", &["added"], Some(FrameStatus::Planned)),
    ("begun", &["added", "statusChanged"], Some(FrameStatus::InProgress)),
    ("completed", &["statusChanged"], Some(FrameStatus::Completed)),
    ("failed", &["statusChanged"], Some(FrameStatus::Failed)),
    ("blocked", &["statusChanged"], Some(FrameStatus::Blocked)),
    ("questions", &["asked"], None),
    ("answers", &["answered"], None),
    ("edits", &["edited", "identified"], None),
    ("decisions", &["decisionAdded"], None),
    ("artifacts", &["artifactAdded"], None),
    ("results", &["statusChanged", "summarized"], None),
    ("requests", &["usageRecorded"], None),
    ("commands", &["commanded"], None),
    ("undo", &["undone", "restored"], None),
    ("holders", &["held", "released"], None),
    ("heap", &["chunkAllocated", "chunkWritten", "chunkFreed"], None),
    ("messages", &["messagesAdded"], None),
];

/// Which events are meant.
#[derive(Debug, Clone)]
pub struct EventKind {
    kinds: Vec<&'static str>,
    status: Option<FrameStatus>,
    /// True: changes of the status count only with results.
    needs_results: bool,
}

impl EventKind {
    /// The events that a word means: a word of people, also in the singular, or a kind of an event.
    ///
    /// # Errors
    /// The words that there are.
    pub fn named(word: &str) -> Result<Self, String> {
        let is_meant = |name: &str| name == word || name.strip_suffix('s') == Some(word);
        if let Some((_, kinds, status)) = WORDS.iter().find(|(name, ..)| is_meant(name)) {
            let needs_results = kinds.contains(&"summarized");
            return Ok(Self { kinds: kinds.to_vec(), status: *status, needs_results });
        }
        match Change::KINDS.iter().find(|kind| **kind == word) {
            Some(kind) => Ok(Self { kinds: vec![*kind], status: None, needs_results: false }),
            None => {
                let words: Vec<&str> = WORDS.iter().map(|(name, ..)| *name).collect();
                Err(format!(
                    "a kind is {}, invalidated, reopened, stopped, or that of an event in JSON",
                    words.join(", ")
                ))
            }
        }
    }

    /// The kind, if there is only one.
    pub fn only(&self) -> Option<&'static str> {
        match self.kinds[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// True for an event that is meant.
    pub fn is_of(&self, event: &Event) -> bool {
        let given = match &event.change {
            Change::Added { frame } => Some(frame.status),
            Change::StatusChanged { status, .. } => Some(*status),
            _ => None,
        };
        let has_results = match &event.change {
            Change::StatusChanged { results, .. } => results.is_some(),
            _ => true,
        };
        self.kinds.contains(&event.change.kind())
            && self.status.is_none_or(|status| given == Some(status))
            && (!self.needs_results || has_results)
    }
}
