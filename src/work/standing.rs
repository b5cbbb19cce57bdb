//! How a frame stands for the holder that works on it: whether the holder is to continue.

use serde::Serialize;

use crate::error::Result;
use crate::frame::{FrameStatus, Hold, Release};
use crate::tree::Tree;

/// How a frame stands for its holder: see [`Work::standing`](crate::stack::Work::standing).
///
/// In JSON: `{"kind": "held"}`, `{"kind": "ended", "status": "completed"}`, `{"kind": "putBack"}` or
/// `{"kind": "stopped"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", tag = "kind")]
#[non_exhaustive]
pub enum Standing {
    /// The holder works on it.
    Held,
    /// It was ended under this hold: it is completed, has failed, or is blocked with a question.
    Ended {
        /// `completed`, `failed` or `blocked`.
        status: FrameStatus,
    },
    /// It was put back for later under this hold.
    PutBack,
    /// Another actor has stopped it, taken it out of the plan, retried it, or ended it in another way: the
    /// holder should stop.
    Stopped,
}

impl Tree {
    /// How a frame stands for this holder.
    ///
    /// # Errors
    /// As [`Tree::check_holds`].
    pub fn standing(&self, hold: &Hold) -> Result<Standing> {
        self.check_holds(hold)?;
        let node = self.node(hold.handle);
        let frame = node.record();
        let release = frame.holder.as_deref().and_then(|holder| holder.released.as_ref()).map(|release| &release.how);
        let is_stopped =
            node.retried_as().is_some() || frame.current_question().is_some_and(|question| question.interruption);
        Ok(match frame.status {
            FrameStatus::InProgress if matches!(release, Some(Release::PutBack { .. })) => Standing::PutBack,
            FrameStatus::InProgress => Standing::Held,
            status @ (FrameStatus::Completed | FrameStatus::Failed | FrameStatus::Blocked) if !is_stopped => {
                Standing::Ended { status }
            }
            _ => Standing::Stopped,
        })
    }
}
