//! Events: what has happened to a tree, one change each, in the order of their revisions.

use serde::{Deserialize, Serialize};

use super::{Frame, FrameStatus, Handle, Identity};

/// One change to one frame. Events are the only way a tree changes: applying the events of a tree
/// to an empty one gives the same tree again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Place in the history: 1 for the first event of a tree, then one more each.
    pub revision: u64,
    /// When it happened, in milliseconds since the epoch.
    pub time: u64,
    /// The frame that changed.
    pub handle: Handle,
    /// What changed.
    #[serde(flatten)]
    pub change: Change,
}

/// What an [`Event`] changes. In JSON the key `kind` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Change {
    /// The frame came into being: pushed, planned, made for a session, or imported.
    Added {
        /// The frame as it was then.
        frame: Box<Frame>,
    },
    /// Dependencies on frames that were added later in the same command.
    DependenciesAdded {
        /// Their IDs.
        depends_on: Vec<String>,
    },
    /// A placeholder got its title and criteria.
    Identified {
        /// What it is called from now on.
        identity: Identity,
    },
    /// The frame was activated, blocked, resumed or popped.
    StatusChanged {
        /// The status from now on.
        status: FrameStatus,
        /// Results, if the change brought any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<String>,
        /// Their dense form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results_compacted: Option<String>,
    },
    /// The frame was taken out of the plan.
    Invalidated {
        /// Why.
        reason: String,
    },
    /// The frame has another ID.
    IdReplaced {
        /// The ID from now on.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// An artifact was recorded.
    ArtifactAdded {
        /// The artifact, usually a path.
        artifact: String,
    },
    /// A decision was recorded.
    DecisionAdded {
        /// The decision.
        decision: String,
    },
    /// The frame became the active one, or no frame is active any more.
    ActiveChanged {
        /// True: this frame is active. False: it was, and none is now.
        active: bool,
    },
}
