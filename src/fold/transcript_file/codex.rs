//! Codex: items in the form of OpenAI's Responses, and records of the session. An item does not name its answer; what the answer has used
//! stands behind its items.

use serde_json::{Value as Json, json};

use super::line::{Line, Request, Turn, number, text};
use crate::frame::ModelRequest;

pub(super) fn line(value: &Json) -> Option<Line> {
    let kind = value.get("type")?.as_str()?;
    let payload = || value.get("payload");
    Some(match kind {
        "response_item" => item(payload()?)?,
        // What stands for all that came before: the model sees it as words.
        "compacted" => {
            let words = json!({ "type": "message", "role": "user", "content": text(payload()?, "message") });
            Line { messages: vec![words], turn: Turn::Words, ..Line::default() }
        }
        "turn_context" => Line { model: Some(text(payload()?, "model").to_owned()), ..Line::default() },
        "token_usage_record" => Line { requests: vec![request(payload()?)?], ..Line::default() },
        _ => Line::aside(),
    })
}

fn item(item: &Json) -> Option<Line> {
    let kind = item.get("type")?.as_str()?;
    let call = text(item, "call_id").to_owned();
    let mut line = Line { messages: vec![item.clone()], ..Line::default() };
    line.turn = match (kind, text(item, "role")) {
        ("message", "user") => Turn::Words,
        ("message", "assistant") => Turn::Answer(None),
        // What the host says of its state.
        ("message", _) => return Some(Line::aside()),
        (kind, _) if kind.ends_with("_output") => {
            line.outcomes.push(call);
            Turn::Outcomes
        }
        (kind, _) if kind.ends_with("_call") && !call.is_empty() => {
            line.calls.push(call);
            Turn::Answer(None)
        }
        _ => Turn::Answer(None),
    };
    Some(line)
}

fn request(record: &Json) -> Option<Request> {
    let usage = record.get("usage")?;
    let (read, written) = (number(usage, "cached_input_tokens"), number(usage, "cache_write_input_tokens"));
    let used = ModelRequest {
        uncached_input: number(usage, "input_tokens").saturating_sub(read).saturating_sub(written),
        cache_read: read,
        cache_write: written,
        output: number(usage, "output_tokens"),
        ..ModelRequest::default()
    };
    Some(Request::new(text(record, "response_id"), used))
}
