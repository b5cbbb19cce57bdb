//! What a line of a transcript says, whatever the host.

use serde_json::Value as Json;

use crate::frame::ModelRequest;

/// What a line says.
#[derive(Default)]
pub(super) struct Line {
    /// Messages in the form of the wire.
    pub messages: Vec<Json>,
    pub turn: Turn,
    /// What answers have used.
    pub requests: Vec<Request>,
    /// The IDs of the calls that it makes, and of those that have ended.
    pub calls: Vec<String>,
    pub outcomes: Vec<String>,
    /// The model of the requests that follow.
    pub model: Option<String>,
}

/// Whose turn it is.
#[derive(Default)]
pub(super) enum Turn {
    /// Something beside the conversation.
    #[default]
    Aside,
    /// A part of an answer of the model, with the ID of the answer if the line has one.
    Answer(Option<String>),
    /// Outcomes of calls.
    Outcomes,
    /// What the person or the host has written.
    Words,
}

/// What an answer has used.
pub(super) struct Request {
    /// The ID of the answer.
    pub id: String,
    pub used: ModelRequest,
    /// The time of the line.
    pub time: u64,
}

impl Request {
    pub fn new(id: &str, used: ModelRequest) -> Self {
        Self { id: id.to_owned(), used, time: 0 }
    }
}

impl Line {
    /// Something beside the conversation.
    pub fn aside() -> Self {
        Self::default()
    }
}

/// The text at a key; empty if there is none.
pub(super) fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// The number at a key; 0 if there is none.
pub(super) fn number(value: &Json, key: &str) -> u64 {
    value.get(key).and_then(Json::as_u64).unwrap_or_default()
}

/// The elements of the list at a key.
pub(super) fn list<'a>(value: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    value.get(key).and_then(Json::as_array).into_iter().flatten()
}
