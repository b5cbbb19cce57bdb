//! SWE-agent and mini-swe-agent: a trajectory without times. Its steps are read as OpenAI's Chat messages.

use serde_json::{Value as Json, json};

use super::line::{By, End, Fact, Line, Request, Turn, fact, number, text};
use super::pi::micro;
use crate::frame::ModelRequest;

/// A step at `step`, a message at `message`, or the head of the document at `session`.
pub(super) fn line(value: &Json) -> Option<Line> {
    if let Some(session) = value.get("session") {
        return Some(Line::of(head(session)));
    }
    if let Some(end) = value.get("end") {
        return Some(ended(end));
    }
    match value.get("step") {
        Some(step) => Some(stepped(step, &value["number"].to_string())),
        None => said(value.get("message")?, value.get("isTask").is_some_and(|is| is == true)),
    }
}

fn head(head: &Json) -> Vec<Fact> {
    let info = head.get("info").unwrap_or(&Json::Null);
    let version =
        ["swe_agent_version", "mini_version"].iter().map(|key| text(info, key)).find(|found| !found.is_empty());
    fact(Fact::Version, version.unwrap_or_default()).into_iter().collect()
}

/// What the whole run has used and made.
fn ended(info: &Json) -> Line {
    let stats = info.get("model_stats").unwrap_or(&Json::Null);
    let used = ModelRequest {
        uncached_input: number(stats, "tokens_sent"),
        output: number(stats, "tokens_received"),
        cost_micro_usd: micro(stats.get("instance_cost")),
        ..ModelRequest::default()
    };
    let requests = if used == ModelRequest::default() { Vec::new() } else { vec![Request::new("run", used)] };
    let status = text(info, "exit_status");
    let end = match status.to_ascii_lowercase().starts_with("submitted") {
        true => End::Done,
        false => End::Failed(status.to_owned()),
    };
    // Without a status, the run continues or was killed.
    let facts = if status.is_empty() { Vec::new() } else { vec![Fact::Ended(end)] };
    Line { requests, facts, ..Line::default() }
}

fn stepped(step: &Json, id: &str) -> Line {
    let thought = [text(step, "thought"), text(step, "response")].into_iter().find(|said| !said.trim().is_empty());
    let action = text(step, "action");
    let mut messages = vec![json!({ "role": "assistant", "content": thought.unwrap_or_default() })];
    if !action.trim().is_empty() {
        let arguments = json!({ "command": action });
        messages[0]["tool_calls"] = json!([{ "id": id, "function": { "name": "action", "arguments": arguments } }]);
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": step["observation"] }));
    }
    Line { messages, turn: Turn::Answer(Some(id.to_owned())), ..Line::default() }
}

/// A message of mini-swe-agent, or of the history of a run.
fn said(message: &Json, is_task: bool) -> Option<Line> {
    match text(message, "role") {
        "system" => Some(Line::aside()),
        "user" => {
            // The other messages are observations.
            let by = if is_task { By::Person } else { By::Host };
            Some(Line { messages: vec![message.clone()], turn: Turn::Words, by, ..Line::default() })
        }
        "assistant" => {
            let response = message.pointer("/extra/response").unwrap_or(&Json::Null);
            let usage = response.get("usage").filter(|usage| usage.is_object());
            let request = usage.map(|usage| {
                let read =
                    usage.pointer("/prompt_tokens_details/cached_tokens").and_then(Json::as_u64).unwrap_or_default();
                let used = ModelRequest {
                    uncached_input: number(usage, "prompt_tokens").saturating_sub(read),
                    cache_read: read,
                    output: number(usage, "completion_tokens"),
                    cost_micro_usd: micro(message.pointer("/extra/cost")),
                    ..ModelRequest::new(text(response, "model"))
                };
                Request::new(text(response, "id"), used)
            });
            Some(Line {
                messages: vec![message.clone()],
                turn: Turn::Answer(None),
                requests: request.into_iter().collect(),
                ..Line::default()
            })
        }
        "tool" => Some(Line { messages: vec![message.clone()], turn: Turn::Outcomes, ..Line::default() }),
        "exit" => Some(Line::of(vec![Fact::Ended(End::Done)])),
        _ => None,
    }
}
