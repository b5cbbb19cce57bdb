//! Handles, the short numbers of frames, and the references by which callers name a frame.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of a frame in its tree: `f1` for the first one made, `f2` for the next.
///
/// A handle is given once, in creation order, and never again: it stays when the frame's ID is
/// replaced, and no frame is ever removed. Prompts and tool answers show handles because they are
/// short and cannot be mistaken for one another.
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
    /// How many frames can be numbered.
    pub const LIMIT: usize = u32::MAX as usize;

    /// The handle of the frame made `index` frames after the first one, `None` past the limit.
    pub fn from_index(index: usize) -> Option<Self> {
        u32::try_from(index.checked_add(1)?).ok().and_then(NonZeroU32::new).map(Self)
    }

    /// The number after the `f`, counted from 1.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// The position in creation order, counted from 0.
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

/// The text is no handle: it is not `f` and a number from 1 on without leading zeros.
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

/// How a caller names a frame: by handle, by session ID, or by the beginning of an ID that fits
/// one frame alone. Texts and handles convert into it.
///
/// A text is taken as an ID if a frame has it, then as a handle, then as the beginning of an ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameRef {
    /// The frame's number.
    Handle(Handle),
    /// An ID, whole: it never stands for another frame, whose ID only begins like it.
    Id(String),
    /// An ID, a written handle, or the beginning of an ID.
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
