//! Handles, the short names of frames, and the references by which callers identify a frame.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The short name of a frame in its tree: `f1` for the first frame created, `f2` for the second.
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

#[cfg(feature = "schema")]
impl schemars::JsonSchema for FrameRef {
    fn schema_name() -> Cow<'static, str> {
        "FrameRef".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "A frame: its handle, `id:` and its ID, or its title." })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Handle {
    fn schema_name() -> Cow<'static, str> {
        "Handle".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^f[1-9][0-9]*$",
            "description": "The permanent number of a frame, such as f12."
        })
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Handle;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a handle such as \"f1\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Handle, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A reference to a frame: its handle, its session ID, a prefix of a session ID that only one frame has, or a
/// title that only one frame has. Handles and texts convert into it. In JSON a reference is a string.
///
/// # How a text is read
///
/// The form of a text decides what it names. Which frames exist does not matter. Therefore no ID can take the
/// place of a handle or of another ID, and no title can take the place of an ID:
///
/// | text | names |
/// |---|---|
/// | `f` and ASCII digits: `f3` | the frame with this handle, never an ID or a prefix |
/// | `id:` and an ID: `id:f3`, `id:ses_1` | the frame with exactly this ID |
/// | any other text: `ses_1`, `Shopping cart` | the frame with this ID, or else the only frame whose ID begins with it or that has this title, or else the only unfinished frame whose title begins with it |
///
/// A title is compared without blanks around it, and without regard to letter case. If no frame has the text
/// as its title, the text means the unfinished frame whose title begins with it, if the text has at least
/// three characters.
///
/// If several frames have the title, the text means those that are not invalidated. Among these, it means
/// those in the tree of the frame for which the reference is resolved (the parent of a new frame, the frame
/// that is edited, the frame of the session that calls a tool). Among these, it means those with the same
/// upper and lower case. If several are left, or if the text is also the beginning of another frame's ID, the
/// reference is ambiguous.
///
/// A session ID may have the form of a handle. Methods that take a session ID (such as
/// [`Stack::ensure`](crate::Stack::ensure) and `Host::context`) and the events of a host take it as it is.
/// Where a reference is expected, such an ID, or an ID that begins with `id:`, is given as [`FrameRef::Id`]
/// or, as text, with `id:` before it. A program that passes IDs of sessions that it has not made itself
/// should always do so.
///
/// ```
/// use callstack_core::{FrameRef, NewFrame, Stack};
///
/// let stack = Stack::in_memory();
/// let first = stack.push(NewFrame::new("Build").id("f2"))?;
/// let second = stack.push(NewFrame::new("Test").id("ses_2"))?;
/// assert_eq!(stack.resolve("f2")?, second);
/// assert_eq!(stack.resolve("id:f2")?, first);
/// assert_eq!(stack.resolve(FrameRef::Id("f2".into()))?, first);
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// Lookups fail with [`Error::UnknownFrame`](crate::Error::UnknownFrame) or
/// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameRef {
    /// The frame's handle.
    Handle(Handle),
    /// A complete ID. It is never looked up as a handle, as a prefix of another ID, or as a title.
    Id(String),
    /// A text, which is read as the table above says.
    Text(String),
}

/// The prefix of a text that names a frame by its complete ID.
const ID_PREFIX: &str = "id:";

/// What a reference names. Only its form decides this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// The frame with this handle.
    Handle(Handle),
    /// The frame with exactly this ID.
    Id(&'a str),
    /// The frame with this ID, or else the only frame whose ID begins with it or that has this title.
    Name(&'a str),
    /// No frame: the text has the form of a handle, but a tree has no such handle (`f0`, `f99999999999`).
    Nothing,
}

impl FrameRef {
    /// Returns what the reference names. This is the only place that reads the texts of references.
    pub(crate) fn target(&self) -> Target<'_> {
        match self {
            FrameRef::Handle(handle) => Target::Handle(*handle),
            FrameRef::Id(id) => Target::Id(id),
            FrameRef::Text(text) if has_handle_form(text) => text.parse().map_or(Target::Nothing, Target::Handle),
            FrameRef::Text(text) => text.strip_prefix(ID_PREFIX).map_or(Target::Name(text), Target::Id),
        }
    }
}

/// True for `f` followed by ASCII digits. References never read such a text as an ID.
pub(crate) fn has_handle_form(text: &str) -> bool {
    text.strip_prefix('f').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the shortest text that names the frame with this ID: the ID itself or, if it would be read
/// otherwise, the ID with `id:` before it. Texts for agents and errors show IDs in this form.
pub(crate) fn reference_to_id(session_id: &str) -> Cow<'_, str> {
    match has_handle_form(session_id) || session_id.starts_with(ID_PREFIX) {
        true => Cow::Owned(format!("{ID_PREFIX}{session_id}")),
        false => Cow::Borrowed(session_id),
    }
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

/// Writes the reference as a text that names the same frame.
impl fmt::Display for FrameRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameRef::Handle(handle) => handle.fmt(formatter),
            FrameRef::Id(id) => write!(formatter, "{ID_PREFIX}{id}"),
            FrameRef::Text(text) => formatter.write_str(text),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_text_decides_what_it_names() {
        let handle = |number: usize| Target::Handle(Handle::from_index(number - 1).unwrap());
        for (text, target) in [
            ("f3", handle(3)),
            ("f4294967295", handle(4_294_967_295)),
            ("f0", Target::Nothing),
            ("f03", Target::Nothing),
            ("f4294967296", Target::Nothing),
            ("f", Target::Name("f")),
            ("F3", Target::Name("F3")),
            ("f3a", Target::Name("f3a")),
            ("f\u{661}", Target::Name("f\u{661}")),
            (" f3", Target::Name(" f3")),
            ("id:f3", Target::Id("f3")),
            ("id:id:a", Target::Id("id:a")),
            ("id:", Target::Id("")),
            ("ID:f3", Target::Name("ID:f3")),
        ] {
            assert_eq!(FrameRef::from(text).target(), target, "{text}");
        }
    }

    #[test]
    fn a_written_reference_names_the_same_frame() {
        for id in ["f3", "f0", "id:f3", "id:", "ses_1", "f", ""] {
            let reference = FrameRef::Id(id.into());
            let written = serde_json::to_string(&reference).unwrap();
            let read: FrameRef = serde_json::from_str(&written).unwrap();
            assert_eq!(read.target(), Target::Id(id), "{written}");
            let short = FrameRef::Text(reference_to_id(id).into_owned());
            assert!(matches!(short.target(), Target::Id(read) | Target::Name(read) if read == id), "{short}");
        }
    }
}
