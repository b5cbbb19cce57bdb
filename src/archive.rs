//! Where the frames of finished trees are kept, so that they need not be in memory: an image for each frame.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::{FrameStatus, Handle};

/// A frame as an archive keeps it. A store keeps every field, so a new field is a change that stores must
/// follow.
///
/// In JSON, as an exported history has it: `{"handle": "f2", "root": "f1", "sessionID": "ses_2", "title": 7,
/// "status": "completed", "isRun": false, "place": null, "changed": 12, "image": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchivedFrame {
    /// Its handle.
    pub handle: Handle,
    /// The root of its tree. A root names itself.
    pub root: Handle,
    /// Its ID.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// A hash of its title, by which frames with a title are found.
    pub title: u64,
    /// Its status.
    pub status: FrameStatus,
    /// True if it is the root frame of a run.
    pub is_run: bool,
    /// The key of its place among the roots, if it is one: the root with the higher key comes later.
    pub place: Option<u64>,
    /// The revision of its last change.
    pub changed: u64,
    /// Everything that the tree knows of the frame, as JSON. Only the library reads it.
    pub image: String,
}

/// A search for frames in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveQuery<'a> {
    /// The frame with this ID.
    Id(&'a str),
    /// The frames whose IDs begin with this text: the first ones in the order of the bytes of their IDs, at
    /// most this number.
    Beginning(&'a str, usize),
    /// The frames whose titles have this hash.
    Title(u64),
    /// The frames with this status.
    Status(FrameStatus),
    /// The root frames of runs.
    Runs,
    /// The roots.
    Roots,
    /// No frame.
    Nothing,
}

/// A frame that was found in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivedPlace {
    /// Its handle.
    pub handle: Handle,
    /// The revision of its last change.
    pub changed: u64,
    /// See [`ArchivedFrame::place`].
    pub place: Option<u64>,
}

/// The frames of a tree as they were at one revision: the revision of the newest snapshot. A
/// [`Tree`](crate::Tree) asks for the frames that it does not hold in memory. The frames that the tree has
/// changed since are in memory. [`ArchivedFrame::changed`] tells apart the frames that others have changed
/// since the revision of the tree.
pub trait Archive: fmt::Debug + Send + Sync {
    /// All frames of the tree to which a frame belongs. Empty if there is no such frame.
    ///
    /// # Errors
    /// The errors of the medium, as for the other methods.
    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>>;

    /// Some of the frames after this one, or some of the first frames, in the order of their handles. Empty
    /// if there are no more frames.
    ///
    /// # Errors
    /// As [`Archive::frames`].
    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>>;

    /// As [`Archive::frames`], but the frames are as they were at an earlier revision. For a tree that others
    /// have changed since, or whose images cannot be read. The frames are made from the events, which can
    /// take seconds. By default this fails.
    ///
    /// # Errors
    /// As [`Archive::frames`]; [`Error::Damaged`] if the events cannot be read.
    fn frames_at(&self, handle: Handle, revision: u64) -> Result<Vec<ArchivedFrame>> {
        let _ = revision;
        Err(Error::json(SNAPSHOT, format!("the tree of {handle} cannot be read")))
    }

    /// The frames that a query finds, and the frames that have changed since a revision. Their order does not
    /// matter, and a frame may be named twice.
    ///
    /// # Errors
    /// As [`Archive::frames`].
    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>>;

    /// The snapshot that the events of a compacted history follow: its head, and its frames. `None`, which is
    /// the default, if the events begin with an empty tree.
    ///
    /// # Errors
    /// As [`Archive::frames`].
    fn base(&self) -> Result<Option<(String, Arc<dyn Archive>)>> {
        Ok(None)
    }
}
