//! Gemini CLI: messages of its own form. An answer is written when the model has ended it, and again when its
//! calls have ended.

use serde_json::{Value as Json, json};

use super::line::{By, Fact, Line, Request, Turn, fact, list, number, text};
use crate::frame::ModelRequest;

pub(super) fn line(value: &Json) -> Option<Line> {
    // The head of the file, and changes to it.
    if value.get("$set").is_some() || value.get("$rewindTo").is_some() || value.get("sessionId").is_some() {
        let changed = value.get("$set").unwrap_or(value);
        let folder = list(changed, "directories").next().and_then(Json::as_str).unwrap_or_default();
        let facts = [
            fact(Fact::Session, text(changed, "sessionId")),
            fact(|title| Fact::Title { title, by_person: false }, text(changed, "summary")),
            fact(Fact::Folder, folder),
            value.get("$rewindTo").and_then(Json::as_str).map(|to| Fact::Rewound(to.to_owned())),
        ];
        return Some(Line::of(facts.into_iter().flatten().collect()));
    }
    match value.get("type")?.as_str()? {
        "user" => {
            let mut line = said(parts(value.get("content")?));
            let words = crate::fold::transcript::said(value.get("content")?);
            if words.trim_start().starts_with("<session_context>") || words.trim_start().starts_with("<hook_context>") {
                line.by = By::Host;
            }
            Some(line)
        }
        "gemini" => Some(answered(value)),
        other => Some(Line::of_kind(other, &["info", "warning", "error"])),
    }
}

/// What the person or the host has written, or the outcomes of calls.
pub(super) fn said(parts: Vec<Json>) -> Line {
    let outcomes: Vec<String> = parts
        .iter()
        .filter_map(|part| part.get("functionResponse"))
        .map(|response| text(response, "id").to_owned())
        .collect();
    let turn = if outcomes.is_empty() { Turn::Words } else { Turn::Outcomes };
    Line { messages: vec![json!({ "role": "user", "parts": parts })], turn, outcomes, ..Line::default() }
}

fn answered(value: &Json) -> Line {
    let thoughts = list(value, "thoughts").map(|thought| {
        let said = [text(thought, "subject"), text(thought, "description")];
        json!({ "thought": true, "text": said.join("\n").trim() })
    });
    let mut parts: Vec<Json> = thoughts.collect();
    parts.extend(value.get("content").into_iter().flat_map(self::parts));
    let mut calls = Vec::new();
    for call in list(value, "toolCalls") {
        let (id, name) = (text(call, "id"), text(call, "name"));
        let arguments = call.get("args").cloned().unwrap_or_default();
        calls.push(id.to_owned());
        parts.push(json!({ "functionCall": { "id": id, "name": name, "args": arguments } }));
    }
    let id = text(value, "id");
    let request = value.get("tokens").filter(|tokens| tokens.is_object()).map(|tokens| {
        let read = number(tokens, "cached");
        let used = ModelRequest {
            uncached_input: number(tokens, "input").saturating_sub(read),
            cache_read: read,
            output: number(tokens, "output") + number(tokens, "thoughts"),
            ..ModelRequest::new(text(value, "model"))
        };
        Request::new(id, used)
    });
    // An answer is written again with its calls, if it has any.
    let is_last = calls.is_empty() && parts.iter().any(|part| part.get("thought").is_none());
    let agents = list(value, "toolCalls").filter_map(|call| {
        let of = |id| Fact::Agent { call: text(call, "id").to_owned(), id, goes_on: false };
        fact(of, text(call, "agentId"))
    });
    let facts = agents.collect();
    Line { is_last, facts, ..answer(id, parts, calls, request) }
}

/// What the model has answered.
pub(super) fn answer(id: &str, parts: Vec<Json>, calls: Vec<String>, request: Option<Request>) -> Line {
    Line {
        messages: vec![json!({ "role": "model", "parts": parts })],
        turn: Turn::Answer(Some(id.to_owned())),
        requests: request.into_iter().collect(),
        calls,
        ..Line::default()
    }
}

/// The parts of a content: a text, or a list of parts.
fn parts(content: &Json) -> Vec<Json> {
    match content {
        Json::String(text) if text.is_empty() => Vec::new(),
        Json::String(text) => vec![json!({ "text": text })],
        Json::Array(parts) => {
            let as_part = |part: &Json| part.as_str().map_or_else(|| part.clone(), |text| json!({ "text": text }));
            parts.iter().map(as_part).collect()
        }
        part => vec![part.clone()],
    }
}
