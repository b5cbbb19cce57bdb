//! Which frames the tree shows.

use std::fmt;

use callstack_core::{FrameStatus, Handle, Tree};

/// A choice of frames. The frames above a chosen frame are shown too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// All frames except those that are out of the plan.
    #[default]
    Plan,
    /// Blocked, and without an answer.
    Waiting,
    /// Planned, in_progress or blocked.
    Unfinished,
    Status(FrameStatus),
    /// All frames.
    All,
}

impl Filter {
    /// All filters. The place of a filter is its key.
    pub const ALL: [Filter; 10] = [
        Filter::Plan,
        Filter::Waiting,
        Filter::Unfinished,
        Filter::Status(FrameStatus::InProgress),
        Filter::Status(FrameStatus::Blocked),
        Filter::Status(FrameStatus::Planned),
        Filter::Status(FrameStatus::Completed),
        Filter::Status(FrameStatus::Failed),
        Filter::Status(FrameStatus::Invalidated),
        Filter::All,
    ];

    /// The filter of a digit.
    pub fn of_digit(digit: char) -> Option<Self> {
        Self::ALL.get(usize::try_from(digit.to_digit(10)?).ok()?).copied()
    }

    /// The filter after this one. After the last filter comes the first.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|filter| *filter == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }

    /// True if the filter chooses only by what is in the plan, so that what has ended is folded.
    pub fn is_of_plan(self) -> bool {
        matches!(self, Filter::Plan | Filter::All)
    }

    /// The words above the tree.
    pub fn heading(self) -> String {
        match self {
            Filter::All => self.to_string(),
            _ => format!("only {self}"),
        }
    }

    /// The narrowest filter of the plan that chooses a frame.
    pub fn with(tree: &Tree, handle: Handle) -> Self {
        if Filter::Plan.chooses(tree, handle) { Filter::Plan } else { Filter::All }
    }

    /// True if the filter chooses a frame.
    pub fn chooses(self, tree: &Tree, handle: Handle) -> bool {
        let status = tree.node(handle).status();
        match self {
            Filter::All => true,
            Filter::Plan => !tree.lineage(handle).any(|frame| tree.is_out_of_sight(frame)),
            Filter::Waiting => waits_for_person(tree, handle),
            Filter::Unfinished => status.is_unfinished(),
            Filter::Status(wanted) => status == wanted,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::All => formatter.write_str("all frames"),
            Filter::Plan => formatter.write_str("the plan"),
            Filter::Waiting => formatter.write_str("waits for you"),
            Filter::Unfinished => formatter.write_str("unfinished"),
            Filter::Status(status) => formatter.write_str(status.as_str()),
        }
    }
}

/// True if a frame is blocked and has no answer.
pub fn waits_for_person(tree: &Tree, handle: Handle) -> bool {
    let record = tree.node(handle).record();
    record.status == FrameStatus::Blocked && record.pending_answer().is_none()
}
