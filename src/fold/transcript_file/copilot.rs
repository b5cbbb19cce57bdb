//! Copilot CLI: events of its own form. What an answer has used stands before it, and names it.

use serde_json::{Value as Json, json};

use super::line::{Line, Request, Turn, list, number, text};
use crate::frame::ModelRequest;

pub(super) fn line(value: &Json) -> Option<Line> {
    let kind = value.get("type")?.as_str()?;
    let data = value.get("data")?;
    // What a subagent says is no part of this conversation. What it uses is.
    let is_of_agent = value.get("agentId").is_some_and(|agent| !agent.is_null());
    Some(match kind {
        "session.usage_record" => used(data.get("usage")?, is_of_agent),
        _ if is_of_agent => Line::aside(),
        "user.message" => {
            let message = json!({ "role": "user", "content": text(data, "content") });
            Line { messages: vec![message], turn: Turn::Words, ..Line::default() }
        }
        "assistant.message" => answered(data),
        "tool.execution_complete" => ended(data),
        _ => Line::aside(),
    })
}

fn used(usage: &Json, is_of_agent: bool) -> Line {
    let id = text(usage, "apiCallId").to_owned();
    let (read, written) = (number(usage, "cacheReadTokens"), number(usage, "cacheWriteTokens"));
    let request = ModelRequest {
        uncached_input: number(usage, "inputTokens").saturating_sub(read).saturating_sub(written),
        cache_read: read,
        cache_write: written,
        output: number(usage, "outputTokens"),
        duration: number(usage, "duration"),
        ..ModelRequest::new(text(usage, "model"))
    };
    let requests = vec![Request::new(&id, request)];
    let turn = if is_of_agent { Turn::Aside } else { Turn::Answer(Some(id)) };
    Line { requests, turn, ..Line::default() }
}

fn answered(data: &Json) -> Line {
    let mut calls = Vec::new();
    let mut written = Vec::new();
    for call in list(data, "toolRequests") {
        let (id, name) = (text(call, "toolCallId"), text(call, "name"));
        let arguments = call.get("arguments").map(Json::to_string).unwrap_or_default();
        calls.push(id.to_owned());
        written.push(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }));
    }
    let content = Some(text(data, "content")).filter(|content| !content.is_empty());
    let mut message = json!({ "role": "assistant", "content": content });
    if !written.is_empty() {
        message["tool_calls"] = written.into();
    }
    let id = Some(text(data, "apiCallId")).filter(|id| !id.is_empty()).unwrap_or_else(|| text(data, "messageId"));
    Line { messages: vec![message], turn: Turn::Answer(Some(id.to_owned())), calls, ..Line::default() }
}

fn ended(data: &Json) -> Line {
    let call = text(data, "toolCallId");
    let content = ["/result/content", "/error/message"].iter().find_map(|place| data.pointer(place)?.as_str());
    let message = json!({ "role": "tool", "tool_call_id": call, "content": content.unwrap_or_default() });
    Line { messages: vec![message], turn: Turn::Outcomes, outcomes: vec![call.to_owned()], ..Line::default() }
}
