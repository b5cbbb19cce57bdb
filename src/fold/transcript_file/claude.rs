//! Claude Code: a line for each block of a message, in the form of Anthropic's Messages, and lines about the session.

use serde_json::{Value as Json, json};

use super::line::{Line, Request, Turn, list, number, text};
use crate::frame::ModelRequest;

/// The model of messages that Claude Code has made itself.
const MADE_UP: &str = "<synthetic>";

pub(super) fn line(value: &Json) -> Option<Line> {
    let kind = value.get("type")?.as_str()?;
    // A copy of what another session has said.
    if value.get("forkedFrom").is_some_and(|origin| !origin.is_null()) {
        return Some(Line::aside());
    }
    match kind {
        "user" => said(value.get("message")?),
        "assistant" => answered(value, value.get("message")?),
        "attachment" => Some(queued(value.get("attachment")?).unwrap_or_default()),
        _ => Some(Line::aside()),
    }
}

fn said(message: &Json) -> Option<Line> {
    let content = message.get("content")?;
    let is_outcome = |block: &&Json| text(block, "type") == "tool_result";
    let outcomes: Vec<String> =
        list(message, "content").filter(is_outcome).map(|block| text(block, "tool_use_id").to_owned()).collect();
    let turn = if outcomes.is_empty() { Turn::Words } else { Turn::Outcomes };
    Some(Line { messages: vec![json!({ "role": "user", "content": content })], turn, outcomes, ..Line::default() })
}

fn answered(line: &Json, message: &Json) -> Option<Line> {
    let content = message.get("content")?;
    if line.get("isApiErrorMessage").is_some_and(|is_error| is_error == true) {
        let id = text(line, "uuid").to_owned();
        let failed = ModelRequest { failed: true, ..ModelRequest::default() };
        return Some(Line {
            requests: vec![Request::new(&id, failed)],
            turn: Turn::Answer(Some(id)),
            ..Line::default()
        });
    }
    let id = match text(message, "id") {
        "" => text(line, "uuid"),
        id => id,
    };
    let is_call = |block: &&Json| text(block, "type") == "tool_use";
    let calls = list(message, "content").filter(is_call).map(|block| text(block, "id").to_owned()).collect();
    let usage = message.get("usage").filter(|usage| usage.is_object() && text(message, "model") != MADE_UP);
    let request = usage.map(|usage| {
        let used = ModelRequest {
            uncached_input: number(usage, "input_tokens"),
            cache_read: number(usage, "cache_read_input_tokens"),
            cache_write: number(usage, "cache_creation_input_tokens"),
            output: number(usage, "output_tokens"),
            ..ModelRequest::new(text(message, "model"))
        };
        Request::new(id, used)
    });
    Some(Line {
        messages: vec![json!({ "role": "assistant", "content": content })],
        turn: Turn::Answer(Some(id.to_owned())),
        requests: request.into_iter().collect(),
        calls,
        ..Line::default()
    })
}

/// What the person has written while the agent worked.
fn queued(attachment: &Json) -> Option<Line> {
    let prompt = attachment.get("prompt").filter(|_| text(attachment, "type") == "queued_command")?;
    let message = json!({ "role": "user", "content": prompt });
    Some(Line { messages: vec![message], turn: Turn::Words, ..Line::default() })
}
