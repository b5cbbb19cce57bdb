//! Handles, the short numbers of frames, and the references by which callers identify a frame.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of a frame in its tree: `f1` for the first frame created, `f2` for the second.
///
/// Handles are assigned in creation order and never reused. A frame keeps its handle when its ID is
/// replaced, and no frame is ever removed. Prompts and tool answers show handles because they are
/// short and easy to tell apart. In JSON a handle is a string such as `"f12"`.
///
/// ```
/// use callstack_core::Handle;
/// let handle: Handle = "f12".parse().unwrap();
/// assert_eq!(handle.number(), 12);
/// assert_eq!(handle.to_string(), "f12");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(NonZeroU32);

impl Handle {
    /// Maximum number of frames in a tree.
    pub const LIMIT: usize = u32::MAX as usize;

    /// Returns the handle of the frame at this position in creation order, counted from 0; `None` if the
    /// position exceeds [`Handle::LIMIT`].
    pub fn from_index(index: usize) -> Option<Self> {
        u32::try_from(index.checked_add(1)?).ok().and_then(NonZeroU32::new).map(Self)
    }

    /// The number after the `f`; the first frame has 1.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// The position in creation order; the first frame has 0.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "f{}", self.0)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The text is not a handle. A handle is `f` followed by a number of at least 1 without leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a handle is `f` and a number, such as f1")]
pub struct ParseHandleError;

impl FromStr for Handle {
    type Err = ParseHandleError;

    fn from_str(text: &str) -> Result<Self, ParseHandleError> {
        let digits = text.strip_prefix('f').ok_or(ParseHandleError)?;
        if digits.starts_with('0') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseHandleError);
        }
        digits.parse().map(Self).map_err(|_| ParseHandleError)
    }
}

impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A reference to a frame: its handle, its session ID, or a prefix of a session ID that only one frame
/// has. Texts and handles convert into it.
///
/// A text is looked up as a complete ID first, then as a handle, then as a prefix of an ID. Lookups
/// fail with [`Error::UnknownFrame`](crate::Error::UnknownFrame) or
/// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame). In JSON a reference is a string.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameRef {
    /// The frame's handle.
    Handle(Handle),
    /// A complete ID. It is never looked up as a handle or as a prefix of another ID.
    Id(String),
    /// A complete ID, a handle as text, or a prefix of an ID.
    Text(String),
}

impl From<Handle> for FrameRef {
    fn from(handle: Handle) -> Self {
        FrameRef::Handle(handle)
    }
}

impl From<&Handle> for FrameRef {
    fn from(handle: &Handle) -> Self {
        FrameRef::Handle(*handle)
    }
}

impl From<String> for FrameRef {
    fn from(text: String) -> Self {
        FrameRef::Text(text)
    }
}

impl From<&str> for FrameRef {
    fn from(text: &str) -> Self {
        FrameRef::Text(text.to_owned())
    }
}

impl From<&String> for FrameRef {
    fn from(text: &String) -> Self {
        FrameRef::Text(text.clone())
    }
}

impl fmt::Display for FrameRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameRef::Handle(handle) => handle.fmt(formatter),
            FrameRef::Id(text) | FrameRef::Text(text) => formatter.write_str(text),
        }
    }
}

impl Serialize for FrameRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FrameRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(FrameRef::Text)
    }
}
