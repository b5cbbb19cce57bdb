//! Messages: the conversation between user, model and tools in a frame of a run.

use serde::{Deserialize, Serialize};

/// One message of a conversation with a model.
///
/// In JSON the key `role` names the variant: `{"role": "assistant", "text": "", "calls": [{"id": "call_1",
/// "name": "read_file", "arguments": "{\"path\": \"a.py\"}"}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "RunMessage"))]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Message {
    /// A prompt to the model.
    User {
        /// The text.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// The text; empty if the reply contains only tool calls.
        text: String,
        /// The tool calls, in order. Omitted in JSON if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The answer to a tool call.
    Tool {
        /// The ID of the tool call.
        call: String,
        /// The tool's name.
        name: String,
        /// The text of the answer.
        text: String,
        /// True if the tool call failed; the text then states the reason. Default false; omitted in JSON if
        /// false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl Message {
    /// The text of the message.
    pub fn text(&self) -> &str {
        match self {
            Message::User { text } | Message::Assistant { text, .. } | Message::Tool { text, .. } => text,
        }
    }

    /// Returns a copy of the message with `more` appended to its text.
    #[must_use]
    pub fn followed_by(&self, more: &str) -> Self {
        self.with_text([self.text(), more].concat())
    }

    /// Returns a copy of the message with another text.
    pub(crate) fn with_text(&self, other: String) -> Self {
        let mut message = self.clone();
        match &mut message {
            Message::User { text } | Message::Assistant { text, .. } | Message::Tool { text, .. } => *text = other,
        }
        message
    }
}

/// A tool call in a model's reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The ID, which links the tool call to its answer.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them. They should be a JSON object, but this is not checked here.
    pub arguments: String,
}
