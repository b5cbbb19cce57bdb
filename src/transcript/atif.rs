//! ATIF, the Agent Trajectory Interchange Format: a document of steps. They are read as OpenAI's Chat
//! messages.

use serde_json::{Value as Json, json};

use super::line::{By, Fact, Line, Request, Turn, fact, list, number, text};
use super::pi::micro;
use crate::frame::ModelRequest;

/// A step, or the head of the document at `session`.
pub(super) fn line(value: &Json) -> Option<Line> {
    if let Some(session) = value.get("session") {
        let model = session.pointer("/agent/model_name").and_then(Json::as_str).map(str::to_owned);
        return Some(Line { model, ..Line::of(head(session)) });
    }
    if value.get("is_copied_context").is_some_and(|is| is == true) {
        return Some(Line::aside());
    }
    match value.get("source")?.as_str()? {
        "user" => {
            let message = json!({ "role": "user", "content": value["message"] });
            Some(Line { messages: vec![message], turn: Turn::Words, ..Line::default() })
        }
        "agent" => Some(answered(value)),
        "system" => {
            let message = json!({ "role": "user", "content": value["message"] });
            Some(Line { messages: vec![message], turn: Turn::Words, by: By::Host, ..Line::default() })
        }
        _ => None,
    }
}

fn head(head: &Json) -> Vec<Fact> {
    let agent = head.get("agent").unwrap_or(&Json::Null);
    let version = format!("{} {}", text(agent, "name"), text(agent, "version"));
    let id = Some(text(head, "session_id")).filter(|id| !id.is_empty()).unwrap_or_else(|| text(head, "trajectory_id"));
    let facts = [fact(Fact::Session, id), fact(Fact::Version, version.trim())];
    facts.into_iter().flatten().collect()
}

fn answered(step: &Json) -> Line {
    let mut messages = Vec::new();
    let thought = text(step, "reasoning_content");
    if !thought.is_empty() {
        messages.push(json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": thought }] }));
    }
    let calls = list(step, "tool_calls").map(|call| {
        let name = call.get("function_name").cloned().unwrap_or_default();
        json!({ "id": call["tool_call_id"], "function": { "name": name, "arguments": call["arguments"] } })
    });
    let calls: Vec<Json> = calls.collect();
    let is_last = calls.is_empty();
    messages.push(json!({ "role": "assistant", "content": step["message"], "tool_calls": calls }));
    let mut facts = Vec::new();
    for result in step.pointer("/observation/results").and_then(Json::as_array).into_iter().flatten() {
        let call = text(result, "source_call_id");
        for agent in list(result, "subagent_trajectory_ref") {
            let id = ["trajectory_id", "session_id"].iter().map(|key| text(agent, key)).find(|id| !id.is_empty());
            let of = |id: &str| Fact::Agent { call: call.to_owned(), id: id.to_owned(), goes_on: false };
            facts.extend(id.map(of));
        }
        messages.push(json!({ "role": "tool", "tool_call_id": call, "content": result["content"] }));
    }
    let metrics = step.get("metrics").filter(|metrics| metrics.is_object());
    let id = step.get("step_id").map(ToString::to_string).unwrap_or_default();
    let request = metrics.map(|metrics| {
        let read = number(metrics, "cached_tokens");
        let used = ModelRequest {
            uncached_input: number(metrics, "prompt_tokens").saturating_sub(read),
            cache_read: read,
            output: number(metrics, "completion_tokens"),
            cost_micro_usd: micro(metrics.get("cost_usd")),
            ..ModelRequest::new(text(step, "model_name"))
        };
        // IDs of steps are not IDs of requests: each document counts from 1.
        Request::new("", used)
    });
    Line {
        messages,
        turn: Turn::Answer(Some(id)),
        requests: request.into_iter().collect(),
        is_last,
        facts,
        ..Line::default()
    }
}
