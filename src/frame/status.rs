//! The status of a frame and the table of legal transitions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The status of a frame (specification, section 8). In JSON a name such as `"in_progress"`.
///
/// ```
/// use callstack_core::FrameStatus;
///
/// assert!(FrameStatus::Blocked.can_become(FrameStatus::InProgress));
/// assert!(!FrameStatus::Completed.can_become(FrameStatus::InProgress));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrameStatus {
    /// Planned, not started.
    Planned,
    /// Work is in progress.
    InProgress,
    /// Finished: the success criteria are met.
    Completed,
    /// Finished without meeting the criteria. The results describe the attempt.
    Failed,
    /// Started, but waiting for something from outside.
    Blocked,
    /// Removed from the plan.
    Invalidated,
}

impl FrameStatus {
    /// The statuses that people mean by a word: the name of a status, or `open` (in progress and blocked),
    /// `unfinished` (planned, in progress and blocked), `finished` (completed and failed). `None`: the word
    /// does not mean any status.
    ///
    /// ```
    /// use callstack_core::FrameStatus;
    ///
    /// assert_eq!(FrameStatus::named("open"), Some([FrameStatus::InProgress, FrameStatus::Blocked].as_slice()));
    /// assert_eq!(FrameStatus::named("failed"), Some([FrameStatus::Failed].as_slice()));
    /// assert_eq!(FrameStatus::named("late"), None);
    /// ```
    pub fn named(word: &str) -> Option<&'static [FrameStatus]> {
        use FrameStatus::{Blocked, Completed, Failed, InProgress, Planned};
        Some(match word {
            "open" => &[InProgress, Blocked],
            "unfinished" => &[Planned, InProgress, Blocked],
            "finished" => &[Completed, Failed],
            _ => {
                return FrameStatus::ALL
                    .iter()
                    .position(|status| status.as_str() == word)
                    .map(|at| &FrameStatus::ALL[at..=at]);
            }
        })
    }

    /// Every status, in the order of the specification.
    pub const ALL: &[FrameStatus] = &[
        FrameStatus::Planned,
        FrameStatus::InProgress,
        FrameStatus::Completed,
        FrameStatus::Failed,
        FrameStatus::Blocked,
        FrameStatus::Invalidated,
    ];

    /// True if a frame may change from this status to `to`. Commands refuse all other transitions with
    /// [`Error::Transition`](crate::Error::Transition).
    ///
    /// | from | to |
    /// |---|---|
    /// | planned | in_progress, invalidated |
    /// | in_progress | completed, failed, blocked, invalidated |
    /// | blocked | in_progress, completed, failed, blocked, invalidated |
    /// | completed, failed | invalidated |
    /// | invalidated | – |
    ///
    /// Some commands make other changes: [`Stack::reopen`](crate::Stack::reopen),
    /// [`Stack::answer`](crate::Stack::answer) to a frame that waits to begin,
    /// [`Stack::undo`](crate::Stack::undo), an import of a plan that has changed, and the end of a frame that
    /// only holds others together.
    pub const fn can_become(self, to: FrameStatus) -> bool {
        use FrameStatus::*;
        match self {
            Planned => matches!(to, InProgress | Invalidated),
            InProgress => matches!(to, Completed | Failed | Blocked | Invalidated),
            Blocked => matches!(to, InProgress | Completed | Failed | Blocked | Invalidated),
            Completed | Failed => matches!(to, Invalidated),
            Invalidated => false,
        }
    }

    /// The mark of the status in drawings of trees, such as `[x]`.
    pub const fn mark(self) -> &'static str {
        match self {
            FrameStatus::Planned => "[ ]",
            FrameStatus::InProgress => "[>]",
            FrameStatus::Completed => "[x]",
            FrameStatus::Failed => "[!]",
            FrameStatus::Blocked => "[?]",
            FrameStatus::Invalidated => "[-]",
        }
    }

    /// Started and not finished: in_progress or blocked.
    pub const fn is_open(self) -> bool {
        matches!(self, FrameStatus::InProgress | FrameStatus::Blocked)
    }

    /// Not ended: planned, in_progress or blocked.
    pub const fn is_unfinished(self) -> bool {
        self.is_open() || matches!(self, FrameStatus::Planned)
    }

    /// Finished by a pop: completed or failed.
    pub const fn is_finished(self) -> bool {
        matches!(self, FrameStatus::Completed | FrameStatus::Failed)
    }

    /// The name in JSON and prompts, such as `in_progress`.
    pub const fn as_str(self) -> &'static str {
        match self {
            FrameStatus::Planned => "planned",
            FrameStatus::InProgress => "in_progress",
            FrameStatus::Completed => "completed",
            FrameStatus::Failed => "failed",
            FrameStatus::Blocked => "blocked",
            FrameStatus::Invalidated => "invalidated",
        }
    }

    /// The possible next commands for a frame in this status that cannot become `to`, for error messages.
    pub(crate) fn advice(self, to: FrameStatus) -> &'static str {
        match self {
            FrameStatus::InProgress if to == self => {
                "it has begun already: if the work on it is not yours, choose another frame"
            }
            FrameStatus::Planned => "activate it first, or invalidate it",
            FrameStatus::InProgress => "pop it as completed, failed or blocked, or invalidate it",
            FrameStatus::Blocked => "answer or resume it, pop it as completed or failed, or invalidate it",
            FrameStatus::Completed => {
                "it is finished; reopen it if it is wrong, push a new frame for further work, or invalidate it"
            }
            FrameStatus::Failed => "retry it, which makes a new frame for it, or invalidate it",
            FrameStatus::Invalidated => "an invalidated frame cannot be restored; plan a new frame instead",
        }
    }

    /// Returns the advice for an error message: the frame has this status, so it cannot be edited.
    pub(crate) const fn advice_instead_of_edit(self) -> &'static str {
        match self {
            FrameStatus::Planned => "edit it",
            FrameStatus::InProgress | FrameStatus::Blocked => {
                "once begun, it keeps its place and what it needs, and only a person corrects its words; finish it, or invalidate it and plan \
                 another frame"
            }
            FrameStatus::Completed | FrameStatus::Failed => "it is finished; plan another frame for further work",
            FrameStatus::Invalidated => "it is out of the plan; plan a new frame instead",
        }
    }

    /// What to do if a frame in this status cannot get children, for error messages.
    pub(crate) const fn advice_instead_of_children(self) -> &'static str {
        match self {
            FrameStatus::Completed => {
                "choose a parent that is in_progress or blocked, or reopen it first if it is wrong"
            }
            FrameStatus::Failed => "choose a parent that is in_progress or blocked, or retry it",
            _ => "choose a parent that is in_progress or blocked",
        }
    }

    /// What to do with a frame in this status, which cannot be answered, for error messages.
    pub(crate) const fn advice_instead_of_answer(self) -> &'static str {
        match self {
            FrameStatus::Planned => "activate it, and put what it must know into its criteria or its parent",
            FrameStatus::InProgress => "it runs: write to its session, or wait until it asks",
            FrameStatus::Blocked => "answer it",
            FrameStatus::Completed => "it is finished; push a new frame for further work",
            FrameStatus::Failed => "retry it, which makes a new frame for it",
            FrameStatus::Invalidated => "it is out of the plan; plan a new frame instead",
        }
    }

    /// Returns the advice for an error message: the frame has this status, so it cannot be retried.
    pub(crate) const fn advice_instead_of_retry(self) -> &'static str {
        match self {
            FrameStatus::Planned => "activate it",
            FrameStatus::InProgress => "wait for its results; if no agent works on it, pop it as failed first",
            FrameStatus::Completed => "push a new frame for further work",
            FrameStatus::Blocked | FrameStatus::Failed => "retry it",
            FrameStatus::Invalidated => "it is out of the plan; plan a new frame instead",
        }
    }
}

impl fmt::Display for FrameStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The text is not the name of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a status is planned, in_progress, completed, failed, blocked or invalidated")]
pub struct ParseStatusError;

impl FromStr for FrameStatus {
    type Err = ParseStatusError;

    fn from_str(text: &str) -> Result<Self, ParseStatusError> {
        FrameStatus::ALL.iter().copied().find(|status| status.as_str() == text).ok_or(ParseStatusError)
    }
}

/// The statuses that a pop can set. In JSON a name such as `"completed"`. The specification fixes the set, so
/// a `match` can be exhaustive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PopStatus {
    /// The success criteria are met.
    Completed,
    /// The success criteria are not met, and this frame will not meet them.
    Failed,
    /// The success criteria are not met yet: the frame waits for something from outside.
    Blocked,
}

impl From<PopStatus> for FrameStatus {
    fn from(status: PopStatus) -> Self {
        match status {
            PopStatus::Completed => FrameStatus::Completed,
            PopStatus::Failed => FrameStatus::Failed,
            PopStatus::Blocked => FrameStatus::Blocked,
        }
    }
}
