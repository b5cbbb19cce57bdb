//! Qwen Code: messages in the form of Gemini's contents, whatever the wire of the model, and records of the session.

use serde_json::Value as Json;

use super::gemini::{answer, said};
use super::line::{Line, Request, list, number, text};
use crate::frame::ModelRequest;

pub(super) fn line(value: &Json) -> Option<Line> {
    let message = || value.get("message");
    let parts = |message: &Json| list(message, "parts").cloned().collect();
    match value.get("type")?.as_str()? {
        "user" | "tool_result" => Some(said(parts(message()?))),
        "assistant" => Some(answered(value, parts(message()?))),
        _ => Some(Line::aside()),
    }
}

fn answered(value: &Json, parts: Vec<Json>) -> Line {
    let calls = parts.iter().filter_map(|part| part.get("functionCall")).map(|call| text(call, "id").to_owned());
    let calls = calls.collect();
    let id = text(value, "uuid");
    let request = value.get("usageMetadata").filter(|usage| usage.is_object()).map(|usage| {
        let read = number(usage, "cachedContentTokenCount");
        let used = ModelRequest {
            uncached_input: number(usage, "promptTokenCount").saturating_sub(read),
            cache_read: read,
            output: number(usage, "candidatesTokenCount"),
            ..ModelRequest::new(text(value, "model"))
        };
        Request::new(id, used)
    });
    answer(id, parts, calls, request)
}
