//! The position at which the reading of a transcript has stopped. A transcript is the file in which a host
//! keeps what was said in a conversation.

use serde::{Deserialize, Serialize};

use super::Handle;

/// The position at which the reading of a transcript has stopped. It also has the facts about the part before
/// that the reading of the next part needs.
///
/// ```json
/// {"offset": 40312, "path": ["f1", "f4"], "hasFrames": true, "last": "9f0c2a0000000000", "answer": "msg_7", "model": "large",
///  "time": 1760000000000}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TranscriptPosition {
    /// The number of bytes that were read.
    pub offset: u64,
    /// The frames in which the conversation is, the outermost one first.
    pub path: Vec<Handle>,
    /// True if the conversation has said in which frames it is. Otherwise only the stack can know it.
    pub has_frames: bool,
    /// The number of the text that was said last, in hexadecimal digits: the IDs of later entries depend on
    /// it.
    pub last: String,
    /// The ID of the last answer, whose usage is counted.
    pub answer: String,
    /// The model that was asked last, in transcripts that name it apart from the answers.
    pub model: String,
    /// The time of the text that was said last, in milliseconds since the Unix epoch.
    pub time: u64,
    /// True: the text that was read last is not in the log of any frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_outside: bool,
    /// True: the reading has stopped within a line that is too long. The rest of the line is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_within_line: bool,
}
