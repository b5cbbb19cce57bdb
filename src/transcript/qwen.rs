//! Qwen Code: messages in the form of Gemini's contents, for every wire of the model, and records of the
//! session.

use serde_json::Value as Json;

use super::gemini::{answer, said};
use super::line::{By, Fact, Line, Request, about, list, number, text};
use crate::frame::ModelRequest;

pub(super) fn line(value: &Json) -> Option<Line> {
    let message = || value.get("message");
    let parts = |message: &Json| list(message, "parts").cloned().collect();
    let mut line = match value.get("type")?.as_str()? {
        "user" | "tool_result" => said(parts(message()?)),
        "assistant" => answered(value, parts(message()?)),
        "system" if text(value, "subtype") == "chat_compression" => {
            let tokens = value.pointer("/systemPayload/info/originalTokenCount").and_then(Json::as_u64);
            Line::of(vec![Fact::Compacted { tokens: tokens.unwrap_or_default(), summary: String::new() }])
        }
        other => Line::of_kind(other, &["system"]),
    };
    line.by = match text(value, "subtype") {
        "" => By::Person,
        "mid_turn_user_message" => By::PersonMeanwhile,
        // Notes of the host, such as those of its tasks.
        _ => By::Host,
    };
    line.facts.splice(0..0, about(value));
    Some(line)
}

fn answered(value: &Json, parts: Vec<Json>) -> Line {
    let calls = parts.iter().filter_map(|part| part.get("functionCall")).map(|call| text(call, "id").to_owned());
    let calls: Vec<String> = calls.collect();
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
    let is_last = calls.is_empty() && parts.iter().any(|part| part.get("thought").is_none());
    Line { is_last, ..answer(id, parts, calls, request) }
}
