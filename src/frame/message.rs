//! Messages: the conversation of a frame in a run, as model and tools have had it.

use serde::{Deserialize, Serialize};

/// One message of a conversation with a model.
///
/// In JSON the key `role` names the variant: `{"role": "assistant", "text": "", "calls": [{"id": "call_1", "name":
/// "read_file", "arguments": "{\"path\": \"a.py\"}"}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// What the model is asked.
    User {
        /// The text.
        text: String,
    },
    /// What the model said and called.
    Assistant {
        /// The text; empty if it has only called tools.
        text: String,
        /// The tools it called, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The answer to a call.
    Tool {
        /// The ID of the call.
        call: String,
        /// The tool's name.
        name: String,
        /// What it answered.
        text: String,
        /// The text says why nothing was done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl Message {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Message::User { text } | Message::Assistant { text, .. } | Message::Tool { text, .. } => text,
        }
    }

    /// The same message with more text at the end.
    #[must_use]
    pub fn followed_by(&self, more: &str) -> Self {
        let mut message = self.clone();
        match &mut message {
            Message::User { text } | Message::Assistant { text, .. } | Message::Tool { text, .. } => {
                text.push_str(more)
            }
        }
        message
    }
}

/// A tool that a model calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call's ID, by which its answer is found.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: a JSON object, if it kept to the schema.
    pub arguments: String,
}
