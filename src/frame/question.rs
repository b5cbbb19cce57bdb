//! Questions: what blocked frames wait for, and the answers to it.

use serde::{Deserialize, Serialize};

/// What a blocked frame waits for, and the answer.
///
/// In JSON: `{"question": "Which VAT rate?", "askedAt": 1795293106903, "answer": "20 %", "answeredAt":
/// 1795293107000}`. The answer and its time are omitted until there is one. A frame can also be resumed
/// without an answer. A frame that waits to begin has `"unbegun": true`, and `"until": 1798761600000` if a
/// time ends the wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Question {
    /// What the frame needs, and who can give it. Empty if that was not said.
    pub question: String,
    /// True if no question was asked: the work was interrupted or stopped, and the text says why. Omitted in
    /// JSON if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interruption: bool,
    /// True: the frame has not begun, and must not begin before an answer. With the answer it is planned; a
    /// frame that is not work is completed ([`Frame::waits_to_begin`](super::Frame::waits_to_begin)). Omitted
    /// in JSON if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unbegun: bool,
    /// True: the frame was begun elsewhere. When its time has come, it is in progress again, and no worker
    /// gets it. Omitted in JSON if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
    /// Time from which on a frame that has not begun need not wait any more, in milliseconds since the Unix
    /// epoch: the time is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Time at which the frame was blocked, in milliseconds since the Unix epoch.
    pub asked_at: u64,
    /// The answer. Several answers to one question are lines of one text, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Time of the newest answer, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<u64>,
}

impl Question {
    /// The question whose answer is the reason of a reopening.
    pub(crate) const REOPENED: &str = "It was completed and reopened. What is wrong?";

    /// The reason for which a completed frame was reopened, if this is the question of a reopening.
    pub fn reopening(&self) -> Option<&str> {
        self.answer.as_deref().filter(|_| self.question == Self::REOPENED)
    }
}
